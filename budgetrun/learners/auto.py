"""Auto: linear learners and learners on a budget with kernels of several widths, combined as the stream says."""

import math

import numpy as np

from budgetrun.base.params import Count, EvenBudget
from budgetrun.engine.hypotheses.stacked import Part, Stacked, StackedClasses
from budgetrun.engine.pool import Pool
from budgetrun.learners.ahpatron import Ahpatron
from budgetrun.learners.base import BinaryLearner, Learner, MulticlassLearner
from budgetrun.learners.bpa import NearestBPA
from budgetrun.learners.logistic import Logistic
from budgetrun.learners.steps import logistic_slope

# The kernels' rates, times the median of ||a - b||^2; the last one with few features only.
RATES, FEW = (0.25, 1.0, 4.0, 16.0), 24
STEP = 0.1


class _Auto(Learner):
    name = "auto"
    title = "Auto"
    form = Stacked
    margin = math.inf

    def __init__(self, *, budget: EvenBudget = 300) -> None:
        self.budget = budget

    def members(self, n_features: int) -> list[Part]:
        rates = RATES if n_features <= FEW else RATES[:-1]
        return [
            *(Part(0.0, Logistic(step=step, rates="constant")) for step in (0.1, 0.01)),
            Part(0.0, Logistic()),
            *(Part(rate, NearestBPA(budget=self.budget, C=C)) for rate in rates for C in (0.1, 1.0)),
            *(Part(rate, Ahpatron(budget=self.budget, epsilon=epsilon)) for rate in rates for epsilon in (0.5, 0.9)),
        ]


class AutoClassifier(_Auto, BinaryLearner):
    def start(self, pool: Pool) -> Stacked:
        return Stacked(pool, STEP)

    def update(self, f: Stacked, y: int, score: float) -> None:
        f.adapt(y * logistic_slope(y * score), STEP)


class MulticlassAuto(_Auto, MulticlassLearner):
    form = StackedClasses

    def start(self, pool: Pool, n_classes: int) -> StackedClasses:
        return StackedClasses(pool, STEP, n_classes)

    def update(self, f: StackedClasses, y: int, rival: int, lead: float) -> None:
        scores = f.current
        shares = np.exp(scores - scores.max())
        shares /= -shares.sum()
        shares[y] += 1
        f.adapt_each(shares, STEP)
