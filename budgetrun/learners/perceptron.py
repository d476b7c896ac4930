"""The kernel Perceptron, binary and multiclass."""

from budgetrun.engine.hypotheses import Expansion, MulticlassExpansion
from budgetrun.learners.base import BinaryLearner, MulticlassLearner


class Perceptron(BinaryLearner):
    """Add every misclassified example, with its label as weight.

    Notes: O(M_t d) per round. There is no budget: every mistake adds a support example. M <= ||g||^2 + 2 sum of the
    hinge losses of g, for any g, if k(x, x) <= 1 (Theorem 1 of the source).

    References: Dekel, Shalev-Shwartz & Singer (2008), SIAM J. Comput. 37(5), section 2; Rosenblatt (1958).

    >>> breast_cancer(Perceptron(), gamma=0.03).mistakes
    37
    """

    name = "perceptron"
    title = "Perceptron"
    alike_until_full = "adds mistakes"
    only_adds = True

    def update(self, f: Expansion, y: int, score: float) -> None:
        f.add(y)


class MulticlassPerceptron(MulticlassLearner):
    """On a mistake, add the example to its class with weight 1 and to its rival with weight -1 (max-score).

    Notes: O((M_t + m) d) per round.

    References: Crammer & Singer (2003), "Ultraconservative online algorithms for multiclass problems", JMLR 3.

    >>> digits(MulticlassPerceptron(), gamma=0.05).mistakes
    53
    """

    name = "perceptron"
    title = "Perceptron"
    only_adds = True

    def update(self, f: MulticlassExpansion, y: int, rival: int, lead: float) -> None:
        f.add(y, rival, 1.0)
