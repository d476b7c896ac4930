"""PA-I, the Passive-Aggressive algorithm with bounded steps, for two classes and for several."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from budgetrun.learners.base import BinaryLearner, MulticlassLearner
from budgetrun.params import Positive

if TYPE_CHECKING:
    from budgetrun.engine.hypotheses import Expansion, MulticlassExpansion


class PassiveAggressive(BinaryLearner):
    """On a loss, change f as little as makes the margin 1, but by no more than C.

    Parameters
    ----------
    C : float, > 0
        The largest step.

    Notes
    -----
    O(n d) a round for n support examples: all that ever had a loss. An example with k(x, x) = 0 cannot be learned; it
    takes a step of C that changes nothing.

    References
    ----------
    Crammer, Dekel, Keshet, Shalev-Shwartz & Singer (2006), "Online passive-aggressive algorithms", JMLR 7, section 3.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from budgetrun.engine import run
    >>> from budgetrun.kernels import Gaussian
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> count = run(PassiveAggressive(), Gaussian(gamma=0.03), scale(X), 2 * y - 1)
    >>> count.mistakes, count.margin_updates
    (25, 119)
    """

    name = "passive_aggressive"
    only_adds = True

    def __init__(self, *, C: Positive = 1.0) -> None:
        self.C = C

    def margins(self, f: Expansion, t: int) -> float:
        # An update leaves a margin of 1: the same example again must not have a loss through rounding.
        return 1 - f.rounding

    def update(self, f: Expansion, y: int, score: float) -> None:
        f.add(y * step(1 - y * score, f.square, self.C))


class MulticlassPassiveAggressive(MulticlassLearner):
    """On a loss, change f as little as makes the true class lead its rival by 1, but by no more than C.

    Parameters
    ----------
    C : float, > 0
        The largest step.

    Notes
    -----
    O(n (d + m)) a round for n support examples: all that ever had a loss.

    References
    ----------
    Crammer, Dekel, Keshet, Shalev-Shwartz & Singer (2006), "Online passive-aggressive algorithms", JMLR 7, section 8.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from budgetrun.engine import run
    >>> from budgetrun.kernels import Gaussian
    >>> X, y = load_digits(n_class=4, return_X_y=True)
    >>> count = run(MulticlassPassiveAggressive(), Gaussian(gamma=0.05), X / 16, y, n_classes=4)
    >>> count.mistakes, count.margin_updates
    (26, 276)
    """

    name = "passive_aggressive"
    only_adds = True

    def __init__(self, *, C: Positive = 1.0) -> None:
        self.C = C

    def margins(self, f: MulticlassExpansion, t: int, true: np.ndarray, rivals: np.ndarray) -> float:
        return 1 - f.rounding

    def update(self, f: MulticlassExpansion, y: int, rival: int, lead: float) -> None:
        # The example enters two functions, so its share of the change has twice the squared norm.
        f.add(y, rival, step(1 - lead, 2 * f.square, self.C))


def step(loss: float, square: float, C: float) -> float:
    """Return tau = min(C, loss / square)."""
    return C if loss >= C * square else loss / square
