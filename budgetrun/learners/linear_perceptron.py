"""The linear Perceptron: a baseline without a kernel, in the memory of one example."""

from budgetrun.engine.hypotheses import ExplicitFeatures
from budgetrun.engine.pool import Pool
from budgetrun.kernels.features import Inputs
from budgetrun.learners.base import BinaryLearner


class LinearPerceptron(BinaryLearner):
    """Add every misclassified example, times its label, to the weights of the features, without a kernel.

    Notes: O(d) per round. There is no support set and no budget; memory is needed for the weights, d numbers. The
    kernel is not used. Its mistakes are those of the Perceptron with the linear kernel <a, b>, which keeps examples
    instead of weights. Departures from the source: none.

    References: Rosenblatt (1958), "The perceptron", Psychological Review 65(6).

    >>> breast_cancer(LinearPerceptron(), gamma=0.03).mistakes
    33
    """

    name = "linear_perceptron"
    title = "Linear Perceptron"
    form = ExplicitFeatures
    family = "linear"

    def start(self, pool: Pool) -> ExplicitFeatures:
        return ExplicitFeatures(pool, pool.shared.setdefault("inputs", Inputs()), 1.0)

    def update(self, f: ExplicitFeatures, y: int, score: float) -> None:
        f.step(y)
