"""Every algorithm has a committed outcome on real data, in every form; every config has its outcomes and bounds."""

from functools import cache

import pytest

from budgetrun import learners
from budgetrun.base.files import checkout
from budgetrun.data.cards import card
from budgetrun.papers import solvers
from budgetrun.results.store.read import load

pytestmark = pytest.mark.committed
TOP = checkout()
read = cache(load)
# Data that come with a library, without a file.
MEASURED = {"diabetes"}


def forms():
    """Return what must have an outcome: every line of ``budgetrun list algorithms``, and the modes of solvers."""
    for task in learners.BASES:
        kind = "" if task == "binary" else f" [{task}]"
        for name, variants in learners.registry(task).items():
            yield from (f"{name}({variant}){kind}" if variant else f"{name}{kind}" for variant in variants)
    for name, solver in solvers.registry().items():
        yield name
        yield from [f"{name}, kernel form"] * (len(solver.kernels) > 1)
        yield from [f"{name}, hard margin"] * hasattr(solver, "hard_margin")


@pytest.fixture(scope="module")
def committed():
    """Return the forms with a finished run on real data in the committed results."""
    if TOP is None:
        pytest.skip("no committed results here")
    found = set()
    for manifest in sorted((TOP / "results").glob("*/manifest.json")):
        results = read(manifest.parent)
        real = {
            one.label: one.task
            for one in results.config.datasets
            if one.path is None and (card(one.name).format != "generated" or one.name in MEASURED)
        }
        for dataset, label, kernel in results.runs[["dataset", "label", "kernel"]].drop_duplicates().to_numpy():
            # Rules that select are no algorithms.
            if dataset not in real or label not in results.algorithms:
                continue
            spec = results.algorithms[label]
            name = f"{spec.name}({spec.variant})" if spec.variant else spec.name
            kind = real[dataset]
            found.add(name + f" [{kind}]" * (kind in ("multiclass", "regression")))
            if spec.kind:
                found |= {f"{name}, kernel form"} if kernel != "linear" else set()
                found |= {f"{name}, hard margin"} if spec.parameters.get("hard_margin") else set()
    return found


@pytest.mark.parametrize("form", list(forms()))
def test_every_algorithm_has_a_committed_outcome_on_real_data(committed, form):
    assert form in committed, "add it to a config, and commit the results of that config's sweep"


@pytest.mark.parametrize("config", sorted(path.stem for path in (TOP / "configs").glob("*.yaml")) if TOP else [])
def test_every_config_has_committed_outcomes_and_their_bounds(config):
    if config == "quickstart":
        pytest.skip("a demo, which everybody runs")
    folder = TOP / "results" / config
    found = read(folder)
    assert not found.incomplete, f"budgetrun sweep {config}"
    assert found.failed.empty, f"budgetrun sweep {config}"
    assert (folder / "report.html").is_file(), f"budgetrun report results/{config}"
    assert list(folder.glob("bounds.csv*")), f"budgetrun bounds results/{config}"
