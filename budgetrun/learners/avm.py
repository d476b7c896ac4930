"""AVM: gradient descent in which cores stand for all examples near them."""

import math

import numpy as np

from budgetrun.base.errors import InputError
from budgetrun.base.params import Budget, Positive
from budgetrun.engine.hypotheses.covering import Covering
from budgetrun.engine.hypotheses.covering import Distances as Distances  # files of version 0.2.0 name it here
from budgetrun.engine.hypotheses.pairs import first_smallest
from budgetrun.engine.pool import Pool
from budgetrun.learners.base import BinaryLearner
from budgetrun.learners.steps import Loss, descent


class SphereAVM(BinaryLearner):
    """Stochastic gradient descent in which the nearest core within the distance delta stands for an example.

    Parameters:
    delta : float, > 0
        The largest distance ||x - c|| at which core c stands for x. The core's weight then takes the step of x.
    max_size : int, >= 1, or None
        The most cores, the ``budget`` of the learner. An example that no core stands for becomes a core, also with
        weight 0; when there are that many, it is dropped. None means no limit.
    loss : {"hinge", "logistic"}
        max(0, 1 - y f(x)), or log(1 + exp(-y f(x))).
    regulariser : float, > 0
        lambda. Round t multiplies all weights by 1 - 1 / t; the weight of its example is a y / (lambda t), where -a y
        is the derivative of the loss.

    Notes: O(n d) per round for n cores. Distances are in the space of the examples, for any kernel but the multitask
    one, and are computed from the examples instead of kernel values, exactly for whole numbers. (Those of sparse
    examples with more than 8,192 features come from inner products.) A distance of exactly delta is within delta;
    squared distances count as equal up to 1e-9 of themselves, and the oldest of the nearest cores is taken.
    With the hinge loss, a margin of exactly 1 is a loss. The learner acts in every round.

    f is stored, and its scores are given, times lambda t, after t rounds; then weights do not decay. Predictions are
    the same. Departures from the source: none in what is here; the option to add an example for which a core stands,
    with a probability that falls with t, is not here, nor are several classes.

    References: Le, Nguyen, Nguyen & Phung (2017), "Approximation vector machines for large-scale online learning", JMLR
    18, with hyperspheres or hypercells, in the order of its authors' program.

    >>> breast_cancer(SphereAVM(delta=4, regulariser=0.01), gamma=0.03).mistakes
    28
    """

    name = "avm"
    variant = "hypersphere"
    title = "AVM, hyperspheres"
    default_variant = True
    revision = 2
    form = Covering
    margin = math.inf

    def __init__(
        self, *, delta: Positive, max_size: Budget | None = None, loss: Loss = "hinge", regulariser: Positive = 1e-4
    ) -> None:
        self.square = float(delta) ** 2
        self.budget = max_size
        self.most = 2**62 if max_size is None else max_size
        self.hinge = loss == "hinge"
        self.regulariser = regulariser

    def start(self, pool: Pool) -> Covering:
        if pool.kernel.by_place:
            why = "its cores stand for the examples near them, and examples of two tasks have no distance"
            raise InputError(f"avm: {why}, got {pool.kernel}: use another kernel, or leave avm out")
        return Covering(pool)

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
        nearest = first_smallest(distances, _ROUNDING * distances)
        return nearest if distances[nearest] <= (1 + _ROUNDING) * self.square else -1


class CellAVM(SphereAVM):
    """Stochastic gradient descent in which the nearest core in whose hypercell an example lies stands for it.

    Parameters:
    delta : float, > 0
        A core c stands for x if no coordinate of x - c exceeds delta in absolute value; of several, the nearest does.
        Its weight then takes the step of x.

    >>> breast_cancer(CellAVM(delta=2, regulariser=0.01), gamma=0.03).mistakes
    29
    """

    variant = "hypercell"
    title = "AVM, hypercells"
    default_variant = False
    # It compares coordinates.
    compiled = False
    work = 2e4

    def core(self, f: Covering) -> int:
        distances = f.distances()
        nearest = first_smallest(distances, _ROUNDING * distances)
        if distances[nearest] <= self.square:
            return nearest
        # A cell lies in the ball around its corners; 1% is more than rounding.
        near = np.flatnonzero(distances <= 1.01 * f.n_features * self.square)
        near = near[f.largest_differences(near) <= (1 + _ROUNDING) * math.sqrt(self.square)]
        return int(near[first_smallest(distances[near], _ROUNDING * distances[near])]) if len(near) else -1


_ROUNDING = 1e-9
