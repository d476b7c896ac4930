"""The Tighter Budget Perceptron: the example leaves without which f errs least."""

import math
from typing import Any, Literal

import numpy as np

from budgetrun.base.params import Budget, NotNegative
from budgetrun.engine.hypotheses import Expansion
from budgetrun.engine.hypotheses.pairs import Pairs, Remembering
from budgetrun.engine.pool import Pool
from budgetrun.kernels.compiling import interpreted
from budgetrun.kernels.sums import add_up, count_errors, put
from budgetrun.learners.base import RESCALED, BinaryLearner, Budgeted


class TighterPerceptron(Budgeted, BinaryLearner):
    """Before an example is added to a full cache, remove the one without which f errs least often.

    Parameters:
    budget : int, >= 1
        B, the most support examples between rounds: the size of the cache.
    beta : float, >= 0
        Examples with a margin of at most beta are added.
    validation : {"cache", "all"}
        Errors are counted on the examples in the cache (cache, default), or on those of all earlier rounds (all). The
        latter breaks the budget: f has at most B support examples, but all examples of the stream are kept.

    Notes: O(B d) per round and O(B^2) per removal, with memory for B^2 kernel values. The errors of f - coef_i k(x_i,
    .), for every i, are counted on all examples in the cache, among them x_i; a score that is 0 up to rounding predicts
    -1. Among examples with as few errors the oldest is removed. With ``validation="all"``, a removal in round t takes
    O(B t d), and the learner acts in every round, to keep its example.

    The source was not at hand: the rule is that of a program, which counts errors on the cache before the new example
    is added. The source also has the ideal form with all examples seen so far; that the new one is not among them is
    not certain there. Two other readings are not here: to add the new example first and then remove one of B + 1, and
    weights min(1, max(0, -y f(x) / k(x, x))) y instead of y. No mistake bound is known.

    References: Weston, Bordes & Bottou (2005), "Online (and offline) on an even tighter budget", AISTATS.

    >>> breast_cancer(TighterPerceptron(budget=20), gamma=0.03).mistakes
    45
    """

    name = "tighter"
    title = "Tighter Perceptron"
    added = {"validation": "cache"}
    revised = RESCALED
    _pairs: Pairs

    def __init__(
        self, *, budget: Budget, beta: NotNegative = 0.0, validation: Literal["cache", "all"] = "cache"
    ) -> None:
        super().__init__(budget=budget)
        self.beta = beta
        self.remembers = validation == "all"

    def start(self, pool: Pool) -> Expansion:
        self._pairs = Pairs(1 if self.remembers else self.budget)
        return Remembering(pool) if self.remembers else Expansion(pool)

    def margins(self, f: Expansion, t: int) -> float:
        return math.inf if self.remembers else self.beta + f.rounding

    def update(self, f: Expansion, y: int, score: float) -> None:
        if self.remembers:
            self.update_by_all(f, y, score)
            return
        if f.size == self.budget:
            i = self.most_redundant(f.coef, f.rounding * f.term_sizes)
            f.evict(i)
            self._pairs.remove(i)
        self._pairs.add(f.kernel_row(), f.square)
        f.add(y)

    @interpreted
    def update_by_all(self, f: Any, y: int, score: float) -> None:
        """Act on a round with ``validation="all"``."""
        if y * score < self.beta + f.rounding:
            if f.size == self.budget:
                f.evict(int(f.errors_without().argmin()))
            f.add(y)
        f.remember(y)

    def most_redundant(self, coef: np.ndarray, roundings: np.ndarray) -> int:
        """Return the one without which f errs least often on the support set; up to ``roundings``, a score is 0."""
        pairs, n = self._pairs, len(coef)
        # By place: all are taken.
        scores, limits, positive = np.zeros(n), np.zeros(n), np.zeros(n, dtype=np.bool_)
        add_up(coef, pairs.places, pairs.values, scores)
        put(coef > 0, pairs.places, positive)
        put(roundings, pairs.places, limits)
        best, fewest = 0, n + 1
        for i in range(n):
            errors = count_errors(scores, -coef[i], pairs.values[pairs.places[i]], positive, limits)
            if errors < fewest:
                best, fewest = i, errors
        return best
