"""`budgetrun run FILE --continue FOLDER`: learners go on with another file, as if it had been part of the first."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from faults import raises
from test_live_run import stopped_after

from budgetrun.base.errors import InputError
from budgetrun.estimators.predict import predict_stream
from budgetrun.runner.live import kept
from budgetrun.runner.live import run as live
from budgetrun.runner.live.request import Request
from budgetrun.runner.live.run import run

FIRST = 700


@pytest.fixture(autouse=True)
def place(here):
    rng, n = np.random.default_rng(0), 1200
    table = pd.DataFrame(rng.normal(size=(n, 2)).round(3), columns=list("ab")).assign(c=rng.choice(["x", "y", "z"], n))
    wrong = rng.random(n) < 0.1
    table["label"] = np.where((table["a"] * np.where(table["c"] == "x", 1, -1) + table["b"] > 0) != wrong, "yes", "no")
    table.loc[rng.random(n) < 0.05, "a"] = np.nan
    table.to_csv("whole.csv", index=False)
    table[:FIRST].to_csv("one.csv", index=False)
    table[FIRST:].to_csv("two.csv", index=False)


def asked(source, **given):
    return Request(source, algorithms=("forgetron", "norma", "rbp"), budgets=(20,), gamma=("0.5",), name="s", **given)


def outcome(folder):
    runs = pd.read_csv(Path(folder, "s", "runs.csv")).drop(columns=["run_id", "seconds", "peak_memory_mb"])
    (path,) = Path(folder, "s", "curves").glob("*.npz")
    curves = dict(np.load(path))
    # The end of the first file is one more point.
    points = curves["rounds"] != FIRST
    predict_stream(Path(folder, "s", live.STATE), "whole.csv", label="label", output=Path("predicted.csv"))
    return runs.to_csv(), curves["mistakes"][:, points].tolist(), Path("predicted.csv").read_text()


@pytest.mark.parametrize("stopped", [False, True])
def test_two_files_are_one_stream(stopped, monkeypatch):
    assert run(asked("whole.csv", results=Path("w"))) == 0
    assert run(asked("one.csv", results=Path("p"))) == 0
    more = Request("two.csv", continues=Path("p/s"))
    if stopped:
        monkeypatch.setattr(kept, "FIRST_SAVED", 0.0)
        monkeypatch.setattr(kept, "SHARE_OF_SAVING", 1e9)
        stopped_after(monkeypatch, FIRST + 201)
        raises(InputError, "the machine has failed", run, more)
        with pytest.raises(InputError, match=r"p/s: has not played all of two.csv; repeat that command first"):
            run(replace(more, source="whole.csv"))
    assert run(more) == 0
    assert outcome("p") == outcome("w")
    before = Path("p/s/runs.csv").read_bytes()
    # Not a second time.
    assert run(more) == 0
    assert Path("p/s/runs.csv").read_bytes() == before
    # The file has grown: only its new rows are played.
    with Path("two.csv").open("a") as file:
        file.write("1,2,x,yes\n")
    assert run(more) == 0
    assert pd.read_csv("p/s/runs.csv")["n_examples"].unique().tolist() == [1201]
    with pytest.raises(InputError, match=r"^p/s: the last rows that its learners have seen are those of two.csv; take"):
        run(asked("one.csv", results=Path("p")))


def test_what_is_refused():
    assert run(asked("one.csv")) == 0
    more = Request("two.csv", continues=Path("results/s/stream.state"))
    for wrong, sentence in (
        (replace(more, budgets=(9,), force=True), r"of results/s; remove --budget, --force"),
        (
            replace(more, continues=Path("none")),
            r"--continue none: not a results folder of budgetrun run; a model that",
        ),
        (replace(more, source="-"), r"--continue: needs a file"),
        (replace(more, source="three.csv"), r"three.csv: no such file"),
    ):
        raises(InputError, sentence, run, wrong)
    Path("results/s").rename("results/t")
    with pytest.raises(InputError, match=r"results/t: was renamed; its name was s, which --continue needs"):
        run(replace(more, continues=Path("results/t")))
    Path("two.csv").write_text("a,b,c,label\n1,2,x,perhaps\n")
    Path("results/t").rename("results/s")
    raises(InputError, r"perhaps", run, more)
    Path("two.csv").write_text("a,b,c,kind\n1,2,x,yes\n")
    gone = r"^two.csv: column 'label' of the table that was learned is missing: the label$"
    raises(InputError, gone, run, more)
    assert run(asked("one.csv")) == 0
    # The rows of today have taken the place of those of yesterday.
    Path("two.csv").write_text("a,b,c,label\n1,2,x,yes\n")
    assert run(more) == 0
    Path("two.csv").write_text("a,b,c,label\n3,4,y,no\n5,6,y,no\n")
    changed = r"^two.csv: the file has changed since 1 of its rows was played; new rows need a file of another name$"
    raises(InputError, changed, run, more)


def test_learners_that_depend_on_the_number_of_rounds_do_not_go_on():
    assert run(Request("one.csv", algorithms=("norma:step=1/sqrt(T)",), budgets=(20,), name="s")) == 0
    with pytest.raises(InputError, match=r"results/s: its learners depend on T, the number of rounds; they cannot go"):
        run(Request("two.csv", continues=Path("results/s")))
