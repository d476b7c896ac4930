"""Projectron++: margin errors are learned too, where projecting them pays."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from pydantic import AfterValidator

from budgetrun.engine.hypotheses import MulticlassProjected, Projected
from budgetrun.errors import InputError
from budgetrun.learners.hierarchy import label_kernel, parse
from budgetrun.learners.projectron import MulticlassProjectron, Projectron, Threshold
from budgetrun.params import Positive

if TYPE_CHECKING:
    from budgetrun.engine.pool import Pool


def _checked(text: str) -> str:
    parse(text)
    return text


Hierarchy = Annotated[str, AfterValidator(_checked)]


class ProjectronPlusPlus(Projectron):
    """The Projectron, which also projects examples inside the margin, if their loss outweighs what projecting loses.

    Parameters
    ----------
    eta : float, > 0
        The most that the projection of a misclassified example may lose; a margin error is projected if its loss
        exceeds distance / eta.
    threshold : {"distance", "squared_distance"}
        What eta is compared with, in both places: ||delta||, as the text has it (default), or ||delta||^2, as in the
        authors' toolbox.

    Attributes
    ----------
    gain : float
        B of Theorem 4: what the margin updates so far take off the mistake bound.

    Notes
    -----
    O(n^2) a round for n support examples, and as much memory. Departures from the source: none by default.

    References
    ----------
    Orabona, Keshet & Caputo (2009), JMLR 10. Fig. 5; mistake bound: Theorem 4.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from budgetrun.engine import run
    >>> from budgetrun.kernels import Gaussian
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> count = run(ProjectronPlusPlus(eta=0.8), Gaussian(gamma=0.03), scale(X), 2 * y - 1)
    >>> count.mistakes, count.margin_updates
    (32, 22)
    """

    name = "projectron++"

    def __init__(self, *, eta: Positive, threshold: Threshold = "distance") -> None:
        super().__init__(eta=eta, threshold=threshold)
        self.gain = 0.0

    def margins(self, f: Projected, t: int) -> np.ndarray:
        lost = f.residuals(t)
        margins = np.maximum(1 - costs_of_projecting(lost, self.eta, self.threshold) - f.rounding, 0)
        # What the support set has nothing of has no projection to learn.
        margins[lost == f.squares_from(t)] = 0
        return margins

    def update(self, f: Projected, y: int, score: float) -> None:
        if f.mistaken:
            super().update(f, y, score)
        else:
            residual, square, loss = f.residual, f.projected_square, 1 - y * score
            tau = step(loss, float(costs_of_projecting(residual, self.eta, self.threshold)), square)
            self.gain += gain(tau, loss, square, math.sqrt(residual / self.most_lost))
            f.project(y * tau)

    def facts(self, f: Projected) -> dict[str, float]:
        return {"gain": self.gain}


class MulticlassProjectronPlusPlus(MulticlassProjectron):
    """The multiclass Projectron, which also projects examples that lead by less than 1, where that pays.

    Parameters
    ----------
    eta : float, > 0
        The most that the projection of a misclassified example may lose, of the true class's and the rival's function
        together; a margin error is projected if its loss exceeds distance / eta.
    threshold : {"distance", "squared_distance"}
        What eta is compared with, in both places: ||delta||, as the text has it (default), or ||delta||^2, as in the
        authors' toolbox.
    hierarchy : str or None
        Groups of labels that have to do with one another, such as ``(0 6 8) (3 5) 1 2 4 7 9``; groups may hold groups.
        Then the kernel of (x, y) and (x', y') is k(x, x') K(y, y'), with K(y, y') the common share of the paths from
        the root, and the margin between two labels is 1 - K(y, y'): a confusion within a group costs less. None
        keeps the classes apart: K is the Kronecker delta.

    Attributes
    ----------
    gain : float
        B of Theorem 6: what the margin updates so far take off the mistake bound.

    Notes
    -----
    O(n^2) a round for the n pairs of example and label held in the group, and as much memory. `of` takes any label
    kernel and any costs. Departures from the source: none by default; it mentions costs without going into them, and
    of several labels the one that violates its margin most is the rival of a margin error.

    References
    ----------
    Orabona, Keshet & Caputo (2009), JMLR 10, section 5; mistake bound: Theorem 6, for k(x, x) K(y, y) <= 1/4.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from budgetrun.engine import run
    >>> from budgetrun.kernels import Gaussian
    >>> X, y = load_digits(n_class=4, return_X_y=True)
    >>> count = run(MulticlassProjectronPlusPlus(eta=0.7), Gaussian(gamma=0.05), X / 16, y, n_classes=4)
    >>> count.mistakes, count.margin_updates
    (50, 25)
    """

    name = "projectron++"

    def __init__(self, *, eta: Positive, threshold: Threshold = "distance", hierarchy: Hierarchy | None = None) -> None:
        super().__init__(eta=eta, threshold=threshold)
        self.gain = 0.0
        self.hierarchy = hierarchy
        self.label_kernel: np.ndarray | None = None
        if hierarchy is not None:
            self.label_kernel = label_kernel(hierarchy)
            self.costs = 1 - self.label_kernel

    @classmethod
    def of(
        cls, label_kernel: np.ndarray, costs: np.ndarray | None = None, *, eta: float, threshold: Threshold = "distance"
    ) -> MulticlassProjectronPlusPlus:
        """Return a learner of any label structure.

        Parameters
        ----------
        label_kernel : array_like, shape (m, m)
            K(y, y'), symmetric and positive semidefinite.
        costs : array_like, shape (m, m), >= 0, or None
            The margin asked for between the row's class, the true one, and the column's; None for 1.
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
                raise ValueError(f"costs must be a matrix of shape {K.shape}, with no entry below 0")
        return learner

    def start(self, pool: Pool, n_classes: int) -> MulticlassProjected:
        K = self.label_kernel if self.label_kernel is not None else np.eye(n_classes)
        if len(K) != n_classes:
            raise InputError(
                f"projectron++: hierarchy has {len(K)} labels, the data {n_classes}: name every label of the data once"
            )
        return MulticlassProjected(pool, K)

    def margins(self, f: MulticlassProjected, t: int, true: np.ndarray, rivals: np.ndarray) -> np.ndarray:
        lost = f.residuals(t, true, rivals)
        margins = np.maximum(1 - costs_of_projecting(lost, self.eta, self.threshold) - f.rounding, 0)
        margins[lost == f.squares_of(t, true, rivals)] = 0
        return margins

    def update(self, f: MulticlassProjected, y: int, rival: int, lead: float) -> None:
        if f.mistaken:
            super().update(f, y, rival, lead)
        else:
            residual, square, loss = f.residual(y, rival), f.projected_square(y, rival), 1 - lead
            tau = step(loss, float(costs_of_projecting(residual, self.eta, self.threshold)), square)
            self.gain += gain(tau, loss, square, math.sqrt(residual / self.most_lost))
            f.project(y, rival, tau)

    def facts(self, f: MulticlassProjected) -> dict[str, float]:
        return {"gain": self.gain}


def costs_of_projecting(residuals: Any, eta: float, threshold: Threshold) -> Any:
    """Return what a projection costs of a margin error's gain: distance / eta.

    ``residuals`` is ||delta||^2 of one example or of several, and the costs have its shape.
    """
    return (np.sqrt(residuals) if threshold == "distance" else residuals) / eta


def step(loss: float, cost: float, projected_square: float) -> float:
    """Return tau, the weight of a projected margin error, in (0, 1]."""
    return min(loss / projected_square, 2 * (loss - cost) / projected_square, 1.0)


def gain(tau: float, loss: float, projected_square: float, lost: float) -> float:
    """Return beta, what a margin update adds to B of Theorems 4 and 6, below the definition of tau there.

    Parameters
    ----------
    tau, loss, projected_square : float
        As for `step`.
    lost : float >= 0
        ||delta|| in units of the most that the projection of a misclassified example may lose. That is eta, unless
        eta is compared with squared distances; then the proof needs sqrt(eta) in its place, and beta may be negative.
    """
    return tau * (2 * loss - tau * projected_square - 2 * lost)
