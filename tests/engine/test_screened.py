"""Rough scores: wherever a learner may act, and in all that it holds, they leave the bits of an exact expansion."""

import copy

import numpy as np
import pytest

from budgetrun.engine import Group
from budgetrun.engine import group as group_module
from budgetrun.engine.hypotheses.expansion import Expansion
from budgetrun.engine.hypotheses.screened import Screened
from budgetrun.kernels import Gaussian, Linear, Polynomial, compiling
from budgetrun.kernels.kinds import Floats
from budgetrun.kernels.multitask import Multitask
from budgetrun.kernels.sums import add_roughly
from budgetrun.learners import find

LEARNERS = [
    ("perceptron", None, {}), ("forgetron", "self_tuned", {"budget": 20}), ("forgetron", "greedy", {"budget": 20}),
    ("forgetron", "basic", {"budget": 20}), ("rbp", None, {"budget": 20}), ("cks", None, {"budget": 20}),
    ("ahpatron", None, {"budget": 20, "epsilon": 0.1}), ("passive_aggressive", None, {"C": 0.01}),
]  # fmt: skip
IDS = [f"{name}-{variant}" if variant else name for name, variant, _ in LEARNERS]


@pytest.fixture(params=["interpreted"])
def screens(request, monkeypatch):
    """Rough scores are used at once, in the interpreter, too, and by learners that act often."""
    monkeypatch.setattr(group_module, "_FEW", 1.0)
    if request.param == "interpreted":
        monkeypatch.setattr(group_module, "ready", lambda *given: True)
        monkeypatch.setattr(group_module.compiling, "takes", lambda learner: True)
        yield
    else:
        with compiling.first():
            yield


def stream(T, d, seed=0, noise=0.02):
    """Return rows of which some are given again, with the same label or the other one."""
    rng = np.random.default_rng(seed)
    y = rng.choice([-1, 1], T)
    X = rng.normal(size=(T, d))
    X[:, 0] += 2.5 * y
    y[rng.random(T) < noise] *= -1
    again = rng.random(T) < 0.1
    X[again] = X[rng.integers(0, 50, again.sum())]
    return X, y


def played(learner, X, y, *, gamma=0.2, scores=False, cuts=(256,), dtype="float64", tie="mistake"):
    """Return the group, and whether scores were rough at some time."""
    name, variant, parameters = learner
    group = Group(Gaussian(gamma=gamma), [find(name, variant)(**parameters)], dtype=dtype, tie=tie)
    start, turn, screened = 0, 0, False
    while start < len(y):
        end = start + cuts[turn % len(cuts)]
        group.feed(X[start:end], y[None, start:end], scores=scores)
        screened |= isinstance(group.members[0].hypothesis, Screened)
        start, turn = end, turn + 1
    return group, screened


def state(group):
    group = copy.deepcopy(group)
    (member,) = group.members
    f = member.hypothesis
    assert type(f) is Expansion
    numbers = member.count.mistakes, member.count.updates, member.count.max_support, f.rounds.tolist()
    return *numbers, f.coef.tobytes(), f.norm_sq, f.doubt, member.learner.facts(f)


@pytest.mark.parametrize("learner", LEARNERS, ids=IDS)
@pytest.mark.parametrize("case", ["plain", "cut", "float32", "positive"])
def test_all_that_a_learner_holds_has_the_same_bits(learner, case, screens):
    X, y = stream(1500, 3)
    options = {"float32": {"dtype": "float32"}, "positive": {"tie": "positive"}}.get(case, {})
    cuts = (256, 7, 100, 64) if case == "cut" else (256,)
    rough, screened = played(learner, X, y, cuts=cuts, **options)
    exact, never = played(learner, X, y, scores=True, **options)
    assert screened
    assert not never
    assert state(rough) == state(exact)


@pytest.mark.parametrize("learner", [LEARNERS[1], LEARNERS[6]], ids=[IDS[1], IDS[6]])
@pytest.mark.parametrize("screens", [pytest.param("compiled", marks=pytest.mark.compiled)], indirect=True)
def test_compiled_code_has_the_same_bits(learner, screens):
    X, y = stream(4000, 3)
    cut, screened = played(learner, X, y, cuts=(256, 7, 100, 64))
    assert screened
    assert state(cut) == state(played(learner, X, y, scores=True)[0])


@pytest.mark.parametrize("far", [1e3, 1e6, 1e18, 1e25])
def test_offsets_that_float32_cannot_hold(far, screens):
    X, y = stream(900, 3)
    X[:, 2] += far
    rough, screened = played(LEARNERS[0], X, y)
    assert screened
    assert state(rough) == state(played(LEARNERS[0], X, y, scores=True)[0])


def test_scores_are_exact_again_where_most_would_have_to_be_settled(screens):
    X, y = stream(1500, 3)
    near, _ = played(LEARNERS[0], X, y)
    far, screened = played(LEARNERS[0], X + 1e9, y)
    assert screened
    assert [type(group.members[0].hypothesis) for group in (near, far)] == [Screened, Expansion]


@pytest.mark.parametrize("size", [1e-40, 1e-20, 1e35, 1e45])
def test_weights_that_float32_cannot_hold(size, screens):
    X, y = stream(900, 3)
    learner = "ahpatron", None, {"budget": 20, "epsilon": 0.1, "step": size}
    rough, _ = played(learner, X, y)
    assert state(rough) == state(played(learner, X, y, scores=True)[0])


def test_calls_of_other_kinds_in_between(screens):
    """Scores that are read are exact; single rounds, copies and examples outside the stream see exact expansions."""
    X, y = stream(2000, 3)
    learner = LEARNERS[1]
    rough, _ = played(learner, X[:1024], y[:1024])
    assert isinstance(rough.members[0].hypothesis, Screened)
    exact, _ = played(learner, X[:1024], y[:1024], scores=True)
    assert state(rough) == state(exact)
    for group in (rough, exact):
        group.feed(X[1024:1100], y[None, 1024:1100], scores=False)
    a, b = (group.feed(X[1100:1200], y[None, 1100:1200]) for group in (rough, exact))
    assert (a == b).all()
    for t in range(1200, 1300):
        for group in (rough, exact):
            if group.feed_one(X[t], y[t]) is None:
                group.feed(X[t : t + 1], y[None, t : t + 1])
    for group in (rough, exact):
        group.feed(X[1300:], y[None, 1300:], scores=False)
    assert state(rough) == state(exact)


def test_zeros_are_exact(screens):
    """A score of 0 is settled, so that what counts zeros may read rough scores."""
    X, y = stream(1000, 3)
    group, _ = played(LEARNERS[1], X[:512], y[:512])
    twin = copy.deepcopy(group)
    far = np.concatenate([X[512:600] + 100, X[600:]])
    rough, exact = (one.feed(far, y[None, 512:], scores=scores) for one, scores in ((group, False), (twin, True)))
    assert ((rough == 0) == (exact == 0)).all()
    assert (exact == 0).any()
    np.testing.assert_allclose(rough, exact, atol=1e-4)


def test_a_learner_that_acts_often_has_exact_scores(screens, monkeypatch):
    monkeypatch.setattr(group_module, "_FEW", 0.25)
    X, y = stream(1000, 3, noise=0.5)
    group, _ = played(LEARNERS[4], X, y)
    assert type(group.members[0].hypothesis) is Expansion
    assert state(group) == state(played(LEARNERS[4], X, y, scores=True)[0])


@pytest.mark.compiled
@pytest.mark.parametrize("d", [1, 7, 60])
@pytest.mark.parametrize("rate", [1e-3, 0.3, 5.0])
def test_the_bound_holds(d, rate):
    rng = np.random.default_rng(d)
    X, x = rng.normal(size=(300, d)) * rng.choice([0.1, 1, 3], size=(300, 1)), rng.normal(size=(64, d))
    kernel, weights = Gaussian(gamma=rate / d), rng.normal(size=300) * rng.choice([1e-3, 1, 1e3], size=300)
    factor, error = kernel.rough(d, max(np.square(X).sum(axis=1).max(), np.square(x).sum(axis=1).max()))
    out = np.zeros(64)
    part = np.ascontiguousarray((factor * x).astype(np.float32).T)
    with compiling.first():
        add_roughly(weights, np.arange(300), (factor * X).astype(np.float32), part, out)
    exact = weights @ kernel.between(X, x)
    assert (np.abs(out - exact) <= error * np.abs(weights).sum()).all()
    assert np.abs(out - exact).max() > 1e-5 * error * np.abs(weights).sum()


@pytest.mark.parametrize(
    "kernel",
    [Linear(), Polynomial(degree=2), Gaussian(gamma=0.2, products="blas"), Multitask(gamma=0.2, n_tasks=2)],
    ids=["linear", "polynomial", "blas", "multitask"],
)
def test_other_kernels_have_exact_scores(kernel, screens):
    X, y = stream(600, 3)
    X[:, 2] = np.arange(600) % 2
    group = Group(kernel, [find("perceptron")()])
    group.feed(X, y[None], scores=False)
    assert type(group.members[0].hypothesis) is Expansion


def test_other_rows_and_numbers_have_exact_scores(screens):
    X, y = stream(1000, 3)
    assert not played(LEARNERS[0], np.rint(X), y)[1]
    group = Group(Gaussian(gamma=0.2), [find("klms", None, "regression")(step=0.1)])
    group.feed(X[:256], y[None, :256], scores=False)
    assert type(group.pool.kind) is Floats
    assert not isinstance(group.members[0].hypothesis, Screened)
