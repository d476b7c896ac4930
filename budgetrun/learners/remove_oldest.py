"""The Remove-Oldest Perceptron."""

from __future__ import annotations

from budgetrun.engine.hypotheses import Expansion
from budgetrun.learners.base import BinaryLearner
from budgetrun.params import Budget


class RemoveOldest(BinaryLearner):
    """The Perceptron; past the budget, remove the oldest example.

    Parameters
    ----------
    budget : int, >= 1
        B, the most support examples between rounds.

    Notes
    -----
    O(B d) per round. There is no mistake bound (Corollary 1 of the source depends on the run).

    References
    ----------
    Dekel, Shalev-Shwartz & Singer (2008), SIAM J. Comput. 37(5), section 3, eqs. (7)-(9).

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from budgetrun.engine import run
    >>> from budgetrun.kernels import Gaussian
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> run(RemoveOldest(budget=20), Gaussian(gamma=0.03), scale(X), 2 * y - 1).mistakes
    52
    """

    budget: int
    name = "remove_oldest"
    title = "Remove-Oldest"
    alike_until_full = "adds mistakes"

    def __init__(self, *, budget: Budget) -> None:
        self.budget = budget

    def update(self, f: Expansion, y: int, score: float) -> None:
        f.add(y)
        if f.size > self.budget:
            f.evict(0)
