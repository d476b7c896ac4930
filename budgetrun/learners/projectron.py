"""The Projectron: examples that the support set nearly spans are projected on it instead of added."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from budgetrun.engine.hypotheses import MulticlassProjected, Projected
from budgetrun.learners.base import BinaryLearner, MulticlassLearner
from budgetrun.params import NotNegative

if TYPE_CHECKING:
    from budgetrun.engine.pool import Pool

Threshold = Literal["distance", "squared_distance"]


class Projectron(BinaryLearner):
    """The Perceptron, but a misclassified example that the support set nearly spans is projected on it.

    Parameters
    ----------
    eta : float, >= 0
        The most that a projection may lose of an example. 0 projects what is of the span, which loses nothing: then
        this is the Perceptron with a linearly independent support set.
    threshold : {"distance", "squared_distance"}
        What eta is compared with: ||delta||, as the text has it (default), or ||delta||^2, as in the authors' toolbox.

    Notes
    -----
    O(n^2) a round for n support examples, and as much memory. The support set is finite for any stream of a compact
    set (Theorem 1). Departures from the source: none by default.

    References
    ----------
    Orabona, Keshet & Caputo (2009), JMLR 10. Figs. 2 and 4; mistake bound: Theorem 3.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from budgetrun.engine import run
    >>> from budgetrun.kernels import Gaussian
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> count = run(Projectron(eta=0.3), Gaussian(gamma=0.03), scale(X), 2 * y - 1)
    >>> count.mistakes, count.max_support
    (43, 35)
    """

    name = "projectron"
    form = Projected

    def __init__(self, *, eta: NotNegative, threshold: Threshold = "distance") -> None:
        self.eta = eta
        self.threshold = threshold
        self.most_lost = eta**2 if threshold == "distance" else eta

    def update(self, f: Projected, y: int, score: float) -> None:
        if f.residual <= self.most_lost + f.rounding * f.square:
            f.project(y)
        else:
            f.add(y)


class MulticlassProjectron(MulticlassLearner):
    """The multiclass Perceptron, but a misclassified example that the two classes nearly span is projected on them.

    Parameters
    ----------
    eta : float, >= 0
        The most that a projection may lose, of the true class's and the rival's function together.
    threshold : {"distance", "squared_distance"}
        What eta is compared with: ||delta||, as the text has it (default), or ||delta||^2, as in the authors' toolbox.

    Notes
    -----
    A span a class: O(n_y^2 + n_r^2) a round for n_c support examples of class c, and the sum of n_c^2 memory. A class
    whose span holds the example already does not get it again.

    References
    ----------
    Orabona, Keshet & Caputo (2009), JMLR 10, section 5, for mistakes only.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from budgetrun.engine import run
    >>> from budgetrun.kernels import Gaussian
    >>> X, y = load_digits(n_class=4, return_X_y=True)
    >>> count = run(MulticlassProjectron(eta=0.7), Gaussian(gamma=0.05), X / 16, y, n_classes=4)
    >>> count.mistakes, count.max_support
    (63, 31)
    """

    name = "projectron"
    form = MulticlassProjected

    def __init__(self, *, eta: NotNegative, threshold: Threshold = "distance") -> None:
        self.eta = eta
        self.threshold = threshold
        self.most_lost = eta**2 if threshold == "distance" else eta

    def start(self, pool: Pool, n_classes: int) -> MulticlassProjected:
        return MulticlassProjected(pool, np.eye(n_classes))

    def update(self, f: MulticlassProjected, y: int, rival: int, lead: float) -> None:
        if f.residual(y, rival) <= self.most_lost + f.rounding * f.square:
            f.project(y, rival, 1.0)
        else:
            f.add(y, rival)
