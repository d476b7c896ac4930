"""Real tables with text and numbers through `run`, `predict` and Python: the same numbers from every form of them."""

import lzma
import os
from importlib.util import find_spec
from itertools import islice
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from click.testing import CliRunner
from sweeping import rows

from budgetrun import estimators
from budgetrun.cli import main
from budgetrun.data.tables import open_table
from budgetrun.kernels.width import median_gamma
from budgetrun.runner.live.kept import scaler

SKLEARN, RIVER = (Path(find_spec(name).origin).parent / "datasets" for name in ("sklearn", "river"))
DATA = Path(os.environ.get("BUDGETRUN_DATA", "/nowhere"))
CENSUS, COVTYPE = DATA / "census-income" / "census-income.data.xz", DATA / "extra" / "covtype.subset92962.csv.gz"
real = [pytest.mark.realdata, pytest.mark.skipif("BUDGETRUN_DATA" not in os.environ, reason="no folder of real data")]
OPTIONS = ["--algorithm", "rbp", "--budget", "25", "--seeds", "1"]
N_ROWS = 600


def of_sklearn(name, **options):
    return pd.read_csv(SKLEARN / "data" / name, **options)


def of_river(name, **options):
    return pd.read_csv(RIVER / name, **options)


def census():
    frame = pd.read_csv(CENSUS, header=None, nrows=1200, skipinitialspace=True, na_values="?")
    return frame.rename(columns=lambda at: "income" if at == 41 else f"c{at}")


# Of each table: its frame, the label, and further options.
TABLES = {
    "breast cancer": (
        lambda: of_sklearn("breast_cancer.csv", skiprows=1, header=None).rename(columns=lambda at: f"f{at}"),
        "f30",
        [],
    ),
    "iris": (lambda: of_sklearn("iris.csv", skiprows=1, names=["sl", "sw", "pl", "pw", "species"]), None, []),
    "wine": (lambda: of_sklearn("wine_data.csv", skiprows=1, names=[*"abcdefghijklm", "kind"]), "kind", []),
    "digits": (lambda: of_sklearn("digits.csv.gz", header=None).rename(columns=lambda at: f"p{at}"), "p64", []),
    "phishing": (lambda: of_river("phishing.csv.gz"), "is_phishing", []),
    "shuttle": (lambda: of_river("shuttle.csv.gz", nrows=N_ROWS), "anomaly", []),
    "segment": (lambda: of_river("segment.csv.zip"), None, []),
    "solar flare": (lambda: of_river("solar-flare.csv.zip"), "c-class-flares", []),
    "yeast": (lambda: of_river("yeast.csv.gz"), "Class2", []),
    "chick weights": (lambda: of_river("chick-weights.csv"), "weight", ["--task", "regression"]),
    "Trump approval": (lambda: of_river("trump_approval.csv.gz"), "five_thirty_eight", ["--task", "regression"]),
    "census-income": pytest.param(census, "income", [], marks=real),
    "census-income, whole rows": pytest.param(census, "income", ["--missing", "skip"], marks=real),
    "covtype": pytest.param(lambda: pd.read_csv(COVTYPE, nrows=N_ROWS), "Cover_Type", [], marks=real),
}
CASES = [
    pytest.param(*getattr(case, "values", case), id=name, marks=getattr(case, "marks", ()))
    for name, case in TABLES.items()
]


def numbers_of(folder):
    """Return the rows of runs.csv without times and ids, and the config without the name of the file."""
    measured = ("seconds", "peak_memory_mb", "run_id", "dataset")
    config = yaml.safe_load((folder / "config.yaml").read_text())
    (dataset,) = config["datasets"]
    settings = {key: dataset[key] for key in ("label_column", "task", "scale")}
    return [{key: row[key] for key in row if key not in measured} for row in rows(folder)], settings, config["kernel"]


def called(*arguments):
    result = CliRunner().invoke(main, list(map(str, arguments)))
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.mark.parametrize(("made", "label", "options"), CASES)
def test_one_table_gives_one_result(made, label, options, here, unreported):
    frame = made().iloc[:N_ROWS]
    frame.columns = frame.columns.map(str)
    frame.to_csv("in_text.csv", index=False)
    frame.to_parquet("in_columns.parquet", index=False)
    options = [*OPTIONS, *(["--label", label] if label else []), *options]
    if "regression" in options:
        options = ["--algorithm", "klms:step=0.1", *options[2:]]
    found, predictions = [], []
    for name in ("in_text.csv", "in_columns.parquet"):
        called("run", name, *options)
        folder = here / "results" / name.partition(".")[0]
        found.append(numbers_of(folder))
        missing = ["--missing", "zero"] if "skip" in options else []
        predictions.append(called("predict", folder / "stream.state", name, *missing))
    assert found[0] == found[1]
    assert predictions[0] == predictions[1]
    rows, settings, kernel = found[0]
    rows = [row for row in rows if row["label"] in ("rbp", "klms")]
    mistakes, learned = through_python(frame, label, options, settings, kernel["gamma"])
    if mistakes is not None:
        assert mistakes == int(rows[0]["mistakes"])
    else:
        np.testing.assert_allclose(learned, [float(rows[0][key]) for key in ("mae", "rmse")], rtol=1e-9)


@real[0]
@real[1]
def test_census_income_as_it_is_distributed_gives_the_numbers_of_its_frame(here, unreported):
    with lzma.open(CENSUS, "rt") as file:
        Path("census.data").write_text("".join(islice(file, N_ROWS)))
    called("run", "census.data", *OPTIONS, "--label", "last")
    rows, settings, kernel = numbers_of(here / "results" / "census")
    frame = census().iloc[:N_ROWS]
    assert frame.isna().any().sum() == 8
    mistakes, _ = through_python(frame, "income", [], settings, kernel["gamma"])
    assert [int(row["mistakes"]) for row in rows if row["label"] == "rbp"] == [mistakes]


def through_python(frame, label, options, settings, gamma):
    """Return what the same learner makes of a data frame: mistakes, or mean absolute and root mean squared error."""
    missing = "skip" if "skip" in options else "fill"
    numbers = settings["task"] == "regression"
    table = open_table(frame, label=label, missing=missing, classes=() if numbers else None)
    scale = scaler(settings["scale"], len(table.features))
    chunks = [(scale.scaled(chunk.X), chunk.y) for chunk in table.chunks()]
    X, y = chunks[0]
    assert len(chunks) == 1
    gamma = median_gamma(X) if gamma == "auto" else gamma
    if not numbers:
        return estimators.RBP(budget=25, gamma=gamma).fit(X, y).mistakes_, None
    model, errors = estimators.KLMS(budget=25, step=0.1, gamma=gamma), []
    for x, target in zip(X, y, strict=True):
        errors.append(target - (model.predict_one(x) if errors else 0.0))
        model.learn_one(x, target)
    return None, (np.abs(errors).mean(), np.sqrt(np.square(errors).mean()))
