"""The Randomized Budget Perceptron, which the Forgetron paper calls CG."""

from __future__ import annotations

import numpy as np

from budgetrun.engine.hypotheses import Expansion, MulticlassExpansion
from budgetrun.learners.base import BinaryLearner, MulticlassLearner
from budgetrun.params import Budget, Seed


class RBP(BinaryLearner):
    """The Perceptron; when a mistake finds the budget spent, a random example leaves before the new one enters.

    Parameters
    ----------
    budget : int, >= 1
        B, the most examples held between rounds.
    seed : int, >= 0
        Of the learner's own generator, ``numpy.random.default_rng(seed)``; one draw an eviction, an index into the
        support set, oldest first.

    Notes
    -----
    O(B d) a round. The mistake bound holds in expectation over the draws.

    References
    ----------
    Cesa-Bianchi & Gentile (2006), "Tracking the best hyperplane with a simple budget Perceptron", COLT; "CG" in
    Dekel, Shalev-Shwartz & Singer (2008), section 8.

    Examples
    --------
    >>> from budgetrun.engine import run
    >>> from budgetrun.kernels import Linear
    >>> run(RBP(budget=2, seed=0), Linear(), [[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]], [1, 1, 1]).mistakes
    2
    """

    budget: int
    name = "rbp"
    alike_until_full = "adds mistakes"
    draws = True

    def __init__(self, *, budget: Budget, seed: Seed = 0) -> None:
        self.budget = budget
        self.seed = seed
        self._random = np.random.default_rng(seed)

    def update(self, f: Expansion, y: int, score: float) -> None:
        if f.size == self.budget:
            f.evict(int(self._random.integers(self.budget)))
        f.add(y)


class MulticlassRBP(MulticlassLearner):
    """The multiclass Perceptron; when a mistake finds the budget spent, a random example leaves all classes first.

    Parameters
    ----------
    budget : int, >= 1
        B, the most examples held between rounds.
    seed : int, >= 0
        Of the learner's own generator, ``numpy.random.default_rng(seed)``; one draw an eviction, an index into the
        support set, oldest first.

    Notes
    -----
    O(B (d + m)) a round.

    References
    ----------
    "MRBP" in Orabona, Keshet & Caputo (2009), JMLR 10, section 7.

    Examples
    --------
    >>> from budgetrun.engine import run
    >>> from budgetrun.kernels import Linear
    >>> run(MulticlassRBP(budget=2), Linear(), [[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]], [1, 1, 1], n_classes=3).mistakes
    2
    """

    budget: int
    name = "rbp"
    draws = True

    def __init__(self, *, budget: Budget, seed: Seed = 0) -> None:
        self.budget = budget
        self.seed = seed
        self._random = np.random.default_rng(seed)

    def update(self, f: MulticlassExpansion, y: int, rival: int, lead: float) -> None:
        if f.size == self.budget:
            f.evict(int(self._random.integers(self.budget)))
        f.add(y, rival, 1.0)
