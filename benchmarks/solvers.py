"""The batch solvers: MPU and LIBLINEAR on real data, to the same objective, and how the time of all four grows."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.growth import made_stream
from budgetrun.base.errors import DataMissingError
from budgetrun.config.schema import DatasetSpec
from budgetrun.data import open_stream
from budgetrun.kernels import Linear
from budgetrun.papers.solvers import Progress, Solver, find

Floats = NDArray[np.float64]

SEED = 0
ACCURACY = 1e-4
# A solver runs so many times; once only if it takes longer than this.
TURNS, LONG_SECONDS = 3, 1.0
# As in the configs of the two tables, with the largest ratio of MPU's time to LIBLINEAR's.
DATASETS = (
    (DatasetSpec(name="a9a"), 2.5),
    (DatasetSpec(name="w8a", label="web"), 1.0),
    (DatasetSpec(name="ijcnn1"), 5.0),
    (DatasetSpec(name="cod_rna", scale="minmax"), 5.0),
    (DatasetSpec(name="covtype_92962"), 5.0),
    (DatasetSpec(name="mnist", scale="unit_norm", positive=(5, 6, 7, 8, 9)), 5.0),
)
# The points of the panels, and the fixed values in the other one.
EXAMPLES = (1000, 2000, 4000, 8000, 16_000, 32_000, 64_000)
DELTAS = (1e-1, 3e-2, 1e-2, 3e-3, 1e-3, 3e-4, 1e-4, 3e-5, 1e-5, 3e-6, 1e-6)
N, DELTA, N_FEATURES = 16_000, 1e-3, 100
SOLVERS, WITH_BOUND = ("mpu", "dcd", "svm_perf", "pegasos"), ("mpu", "svm_perf")
# The most steps of Pegasos.
STEPS = 2_000_000
FIND: Callable[[str], Any] = find
AXES = {
    "examples": f"examples N; delta = {DELTA:g}, d = {N_FEATURES}",
    "accuracy": f"1 / delta; N = {N:,}, d = {N_FEATURES}",
}


@dataclass
class Race:
    """MPU run to delta_aft <= 1e-4, and LIBLINEAR to the objective that MPU reached; a row of solvers.csv."""

    dataset: str
    examples: int
    features: int
    objective: float  # this and the next three are those of MPU
    gap: float  # delta_aft
    epochs: int
    seconds: float  # the best of several times, without compilation
    liblinear_objective: float  # no larger than `objective`
    liblinear_passes: int
    # The best time with the loosest tolerance of a sequence that reaches the objective, without the looser ones.
    liblinear_seconds: float
    ratio: float  # seconds / liblinear_seconds
    goal: float  # the largest ratio that meets the goal


@dataclass
class Point:
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


def measure_races(rounds: int | None, data_dir: Path | None, missing: list[str]) -> Iterator[Race]:
    """Time both on every data set; for each missing data set, append a sentence to ``missing``."""
    mpu, dcd = map(FIND, ("mpu", "dcd"))
    for spec, goal in DATASETS:
        try:
            stream = open_stream(spec.model_copy(update={"n_examples": rounds}), SEED, 0, data_dir)
        except DataMissingError as error:
            missing.append(f"{spec.label}: left out. {error}")
            continue
        X, y = stream.X, stream.tasks["-"]
        ours, theirs = [], []
        for _ in range(TURNS):
            ours.append(mpu(accuracy=ACCURACY, seed=SEED).solve(X, y, Linear()))
            theirs.append(dcd(target=ours[-1].objective, seed=SEED).solve(X, y, Linear()))
        best, other = (min(side, key=lambda solution: solution.seconds) for side in (ours, theirs))
        of_mpu = best.objective, best.gap, best.epochs, best.seconds
        of_liblinear = other.objective, other.epochs, other.seconds
        ratio = best.seconds / other.seconds
        yield Race(spec.label, X.shape[0], X.shape[1], *of_mpu, *of_liblinear, ratio, goal)


def measure_solver_growth(most: int | None) -> Iterator[Point]:
    """Time all solvers at the first ``most`` points of the two panels, as far as they reach them."""
    for n_examples in EXAMPLES[:most]:
        yield from _points("examples", n_examples, [DELTA])
    yield from _points("accuracy", N, DELTAS[:most])


def _points(panel: str, n_examples: int, deltas: Sequence[float]) -> Iterator[Point]:
    X, (y,) = made_stream(n_examples, N_FEATURES, 1)
    least = min(deltas)
    bound = FIND("mpu")(accuracy=least / 10).solve(X, y, Linear()).lower_bound
    for name in SOLVERS:
        # A solver stops once it is within the least delta, by its own bound if it has one.
        given = {"accuracy": least} if name in WITH_BOUND else {"target": (1 + least) * bound}
        given |= {"iterations": STEPS} if name == "pegasos" else {}
        seconds, objective, gap = _trace(FIND(name)(**given), X, y)
        for delta in deltas:
            for kind, is_done in (("reached", objective <= (1 + delta) * bound), ("known", gap <= delta)):
                if is_done.any():
                    first = float(seconds[np.argmax(is_done)])
                    yield Point(panel, name, kind, n_examples, N_FEATURES, delta, first)


def _trace(solver: Solver, X: Floats, y: NDArray[Any]) -> tuple[Floats, Floats, Floats]:
    """Return a solver's trace, shape (n,) each: seconds (at each point the best of several runs), objectives, gaps."""
    turns: list[Floats] = []
    while len(turns) < TURNS and not (turns and turns[0][-1] > LONG_SECONDS):
        trace: list[Progress] = []
        solver.solve(X, y, Linear(), trace.append)
        turns.append(np.array([point.seconds for point in trace]))
    best: Floats = np.min(turns, axis=0)
    return best, np.array([point.objective for point in trace]), np.array([point.gap for point in trace])
