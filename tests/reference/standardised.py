"""Inputs on one scale, by the rows before."""

import math
from itertools import pairwise
from statistics import NormalDist

import numpy as np


def bits(rows):
    """Each column's only number other than 0 (1 if there is none); None if some column has several."""
    found = [sorted(set(column) - {0.0}) for column in np.transpose(rows).tolist()]
    return None if any(len(numbers) > 1 for numbers in found) else [(numbers or [1.0])[0] for numbers in found]


def scaled(x, before, units):
    """A row, standardised by those before it; or divided by the units of bits."""
    if units is not None:
        return [min(max(v / unit, -10), 10) for v, unit in zip(x, units, strict=True)]
    found = []
    for j, v in enumerate(x):
        column = [row[j] for row in before]
        deviation = float(np.std(column)) if len(set(column)) > 1 else 0.0
        found.append(min(max((v - math.fsum(column) / len(column)) / deviation, -10), 10) if deviation else 0.0)
    return found


def standardised(X):
    """All rows of a stream, each by those before it, and the function that scales further rows by all of them."""
    rows = [list(map(float, x)) for x in X]
    units = [bits(rows[: min(t + 1, 1024)]) for t in range(len(rows))]
    Z = [scaled(x, rows[:t], units[t]) for t, x in enumerate(rows)]
    return Z, lambda x: scaled(x, rows, units[-1])


def has_long_tails(rows):
    """Whether the deviation of some column is above 2.5 times its median distance from the median, if that is not 0."""
    for column in np.transpose(rows):
        spread = np.median(np.abs(column - np.median(column)))
        if spread > 0 and np.std(column) > 2.5 * spread:
            return True
    return False


LEVELS = [(2 * k + 1) / 32 for k in range(16)]


def by_rank(rows):
    """The function that gives a row's values the normal scores of their ranks among these rows."""
    knots = []
    for column in np.transpose(rows):
        scores = {}
        for level in LEVELS:
            scores.setdefault(float(np.quantile(column, level)), []).append(round(NormalDist().inv_cdf(level), 6))
        knots.append([(quantile, math.fsum(equal) / len(equal)) for quantile, equal in scores.items()])
    return lambda x: [score(v, own) for v, own in zip(x, knots, strict=True)]


def score(v, knots):
    """Linear between knots, and cut beyond them."""
    if v <= knots[0][0]:
        return knots[0][1]
    for (a, low), (b, high) in pairwise(knots):
        if v <= b:
            return low + (high - low) * (v - a) / (b - a)
    return knots[-1][1]
