"""The modified Randomized Budget Perceptron: removal as regularisation, and a bound on the norm."""

import math

from budgetrun.base.params import Positive, Seed
from budgetrun.engine.hypotheses import Expansion
from budgetrun.engine.pool import Pool
from budgetrun.learners.base import BinaryLearner, as_fields, derived
from budgetrun.learners.rbp import RandomRemoval
from budgetrun.learners.steps import into_ball


@as_fields
class ModifiedRBP(RandomRemoval, BinaryLearner):
    """On a mistake, empty one of B slots at random (filled or not), add the new example, and project f on a ball.

    Parameters:
    budget : int, >= 1
        B, the number of slots, and so the most support examples between rounds.
    step : float, > 0
        eta: a new example gets the weight eta y. Theorem 1 is for 1/16.
    radius : float, > 0, or None
        U / 2, the bound on ||w||. None means sqrt(B) / 8, as in Theorem 1.
    seed : int, >= 0
        Seed of the learner's generator, ``numpy.random.default_rng(seed)``; one draw per mistake, an index below B. The
        support examples fill the first slots, oldest first; the other slots are empty.

    Notes: O(B d) per round, and memory for B^2 kernel values. With n support examples, a mistake removes one with
    probability n / B, even before the budget is full: after m mistakes the average support size is B (1 - (1 - 1/B)^m).

    In expectation a mistake adds at most 2 eta^2 - 2 ||w||^2 / B to ||w||^2, if k(x, x) <= 1. So ||w|| tends to
    eta sqrt(B) or less, by default half the radius, and the projection rarely acts; as long as it does not, predictions
    are independent of eta. Departures from the source: none. The source assumes distinct examples; this is not needed
    here, because equal examples fill separate slots, each with a weight of at most eta.

    References: Sutskever (2009), "A simpler unified analysis of budget perceptrons", ICML. Algorithm 1; s(w): section 3
    and its footnote 2; constants: Theorem 1.

    >>> breast_cancer(ModifiedRBP(budget=20), gamma=0.03).mistakes
    57
    """

    name = "modified_rbp"
    title = "Modified RBP"
    revision = 2

    step: Positive = 1 / 16
    radius: Positive = derived(lambda self: math.sqrt(self.budget) / 8)
    seed: Seed = 0

    def start(self, pool: Pool) -> Expansion:
        return Expansion(pool, norm=True, track="all", capacity=self.budget)

    def update(self, f: Expansion, y: int, score: float) -> None:
        slot = int(self._random.integers(0, self.budget))
        if slot < f.size:
            f.evict(slot)
        f.add(y * self.step)
        into_ball(f, self.radius)
