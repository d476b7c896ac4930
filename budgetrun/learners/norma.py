"""NORMA: stochastic gradient descent in the kernel's space, truncated to a budget."""

from __future__ import annotations

from typing import TYPE_CHECKING

from budgetrun.engine.hypotheses import Decaying
from budgetrun.learners.base import BinaryLearner
from budgetrun.learners.bogd import decay
from budgetrun.params import Budget, NotNegative, Positive

if TYPE_CHECKING:
    from budgetrun.engine.pool import Pool


class Norma(BinaryLearner):
    """Gradient descent on the regularised soft-margin loss; past the budget, remove the oldest example.

    Parameters
    ----------
    budget : int, >= 1, or None
        B, the most support examples between rounds; None means that nothing is removed.
    step : float, > 0
        eta. An example whose margin is below rho is added with weight eta y.
    regulariser : float, >= 0, below 1 / step
        lambda. Every round, with or without a loss, multiplies all weights by 1 - eta lambda. With 0 and without a
        budget, this is gradient descent on the loss alone ("kernel OGD").
    rho : float, > 0
        The margin of the loss max(0, rho - y f(x)).

    Notes
    -----
    O(B d) per round. Departures from the source: it removes examples after a number of rounds, with or without weight,
    and here the oldest leaves when there are more than B, as in later comparisons; there is no offset; the step is
    constant; rho is given, not adapted to a share of errors. On a tie, a margin of exactly rho, nothing is added.

    References
    ----------
    Kivinen, Smola & Williamson (2004), "Online learning with kernels", IEEE Trans. Signal Processing 52(8):
    classification with the soft margin loss, and truncation.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from budgetrun.engine import run
    >>> from budgetrun.kernels import Gaussian
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> count = run(Norma(budget=20, step=0.5, regulariser=0.01), Gaussian(gamma=0.03), scale(X), 2 * y - 1)
    >>> count.mistakes, count.margin_updates
    (43, 262)
    """

    name = "norma"
    title = "NORMA"
    form = Decaying

    def __init__(
        self, *, budget: Budget | None = None, step: Positive, regulariser: NotNegative = 0.0, rho: Positive = 1.0
    ) -> None:
        self.budget = budget
        self.step = step
        self.decay = decay(step, regulariser)
        self.rho = rho

    def start(self, pool: Pool) -> Decaying:
        return Decaying(pool, self.decay)

    def margins(self, f: Decaying, t: int) -> float:
        return self.rho * (1 - f.rounding)

    def update(self, f: Decaying, y: int, score: float) -> None:
        if f.size == self.budget:
            f.evict(0)
        f.add(y * self.step)
