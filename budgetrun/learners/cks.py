"""The budget Perceptron of Crammer, Kandola and Singer, as described in the Forgetron paper."""

from typing import Literal

import numpy as np

from budgetrun.engine.hypotheses import Expansion
from budgetrun.engine.hypotheses.pairs import first_smallest
from budgetrun.engine.pool import Pool
from budgetrun.learners.base import RESCALED, BinaryLearner, Budgeted, as_fields


@as_fields
class CKS(Budgeted, BinaryLearner):
    """The Perceptron; past the budget, remove the example with the largest margin after its own removal.

    Parameters:
    candidates : {"old", "all"}
        Which examples can be removed: those held before the round (default), or also the new one. The source says "each
        active example", which can mean either.

    Notes: O(B d) per round. Among candidates with the same margin the oldest is removed. No mistake bound is known.

    References: Dekel, Shalev-Shwartz & Singer (2008), SIAM J. Comput. 37(5), section 8; after Crammer, Kandola & Singer
    (2004), "Online classification on a budget", NIPS 16.

    >>> breast_cancer(CKS(budget=20), gamma=0.03).mistakes
    58
    """

    name = "cks"
    title = "CKS"
    revised = RESCALED
    alike_until_full = "adds mistakes"

    candidates: Literal["old", "all"] = "old"

    def start(self, pool: Pool) -> Expansion:
        return Expansion(pool, track="all", capacity=self.budget + 1)

    def update(self, f: Expansion, y: int, score: float) -> None:
        f.add(y)
        if f.size > self.budget:
            n = f.size if self.candidates == "all" else f.size - 1
            f.evict(first_smallest(-margins_without(f)[:n], f.rounding * f.term_sizes[:n]))


def margins_without(f: Expansion) -> np.ndarray:
    """Return y_i (f(x_i) - coef_i k(x_i, x_i)), the margin of each support example after its removal."""
    return f.labels * (f.self_scores - f.coef * f.squares)
