"""DualSGD: gradient descent with a support set, and random features for the examples that leave it."""

import math
from typing import Any, Literal

from budgetrun.base.params import Count, Positive, Seed
from budgetrun.engine.hypotheses.absorbing import AbsorbingExpansion, MulticlassAbsorbing
from budgetrun.engine.pool import Pool
from budgetrun.learners.base import BinaryLearner, Budgeted, MulticlassLearner, as_fields, derived, gaussian_rate
from budgetrun.learners.steps import Loss, descent


@as_fields
class SupportAndFeatures(Budgeted):
    """DualSGD, for two classes or more: a support set, and random features for what leaves it.

    Parameters:
    k : int in 1..B, or None
        The number of examples that leave a full support set; None means B / 5, rounded, and at least 1.
    features : int, >= 1
        D, the number of frequencies, each with a cosine and a sine: z(x) has 2 D features.
    seed : int, >= 0
        Seed of the frequencies: the rows of ``numpy.random.default_rng(seed).normal(0, sqrt(2 gamma), (D, d))``.
    frequencies : {"right", "program"}
        Their standard deviation: sqrt(2 gamma), with which <z(a), z(b)> approximates exp(-gamma ||a - b||^2) (right,
        default); or 2 gamma, as in the authors' program (program).

    References: Le, Nguyen, Nguyen & Phung (2016), "Dual space gradient descent for online learning", NIPS: k-merging,
    in the order of its authors' program.
    """

    name = "dualsgd"
    title = "DualSGD"
    margin = math.inf
    draws = True

    k: Count = derived(lambda self: max(1, int(0.2 * self.budget + 0.5)), at_most="budget")
    features: Count = 200
    loss: Loss = "hinge"
    regulariser: Positive = 1e-4
    seed: Seed = 0
    frequencies: Literal["right", "program"] = "right"

    def __post_init__(self) -> None:
        super().__post_init__()
        self.hinge = self.loss == "hinge"

    def start(self, pool: Pool, *n_classes: int) -> Any:
        gamma = gaussian_rate(pool, "dualsgd", "its random features approximate the gaussian kernel")
        # A standard deviation of 2 gamma is that of 2 gamma^2 in place of gamma.
        rate = gamma if self.frequencies == "right" else 2 * gamma**2
        form: Any = self.form
        return form(pool, rate, self.features, self.seed, *n_classes)


class DualSGD(SupportAndFeatures, BinaryLearner):
    """Stochastic gradient descent; when the budget is full, random features take over the k smallest weights.

    Parameters:
    loss : {"hinge", "logistic"}
        max(0, 1 - y f(x)), or log(1 + exp(-y f(x))).
    regulariser : float, > 0
        lambda. Round t multiplies all weights by 1 - 1 / t, and adds its example with weight a y / (lambda t), where
        -a y is the derivative of the loss.

    Notes: O((B + D) d) per round. Only for the Gaussian kernel. The learner acts in every round: every example joins
    the support set, also with weight 0, as in the authors' program. When the support set is full, the k examples of
    smallest weight leave it before the new one joins; of weights that are equal up to 1e-9, the oldest examples leave.
    Their part of f goes to the random features. With the hinge loss, a margin of exactly 1 is a loss.

    f is stored, and its scores are given, times lambda t, after t rounds; then weights do not decay, and those of the
    hinge loss are y or 0. Predictions are the same. A score of at most 1e-9, in these units, counts as 0. Learners with
    the same frequencies on the same stream compute the features of the stream once.

    Departures from the authors' program: the frequencies, unless ``frequencies="program"``, and what f = 0 predicts.

    >>> breast_cancer(DualSGD(budget=20, features=50, regulariser=0.01), gamma=0.03).mistakes
    35
    """

    form = AbsorbingExpansion

    def update(self, f: AbsorbingExpansion, y: int, score: float) -> None:
        if f.size == self.budget:
            f.absorb(self.k)
        f.add(y * descent(self.hinge, y * score, self.regulariser * (f.now - 1), f.rounding))


class MulticlassDualSGD(SupportAndFeatures, MulticlassLearner):
    """Stochastic gradient descent; when the budget is full, random features take over the k smallest weights.

    Parameters:
    loss : {"hinge", "logistic"}
        max(0, 1 - m), or log(1 + exp(-m)), of the lead m = f_y(x) - f_r(x) over the rival r.
    regulariser : float, > 0
        lambda. Round t multiplies all weights by 1 - 1 / t, and adds its example with weight a / (lambda t) to f_y and
        minus that to f_r, where -a is the derivative of the loss.

    Notes: O((B + D) d) per round. See the learner for two classes. Leads and scores that differ by at most 1e-9, in the
    units in which they are stored, count as equal.

    Departures from the authors' program: as for two classes; and its support set keeps weights of examples that have
    left, in the classes other than those of the new example in the same place.

    >>> digits(MulticlassDualSGD(budget=20, regulariser=0.01), gamma=0.05).mistakes
    38
    """

    form = MulticlassAbsorbing

    def update(self, f: MulticlassAbsorbing, y: int, rival: int, lead: float) -> None:
        if f.size == self.budget:
            f.absorb(self.k)
        f.add(y, rival, descent(self.hinge, lead, self.regulariser * (f.now - 1), f.rounding))
