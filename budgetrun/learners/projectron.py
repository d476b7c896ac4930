"""The Projectron: examples that nearly lie in the span of the support set are projected on it instead of added."""

from typing import Literal

import numpy as np

from budgetrun.base.params import NotNegative
from budgetrun.engine.hypotheses import MulticlassProjected, Projected
from budgetrun.engine.pool import Pool
from budgetrun.learners.base import BinaryLearner, Learner, MulticlassLearner

Threshold = Literal["distance", "squared_distance"]


class NearTheSpan(Learner):
    """Parameters of the rules for two classes and for more.

    Parameters:
    eta : float, >= 0
        The largest distance ||delta|| of a projected example from the span (with several classes: of the update of the
        true class and the rival together). With 0, only examples that lie in the span are projected: this is the
        Perceptron with a linearly independent support set.
    threshold : {"distance", "squared_distance"}
        What eta is compared with: ||delta||, as in the text (default), or ||delta||^2, as in the authors' toolbox.
    """

    name = "projectron"
    title = "Projectron"

    def __init__(self, *, eta: NotNegative, threshold: Threshold = "distance") -> None:
        self.eta = eta
        self.threshold = threshold
        self.most_lost = eta**2 if threshold == "distance" else eta


class Projectron(NearTheSpan, BinaryLearner):
    """The Perceptron, except that an example that nearly lies in the span of the support set is projected on it.

    Notes: O(n^2) time per round and O(n^2) memory for n support examples. The support set is finite for any stream from
    a compact set (Theorem 1). Departures from the source: none by default.

    References: Orabona, Keshet & Caputo (2009), JMLR 10. Figs. 2 and 4; mistake bound: Theorem 3.

    >>> breast_cancer(Projectron(eta=0.3), gamma=0.03).mistakes
    43
    """

    form = Projected

    def update(self, f: Projected, y: int, score: float) -> None:
        if f.residual <= self.most_lost + f.rounding * f.square:
            f.project(y)
        else:
            f.add(y)


class MulticlassProjectron(NearTheSpan, MulticlassLearner):
    """The multiclass Perceptron, except that an example that nearly lies in the span of the two classes is projected.

    Notes: Each class has its own span: O(n_y^2 + n_r^2) time per round, and memory for sum of n_c^2 numbers, with n_c
    support examples of class c. An example is not added to a class whose span it already lies in.

    References: Orabona, Keshet & Caputo (2009), JMLR 10, section 5, for mistakes only.

    >>> digits(MulticlassProjectron(eta=0.7), gamma=0.05).mistakes
    63
    """

    form = MulticlassProjected

    def start(self, pool: Pool, n_classes: int) -> MulticlassProjected:
        return MulticlassProjected(pool, np.eye(n_classes))

    def update(self, f: MulticlassProjected, y: int, rival: int, lead: float) -> None:
        if f.residual(y, rival) <= self.most_lost + f.rounding * f.square:
            f.project(y, rival, 1.0)
        else:
            f.add(y, rival)
