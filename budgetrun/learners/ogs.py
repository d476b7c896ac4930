"""AVP-OGS and AOGD-ALD: gradient steps that are projected on the support set if they nearly lie in its span."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from budgetrun.engine.hypotheses import Projected
from budgetrun.learners.ball import into_ball
from budgetrun.learners.base import BinaryLearner
from budgetrun.params import NotNegative, Positive, ProperShare

if TYPE_CHECKING:
    pass


class AVPOGS(BinaryLearner):
    """On a margin below 1 - epsilon, take a step towards the example, or its projection on the span if that is near.

    Parameters
    ----------
    alpha : float, >= 0
        The largest squared distance from the span of an example that is projected; others are added. The authors used
        100 / T, for T rounds.
    epsilon : float in (0, 1)
        Examples with a margin below 1 - epsilon are used.
    U : float, > 0
        The bound on ||f||.
    c : float, > 0
        The step is c U at first, and c U / sqrt(U^2 + L) from the first mistake after the first round on, where L is 1
        plus the sum of ||v||^2 over these mistakes; v is the example, or its projection.

    Notes
    -----
    O(n^2) time per round and O(n^2) memory for n support examples. The learner has no budget: n depends on alpha. A
    round that is not a mistake can change f, but not L. Departures from the authors' program: f = 0 predicts as in
    all other runs; L has k(x, x) instead of 1 for examples that are added.

    References
    ----------
    Li et al. (2024), the successor of the Ahpatron paper, submitted to JMLR: AVP-OGS, as in its authors' program.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from budgetrun.engine import run
    >>> from budgetrun.kernels import Gaussian
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> count = run(AVPOGS(alpha=0.2), Gaussian(gamma=0.03), scale(X), 2 * y - 1)
    >>> count.mistakes, count.max_support
    (31, 49)
    """

    name = "avp_ogs"
    title = "AVP-OGS"
    form = Projected

    def __init__(
        self, *, alpha: NotNegative = 0.01, epsilon: ProperShare = 0.6, U: Positive = 10.0, c: Positive = 0.5
    ) -> None:
        self.alpha = alpha
        self.epsilon = epsilon
        self.U = U
        self.c = c
        self.L = 1.0
        self.step = c * U

    def margins(self, f: Projected, t: int) -> float:
        return 1 - self.epsilon - f.rounding

    def update(self, f: Projected, y: int, score: float) -> None:
        projects = depends(f, self.alpha)
        if f.mistaken and f.size:
            self.L += f.projected_square if projects else f.square
            self.step = self.c * self.U / math.sqrt(self.U**2 + self.L)
        move(f, y * self.step, projects)
        into_ball(f, self.U)


class AOGDALD(BinaryLearner):
    """Gradient descent on the squared loss, in every round; steps that nearly lie in the span are projected.

    Parameters
    ----------
    alpha : float, >= 0
        The largest squared distance from the span of an example that is projected; others are added. The authors used
        25 / T, for T rounds.
    U : float, > 0
        The bound on ||f||.
    c : float, > 0
        A factor of the step.
    offset : float, > 0
        The step is 2 c U / sqrt(S), where S is the offset plus the sum of 4 e^2 ||v||^2 so far, with e = f(x) - y; v is
        the example, or its projection. The authors' AOMD-OGS with the squared loss is the same with U = 4, c = 1/2 and
        the offset 1.

    Notes
    -----
    O(n^2) time per round and O(n^2) memory for n support examples. The learner acts in every round. It has no budget: n
    depends on alpha. Departures from the authors' program: that adds every example from a certain support size on,
    without a limit; this never does.

    References
    ----------
    Li & Liao (2023), ICML, and Li et al. (2024), submitted to JMLR: AOGD-ALD, as in its authors' program.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from budgetrun.engine import run
    >>> from budgetrun.kernels import Gaussian
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> count = run(AOGDALD(alpha=0.2), Gaussian(gamma=0.03), scale(X), 2 * y - 1)
    >>> count.mistakes, count.max_support
    (25, 166)
    """

    name = "aogd_ald"
    title = "AOGD-ALD"
    form = Projected

    def __init__(
        self, *, alpha: NotNegative = 0.01, U: Positive = 2.0, c: Positive = 1.0, offset: Positive = 1.0
    ) -> None:
        self.alpha = alpha
        self.U = U
        self.c = c
        self.S = offset

    def margins(self, f: Projected, t: int) -> float:
        return math.inf

    def update(self, f: Projected, y: int, score: float) -> None:
        projects = depends(f, self.alpha)
        error = score - y
        self.S += 4 * error**2 * (f.projected_square if projects else f.square)
        move(f, -2 * error * self.c * self.U / math.sqrt(self.S), projects)
        into_ball(f, self.U)


def depends(f: Projected, alpha: float) -> bool:
    """Return whether the example is nearly a linear combination of the support set; the first one is not."""
    return f.size > 0 and f.residual <= alpha + f.rounding * f.square


def move(f: Projected, weight: float, projects: bool) -> None:
    """Add the example, or its projection, with this weight."""
    if projects:
        f.project(weight)
    else:
        f.add(weight)
