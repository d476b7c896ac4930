"""The Projectron++: the Projectron, which also projects margin errors where that improves the mistake bound."""

from __future__ import annotations

import math
from typing import Annotated, Any

import numpy as np
from pydantic import AfterValidator

from budgetrun.base.errors import InputError
from budgetrun.base.params import Positive
from budgetrun.engine.hypotheses import MulticlassProjected, Projected
from budgetrun.engine.pool import Pool
from budgetrun.learners.hierarchy import label_kernel, parse
from budgetrun.learners.projectron import MulticlassProjectron, NearTheSpan, Projectron, Threshold


def _checked(text: str) -> str:
    parse(text)
    return text


Hierarchy = Annotated[str, AfterValidator(_checked)]


class _OnMargins(NearTheSpan):
    """The Projectron++, for two classes or more.

    Parameters:
    eta : float, > 0
        The largest distance ||delta|| of a projected misclassified example from the span (with several classes: of the
        update of the true class and the rival); a margin error is projected if its loss exceeds distance / eta.

    Attributes:
    gain : float
        B of Theorem 4, or of Theorem 6 for several classes: the reduction of the mistake bound so far.
    """

    name = "projectron++"
    title = "Projectron++"

    def __init__(self, *, eta: Positive, threshold: Threshold = "distance") -> None:
        super().__init__(eta=eta, threshold=threshold)
        self.gain = 0.0

    def price(self, residuals: Any) -> Any:
        """Return distance / eta, the cost of projecting a margin error, for one ||delta||^2 or several."""
        return (np.sqrt(residuals) if self.threshold == "distance" else residuals) / self.eta

    def margin_step(self, residual: float, square: float, loss: float) -> float:
        """Return tau for a margin error, and note what it gains; ``square`` is that of the projection."""
        tau = step(loss, float(self.price(residual)), square)
        self.gain += gain(tau, loss, square, math.sqrt(residual / self.most_lost))
        return tau

    def facts(self, f: Any) -> dict[str, float]:
        return {"gain": self.gain}


class ProjectronPlusPlus(_OnMargins, Projectron):
    """The Projectron, which also projects an example inside the margin if its loss exceeds the cost of projecting.

    Notes: O(n^2) time per round and O(n^2) memory for n support examples. Departures from the source: none by default.

    References: Orabona, Keshet & Caputo (2009), JMLR 10. Fig. 5; mistake bound: Theorem 4.

    >>> breast_cancer(ProjectronPlusPlus(eta=0.8), gamma=0.03).mistakes
    32
    """

    def margins(self, f: Projected, t: int) -> np.ndarray:
        lost = f.residuals(t)
        margins = np.maximum(1 - self.price(lost) - f.rounding, 0)
        # An example whose projection is 0 cannot be learned by projecting.
        margins[lost == f.squares_from(t)] = 0
        return margins

    def update(self, f: Projected, y: int, score: float) -> None:
        if f.mistaken:
            super().update(f, y, score)
        else:
            f.project(y * self.margin_step(f.residual, f.projected_square, 1 - y * score))


class MulticlassProjectronPlusPlus(_OnMargins, MulticlassProjectron):
    """The multiclass Projectron, which also projects an example with a lead below 1 if that improves the mistake bound.

    Parameters:
    hierarchy : str or None
        Groups of related labels, e.g. ``(0 6 8) (3 5) 1 2 4 7 9``; groups can contain groups. The kernel between (x, y)
        and (x', y') is then k(x, x') K(y, y'), where K(y, y') is the common fraction of the paths from the root, and
        the margin between two labels is 1 - K(y, y'): a confusion within a group costs less. None means unrelated
        classes: K is the Kronecker delta.

    Notes: O(n^2) time per round and O(n^2) memory for n pairs of example and label in a group. `of` accepts any label
    kernel and any costs. Departures from the source: none by default. The source only mentions costs; here the rival of
    a margin error is the label that violates its margin most.

    References: Orabona, Keshet & Caputo (2009), JMLR 10, section 5; mistake bound: Theorem 6, for k(x, x) K(y, y) <=
    1/4.

    >>> digits(MulticlassProjectronPlusPlus(eta=0.7), gamma=0.05).mistakes
    50
    """

    def __init__(self, *, eta: Positive, threshold: Threshold = "distance", hierarchy: Hierarchy | None = None) -> None:
        super().__init__(eta=eta, threshold=threshold)
        self.hierarchy = hierarchy
        self.label_kernel: np.ndarray | None = None
        if hierarchy is not None:
            self.label_kernel = label_kernel(hierarchy)
            self.costs = 1 - self.label_kernel

    @classmethod
    def of(
        cls, label_kernel: np.ndarray, costs: np.ndarray | None = None, *, eta: float, threshold: Threshold = "distance"
    ) -> MulticlassProjectronPlusPlus:
        """Return a learner for any label kernel and costs.

        Parameters
        ----------
        label_kernel : array_like, shape (m, m)
            K(y, y'), symmetric and positive semidefinite.
        costs : array_like, shape (m, m), >= 0, or None
            The required margin between the row's class, the true one, and the column's; None means 1.
        eta, threshold
            As in the class.
        """
        K = np.asarray(label_kernel, dtype=np.float64)
        if K.ndim != 2 or K.shape[0] != K.shape[1] or not np.allclose(K, K.T):
            raise ValueError(f"label_kernel must be a symmetric matrix, got one of shape {K.shape}")
        if np.linalg.eigvalsh(K).min() < -1e-9 * max(1.0, float(np.abs(K).max())):
            raise ValueError("label_kernel must be positive semidefinite: it has a negative eigenvalue")
        learner = cls(eta=eta, threshold=threshold)
        learner.label_kernel = K
        if costs is not None:
            learner.costs = np.asarray(costs, dtype=np.float64)
            if learner.costs.shape != K.shape or (learner.costs < 0).any():
                raise ValueError(f"costs must be a matrix of shape {K.shape} with no negative entries")
        return learner

    def start(self, pool: Pool, n_classes: int) -> MulticlassProjected:
        K = self.label_kernel if self.label_kernel is not None else np.eye(n_classes)
        if len(K) != n_classes:
            raise InputError(
                f"projectron++: hierarchy has {len(K)} labels, the data {n_classes}: write every label of the data once"
            )
        return MulticlassProjected(pool, K)

    def margins(self, f: MulticlassProjected, t: int, y: int, rival: int) -> float:
        lost = f.residual_at(t, y, rival)
        if lost == f.square_at(t, y, rival):
            return 0.0
        return max(1 - float(self.price(lost)) - f.rounding, 0.0)

    def update(self, f: MulticlassProjected, y: int, rival: int, lead: float) -> None:
        if f.mistaken:
            super().update(f, y, rival, lead)
        else:
            f.project(y, rival, self.margin_step(f.residual(y, rival), f.projected_square(y, rival), 1 - lead))


def step(loss: float, cost: float, projected_square: float) -> float:
    """Return tau, the weight of a projected margin error, in (0, 1]."""
    return min(loss / projected_square, 2 * (loss - cost) / projected_square, 1.0)


def gain(tau: float, loss: float, projected_square: float, lost: float) -> float:
    """Return beta, the contribution of a margin update to B of Theorems 4 and 6; see below the definition of tau.

    ``lost`` is ||delta|| in units of its largest value for a projected misclassified example: eta, or sqrt(eta) if eta
    is compared with squared distances; then beta can be negative.
    """
    return tau * (2 * loss - tau * projected_square - 2 * lost)
