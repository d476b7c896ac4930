"""Hypotheses over points of their own, which need not be examples of the stream."""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from budgetrun.base.errors import InputError
from budgetrun.base.problem import CANCELLED
from budgetrun.engine.hypotheses.base import Hypothesis, sum_and_limit
from budgetrun.engine.hypotheses.multiclass import rival_among
from budgetrun.engine.pool import Pool
from budgetrun.kernels import Rows
from budgetrun.kernels.compiling import interpreted
from budgetrun.kernels.compiling.objects import apart
from budgetrun.kernels.kinds import Encoded, Floats, dense, enlarged
from budgetrun.kernels.sums import add_up, along, copy, drop_place, evaluate, inner, taken

# The most numbers that points and a block may take: 1 GB.
_MOST_NUMBERS = 2**27


class Points(Hypothesis):
    """f = sum_i coef_i k(z_i, .) over points z_i, in the order in which they were added.

    The verbs are `append`, `shift`, `evict` and `merge`. A point that was merged counts as the example in whose place
    it is.

    Parameters:
    capacity : int, >= 1
        The most points, within a round.
    n_classes : int or None
        With several classes, a point has one weight per class.

    Attributes:
    coef : ndarray of float64, shape (size,), or (n_classes, size)

    Notes: The points are copies, dense and by feature, each in a place that it keeps until it leaves. Kernel values are
    those with the rounds of a tile; a new point is compared with the rest of them. The score of every round is summed
    over the points in their order, so that it does not depend on how a stream is cut into blocks.
    """

    in_pool = False
    needs_values = False
    form: ClassVar[str] = "points"
    prepares_tiles = True
    upkeep = 4

    def __init__(self, pool: Pool, capacity: int, n_classes: int | None = None) -> None:
        if pool.kernel.by_place:
            why = "needs the task of an example, and the points of this learner have none"
            raise InputError(f"the kernel {pool.kernel} {why}: use another kernel or learner")
        super().__init__(pool, *(() if n_classes is None else (n_classes,)))
        self.n_classes = n_classes or 1
        self._kernel = pool.kernel
        self._capacity = capacity
        self._size = 0
        # The places of the points, in their order, and then the free ones; what follows is by place.
        self._places = np.arange(0)
        self._weights = np.zeros((0, self.n_classes))
        self._of_rounds = np.zeros(0, dtype=np.int64)
        self._norms = np.zeros(0)
        self._store = Floats(0)
        self._points = self._store.stored
        # The examples of the block by feature, and kernel values of all places with the rounds of the tile.
        self._columns = np.zeros((0, 0))
        self._values = np.zeros((1, 0, 0))

    @property
    def size(self) -> int:
        return self._size

    @property
    def slots(self) -> np.ndarray:
        """The places of the points."""
        return self._places[: self._size]

    @property
    def coef(self) -> np.ndarray:
        return self.weights if self.scores.ndim == 2 else self.weights[0]

    @property
    def squares(self) -> np.ndarray:
        """k(z_i, z_i), shape (size,)."""
        return taken(self._norms, self.slots)

    @property
    def weights(self) -> np.ndarray:
        """The weights, shape (n_classes, size)."""
        weights = np.empty((self.n_classes, self._size))
        for c in range(self.n_classes):
            copy(self.weights_of(c), weights[c])
        return weights

    def weights_of(self, c: int) -> np.ndarray:
        """Return the weights of the points in class ``c``, shape (size,)."""
        return taken(self._weights[:, c], self.slots)

    def distances(self, i: int) -> np.ndarray:
        """Compute ||z_i - z_j||^2 for all points j, shape (size,)."""
        every = along(self._points, self._places[i], self._points, 0, self._points.shape[1], True)
        return taken(every, self.slots)

    @property
    def current(self) -> Any:
        scores = np.array([inner(self.weights_of(c), self.kernel_row()) for c in range(self.n_classes)])
        return scores if self.scores.ndim == 2 else scores[0]

    @apart
    def append(self) -> None:
        """Add the example of the current round as the last point, with weight 0."""
        place = self._places[self._size]
        copy(self._columns[:, self._round], self._points[:, place])
        for c in range(self.n_classes):
            self._weights[place, c] = 0.0
        self._of_rounds[place], self._norms[place] = self.now - 1, self.square
        self._size += 1
        self._compare(place)

    def shift(self, i: int, delta: float, c: int = 0) -> None:
        """coef_i += delta, in class ``c``; what cancels except for rounding is 0."""
        place = self._places[i]
        self._weights[place, c] = sum_of_two(self._weights[place, c], delta)

    def evict(self, i: int) -> None:
        """Drop point ``i``."""
        drop_place(self._places, i, self._size)
        self._size -= 1

    @apart
    def merge(self, i: int, j: int, h: float, of_i: float, of_j: float) -> None:
        """Put z = h z_i + (1 - h) z_j in the place of point ``i``, and drop point ``j``.

        The weights of z are ``of_i`` times those of point i plus ``of_j`` times those of point j; what cancels except
        for rounding is 0. k(z, z) is that of point i.
        """
        place, other = self._places[i], self._places[j]
        copy(h * self._points[:, place] + (1 - h) * self._points[:, other], self._points[:, place])
        for c in range(self.n_classes):
            self._weights[place, c] = sum_of_two(of_i * self._weights[place, c], of_j * self._weights[other, c])
        self.evict(j)
        self._compare(place)

    @property
    def rounds(self) -> np.ndarray:
        return self._of_rounds[self.slots]

    @property
    def support_set(self) -> Rows:
        return self._points[:, self.slots].T.copy()

    @property
    def held(self) -> np.ndarray:
        return self._places[:0]

    def begin_block(self) -> None:
        super().begin_block()
        examples = self._pool.examples(self._block_slots)
        b, d = examples.shape
        most = min(self._capacity, self._size + b + 1)
        if d * (most + b) > _MOST_NUMBERS:
            raise InputError(
                f"points that are not examples are stored densely, and {most:,} of them with {d:,} features, beside "
                f"{b:,} examples, take more than 1 GB: use a smaller budget, or a learner that holds examples"
            )
        self._columns = np.ascontiguousarray(dense(examples).T, dtype=np.float64)
        if most > len(self._places) or d != len(self._points):
            self.rearrange(range(len(self._points)), d, min(self._capacity, most + most // 4))

    def end_block(self) -> None:
        self._columns, self._values = self._columns[:, :0].copy(), self._values[:, :0].copy()

    def features_in_use(self) -> np.ndarray:
        return (self._points[:, self.slots] != 0).any(axis=1)

    def rearrange(self, features: Sequence[int], n_features: int, capacity: int | None = None) -> None:
        """Do what `Group.rearrange` says, with ``capacity`` places for points; by default, as many as there are."""
        n, slots, capacity = self._size, self.slots, capacity or len(self._places)
        points = self._points[np.asarray(features, dtype=np.intp)][:, slots]
        self._store = Floats(n_features)
        self._store.resize(capacity)
        self._points = self._store.stored
        self._points[: len(points), :n] = points
        self._weights = enlarged(self._weights[slots], capacity, self.n_classes)
        self._of_rounds = enlarged(self._of_rounds[slots], capacity)
        self._norms = enlarged(self._norms[slots], capacity)
        self._places = np.arange(capacity)

    def score(self, X: Rows, averaged: bool = False) -> np.ndarray:
        scores = np.zeros((self.n_classes, X.shape[0]))
        if self._size:
            values = self._kernel.between(self.support_set, X)
            for c in range(self.n_classes):
                add_up(self.weights_of(c), np.arange(self._size), values, scores[c])
        return scores if self.scores.ndim == 2 else scores[0]

    @apart
    def score_at(self, t: int) -> float:
        score, least = sum_and_limit(self.weights_of(0), self._values_at(t))
        return self._set_score(t, score, least)

    def memory(self, size: int, block: int) -> float:
        return 8 * (size + 1) * (self.n_classes + 64 + 4)

    def bytes_kept(self, size: int, row: float, n_features: int) -> float:
        # Points are floats, one more than support examples.
        return 8.0 * (size + 1) * (n_features + self.n_classes + 5)

    def _begin_round(self) -> None:
        """Verbs change no score: each is summed when it is read."""

    def _values_at(self, t: int) -> np.ndarray:
        return taken(self._values[0, :, t - self.tile_start], self.slots)

    @interpreted
    def _score_tile(self) -> None:
        start, end = self.tile_start, self.tile_end
        self._values = np.empty((1, len(self._places), end - start))
        examples = np.ascontiguousarray(self._columns[:, start:end].T)
        self._store.fill(self._kernel, Encoded(examples, examples[:, 0], examples[:, 0]), self._values)

    def _compare(self, place: int) -> None:
        """Compute the kernel values of a new point with the current round and the rest of the tile."""
        t = self._round
        s = along(self._points, place, self._columns, t, self.tile_end, self._kernel.of_distance)
        evaluate(self._kernel, s, self._values[0, place, t - self.tile_start :])


class MulticlassPoints(Points):
    """One such sum per class, over the same points; the class of the largest score is predicted."""

    form = "multiclass_points"
    revision = 2

    def lead_at(self, t: int, y: int, handicaps: np.ndarray) -> tuple[int, float]:
        values, limits = self._values_at(t), np.zeros(self.n_classes)
        for c in range(self.n_classes):
            self.scores[c, t], limits[c] = sum_and_limit(self.weights_of(c), values)
        return rival_among(self.scores[:, t], y, handicaps, limits)


def sum_of_two(a: float, b: float) -> float:
    """Return a + b; 0 if they cancel except for rounding."""
    total = a + b
    return 0.0 if abs(total) <= CANCELLED * abs(a) else total
