"""One hypothesis per class, each of which tells its class from all others."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.linalg import block_diag

from budgetrun.base.errors import InputError
from budgetrun.engine.hypotheses.base import Hypothesis, bytes_kept, bytes_needed
from budgetrun.engine.hypotheses.expansion import sum_ahead
from budgetrun.engine.play import Options
from budgetrun.engine.pool import Pool
from budgetrun.kernels import Rows


class OneVsRestHypothesis(Hypothesis):
    """One hypothesis per class, each of them a binary learner's, over the same pool.

    Every example is stored once, however many classes hold it.

    Parameters:
    learners : list of BinaryLearner
        One per class; the label of an example is +1 for the learner of its class, and -1 for all others.

    Attributes:
    of_classes : list of Hypothesis
        That of each class.
    slots : ndarray of int, shape (size,)
        The different examples that any class holds, oldest first.
    coef : ndarray of float64, shape (n_classes, size)
        Their weights in each class.
    mistakes, updates : int
        The rounds on which the true class is not strictly ahead; those on which the learner of any class acted.
    largest_size : int
        The largest support set of one class between rounds: what a budget limits.

    Notes: The scores of two classes tie if they differ by at most `rounding` (1e-9) times the larger one in absolute
    value. Equal sums over different examples can differ that little; this does not depend on block size or machine.
    """

    form = "one_vs_rest"
    revision = 2
    compiled = False

    def __init__(self, pool: Pool, learners: list[Any]) -> None:
        super().__init__(pool, len(learners))
        self._learners = learners
        self.of_classes: list[Hypothesis] = [learner.start(pool) for learner in learners]
        self._playing = 0

    @property
    def in_pool(self) -> bool:  # type: ignore[override]  # of an instance here
        """Support examples are in the pool; otherwise each class has points of its own."""
        return all(part.in_pool for part in self.of_classes)

    @property
    def needs_values(self) -> bool:  # type: ignore[override]  # of an instance here
        """Whether those of any class need kernel values."""
        return any(part.needs_values for part in self.of_classes)

    @property
    def size(self) -> int:
        return len(self.slots) if self.in_pool else sum(part.size for part in self.of_classes)

    @property
    def rounds(self) -> np.ndarray:
        return super().rounds if self.in_pool else np.concatenate([part.rounds for part in self.of_classes])

    @property
    def support_set(self) -> Rows:
        own: list[Any] = [] if self.in_pool else [part.support_set for part in self.of_classes]
        return np.vstack(own) if own else super().support_set

    @property
    def slots(self) -> np.ndarray:
        slots = np.unique(np.concatenate([part.slots for part in self.of_classes]))
        return slots[np.argsort(self._pool.rounds[slots], kind="stable")]

    @property
    def held(self) -> np.ndarray:
        return np.unique(np.concatenate([part.held for part in self.of_classes]))

    @property
    def coef(self) -> np.ndarray:
        if not self.in_pool:
            return block_diag(*(part.coef for part in self.of_classes))  # type: ignore[attr-defined]  # as below
        slots = self.slots
        at, coef = np.zeros(self._pool.capacity, dtype=np.intp), np.zeros((len(self.of_classes), len(slots)))
        at[slots] = np.arange(len(slots))
        for row, part in zip(coef, self.of_classes, strict=True):
            row[at[part.slots]] = part.coef  # type: ignore[attr-defined]  # as for `weights_` of one class
        return coef

    @property
    def now(self) -> int:
        return self.of_classes[self._playing].now

    def begin_block(self) -> None:
        super().begin_block()
        sum_ahead(self._pool, self.of_classes)

    def play(self, learner: Any, y: np.ndarray, t: int, options: Options) -> int:
        if options.single:
            raise InputError("one-vs-rest learners cannot be watched; feed them single rounds instead")
        acted = np.zeros(len(y), dtype=bool)
        for c, (part, own) in enumerate(zip(self.of_classes, self._learners, strict=True)):
            self._playing, t = c, 0
            part.begin_block()
            labels = np.where(y == c, 1, -1)
            while t < len(y):
                t = part.play(own, labels, t, options)
            part.end_block()
            self.scores[c] = part.predictions
            self.largest_size = max(self.largest_size, part.largest_size)
            acted |= part.acted
        at, rivals = np.arange(len(y)), self.scores.copy()
        rivals[y, at] = -np.inf
        own, best = self.scores[y, at], rivals.max(axis=0)
        wrong = own - best <= self.rounding * np.maximum(np.abs(own), np.abs(best))
        self.mistakes += int(np.count_nonzero(wrong))
        self.updates += int(np.count_nonzero(acted | wrong))
        return len(y)

    def score(self, X: Rows, averaged: bool = False) -> np.ndarray:
        return np.stack([part.score(X, averaged) for part in self.of_classes])

    def features_in_use(self) -> np.ndarray:
        return np.any([part.features_in_use() for part in self.of_classes], axis=0)

    def rearrange(self, features: Sequence[int], n_features: int) -> None:
        for part in self.of_classes:
            part.rearrange(features, n_features)

    def memory(self, size: int, block: int) -> float:
        forms = sum(part.memory(size, block) - part.bytes_needed(size) for part in self.of_classes)
        return forms + self.bytes_needed(size) + 16 * len(self.of_classes) * block

    def bytes_needed(self, size: int) -> float:
        return sum(bytes_needed(*own, size) for own in zip(self._learners, self.of_classes, strict=True))

    def bytes_kept(self, size: int, row: float, n_features: int) -> float:
        own = zip(self._learners, self.of_classes, strict=True)
        return sum(bytes_kept(*one, size, row, n_features) for one in own)

    def solving(self, size: int) -> float:
        return sum(part.solving(size) for part in self.of_classes)
