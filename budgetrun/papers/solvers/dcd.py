"""DCD: LIBLINEAR's dual coordinate descent, through scikit-learn."""

import math
import warnings
from dataclasses import dataclass

from budgetrun.base.params import Count, Positive, Seed
from budgetrun.kernels import Kernel, squares
from budgetrun.kernels.kinds import Matrix
from budgetrun.papers.solvers import base


@dataclass(kw_only=True, eq=False)
class DualCoordinateDescent(base.Solver):
    """Minimize the dual over one variable at a time, in passes over the examples in random order (LIBLINEAR).

    Parameters:
    C : float, > 0
        The penalty.
    accuracy : float, > 0
        Without a tolerance or a target, the tolerance is halved from 0.1 until that changes the objective by less than
        half of this, relatively.
    tolerance : float, > 0, optional
        LIBLINEAR's epsilon, the largest spread of projected gradients at which it stops.
    target : float, > 0, optional
        An objective: the tolerance is lowered from 3 by a fifth at a time until the objective is reached. As in papers
        that tune epsilon, the time is that of the last run only, and so about the least that LIBLINEAR needs.
    max_iterations : int, >= 1
        The most passes of LIBLINEAR, whatever the tolerance.
    seed : int, >= 0
        For the order of the passes.

    Notes: scikit-learn's LIBLINEAR returns neither its dual variables nor a lower bound, and reports no progress: the
    trace consists of separate runs with more and more passes, each timed separately. Its passes skip shrunk examples.

    References: Hsieh, Chang, Lin, Keerthi & Sundararajan (2008), "A dual coordinate descent method for large-scale
    linear SVM".

    Examples:
    >>> import numpy as np
    >>> from budgetrun.kernels import Linear
    >>> X, y = np.array([[2.0], [-1.0]]), np.array([1, -1])
    >>> round(DualCoordinateDescent(tolerance=1e-6).solve(X, y, Linear()).objective, 6)
    0.5
    """

    name = "dcd"
    title = "DCD"
    draws = True
    passes = 200

    C: Positive = 1.0
    accuracy: Positive = 1e-4
    tolerance: Positive | None = None
    target: Positive | None = None
    max_iterations: Count = 10_000
    seed: Seed = 0

    def _solve(self, X: Matrix, y: base.Labels, kernel: Kernel, watch: base.Watch | None) -> base.Solution:
        if self.tolerance is not None:
            weights, passes, seconds = self._run(X, y, self.tolerance, self.max_iterations)
            reached = base.objective(X, y, weights, self.C)
            done = passes < self.max_iterations
        else:
            weights, passes, seconds, reached, done = self._tightened(X, y)
        if watch is not None:
            for limit in base.checkpoints(passes)[:-1]:
                some, _, spent = self._run(X, y, self.tolerance or _LEAST, limit)
                watch(base.Progress(spent, base.objective(X, y, some, self.C), math.nan, limit * len(y), 0, limit))
            watch(base.Progress(seconds, reached, math.nan, passes * len(y), 0, passes))
        return base.Solution(
            weights=weights,
            objective=reached,
            steps=passes * len(y),
            epochs=passes,
            seconds=seconds,
            converged=done,
            note="" if done else self._note(passes) + base.too_long(squares(X).max(), self.C),
        )

    def _note(self, passes: int) -> str:
        if passes >= self.max_iterations:
            return f"stopped at its limit of {self.max_iterations} passes"
        return f"did not reach its {'accuracy' if self.target is None else 'target'} at a tolerance of {_LEAST:g}"

    def _tightened(self, X: Matrix, y: base.Labels) -> tuple[base.Floats, int, float, float, bool]:
        """Lower the tolerance until the objective reaches the target, or hardly changes."""
        tolerance, factor = (_FIRST, 0.5) if self.target is None else (_LOOSE, 0.8)
        before, passes_before = math.inf, 0
        while True:
            weights, passes, seconds = self._run(X, y, tolerance, self.max_iterations)
            reached = base.objective(X, y, weights, self.C)
            if self.target is not None:
                done = reached <= self.target
            else:
                # If a lower tolerance makes no more passes, the objective cannot change, and nothing follows from that.
                done = passes > passes_before and abs(before - reached) <= self.accuracy / 2 * reached
            if done or passes >= self.max_iterations or tolerance <= _LEAST:
                return weights, passes, seconds, reached, done
            if passes > passes_before:
                before, passes_before = reached, passes
            tolerance *= factor

    def _run(self, X: Matrix, y: base.Labels, tolerance: float, limit: int) -> tuple[base.Floats, int, float]:
        """Return LIBLINEAR's weights, its number of passes and its processor seconds."""
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.svm import LinearSVC

        common = {"loss": "hinge", "dual": True, "fit_intercept": False, "random_state": self.seed}
        model = LinearSVC(C=self.C, tol=tolerance, max_iter=limit, **common)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            clock = base.Clock()
            model.fit(X, y)
            seconds = clock.seconds
        # classes_ is ascending, so positive scores are for +1.
        return model.coef_.ravel(), int(model.n_iter_), seconds


# Tolerances: the first one for an accuracy, the first one for a target, and the least.
_FIRST, _LOOSE, _LEAST = 0.1, 3.0, 1e-9
