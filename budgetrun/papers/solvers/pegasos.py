"""Pegasos: stochastic sub-gradient descent on the primal, with small batches and projection."""

import math
from dataclasses import dataclass

import numpy as np

from budgetrun.base.params import Count, Positive, Seed
from budgetrun.kernels import Kernel, squares
from budgetrun.kernels.kinds import Matrix
from budgetrun.papers.solvers import base


@dataclass(kw_only=True, eq=False)
class Pegasos(base.Solver):
    """In step t, shrink w by 1 - 1/t, add 1 / (lambda t k) times the drawn examples with a loss, and project.

    Parameters:
    C : float, > 0
        The penalty; lambda = 1 / (C T).
    accuracy : float, > 0
        Determines the number of steps, 1 / (10 lambda accuracy).
    target : float, > 0, optional
        An objective at which to stop.
    k : int, >= 1
        Number of examples drawn per step, with replacement.
    iterations : int, >= 1, optional
        The most steps; by default the number that follows from the accuracy.
    seed : int, >= 0
        For the draws.

    Notes: O(k d) per step. After each step w is projected on the ball of radius 1 / sqrt(lambda). Pegasos has no lower
    bound to stop at. Its analysis needs a number of steps of the order of 1 / (lambda accuracy); a tenth of that is
    about what the paper on MPU needed on its Adult data (a9a) for 1e-4 and for 1e-2, so it is not a guarantee. With a
    target, the objective is computed three times per octave of steps, off the clock, as if the number of steps had been
    known.

    References: Shalev-Shwartz, Singer & Srebro (2007), "Pegasos: primal estimated sub-gradient solver for SVM", ICML.

    Examples:
    >>> from budgetrun.kernels import Linear
    >>> X, y = np.array([[2.0], [-1.0]]), np.array([1, -1])
    >>> round(Pegasos().solve(X, y, Linear()).objective, 2)
    0.5
    """

    name = "pegasos"
    title = "Pegasos"
    draws = True
    passes = 30_000
    passes_grow_with_accuracy = True

    C: Positive = 1.0
    accuracy: Positive = 1e-4
    target: Positive | None = None
    k: Count = 30
    iterations: Count | None = None
    seed: Seed = 0

    def _solve(self, X: Matrix, y: base.Labels, kernel: Kernel, watch: base.Watch | None) -> base.Solution:
        compile_seconds = base.loading("subgradient")
        from budgetrun.papers.solvers.loops.rows import signed_rows
        from budgetrun.papers.solvers.loops.subgradient import descend

        clock = base.Clock()
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
        for end in base.checkpoints(last):
            while t < end:
                steps = min(end - t, _AT_ONCE)
                drawn = rng.integers(T, size=(steps, self.k), dtype=np.uint32)
                # Computing ||v||^2 again for each call keeps rounding errors from accumulating.
                shrunk, _ = descend(rows, norms, drawn, wrong, v, t, shrunk, float(v @ v), rate)
                t += steps
            weights = v * (shrunk / t)
            with clock:
                reached = base.objective(X, y, weights, self.C)
                if watch is not None:
                    watch(base.Progress(clock.seconds, reached, math.nan, t, 0, t * self.k // T))
            if self._is_reached(reached):
                break
        seconds = clock.seconds
        note = self._note(reached, t, asked, base.too_long(norms.max(), self.C))
        return base.Solution(
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
        """Return why it stopped if it did not converge; ``long`` is from `too_long`."""
        if self._is_reached(reached):
            return ""
        if self.target is not None:
            return f"stopped at its limit of {steps:,} steps, above {self.target:g}{long}"
        if steps < asked:
            return f"stopped at its limit of {steps:,} steps, of the {asked:,} that its accuracy asks for{long}"
        # The number of steps that the accuracy asks for does not depend on the examples' lengths.
        return long and f"took the {steps:,} steps that its accuracy asks for{long}"


# Steps per call of the compiled loop.
_AT_ONCE = 4096
