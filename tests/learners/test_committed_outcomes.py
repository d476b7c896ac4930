"""Every algorithm has a committed outcome on real data, in every form in which it comes."""

import json

import pytest

from budgetrun import learners, solvers
from budgetrun.data.cards import card
from budgetrun.files import checkout
from budgetrun.store.write import Store

TOP = checkout()


def forms():
    """Return what must have an outcome: every line of ``budgetrun list algorithms``, and the modes of solvers."""
    for multiclass, kind in ((False, ""), (True, " [multiclass]")):
        for name, variants in learners.registry(multiclass=multiclass).items():
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
        config = json.loads(manifest.read_text(encoding="utf-8"))["config"]
        entries = {entry["label"]: entry for entry in config["algorithms"]}
        tasks = {
            one["label"]: one["task"]
            for one in config["datasets"]
            if one["path"] is None and card(one["name"]).format != "generated"
        }
        for row in Store(manifest.parent).rows().values():
            entry, task = entries[row["label"]], tasks.get(row["dataset"])
            if task is None or row["status"] != "done":
                continue
            name = f"{entry['name']}({entry['variant']})" if entry["variant"] else entry["name"]
            found.add(name + " [multiclass]" * (task == "multiclass"))
            if entry["solver"]:
                found |= {f"{name}, kernel form"} if row["kernel"] != "linear" else set()
                found |= {f"{name}, hard margin"} if json.loads(row["parameters"]).get("hard_margin") else set()
    return found


@pytest.mark.parametrize("form", list(forms()))
def test_every_algorithm_has_a_committed_outcome_on_real_data(committed, form):
    assert form in committed, "add it to a config, and commit the results of that config's sweep"
