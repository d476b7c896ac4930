"""BOGD and BOGD++: gradient descent on a budget; a random example leaves, in BOGD++ more likely one of small weight."""

from typing import Literal

import numpy as np

from budgetrun.base.params import AtLeastOne, NotNegative, Positive, Seed
from budgetrun.engine.hypotheses import Decaying
from budgetrun.engine.pool import Pool
from budgetrun.learners.base import BinaryLearner, as_fields
from budgetrun.learners.rbp import RandomRemoval


@as_fields
class _DecayingRemoval(RandomRemoval, BinaryLearner):
    """Gradient descent with removals at random.

    Parameters:
    step : float, > 0
        eta. An example with a positive loss is added with weight eta y.
    regulariser : float, >= 0, below 1 / step
        lambda. Every round, with or without a loss, multiplies all weights by 1 - eta lambda.

    References: Zhao, Wang, Wu, Jin & Hoi (2012), "Fast bounded online gradient descent algorithms for scalable
    kernel-based online learning", ICML.
    """

    form = Decaying
    margin = 1.0

    step: Positive
    regulariser: NotNegative = 0.0
    clip: Positive = 1.0
    seed: Seed = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        self.decay = decay(self.step, self.regulariser)
        self.largest = self.step * self.clip

    def start(self, pool: Pool) -> Decaying:
        return Decaying(pool, self.decay)


@as_fields
class BOGDPlusPlus(_DecayingRemoval):
    """Gradient descent on the regularised hinge loss; when the budget is full, a random example is replaced.

    Parameters:
    clip : float, >= 1
        gamma. After a removal, weights are clipped to eta gamma.
    seed : int, >= 0
        Seed of the learner's generator, ``numpy.random.default_rng(seed)``; one uniform number u per removal. The first
        example at which the cumulative sum of the probabilities p exceeds u is replaced by the new one.
    reading : {"algorithm", "program"}
        Example i is removed with probability p_i = 1 - (B - 1) |alpha_i| / sum_j |alpha_j|. Then every other weight is
        divided by 1 - p_i, its own probability of staying, which preserves f in expectation (algorithm, default); or by
        1 - p_r of the removed example r, and decays once more (program: the program behind the tables of 2024).

    Notes: O(B d) per round. If one weight is larger than the sum of the others divided by B - 2, its p_i is negative.
    Then it is set to 0, and the other probabilities are scaled to sum to 1.

    >>> breast_cancer(BOGDPlusPlus(budget=20, step=0.5), gamma=0.03).mistakes
    46
    """

    name = "bogd++"
    title = "BOGD++"

    clip: AtLeastOne = 1.0
    reading: Literal["algorithm", "program"] = "algorithm"

    def update(self, f: Decaying, y: int, score: float) -> None:
        if f.size < self.budget:
            f.add(y * self.step)
            return
        sizes = np.abs(f.coef)
        p = np.maximum(1 - (self.budget - 1) / np.cumsum(sizes)[-1] * sizes, 0)
        sums = np.cumsum(p)
        p /= sums[-1]
        # A uniform number just below 1 can be rounded to the sum: then it means the last index.
        r = min(int(np.searchsorted(sums, self._random.random() * sums[-1], side="right")), self.budget - 1)
        if self.reading == "program":
            sizes *= self.decay / max(1 - p[r], _TINY)
        else:
            # If the probability of staying is 0 except for rounding, the weight is clipped below.
            sizes /= np.maximum(1 - p, _TINY)
        weights = np.copysign(np.minimum(sizes, self.largest), f.coef)
        weights[r] = y * self.step
        f.displace(r, weights)


class BOGD(_DecayingRemoval):
    """Gradient descent on the regularised hinge loss; when the budget is full, a random example is removed.

    Parameters:
    clip : float, > 0
        gamma. After a removal, f is scaled down until no weight is larger than eta gamma.

    Notes: O(B d) per round. After a removal all other weights are multiplied by B / (B - 1), which preserves f in
    expectation; then the new example is added, and all are clipped by one factor. The source was not at hand: the rule
    is that of a program by one of its authors (uniform sampling), where a margin of exactly 1 also adds the example.
    Here it does not.

    >>> breast_cancer(BOGD(budget=20, step=0.5), gamma=0.03).mistakes
    39
    """

    name = "bogd"
    title = "BOGD"

    def update(self, f: Decaying, y: int, score: float) -> None:
        if f.size < self.budget:
            f.add(y * self.step)
            return
        f.evict(int(self._random.integers(0, self.budget)))
        if f.size:
            f.scale(self.budget / (self.budget - 1))
        f.add(y * self.step)
        f.scale(min(1.0, self.largest / np.abs(f.coef).max()))


def decay(step: float, regulariser: float) -> float:
    """Return 1 - eta lambda, by which a round multiplies all weights; a ValueError if it is not above 0."""
    if step * regulariser >= 1:
        raise ValueError(
            f"step * regulariser must be below 1, because a round multiplies all weights by 1 minus that, got "
            f"{step * regulariser:g}; with step={step:g} use a regulariser below {1 / step:g}"
        )
    return 1 - step * regulariser


_TINY = 1e-300
