"""DCD, LIBLINEAR's dual coordinate descent, through scikit-learn."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING

import numpy as np

from budgetrun.kernels import Kernel, squares
from budgetrun.solvers.base import (
    Clock,
    Count,
    Positive,
    Progress,
    Seed,
    Solution,
    Solver,
    Watch,
    checkpoints,
    objective,
    prepared,
    too_long,
)

if TYPE_CHECKING:
    from scipy.sparse import csr_array


class DualCoordinateDescent(Solver):
    """Minimise the dual over one variable at a time, passing over the examples in random order; LIBLINEAR's program.

    Parameters
    ----------
    C : float, > 0
        The penalty.
    accuracy : float, > 0
        Without a tolerance or a target: halve the tolerance from 0.1 until that changed the objective by less than half
        of this, relatively.
    tolerance : float, > 0, optional
        LIBLINEAR's epsilon, the largest spread of projected gradients at which it stops.
    target : float, > 0, optional
        An objective: the tolerance is lowered from 3 by a fifth at a time until it is reached. As with papers that tune
        epsilon, the time told is that of the last run alone, and so the least that LIBLINEAR needs, or nearly.
    max_iterations : int, >= 1
        LIBLINEAR stops after so many passes whatever the tolerance.
    seed : int, >= 0

    Notes
    -----
    LIBLINEAR returns neither its dual variables nor a lower bound, and tells nothing on its way: its trace is made of
    runs from the start with more and more passes, each with the time of its own. Its passes leave out shrunk examples.

    References
    ----------
    Hsieh, Chang, Lin, Keerthi & Sundararajan (2008), "A dual coordinate descent method for large-scale linear SVM".

    Examples
    --------
    >>> from budgetrun.kernels import Linear
    >>> X, y = np.array([[2.0], [-1.0]]), np.array([1, -1])
    >>> round(DualCoordinateDescent(tolerance=1e-6).solve(X, y, Linear()).objective, 6)
    0.5
    """

    name = "dcd"
    draws = True
    passes = 200

    def __init__(
        self,
        *,
        C: Positive = 1.0,
        accuracy: Positive = 1e-4,
        tolerance: Positive | None = None,
        target: Positive | None = None,
        max_iterations: Count = 10_000,
        seed: Seed = 0,
    ) -> None:
        self.C = C
        self.accuracy = accuracy
        self.tolerance = tolerance
        self.target = target
        self.max_iterations = max_iterations
        self.seed = seed

    def solve(self, X: np.ndarray | csr_array, y: np.ndarray, kernel: Kernel, watch: Watch | None = None) -> Solution:
        X = prepared(self, X, y, kernel)
        if self.tolerance is not None:
            weights, passes, seconds = self._run(X, y, self.tolerance, self.max_iterations)
            reached = objective(X, y, weights, self.C)
            done = passes < self.max_iterations
        else:
            weights, passes, seconds, reached, done = self._tightened(X, y)
        if watch is not None:
            for limit in checkpoints(passes)[:-1]:
                some, _, spent = self._run(X, y, self.tolerance or _LEAST, limit)
                watch(Progress(spent, objective(X, y, some, self.C), math.nan, limit * len(y), 0, limit))
            watch(Progress(seconds, reached, math.nan, passes * len(y), 0, passes))
        return Solution(
            weights=weights,
            objective=reached,
            steps=passes * len(y),
            epochs=passes,
            seconds=seconds,
            converged=done,
            note="" if done else self._note(passes) + too_long(squares(X).max(), self.C),
        )

    def _note(self, passes: int) -> str:
        if passes >= self.max_iterations:
            return f"stopped at its limit of {self.max_iterations} passes"
        return f"did not come to its {'accuracy' if self.target is None else 'target'} at a tolerance of {_LEAST:g}"

    def _tightened(self, X: np.ndarray | csr_array, y: np.ndarray) -> tuple[np.ndarray, int, float, float, bool]:
        """Lower the tolerance until the objective is the one wanted, or settled."""
        tolerance, factor = (_FIRST, 0.5) if self.target is None else (_LOOSE, 0.8)
        before, passes_before = math.inf, 0
        while True:
            weights, passes, seconds = self._run(X, y, tolerance, self.max_iterations)
            reached = objective(X, y, weights, self.C)
            if self.target is not None:
                done = reached <= self.target
            else:
                # A tolerance that asks for no more passes says nothing about the objective.
                done = passes > passes_before and abs(before - reached) <= self.accuracy / 2 * reached
            if done or passes >= self.max_iterations or tolerance <= _LEAST:
                return weights, passes, seconds, reached, done
            if passes > passes_before:
                before, passes_before = reached, passes
            tolerance *= factor

    def _run(
        self, X: np.ndarray | csr_array, y: np.ndarray, tolerance: float, limit: int
    ) -> tuple[np.ndarray, int, float]:
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.svm import LinearSVC

        model = LinearSVC(
            loss="hinge",
            dual=True,
            fit_intercept=False,
            C=self.C,
            tol=tolerance,
            max_iter=limit,
            random_state=self.seed,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            clock = Clock()
            model.fit(X, y)
            seconds = clock.seconds
        # classes_ is ascending, so positive scores are for +1.
        return model.coef_.ravel(), int(model.n_iter_), seconds


_FIRST = 0.1
_LOOSE = 3.0
_LEAST = 1e-9
