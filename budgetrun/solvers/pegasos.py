"""Pegasos: stochastic sub-gradient descent on the primal, in small batches, with projection."""

from __future__ import annotations

import math
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
    loading,
    objective,
    prepared,
    too_long,
)

if TYPE_CHECKING:
    from scipy.sparse import csr_array


class Pegasos(Solver):
    """Step t: w becomes (1 - 1/t) w plus 1 / (lambda t k) times the drawn examples with a loss, then is projected.

    Parameters
    ----------
    C : float, > 0
        The penalty; lambda = 1 / (C T).
    accuracy : float, > 0
        Asks for 1 / (10 lambda accuracy) steps.
    target : float, > 0, optional
        An objective: stop once it is reached.
    k : int, >= 1
        Examples drawn for a step, with replacement.
    iterations : int, >= 1, optional
        The most steps. By default as many as the accuracy asks for, and with a target that many at most.
    seed : int, >= 0

    Notes
    -----
    O(k d) a step. w is projected on the ball of radius 1 / sqrt(lambda) after each. Pegasos has no bound of its own to
    stop at. Its analysis asks for a number of steps of the order of 1 / (lambda accuracy); a tenth of that is about
    what the paper on MPU needed on its Adult data (a9a) for 1e-4 and for 1e-2, so no guarantee. With a target, the
    objective is looked at three times an octave of steps, off the clock, as if their number had been known beforehand.

    References
    ----------
    Shalev-Shwartz, Singer & Srebro (2007), "Pegasos: primal estimated sub-gradient solver for SVM", ICML.

    Examples
    --------
    >>> from budgetrun.kernels import Linear
    >>> X, y = np.array([[2.0], [-1.0]]), np.array([1, -1])
    >>> round(Pegasos().solve(X, y, Linear()).objective, 2)
    0.5
    """

    name = "pegasos"
    draws = True
    passes = 30_000
    passes_grow_with_accuracy = True

    def __init__(
        self,
        *,
        C: Positive = 1.0,
        accuracy: Positive = 1e-4,
        target: Positive | None = None,
        k: Count = 30,
        iterations: Count | None = None,
        seed: Seed = 0,
    ) -> None:
        self.C = C
        self.accuracy = accuracy
        self.target = target
        self.k = k
        self.iterations = iterations
        self.seed = seed

    def solve(self, X: np.ndarray | csr_array, y: np.ndarray, kernel: Kernel, watch: Watch | None = None) -> Solution:
        X = prepared(self, X, y, kernel)
        compile_seconds = loading("subgradient")
        from budgetrun.solvers.loops.rows import signed_rows
        from budgetrun.solvers.loops.subgradient import descend

        clock = Clock()
        T, d = X.shape
        rate = 1 / (self.C * T)
        rows, norms = signed_rows(X, y), squares(X)
        rng = np.random.default_rng(self.seed)
        v, wrong = np.zeros(d), np.empty(self.k, dtype=np.uint32)
        shrunk, t = 1.0, 0
        weights, reached = v, math.inf
        asked = math.ceil(1 / (10 * rate * self.accuracy))
        last = self.iterations or asked
        if self.target is None:
            last = min(last, asked)
        for end in checkpoints(last):
            while t < end:
                steps = min(end - t, _AT_ONCE)
                drawn = rng.integers(T, size=(steps, self.k), dtype=np.uint32)
                # The running norm is set right before rounding errors add up.
                shrunk, _ = descend(rows, norms, drawn, wrong, v, t, shrunk, float(v @ v), rate)
                t += steps
            weights = v * (shrunk / t)
            with clock:
                reached = objective(X, y, weights, self.C)
                if watch is not None:
                    watch(Progress(clock.seconds, reached, math.nan, t, 0, t * self.k // T))
            if self._is_reached(reached):
                break
        seconds = clock.seconds
        note = self._note(reached, t, asked, too_long(norms.max(), self.C))
        return Solution(
            weights=weights,
            objective=reached,
            steps=t,
            epochs=t * self.k // T,
            seconds=seconds,
            compile_seconds=compile_seconds,
            converged=not note,
            note=note,
        )

    def _is_reached(self, objective: float) -> bool:
        return self.target is not None and objective <= self.target

    def _note(self, reached: float, steps: int, asked: int, long: str) -> str:
        """Return why it stopped, if not because it was done; ``long`` is what `too_long` says."""
        if self._is_reached(reached):
            return ""
        if self.target is not None:
            return f"stopped at its limit of {steps:,} steps, above {self.target:g}{long}"
        if steps < asked:
            return f"stopped at its limit of {steps:,} steps, of the {asked:,} that its accuracy asks for{long}"
        # What the accuracy asks for takes no account of the examples' length.
        return long and f"took the {steps:,} steps that its accuracy asks for{long}"


_AT_ONCE = 4096
