"""Auto: linear learners and learners on a budget with kernels of several widths, combined as the stream says."""

import math
from typing import Any, ClassVar, Literal

import numpy as np

from budgetrun.base.errors import InputError, counted
from budgetrun.base.params import Count, EvenBudget
from budgetrun.engine.group import trial
from budgetrun.engine.hypotheses import Hypothesis
from budgetrun.engine.hypotheses.base import bytes_kept
from budgetrun.engine.hypotheses.linear import n_weights
from budgetrun.engine.hypotheses.stacked import BEGINNINGS, Part, Stacked, StackedClasses
from budgetrun.engine.pool import Pool
from budgetrun.kernels import Gaussian
from budgetrun.kernels.arithmetic import exp
from budgetrun.kernels.sums import inner
from budgetrun.learners.ahpatron import Ahpatron
from budgetrun.learners.base import BinaryLearner, Learner, MulticlassLearner, RegressionLearner
from budgetrun.learners.bpa import NearestBPA
from budgetrun.learners.krls import KRLS, KRLSClassifier, RecursiveSquares
from budgetrun.learners.logistic import LeastSquares, Logistic, OfInputs
from budgetrun.learners.norma import NORMARegressor
from budgetrun.learners.steps import logistic_slope

# The most features of which members have products: of splines; of the features themselves; and that of several classes.
FEW, MOST, MOST_OF_SEVERAL = 24, 128, 64
# The rates of kernels times the median of ||a - b||^2; the last one only with at most `FEW` features.
RATES = (0.25, 1.0, 4.0, 16.0)
# The step with products of inputs.
STEP_PAIRS = 0.03
# The steps of the stack: of classes, and of numbers.
STEP, STEP_NUMBERS = 0.2, 0.1
# Beyond so many deviations of the labels, the loss of the stack of numbers grows linearly.
HUBER = 3.0


class _Auto(Learner):
    """Linear learners and learners on a budget play together, and a linear function of their scores predicts.

    Parameters:
    budget : int, even, >= 2
        B, the most support examples of one member (and of one class, if there are several) between rounds.
    memory : int, >= 1, or None
        In bytes, without the work space for a block of 256 rows, 786,432 per kernel width. The budget is then the
        largest even number up to ``budget`` for which `bytes_in_use` is at most this; and members have twins only if
        that is at most this with twins, too. Too little for a budget of 2 is refused.

    Attributes:
    parts : list of (rate, learner)
        The members, also those that were dropped; ``members`` of the hypothesis has their weights and times.

    Notes: O(B d) per round for each member. It needs no other setting. Inputs are standardised by the mean and
    deviation of the rows before them and cut to [-10, 10]. The members have no kernel, or a Gaussian kernel
    exp(-c ||a - b||^2 / m) with c = 1/4, 1 and 4, and for classes with at most 24 features also 16, where m is the
    median of ||a - b||^2 over the rows before round 1, 4, 16, 64, 256 or 1024, whichever is the last; there, all
    members begin again with these rows. The kernel of the run is not used. If, from 256 rows on, the deviation of a
    column of dense rows is above 2.5 times its median absolute deviation, each member gets a twin, with inputs that are
    normal scores of ranks; after 2,048 rounds, the twins that have helped less in sum are dropped. The members with
    kernels, or with products of inputs, that have helped least are dropped as well: after 2,048 rounds all but nine (of
    several classes seven, of numbers four), after 8,192 all but seven (five, three). There are products of splines with
    at most 24 features, and those of inputs with at most 128 (of several classes, 64); and only if their weights are at
    most 4 B^2.

    The regret of f in its loss, against the best fixed weights of the members' scores and the inputs, is that of
    AdaGrad, O(sqrt(T)), from the last time on at which a member was dropped. No bound holds for its mistakes, or
    against members that were dropped.

    References: Wolpert (1992), "Stacked generalization", Neural Networks 5; Duchi, Hazan & Singer (2011), "Adaptive
    subgradient methods for online learning and stochastic optimization", JMLR 12. The combination is this package's.
    """

    name = "auto"
    title = "Auto"
    revision = 8
    continues = (2, 3, 4, 5, 7)
    form: ClassVar[type[Hypothesis]] = Stacked
    family = "combined"
    standardises = True
    margin = math.inf
    _step: ClassVar[float] = STEP
    _squares: ClassVar[type[RecursiveSquares]] = KRLSClassifier
    # What has no kernel, and its step with products of splines.
    _linear: ClassVar[type[OfInputs]] = Logistic
    _step_splines: ClassVar[float] = 0.1

    def __init__(self, *, budget: EvenBudget = 300, memory: Count | None = None) -> None:
        self.budget: int = budget
        self.memory = memory
        self._n_classes = 1

    def start(self, pool: Pool, *n_classes: int) -> Any:
        self._n_classes = max(n_classes, default=1)
        form: Any = self.form
        return form(pool, self._step, *n_classes)

    def bytes_needed(self, size: int) -> float:
        # With twins.
        return 2 * self._pairs(size)

    def bytes_kept(self, size: int, row: float, n_features: int) -> float:
        # Members hold standardised inputs, and are most before the first ones are dropped; the rows until then.
        each = 8.0 * n_features + 16
        members = [part.learner for part in self.members_with(size, n_features) if part.rate]
        kernel = Gaussian(gamma=1.0)
        own = (bytes_kept(*trial(one, kernel), one.budget, each, n_features) for one in members)
        members_kept = self._n_classes * sum(own) + self._linear_bytes(size, n_features)
        return 2 * members_kept + 8.0 * BEGINNINGS[-1] * n_features

    def bytes_in_use(self, budget: int, n_features: int, twins: bool = False) -> float:
        """Return about how many bytes a model with this budget takes at most, if members have twins or do not."""
        held = 4 * budget * self._n_classes
        # An example, its kernel values with a block of 256 rows and what is kept of it; the first rows.
        rows = held * len(RATES) * (8 * n_features + 12 * 256 + 200)
        of_members = self._pairs(budget) + rows + self._linear_bytes(budget, n_features)
        return (1 + twins) * of_members + 16 * BEGINNINGS[-1] * n_features

    def _pairs(self, size: int) -> float:
        return self._n_classes * len(RATES) * 16.0 * size**2

    def _linear_bytes(self, budget: int, n_features: int) -> float:
        weights = (n_weights(n_features, one.splines, one.pairs) for one in self.linear(budget, n_features))
        return self._n_classes * 16.0 * sum(weights)

    def members(self, n_features: int) -> list[Part]:
        """Return the members for examples with so many features."""
        budget = self.budget
        while budget > 2 and not self._fits(budget, n_features):
            budget -= 2
        if not self._fits(budget, n_features):
            least = self.bytes_in_use(budget, n_features)
            raise InputError(f"memory: with {counted(n_features, 'feature')}, auto needs at least {least:,.0f} bytes")
        return self.members_with(budget, n_features)

    def twins_fit(self, n_features: int) -> bool:
        """Return whether there is memory for two of each member."""
        return self._fits(self.budget, n_features, twins=True)

    def _fits(self, budget: int, n_features: int, twins: bool = False) -> bool:
        return self.memory is None or self.bytes_in_use(budget, n_features, twins) <= self.memory

    def members_with(self, budget: int, n_features: int) -> list[Part]:
        """Return the members with this budget for examples with so many features."""
        members = [Part(0.0, one) for one in self.linear(budget, n_features)] + self.of_steps(budget, n_features)
        if self._n_classes == 1:
            members += [Part(rate, self._squares(budget=max(2, budget // 3), nu=0.01)) for rate in RATES[:-1]]
        return members

    def of_steps(self, budget: int, n_features: int) -> list[Part]:
        """Return the members with kernels that are not KRLS."""
        raise NotImplementedError

    def linear(self, budget: int, n_features: int) -> list[OfInputs]:
        """Return the members without a kernel; if there are products, they are no more than the budget's pairs."""
        found = [self._linear(step=step, splines=splines) for splines in (False, True) for step in (0.1, 0.5)]
        if n_features <= (MOST if self._n_classes == 1 else MOST_OF_SEVERAL):
            found.append(self._linear(step=STEP_PAIRS, pairs=MOST))
        if n_features <= FEW:
            found.append(self._linear(step=self._step_splines, pairs=FEW, splines=True))
        most = len(RATES) * budget**2
        return [one for one in found if not one.pairs or n_weights(n_features, one.splines, one.pairs) <= most]


class _OfClasses(_Auto):
    """Auto with classes, which can be weighted.

    Parameters:
    class_weight : {"balanced"} or None
        "balanced": predict for a small balanced error, the mean over classes of the share of each that is missed. From
        the score of a class is subtracted the logarithm of the share of its labels so far, with one more of each class.
        What is learned is the same. None (default): for few mistakes.

    References: Menon et al. (2021), "Long-tail learning via logit adjustment", ICLR, eq. (9) with tau = 1, for
    ``class_weight``.
    """

    added = {"class_weight": None}

    def __init__(
        self, *, budget: EvenBudget = 300, memory: Count | None = None, class_weight: Literal["balanced"] | None = None
    ) -> None:
        super().__init__(budget=budget, memory=memory)
        self.class_weight = class_weight
        self.balanced = class_weight is not None

    def linear(self, budget: int, n_features: int) -> list[OfInputs]:
        return [Logistic(rates="constant"), *super().linear(budget, n_features)]

    def of_steps(self, budget: int, n_features: int) -> list[Part]:
        rates = RATES if n_features <= FEW else RATES[:-1]
        epsilons = (0.9,) if self._n_classes == 1 else (0.5, 0.9)
        return [
            *(Part(rate, NearestBPA(budget=budget, C=1.0)) for rate in rates),
            *(Part(rate, Ahpatron(budget=budget, epsilon=epsilon)) for rate in rates for epsilon in epsilons),
        ]


class AutoClassifier(_OfClasses, BinaryLearner):
    """Logistic regressions, BPA-NN, Ahpatron and KRLS play together; a logistic regression on their scores predicts.

    Notes: O(B d + B^2) per round for each member. Those without a kernel are logistic regressions with a constant step
    of 0.1, with adagrad and steps of 0.1 and 0.5, on splines of single inputs with the same steps, and with products of
    two inputs and a step of 0.03, or of two splines and 0.1; for each width, there are BPA-NN with C = 1, Ahpatron with
    epsilon = 0.9, and for the first three KRLS on the labels -1 and 1, with a third of the budget and nu = 0.01, which
    takes O(B^2 / 9) per round. The stack is a logistic regression with adagrad, a step of 0.2 and 1 added to the sums
    of squared derivatives; it learns after the members have predicted, from the scores before their updates.

    >>> breast_cancer(AutoClassifier(), gamma=0.03).mistakes
    25
    """

    def update(self, f: Stacked, y: int, score: float) -> None:
        f.adapt(y * logistic_slope(y * (score + f.threshold)), STEP)
        if self.balanced:
            f.balance((y + 1) // 2)


class MulticlassAuto(_OfClasses, MulticlassLearner):
    """For each class, members of the binary ``auto`` tell it from all others; each has one weight for all classes.

    Notes: O(M B d) per round for each member and M classes. There is no KRLS, but there is Ahpatron with epsilon = 0.5
    as well. The loss is the softmax's cross-entropy, -log(exp(f_y) / sum of exp(f_c)); the inputs have weights of their
    own for each class, and a fifth of another one for each class is added to a member's.

    >>> digits(MulticlassAuto(budget=50), gamma=0.05).mistakes
    17
    """

    form = StackedClasses

    def update(self, f: StackedClasses, y: int, rival: int, lead: float) -> None:
        scores = f.predicted
        shares = exp(scores - scores.max())
        slopes = shares / -inner(shares, np.ones(len(shares)))
        slopes[y] += 1
        f.adapt_each(slopes, STEP)
        if self.balanced:
            f.balance(y)


class AutoRegressor(_Auto, RegressionLearner):
    """Least squares, NORMA and KRLS play together; least squares on their scores predict.

    Notes: O(B d + B^2) per round for each member. They learn labels in units of the deviation of those before they
    began for the last time, from their mean, cut to [-30, 30]. Those without a kernel are least squares with adagrad
    and steps of 0.1 and 0.5, on the inputs and on splines of single ones, and with products of two inputs and a step of
    0.03, or of two splines and 0.05; for each width, there are NORMA with a step of 0.5 and a regulariser of 1e-4, and
    KRLS with a third of the budget and nu = 0.01, which takes O(B^2 / 9) per round. The step of the stack is 0.1. Its
    loss is Huber's: squared up to an error of 3 deviations, linear beyond.

    >>> diabetes(AutoRegressor(budget=50), gamma=10).updates
    442
    """

    _step, _step_splines = STEP_NUMBERS, 0.05
    _squares, _linear = KRLS, LeastSquares

    def of_steps(self, budget: int, n_features: int) -> list[Part]:
        return [Part(rate, NORMARegressor(budget=budget, step=0.5, regulariser=1e-4)) for rate in RATES[:-1]]

    def update(self, f: Stacked, y: float, score: float) -> None:
        f.adapt(min(max((y - score) / f.unit, -HUBER), HUBER), STEP_NUMBERS)
