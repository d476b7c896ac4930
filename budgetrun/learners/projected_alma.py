"""ALMA_2 with projections."""

import math
from typing import Literal

from budgetrun.base.params import NotNegative, Positive, Share
from budgetrun.engine.hypotheses import Projected
from budgetrun.learners.alma import ALMA, length
from budgetrun.learners.projectron import Threshold
from budgetrun.learners.steps import into_ball


class ProjectedALMA(ALMA):
    """ALMA_2, except that an update that nearly lies in the span of the support set is projected on it.

    Parameters:
    eta : float, >= 0
        The largest distance ||delta|| of a projected update from the span.
    alpha : float in [0, 1]
        The learner aims at a fraction 1 - alpha of the largest possible margin; with 1 it learns from mistakes only.
    B : float, > 0
        The k-th update happens at a margin of at most (1 - alpha) B / sqrt(k).
    C : float, > 0, or None
        The step of the k-th update is C / sqrt(k). C^2 + 2 (1 - alpha) B C must be 1, as in the bound; None solves it.
    threshold : {"distance", "squared_distance"}
        What eta is compared with: ||delta||, as in the text (default), or ||delta||^2.
    delta : {"hypothesis", "example"}
        delta is the change of the hypothesis by projecting, including the step C / sqrt(k), as in the text (default);
        or the change of the normalised example.

    Attributes:
    k : int
        1 + the number of updates so far.
    lost : float
        The largest distance from the span of any projected normalised example.

    Notes: O(n^2) time per round and O(n^2) memory for n support examples. The proof of the mistake bound needs
    ``delta="example"``: because the steps decrease, the text's test eventually projects every example, even one whose
    projection is 0. Departures from the source: none by default.

    References: Orabona, Keshet & Caputo (2009), JMLR 10, section 6; mistake bound: Theorem 7.

    >>> breast_cancer(ProjectedALMA(eta=0.1, alpha=0.5), gamma=0.03).mistakes
    32
    """

    name = "projected_alma"
    title = "Projected ALMA_2"
    form = Projected
    tracks = {}

    def __init__(
        self,
        *,
        eta: NotNegative,
        alpha: Share = 0.0,
        B: Positive = 1.0,
        C: Positive | None = None,
        threshold: Threshold = "distance",
        delta: Literal["hypothesis", "example"] = "hypothesis",
    ) -> None:
        slack = (1 - alpha) * B
        solved = math.hypot(slack, 1) - slack
        if C is not None and abs(C * C + 2 * slack * C - 1) > 1e-6:
            raise ValueError(
                f"C^2 + 2 (1 - alpha) B C must be 1, got {C * C + 2 * slack * C:.6g}; "
                f"with alpha={alpha:g} and B={B:g} leave C out, or use C={solved:.9g}"
            )
        super().__init__(alpha=alpha, B=B, C=solved if C is None else C)
        self.eta = eta
        self.threshold = threshold
        self.delta = delta
        self.most_lost = eta**2 if threshold == "distance" else eta
        self.lost = 0.0

    def update(self, f: Projected, y: int, score: float) -> None:
        step = self.C / math.sqrt(self.k)
        weight = step / length(f.square)
        scale = step if self.delta == "hypothesis" else 1.0
        if (scale / length(f.square)) ** 2 * f.residual <= self.most_lost + f.rounding * scale**2:
            self.lost = max(self.lost, math.sqrt(f.residual) / length(f.square))
            f.project(y * weight)
        else:
            f.add(y * weight)
        into_ball(f, 1.0)
        self.k += 1

    def facts(self, f: Projected) -> dict[str, float]:
        return {"lost": self.lost}


# As files of version 0.2.0 name it.
ProjectedAlma = ProjectedALMA
