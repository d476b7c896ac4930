"""Merging two points of a Gaussian expansion into one: which two, and where it is."""

import math
from functools import cache

import numpy as np

from budgetrun.kernels.arithmetic import exp
from budgetrun.kernels.compiling.objects import apart
from budgetrun.kernels.sums import where

GOLDEN = (math.sqrt(5.0) - 1) / 2
# Searches stop at brackets below this.
WIDTH = 2e-4
# Values that differ by less, relative to what they are made of, are equal.
EQUAL = 1e-12
# So are weights, or their squares, that differ by less, relative to one of them.
ALIKE = 1e-9
# The points of a lookup table along each side, and the width at which its searches stop.
GRID, TABLE_WIDTH = 400, 1e-10
LOG_2 = 0.6931471805599453


def merged_weight(logs: np.ndarray, a: np.ndarray, b: np.ndarray, h: np.ndarray) -> np.ndarray:
    """Return a k^((1 - h)^2) + b k^(h^2): the weight of h x + (1 - h) y, if x has the weight a and y the weight b.

    All shapes are (n,); ``logs`` are log k(x, y), at most 0.
    """
    n, powers = len(h), exp(np.concatenate((logs * ((1 - h) * (1 - h)), logs * (h * h))))
    return a * powers[:n] + b * powers[n:]


@apart
def best_places(logs: np.ndarray, a: np.ndarray, b: np.ndarray, width: float) -> np.ndarray:
    """Return the h that maximizes `merged_weight`, by golden section search.

    The bracket is [0, 1] if a and b have the same sign. Otherwise it is [1, 6] if a is positive, and [-5, 0] if not.
    The midpoint of the last bracket is returned, whose length is below ``width``. Of two equal values, up to rounding,
    the lower part is kept.
    """
    low = where(a * b > 0, 0.0, where(a > 0, 1.0, -5.0))
    high = where(a * b > 0, 1.0, low + 5.0)
    p, q = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    at_p, at_q = -merged_weight(logs, a, b, p), -merged_weight(logs, a, b, q)
    searching = high - low >= width
    while searching.any():
        lower = at_p <= at_q + EQUAL * np.abs(at_q)
        high, low = where(searching & lower, q, high), where(searching & ~lower, p, low)
        new = where(lower, high - GOLDEN * (high - low), low + GOLDEN * (high - low))
        value = -merged_weight(logs, a, b, new)
        p, q = where(lower, new, q), where(lower, p, new)
        at_p, at_q = where(lower, value, at_q), where(lower, at_p, value)
        searching = high - low >= width
    return (low + high) / 2


def first_least(values: np.ndarray, tolerances: np.ndarray) -> int:
    """Return the index of the least value: the first of several that differ by at most their tolerances; -1 if none.

    Values that are infinite do not count.
    """
    best, smaller = -1, np.flatnonzero(values < np.inf)
    while len(smaller):
        best = smaller[0]
        smaller = smaller[values[smaller] < values[best] - tolerances[smaller]]
    return best


def shares(weights: np.ndarray, p: int, zero: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the sums over the classes of a_p / (a_p + a_i) and of a_i / (a_p + a_i), for every point i.

    ``weights`` have the shape (n_classes, n). ``zero`` stands for an a_p + a_i that is 0 up to `ALIKE` |a_p|.
    """
    n = weights.shape[1]
    of_p, of_others = np.zeros(n), np.zeros(n)
    for c in range(len(weights)):
        total = weights[c, p] + weights[c]
        total = where(np.abs(total) <= ALIKE * np.abs(weights[c, p]), zero, total)
        of_p += weights[c, p] / total
        of_others += weights[c] / total
    return of_p, of_others


def degradations(logs: np.ndarray, weights: np.ndarray, p: int, h: np.ndarray) -> np.ndarray:
    """Return the squared norm of the change of f if point p is merged with each other point, at h."""
    kernel, of_p, of_others = exp(logs), exp(logs * ((1 - h) * (1 - h))), exp(logs * (h * h))
    lost = np.zeros(len(logs))
    for c in range(len(weights)):
        a, b = weights[c, p], weights[c]
        z = a * of_p + b * of_others
        lost += a * a + b * b + 2 * kernel * a * b - z * z
    return lost


def log(x: np.ndarray) -> np.ndarray:
    """Return the logarithms of positive numbers, of operations whose bits are the same on every machine."""
    mantissa, exponent = np.frexp(x)
    s = (mantissa - 1) / (mantissa + 1)
    series = np.zeros_like(x)
    for k in range(37, 0, -2):
        series = series * (s * s) + 1 / k
    return exponent * LOG_2 + 2 * s * series


@apart
def lightest(weights: np.ndarray, same_sign: bool) -> int:
    """Return the point with the smallest weight, by its square: the first of several that are equal up to `ALIKE`.

    ``weights`` have the shape (n_classes, n). With ``same_sign``, another point must have its sign; -1 if none has one.
    """
    squares = np.zeros(weights.shape[1])
    for c in range(len(weights)):
        squares += weights[c] * weights[c]
    p = first_least(squares, ALIKE * squares)
    while same_sign and p >= 0 and (weights[0, p] == 0 or (np.sign(weights[0]) == np.sign(weights[0, p])).sum() < 2):
        squares[p] = np.inf
        p = first_least(squares, ALIKE * squares)
    return p


@apart
def nearest(lost: np.ndarray, weights: np.ndarray, p: int, same_sign: bool) -> int:
    """Return the point whose merging with point p loses least: the first of several that are equal up to `EQUAL`."""
    unit = np.zeros(len(lost))
    for c in range(len(weights)):
        unit += weights[c, p] * weights[c, p] + weights[c] * weights[c]
    allowed = np.sign(weights[0]) == np.sign(weights[0, p]) if same_sign else unit >= 0
    allowed[p] = False
    return first_least(where(allowed, lost, np.inf), EQUAL * unit)


@apart
def best_partner(logs: np.ndarray, weights: np.ndarray, p: int, zero: float, same_sign: bool) -> tuple[int, float]:
    """Return the point with which merging point p loses least, and h, by searches for all points."""
    of_p, of_others = shares(weights, p, zero)
    h = best_places(logs, of_p, of_others, WIDTH)
    i = nearest(degradations(logs, weights, p, h), weights, p, same_sign)
    return i, h[i]


@apart
def last_equal(row: np.ndarray, weights: np.ndarray) -> int:
    """Return the last point that is equal to the example of the round, as the authors' program finds it; -1 if none is.

    Equal is a kernel value of 1 after rounding to 8 digits. The program looks at the points class by class, at each in
    the first class in which it has a weight. ``row`` has the kernel values of the points with the example, shape (n,),
    ``weights`` have the shape (n_classes, n).
    """
    found = -1
    for c in range(len(weights)):
        for i in range(len(row)):
            if weights[c, i] != 0 and not weights[:c, i].any() and row[i] * 1e8 + 0.5 >= 1e8:
                found = i
    return found


@cache
def tables() -> tuple[np.ndarray, np.ndarray]:
    """Return the tables of h and of the degradation, over (a_p + a_i)^2, on a grid of both shape (400, 400).

    Rows are m = a_p / (a_p + a_i) from 0 to 1, columns k(x_p, x_i) from 0 to 1."""
    from budgetrun.kernels import compiling

    m, k = (side.ravel() for side in np.meshgrid(*2 * [np.arange(GRID) / (GRID - 1)], indexing="ij"))
    # With k = 0 the heavier point stays as it is, and with k = 1 every h does: m is the limit.
    inside = (k > 0) & (k < 1) & (m > 0) & (m < 1)
    logs = np.where(inside, log(np.where(inside, k, 1.0)), 0.0)
    searched = compiling.call(best_places, logs, m, 1 - m, TABLE_WIDTH)
    h = np.where(inside, searched, np.where(k == 1, m, np.rint(m)))
    z = np.where(inside, merged_weight(logs, m, 1 - m, h), np.where(k == 1, 1.0, np.maximum(m, 1 - m)))
    lost = m * m + (1 - m) * (1 - m) + 2 * k * m * (1 - m) - z * z
    return h.reshape(GRID, GRID), lost.reshape(GRID, GRID)


@apart
def looked_up(table: np.ndarray, m: np.ndarray, k: np.ndarray) -> np.ndarray:
    """Return values of a table, interpolated between the four nearest entries."""
    out = np.empty(len(m))
    for i in range(len(m)):
        row, column = m[i] * (GRID - 1), k[i] * (GRID - 1)
        r, c = min(int(row), GRID - 2), min(int(column), GRID - 2)
        u, v = row - r, column - c
        above = (1 - v) * table[r, c] + v * table[r, c + 1]
        below = (1 - v) * table[r + 1, c] + v * table[r + 1, c + 1]
        out[i] = (1 - u) * above + u * below
    return out
