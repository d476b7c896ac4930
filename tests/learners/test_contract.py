"""The contract of every learner."""

import pickle
from functools import cache

import numpy as np
import pytest
from cases import STREAMS, all_cases, coded_stream, fed, firsts, paired, random_stream
from faults import raises

from budgetrun import kernels
from budgetrun.base.problem import BINARY as TWO
from budgetrun.base.problem import MULTICLASS, PROBLEMS, REGRESSION
from budgetrun.engine import Group
from budgetrun.engine.hypotheses import MulticlassExpansion
from budgetrun.engine.pool import Pool
from budgetrun.kernels.arithmetic import TILE
from budgetrun.learners import find, registry

N_CLASSES = 5
# id -> problem, name, variant, parameters.
CASES = {i: (TWO, *rest) for i, *rest, _ in all_cases()}
CASES |= {f"multiclass-{i}": (MULTICLASS, *rest) for i, *rest, _ in all_cases("MULTICLASS_CASES")}
CASES |= {f"regression-{i}": (REGRESSION, *rest) for i, *rest, _ in all_cases("REGRESSION_CASES")}
BINARY = [i for i, (problem, *_) in CASES.items() if problem is TWO]
# Problems, as parameters of tests.
EACH = pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)
KERNEL = kernels.Gaussian(gamma=0.5)


def learner_of(case_id, **changes):
    problem, name, variant, given = CASES[case_id]
    return find(name, variant, problem.name)(**(given | changes))


def stream_of(problem, name="random"):
    """Return a stream's examples and labels: signs, codes of classes, or numbers."""
    if problem is MULTICLASS:
        return coded_stream(name, N_CLASSES)
    X, y = STREAMS[name]()
    return X, (np.round(np.sin(2 * X[:, 0]) + 0.5 * y, 1) if problem is REGRESSION else y)


def group_of(learners, **options):
    return Group(KERNEL, learners, n_classes=PROBLEMS[learners[0].task].n_classes(N_CLASSES), **options)


def play(learner, X, y, block_size=40, **options):
    group = group_of([learner], **options)
    return group, fed(group, X, y[None], block_size)[0]


@cache
def played(case_id, near=False, dtype="float64"):
    """Return a learner's member of its group after a stream, its scores, and the rounds held after each of its acts.

    With ``near``, examples of several classes are near each other.
    """
    X, y = stream_of(CASES[case_id][0])
    held = {}
    group = group_of([learner_of(case_id)], dtype=dtype)
    group.watch = lambda i, t: held.update({t: group.members[i].hypothesis.rounds.tolist()})
    X = random_stream()[0] if near else X
    scores = fed(group, X, y[None], 40)[0]
    return group.members[0], scores, held


@EACH
def test_every_learner_has_a_reference(problem):
    with_reference = {(name, variant) for kind, name, variant, _ in CASES.values() if kind is problem}
    registered = registry(problem.name)
    assert with_reference == {(name, variant) for name, variants in registered.items() for variant in variants}


@pytest.mark.parametrize(("case_id", "stream"), paired(firsts(CASES), STREAMS))
def test_budget_never_exceeded(case_id, stream):
    X, y = stream_of(CASES[case_id][0], stream)
    sizes = []
    group = group_of([learner_of(case_id)], watch=lambda i, t: sizes.append(group.members[i].hypothesis.size))
    group.feed(X, y[None])
    budget = group.members[0].learner.budget
    assert budget is None or max(sizes) <= budget
    assert group.members[0].count.max_support == max(sizes)
    assert group.pool.used <= max(sizes) + len(y)


@pytest.mark.parametrize("case_id", firsts(CASES), ids=lambda i: f"{i}-same_seed_same_trace")
def test_same_seed_same_trace_and_inputs_unchanged(case_id):
    X, y = stream_of(CASES[case_id][0])
    before = X.copy(), y.copy()
    np.testing.assert_array_equal(play(learner_of(case_id), X, y)[1], played(case_id)[1])
    np.testing.assert_array_equal(X, before[0])
    np.testing.assert_array_equal(y, before[1])


@pytest.mark.parametrize(("case_id", "block_size"), paired(firsts(CASES), [1, 7]))
def test_neither_block_sizes_nor_pauses_matter(case_id, block_size):
    X, y = stream_of(CASES[case_id][0])
    whole, scores, _ = played(case_id)
    group, found = group_of([learner_of(case_id)]), []
    for start in range(0, len(y), block_size):
        if start % 3 == 0:
            group = pickle.loads(pickle.dumps(group))
        found.append(group.feed(X[start : start + block_size], y[None, start : start + block_size])[0])
    one = group.members[0]
    np.testing.assert_allclose(np.concatenate(found, axis=-1), scores, rtol=1e-8, atol=2e-9)
    assert (one.count.mistakes, one.count.updates) == (whole.count.mistakes, whole.count.updates)
    np.testing.assert_array_equal(one.hypothesis.rounds, whole.hypothesis.rounds)
    # Weights on a nearly dependent support set are the solution of a linear system.
    close = {"rtol": 1e-7, "atol": 1e-8} if one.learner.form.averages else {"rtol": 1e-9, "atol": 1e-12}
    np.testing.assert_allclose(one.hypothesis.coef, whole.hypothesis.coef, **close)


@pytest.mark.parametrize("case_id", firsts(CASES), ids=lambda i: f"{i}-later_values")
def test_no_round_reads_values_of_examples_that_come_after_its_tile(case_id, monkeypatch):
    compute = Pool.compute

    def without_them(pool, *args):
        compute(pool, *args)
        for tile, values in enumerate(pool.tiles):
            values[[slot for slot in pool.block_slots[TILE * (tile + 1) :] if slot < len(values)]] = np.nan

    # With four features, what learners that project hold still grows after the first tile.
    X = np.random.default_rng(0).normal(size=(256, 4))
    numbers = np.sin(2 * X[:, 0]) + X[:, 1]
    y = {TWO: np.sign(numbers), MULTICLASS: np.digitize(numbers, [-1, 0, 1, 2])}.get(CASES[case_id][0], numbers)
    _, scores = play(learner_of(case_id), X, y)
    monkeypatch.setattr(Pool, "compute", without_them)
    _, found = play(learner_of(case_id), X, y, 256)
    np.testing.assert_allclose(found, scores, rtol=1e-8, atol=2e-9)


@pytest.mark.parametrize("case_id", firsts(BINARY), ids=lambda i: f"{i}-flipping_labels")
def test_flipping_all_labels_keeps_the_mistakes(case_id):
    X, y = random_stream()
    (one, scores, _), (other, flipped) = played(case_id), play(learner_of(case_id), X, -y)
    assert one.count.mistakes == other.members[0].count.mistakes
    np.testing.assert_allclose(scores, -flipped, atol=1e-12)


REMOVAL_BASED = [i for i in BINARY if find(*CASES[i][1:3]).alike_until_full and "budget" in CASES[i][3]]
REMOVAL_BASED += [
    i
    for i, (problem, *kind, given) in CASES.items()
    if problem is MULTICLASS and "budget" in given and find(*kind, "multiclass").form is MulticlassExpansion
]


@pytest.mark.parametrize("case_id", REMOVAL_BASED)
def test_with_room_enough_it_is_the_perceptron(case_id):
    problem = CASES[case_id][0]
    X, y = stream_of(problem)
    _, scores = play(learner_of(case_id, budget=len(y)), X, y)
    _, perceptron = play(find("perceptron", task=problem.name)(), X, y)
    np.testing.assert_array_equal(scores, perceptron)


@pytest.mark.parametrize("case_id", firsts(CASES), ids=lambda i: f"{i}-float32")
def test_float32_follows_float64(case_id):
    # Of several classes, so close together that the choice of the rival does not depend on kernel values below 1e-4.
    near = CASES[case_id][0] is MULTICLASS
    one, scores, held = played(case_id, near)
    other, single, held_by_other = played(case_id, near, "float32")
    n_rounds = scores.shape[-1]
    assert single.dtype == np.float32
    if not one.learner.form.averages:
        assert other.count.mistakes == one.count.mistakes
        np.testing.assert_allclose(single, scores, atol=2e-4)
        return
    # In float32, ||delta||^2 is known up to 1e-4 of k(x, x). An example that is so near to the threshold may be
    # projected in one run and added in the other. Up to that round, the two runs must agree.
    until = next((t for t in range(n_rounds) if held.get(t) != held_by_other.get(t)), n_rounds) + 1
    # With several classes, the rival can also depend on a difference below the precision of float32.
    if not near:
        np.testing.assert_allclose(single[..., :until], scores[..., :until], atol=2e-4)
    assert abs(other.count.mistakes - one.count.mistakes) <= 0.03 * n_rounds


@pytest.mark.compiled
def test_compiled_float32_follows_float64():
    played.cache_clear()
    test_float32_follows_float64("rbp-budget=1-seed=0")
    played.cache_clear()


@EACH
def test_a_learner_that_fails_leaves_the_others_alone(problem):
    given = [("rbp", {"budget": 9}), ("perceptron", {}), ("projectron++", {"eta": 0.3})]
    if problem is REGRESSION:
        given = [("klms", {"step": 0.5, "budget": 9}), ("norma", {}), ("krls", {"budget": 20})]

    class Faulty(find(given[1][0], task=problem.name)):
        alike_until_full = None
        compiled = False

        def update(self, f, *told):
            if f.size == 5:
                raise RuntimeError("on purpose")
            super().update(f, *told)

    def good():
        return [find(name, task=problem.name)(**parameters) for name, parameters in given]

    X, y = stream_of(problem)
    first, *others = good()
    group = group_of([first, Faulty(), *others], isolate=(Exception,))
    alone = [play(learner, X, y)[0].members[0].count.mistakes for learner in good()]
    for start in range(0, len(y), 30):
        scores = group.feed(X[start : start + 30], y[None, start : start + 30])
    assert [str(m.error) if m.error else None for m in group.members] == [None, "on purpose", None, None]
    assert [group.members[i].count.mistakes for i in (0, 2, 3)] == alone
    assert np.isnan(scores[1]).all()
    assert np.isfinite(scores[[0, 2, 3]]).all()
    raises(RuntimeError, "on purpose", play, Faulty(), X, y)
