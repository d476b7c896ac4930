"""Raker and AdaRaker: gradient descent over random features of several kernels, weighted by their losses."""

import math

import numpy as np

from budgetrun.base.params import Count, Factors, NotNegative, Positive, ProperShare, Seed
from budgetrun.engine.hypotheses.mixture import Mixture
from budgetrun.engine.pool import Pool
from budgetrun.kernels.features import Frequencies, SeveralWidths
from budgetrun.learners.base import BinaryLearner, Learner, RegressionLearner, as_fields, derived, gaussian_rate

# Six widths, sigma / 4 to 8 sigma.
FACTORS = (16.0, 4.0, 1.0, 0.25, 0.0625, 0.015625)


class OfSeveralKernels(Learner):
    """A linear function over random features for each of several kernels, for two classes or numbers.

    Parameters:
    factors : list of float, > 0
        The kernels: exp(-c gamma ||a - b||^2) for each factor c, where gamma is that of the Gaussian kernel of the run.
    features : int, >= 1
        D, the number of frequencies per kernel, each with a cosine and a sine.
    frequencies : {"orthogonal", "independent", "program"}
        At most d frequencies at a time have orthogonal directions (d: features of an example), with lengths as those of
        independent normal ones (orthogonal, default); or all are independent, as in FOGD; or their directions are
        orthogonal, and their squared lengths are chi-squared with one degree of freedom, as in the authors' program
        (program): then the features approximate another kernel, unless d = 1.
    seed : int, >= 0
        Seed of the frequencies.

    References: Shen, Chen & Giannakis (2019), "Random feature-based online multi-kernel learning in environments with
    unknown dynamics", JMLR 20: Raker and AdaRaker.
    """

    form = Mixture
    # It acts in every round.
    margin = math.inf
    draws = True
    compiled = False
    holds = 0.0
    # The factor of the gradient: 1, or 2 for the squared loss.
    _unit = 1.0

    factors: tuple[float, ...]
    features: int
    step: float
    frequencies: Frequencies
    seed: int

    def __post_init__(self) -> None:
        super().__post_init__()
        self.factors = tuple(self.factors)

    def start(self, pool: Pool) -> Mixture:
        rate = gaussian_rate(pool, self.name, "its random features approximate multiples of the gaussian kernel")
        rates = tuple(rate * factor for factor in self.factors)
        key = rates, self.features, self.seed, self.frequencies
        features = pool.shared.setdefault(key, SeveralWidths(*key))
        return Mixture(pool, features, self.step * self._unit)


def logistic(y: float, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return log(1 + exp(-y f)) and minus its derivative with respect to f."""
    margins, small = y * scores, np.exp(-np.abs(scores))
    return np.logaddexp(0.0, -margins), y * np.where(margins > 0, small, 1.0) / (1 + small)


def squared(y: float, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (y - f)^2 and minus its derivative with respect to f."""
    return np.square(y - scores), 2 * (y - scores)


@as_fields
class _Raker(OfSeveralKernels):
    """Raker, for two classes or numbers.

    Parameters:
    rate : float, > 0, or None
        A kernel's share of f is proportional to exp(-rate L), with L the sum of its losses so far. None means eta / 2,
        or eta for numbers.
    regulariser : float, >= 0, below 1 / (2 step)
        mu. The loss of a kernel in a round is log(1 + exp(-y w . z(x))), or (y - w . z(x))^2 for numbers, plus mu
        ||w||^2.
    """

    name = "raker"
    title = "Raker"
    calls = 50
    _loss = staticmethod(logistic)
    # The default rate, as a multiple of the step.
    _rate = 0.5

    factors: Factors = FACTORS
    features: Count = 50
    step: Positive = 0.5
    rate: Positive = derived(lambda self: self._rate * self.step)
    regulariser: NotNegative = 0.0
    frequencies: Frequencies = "orthogonal"
    seed: Seed = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        step, shrinks = self.step, 2 * self.step * self.regulariser
        if shrinks >= 1:
            raise ValueError(
                f"2 * step * regulariser must be below 1, because a round multiplies all weights by 1 minus that, got "
                f"{shrinks:g}; with step={step:g} use a regulariser below {0.5 / step:g}"
            )
        # The losses of each kernel so far.
        self._total = np.zeros((1, len(self.factors)))

    def update(self, f: Mixture, y: float, score: float) -> None:
        losses, slopes = self._loss(y, f.parts)
        self._total = self._total + losses + self.regulariser * np.square(f.w).sum(axis=2)
        f.descend(1 - 2 * self.step * self.regulariser, self.step * slopes)
        weights = np.exp(-self.rate * (self._total - self._total.min()))
        f.shares = weights / weights.sum()


class Raker(_Raker, BinaryLearner):
    """Gradient descent on the logistic loss for each of several kernels; f is their mean, weighted by their losses.

    Parameters:
    step : float, > 0
        eta. In every round, the weights w of each kernel take a step eta y z(x) / (1 + exp(y w . z(x))).

    Notes: O(K D d) per round for K kernels. There is no support set. Only for the Gaussian kernel. The learner acts in
    every round; a prediction of at most 1e-9 eta counts as 0. Departures from the source, which was not at hand: it is
    for regression; this form for two classes, and the rate, are those of a later program (Li & Liao, 2022), which has D
    = 70, eta = 5 / sqrt(T) and mu = 0.005.

    >>> breast_cancer(Raker(step=1), gamma=0.03).mistakes
    34
    """


class RakerRegressor(_Raker, RegressionLearner):
    """Gradient descent on the squared error for each of several kernels; f is their mean, weighted by their losses.

    Parameters:
    step : float, > 0
        eta. In every round, the weights w of each kernel take a step 2 eta (y - w . z(x)) z(x).

    Notes: O(K D d) per round for K kernels. There is no support set. Only for the Gaussian kernel. A prediction of at
    most 2e-9 eta counts as 0. The source was not at hand: that the losses have the rate eta, and the factor 2 of the
    step, are not certain. In the authors' program, which `AdaRakerRegressor` follows, shares differ.

    >>> diabetes(RakerRegressor(step=0.1), gamma=10).updates
    442
    """

    _loss = staticmethod(squared)
    _rate, _unit = 1.0, 2.0


@as_fields
class _AdaRaker(OfSeveralKernels):
    """AdaRaker, for two classes or numbers.

    Parameters:
    step : float, > 0
        eta. Copy k, for k = 1, 2, ..., begins in round 2^(k - 1) + 1, the first in round 1. In every round, the weights
        w of each of its kernels take a step eta s_k y z(x) / (1 + exp(y w . z(x))), or 2 eta s_k (y - w . z(x)) z(x)
        for numbers, with s_k = min(1/2, 2^(-k/2)).
    regulariser : float, >= 0, below 2 / step
        lambda. Before that step, w is multiplied by 1 - eta s_k lambda.
    rate : float, > 0
        c. The weight of copy k is set to c s_k in rounds 1, 1 + 2^(k-1), 1 + 2 2^(k-1), ... In every round, the weights
        are multiplied by (c s_n)^r if n copies have begun, with r their errors, scaled to [-1, 1], or 1 if they are
        equal. Then they grow by 1e-10, and are scaled to sum to 1.

    Notes: O(K D (d + log t)) in round t for K kernels. There is no support set. Only for the Gaussian kernel. The
    learner acts in every round. A prediction of at most 1e-9 eta (numbers: 2e-9 eta) counts as 0, and 0 is not a
    mistake in the weights; squared errors that differ by at most 2e-9 of the largest count as equal. The source was not
    at hand: the rule is that of the authors' programs for two classes and for numbers. In the paper, a copy begins
    anew, with w = 0, whenever its weight is set; in the programs, and here, it keeps what it has learned. The programs'
    features are not divided by sqrt(D), so that a step of 1 is the step D here, and a regulariser of 0.0005 is 0.0005 /
    D; defaults are their values (steps of 1 and 0.1 / 10, regularisers of 0.0005 and 0.01), with D = 50. Departures
    from the programs: their copies that have not begun have a weight, too, so that predictions depend on T; and that
    for numbers adds 1e-12 (copies: 1e-10) to numerator and denominator of scaled errors.
    """

    name = "adaraker"
    title = "AdaRaker"
    calls = 130
    _loss = staticmethod(logistic)

    factors: Factors = FACTORS
    features: Count = 50
    step: Positive = 50.0
    regulariser: NotNegative = 1e-5
    beta: ProperShare = 0.5
    rate: Positive = 1.0
    frequencies: Frequencies = "orthogonal"
    seed: Seed = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        step, shrinks = self.step, self.step * self.regulariser
        if shrinks >= 2:
            raise ValueError(
                f"step * regulariser must be below 2, because a round multiplies all weights by 1 minus half of that, "
                f"got {shrinks:g}; with step={step:g} use a regulariser below {2 / step:g}"
            )
        # The weights of the kernels of each copy, and those of the copies.
        self._theta = np.full((1, len(self.factors)), 1 / len(self.factors))
        self._h = np.ones(1)

    def update(self, f: Mixture, y: float, score: float) -> None:
        scales = _scales(len(self._h))
        _, slopes = self._loss(y, f.parts)
        f.descend((1 - self.step * self.regulariser * scales)[:, None, None], self.step * scales[:, None] * slopes)
        own = f.settled((_shares(self._theta) * f.parts).sum(axis=1))
        factors = (self.rate * scales[-1]) ** self._scaled(self._errors(y, own), f.rounding)
        self._h = _shares(self._h * factors + 1e-10)
        self._theta = self._reweighted(self._errors(y, f.parts), f.rounding)
        # The next round is t + 1.
        t = f.now
        if t.bit_length() > len(self._h):
            f.begin_copy()
            self._h = np.append(self._h, 0.0)
            self._theta = np.vstack([self._theta, np.full((1, len(self.factors)), 1 / len(self.factors))])
        begins = t % 2 ** np.arange(len(self._h)) == 0
        self._h = np.where(begins, self.rate * _scales(len(self._h)), self._h)
        f.shares = _shares(self._h)[:, None] * _shares(self._theta)

    def _errors(self, y: float, scores: np.ndarray) -> np.ndarray:
        """Return what the weights depend on."""
        return np.where(y * scores < 0, 1.0, 0.0)

    def _reweighted(self, errors: np.ndarray, rounding: float) -> np.ndarray:
        """Return the weights of the kernels after a round."""
        return _shares(self._theta) * self.beta**errors + 1e-4

    @staticmethod
    def _scaled(errors: np.ndarray, rounding: float) -> np.ndarray:
        """Return the errors of each row, scaled to [-1, 1]; 1 if they differ only by rounding."""
        most, least = errors.max(axis=-1, keepdims=True), errors.min(axis=-1, keepdims=True)
        half = (most - least) / 2
        apart = half > rounding * most
        return np.where(apart, (errors - (most + least) / 2) / np.where(apart, half, 1.0), 1.0)


class AdaRaker(_AdaRaker, BinaryLearner):
    """Copies of Raker with several steps, as its authors ran them: none forgets; f is their mean, weighted by mistakes.

    Parameters:
    beta : float, 0 < beta < 1
        After a round, the kernels' shares in a copy are multiplied by beta for a mistake, and grow by 0.0001; then they
        are scaled to sum to 1.

    >>> breast_cancer(AdaRaker(step=5), gamma=0.03).mistakes
    32
    """


@as_fields
class AdaRakerRegressor(_AdaRaker, RegressionLearner):
    """Copies of Raker with several steps, as its authors ran them: none forgets; f is their mean, weighted by errors.

    Parameters:
    beta : float, 0 < beta < 1
        After a round, the kernels' shares in a copy are multiplied by beta^r, with r the squared errors of the copy's
        kernels, scaled to [-1, 1], or 1 if they are equal; then they grow by 1e-12.

    >>> diabetes(AdaRakerRegressor(), gamma=10).updates
    442
    """

    _loss = staticmethod(squared)
    _unit = 2.0

    step: Positive = 0.5
    regulariser: NotNegative = 2e-4
    rate: Positive = 0.1

    def _errors(self, y: float, scores: np.ndarray) -> np.ndarray:
        return np.square(y - scores)

    def _reweighted(self, errors: np.ndarray, rounding: float) -> np.ndarray:
        theta = self._theta * self.beta ** self._scaled(errors, rounding) + 1e-12
        return np.where(theta.max(axis=1, keepdims=True) > 1e10, _shares(theta), theta)


def _scales(n: int) -> np.ndarray:
    """Return s_k for k = 1 to n."""
    return np.minimum(0.5, 0.5 ** (np.arange(1, n + 1) / 2))


def _shares(weights: np.ndarray) -> np.ndarray:
    """Return each row of weights, scaled to sum to 1."""
    return weights / weights.sum(axis=-1, keepdims=True)
