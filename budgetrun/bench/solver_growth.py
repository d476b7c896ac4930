"""How the time of the batch solvers grows with the number of examples and with 1 / delta, on generated data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from budgetrun.bench.growth import made_stream
from budgetrun.bench.sizes import Sizes
from budgetrun.kernels import Linear
from budgetrun.papers.solvers import Progress, Solver, find

Floats = NDArray[np.float64]

N_FEATURES = 100
# The accuracy in the panel over the examples.
DELTA = 1e-3
# How many times a solver runs; once only if it takes longer than this.
TURNS, LONG_SECONDS = 3, 1.0
SOLVERS = ("mpu", "dcd", "svm_perf", "pegasos")
WITH_BOUND = ("mpu", "svm_perf")
REACHED, KNOWN = "reached", "known"
AXES = {"examples": "examples N", "accuracy": "1 / delta"}


@dataclass
class SolverPoint:
    """One timed point; a row of solvers_growth.csv."""

    panel: str  # what varies: examples or accuracy
    solver: str
    kind: str  # reached: the objective was within delta of the optimum; known: the solver's own bound guaranteed it
    examples: int
    features: int
    delta: float
    seconds: float  # the best time

    @property
    def x(self) -> float:
        """The value of what varies."""
        return self.examples if self.panel == "examples" else 1 / self.delta


def measure_solver_growth(sizes: Sizes) -> Iterator[SolverPoint]:
    """Time all solvers at every point of the two panels that they reach."""
    for n_examples in sizes.solver_examples:
        yield from _points("examples", n_examples, [DELTA], sizes)
    yield from _points("accuracy", sizes.solver_base, sizes.solver_deltas, sizes)


def _points(panel: str, n_examples: int, deltas: Sequence[float], sizes: Sizes) -> Iterator[SolverPoint]:
    X, (y,) = made_stream(n_examples, N_FEATURES, 1)
    least = min(deltas)
    reference: Any = find("mpu")
    bound = reference(accuracy=least / 10).solve(X, y, Linear()).lower_bound
    for name in SOLVERS:
        seconds, objective, gap = _trace(_configured(name, bound, least, sizes), X, y)
        for delta in deltas:
            for kind, is_done in ((REACHED, objective <= (1 + delta) * bound), (KNOWN, gap <= delta)):
                if is_done.any():
                    first = float(seconds[np.argmax(is_done)])
                    yield SolverPoint(panel, name, kind, n_examples, N_FEATURES, delta, first)


def _configured(name: str, bound: float, delta: float, sizes: Sizes) -> Solver:
    """Return a solver that stops once it is within delta, by its own bound if it has one."""
    parameters: dict[str, float] = {"accuracy": delta} if name in WITH_BOUND else {"target": (1 + delta) * bound}
    if name == "pegasos":
        parameters["iterations"] = sizes.solver_steps
    solver_class: Any = find(name)
    solver: Solver = solver_class(**parameters)
    return solver


def _trace(solver: Solver, X: Floats, y: NDArray[Any]) -> tuple[Floats, Floats, Floats]:
    """Return a solver's trace, shape (n,) each: seconds (at each point the best of several runs), objectives, gaps."""
    best: Floats | None = None
    for _ in range(TURNS):
        trace: list[Progress] = []
        solver.solve(X, y, Linear(), trace.append)
        seconds = np.array([point.seconds for point in trace])
        best = seconds if best is None else np.minimum(best, seconds)
        if seconds[-1] > LONG_SECONDS:
            break
    assert best is not None
    return best, np.array([point.objective for point in trace]), np.array([point.gap for point in trace])
