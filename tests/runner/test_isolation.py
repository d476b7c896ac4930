"""A run that raises, kills its worker or never ends fails alone: the other runs of its job finish."""

import re

import pytest
from sweeping import config, copied_package, ended, outcomes, printed, rows, start

from budgetrun.learners.remove_oldest import RemoveOldest

pytestmark = pytest.mark.faults

LEARNER = """
import ctypes, os
from typing import Literal
from budgetrun.learners.perceptron import Perceptron


class Hostile(Perceptron):
    name = "hostile"
    alike_until_full = None
    compiled = False

    def __init__(self, *, how: Literal["dies", "interrupts", "hangs"]) -> None:
        self.how = how

    def update(self, f, y, score):
        f.add(y)
        if f.size < 5:
            return
        if self.how == "dies":
            os._exit(3)
        if self.how == "interrupts":
            raise KeyboardInterrupt("not by a user")
        if self.how == "hangs":
            # Native code that keeps the lock of the interpreter.
            ctypes.PyDLL(None).sleep(1000)
"""


def failures(folder):
    key = ("label", "budget", "seed", "setting")
    return {tuple(row[name] for name in key): row["error"] for row in rows(folder) if row["status"] == "failed"}


@pytest.mark.parametrize(
    ("name", "error"),
    [*(("update", error) for error in (ValueError, SystemExit)), ("start", MemoryError), ("facts", GeneratorExit)],
)
def test_an_error_of_one_learner_fails_its_runs_only(tmp_path, run_sweep, monkeypatch, name, error, folder):
    """While budgets are not full, the learner shares its hypothesis with others, which then run without it."""
    algorithms = [{"name": "remove_oldest", "budget": [5, 20]}, {"name": "rbp", "budget": 10, "seeds": 3}]
    path = config(tmp_path, algorithms=algorithms, repetitions=1)
    assert run_sweep(path)[0] == 0
    right = {row["run_id"]: row for row in outcomes(folder)}
    real = getattr(RemoveOldest, name)

    def raising(self, *told):
        if self.budget == 20 and (name != "update" or told[0].size == 3):
            raise error("on purpose")
        return real(self, *told)

    monkeypatch.setattr(RemoveOldest, name, raising)
    assert run_sweep(path, force=True)[0] == 1
    found = outcomes(folder)
    assert {(row["label"], row["budget"]) for row in found if row["status"] == "failed"} == {("remove_oldest", "20")}
    assert {row["error"] for row in found if row["status"] == "failed"} == {f"{error.__name__}: on purpose"}
    finished = [row for row in found if row["status"] == "done"]
    assert len(finished) == 4
    assert finished == [right[row["run_id"]] for row in finished]


def test_a_learner_that_does_not_take_its_budget_fails_alone(tmp_path, run_sweep, folder):
    """Whether a budget that is a fraction goes with the other parameters is known only when the run begins."""
    follower = {"name": "pomdr", "budget": {"of": "perceptron", "fractions": [0.01, 1]}, "first_budget": 20}
    follower["eta"] = 0.1
    assert run_sweep(config(tmp_path, algorithms=[{"name": "perceptron"}, follower], repetitions=1))[0] == 1
    said = "ValueError: first_budget must be at most budget, _, got _"
    assert [re.sub(r"\d+", "_", error) for error in failures(folder).values()] == [said]
    assert sum(row["status"] == "done" for row in rows(folder)) == 2


def test_a_run_that_kills_its_worker_or_never_ends_fails_alone(tmp_path):
    """Its neighbors of the same job finish, and so does a learner that raises KeyboardInterrupt by itself."""
    copy, command = copied_package(tmp_path)
    (copy / "learners" / "hostile.py").write_text(LEARNER)
    algorithms = [{"name": "hostile", "how": ["hangs", "dies", "interrupts"]}, {"name": "perceptron"}]
    path = config(tmp_path, "hostile", timeout_seconds=2, repetitions=1, algorithms=algorithms)
    folder = tmp_path / "results" / "hostile"
    _, err = printed(1, ended(start(tmp_path, "sweep", path, "--jobs", 1, command=command)))
    assert "4/4 runs" in err
    assert "Traceback" not in err
    assert {re.search(r'"how": "(\w+)"', key[3])[1]: error for key, error in failures(folder).items()} == {
        "dies": "RuntimeError: its worker process died twice (killed, or out of memory)",
        "interrupts": "KeyboardInterrupt: not by a user",
        "hangs": "RuntimeError: it took longer than timeout_seconds, 2 s",
    }
    assert [row["label"] for row in rows(folder) if row["status"] == "done"] == ["perceptron"]
    assert not list((folder / "parts").glob("*.running"))


def test_a_limit_is_not_part_of_what_a_run_is(tmp_path, run_sweep, folder):
    """A limit may be set and removed between sweeps of one folder."""
    assert run_sweep(config(tmp_path, timeout_seconds=1e-9, repetitions=1))[0] == 1
    assert {row["status"] for row in rows(folder)} == {"failed"}
    assert failures(folder)["perceptron", "", "0", "{}"] == "RuntimeError: it took longer than timeout_seconds, 1e-09 s"
    assert run_sweep(config(tmp_path, repetitions=1))[0] == 0
    assert run_sweep(config(tmp_path, repetitions=1))[1].startswith("small: 0 runs to do, 8 finished")
