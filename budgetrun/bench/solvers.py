"""MPU beside LIBLINEAR on real data: the seconds to one and the same objective."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from budgetrun.bench.sizes import Sizes
from budgetrun.config.schema import DatasetSpec
from budgetrun.data import open_stream
from budgetrun.errors import DataMissingError
from budgetrun.kernels import Linear
from budgetrun.solvers import Solution, find

SEED = 0
ACCURACY = 1e-4
TURNS = 3
# As in the configs of the two tables, and the most that MPU may take, in times of LIBLINEAR.
DATASETS = (
    (DatasetSpec(name="a9a"), 2.5),
    (DatasetSpec(name="w8a", label="web"), 1.0),
    (DatasetSpec(name="ijcnn1"), 5.0),
    (DatasetSpec(name="cod_rna", scale="minmax"), 5.0),
    (DatasetSpec(name="covtype_92962"), 5.0),
    (DatasetSpec(name="mnist", scale="unit_norm", positive=[5, 6, 7, 8, 9]), 5.0),
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
    """MPU to delta_aft <= 1e-4, and LIBLINEAR to the objective that MPU ended with; a line of solvers.csv.

    Attributes
    ----------
    dataset : str
    examples, features : int
    objective, gap : float
        Of MPU; ``gap`` is delta_aft.
    epochs : int
    seconds : float
        The best time of several, compiling left out.
    liblinear_objective : float
        No larger.
    liblinear_passes : int
    liblinear_seconds : float
        The best time of the loosest tolerance that does, of a ladder of tolerances, what was tried before left out.
    ratio : float
        Of the two times.
    goal : float or None
        The most that it should be.
    """

    dataset: str
    examples: int
    features: int
    objective: float
    gap: float
    epochs: int
    seconds: float
    liblinear_objective: float
    liblinear_passes: int
    liblinear_seconds: float
    ratio: float
    goal: float | None

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
    """Time both on every data set that is to be had; sentences about the others go to ``missing``."""
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
            ours.append(find("mpu")(accuracy=ACCURACY, seed=SEED).solve(X, y, Linear()))
            theirs.append(find("dcd")(target=ours[-1].objective, seed=SEED).solve(X, y, Linear()))
        best, other = (min(side, key=lambda solution: solution.seconds) for side in (ours, theirs))
        yield Race(
            spec.label,
            *X.shape,
            best.objective,
            best.gap,
            best.epochs,
            best.seconds,
            other.objective,
            other.epochs,
            other.seconds,
            best.seconds / other.seconds,
            goal if sizes.goals else None,
        )


def markdown(races: Sequence[Race]) -> str:
    """Return the races as a Markdown table."""
    rows = [HEADINGS, ("---",) * len(HEADINGS), *(race.cells for race in races)]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)
