"""The simplified Forgetron: one shrinking coefficient for all mistakes, and a bound on the norm."""

import math

from budgetrun.base.params import NotNegative, Positive
from budgetrun.engine.hypotheses import Expansion
from budgetrun.learners.base import BinaryLearner, Budgeted, as_fields, derived
from budgetrun.learners.steps import into_ball


@as_fields
class SimplifiedForgetron(Budgeted, BinaryLearner):
    """On a mistake, remove the oldest example if the budget is full, shrink the others, add the new one, project f.

    Parameters:
    budget : int, >= 1
        B, the most support examples between rounds. Theorem 2 needs B >= 500.
    step : float, > 0
        eta: a new example gets the weight eta y. Theorem 2 is for 1/32.
    radius : float, > 0, or None
        U / 2, the bound on ||w||. None means U^2 = B / (32 log2(8 B)), as in Theorem 2.
    regulariser : float, >= 0, below 1 / step, or None
        lambda: a mistake multiplies the earlier weights by 1 - eta lambda. None means 1 / U^2, as in Theorem 2; with
        the other defaults eta lambda is then log2(8 B) / B, which is below 1 for B >= 6.

    Notes: O(B d) per round. Algorithm 2 can be read in several ways; here it shrinks the examples that are left after
    the removal, but not the new one. This agrees with eq. (10), where the oldest example is shrunk, too, before the
    error E_i removes it. The paper writes the weight of E_i = c_i phi(x_old) as c_i / eta; it must be eta c_i, for
    which |c_i| <= (1 - eta lambda)^B holds as stated. The smallest weight is that of the oldest example, which has been
    shrunk most often; if lambda is 0, all weights can be equal, and the oldest is removed.

    If k(x, x) <= 1, shrinking alone keeps ||w||^2 near or below eta^2 / (1 - (1 - eta lambda)^2). With the defaults
    this is below (U / 2)^2 / 6 for every B, so the projection never acts. As long as it does not, predictions depend
    only on B and eta lambda.

    References: Sutskever (2009), "A simpler unified analysis of budget perceptrons", ICML. Algorithm 2, eqs. (10) and
    (12); constants: Theorem 2.

    >>> breast_cancer(SimplifiedForgetron(budget=20), gamma=0.03).mistakes
    90
    """

    name = "forgetron"
    variant = "simplified"
    title = "Forgetron, simplified"
    tracks = {"norm": True, "track": "oldest"}
    revision = 2

    step: Positive = 1 / 32
    radius: Positive = derived(lambda self: math.sqrt(self.budget / (32 * math.log2(8 * self.budget))) / 2)
    regulariser: NotNegative = derived(lambda self: 1 / self.radius / self.radius / 4)

    def __post_init__(self) -> None:
        cause = "budget" if self.radius is None else "radius"
        larger = f"a larger {cause} or " if self.regulariser is None else ""
        super().__post_init__()
        self.factor = 1 - self.step * self.regulariser
        if self.factor <= 0:
            raise ValueError(
                f"step * regulariser must be below 1, because a mistake multiplies earlier weights by 1 minus that, "
                f"got {self.step * self.regulariser:g}; with budget={self.budget} and step={self.step:g} use {larger}"
                f"a regulariser below {1 / self.step:g}"
            )

    def update(self, f: Expansion, y: int, score: float) -> None:
        if f.size == self.budget:
            f.evict(0)
        f.scale(self.factor)
        f.add(y * self.step)
        into_ball(f, self.radius)
