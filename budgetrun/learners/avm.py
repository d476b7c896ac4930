"""AVM: gradient descent in which cores stand for all examples near them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from budgetrun.base.errors import InputError
from budgetrun.base.params import Budget, Positive
from budgetrun.engine.hypotheses import Expansion
from budgetrun.engine.hypotheses.pairs import first_smallest
from budgetrun.kernels import Kernel
from budgetrun.kernels.compiling import interpreted
from budgetrun.kernels.sums import taken
from budgetrun.learners.base import BinaryLearner
from budgetrun.learners.descent import Loss, descent

if TYPE_CHECKING:
    from budgetrun.engine.pool import Pool


class SquaredDistance(Kernel):
    """||a - b||^2, computed as kernel values are: exactly for whole numbers, else coordinate by coordinate."""

    name: ClassVar[str] = "squared_distance"
    of_distance = True

    @property
    def numbers(self) -> tuple[float, ...]:
        return ()

    @staticmethod
    def formula(s: Any) -> Any:
        return s


class Distances:
    """The squared distances of a block, computed once for all learners of a pool."""

    def __init__(self) -> None:
        self._block: tuple[int, np.ndarray] | None = None

    def of_block(self, pool: Pool) -> np.ndarray:
        """Return ||x_i - x_t||^2 between every slot and the rounds of the block, in the shape of the pool's tiles."""
        if self._block is None or self._block[0] != pool.seen:
            assert pool.kind is not None
            tiles = np.empty(pool.tiles.shape)
            pool.kind.fill(SquaredDistance(), pool.kind.encoded(pool.block_slots), tiles)
            self._block = pool.seen, tiles
        return self._block[1]

    def __getstate__(self) -> dict[str, Any]:
        """Leave the current block out of pickles."""
        return {"_block": None}


class Covering(Expansion):
    """An expansion over examples whose distances from the example of the current round are known."""

    form = "covering"

    def __init__(self, pool: Pool) -> None:
        if pool.kernel.by_place:
            why = "its cores stand for the examples near them, and examples of two tasks have no distance"
            raise InputError(f"avm: {why}, got {pool.kernel}: use another kernel, or leave avm out")
        super().__init__(pool)
        self._shared: Distances = pool.shared.setdefault("distances", Distances())
        self._distances = np.zeros((1, 0, 0))

    def distances(self) -> np.ndarray:
        """Return ||x_i - x_t||^2 between the support examples and x_t of the current round, shape (size,)."""
        return taken(self._distances[self._tile][:, self._round - self.tile_start], self.slots)

    @interpreted
    def largest_differences(self, chosen: np.ndarray) -> np.ndarray:
        """Return the largest |x_ij - x_tj| over the coordinates j, for some of the support examples."""
        examples = self._pool.examples(self.slots[chosen])
        current = self._pool.examples(np.full(len(chosen), self._block_slots[self._round]))
        largest = abs(examples - current).max(axis=1)
        found: np.ndarray = largest if isinstance(largest, np.ndarray) else largest.toarray().ravel()
        return found

    def begin_block(self) -> None:
        super().begin_block()
        self._distances = self._shared.of_block(self._pool)

    def end_block(self) -> None:
        self._distances = np.zeros((1, 0, 0))


class SphereAVM(BinaryLearner):
    """Stochastic gradient descent in which the nearest core within the distance delta stands for an example.

    Parameters
    ----------
    delta : float, > 0
        The largest distance ||x - c|| at which core c stands for x. The core's weight then takes the step of x.
    max_size : int, >= 1, or None
        The most cores. An example that no core stands for becomes a core, also with weight 0; when there are that many,
        it is dropped. None means no limit.
    loss : {"hinge", "logistic"}
        max(0, 1 - y f(x)), or log(1 + exp(-y f(x))).
    regulariser : float, > 0
        lambda. Round t multiplies all weights by 1 - 1 / t; the weight of its example is a y / (lambda t), where -a y
        is the derivative of the loss.

    Attributes
    ----------
    budget : int or None
        max_size.

    Notes
    -----
    O(n d) per round for n cores. Distances are in the space of the examples, for any kernel but the multitask one, and
    are computed from the examples instead of kernel values, exactly for whole numbers. (Those of sparse examples with
    more than 8,192 features come from inner products.) A distance of exactly delta is within delta; squared distances
    that differ by at most 1e-9 delta^2 count as equal, and the oldest of the nearest cores is taken. With the hinge
    loss, a margin of exactly 1 is a loss. The learner acts in every round.

    f is stored, and its scores are given, times lambda t, after t rounds; then weights do not decay. Predictions are
    the same. Departures from the source: none in what is here; the option to add an example for which a core stands,
    with a probability that falls with t, is not here, nor are several classes.

    References
    ----------
    Le, Nguyen, Nguyen & Phung (2017), "Approximation vector machines for large-scale online learning", JMLR 18, with
    hyperspheres, in the order of its authors' program.

    Examples
    --------
    >>> from budgetrun.engine.examples import breast_cancer
    >>> breast_cancer(SphereAVM(delta=4, regulariser=0.01), gamma=0.03).mistakes
    28
    """

    name = "avm"
    variant = "hypersphere"
    title = "AVM, hyperspheres"
    default_variant = True
    form = Covering

    def __init__(
        self,
        *,
        delta: Positive,
        max_size: Budget | None = None,
        loss: Loss = "hinge",
        regulariser: Positive = 1e-4,
    ) -> None:
        self.square = float(delta) ** 2
        self.budget = max_size
        self.most = 2**62 if max_size is None else max_size
        self.hinge = loss == "hinge"
        self.regulariser = regulariser

    def start(self, pool: Pool) -> Covering:
        return Covering(pool)

    def margins(self, f: Covering, t: int) -> float:
        return math.inf

    def update(self, f: Covering, y: int, score: float) -> None:
        weight = y * descent(self.hinge, y * score, self.regulariser * (f.now - 1), f.rounding)
        core = self.core(f) if f.size > 0 else -1
        if core >= 0:
            f.shift(core, weight)
        elif f.size < self.most:
            f.add(weight)

    def core(self, f: Covering) -> int:
        """Return the core that stands for the current example, or -1."""
        distances = f.distances()
        nearest = first_smallest(distances, _ROUNDING * self.square)
        return nearest if distances[nearest] <= (1 + _ROUNDING) * self.square else -1


class CellAVM(SphereAVM):
    """Stochastic gradient descent in which the nearest core in whose hypercell an example lies stands for it.

    Parameters
    ----------
    delta : float, > 0
        A core c stands for x if no coordinate of x - c exceeds delta in absolute value; of several, the nearest does.
        Its weight then takes the step of x.
    max_size : int, >= 1, or None
        The most cores. An example that no core stands for becomes a core, also with weight 0; when there are that many,
        it is dropped. None means no limit.
    loss : {"hinge", "logistic"}
        max(0, 1 - y f(x)), or log(1 + exp(-y f(x))).
    regulariser : float, > 0
        lambda. Round t multiplies all weights by 1 - 1 / t; the weight of its example is a y / (lambda t), where -a y
        is the derivative of the loss.

    Attributes
    ----------
    budget : int or None
        max_size.

    Notes
    -----
    O(n d) per round for n cores. The rest is as with hyperspheres.

    References
    ----------
    Le, Nguyen, Nguyen & Phung (2017), "Approximation vector machines for large-scale online learning", JMLR 18, with
    hypercells, in the order of its authors' program.

    Examples
    --------
    >>> from budgetrun.engine.examples import breast_cancer
    >>> breast_cancer(CellAVM(delta=2, regulariser=0.01), gamma=0.03).mistakes
    29
    """

    variant = "hypercell"
    title = "AVM, hypercells"
    default_variant = False
    # It compares coordinates.
    compiled = False

    def core(self, f: Covering) -> int:
        distances = f.distances()
        nearest = first_smallest(distances, _ROUNDING * self.square)
        if distances[nearest] <= self.square:
            return nearest
        # A cell lies in the ball around its corners.
        near = np.flatnonzero(distances <= 2 * f.support_set.shape[1] * self.square)
        near = near[f.largest_differences(near) <= (1 + _ROUNDING) * math.sqrt(self.square)]
        return int(near[first_smallest(distances[near], _ROUNDING * self.square)]) if len(near) else -1


_ROUNDING = 1e-9
