"""POMDR: optimistic mirror descent, which predicts with a hint from the last examples and halves its support set."""

import math
from typing import Literal

import numpy as np

from budgetrun.base.params import Count, EvenBudget, Positive
from budgetrun.engine.hypotheses import Optimistic
from budgetrun.engine.pool import Pool
from budgetrun.learners.base import RESCALED, BinaryLearner, Budgeted, as_fields, derived
from budgetrun.learners.steps import into_ball, with_norm

# The number of rounds that the hint averages.
_WINDOW = 15
# The factor of the step after the first halving.
_SMALLER = 0.1


@as_fields
class POMDR(Budgeted, BinaryLearner):
    """Gradient descent with a hint; when the budget is full, give the weights of the younger half to the older half.

    Parameters:
    budget : int, even, >= 2
        B, the most support examples between rounds.
    first_budget : int in 1..B, or None
        B_0: with fewer support examples than this, an example that nearly lies in their span is projected. The authors
        used 10 ln T, rounded, for T rounds; None means B / 2.
    eta : float, > 0
        The largest distance ||delta|| of a projected example from the span. The authors used T^(-1/2).
    U : float, > 0
        The bound on ||f||.
    halving : {"before", "after"}
        Whether a full support set is halved before the next example is added (default), or, as in the authors' program,
        as soon as B examples are held, the new one among them; then at most B - 1 are held between rounds.

    Attributes:
    A : float
        The sum of the positive values of ||g - h||^2 - ||h||^2 over the updates since the last halving, where h is the
        hint and g = y k(x, .), or its projection if the example was projected.

    Notes: O(B d) per round, O(B_0^2) with a projection, and O(B^2 d) per halving. The hint h is the mean of y_j k(x_j,
    .) over the last 15 rounds, whose examples are stored in addition to the budget. The prediction is that of f + s h,
    with the step s = U / sqrt(3 + A), and a tenth of that after the first halving. This is the rule behind the tables
    of 2024, which both orders of halving fit equally well. After a halving, the first step is that of the new A.

    References: Li & Liao (2023), "Improved kernel alignment regret bound for online kernel learning", AAAI.

    >>> breast_cancer(POMDR(budget=20, first_budget=10, eta=0.1), gamma=0.03).mistakes
    41
    """

    name = "pomdr"
    title = "POMDR"
    revised = RESCALED
    compiled = False
    form = Optimistic
    margin = 1.0
    added = {"first_budget": None, "halving": "before"}

    budget: EvenBudget
    first_budget: Count = derived(lambda self: self.budget // 2, at_most="budget")
    eta: Positive
    U: Positive = 25.0
    halving: Literal["before", "after"] = "before"

    def __post_init__(self) -> None:
        super().__post_init__()
        self.A = 0.0
        self.halved = False

    def bytes_kept(self, size: int, row: float, n_features: int) -> float:
        # The factor of the kernel matrix, while examples are projected.
        return 8.0 * self.first_budget**2

    @property
    def step(self) -> float:
        """lambda_t."""
        return (_SMALLER if self.halved else 1.0) * self.U / math.sqrt(3 + self.A)

    def start(self, pool: Pool) -> Optimistic:
        return Optimistic(pool, _WINDOW, self.step)

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
        if self.halving == "after" and f.size == self.budget:
            self.halve(f)
        f.set_hint_weight(self.step)

    def halve(self, f: Optimistic) -> None:
        """Give each weight of the younger half to the nearest example of the older half, scale f to norm U, reset A."""
        half = f.size // 2
        K = f.gram()[:half]
        among = K[:, half:]
        # If several are nearest, except for rounding, take the oldest.
        lengths = np.sqrt(f.squares)
        limits = f.rounding * np.multiply.outer(lengths[:half], lengths[half:])
        nearest = (among >= among.max(axis=0) - limits).argmax(axis=0)
        weights = f.coef[:half].copy()
        np.add.at(weights, nearest, f.coef[half:])
        weights, norm_sq = with_norm(weights, K[:, :half], self.U)
        f.keep(np.arange(half), weights, norm_sq)
        self.A, self.halved = 0.0, True
