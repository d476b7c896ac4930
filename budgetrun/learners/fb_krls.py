"""FB-KRLS: kernel ridge regression on a fixed budget of examples."""

import numpy as np

from budgetrun.base.params import Budget, Positive, Share
from budgetrun.engine.hypotheses import Expansion
from budgetrun.engine.hypotheses.inverse import Inverse
from budgetrun.engine.hypotheses.pairs import first_smallest
from budgetrun.learners.base import Budgeted, RegressionLearner


class FBKRLS(Budgeted, RegressionLearner):
    """Kernel ridge regression on the examples held, whose labels stay; past the budget, remove the best predicted one.

    Parameters:
    regulariser : float, > 0
        lambda, which is added to the diagonal of the kernel matrix.
    label_step : float, 0 to 1
        eta. With eta > 0, labels do not stay: each round moves the label y_i of every example held by eta k(x_i, x)
        (y - y_i), so that f follows a stream that drifts. 0 leaves them as they are.

    Notes: O(B d + B^2) per round, and memory for 2 B^2 numbers; every B rounds, the inverse of the kernel matrix is
    computed again, in O(B^3). The example is added, the weights are (K + lambda I)^-1 y over the examples held, and if
    there are more than B, the one of the smallest |alpha_i| / ((K + lambda I)^-1)_ii leaves: the error of the others'
    prediction for it. If several are equal, up to 1e-9 of the sum of their terms, the oldest leaves. The source,
    which was not at hand, has the update of labels, with a step of its user's choice.

    References: Van Vaerenbergh, Santamaria, Liu & Principe (2010), "Fixed-budget kernel recursive least-squares",
    ICASSP.

    >>> diabetes(FBKRLS(budget=50), gamma=10).max_support
    50
    """

    name = "fb_krls"
    title = "FB-KRLS"
    revision = 3
    continues = (2,)
    compiled = False
    added = {"label_step": 0.0}

    def __init__(self, *, budget: Budget, regulariser: Positive = 0.01, label_step: Share = 0.0) -> None:
        super().__init__(budget=budget)
        self.regulariser = regulariser
        self.label_step = label_step
        self.inverse = Inverse(regulariser)
        self.labels = np.zeros(0)

    def bytes_kept(self, size: int, row: float, n_features: int) -> float:
        return 8.0 * size

    def update(self, f: Expansion, y: float, score: float) -> None:
        if self.label_step and f.size:
            self.labels = self.labels + self.label_step * f.kernel_row() * (y - self.labels)
        n, self.labels = f.size, np.append(self.labels, y)
        if n == 0:
            f.add(y / (f.square + self.regulariser))
            return
        self.inverse.add_current(f)
        weights = self.inverse.solved(self.labels)
        leaves = n + 1
        if n == self.budget:
            diagonal = self.inverse.diagonal()
            leaves = first_smallest(np.abs(weights) / diagonal, f.rounding * self.inverse.terms(self.labels) / diagonal)
            self.inverse.remove(leaves)
            self.labels = np.delete(self.labels, leaves)
            weights = np.insert(self.inverse.solved(self.labels), leaves, 0.0)
        kept = np.flatnonzero(np.arange(n) != leaves)
        f.keep(kept, weights[kept])
        if leaves != n:
            f.add(weights.item(n))
