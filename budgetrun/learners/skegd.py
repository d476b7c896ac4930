"""SkeGD and FORKS: gradient descent and Newton steps over the features of a sketched kernel matrix."""

import numpy as np

from budgetrun.base.params import AtLeastOne, Count, Positive, Seed
from budgetrun.engine.hypotheses.nystroem import Sketch, Sketched
from budgetrun.engine.pool import Pool
from budgetrun.learners.base import BinaryLearner, Budgeted, as_fields, derived


@as_fields
class SkeGD(Budgeted, BinaryLearner):
    """Gradient descent on the hinge loss; once there are B support examples, over features from a sketch of K.

    Parameters:
    budget : int, >= 1
        B, the number of support examples: the first ones with a positive loss.
    step : float, > 0
        eta. A positive loss adds eta y k(x, .) to f, or eta y z(x) to the weights once there are B support examples.
    columns : int, >= 1, or None
        The number of columns of the count sketch S_p; None means 3 B / 4, rounded.
    sampled : int in 1..B, or None
        The number of support examples in S_m, drawn without replacement, on which features depend; None means a fifth
        of ``columns``, rounded.
    rank : int in 1..columns, or None
        The number of features; None means B / 10, rounded.
    cycle : int, >= 1
        Every so many rounds with a loss, their example joins the sketch. The authors used 0.005 (T - B), for T rounds.
    seed : int, >= 0
        Seed of the learner's generator, ``numpy.random.default_rng(seed)``: when there are B support examples, their
        columns in S_p, their signs and S_m; then the column and the sign of each example that joins.

    Notes: O(B (d + rank)) per round, and O(B^3) once and whenever an example joins the sketch. With V D V^T the largest
    eigenvalues of S_p^T K S_p, and with + for the pseudoinverse, z(x) = D^1/2 V^T ((S_p^T K S_m)^+)^T S_m^T k(x). The
    paper was not at hand: the rule is that of a program for FORKS, read once, and its mistakes were not compared with
    ours. Not certain, and chosen here: the weights begin, in the round that fills the support set, as the shortest ones
    with f(x) on its example (0 if its squared features sum to at most 1e-9 k(x, x)), and stay the same numbers when an
    example joins, after the step of its round. Examples that join are not stored, so that in S_p^T K S_p their kernel
    values with each other are missing. Each eigenvector's largest component is positive, so that the weights belong to
    determined features; eigenvalues of at most 1e-9 of the trace of K, and singular values of at most 1e-6 of it, count
    as 0. In float32 the result is not determined.

    References: Zhang & Liao (2019), "Incremental randomized sketching for online kernel learning", ICML: SkeGD.

    >>> breast_cancer(SkeGD(budget=40), gamma=0.03).mistakes
    92
    """

    name = "skegd"
    title = "SkeGD"
    form = Sketched
    margin = 1.0
    draws = True
    compiled = False

    step: Positive = 0.2
    columns: Count = derived(lambda self: _part(0.75 * self.budget))
    sampled: Count = derived(lambda self: min(self.budget, _part(0.2 * self.columns)), at_most="budget")
    rank: Count = derived(lambda self: min(self.columns, _part(0.1 * self.budget)), at_most="columns")
    cycle: Count = 100
    seed: Seed = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        # The rounds with a loss since the features were last replaced.
        self._losses = 0
        self._sketch: Sketch | None = None
        self._random = np.random.default_rng(self.seed)

    def bytes_kept(self, size: int, row: float, n_features: int) -> float:
        # S_p, both sketches, and Q with the weights.
        sketches = self.columns * (size + self.columns + self.sampled)
        return 8.0 * (sketches + self.rank * (size + 1))

    def start(self, pool: Pool) -> Sketched:
        return Sketched(pool, self.step)

    def update(self, f: Sketched, y: int, score: float) -> None:
        if self._sketch is None:
            f.add(y * self.step)
            if f.size == self.budget:
                self._sketch = Sketch(self._random, f.gram(), self.columns, self.sampled)
                Q = self._sketch.features(self.rank, f.rounding)
                z = f.kernel_row() @ Q
                square = float(z @ z)
                f.approximate(Q, (f.current / square if square > f.rounding * f.square else 0.0) * z)
            return
        self.descend(f, y, score)
        self._losses += 1
        if self._losses == self.cycle:
            self._losses = 0
            self._sketch.add(f.kernel_row(), f.square)
            self.go_on(f, self._sketch.features(self.rank, f.rounding))

    def descend(self, f: Sketched, y: int, score: float) -> None:
        """Take a step over the features."""
        f.step(y * self.step)

    def go_on(self, f: Sketched, features: np.ndarray) -> None:
        """Continue with new features: with the same weights."""
        f.approximate(features, f.w)


@as_fields
class FORKS(SkeGD):
    """SkeGD with Newton steps on the squared hinge loss, which begin again whenever the features change.

    Parameters:
    step : float, > 0
        A positive loss adds step y k(x, .) to f, until there are B support examples.
    curvature : float, > 0
        A gradient g over the features adds curvature g g^T to the matrix A of the Newton steps.
    alpha : float, > 0
        A begins as alpha I.
    C : float, >= 1
        Before a step, w moves to the nearest w, by the metric of A, with |w . z(x)| <= C.

    Notes: O(B (d + rank) + rank^2) per round, and O(B^3) once and whenever an example joins the sketch; then w is 0 and
    A is alpha I again. The matrix of a step includes its gradient. Features and what is not certain are as for SkeGD.
    Not certain, and chosen here, too: the squared hinge loss; and that rounds without a loss leave w as it is, even if
    |w . z(x)| > C. Departures from the paper: the eigenvalues are computed anew, where the paper updates a truncated
    decomposition, which loses a part.

    References: Wen, Zhang, Wei, Hou, Li & Zhang (2024), "Fast second-order online kernel learning through incremental
    matrix sketching and decomposition", arXiv:2410.11188: FORKS.

    >>> breast_cancer(FORKS(budget=40), gamma=0.03).mistakes
    74
    """

    name = "forks"
    title = "FORKS"

    curvature: Positive = 0.2
    alpha: Positive = 0.01
    C: AtLeastOne = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        # A^-1, once there are features.
        self._inverse: np.ndarray = np.zeros((0, 0))

    def bytes_needed(self, size: int) -> float:
        return 16.0 * self.rank**2

    def bytes_kept(self, size: int, row: float, n_features: int) -> float:
        return super().bytes_kept(size, row, n_features) + 8.0 * self.rank**2

    def descend(self, f: Sketched, y: int, score: float) -> None:
        if not self._inverse.size:
            self._inverse = np.eye(self.rank) / self.alpha
        w, z = f.w, f.kernel_row() @ f.features
        excess = score - min(max(score, -self.C), self.C)
        direction = self._inverse @ z
        if excess:
            w = w - excess / float(z @ direction) * direction
        slope = -2 * y * (1 - y * (score - excess))
        growth = 1 + self.curvature * slope**2 * float(z @ direction)
        self._inverse -= np.multiply.outer(direction, self.curvature * slope**2 / growth * direction)
        f.move(w - slope / growth * direction)

    def go_on(self, f: Sketched, features: np.ndarray) -> None:
        """Continue with new features: begin again."""
        f.approximate(features, np.zeros(self.rank))
        self._inverse = np.eye(self.rank) / self.alpha


def _part(size: float) -> int:
    return max(1, int(size + 0.5))
