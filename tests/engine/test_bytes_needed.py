"""Tables for a budget are refused before they are allocated, and none is forgotten."""

import inspect
import re
import tracemalloc

import numpy as np
import pytest
from cases import EXHAUSTIVE, fed
from faults import raises
from sweeping import config

from budgetrun import CKS, TighterPerceptron, learners, river
from budgetrun import config as config_module
from budgetrun.base import limits
from budgetrun.base.errors import TooLargeError
from budgetrun.base.registry import parameters
from budgetrun.engine import Group
from budgetrun.engine.group import trial
from budgetrun.engine.hypotheses.base import bytes_needed
from budgetrun.kernels import Gaussian
from budgetrun.runner.plan import Options
from budgetrun.runner.status import describe

X = np.random.default_rng(0).normal(size=(300, 3))
BUDGETED = {
    f"{name}-{variant}-{task}": (task, cls)
    for task in ("binary", "multiclass", "regression")
    for name, variants in learners.for_task(task).items()
    for variant, cls in variants.items()
    if "budget" in parameters(cls)
}
LABELS = {"binary": np.where(X[:, 0] * X[:, 1] > 0, 1, -1), "multiclass": np.arange(300) % 3, "regression": X[:, 0]}
SENTENCE = (
    r"{name}: a budget of {budget} would need [\d,.]+ [KMGT]B of memory, and the limit is 500\.0 MB; use a smaller "
    r"budget or another variant, or raise the limit with --memory SIZE \(of a sweep\) or \$BUDGETRUN_MEMORY=SIZE"
)


def of(cls, budget, **others):
    needed = [p.name for p in inspect.signature(cls).parameters.values() if p.default is p.empty]
    given = {name: 0.5 if name in ("epsilon", "phi") else 4 for name in needed}
    return cls(**given | {"budget": budget} | others)


def arrays(thing, seen, left_out=("Pool",)):
    """Yield the arrays of an object of this package, once each, and for views what they are views of."""
    # What was seen is kept, so that no other object gets its id.
    if id(thing) in seen or type(thing).__name__ in left_out:
        return
    seen[id(thing)] = thing
    inside = ()
    if isinstance(thing, np.ndarray):
        if not isinstance(thing.base, np.ndarray):
            yield thing
        inside = (thing.base,)
    elif isinstance(thing, (list, tuple)):
        inside = thing
    elif isinstance(thing, dict):
        inside = thing.values()
    elif type(thing).__module__.startswith("budgetrun.") and hasattr(thing, "__dict__"):
        inside = vars(thing).values()
    for one in inside:
        yield from arrays(one, seen, left_out)


@pytest.mark.parametrize("budget", [10**6, 10**9])
@pytest.mark.parametrize("name", BUDGETED)
def test_a_budget_works_or_is_refused_before_anything_is_allocated(name, budget):
    task, cls = BUDGETED[name]
    with limits.memory(500e6):
        tracemalloc.start()
        try:
            group = Group(Gaussian(gamma=1.0), [of(cls, budget)], n_classes=3 if task == "multiclass" else None)
            group.feed(X[:64], LABELS[task][None, :64])
            said = ""
        except TooLargeError as error:
            said = str(error)
        finally:
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
    assert peak < (5e6 if said else 500e6)
    assert not said or re.fullmatch(SENTENCE.format(name=r"[\w()]+", budget=f"{budget:,}"), said)


# The members of `auto` are the same for each class of one-vs-rest.
@pytest.mark.parametrize("name", [name for name in BUDGETED if EXHAUSTIVE or "auto-one_vs_rest" not in name])
def test_no_table_is_forgotten(name):
    task, cls = BUDGETED[name]
    budget, shape = 40, (3,) if task == "multiclass" else ()
    needed = bytes_needed(*trial(of(cls, budget), Gaussian(gamma=1.0), *shape), budget)
    group = Group(Gaussian(gamma=1.0), [of(cls, budget)], n_classes=3 if shape else None)
    fed(group, X[:240], LABELS[task][None, :240], 20)
    member = group.members[0]
    held = arrays([member.learner, member.hypothesis], {})
    tables = [a for a in held if a.ndim == 2 and budget <= min(a.shape) and max(a.shape) < 5 * budget]
    found = sum(table.nbytes for table in tables)
    assert found <= 2 * needed
    # These have other tables, or none before the budget is full.
    if name.partition("-")[0] not in ("auto", "forks", "nogd", "skegd"):
        assert needed <= 2 * found


def test_estimators_and_dry_runs_refuse_it_alike(tmp_path, monkeypatch):
    monkeypatch.setenv(limits.ENVIRONMENT, "500M")
    said = SENTENCE.format(name="tighter", budget="1,000,000")
    for call in ("fit", "partial_fit"):
        raises(ValueError, f"^{said}$", getattr(TighterPerceptron(budget=10**6), call), X, LABELS["binary"])
    with pytest.raises(ValueError, match=f"^{said}$"):
        TighterPerceptron(budget=10**6).partial_fit(X[:9], LABELS["binary"][:9], classes=[-1, 1]).learn_one(X[9], 1)
    raises(ValueError, f"^{said}$", river.TighterPerceptron(budget=10**6).learn_one, {"a": 1.0}, True)
    # A budget that fits.
    assert CKS(budget=5000).fit(X, LABELS["binary"]).n_rounds_ == 300
    asked = config_module.load(config(tmp_path, algorithms=[{"name": "cks", "budget": 10**6}], repetitions=1))
    with pytest.raises(TooLargeError, match=f"{SENTENCE.format(name='.*, cks B=1000000 seed 0', budget='1,000,000')}$"):
        describe(asked, Options(tmp_path, memory=500e6))
