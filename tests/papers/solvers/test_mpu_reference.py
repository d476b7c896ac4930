"""The fast MPU goes through states of the transliterated Algorithm 1, update for update."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from papers.solvers.conftest import grid
from reference import mpu as reference

from budgetrun.kernels import Linear, Polynomial
from budgetrun.papers.solvers.loops.perceptron import present, updates
from budgetrun.papers.solvers.mpu import MarginPerceptronWithUnlearning as MPU
from budgetrun.papers.solvers.mpu import _Run

# The linear kernel again, but in the kernel form.
AS_GRAM = Polynomial(degree=1, gamma=1.0, coef0=0.0)
X, Y = grid()
ONES = (X > 0).astype(float)
FORMS = {
    "dense": (X, Linear()),
    "sparse": (sp.csr_array(X), Linear()),
    "binary": (sp.csr_array(ONES), Linear()),
    "gram": (X, AS_GRAM),
}


def dense(examples):
    return examples if isinstance(examples, np.ndarray) else examples.toarray()


# Powers of two, and 1 + delta is a square where the margin is hard: so all thresholds are exact in floating point.
SOFT = [{}, {"delta_b": 2.0, "C": 0.5}, {"C": 0.25, "seed": 3}, {"C": 4.0, "delta": 0.125, "delta_b": 1.5}]
HARD = [{"delta": 0.5625}, {"delta": 0.265625, "delta_b": 1.5, "seed": 1}]


def follow(given, examples, y, kernel):
    """Run the fast MPU beside Algorithm 1 and compare every state; return both, the thresholds and what was presented.

    The reference gets the parameters only, and computes I, b and delta_b from the paper.
    """
    solver = MPU(**({"delta": 0.25, "accuracy": 1e-9} | given))
    fast = _Run(solver, examples, y, kernel)
    ys = reference.signed(dense(examples), y)
    slow = reference.State(ys)
    hard, ratio = given.get("hard_margin"), given.get("delta_b", 3)
    if hard:
        thresholds = reference.hard_thresholds(ys, solver.delta, ratio)
    else:
        thresholds = reference.soft_thresholds(ys, given.get("C", 1), solver.delta, ratio)
        assert fast.limit == thresholds.limit
    assert (fast.b, fast.upper) == (thresholds.b, thresholds.b + thresholds.delta_b)
    presented = fast._present
    sizes = []

    def both(order, near, moved):
        order = order.copy()
        before = [reference.dot(slow.a, row) for row in ys]
        changed = {k: reference.present_repeatedly(slow, ys, k, thresholds) for k in order.tolist()}
        told, n_near, n_moved = presented(order, near, moved)
        assert told == any(changed.values())
        assert fast.counts.tolist() == slow.I
        assert (fast.total, fast.steps, fast.unlearned) == (slow.t_plus - slow.t_minus, slow.t, slow.t_minus)
        assert fast.a.tolist() == (slow.a if kernel == Linear() else [reference.dot(slow.a, row) for row in ys])
        if near is not moved:
            if len(order) < len(y):
                assert moved[:n_moved].tolist() == [k for k in order if changed[k] and slow.I[k] > 0]
            else:
                assert {k for k in order if slow.I[k] > 0} <= set(near[:n_near].tolist())
                if not told:
                    # Section 4: a pass without updates sees all scores as they are.
                    limit = Fraction(solver.c_bar) * thresholds.b
                    wanted = [k for k in order.tolist() if before[k] <= limit or slow.I[k] > 0]
                    assert near[:n_near].tolist() == wanted
        sizes.append(len(order))
        return told, n_near, n_moved

    fast._present = both
    for updated in fast.epochs():
        if hard and min(reference.dot(slow.a, row) for row in ys) > 0:
            assert 1 / (1 + fast.gap()) == pytest.approx(float(reference.squared_fraction(slow, ys)), rel=1e-9)
        elif not hard and slow.t_plus > slow.t_minus and fast.bound() > 0:
            assert fast.gap() == pytest.approx(float(reference.delta_aft(slow, ys, thresholds)), rel=1e-9, abs=1e-12)
        if not updated:
            break
    assert not updated
    # Passes over all the data are not all there is.
    assert len(set(sizes)) > 2
    assert fast.unlearned > 0
    return fast, slow, ys, thresholds


@pytest.mark.parametrize("given", SOFT, ids=str)
@pytest.mark.parametrize("form", FORMS)
def test_every_state_is_one_of_algorithm_1(form, given):
    fast, _, ys, (limit, b, delta_b) = follow(given, FORMS[form][0], Y, FORMS[form][1])
    # Theorem 2.
    assert fast.steps <= len(Y) * limit * (2 * b + delta_b) / (delta_b - reference.longest_square(ys))
    assert fast.gap() < 2 * delta_b / b / (1 - delta_b / b)


@pytest.mark.parametrize("given", HARD, ids=str)
@pytest.mark.parametrize("form", ["dense", "sparse", "gram"])
def test_every_state_of_a_hard_margin_is_one_of_algorithm_1(form, given):
    X, y = apart()
    examples, kernel = (sp.csr_array(X) if form == "sparse" else X), FORMS[form][1]
    fast, slow, ys, (_, b, delta_b) = follow(given | {"hard_margin": True}, examples, y, kernel)
    assert min(reference.dot(slow.a, row) for row in ys) > b
    # Eq. (11), with the bound (12) in place of the fraction itself: (21) proves it for both.
    assert 1 + fast.gap() < (1 + delta_b / b) ** 2


def apart():
    """Whole numbers that a plane through the origin separates."""
    rng = np.random.default_rng(5)
    X = rng.integers(-3, 4, size=(80, 3)).astype(float)
    scores = X @ [2, -1, 1]
    X, scores = X[scores != 0], scores[scores != 0]
    return X, np.where(scores > 0, 1, -1)


def test_algorithm_1_itself_ends_where_the_fast_one_does():
    ys = reference.signed(X, Y)
    thresholds = reference.soft_thresholds(ys, 1, 0.25, 3)
    state = reference.mpu(X, Y, thresholds)
    slow = float(reference.objective(state.a, ys, thresholds))
    fast = MPU(delta=0.25, accuracy=1e-6).solve(X, Y, Linear())
    best = MPU(accuracy=1e-8).solve(X, Y, Linear())
    assert best.lower_bound <= slow <= 1.25 * best.objective
    assert best.lower_bound <= fast.objective <= 1.25 * best.objective
    assert float(reference.delta_aft(state, ys, thresholds)) >= slow / best.objective - 1


@pytest.mark.parametrize(
    ("score", "count", "learned", "unlearned", "near", "moved"),
    [
        (10.0, 0, 1, 0, True, True),  # b: eq. (8) has <=
        (10.5, 0, 0, 0, True, False),
        (10.0, 4, 0, 0, True, False),  # I
        (12.0, 0, 0, 0, True, False),  # c_bar b: section 4 has <=
        (12.5, 0, 0, 0, False, False),
        (12.5, 1, 0, 0, True, False),
        (19.5, 2, 0, 0, True, False),
        (20.0, 2, 0, 1, True, True),  # b + delta_b: eq. (8) has >=
        (20.0, 1, 0, 1, False, False),  # I_k = 0 afterwards
        (20.0, 0, 0, 0, False, False),
        (7.5, 1, 3, 0, True, True),  # multiple updates: 7.5, 8.5, 9.5; then I_k = I
        (8.5, 0, 2, 0, True, True),
        (22.5, 4, 0, 3, True, True),  # 22.5, 21.5, 20.5
    ],
)
def test_thresholds_belong_to_what_they_bound(score, count, learned, unlearned, near, moved):
    a, counts = np.array([score]), np.array([count])
    lists = np.full((2, 1), 7, dtype=np.uint32)
    order = np.zeros(1, dtype=np.uint32)
    found = present(np.ones((1, 1)), np.ones(1), order, a, counts, 4, 10.0, 20.0, 12.0, *lists)
    assert found == (learned, unlearned, near, moved)
    assert counts[0] == count + learned - unlearned
    assert a[0] == score + learned - unlearned
    assert lists.ravel().tolist() == [0 if near else 7, 0 if moved else 7]


def test_multiple_updates_are_all_due():
    rng = np.random.default_rng(0)
    for square in [*rng.random(300) * 10, 0.1, 1 / 3, 1.0]:
        for times in (0, 1, 2, 3, 7, 1e3, 1e9, rng.random() * 50):
            distance = times * square
            n = updates(distance, square, 10**6)
            assert 1 <= n <= 10**6
            assert n == 1 or (n - 1) * square <= distance
            assert n == 10**6 or n * square > distance * (1 - 1e-15)
    assert updates(0.0, 0.0, 7) == 7
    assert updates(5.0, 0.0, 7) == 7
    assert updates(1e300, 1e-10, 2**62) == 2**62
