"""What every learner of several classes is, and the Perceptron among them."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np

from budgetrun.engine.hypotheses.multiclass import MulticlassHypothesis
from budgetrun.learners.base import Learner

if TYPE_CHECKING:
    from budgetrun.engine.pool import Pool


class MulticlassLearner(Learner):
    """A learner of classes 0 to m - 1, one function a class.

    The engine predicts the class of the largest score and calls `update` on the rounds where the learner acts: those
    on which the true class does not lead its rival, the best of the others, and those on which its lead is below
    ``margin``.

    Attributes
    ----------
    costs : ndarray, shape (m, m), or None
        What it costs to take the row's class for the column's, in units of ``margin``. With costs the margin of a
        round is 1 - max over r of (costs[y, r] - f_y + f_r), and its rival is that r; None is 1 for every r, which
        is the lead.
    """

    multiclass = True
    form = MulticlassHypothesis
    costs: np.ndarray | None = None

    def start(self, pool: Pool, n_classes: int) -> Any:
        return self.form(pool, n_classes)

    def margins(  # type: ignore[override]
        self, f: Any, t: int, true: np.ndarray, rivals: np.ndarray
    ) -> float | np.ndarray:
        """Return the margins of the rounds from ``t`` of the block on, shape (b - t,), or the one that all have.

        ``true`` and ``rivals``, shape (b - t,), are the classes of these rounds and their rivals.
        """
        return self.margin

    @abstractmethod
    def update(self, f: Any, y: int, rival: int, lead: float) -> None:  # type: ignore[override]
        """Act on the round in hand.

        Parameters
        ----------
        f : MulticlassHypothesis or the like
            The functions before the update on entry, after it on return; ``f.mistaken`` says whether the round is a
            mistake.
        y, rival : int
            The true class and its rival.
        lead : float
            f_y(x) - f_rival(x), as predicted; with ``costs``, and on no mistake, the margin as these have it.
        """


class MulticlassPerceptron(MulticlassLearner):
    """On a mistake, add the example to its class with weight 1 and to its rival with weight -1 (max-score).

    Notes
    -----
    O((M_t + m) d) a round.

    References
    ----------
    Crammer & Singer (2003), "Ultraconservative online algorithms for multiclass problems", JMLR 3.

    Examples
    --------
    >>> from budgetrun.engine import run
    >>> from budgetrun.kernels import Linear
    >>> run(MulticlassPerceptron(), Linear(), [[1.0], [1.0], [-1.0]], [2, 2, 0], n_classes=3).mistakes
    1
    """

    name = "perceptron"
    only_adds = True

    def __init__(self) -> None:
        pass

    def update(self, f: MulticlassHypothesis, y: int, rival: int, lead: float) -> None:
        f.add(y, rival, 1.0)
