"""PROS-N-KONS and CON-KONS: Newton steps over the Nystroem features of a dictionary that is drawn at random."""

import math
from typing import ClassVar, Literal

import numpy as np
from scipy.linalg.blas import dsymv, dsyr

from budgetrun.base.params import Positive, Seed
from budgetrun.engine.hypotheses.embedded import Embedded, one_larger
from budgetrun.engine.pool import Pool
from budgetrun.learners.base import BinaryLearner, as_fields, derived


@as_fields
class PROSNKONS(BinaryLearner):
    """Newton steps on the squared loss over a dictionary's features; each time an example joins it, begin again.

    Parameters:
    g : float, > 0
        The ridge of the leverage scores by which examples join the dictionary; a larger one gives a smaller dictionary.
    alpha : float, > 0
        The matrix of the Newton steps begins as alpha I.
    beta : float, > 0
        An example joins with probability min(1, beta tau), where tau is its leverage score.
    epsilon : float, > 0
        The leverage score is (1 + epsilon) times its estimate.
    C : float, > 0
        The bound on |f(x)|.
    curvature : float, > 0, or None
        sigma: a gradient G adds sigma / 2 G G^T to the matrix. None means 1 / (8 C^2).
    seed : int, >= 0
        Seed of the learner's generator, ``numpy.random.default_rng(seed)``; one uniform number per round. The example
        joins if it is below the probability.
    reading : {"algorithm", "program"}
        The step uses the matrix with the round's gradient (algorithm, default), or without it (program: a program that
        later authors compare with).

    Notes: O(n d + n^2) time per round and O(n^2) memory for n examples in the dictionary; there is no budget. Every
    round acts: f moves to the nearest function with |f(x)| <= C, then takes a Newton step on (f(x) - y)^2, in the
    coordinates of k(x, .) in the span of the dictionary. After the step, the example may join; then w = 0, and the next
    round predicts 0, which counts by the rule for ties. A score of at most 1e-9 counts as 0. An example whose squared
    distance from the span is at most 1e-6 k(x, x) joins the dictionary without a coordinate of its own.

    The learner is made for regression; here, the labels are the numbers to predict, and the sign of f is the class. The
    source was not at hand: the rule is that of a program with which later authors compare their own, read once, and its
    mistakes were not compared with ours. Departures from that program: its order of step and matrix is
    ``reading="program"``, and the examples without a coordinate.

    References: Calandriello, Lazaric & Valko (2017), "Efficient second-order online kernel learning with adaptive
    embedding", NIPS: PROS-N-KONS, with the leverage scores of KORS; CON-KONS is without its restarts.

    >>> breast_cancer(PROSNKONS(), gamma=0.03).mistakes
    150
    """

    # True if f begins again and again, so that it cannot be expected to do well on short streams.
    restarts: ClassVar[bool] = True
    name = "pros_n_kons"
    title = "PROS-N-KONS"
    form = Embedded
    margin = math.inf
    draws = True
    compiled = False

    g: Positive = 5.0
    alpha: Positive = 1.0
    beta: Positive = 1.0
    epsilon: Positive = 0.5
    C: Positive = 1.0
    curvature: Positive = derived(lambda self: 1 / (8 * self.C**2))
    seed: Seed = 0
    reading: Literal["algorithm", "program"] = "algorithm"

    def __post_init__(self) -> None:
        super().__post_init__()
        # The inverse of the matrix A of the Newton steps: its lower triangle, ordered by columns.
        self._inverse: np.ndarray = np.zeros((0, 0), order="F")
        self._random = np.random.default_rng(self.seed)

    def start(self, pool: Pool) -> Embedded:
        return Embedded(pool, self.C, self.g)

    def update(self, f: Embedded, y: int, score: float) -> None:
        if len(f.w):
            direction: np.ndarray = dsymv(1.0, self._inverse, f.phi, lower=1)
            f.project(direction)
            self.descend(f, 2 * (score - y), direction)
        residual = f.residual
        probability = min(1.0, self.beta * (1 + self.epsilon) * residual / (self.g + residual))
        if self._random.random() < probability:
            grown = f.join(1 / math.sqrt(probability))
            self.go_on(f, grown)

    def descend(self, f: Embedded, slope: float, direction: np.ndarray) -> None:
        """Take the Newton step for the gradient ``slope`` phi, and add that to A; ``direction`` is A^-1 phi."""
        before = self.restarts and self.reading == "program"
        added = self.curvature / 2 * slope**2
        factor = 1 + added * float(f.phi @ direction)
        f.step((-slope if before else -slope / factor) * direction)
        self._inverse = dsyr(-added / factor, direction, lower=1, a=self._inverse, overwrite_a=1)

    def go_on(self, f: Embedded, grown: bool) -> None:
        """Continue with the new dictionary: begin again."""
        f.step(-f.w)
        self._inverse = np.eye(len(f.w), order="F") / self.alpha


class CONKONS(PROSNKONS):
    """Newton steps on the squared loss over the features of a dictionary; as examples join it, f stays as it is.

    Parameters:
    reading : {"algorithm", "program"}
        When an example joins, the matrix is alpha I on what is new in the span, and stays as it is on the rest
        (algorithm, default); or alpha I is added to all of it (program: a program that later authors compare with).

    Notes: O(n d + n^2) time per round and O(n^2) memory for n examples in the dictionary; no budget. All else is as in
    PROS-N-KONS. The step uses the matrix with the round's gradient.

    >>> breast_cancer(CONKONS(), gamma=0.03).mistakes
    30
    """

    restarts = False
    name = "con_kons"
    title = "CON-KONS"

    def go_on(self, f: Embedded, grown: bool) -> None:
        """Continue with the new dictionary: what is new in the span has no weight yet."""
        if self.reading == "program":
            old: np.ndarray = np.linalg.inv(self._inverse + np.tril(self._inverse, -1).T)
            larger = one_larger(old, 0.0) if grown else old
            self._inverse = np.tril(np.linalg.inv(larger + self.alpha * np.eye(len(f.w)))).copy(order="F")
        elif grown:
            self._inverse = one_larger(self._inverse, 1 / self.alpha)


# As files of version 0.2.0 name it.
ConKons, ProsNKons = CONKONS, PROSNKONS
