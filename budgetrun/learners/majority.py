"""Predictions that do not look at the example: the class that was most frequent so far, or the mean of all labels."""

import math

from budgetrun.engine.hypotheses.linear import Linear
from budgetrun.engine.pool import Pool
from budgetrun.learners.base import BinaryLearner, Learner, RegressionLearner


class Constant(Learner):
    """A number that does not depend on the example, from the labels so far.

    Notes: O(d) per round, because it is kept as a linear function whose weights are 0. There is no support set and no
    budget. The kernel is not used. It is what a learner has to beat to have learned anything from the features.

    References: Holte (1993), "Very simple classification rules perform well on most commonly used datasets", Machine
    Learning 11, whose baseline is the most frequent class. Here, each prediction precedes its label.
    """

    form = Linear
    family = "constant"
    margin = math.inf
    holds = 0.0

    def start(self, pool: Pool) -> Linear:
        return Linear(pool, 0.0)


class Majority(Constant, BinaryLearner):
    """Predict the class that was more frequent so far: f is the number of labels +1 minus the number of labels -1.

    >>> breast_cancer(Majority(), gamma=0.03).mistakes
    216
    """

    name = "majority"
    title = "Larger class"

    def update(self, f: Linear, y: int, score: float) -> None:
        f.shift(y)


class Mean(Constant, RegressionLearner):
    """Predict the mean of the labels so far, 0 in the first round.

    >>> diabetes(Mean(), gamma=10).updates
    442
    """

    name = "mean"
    title = "Mean"

    def __init__(self) -> None:
        self.rounds = 0

    def update(self, f: Linear, y: float, score: float) -> None:
        self.rounds += 1
        f.shift((y - score) / self.rounds)
