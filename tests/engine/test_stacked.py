"""Stacks: members that begin again and are dropped, cuts and pauses of the stream, sparse rows, and memory."""

import copy
import pickle
from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from cases import fed, random_stream
from reference import auto as reference

from budgetrun import AutoClassifier, engine
from budgetrun.base.errors import InputError
from budgetrun.engine import Group, standardised
from budgetrun.engine.hypotheses import stacked
from budgetrun.engine.standardised import Guarded, NormalScores, Standardised
from budgetrun.kernels import Linear
from budgetrun.learners import find

N_CLASSES = 3
BALANCED = {"class_weight": "balanced"}
LEFT = {66: (8, 8, 8), 74: (2, 2, 2)}


def stream(task, long_tails=False):
    X, y = random_stream()
    X, y = X[:80] * [30, 1] + [5, 0], y[:80]
    if long_tails:
        X[:, 1] = np.exp(3 * X[:, 1])
        # Many equal values, and a wrong one.
        X[:, 0] = np.round(X[:, 0], -1)
        X[60, 0] = -1e5
    if task == "regression":
        numbers = 100 + 7 * np.sin(X[:, 1]) + y
        numbers[62] = 1e4 if long_tails else numbers[62]
        return X, numbers
    return X, (np.arange(80) % 3 + (y > 0)) % N_CLASSES if task == "multiclass" else y


def group_of(task, **given):
    learner = find("auto", task=task)(**({"budget": 14} | given))
    return Group(Linear(), [learner], n_classes=N_CLASSES if task == "multiclass" else None)


def played(group, X, y, block=33):
    return fed(group, X, y[None], block)[0]


def is_seen_early(monkeypatch, seen=16):
    for home in (stacked, reference):
        monkeypatch.setattr(home, "LEFT", LEFT)
        monkeypatch.setattr(home, "SEEN", seen)
    monkeypatch.setattr(standardised, "DECIDED", 20)
    monkeypatch.setattr(reference, "DECIDED", 20)


# Copies for several classes take long.
@pytest.mark.parametrize(
    ("task", "long_tails", "seen"),
    [*product(["binary", "regression"], [False, True], [16]), *product(["binary", "regression"], [True], [64]),
     ("multiclass", True, 16)],
)  # fmt: skip
def test_members_are_dropped_as_in_the_reference(monkeypatch, task, long_tails, seen):
    is_seen_early(monkeypatch, seen)
    X, y = stream(task, long_tails)
    function = {"binary": reference.binary, "regression": reference.regression}.get(task)
    trace = function(X, y, None, 14) if function else reference.multiclass(X, y, None, N_CLASSES, 14)
    group = group_of(task)
    np.testing.assert_allclose(played(group, X, y).T, trace.scores, rtol=1e-8, atol=1e-9)
    stack = group.members[0].hypothesis
    members = stack.members
    assert sum(m["live"] for m in members if raced(m)) == 2
    # What was dropped is played no more.
    playing = {
        k for at, one in stack._groups for m, (k, _) in zip(one.members, stack._of(at), strict=True) if m.hypothesis
    }
    assert playing == {k for k, m in enumerate(members) if m["live"]}
    assert len({m["by_rank"] for m in members}) == 1 + long_tails
    for inputs in (False, True):
        assert len({m["live"] for m in members if not raced(m) and m["by_rank"] is inputs}) <= 1


def raced(member):
    return member["rate"] or member["learner"].pairs


@pytest.mark.parametrize(
    ("task", "given", "long_tails"),
    [*product(["binary"], [{}, BALANCED], [False, True]), *product(["regression"], [{}], [False, True]),
     ("multiclass", {}, True), ("multiclass", BALANCED, False)],
)  # fmt: skip
def test_cuts_pauses_and_sparse_rows_change_no_bit(monkeypatch, task, given, long_tails):
    is_seen_early(monkeypatch)
    X, y = stream(task, long_tails)
    whole, cut = group_of(task, **given), group_of(task, **given)
    scores, found = played(whole, X, y, 100), []
    for start in range(0, len(y), 7):
        cut = pickle.loads(pickle.dumps(cut))
        found.append(cut.feed(X[start : start + 7], y[None, start : start + 7])[0])
    np.testing.assert_array_equal(np.concatenate(found, -1), scores)
    np.testing.assert_array_equal(*(engine.score(one.members[0], X[:9]) for one in (whole, cut)))
    # The next prediction is that of the same function.
    after = whole.feed(X[:1], y[None, :1])[0][..., 0]
    np.testing.assert_allclose(engine.score(cut.members[0], X[:1])[..., 0], after, rtol=1e-9, atol=1e-9)
    if not given:
        bits = (X.mean(axis=0) < X) * 0.25
        dense, sparse = (played(group_of(task), rows, y) for rows in (bits, sp.csr_array(bits)))
        np.testing.assert_array_equal(dense, sparse)


@pytest.mark.parametrize(
    ("task", "long_tails"), [*product(["binary", "regression"], [False, True]), ("multiclass", False)]
)
def test_columns_of_zeros_change_nothing(monkeypatch, task, long_tails):
    is_seen_early(monkeypatch)
    X, y = stream(task, long_tails)
    narrow, grown = group_of(task), group_of(task)
    played(grown, X[:30], y[:30])
    grown.rearrange([0, 1], 4)
    rest = played(grown, np.hstack([X, np.zeros((len(y), 2))])[30:], y[30:])
    np.testing.assert_allclose(rest, played(narrow, X, y)[..., 30:], rtol=1e-9, atol=1e-9)


def test_rows_are_standardised_by_those_before():
    X = np.random.default_rng(0).normal(3, 2, size=(50, 2)) * [1, 1e4]
    one, other = Standardised(2), Standardised(2)
    Z = one.scaled(X)
    expected = [(x - X[:t].mean(axis=0)) / X[:t].std(axis=0) for t, x in enumerate(X) if t > 1]
    np.testing.assert_allclose(Z[2:], np.clip(expected, -10, 10))
    np.testing.assert_array_equal(np.vstack([other.scaled(X[:13]), other.scaled(X[13:])]), Z)
    before = copy.deepcopy(vars(one))
    np.testing.assert_allclose(one.scaled(X, learn=False), np.clip((X - X.mean(axis=0)) / X.std(axis=0), -10, 10))
    np.testing.assert_equal(vars(one), before)
    bits = np.array([[0, 0], [0, 0.18], [2, 0], [0, 0.18], [3, 0.18]])
    np.testing.assert_array_equal(Standardised(2).scaled(bits[:4]), bits[:4] != 0)
    assert not np.array_equal(Standardised(2).scaled(bits)[4], [1.5, 1])
    # After the rows that decide, they stay bits.
    late = Standardised(2)
    late.scaled(np.tile(bits[:4], (256, 1)))
    np.testing.assert_array_equal(late.scaled(bits[4:]), [[1.5, 1]])


@pytest.mark.parametrize(
    ("task", "n_features", "pairs"),
    [("binary", 24, 2), ("binary", 25, 1), ("binary", 128, 1), ("binary", 129, 0), ("multiclass", 64, 1),
     ("multiclass", 65, 0), ("regression", 128, 1)],
)  # fmt: skip
def test_products_are_of_few_features(task, n_features, pairs):
    learner = group_of(task, budget=300).members[0].learner
    assert sum(one.pairs > 0 for one in learner.linear(300, n_features)) == pairs
    assert sum(one.pairs > 0 for one in learner.linear(10, n_features)) == (0 if n_features > 26 else 1)


def test_memory_lowers_the_budget():
    for memory, budget in ((None, 300), (10**9, 300), (2 * 10**6, 32)):
        learner = find("auto")(memory=memory)
        parts = [part.learner for part in learner.members(10) if part.rate]
        assert {(part.name == "krls", part.budget) for part in parts} == {(False, budget), (True, budget // 3)}
        assert memory is None or learner.bytes_in_use(budget, 10) <= memory
        # There are twins only if they fit as well.
        assert learner.twins_fit(10) == (memory is None or learner.bytes_in_use(300, 10, twins=True) <= memory)
    with pytest.raises(InputError, match="memory: with 10 features, auto needs at least 277,360 bytes"):
        find("auto")(memory=10**5).members(10)


def test_twins_take_as_much_as_the_members_again():
    learner = find("auto")()
    once, twice = (learner.bytes_in_use(100, 10, twins) for twins in (False, True))
    assert twice == 2 * once - 16 * 1024 * 10
    # Four widths, with 16 bytes for a pair of examples.
    assert learner.bytes_needed(100) == 2 * 4 * 16 * 100**2


def test_twins_need_memory(monkeypatch):
    is_seen_early(monkeypatch)
    X, y = stream("binary", long_tails=True)
    for memory, twins in ((10**9, len(find("auto")().members(2))), (150_000, 0)):
        group = group_of("binary", memory=memory)
        played(group, X, y)
        assert sum(m["by_rank"] for m in group.members[0].hypothesis.members) == twins


@pytest.mark.parametrize("n_classes", [2, 3])
def test_balanced_weights_move_the_thresholds_alone(n_classes):
    rng = np.random.default_rng(0)
    y = rng.choice(n_classes, size=240, p=[0.9, 0.1] if n_classes == 2 else [0.8, 0.1, 0.1])
    X = rng.normal(size=(240, 2)) + 1.5 * (y[:, None] == [1, 2])
    errors, scores = [], []
    for weight in (None, "balanced"):
        model = AutoClassifier(class_weight=weight, budget=20).fit(X, y)
        guesses, f = model.predict(X), model.decision_function(X)
        errors.append(np.mean([np.mean(guesses[y == c] != c) for c in range(n_classes)]))
        scores.append(f[:, 1:] - f[:, :1] if n_classes > 2 else f)
    assert errors[1] < 0.8 * errors[0]
    counts = np.bincount(y) + 1
    moved = np.log(counts[1:] / counts[0])
    np.testing.assert_allclose(scores[0] - scores[1], np.broadcast_to(moved, scores[0].shape[-1:]) + 0 * scores[0])


@pytest.mark.parametrize("logarithm", [False, True])
def test_the_inputs_that_help_more_stay(monkeypatch, logarithm):
    is_seen_early(monkeypatch)
    X = np.random.default_rng(0).normal(size=(100, 2)) ** [1, 9]
    y = np.where(np.abs(X[:, 1]) > 0.1 if logarithm else X[:, 0] > 0, 1, -1)
    group = group_of("binary")
    played(group, X, y)
    assert {m["by_rank"] for m in group.members[0].hypothesis.members if m["live"]} == {logarithm}


def test_columns_with_long_tails_need_no_logarithms():
    Z = np.random.default_rng(0).normal(size=(600, 2))
    y = np.where(Z[:, 0] * Z[:, 1] > 0, 1, -1)
    scores = [played(group_of("binary", budget=40), X, y, 256) for X in (np.exp(2 * Z), 2 * Z)]
    as_they_are, logarithms = (np.sum((y * f)[300:] <= 0) for f in scores)
    assert as_they_are < 1.5 * logarithms


def test_inputs_by_rank_are_normal_scores():
    # The values of the third column are nearly all equal: it is left out.
    Z = np.random.default_rng(0).normal(size=(1000, 3))
    X = np.stack([np.exp(Z[:, 0]), np.floor(3 * Z[:, 1]), np.where(Z[:, 2] > 2, Z[:, 2], -5.0)], axis=1)
    one = NormalScores(X[:800])
    found = one.scaled(X[800:], False)
    assert not found[:, 2].any()
    usual = np.abs(Z[800:, 0]) < 1.8
    assert np.abs(found[usual, 0] - Z[800:, 0][usual]).max() < 0.3
    assert len(np.unique(found[:, 1])) <= len(np.unique(X[800:, 1]))
    np.testing.assert_array_equal(one.scaled(sp.csr_array(X), False), one.scaled(X, False))
    assert np.isfinite(NormalScores(1e-310 * X).scaled(1e-310 * X)).all()
    # The function increases, and is constant beyond the first and the last quantile.
    ends = one.scaled(np.linspace(-1e9, 1e9, 9)[:, None] * np.ones(3), False)[:, :2]
    assert np.all(np.diff(ends, axis=0) >= 0)
    assert len(np.unique(ends[:, 0])) == 2


def test_one_wrong_value_does_not_set_the_scale():
    X = np.random.default_rng(0).normal(size=(3000, 2))
    X[1500, 0], X[10, 1] = 1e6, 1e6
    plain, guarded = Standardised(2), Guarded(2)
    # Before row 1,024, it does.
    np.testing.assert_array_equal(plain.scaled(X)[:1501], guarded.scaled(X)[:1501])
    assert plain.mean[0] > 300
    counted = X[:, 0].copy()
    counted[1500] = counted[:1500].mean() + 30 * counted[:1500].std()
    found = guarded.scaled(X, learn=False)[:1500, 0]
    np.testing.assert_allclose(found, (X[:1500, 0] - counted.mean()) / counted.std(), rtol=1e-12)


@pytest.mark.parametrize(("farthest", "long_tails"), [(15.4, False), (17.1, True)])
def test_long_tails_are_more_than_two_and_a_half_deviations_from_the_median(farthest, long_tails):
    # The median is 0, the median deviation 1, and the standard deviation 2.4 or 2.6.
    column = np.append(np.tile([-1.0, 1.0], 49), [farthest, -farthest])
    X = np.stack([column, np.arange(100) > 98], axis=1)
    inputs = Standardised(2)
    inputs.scaled(X)
    assert inputs.long_tails(X) is long_tails


@pytest.mark.parametrize("sparse", [False, True])
def test_a_huge_value_is_cut(sparse):
    X, y = stream("binary")
    X[40, 0] = 1e150
    group, cut = group_of("binary"), group_of("binary")
    form = sp.csr_array if sparse else np.array
    found = played(group, form(X), y)
    np.testing.assert_array_equal(found, played(cut, form(np.minimum(X, 1e100)), y))
    assert np.isfinite(engine.score(group.members[0], form(X[38:42]))).all()
