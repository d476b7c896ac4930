"""Arithmetic with the same bits on every machine, in numpy and compiled.

The exponential is made of operations that IEEE 754 defines bit by bit, which numpy's own is not. It is within one unit
in the last place of the true value.
"""

import math
from typing import Any

import numpy as np

# Rounds per tile: as many as registers and the first cache hold well.
TILE = 64
# What ends a sparse row: above all columns.
END = 2**31 - 1
# x = n log 2 + r, |r| <= log(2) / 2; n log 2 is subtracted in two parts, the first of them exact.
LOG2_E = 1.4426950408889634
LOG_2 = 6.93147180369123816490e-01, 1.90821492927058770002e-10
# Adding and subtracting this number rounds to an integer, whose bits are then the lowest of the sum.
ROUND = 6755399441055744.0
# The Taylor coefficients 1 / k!.
TAYLOR = tuple(1 / math.factorial(k) for k in range(14))
# exp of anything below is 0.
LEAST = -800.0
# Below any sum of squares whose root matters.
LEAST_SUM = 1e-300


def exp(x: Any) -> Any:
    """Return e to the power of ``x`` <= 0, elementwise; compiled code calls `loops.exp_of` in its place."""
    x = np.maximum(x, LEAST)
    n = (x * LOG2_E + ROUND) - ROUND
    r = (x - n * LOG_2[0]) - n * LOG_2[1]
    p = TAYLOR[13] * r + TAYLOR[12]
    for coefficient in TAYLOR[11::-1]:
        p *= r
        p += coefficient
    # A power of 2 below 2^-1022 is applied in two steps.
    first = np.maximum(n, -1022.0)
    p *= _power_of_two(first)
    if (n < first).any():
        p *= _power_of_two(n - first)
    return p


def _power_of_two(n: Any) -> Any:
    return (((n + ROUND).view(np.int64) + 1023) << 52).view(np.float64)


def scaled(of_distance: bool, product: Any, left: Any, right: Any, left_factor: Any, right_factor: Any) -> Any:
    """Return ||a - b||^2 or <a, b> of two scaled rows, from the product of the unscaled ones. It is also compiled.

    ``left`` and ``right`` are the squares of the scaled rows; all are floats or arrays.
    """
    product = product * (left_factor * right_factor)
    if of_distance:
        return np.maximum((left + right) - 2.0 * product, 0.0)
    return product


def of_round(values: Any, k: int) -> float:
    """Return the value of round ``k``, from one value per round or one for all."""
    return values if isinstance(values, float) else values[k]
