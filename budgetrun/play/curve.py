"""The curves of learners on a stream of unknown length: ever fewer points per round, so that they stay short."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

# Points per decade, and the most that are equally spaced.
_PER_DECADE = 8
_MOST_SPACED = 100
_FIRST_STEP = 256


class Curve:
    """Counts of learners after some rounds: at eight rounds per decade, and at 50 to 100 equally spaced ones.

    Parameters
    ----------
    n_learners : int, >= 1
    metrics : sequence of str
        Names of further curves.
    """

    def __init__(self, n_learners: int, metrics: Sequence[str] = ()) -> None:
        self._n = n_learners
        # Each with the arrays of the recorded rounds.
        self._metrics: dict[str, list[list[float]]] = {name: [] for name in metrics}
        self._step = _FIRST_STEP
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

    def add(self, rounds: int, mistakes: list[int], sizes: list[int], **metrics: list[float]) -> None:
        """Record what the learners have after ``rounds`` rounds, more than in the last call."""
        self._rounds.append(rounds)
        for name, values in self._metrics.items():
            values.append(metrics[name])
        self._counts.append(np.array([mistakes, sizes], dtype=np.int64))
        if rounds > _MOST_SPACED * self._step:
            self._step *= 2
            kept = [i for i, t in enumerate(self._rounds) if t % self._step == 0 or self._is_of_decades(t)]
            self._rounds = [self._rounds[i] for i in kept]
            self._counts = [self._counts[i] for i in kept]
            self._metrics = {name: [values[i] for i in kept] for name, values in self._metrics.items()}

    def _is_of_decades(self, rounds: int) -> bool:
        return rounds == round(10 ** (round(_PER_DECADE * math.log10(rounds)) / _PER_DECADE))

    def last_window(self, metric: str | None = None) -> tuple[int, np.ndarray] | None:
        """Return the length of the last recorded stretch of at least a tenth of the rounds, and the mistakes in it.

        With the name of a metric that is a sum, what it has grown by instead.
        """
        if len(self._rounds) < 2:
            return None
        end = self._rounds[-1]
        start = max((i for i, t in enumerate(self._rounds) if t <= 0.9 * end), default=0)
        values = [counts[0] for counts in self._counts] if metric is None else self._metrics[metric]
        return end - self._rounds[start], np.subtract(values[-1], values[start])

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the curves as `budgetrun.results.store.curves` keeps them.

        Returns
        -------
        dict
            ``rounds``, shape (n,); ``mistakes``, ``support_size`` and metrics by name, shape (n_learners, n).
        """
        counts = np.array(self._counts, dtype=np.int64).reshape(len(self._rounds), 2, self._n)
        return {
            "rounds": np.array(self._rounds, dtype=np.int64),
            "mistakes": counts[:, 0].T,
            "support_size": counts[:, 1].T,
            **{name: np.array(values).reshape(-1, self._n).T for name, values in self._metrics.items()},
        }
