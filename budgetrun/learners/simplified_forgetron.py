"""The simplified Forgetron: one shrinking coefficient for all mistakes, and a ball to stay in."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from budgetrun.engine.hypotheses import Expansion
from budgetrun.learners.ball import into_ball
from budgetrun.learners.base import BinaryLearner
from budgetrun.params import Budget, NotNegative, Positive

if TYPE_CHECKING:
    from budgetrun.engine.pool import Pool


class SimplifiedForgetron(BinaryLearner):
    """On a mistake drop the oldest example if the budget is spent, shrink the others, add the new, project on a ball.

    Parameters
    ----------
    budget : int, >= 1
        B, the most examples held between rounds. Theorem 2 needs B >= 500.
    step : float, > 0
        eta, the weight that an example comes in with, times its label. Theorem 2 is for 1/32.
    radius : float, > 0, or None
        U / 2: ||w|| never exceeds it. None for U^2 = B / (32 log2(8 B)), as in Theorem 2.
    regulariser : float, >= 0, below 1 / step, or None
        lambda: a mistake multiplies the weights before it by 1 - eta lambda. None for 1 / U^2, as in Theorem 2; with
        the other defaults eta lambda is then log2(8 B) / B, which is below 1 for B >= 6.

    Notes
    -----
    O(B d) a round. The reading: what Algorithm 2 shrinks is what its removal has left, and not the new example. That is
    eq. (10), where the oldest example shrinks as well and the error E_i then takes it away. The paper writes the weight
    that E_i = c_i phi(x_old) takes as c_i / eta; it must be eta c_i, for which |c_i| <= (1 - eta lambda)^B holds as
    stated. The smallest weight is the oldest example's, which has shrunk most often; if lambda is 0 all may be equal,
    and the oldest leaves all the same.

    If k(x, x) <= 1, shrinking alone keeps ||w||^2 near or below eta^2 / (1 - (1 - eta lambda)^2): with the defaults
    below (U / 2)^2 / 6 for every B, so that the projection never acts. While it does not, predictions depend on B and
    eta lambda alone.

    References
    ----------
    Sutskever (2009), "A simpler unified analysis of budget perceptrons", ICML. Algorithm 2, eqs. (10) and (12);
    constants: Theorem 2.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from budgetrun.engine import run
    >>> from budgetrun.kernels import Gaussian
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> run(SimplifiedForgetron(budget=20), Gaussian(gamma=0.03), scale(X), 2 * y - 1).mistakes
    90
    """

    budget: int
    name = "forgetron"
    variant = "simplified"
    revision = 2

    def __init__(
        self,
        *,
        budget: Budget,
        step: Positive = 1 / 32,
        radius: Positive | None = None,
        regulariser: NotNegative | None = None,
    ) -> None:
        self.budget = budget
        self.step = step
        self.radius = math.sqrt(budget / (32 * math.log2(8 * budget))) / 2 if radius is None else radius
        self.regulariser = 1 / self.radius / self.radius / 4 if regulariser is None else regulariser
        self.factor = 1 - step * self.regulariser
        if self.factor <= 0:
            larger = f"a larger {'budget' if radius is None else 'radius'} or " if regulariser is None else ""
            raise ValueError(
                f"step * regulariser must be below 1, or a mistake leaves nothing of the weights before it, and is "
                f"{step * self.regulariser:g}; with budget={budget} and step={step:g} write {larger}a regulariser "
                f"below {1 / step:g}"
            )

    def start(self, pool: Pool) -> Expansion:
        return Expansion(pool, norm=True, track="oldest")

    def update(self, f: Expansion, y: int, score: float) -> None:
        if f.size == self.budget:
            f.evict(0)
        f.scale(self.factor)
        f.add(y * self.step)
        into_ball(f, self.radius)
