"""How the time of the batch solvers grows with the examples and with 1 / delta, on made data; and the figure of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from budgetrun.bench.growth import made_stream
from budgetrun.bench.sizes import Sizes
from budgetrun.kernels import Linear
from budgetrun.solvers import Progress, Solver, find

if TYPE_CHECKING:
    from matplotlib.axes import Axes

N_FEATURES = 100
# At the points of the panel over the examples.
DELTA = 1e-3
# Times that a solver runs; one that takes so many seconds, once.
TURNS, LONG_SECONDS = 3, 1.0
SOLVERS = ("mpu", "dcd", "svm_perf", "pegasos")
REACHED, KNOWN = "reached", "known"
AXES = {"examples": "examples N", "accuracy": "1 / delta"}
_COLOURS = {"mpu": "#0072B2", "dcd": "#D55E00", "svm_perf": "#009E73", "pegasos": "#CC79A7"}
_MARKERS = {"mpu": "s", "dcd": "^", "svm_perf": "D", "pegasos": "v"}


@dataclass
class SolverPoint:
    """One timed point; a line of solvers_growth.csv.

    Attributes
    ----------
    panel : {"examples", "accuracy"}
        What varies.
    solver : str
    kind : {"reached", "known"}
        Until the objective was within delta of the optimum, or until the solver's own bound said so.
    examples, features : int
    delta : float
    seconds : float
        The best time.
    """

    panel: str
    solver: str
    kind: str
    examples: int
    features: int
    delta: float
    seconds: float

    @property
    def x(self) -> float:
        """The value of what varies."""
        return self.examples if self.panel == "examples" else 1 / self.delta


def measure_solver_growth(sizes: Sizes) -> Iterator[SolverPoint]:
    """Time all solvers at every point of the two panels, as far as they come."""
    for n_examples in sizes.solver_examples:
        yield from _points("examples", n_examples, [DELTA], sizes)
    yield from _points("accuracy", sizes.solver_base, sizes.solver_deltas, sizes)


def _points(panel: str, n_examples: int, deltas: Sequence[float], sizes: Sizes) -> Iterator[SolverPoint]:
    X, (y,) = made_stream(n_examples, N_FEATURES, 1)
    least = min(deltas)
    bound = find("mpu")(accuracy=least / 10).solve(X, y, Linear()).lower_bound
    for name in SOLVERS:
        seconds, objective, gap = _trace(_asked(name, bound, least, sizes), X, y)
        for delta in deltas:
            for kind, there in ((REACHED, objective <= (1 + delta) * bound), (KNOWN, gap <= delta)):
                if there.any():
                    first = float(seconds[np.argmax(there)])
                    yield SolverPoint(panel, name, kind, n_examples, N_FEATURES, delta, first)


def _asked(name: str, bound: float, delta: float, sizes: Sizes) -> Solver:
    """Return a solver that stops once it is within delta, by its own bound if it has one."""
    solver: Any = find(name)
    if name == "dcd":
        return solver(target=(1 + delta) * bound)
    if name == "pegasos":
        return solver(target=(1 + delta) * bound, iterations=sizes.solver_steps)
    return solver(accuracy=delta)


def _trace(solver: Solver, X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return a solver's trace, shape (n,) each: seconds, the best of several runs point by point; objectives; gaps."""
    best: np.ndarray | None = None
    for _ in range(TURNS):
        trace: list[Progress] = []
        solver.solve(X, y, Linear(), trace.append)
        seconds = np.array([point.seconds for point in trace])
        best = seconds if best is None else np.minimum(best, seconds)
        if seconds[-1] > LONG_SECONDS:
            break
    assert best is not None
    return best, np.array([point.objective for point in trace]), np.array([point.gap for point in trace])


def draw_solver_growth(points: Sequence[SolverPoint], folder: Path) -> list[Path]:
    """Draw solvers_growth.png and solvers_growth.svg into a folder and return their paths."""
    import matplotlib
    from matplotlib.figure import Figure

    from budgetrun.report.looks import DOTS_PER_INCH, STYLE

    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(11.5, 6.0), layout="constrained")
        for axes, panel in zip(figure.subplots(1, 2), AXES, strict=True):
            _panel(axes, panel, [point for point in points if point.panel == panel])
        figure.suptitle("Time of the batch solvers, one core, made data, C = 1", x=0.01, ha="left", weight="bold")
        paths = [folder / "solvers_growth.png", folder / "solvers_growth.svg"]
        figure.savefig(paths[0], dpi=DOTS_PER_INCH, metadata={"Software": None})
        figure.savefig(paths[1], metadata={"Date": None, "Creator": None})
    return paths


def _panel(axes: Axes, panel: str, points: list[SolverPoint]) -> None:
    from budgetrun.bench.chart import finish, slope

    for name in SOLVERS:
        for kind in (REACHED, KNOWN):
            line = [point for point in points if (point.solver, point.kind) == (name, kind)]
            if not line:
                continue
            style: Any = {"color": _COLOURS[name], "marker": _MARKERS[name], "linestyle": "-"}
            if kind == KNOWN:
                style |= {"linestyle": "--", "markerfacecolor": "white"}
            label = f"{name}{', by its own bound' if kind == KNOWN else ''}"
            if len(line) > 1:
                label += f": slope {slope(line):.2f}"
            axes.plot([p.x for p in line], [p.seconds for p in line], label=label, **style)
    one = points[0]
    fixed = f"delta = {one.delta:g}" if panel == "examples" else f"N = {one.examples:,}"
    finish(axes, AXES[panel], f"{fixed}, d = {one.features}")
