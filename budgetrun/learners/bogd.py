"""BOGD++: gradient descent on a budget, with a removal that is more likely for smaller weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from budgetrun.engine.hypotheses import Decaying
from budgetrun.learners.base import BinaryLearner
from budgetrun.params import AtLeastOne, Budget, NotNegative, Positive, Seed

if TYPE_CHECKING:
    from budgetrun.engine.pool import Pool


class BOGDPlusPlus(BinaryLearner):
    """Gradient descent on the regularised hinge loss; past the budget a random example leaves, small weights first.

    Parameters
    ----------
    budget : int, >= 1
        B, the most examples held between rounds.
    step : float, > 0
        eta. A loss adds its example with the weight eta y.
    regulariser : float, >= 0, below 1 / step
        lambda. Every round, with a loss or without, multiplies all weights by 1 - eta lambda.
    clip : float, >= 1
        gamma. After a removal no weight is larger than eta gamma.
    seed : int, >= 0
        Of the learner's own generator, ``numpy.random.default_rng(seed)``; one uniform number u a removal. The example
        leaves up to which, in their order, the probabilities p add up to more than u; the new one takes its place.
    reading : {"algorithm", "program"}
        Example i leaves with probability p_i = 1 - (B - 1) |alpha_i| / sum_j |alpha_j|; then every weight that stays is
        divided by 1 - p_i, its own chance to stay, which keeps f in expectation (algorithm, default), or by 1 - p_r of
        the example r that left, and decays once more (program: the one behind the tables of 2024).

    Notes
    -----
    O(B d) a round. Where one weight is larger than all the others together divided by B - 2, its p_i would be negative:
    then it stays for certain, and the others' probabilities are scaled to add up to 1.

    References
    ----------
    Zhao, Wang, Wu, Jin & Hoi (2012), "Fast bounded online gradient descent algorithms for scalable kernel-based online
    learning", ICML.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from budgetrun.engine import run
    >>> from budgetrun.kernels import Gaussian
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> count = run(BOGDPlusPlus(budget=20, step=0.5), Gaussian(gamma=0.03), scale(X), 2 * y - 1)
    >>> count.mistakes, count.margin_updates
    (46, 254)
    """

    budget: int
    name = "bogd++"
    form = Decaying
    draws = True

    def __init__(
        self,
        *,
        budget: Budget,
        step: Positive,
        regulariser: NotNegative = 0.0,
        clip: AtLeastOne = 1.0,
        seed: Seed = 0,
        reading: Literal["algorithm", "program"] = "algorithm",
    ) -> None:
        if step * regulariser >= 1:
            raise ValueError(
                f"step * regulariser must be below 1, or a round leaves nothing of the weights, and is "
                f"{step * regulariser:g}; with step={step:g} write a regulariser below {1 / step:g}"
            )
        self.budget = budget
        self.step = step
        self.decay = 1 - step * regulariser
        self.largest = step * clip
        self.seed = seed
        self.reading = reading
        self._random = np.random.default_rng(seed)

    def start(self, pool: Pool) -> Decaying:
        return Decaying(pool, self.decay)

    def margins(self, f: Decaying, t: int) -> float:
        return 1 - f.rounding

    def update(self, f: Decaying, y: int, score: float) -> None:
        if f.size < self.budget:
            f.add(y * self.step)
        else:
            self.replace(f, y * self.step)

    def replace(self, f: Decaying, weight: float) -> None:
        """Let the new example take the place of one that leaves, and mend the weights of the others."""
        sizes = np.abs(f.coef)
        p = np.maximum(1 - (self.budget - 1) / sizes.sum() * sizes, 0)
        p /= p.sum()
        # The largest index is for a uniform number that is below 1 by less than rounding.
        r = min(int(p.cumsum().searchsorted(self._random.random(), side="right")), self.budget - 1)
        if self.reading == "program":
            sizes *= self.decay / max(1 - p.item(r), _TINY)
        else:
            # A chance to stay that is 0 but for rounding leaves the largest weight there is.
            sizes /= np.maximum(1 - p, _TINY)
        weights = np.copysign(np.minimum(sizes, self.largest), f.coef)
        weights[r] = weight
        f.displace(r, weights)


_TINY = 1e-300
