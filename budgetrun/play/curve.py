"""Curves of learners: counts and metrics along the stream."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

# Rounds per block of a stream whose length is known, and at most in one piece of another.
BLOCK_SIZE, PIECE = 256, 8192
# Points per decade, and the most that are equally spaced.
_PER_DECADE = 8
_MOST_SPACED = 100


class Curve:
    """Counts of learners after some rounds: at eight rounds per decade, and at 50 to 100 equally spaced ones.

    The number of rounds need not be known.

    Parameters
    ----------
    n_learners : int, >= 0
    metrics : sequence of str
        Names of further curves.
    """

    dtype: type = np.int64

    def __init__(self, n_learners: int, metrics: Sequence[str] = ()) -> None:
        self._n = n_learners
        # The values of each, one list per recorded round.
        self._metrics: dict[str, list[list[float]]] = {name: [] for name in metrics}
        self._step = BLOCK_SIZE
        self._rounds: list[int] = []
        self._counts: list[np.ndarray] = []

    @property
    def end(self) -> int:
        """The last recorded round; 0 before the first."""
        return self._rounds[-1] if self._rounds else 0

    def next(self, after: int) -> int:
        """Return the first round after ``after`` at which to call `add`."""
        decade = math.ceil(_PER_DECADE * math.log10(after + 1)) if after else 0
        spaced = (after // self._step + 1) * self._step
        while (rounded := round(10 ** (decade / _PER_DECADE))) <= after:
            decade += 1
        return min(rounded, spaced)

    def stop(self, after: int) -> int:
        """Return the round at which the next piece of the stream ends, at the latest."""
        return min(self.next(after), after + PIECE)

    def add(self, rounds: int, mistakes: list[int], sizes: list[int], metrics: Mapping[str, list[float]]) -> None:
        """Record what the learners have after ``rounds`` rounds, more than in the last call."""
        self._rounds.append(rounds)
        for name, values in self._metrics.items():
            values.append(metrics[name])
        self._counts.append(np.array([mistakes, sizes], dtype=np.int64))
        if rounds > _MOST_SPACED * self._step:
            self._thin_out()

    def _thin_out(self) -> None:
        """Keep every other one of the equally spaced points."""
        self._step *= 2
        kept = [i for i, t in enumerate(self._rounds) if t % self._step == 0 or self._is_of_decades(t)]
        self._rounds = [self._rounds[i] for i in kept]
        self._counts = [self._counts[i] for i in kept]
        self._metrics = {name: [values[i] for i in kept] for name, values in self._metrics.items()}

    def _is_of_decades(self, rounds: int) -> bool:
        return rounds == round(10 ** (round(_PER_DECADE * math.log10(rounds)) / _PER_DECADE))

    def last_window(self, name: str = "mistakes") -> tuple[int, np.ndarray] | None:
        """Return the length of the last recorded stretch of at least a tenth of the rounds, and the mistakes in it.

        With the name of a metric that is a sum, its increase instead.
        """
        if len(self._rounds) < 2:
            return None
        end = self._rounds[-1]
        start = max((i for i, t in enumerate(self._rounds) if t <= 0.9 * end), default=0)
        values = self._metrics.get(name) or [counts[0] for counts in self._counts]
        return end - self._rounds[start], np.subtract(values[-1], values[start])

    @property
    def rounds(self) -> np.ndarray:
        """The recorded rounds, shape (n,)."""
        return np.array(self._rounds, dtype=np.int64)

    def of(self, i: int) -> dict[str, np.ndarray]:
        """Return the curves of one learner as results keep them, each of shape (n,), by name."""
        counts: np.ndarray = np.array([counts[:, i] for counts in self._counts], dtype=self.dtype).reshape(-1, 2)
        metrics = {name: np.array([values[i] for values in lists]) for name, lists in self._metrics.items()}
        return {"mistakes": counts[:, 0], "support_size": counts[:, 1], **metrics}


class Planned(Curve):
    """Curves of a stream of ``n_rounds`` rounds: all points are recorded at the `checkpoints`."""

    dtype = np.int32

    def __init__(self, n_rounds: int, n_learners: int, metrics: Sequence[str] = ()) -> None:
        super().__init__(n_learners, metrics)
        self._planned = checkpoints(n_rounds)

    def next(self, after: int) -> int:
        return int(self._planned[np.searchsorted(self._planned, after, side="right")])

    def stop(self, after: int) -> int:
        return min(self.next(after), after + BLOCK_SIZE - after % BLOCK_SIZE)

    def _thin_out(self) -> None:
        """Keep all points, as all of them are planned."""

    @property
    def rounds(self) -> np.ndarray:
        return self._planned

    def of(self, i: int) -> dict[str, np.ndarray]:
        """Return the curves of one learner; 0 at the checkpoints that a stream has not reached, because it failed."""
        missing = len(self._planned) - len(self._rounds)
        return {name: np.pad(values, (0, missing)) for name, values in super().of(i).items()}


def checkpoints(n_rounds: int) -> np.ndarray:
    """Return the rounds at which curves are recorded: eight per decade, about fifty equally spaced, and the last."""
    grid = np.logspace(0, np.log10(n_rounds), int(8 * np.log10(n_rounds)) + 2)
    # Multiples of the block size, where blocks end anyway.
    step = BLOCK_SIZE * max(1, round(n_rounds / (50 * BLOCK_SIZE)))
    return np.unique(np.concatenate([np.rint(grid).astype(int), np.arange(step, n_rounds, step)]))


def prefix_of(n_rounds: int) -> int:
    """Return the length of the prefix on which settings may be chosen: a tenth of the rounds, at least 1."""
    return max(1, math.floor(n_rounds / 10 + 0.5))
