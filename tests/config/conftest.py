"""The folder in which demo configs are read."""

import pytest
from config.demo import PRINTED, Drawing, Fast, ManyClasses, Perceptron, Ranking, Slow

from budgetrun import learners
from budgetrun.config.kinds import class_of


@pytest.fixture
def demo_folder(tmp_path, monkeypatch):
    """Work in a folder with data, published numbers, cards and packaged configs, and with stand-in learners."""
    work = tmp_path / "work"
    for folder in ("work", "configs", "datasets"):
        (tmp_path / folder).mkdir()
    (work / "stream.csv").write_text("1,0\n-1,1\n")
    (work / "printed.csv").write_text(PRINTED)
    (tmp_path / "datasets" / "digits.yaml").write_text("format: idx\n")
    (tmp_path / "datasets" / "clouds.yaml").write_text("format: generated\n")
    (tmp_path / "configs" / "quickstart.yaml").write_text(
        "name: quickstart\nsource: A paper\ndatasets: [{name: digits}]\nkernel: {name: linear}\n"
        "algorithms: [{name: perceptron}]\n"
    )
    (tmp_path / "configs" / "torn.yaml").write_text("name: [")
    monkeypatch.chdir(work)
    monkeypatch.setattr("budgetrun.base.files.own_folder", tmp_path.joinpath)
    known = {"perceptron": {None: Perceptron}, "fading": {"fast": Fast, "slow": Slow}, "drawing": {None: Drawing}}
    several = {"perceptron": {None: ManyClasses}, "ranking": {None: Ranking}}
    registries = {"binary": known, "multiclass": several}
    monkeypatch.setattr(learners, "registry", lambda task="binary": registries.get(task, {}))
    class_of.cache_clear()
    yield
    class_of.cache_clear()
