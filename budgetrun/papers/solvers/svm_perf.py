"""SVM-perf: cutting planes for the 1-slack form of the problem."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from budgetrun.base.params import Count, Positive
from budgetrun.kernels import Kernel, squares
from budgetrun.kernels.kinds import Matrix
from budgetrun.papers.solvers import base


@dataclass(kw_only=True, eq=False)
class SVMPerf(base.Solver):
    """Bound the sum of losses from below by more and more planes, each from the examples that currently have a loss.

    Parameters:
    C : float, > 0
        The penalty.
    accuracy : float, > 0
        Stop when the objective is within this share of the minimum of ||w||^2 / 2 plus C times the planes.
    max_planes : int, >= 1
        The most planes.

    Notes: A plane takes O(T d), the quadratic program over the planes O(n^3) for n planes in use. A plane that has been
    out of use for 50 rounds is dropped.

    References: Joachims (2006), "Training linear SVMs in linear time", KDD. The classification form, algorithm 1.

    Examples:
    >>> from budgetrun.kernels import Linear
    >>> X, y = np.array([[2.0], [-1.0]]), np.array([1, -1])
    >>> round(SVMPerf().solve(X, y, Linear()).objective, 4)
    0.5
    """

    name = "svm_perf"
    title = "SVM-perf"
    passes = 500

    C: Positive = 1.0
    accuracy: Positive = 1e-4
    max_planes: Count = 5000

    def _solve(self, X: Matrix, y: base.Labels, kernel: Kernel, watch: base.Watch | None) -> base.Solution:
        clock = base.Clock()
        signs = y.astype(np.float64)
        transposed = X.T if isinstance(X, np.ndarray) else X.T.tocsr()
        planes = _Planes(X.shape[1], self.C)
        weights = np.zeros(X.shape[1])
        lower, done = 0.0, False
        while True:
            losses = 1 - signs * (X @ weights)
            wrong = losses > 0
            reached = float(weights @ weights / 2 + self.C * losses[wrong].sum())
            gap = base.relative_gap(reached, lower)
            done = gap <= self.accuracy
            if watch is not None:
                with clock:
                    watch(base.Progress(clock.seconds, reached, gap, planes.found, 0, planes.found))
            if done or planes.found == self.max_planes:
                break
            planes.add(transposed @ np.where(wrong, signs, 0), int(np.count_nonzero(wrong)))
            weights, value = planes.minimum()
            # Each is a lower bound, even if the program was left before its minimum.
            lower = max(lower, value)
        seconds = clock.seconds
        note = f"stopped at its limit of {self.max_planes} planes"
        return base.Solution(
            weights=weights,
            objective=base.objective(X, y, weights, self.C),
            lower_bound=lower,
            steps=planes.found,
            epochs=planes.found,
            seconds=seconds,
            converged=done,
            note="" if done else note + base.too_long(squares(X).max(), self.C),
        )


class _Planes:
    """Planes offset - <w, slope> below the sum of losses, and the minimum of ||w||^2 / 2 + C max over them and 0."""

    def __init__(self, d: int, C: float) -> None:
        self.C = C
        # The first plane is 0: its weight is the part of C that the others do not use.
        self.slopes = np.zeros((1, d))
        self.offsets = np.zeros(1)
        self.products = np.zeros((1, 1))
        self.share = np.array([C])
        self.idle = np.zeros(1, dtype=int)
        self.found = 0

    def add(self, slope: base.Floats, offset: float) -> None:
        """Add a plane, and drop those that have long been idle."""
        keep = self.idle < _PATIENCE
        keep[0] = True
        column = self.slopes[keep] @ slope
        self.slopes = np.vstack([self.slopes[keep], slope])
        self.offsets = np.append(self.offsets[keep], offset)
        self.products = np.block(
            [[self.products[np.ix_(keep, keep)], column[:, None]], [column, np.array([slope @ slope])]]
        )
        self.share = np.append(self.share[keep], 0.0)
        self.idle = np.append(self.idle[keep], 0)
        self.found += 1

    def minimum(self) -> tuple[base.Floats, float]:
        """Return the minimizer w, and a lower bound on the minimum."""
        self.share = _simplex_maximum(self.products, self.offsets, self.C, self.share)
        self.idle = np.where(self.share > 0, 0, self.idle + 1)
        weights: base.Floats = self.share @ self.slopes
        return weights, float(self.share @ self.offsets - weights @ weights / 2)


def _simplex_maximum(H: base.Floats, b: base.Floats, total: float, start: base.Floats) -> base.Floats:
    """Return the x >= 0 with sum(x) = total that maximizes <b, x> - <x, H x> / 2, by the active-set method.

    H is positive semidefinite, and ``start`` is feasible: the solution before the last plane was added.
    """
    # Scale the problem, so that the linear systems are well conditioned.
    size = total * H.diagonal().max()
    if size > 0:
        H, b = H * (total / size), b / size
    x = start / total
    used = x > 0
    value = -math.inf
    while True:
        now, level = _within(H, b, x, used)
        now_value = float(b @ now - now @ H @ now / 2)
        if now_value <= value + _PROGRAM_TOLERANCE * abs(now_value):
            # Without this, rounding could let the last planes enter and leave forever.
            return x * total
        x, value = now, now_value
        used = x > 0
        slack = b - H @ x - level
        slack[used] = 0
        worst = int(np.argmax(slack))
        if slack[worst] <= _PROGRAM_TOLERANCE * abs(b).max():
            return x * total
        used[worst] = True


def _within(H: base.Floats, b: base.Floats, x: base.Floats, used: NDArray[np.bool_]) -> tuple[base.Floats, float]:
    """Return the maximum over the used entries, dropping those that reach 0, and the multiplier of the sum."""
    x, at = x.copy(), np.flatnonzero(used)
    while True:
        # Planes may be linearly dependent; a tiny ridge on the diagonal picks one of the solutions.
        system = np.ones((len(at) + 1, len(at) + 1))
        system[:-1, :-1] = H[np.ix_(at, at)] + _RIDGE * np.eye(len(at))
        system[-1, -1] = 0
        solved = np.linalg.solve(system, np.append(b[at], 1.0))
        goal, level = solved[:-1], solved[-1]
        falling = goal < 0
        if not falling.any():
            x[at] = goal / goal.sum()
            return x, float(level)
        # Go as far as the first entry that reaches 0; that one is dropped.
        steps = np.full(len(at), np.inf)
        steps[falling] = x[at][falling] / (x[at][falling] - goal[falling])
        first = int(np.argmin(steps))
        x[at] = np.maximum(x[at] + steps[first] * (goal - x[at]), 0)
        x[at[first]] = 0
        at = np.delete(at, first)


# Rounds after which an idle plane is dropped.
_PATIENCE = 50
_PROGRAM_TOLERANCE = 1e-10
_RIDGE = 1e-11
