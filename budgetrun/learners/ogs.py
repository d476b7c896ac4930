"""Online greedy sparsification: steps that are projected on the support set if they nearly lie in its span."""

import math
from typing import Any, Literal

import numpy as np

from budgetrun.base.params import Count, NotNegative, Positive, ProperShare
from budgetrun.engine.hypotheses import Projected
from budgetrun.engine.hypotheses.frames import Curved, HintedFramed, MulticlassFramed
from budgetrun.engine.pool import Pool
from budgetrun.kernels.spans import LEAST
from budgetrun.learners.base import BinaryLearner, Learner, MulticlassLearner, RegressionLearner, as_fields, derived
from budgetrun.learners.steps import into_ball


class Sparsified(Learner):
    """A rule that projects examples that nearly lie in the span of the support set.

    Parameters:
    alpha : float, >= 0
        The largest squared distance from the span of an example that is projected (authors: 100 / T, for T rounds).
    U : float, > 0
        The bound on ||f||.

    References: Li et al. (2024), the successor of the Ahpatron paper, submitted to JMLR, as in its program.
    """


class AVPOGS(Sparsified, BinaryLearner):
    """On a margin below 1 - epsilon, take a step towards the example, or its projection on the span if that is near.

    Parameters:
    epsilon : float in (0, 1)
        Examples with a margin below 1 - epsilon are used.
    c : float, > 0
        The step is c U at first, and c U / sqrt(U^2 + L) from the first mistake after the first round on, where L is 1
        plus the sum of ||v||^2 over these mistakes; v is the example, or its projection.

    Notes: O(n^2) time per round and O(n^2) memory for n support examples. The learner has no budget: n depends on
    alpha. A round that is not a mistake can change f, but not L. Departures from the authors' program: L has k(x, x)
    instead of 1 for examples that are added. In the program, f = 0 predicts +1, but the first round always counts as a
    mistake: with ``tie: positive`` and y_1 = +1 it has one mistake more than this.

    >>> breast_cancer(AVPOGS(alpha=0.2), gamma=0.03).mistakes
    31
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
            self.step = self.next_step()
        move(f, y * self.step, projects)
        into_ball(f, self.U)

    def next_step(self) -> float:
        return self.c * self.U / math.sqrt(self.U**2 + self.L)


class MAVPOGS(AVPOGS):
    """AVP-OGS with one function per class: steps for the true class and against the rival, projected together.

    Parameters:
    alpha : float, >= 0
        The largest squared distance from the span of an example that is projected (authors: 500 / T, for T rounds).
    epsilon : float in (0, 1)
        Examples whose class leads its rival by less than 1 - epsilon are used.
    U : float, > 0
        The bound on the norm of each class's function.
    c : float, > 0
        The step is c U sqrt(M / (M U^2 + L)) for M classes, where L is 1 plus the sum of ||v||^2 over the mistakes
        after the first round; v is the example, or its projection.

    Notes: O(n^2 + M n) time per round and O(n^2 + M n) memory for n support examples, which all classes share. With two
    classes, the functions are f and -f, and this class learns f. Departures from the authors' program: as for AVP-OGS;
    examples that lie within 1e-3 ||k(x, .)|| of the span are always projected if there are more than two classes; and a
    tie of the true class with another one is a mistake.

    >>> digits(MulticlassMAVPOGS(alpha=0.3), gamma=0.05).mistakes
    45
    """

    name = "mavp_ogs"
    title = "MAVP-OGS"

    def __init__(
        self, *, alpha: NotNegative = 0.01, epsilon: ProperShare = 0.9, U: Positive = 10.0, c: Positive = 0.1
    ) -> None:
        super().__init__(alpha=alpha, epsilon=epsilon, U=U, c=c)
        self.step = self.next_step()

    def margins(self, f: Projected, t: int) -> float:
        return (1 - self.epsilon - f.rounding) / 2

    def next_step(self) -> float:
        return step_of_classes(self.c, self.U, 2, self.L)


class MulticlassMAVPOGS(MulticlassLearner):
    __doc__ = MAVPOGS.__doc__

    name = "mavp_ogs"
    title = "MAVP-OGS"
    form = MulticlassFramed

    def __init__(
        self, *, alpha: NotNegative = 0.01, epsilon: ProperShare = 0.9, U: Positive = 10.0, c: Positive = 0.1
    ) -> None:
        self.alpha = alpha
        self.epsilon = epsilon
        self.U = U
        self.c = c
        self.L = 1.0

    def start(self, pool: Pool, n_classes: int) -> MulticlassFramed:
        self.step = step_of_classes(self.c, self.U, n_classes, self.L)
        return MulticlassFramed(pool, n_classes)

    def margins(self, f: MulticlassFramed, t: int, y: int, rival: int) -> float:
        return 1 - self.epsilon - f.rounding

    def update(self, f: MulticlassFramed, y: int, rival: int, lead: float) -> None:
        projects = depends(f, self.alpha, LEAST)
        # The first example counts against all other classes.
        weights = np.zeros(f.n_classes) if f.size else np.full(f.n_classes, -1.0)
        weights[rival], weights[y] = -1.0, 1.0
        if f.mistaken and f.size:
            self.L += f.projected_square if projects else f.square
            self.step = step_of_classes(self.c, self.U, f.n_classes, self.L)
        move(f, weights * self.step, projects)
        norms = np.sqrt(f.norm_sq)
        f.scale(np.where(norms > self.U, self.U / np.maximum(norms, self.U), 1.0))


@as_fields
class GradientSteps(Sparsified):
    """The rule of AOGD-ALD, for two classes or numbers: gradient descent on the squared loss.

    Parameters:
    alpha : float, >= 0
        The largest squared distance from the span of an example that is projected (authors: 25 / T, for T rounds).
    c : float, > 0
        A factor of the step.
    offset : float, > 0
        The step is 2 c U / sqrt(S), where S is the offset plus the sum of 4 e^2 ||v||^2 so far, with e = f(x) - y; v is
        the example, or its projection.
    switch : int, >= 1, or None
        From the first round on that begins with so many support examples, every example is added. The authors used
        (sqrt(d^2 + 4 d T) - d) / 2, rounded, for d features and T rounds. None means never.

    Notes: O(n^2) time per round and O(n^2) memory for n support examples. The learner acts in every round. It has no
    budget: n depends on alpha and on the switch, after which a round costs O(n d). Departures from the authors'
    program: no switch by default; S has k(x, x) instead of 1 for examples that are added. The program is about
    regression.

    References: Li & Liao (2023), "Nearly optimal algorithms with sublinear computational complexity for online kernel
    regression", ICML: AOGD-ALD, as in its authors' program.
    """

    name = "aogd_ald"
    title = "AOGD-ALD"
    form = Projected
    margin = math.inf
    added = {"switch": None}

    alpha: NotNegative = 0.01
    U: Positive = 2.0
    c: Positive = 1.0
    offset: Positive = 1.0
    switch: Count | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self.S = self.offset

    def update(self, f: Projected, y: float, score: float) -> None:
        sparse = self.switch is None or f.size < self.switch
        projects = sparse and depends(f, self.alpha)
        error = score - y
        self.S += 4 * error**2 * (f.projected_square if projects else f.square)
        weight = -2 * error * self.c * self.U / math.sqrt(self.S)
        if sparse:
            move(f, weight, projects)
        else:
            f.add(weight, beside=True)
        into_ball(f, self.U)


class AOGDALD(GradientSteps, BinaryLearner):
    """Gradient descent on the squared loss, in every round; steps that nearly lie in the span are projected.

    >>> breast_cancer(AOGDALD(alpha=0.2), gamma=0.03).mistakes
    25
    """


class AOGDALDRegressor(GradientSteps, RegressionLearner):
    """Gradient descent on the squared loss, in every round; steps that nearly lie in the span are projected.

    >>> diabetes(AOGDALDRegressor(alpha=0.2), gamma=10).max_support
    23
    """


@as_fields
class MirrorSteps(GradientSteps):
    """The rule of AOMD-OGS with the squared loss, for two classes or numbers.

    Parameters:
    offset : float, > 0, or None
        The initial S of the step 2 c U / sqrt(S), as for AOGD-ALD; None means 0.04 (U + 1)^2, as in the authors' runs.

    References: Li et al. (2024), the successor of the Ahpatron paper, submitted to JMLR, as in its program.
    """

    name = "aomd_ogs"
    variant = "square"
    title = "AOMD-OGS, squared loss"
    added = {}

    U: Positive = 4.0
    c: Positive = 0.5
    offset: Positive = derived(lambda self: 0.04 * (self.U + 1) ** 2)


class AOMDOGSSquare(MirrorSteps, AOGDALD):
    """AOGD-ALD with other defaults: gradient descent on the squared loss, with steps that are projected or added.

    >>> breast_cancer(AOMDOGSSquare(alpha=0.2), gamma=0.03).mistakes
    21
    """


class AOMDOGSSquareRegressor(MirrorSteps, AOGDALDRegressor):
    """AOGD-ALD with other defaults: gradient descent on the squared loss, with steps that are projected or added.

    >>> diabetes(AOMDOGSSquareRegressor(alpha=0.2), gamma=10).max_support
    23
    """

    default_variant = True


class AOMDOGSHinge(Sparsified, BinaryLearner):
    """Optimistic mirror descent on the hinge loss: predict with a hint, and project steps that nearly lie in the span.

    Parameters:
    c : float, > 0
        The step is c U / sqrt(3 + S).
    M : int, >= 1
        The number of rounds that the hint averages.

    Attributes:
    S : float
        The sum of the positive values of ||v||^2 - 2 y <v, h> over the updates so far, where h is the hint and v is the
        example, or its projection.

    Notes: O(n^2 + M n) time per round and O(n^2) memory for n support examples. The hint h is the mean of y_j k(x_j, .)
    over the last M rounds, whose examples are stored in addition to the support set; the prediction is that of f + s h,
    with the step s. The learner has no budget: n depends on alpha. Departures from the authors' program: S has k(x, x)
    instead of 1 for examples that are added; examples that lie within 1e-3 ||k(x, .)|| of the span are always
    projected. In the program, f = 0 predicts +1, but the first round always counts as a mistake: with ``tie: positive``
    and y_1 = +1 it has one mistake more than this.

    >>> breast_cancer(AOMDOGSHinge(alpha=0.2), gamma=0.03).mistakes
    28
    """

    name = "aomd_ogs"
    variant = "hinge"
    title = "AOMD-OGS, hinge loss"
    default_variant = True
    form = HintedFramed
    margin = 1.0

    def __init__(self, *, alpha: NotNegative = 0.01, U: Positive = 20.0, c: Positive = 0.5, M: Count = 15) -> None:
        self.alpha = alpha
        self.U = U
        self.c = c
        self.M = M
        self.S = 0.0

    @property
    def step(self) -> float:
        return self.c * self.U / math.sqrt(3 + self.S)

    def start(self, pool: Pool) -> HintedFramed:
        return HintedFramed(pool, self.M, self.step)

    def update(self, f: HintedFramed, y: int, score: float) -> None:
        weight = y * self.step
        projects = depends(f, self.alpha, LEAST)
        gain = f.projected_square - 2 * y * f.projected_hint if projects else f.square - 2 * y * f.hint
        move(f, weight, projects)
        into_ball(f, self.U)
        self.S += max(0.0, gain)
        f.set_hint_weight(self.step)


@as_fields
class NewtonSteps(Sparsified):
    """The rule of AONS-OGS, for two classes or numbers: Newton steps on the squared loss.

    Parameters:
    alpha : float, >= 0
        The largest squared distance from the span of an example that is not added (authors: 25 / T, for T rounds).
    C : float, > 0
        The largest prediction: before each one, f moves to the nearest function, by the metric of A, with |f(x)| <= C.
    mu : float, > 0
        A is mu I, plus the sum of g g^T / (4 C^2 + 4) over the gradients g so far.
    order : {"paper", "program"}
        A step is - A^-1 g with the new A, as in the paper (default); or, as in the authors' program, with the one
        before unless the example of the round was added.

    Notes: O(n^2) time per round and O(n^2) memory for n support examples. The learner acts in every round, but the
    first example is only added, as in the authors' program. It has no budget: n depends on alpha. The coordinates are
    those of the Cholesky factor of the kernel matrix, which an added example extends by one; the result is the same in
    any orthonormal frame. Departures from the authors' program: examples that lie within 1e-3 ||k(x, .)|| of the span
    are never added. In the second round f is still 0, where the program predicts +1: with ``tie: mistake`` and
    y_2 = +1 it has one mistake fewer. It counts the first round as one: with ``tie: positive`` and y_1 = +1 it has one
    more. The program is about regression. NONS-ALD (Li & Liao, 2023, ICML) is the same algorithm.
    """

    name = "aons_ogs"
    title = "AONS-OGS"
    margin = math.inf
    form = Curved

    alpha: NotNegative = 0.01
    C: Positive = 1.0
    mu: Positive = 1.0
    order: Literal["paper", "program"] = "paper"

    def start(self, pool: Pool) -> Curved:
        return Curved(pool, self.mu, self.C)

    def update(self, f: Curved, y: float, score: float) -> None:
        projects = depends(f, self.alpha, LEAST)
        if not f.size:
            move(f, 0.0, projects)
            return
        f.cut()
        if not projects:
            f.add(0.0)
        f.descend(2 * (score - y), 1 / (4 * self.C**2 + 4), before=projects and self.order == "program")


class AONSOGS(NewtonSteps, BinaryLearner):
    """Newton steps on the squared loss, in every round, in coordinates of the span of the examples that were added.

    >>> breast_cancer(AONSOGS(alpha=0.2), gamma=0.03).mistakes
    24
    """


class AONSOGSRegressor(NewtonSteps, RegressionLearner):
    """Newton steps on the squared loss, in every round, in coordinates of the span of the examples that were added.

    >>> diabetes(AONSOGSRegressor(alpha=0.2), gamma=10).max_support
    23
    """


def depends(f: Any, alpha: float, least: float = 0.0) -> bool:
    """Return whether the example is nearly a linear combination of the support set; the first one is not.

    A residual of at most ``least`` k(x, x) is near enough for any alpha, and with ``least`` > 0 an example with
    k(x, x) = 0 is never added.
    """
    near = least * f.square
    if not f.size:
        return bool(least > 0 and f.residual <= near)
    return bool(f.residual <= max(alpha, near) + f.rounding * f.square)


def move(f: Any, weight: Any, projects: bool) -> None:
    """Add the example, or its projection, with this weight, or with one per class."""
    if projects:
        f.project(weight)
    else:
        f.add(weight)


def step_of_classes(c: float, U: float, n_classes: int, L: float) -> float:
    return c * math.sqrt(n_classes) * U / math.sqrt(n_classes * U**2 + L)
