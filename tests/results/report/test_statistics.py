"""Tests of differences, against the statistics that are printed by Demsar (2006), JMLR 7, and against scipy."""

import math

import numpy as np
import pytest
from scipy.stats import ttest_rel

from budgetrun.results import statistics

# Table 6: the AUC of C4.5, C4.5+m, C4.5+cf and C4.5+m+cf on fourteen data sets; the first two are those of Table 2. On
# voting, the ranks of the last two are printed as 2 and 3, so their values differ in digits that are not printed.
TABLE6 = np.array([
    [0.763, 0.768, 0.771, 0.798], [0.599, 0.591, 0.590, 0.569], [0.954, 0.971, 0.968, 0.967],
    [0.628, 0.661, 0.654, 0.657], [0.882, 0.888, 0.886, 0.898], [0.936, 0.931, 0.916, 0.931],
    [0.661, 0.668, 0.609, 0.685], [0.583, 0.583, 0.563, 0.625], [0.775, 0.838, 0.866, 0.875],
    [1.000, 1.000, 1.000, 1.000], [0.940, 0.962, 0.965, 0.962], [0.619, 0.666, 0.614, 0.669],
    [0.972, 0.981, 0.9754, 0.9746], [0.957, 0.978, 0.946, 0.970],
])  # fmt: skip


def test_signed_ranks_are_those_of_demsar():
    found = statistics.paired(TABLE6[:, 1] - TABLE6[:, 0], "wilcoxon")
    # R+ = 93 and R- = 12, so z = -2.54.
    assert found.effect == pytest.approx(81 / 105, abs=0.015)
    assert found.p == pytest.approx(math.erfc(2.54 / math.sqrt(2)), abs=2e-3)


def test_holms_method_is_that_of_demsar():
    # Of p = 0.016, 0.019 and 0.607, the first two are rejected at 5%.
    found = statistics.holm([0.607, math.nan, 0.016, 0.019])
    assert found == pytest.approx([0.607, math.nan, 0.048, 0.048], nan_ok=True)
    assert statistics.holm([0.9, 0.8]) == [1.0, 1.0]
    assert statistics.holm([]) == []


def test_paired_t_is_that_of_scipy():
    one, other = np.random.default_rng(0).normal([[0.5], [0]], size=(2, 20))
    test = ttest_rel(one, other)
    found = statistics.paired(one - other)
    assert (found.p, found.low, found.high) == pytest.approx((test.pvalue, *test.confidence_interval()))
    assert found.effect == pytest.approx(test.statistic / math.sqrt(20))


def test_differences_that_are_all_alike():
    none, all_alike = np.zeros(5), np.full(5, 0.25)
    assert statistics.paired(none) == (0, 0, 0, 1, 0)
    assert statistics.paired(none, "wilcoxon") == (0, 0, 0, 1, 0)
    assert statistics.paired(all_alike) == (0.25, 0.25, 0.25, 0, math.inf)
    assert statistics.paired(-all_alike, "wilcoxon").effect == -1
    assert statistics.paired(np.array([2.0])) == pytest.approx((2, *[math.nan] * 4), nan_ok=True)


def test_what_differs_by_rounding_alone_is_equal():
    mistakes = np.array([[[300, 500, 700], [700, 300, 500]], [[301, 502, 703], [703, 301, 502]]]) / 1000
    means = mistakes.mean(axis=2)
    means[:, 1] = np.nextafter(means[:, 0], 0)
    assert statistics.mean_ranks(means).tolist() == [1.5, 1.5]
    assert statistics.minus(means[:, 0], means[:, 1]).tolist() == [0, 0]
    # As exact fractions: ties of 3 and -3, and of 5 and 5.
    exact = np.array([-3, 5, 5, 3, -2, 13.0])
    shaken = statistics.minus(0.4 + exact / 1000, np.full(6, 0.4))
    one, other = (statistics.paired(each, "wilcoxon") for each in (exact, shaken))
    assert (one.p, one.effect) == (other.p, other.effect) == (0.1875, pytest.approx(14 / 21))
