"""Kernel expansions that keep all examples of the stream."""

from __future__ import annotations

import numpy as np

from budgetrun.engine.hypotheses.expansion import Expansion
from budgetrun.engine.pool import Pool


class Remembering(Expansion):
    """An expansion that keeps the examples and labels of all rounds. The verb for that is `remember`."""

    compiled = False

    def __init__(self, pool: Pool) -> None:
        super().__init__(pool)
        self._seen = np.zeros(0, dtype=np.intp)
        self._labels = np.zeros(0)

    def remember(self, y: int) -> None:
        """Keep the example of the current round, and its label."""
        self._seen = np.append(self._seen, self._block_slots[self._round])
        self._labels = np.append(self._labels, y)

    def errors_without(self) -> np.ndarray:
        """Count, for each support example, the errors of f without it on what is kept, shape (size,); 0 means -1."""
        parts = self.coef[:, None] * self._pool.between(self.slots, self._seen)
        errors: np.ndarray = ((parts.sum(axis=0) - parts > self.rounding) != (self._labels > 0)).sum(axis=1)
        return errors

    @property
    def held(self) -> np.ndarray:
        return self._seen
