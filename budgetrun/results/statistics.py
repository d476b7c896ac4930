"""Tests of differences: paired tests over streams, Holm's method, and ranks over data sets.

References: Demsar (2006), "Statistical comparisons of classifiers over multiple data sets", JMLR 7.
"""

import math
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

LEVEL = 0.05
# Means of the same numbers, added in another order, differ by less than this, relative to them.
ROUNDING = 1e-12
TestName = Literal["t", "wilcoxon"]


class Paired(NamedTuple):
    """The mean of differences, its 95% interval by the t-distribution, a two-sided p, and the size of the effect.

    The effect is the mean in standard deviations for the t-test, and the rank-biserial correlation, from -1 to 1, for
    Wilcoxon's signed-rank test. What one difference does not tell is NaN.
    """

    mean: float
    low: float
    high: float
    p: float
    effect: float


def minus(one: Any, other: Any) -> Any:
    """Return one - other, of arrays or series; 0 where they differ by rounding alone."""
    found = one - other
    return found * (abs(found) >= ROUNDING * (abs(one) + abs(other)))


def paired(differences: np.ndarray, test: TestName = "t") -> Paired:
    """Test whether differences, shape (n,), are 0 on average (t) or symmetric about 0 (wilcoxon)."""
    from scipy.special import stdtr, stdtrit

    n, mean = len(differences), float(differences.mean())
    if n < 2:
        return Paired(mean, *[math.nan] * 4)
    spread = float(differences.std(ddof=1))
    deviation = spread / math.sqrt(n)
    half = float(stdtrit(n - 1, 1 - LEVEL / 2)) * deviation
    if test == "wilcoxon":
        from scipy.stats import rankdata, wilcoxon

        # Differences that are equal but for rounding have one rank.
        differences = _rounded(differences)
        ranks = rankdata(np.abs(differences))
        effect = float((ranks * np.sign(differences)).sum() / ranks.sum())
        # Equal pairs count half for either side.
        p = float(wilcoxon(differences, zero_method="zsplit").pvalue) if differences.any() else 1.0
    else:
        effect = mean / spread if spread else math.copysign(math.inf, mean) if mean else 0.0
        p = float(2 * stdtr(n - 1, -abs(mean) / deviation)) if deviation else float(mean == 0)
    return Paired(mean, mean - half, mean + half, p, effect)


def holm(ps: Sequence[float]) -> list[float]:
    """Return each p adjusted by Holm's method; NaN where it is NaN."""
    found, largest = [math.nan] * len(ps), 0.0
    order = sorted((i for i, p in enumerate(ps) if not math.isnan(p)), key=lambda i: ps[i])
    for k, i in enumerate(order):
        largest = max(largest, min(1.0, (len(order) - k) * ps[i]))
        found[i] = largest
    return found


class Friedman(NamedTuple):
    """Friedman's chi-squared with its p, Iman and Davenport's F, and Nemenyi's critical difference at 5%."""

    chi2: float
    p: float
    f: float
    distance: float


def mean_ranks(values: np.ndarray) -> np.ndarray:
    """Return the mean rank of each column, 1 for the smallest value of a row; shape (n_rows, n_columns).

    Values that are equal but for rounding have one rank.
    """
    from scipy.stats import rankdata

    ranks: np.ndarray = np.mean(rankdata(_rounded(values), axis=1), axis=0)
    return ranks


def _rounded(values: np.ndarray) -> np.ndarray:
    """Return values in parts of the largest of their row, with so few digits that rounding makes no difference."""
    largest = np.abs(values).max(axis=-1, keepdims=True)
    found: np.ndarray = np.round(values / np.where(largest > 0, largest, 1.0), 10)
    return found


def friedman(ranks: np.ndarray, n: int) -> Friedman:
    """Test whether mean ranks over n data sets, shape (k,), differ."""
    from scipy.stats import chi2, studentized_range

    k = len(ranks)
    statistic = 12 * n / (k * (k + 1)) * (float(np.square(ranks).sum()) - k * (k + 1) ** 2 / 4)
    rest = n * (k - 1) - statistic
    f = (n - 1) * statistic / rest if rest > 0 else math.inf
    quantile = float(studentized_range.ppf(1 - LEVEL, k, np.inf)) / math.sqrt(2)
    return Friedman(statistic, float(chi2.sf(statistic, k - 1)), f, quantile * math.sqrt(k * (k + 1) / (6 * n)))
