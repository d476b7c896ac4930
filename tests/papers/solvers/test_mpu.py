"""The guarantees of the paper on MPU."""

import math
import re
from itertools import pairwise

import numpy as np
import pytest
from papers.solvers.conftest import blobs, grid, separable
from sklearn.svm import SVC

from budgetrun.base.errors import InputError
from budgetrun.kernels import Gaussian, Linear, Polynomial, squares
from budgetrun.papers.solvers.mpu import MarginPerceptronWithUnlearning as MPU
from budgetrun.papers.solvers.mpu import _Run


def test_gap_bounds_the_true_gap_all_the_way(problem):
    X, y = problem
    best = MPU(accuracy=1e-9).solve(X, y, Linear())
    told = []
    found = MPU(accuracy=1e-5).solve(X, y, Linear(), told.append)
    assert found.converged
    assert found.gap <= 1e-5
    assert 0 <= found.dual.min() <= found.dual.max() <= 1 + 1e-15
    for progress in [*told, found]:
        assert progress.objective / best.objective - 1 <= progress.gap + 1e-12
    assert found.lower_bound <= best.objective * (1 + 1e-12)
    assert [p.epochs for p in told] == list(range(1, found.epochs + 1))
    assert all(a.steps <= b.steps and a.seconds <= b.seconds for a, b in pairwise(told))
    assert told[-1].objective == pytest.approx(found.objective, rel=1e-12)


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
    assert (
        found.lower_bound * (1 + 1e-9)
        >= theirs @ K @ theirs / 2 + 0.7 * np.maximum(1 - y * (K @ theirs + machine.intercept_), 0).sum()
    )
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
    solver = MPU(rho=0.5, accuracy=1e-5, delta=1e-5, hard_margin=hard, max_epochs=10_000)
    found = solver.solve(X, y, kernel)
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
    with pytest.raises(InputError) as error:
        MPU(hard_margin=True, max_epochs=50).solve(X, y, Linear())
    found = re.fullmatch(
        r"no weights that separate the examples were found in 50 epochs; the margin, if there is one, is at most "
        r"(\S+), for examples of norms up to (\S+): leave hard_margin out, or give more max_epochs",
        str(error.value),
    )
    assert margin <= float(found[1])
    assert float(found[2]) == pytest.approx(math.sqrt(squares(X).max()), rel=5e-3)


def test_a_margin_of_zero_is_none():
    run = _Run(MPU(hard_margin=True), np.array([[1.0], [1.0]]), np.array([1, -1]), Linear())
    run.counts[:], run.total, run.n_epochs = 3, 6, 1
    with pytest.raises(
        InputError, match="no weights that separate the examples were found in 1 epochs; the margin, if "
    ):
        run.solution(False, 0.0, 0.0)


SEPARATED = "the examples cannot be separated, or only with a margin below "


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(degree=1, coef0=0.0)], ids=str)
def test_what_no_hard_margin_separates_is_refused(kernel):
    X, y = blobs()
    with pytest.raises(InputError) as error:
        MPU(hard_margin=True).solve(X, y, kernel)
    assert str(error.value).startswith(SEPARATED)
    assert str(error.value).endswith("; hard_margin: true is for separable examples, leave it out")


def test_equal_examples_of_both_labels_are_refused():
    with pytest.raises(InputError, match=SEPARATED):
        MPU(hard_margin=True).solve(np.array([[1.0], [1.0]]), np.array([1, -1]), Linear())


def test_a_hard_margin_allows_no_row_of_zeros():
    with pytest.raises(InputError) as error:
        MPU(hard_margin=True).solve(np.array([[1.0], [0.0], [-1.0]]), np.array([1, -1, -1]), Linear())
    assert str(error.value) == "example 1 is a row of zeros, which no hard margin allows"


def test_a_gap_of_thresholds_that_lets_it_cycle_is_refused():
    for delta_b in (1.0, 0.5, -3.0, math.nan):
        with pytest.raises(InputError) as error:
            MPU(delta_b=delta_b)
        wanted = "delta_b must be a number > 1 (in units of R^2, or learning and unlearning may cycle)"
        assert str(error.value) == f"{wanted}, got {delta_b}"


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
