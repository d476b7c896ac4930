"""POMDR: optimistic mirror descent, which leans on the last examples and halves its support set."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from budgetrun.engine.hypotheses import Optimistic
from budgetrun.learners.ball import into_ball, with_norm
from budgetrun.learners.base import BinaryLearner
from budgetrun.params import Count, EvenBudget, Positive

if TYPE_CHECKING:
    from budgetrun.engine.pool import Pool

# The rounds that the hint is the mean of.
_WINDOW = 15
# What a step is multiplied by once the support set has been halved.
_SMALLER = 0.1


class POMDR(BinaryLearner):
    """Learn every loss with f plus a guess of the example; past the budget the younger half moves into the older one.

    Parameters
    ----------
    budget : int, even, >= 2
        B, the most examples held between rounds.
    first_budget : int in 1..B
        B_0: until so many examples are held, one that the support set nearly spans is projected on it. In the authors'
        runs 10 ln T, rounded, for T rounds.
    eta : float, > 0
        The most that such a projection may lose: ||delta|| <= eta. In the authors' runs T^(-1/2).
    U : float, > 0
        The radius of the ball that f stays in.

    Attributes
    ----------
    A : float
        The sum of ||g - h||^2 - ||h||^2 over the losses since the last halving, where it is positive, for the example
        g = y k(x, .), projected if it was, and the hint h.

    Notes
    -----
    O(B d) a round, O(B_0^2) with a projection, and O(B^2 d) for each halving. The hint h, the mean of y_j k(x_j, .)
    over the last 15 rounds, takes those 15 examples beside the budget. A round predicts with f + s h, for the step
    s = U / sqrt(3 + A), a tenth of that after the first halving. This is the rule as run for the tables of 2024; the
    halving comes before the new example, which enters with the first step of the new A.

    References
    ----------
    Li & Liao (2023), "Improved kernel alignment regret bound for online kernel learning", AAAI.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from budgetrun.engine import run
    >>> from budgetrun.kernels import Gaussian
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> run(POMDR(budget=20, first_budget=10, eta=0.1), Gaussian(gamma=0.03), scale(X), 2 * y - 1).mistakes
    41
    """

    budget: int
    name = "pomdr"
    form = Optimistic

    def __init__(self, *, budget: EvenBudget, first_budget: Count, eta: Positive, U: Positive = 25.0) -> None:
        if first_budget > budget:
            raise ValueError(f"first_budget must be at most budget, {budget}, got {first_budget}")
        self.budget = budget
        self.first_budget = first_budget
        self.eta = eta
        self.U = U
        self.A = 0.0
        self.halved = False

    @property
    def step(self) -> float:
        """lambda_t."""
        return (_SMALLER if self.halved else 1.0) * self.U / math.sqrt(3 + self.A)

    def start(self, pool: Pool) -> Optimistic:
        return Optimistic(pool, _WINDOW, self.step)

    def margins(self, f: Optimistic, t: int) -> float:
        return 1 - f.rounding

    def update(self, f: Optimistic, y: int, score: float) -> None:
        if f.size == self.budget:
            self.halve(f)
        weight = y * self.step
        projects = not self.halved and f.size < self.first_budget
        if projects and f.residual <= self.eta**2 + f.rounding * f.square:
            gain = f.projected_square - 2 * y * f.projected_hint
            f.project(weight)
        else:
            gain = f.square - 2 * y * f.hint
            f.add(weight)
        self.A += max(0.0, gain)
        into_ball(f, self.U)
        f.set_hint_weight(self.step)

    def halve(self, f: Optimistic) -> None:
        """Give the weights of the younger half to the nearest ones of the older half, scale f to norm U, begin anew."""
        half = f.size // 2
        K = f.gram()[:half]
        among = K[:, half:]
        # Of several that are nearest but for rounding, the oldest.
        nearest = (among >= among.max(axis=0) - f.rounding).argmax(axis=0)
        weights = f.coef[:half].copy()
        np.add.at(weights, nearest, f.coef[half:])
        weights, norm_sq = with_norm(weights, K[:, :half], self.U)
        f.keep(np.arange(half), weights, norm_sq)
        self.A, self.halved = 0.0, True
