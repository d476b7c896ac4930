"""MPU and LIBLINEAR on real data: the seconds to the same objective."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from budgetrun.base.errors import DataMissingError
from budgetrun.bench.sizes import Sizes
from budgetrun.config.schema import DatasetSpec
from budgetrun.data import open_stream
from budgetrun.kernels import Linear
from budgetrun.papers.solvers import Solution
from budgetrun.papers.solvers.dcd import DualCoordinateDescent as DCD
from budgetrun.papers.solvers.mpu import MarginPerceptronWithUnlearning as MPU

SEED = 0
ACCURACY = 1e-4
TURNS = 3
# As in the configs of the two tables, with the largest ratio of MPU's time to LIBLINEAR's.
DATASETS = (
    (DatasetSpec(name="a9a"), 2.5),
    (DatasetSpec(name="w8a", label="web"), 1.0),
    (DatasetSpec(name="ijcnn1"), 5.0),
    (DatasetSpec(name="cod_rna", scale="minmax"), 5.0),
    (DatasetSpec(name="covtype_92962"), 5.0),
    (DatasetSpec(name="mnist", scale="unit_norm", positive=(5, 6, 7, 8, 9)), 5.0),
)
HEADINGS = (
    "data",
    "examples",
    "features",
    "MPU: objective",
    "delta_aft",
    "epochs",
    "seconds",
    "LIBLINEAR: objective",
    "passes",
    "seconds",
    "MPU / LIBLINEAR",
    "at most",
)


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
    goal: float | None  # the largest ratio that meets the goal

    @property
    def cells(self) -> tuple[str, ...]:
        """The cells under `HEADINGS`, rounded for reading."""
        met = "" if self.goal is None else f"{self.goal:g}: {'met' if self.ratio <= self.goal else 'missed'}"
        return (
            self.dataset,
            f"{self.examples:,}",
            f"{self.features:,}",
            f"{self.objective:,.2f}",
            f"{self.gap:.1e}",
            str(self.epochs),
            f"{self.seconds:.3g}",
            f"{self.liblinear_objective:,.2f}",
            str(self.liblinear_passes),
            f"{self.liblinear_seconds:.3g}",
            f"{self.ratio:.2f}",
            met,
        )


def measure_races(sizes: Sizes, data_dir: Path | None, missing: list[str]) -> Iterator[Race]:
    """Time both on every data set; for each missing data set, append a sentence to ``missing``."""
    for spec, goal in DATASETS:
        try:
            stream = open_stream(spec.model_copy(update={"n_examples": sizes.rounds}), SEED, 0, data_dir)
        except DataMissingError as error:
            missing.append(f"{spec.label}: left out. {error}")
            continue
        X, y = stream.X, stream.tasks["-"]
        ours: list[Solution] = []
        theirs: list[Solution] = []
        for _ in range(TURNS):
            ours.append(MPU(accuracy=ACCURACY, seed=SEED).solve(X, y, Linear()))
            theirs.append(DCD(target=ours[-1].objective, seed=SEED).solve(X, y, Linear()))
        best, other = (min(side, key=lambda solution: solution.seconds) for side in (ours, theirs))
        yield Race(
            dataset=spec.label,
            examples=X.shape[0],
            features=X.shape[1],
            objective=best.objective,
            gap=best.gap,
            epochs=best.epochs,
            seconds=best.seconds,
            liblinear_objective=other.objective,
            liblinear_passes=other.epochs,
            liblinear_seconds=other.seconds,
            ratio=best.seconds / other.seconds,
            goal=goal if sizes.goals else None,
        )
