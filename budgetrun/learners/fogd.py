"""FOGD: gradient descent over random Fourier features."""

from typing import Literal

from budgetrun.base.params import Count, Positive, Seed
from budgetrun.engine.hypotheses import ExplicitFeatures, random_features
from budgetrun.engine.pool import Pool
from budgetrun.learners.base import BinaryLearner, Learner, RegressionLearner, as_fields, gaussian_rate


@as_fields
class FourierSteps(Learner):
    """Random features with steps of one length, for two classes or numbers.

    Parameters:
    features : int, >= 1
        D, the number of frequencies or of features; see ``counting``.
    seed : int, >= 0
        Seed of the frequencies: the rows of ``numpy.random.default_rng(seed).normal(0, 1 / sigma, (n, d))``.
    counting : {"frequencies", "features"}
        D frequencies, each with a cosine and a sine, so 2 D features (default); or D features of D / 2 frequencies.

    Notes: O(D d) per round. There is no support set and no budget; memory is needed for the frequencies (D d numbers)
    and the weights. Only for the Gaussian kernel, exp(-||a - b||^2 / (2 sigma^2)). Learners with the same frequencies
    on the same stream compute the features once. Departures from the source: none.

    References: Lu, Hoi, Wang, Zhao & Liu (2016), "Large scale online kernel learning", JMLR 17, Algorithm 1, without
    the regulariser. For regression, the step is that of the program of Li et al. (2024).
    """

    name = "fogd"
    title = "FOGD"
    form = ExplicitFeatures
    draws = True

    features: Count
    step: Positive
    seed: Seed = 0
    counting: Literal["frequencies", "features"] = "frequencies"

    def __post_init__(self) -> None:
        features, by_two = self.features, self.counting == "features"
        if features > _MOST_FEATURES:
            raise ValueError(f"features must be at most {_MOST_FEATURES:,}, got {features:,}")
        if by_two and features % 2:
            raise ValueError(
                f"features must be even with counting=features (a cosine and a sine per frequency), got {features}"
            )
        self.n_frequencies = features // 2 if by_two else features

    def start(self, pool: Pool) -> ExplicitFeatures:
        rate = gaussian_rate(pool, "fogd", "its random features approximate the gaussian kernel")
        return ExplicitFeatures(pool, random_features(pool, rate, self.n_frequencies, self.seed), self.step)


class FOGD(FourierSteps, BinaryLearner):
    """Gradient descent on the hinge loss, over random features whose inner products approximate the Gaussian kernel.

    Parameters:
    step : float, > 0
        eta. An example with a positive loss adds eta y z(x) to the weights.

    >>> breast_cancer(FOGD(features=50, step=0.5), gamma=0.03).mistakes
    38
    """

    margin = 1.0

    def update(self, f: ExplicitFeatures, y: int, score: float) -> None:
        f.step(y * self.step)


class FOGDRegressor(FourierSteps, RegressionLearner):
    """Gradient descent on the squared error, over random features whose products approximate the Gaussian kernel.

    Parameters:
    step : float, > 0
        eta. A round adds 2 eta (y - f(x)) z(x) to the weights.

    >>> diabetes(FOGDRegressor(features=50, step=0.1), gamma=10).updates
    442
    """

    def update(self, f: ExplicitFeatures, y: float, score: float) -> None:
        f.step(2 * self.step * (y - score))


# With d features of an example, their frequencies take 8 d bytes each.
_MOST_FEATURES = 1_000_000
