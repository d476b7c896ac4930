"""PA-I, the Passive-Aggressive algorithm with bounded steps, binary and multiclass."""

from budgetrun.base.params import Positive
from budgetrun.engine.hypotheses import Expansion, MulticlassExpansion
from budgetrun.learners.base import BinaryLearner, Learner, MulticlassLearner, as_fields


@as_fields
class BoundedWeights(Learner):
    """Parameters of the rules for two classes and for more.

    Parameters:
    C : float, > 0
        The largest weight.

    References: Crammer, Dekel, Keshet, Shalev-Shwartz & Singer (2006), "Online passive-aggressive algorithms", JMLR 7,
    section 3; for several classes, section 8.
    """

    name = "passive_aggressive"
    title = "PA-I"
    margin = 1.0
    only_adds = True

    C: Positive = 1.0


class PassiveAggressive(BoundedWeights, BinaryLearner):
    """If the hinge loss is positive, add the example with the smallest weight that makes its margin 1, but at most C.

    Notes: O(n d) per round for n support examples. Nothing is removed. An example with k(x, x) = 0 is added with weight
    C, which changes no prediction.

    >>> breast_cancer(PassiveAggressive(), gamma=0.03).mistakes
    25
    """

    def update(self, f: Expansion, y: int, score: float) -> None:
        f.add(y * step(1 - y * score, f.square, self.C))


class MulticlassPassiveAggressive(BoundedWeights, MulticlassLearner):
    """If the true class leads its rival by less than 1, make it lead by 1, with a weight of at most C.

    Notes: O(n (d + m)) per round for n support examples. Nothing is removed.

    >>> digits(MulticlassPassiveAggressive(), gamma=0.05).mistakes
    26
    """

    def update(self, f: MulticlassExpansion, y: int, rival: int, lead: float) -> None:
        # The example is added to two functions, so the squared norm of the change is doubled.
        f.add(y, rival, step(1 - lead, 2 * f.square, self.C))


def step(loss: float, square: float, C: float) -> float:
    """Return tau = min(C, loss / square)."""
    return C if loss >= C * square else loss / square
