"""The larger class: a baseline that looks at labels alone."""

import math

from budgetrun.engine.hypotheses import ExplicitFeatures
from budgetrun.engine.pool import Pool
from budgetrun.kernels.features import Constant
from budgetrun.learners.base import BinaryLearner


class LargerClass(BinaryLearner):
    """Predict the class that had more examples so far: f is the sum of the labels, whatever the example.

    Notes: O(1) per round. There is no support set and no budget; memory is needed for one number. The kernel is not
    used. A learner that errs as often has learned nothing from the examples.

    References: this package's.

    >>> breast_cancer(LargerClass(), gamma=0.03).mistakes
    216
    """

    name = "larger_class"
    title = "Larger class"
    form = ExplicitFeatures
    # It acts in every round.
    margin = math.inf
    holds = 0.0
    baseline = "labels"

    def start(self, pool: Pool) -> ExplicitFeatures:
        return ExplicitFeatures(pool, pool.shared.setdefault("constant", Constant()), 1.0)

    def update(self, f: ExplicitFeatures, y: int, score: float) -> None:
        f.step(y)
