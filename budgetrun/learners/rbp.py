"""The Randomized Budget Perceptron, called CG in the Forgetron paper."""

import numpy as np

from budgetrun.base.params import Seed
from budgetrun.engine.hypotheses import Expansion, MulticlassExpansion
from budgetrun.learners.base import BinaryLearner, Budgeted, MulticlassLearner, as_fields


class RandomRemoval(Budgeted):
    """A rule that removes examples at random.

    Parameters:
    seed : int, >= 0
        Seed of the learner's generator, ``numpy.random.default_rng(seed)``; one draw per removal, an index into the
        support set, oldest first.
    """

    draws = True
    # A parameter of each rule.
    seed: int

    def __post_init__(self) -> None:
        super().__post_init__()
        self._random = np.random.default_rng(self.seed)


@as_fields
class RBP(RandomRemoval, BinaryLearner):
    """The Perceptron; on a mistake with a full budget, remove a random example before adding the new one.

    Notes: O(B d) per round. The mistake bound holds in expectation over the draws.

    References: Cesa-Bianchi & Gentile (2006), "Tracking the best hyperplane with a simple budget Perceptron", COLT;
    "CG" in Dekel, Shalev-Shwartz & Singer (2008), section 8.

    >>> breast_cancer(RBP(budget=20), gamma=0.03).mistakes
    57
    """

    name = "rbp"
    title = "RBP"
    alike_until_full = "adds mistakes"

    seed: Seed = 0

    def update(self, f: Expansion, y: int, score: float) -> None:
        if f.size == self.budget:
            f.evict(int(self._random.integers(0, self.budget)))
        f.add(y)


@as_fields
class MulticlassRBP(RandomRemoval, MulticlassLearner):
    """The multiclass Perceptron; on a mistake with a full budget, first remove a random example from all classes.

    Notes: O(B (d + m)) per round.

    References: "MRBP" in Orabona, Keshet & Caputo (2009), JMLR 10, section 7.

    >>> digits(MulticlassRBP(budget=20), gamma=0.05).mistakes
    178
    """

    name = "rbp"
    title = "RBP"

    seed: Seed = 0

    def update(self, f: MulticlassExpansion, y: int, rival: int, lead: float) -> None:
        if f.size == self.budget:
            f.evict(int(self._random.integers(0, self.budget)))
        f.add(y, rival, 1.0)
