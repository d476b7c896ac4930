"""The Tighter Budget Perceptron: the example leaves without which the others are classified best."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from budgetrun.engine.hypotheses import Expansion
from budgetrun.learners.base import BinaryLearner
from budgetrun.learners.pairs import Pairs
from budgetrun.params import Budget, NotNegative

if TYPE_CHECKING:
    from budgetrun.engine.pool import Pool


class TighterPerceptron(BinaryLearner):
    """Before an example is added to a full cache, remove the one without which f errs least often on the cache.

    Parameters
    ----------
    budget : int, >= 1
        B, the most support examples between rounds: the size of the cache.
    beta : float, >= 0
        Examples with a margin of at most beta are added.

    Notes
    -----
    O(B d) per round and O(B^2) per removal, with memory for B^2 kernel values. The errors of f - coef_i k(x_i, .), for
    every i, are counted on all examples in the cache, among them x_i; a score that is 0 up to rounding predicts -1.
    Among examples with as few errors the oldest is removed.

    The source was not at hand: the rule is that of a program, which counts errors on the cache before the new example
    is added. The source also has an ideal form, which counts them on all examples seen so far; it would have to store
    them, and so has no budget. No mistake bound is known.

    References
    ----------
    Weston, Bordes & Bottou (2005), "Online (and offline) on an even tighter budget", AISTATS.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from budgetrun.engine import run
    >>> from budgetrun.kernels import Gaussian
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> run(TighterPerceptron(budget=20), Gaussian(gamma=0.03), scale(X), 2 * y - 1).mistakes
    45
    """

    budget: int
    name = "tighter"
    title = "Tighter Perceptron"
    _pairs: Pairs

    def __init__(self, *, budget: Budget, beta: NotNegative = 0.0) -> None:
        self.budget = budget
        self.beta = beta

    def start(self, pool: Pool) -> Expansion:
        self._pairs = Pairs(self.budget)
        return Expansion(pool)

    def margins(self, f: Expansion, t: int) -> float:
        return self.beta + f.rounding

    def update(self, f: Expansion, y: int, score: float) -> None:
        if f.size == self.budget:
            i = self.most_redundant(f.coef, f.rounding)
            f.evict(i)
            self._pairs.remove(i)
        self._pairs.add(f.kernel_row(), f.square)
        f.add(y)

    def most_redundant(self, coef: np.ndarray, rounding: float) -> int:
        """Return the support example without which f errs least often on the support set."""
        pairs, n = self._pairs, len(coef)
        scores = np.zeros(n)
        for i in range(n):
            scores += coef[i] * pairs.row(i)
        best, fewest = 0, n + 1
        for i in range(n):
            without = scores - coef[i] * pairs.row(i)
            errors = int(np.count_nonzero((without > rounding) != (coef > 0)))
            if errors < fewest:
                best, fewest = i, errors
        return best
