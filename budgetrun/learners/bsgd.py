"""BSGD: Pegasos with kernels on a budget, maintained by removal or by projection."""

from typing import Literal

import numpy as np

from budgetrun.base.params import Budget, Positive
from budgetrun.engine.hypotheses import Expansion
from budgetrun.engine.hypotheses.inverse import Inverse, keep_and_add
from budgetrun.engine.hypotheses.merging import last_equal, lightest
from budgetrun.engine.hypotheses.pairs import first_smallest
from budgetrun.engine.pool import Pool
from budgetrun.kernels import Gaussian
from budgetrun.learners.base import BinaryLearner, Budgeted


class BSGD(Budgeted):
    """BSGD, for two classes or more.

    References: Wang, Crammer & Vucetic (2012), "Breaking the curse of kernelization: budgeted stochastic gradient
    descent for large-scale SVM training", JMLR 13: BSGD with removal, projection or merging; for several classes, with
    the loss of Crammer & Singer (2001). Theorem 1 bounds the average objective, not the mistakes.
    """

    name = "bsgd"

    def __init__(
        self, *, budget: Budget, regulariser: Positive = 1e-4, first: Literal["paper", "program"] = "paper"
    ) -> None:
        super().__init__(budget=budget)
        self.regulariser = regulariser
        self.as_program = first == "program"
        # True if it leaves out equal examples: the program compares them by the Gaussian kernel.
        self.by_equality = False


class RemovingBSGD(BSGD, BinaryLearner):
    """Stochastic gradient descent on the regularised hinge loss; past the budget, remove the smallest weight.

    Parameters:
    regulariser : float, > 0
        lambda. Round t multiplies all weights by 1 - 1 / t, and an example with a positive loss is added with weight
        y / (lambda t).
    first : {"paper", "program"}
        The first example has the weight y / lambda; or, as in the program of the authors, 2 y, and an example that is
        equal to one that is held, up to 8 digits of the Gaussian kernel's value, is left out when the budget is full.

    Notes: O(B d) per round. After round t every weight is y / (lambda t), in exact arithmetic: the smallest is a tie of
    all, and the oldest example leaves. So that rounding decides nothing, f is stored, and its scores are given, times
    lambda t, after t rounds; then weights are labels, and do not decay. Predictions are the same.

    Departures from the source: none; the step is that of Pegasos, 1 / (lambda t), without an offset and without its
    projection on a ball. On a tie, a margin of exactly 1, nothing is added.

    >>> breast_cancer(RemovingBSGD(budget=20, regulariser=0.01), gamma=0.03).mistakes
    54
    """

    variant = "removal"
    title = "BSGD, removal"
    default_variant = True
    added = {"first": "paper"}

    def start(self, pool: Pool) -> Expansion:
        self.by_equality = self.as_program and isinstance(pool.kernel, Gaussian)
        return Expansion(pool)

    def margins(self, f: Expansion, t: int) -> np.ndarray:
        n = len(f.squares_from(t))
        # f = 0 in the first round: any limit above 0 will do.
        passed = np.maximum(f.rounds_before(t) + np.arange(n), 1)
        return (1 - f.rounding) * self.regulariser * passed

    def first_weight(self, now: int) -> float:
        """Return the size of the weight of a new example, times lambda t."""
        return 2 * self.regulariser if self.as_program and now == 1 else 1.0

    def update(self, f: Expansion, y: int, score: float) -> None:
        weight = self.first_weight(f.now)
        if f.size == self.budget:
            if self.by_equality and last_equal(f.kernel_row(), f.coef.reshape((1, f.size))) >= 0:
                return
            i = lightest(np.append(f.coef, weight).reshape((1, f.size + 1)), False) if self.as_program else 0
            if i == f.size:
                return
            f.evict(i)
        f.add(weight * y)


class ProjectingBSGD(RemovingBSGD):
    """Stochastic gradient descent on the regularised hinge loss; past the budget, project the smallest weight.

    Parameters:
    ridge : float, > 0
        Is added to the diagonal of the kernel matrix in projections. One that is too small fails as in
        ``bpa(projecting)``.

    Notes: O(B d + B^2) per round, and memory for B^2 numbers; every B removals, the inverse of the kernel matrix is
    computed from kernel values, in O(B^2 d + B^3). The example of the smallest weight leaves, the new one among them;
    if several are equal up to 1e-9 times the weight of a new example, the oldest of them. Its part of f is projected on
    the span of the others. As in ``bsgd(removal)``, f is stored times lambda t, after t rounds.

    Departures from the source: the ridge. Without it, the projection on examples that are equal, or nearly dependent,
    has no stable weights, on which the next removal depends. The source also has a form with the best example to
    remove, in O(B^3), which it does not recommend.

    >>> breast_cancer(ProjectingBSGD(budget=20, regulariser=0.01), gamma=0.03).mistakes
    25
    """

    variant = "projection"
    title = "BSGD, projection"
    revision = 2
    continues = (1,)
    default_variant = False
    added = {}

    def __init__(self, *, budget: Budget, regulariser: Positive = 1e-4, ridge: Positive = 0.001) -> None:
        super().__init__(budget=budget, regulariser=regulariser)
        self.ridge = ridge
        self._inverse = Inverse(ridge)

    def uncompiled(self, f: Expansion) -> bool:
        return f.size == self.budget and self._inverse.is_due(f.size)

    def update(self, f: Expansion, y: int, score: float) -> None:
        if f.size < self.budget:
            f.add(y)
            return
        self._inverse.add_current(f)
        weights = np.append(f.coef, float(y))
        p = first_smallest(np.abs(weights), np.full(len(weights), f.rounding))
        weights += weights[p] * self._inverse.remove(p)
        keep_and_add(f, p, weights)
