"""NORMA: stochastic gradient descent in the kernel's space, truncated to a budget."""

import math
from typing import Literal

from budgetrun.base.params import Budget, NotNegative, Positive, ProperShare
from budgetrun.engine.hypotheses import Decaying
from budgetrun.engine.pool import Pool
from budgetrun.learners.base import BinaryLearner, Learner, RegressionLearner, as_fields, derived
from budgetrun.learners.bogd import decay


@as_fields
class _Truncated(Learner):
    """NORMA, for two classes or numbers.

    Parameters:
    budget : int, >= 1, or None
        B, the most support examples between rounds; None means that nothing is removed.

    References: Kivinen, Smola & Williamson (2004), "Online learning with kernels", IEEE Trans. Signal Processing 52(8):
    classification with the soft margin loss, regression, and truncation.
    """

    name = "norma"
    title = "NORMA"
    form = Decaying

    budget: Budget | None = None
    step: Positive
    regulariser: NotNegative = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self.decay = decay(self.step, self.regulariser)

    def start(self, pool: Pool) -> Decaying:
        return Decaying(pool, self.decay)


@as_fields
class NORMA(_Truncated, BinaryLearner):
    """Gradient descent on the regularised soft-margin loss; past the budget, remove the oldest example.

    Parameters:
    step : float, > 0
        eta. An example whose margin is below rho is added with weight eta y.
    regulariser : float, >= 0, below 1 / step
        lambda. Every round, with or without a loss, multiplies all weights by 1 - eta lambda. With 0 and without a
        budget, this is gradient descent on the loss alone ("kernel OGD").
    rho : float, > 0
        The margin of the loss max(0, rho - y f(x)).

    Notes: O(B d) per round. Departures from the source: it removes examples after a number of rounds, with or without
    weight, and here the oldest leaves when there are more than B, as in later comparisons; there is no offset; the step
    is constant; rho is given, not adapted to a share of errors. On a tie, a margin of exactly rho, nothing is added.

    >>> breast_cancer(NORMA(budget=20, step=0.5, regulariser=0.01), gamma=0.03).mistakes
    43
    """

    rho: Positive = 1.0

    def margins(self, f: Decaying, t: int) -> float:
        return self.rho * (1 - f.rounding)

    def update(self, f: Decaying, y: int, score: float) -> None:
        if f.size == self.budget:
            f.evict(0)
        f.add(y * self.step)


@as_fields
class NORMARegressor(_Truncated, RegressionLearner):
    """Gradient descent on a regularised loss of the error; past the budget, remove the oldest example.

    Parameters:
    step : float, > 0
        eta.
    regulariser : float, >= 0, below 1 / step
        lambda. Every round multiplies all weights by 1 - eta lambda.
    loss : {"squared", "insensitive", "dead_zone"}
        With the error e = y - f(x), an example is added with weight eta e (squared, default); with weight eta sign(e)
        if |e| > epsilon (insensitive); or with weight eta e if |e| > epsilon (dead_zone).
    epsilon : float, >= 0
        The width of the dead zone; not used with the squared loss.
    nu : float in (0, 1), or None
        With the insensitive loss, epsilon changes so that about this share of the errors is larger: by eta (1 - nu)
        after a larger one, and by -eta nu after any other. None means that it does not change.

    Notes: O(B d) per round. With ``nu`` the learner acts in every round. Departures from the source: the oldest example
    leaves when there are more than B, as in later comparisons; there is no offset; the step is constant. An error that
    is equal to epsilon up to rounding adds nothing. The error is that of the prediction, before the weights decay; in
    one program (kafbox), they decay before. The squared loss with a dead zone is that of later programs.

    >>> diabetes(NORMARegressor(budget=50, step=0.5, loss="dead_zone", epsilon=0.5), gamma=10).updates
    222
    """

    step: Positive = 0.5
    regulariser: NotNegative = 0.01
    loss: Literal["squared", "insensitive", "dead_zone"] = "squared"
    epsilon: NotNegative = 0.1
    nu: ProperShare = derived(lambda self: 0.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        nu, loss = self.nu, self.loss
        self.adapts, self.signs = nu > 0, loss == "insensitive"
        if self.adapts and not self.signs:
            raise ValueError(f"nu goes with loss=insensitive only, got nu={nu:g} and loss={loss}; leave nu out")
        # Errors of at most this add nothing; with the squared loss, every example is added.
        self.width = -math.inf if loss == "squared" else self.epsilon

    def tolerance(self, f: Decaying) -> float:
        return -1.0 if self.adapts else self.width + f.rounding

    def update(self, f: Decaying, y: float, score: float) -> None:
        error = y - score
        adds = abs(error) > self.width + f.rounding
        if self.adapts:
            self.width += self.step * (1 - self.nu if adds else -self.nu)
        if adds:
            if f.size == self.budget:
                f.evict(0)
            f.add(self.step * (math.copysign(1.0, error) if self.signs else error))


# As files of version 0.2.0 name it.
Norma, NormaRegressor = NORMA, NORMARegressor
