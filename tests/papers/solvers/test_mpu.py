"""The guarantees of the paper on MPU; the fast MPU goes through states of the transliterated Algorithm 1."""

import math
import re
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from faults import message, raises
from papers.solvers.conftest import blobs, grid, separable
from reference import mpu as reference
from sklearn.svm import SVC

from budgetrun.base.errors import InputError
from budgetrun.kernels import Gaussian, Linear, Polynomial, squares
from budgetrun.papers.solvers.loops.perceptron import present, updates
from budgetrun.papers.solvers.mpu import MarginPerceptronWithUnlearning as MPU
from budgetrun.papers.solvers.mpu import _Run


def test_a_row_of_zeros_counts_in_full():
    X, y = grid()
    zeros = ~X.any(axis=1)
    assert zeros.any()
    found = MPU(C=2.0).solve(X, y, Linear())
    assert (found.dual[zeros] == 2.0).all()
    without = MPU(C=2.0).solve(X[~zeros], y[~zeros], Linear())
    assert found.gap <= 1e-4
    # Each has a loss of 1, whatever w.
    assert found.objective - 2 * zeros.sum() == pytest.approx(without.objective, rel=2e-4)


@pytest.mark.parametrize(
    "kernel", [Gaussian(gamma=0.5), Polynomial(degree=2), Polynomial(degree=1, coef0=0.0)], ids=str
)
def test_kernel_form_finds_the_minimum(kernel):
    X, y = blobs(overlap=2.0)
    found = MPU(accuracy=1e-5, C=0.7).solve(X, y, kernel)
    K = kernel.between(X, X)
    alpha = found.dual * y
    losses = np.maximum(1 - y * (K @ alpha), 0)
    assert found.weights is None
    assert found.objective == pytest.approx(alpha @ K @ alpha / 2 + 0.7 * losses.sum())
    machine = SVC(C=0.7, kernel="precomputed", tol=1e-8).fit(K, y)
    # It has a bias, which only makes the objective smaller.
    theirs = np.zeros(len(y))
    theirs[machine.support_] = machine.dual_coef_[0]
    losses = np.maximum(1 - y * (K @ theirs + machine.intercept_), 0)
    assert found.lower_bound * (1 + 1e-9) >= theirs @ K @ theirs / 2 + 0.7 * losses.sum()
    if kernel == Polynomial(degree=1, coef0=0.0):
        primal = MPU(accuracy=1e-5, C=0.7).solve(X, y, Linear())
        assert primal.objective == pytest.approx(found.objective, rel=2e-5)
        assert X.T @ alpha == pytest.approx(primal.weights, abs=1e-2)


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(degree=1, coef0=0.0), Gaussian(gamma=0.5)], ids=str)
@pytest.mark.parametrize("hard", [False, True])
def test_rho_gives_a_bias(kernel, hard):
    # No hyperplane through the origin separates these.
    X, y = separable(T=60)
    X[:, 0] += 1
    found = MPU(rho=0.5, accuracy=1e-5, delta=1e-5, hard_margin=hard, max_epochs=10_000).solve(X, y, kernel)
    assert found.converged
    # The kernel k + rho^2 has the same minimum, and the bias is the part of its scores that rho^2 brings.
    scores = kernel.between(X, X) @ (found.dual * y)
    assert found.bias == pytest.approx(0.25 * (found.dual @ y))
    norm_squared = found.dual * y @ (scores + found.bias)
    margins = y * (scores + found.bias)
    if hard:
        assert margins.min() == pytest.approx(1)
        assert found.margin == pytest.approx(1 / math.sqrt(norm_squared))
        assert found.objective == pytest.approx(norm_squared / 2)
    else:
        assert found.objective == pytest.approx(norm_squared / 2 + np.maximum(1 - margins, 0).sum())
    if kernel == Linear():
        wide = np.hstack([X, np.full((len(y), 1), 0.5)])
        by_hand = MPU(accuracy=1e-5, delta=1e-5, hard_margin=hard, max_epochs=10_000).solve(wide, y, Linear())
        assert found.objective == by_hand.objective
        assert found.weights.tolist() == by_hand.weights[:-1].tolist()
        assert found.bias == pytest.approx(by_hand.weights[-1] * 0.5)
        assert X @ found.weights == pytest.approx(scores)


@pytest.mark.parametrize("margin", [0.3, 0.05])
@pytest.mark.parametrize("delta", [1e-1, 1e-3])
@pytest.mark.parametrize("kernel", [Linear(), Polynomial(degree=1, coef0=0.0)], ids=str)
def test_hard_margin_reaches_its_fraction(margin, delta, kernel):
    X, y = separable(margin=margin)
    R_squared = squares(X).max()
    delta_b = 1.5 * R_squared
    told = []
    found = MPU(hard_margin=True, delta=delta, accuracy=delta, delta_b=1.5).solve(X, y, kernel, told.append)
    assert found.converged
    b = delta_b / (math.sqrt(1 + delta) - 1)
    fraction = found.margin / margin
    guaranteed = 1 / (1 + min(delta_b, b + R_squared) / b)
    assert guaranteed <= fraction <= 1 + 1e-9
    # Theorem 1, eq. (10).
    assert found.steps <= (R_squared + 2 * b) / margin**2 * (1 + (R_squared + 2 * b) / (4 * (delta_b - R_squared)))
    # Eq. (12), as a bound on the objective; the least of it is known.
    assert found.objective == pytest.approx(1 / found.margin**2 / 2)
    assert found.lower_bound <= 1 / margin**2 / 2 * (1 + 1e-9)
    for progress in told:
        assert progress.objective * margin**2 * 2 - 1 <= progress.gap + 1e-9
    if found.weights is not None:
        assert (y * (X @ found.weights)).min() == pytest.approx(1)
        assert X.T @ (y * found.dual) == pytest.approx(found.weights)


def test_algorithm_1_stops_by_itself_with_a_hard_margin():
    X, y = separable()
    found = MPU(hard_margin=True, delta=0.5, accuracy=1e-12).solve(X, y, Linear())
    assert found.converged
    assert 1e-12 < found.gap < 0.5


def test_a_margin_that_takes_longer_is_told_by_its_guarantee():
    X, y = separable(T=2000, d=10, margin=0.03)
    found = MPU(hard_margin=True, max_epochs=300).solve(X, y, Linear())
    assert not found.converged
    share = 1 / math.sqrt(1 + found.gap)
    assert found.note == f"stopped at its limit of 300 epochs with at least {100 * share:.0f}% of the largest margin"
    assert share <= found.margin / 0.03 <= 1


@pytest.mark.parametrize("margin", [1e-3, 1e-9])
def test_a_tiny_margin_is_refused_in_bounded_time(margin):
    X, y = separable(T=200, margin=margin)
    found = re.fullmatch(
        r"no weights that separate the examples were found in 50 epochs; the margin, if there is one, is at most "
        r"(\S+), for examples of norms up to (\S+): leave hard_margin out, or give more max_epochs",
        message(MPU(hard_margin=True, max_epochs=50).solve, X, y, Linear()),
    )
    assert margin <= float(found[1])
    assert float(found[2]) == pytest.approx(math.sqrt(squares(X).max()), rel=5e-3)


def test_a_margin_of_zero_is_none():
    run = _Run(MPU(hard_margin=True), np.array([[1.0], [1.0]]), np.array([1, -1]), Linear())
    run.counts[:], run.total, run.n_epochs = 3, 6, 1
    said = "no weights that separate the examples were found in 1 epochs; the margin, if "
    raises(InputError, said, run.solution, False, 0.0, 0.0)


SEPARATED = "the examples cannot be separated, or only with a margin below "


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(degree=1, coef0=0.0)], ids=str)
def test_what_no_hard_margin_separates_is_refused(kernel):
    X, y = blobs()
    said = message(MPU(hard_margin=True).solve, X, y, kernel)
    assert said.startswith(SEPARATED)
    assert said.endswith("; hard_margin: true is for separable examples, leave it out")


def test_equal_examples_of_both_labels_are_refused():
    raises(InputError, SEPARATED, MPU(hard_margin=True).solve, np.array([[1.0], [1.0]]), np.array([1, -1]), Linear())


def test_a_hard_margin_allows_no_row_of_zeros():
    X, y = np.array([[1.0], [0.0], [-1.0]]), np.array([1, -1, -1])
    said = message(MPU(hard_margin=True).solve, X, y, Linear())
    assert said == "example 1 is a row of zeros, which no hard margin allows"


def test_delta_follows_the_accuracy():
    assert [MPU(accuracy=accuracy).delta for accuracy in (1e-3, 1e-5)] == pytest.approx([1e-5, 1e-6])


def test_a_gap_of_thresholds_that_lets_it_cycle_is_refused():
    for delta_b in (1.0, 0.5, -3.0, math.nan):
        error = message(MPU, delta_b=delta_b)
        wanted = "delta_b must be a number > 1 (in units of R^2, or learning and unlearning may cycle)"
        assert error == f"{wanted}, got {delta_b}"


def test_counts_that_would_not_fit_are_refused():
    X, y = blobs()
    with pytest.raises(InputError, match="delta 1e-16 is too small for mpu to count with 64 bits: with R\\^2 = "):
        MPU(delta=1e-16).solve(X * 100, y, Linear())


def test_counts_must_fit_for_all_examples_together():
    X, y = np.repeat([[1.0], [-1.0]], 50, axis=0), np.repeat([1, -1], 50)
    # I = 6 / delta, a little more, for each of 100 examples, and 2^62 in all.
    fits, too_small = 600 / 2**62 * 1.001, 600 / 2**62 * 0.999
    assert MPU(delta=fits, max_epochs=1).solve(X, y, Linear()).steps > 0
    with pytest.raises(InputError, match=r"too small for mpu to count with 64 bits: with R\^2 = 1, I would be 5e\+16"):
        MPU(delta=too_small, max_epochs=1).solve(X, y, Linear())


def test_more_examples_than_a_gram_matrix_takes_are_refused(monkeypatch):
    monkeypatch.setattr("budgetrun.papers.solvers.mpu._MOST_IN_GRAM", 100)
    X, y = blobs()
    with pytest.raises(InputError, match="at most 100 examples with a kernel that is not linear, got 300"):
        MPU().solve(X, y, Gaussian(gamma=1.0))


X, Y = grid()
FORMS = {
    "dense": (X, Linear()),
    "sparse": (sp.csr_array(X), Linear()),
    "binary": (sp.csr_array((X > 0).astype(float)), Linear()),
    # The linear kernel again, but in the kernel form.
    "gram": (X, Polynomial(degree=1, gamma=1.0, coef0=0.0)),
}


def dense(examples):
    return examples if isinstance(examples, np.ndarray) else examples.toarray()


# Powers of two, and 1 + delta is a square where the margin is hard: so all thresholds are exact in floating point.
SOFT = [{}, {"delta_b": 2.0, "C": 0.5}, {"C": 0.25, "seed": 3}, {"C": 4.0, "delta": 0.125, "delta_b": 1.5}]


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


@pytest.mark.parametrize("given", [{"delta": 0.5625}, {"delta": 0.265625, "delta_b": 1.5, "seed": 1}], ids=str)
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
    X = np.random.default_rng(5).integers(-3, 4, size=(80, 3)).astype(float)
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


@pytest.mark.parametrize(("score", "count", "learned", "unlearned", "near", "moved"), [
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
])  # fmt: skip
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
