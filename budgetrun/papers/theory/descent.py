"""Dual coordinate descent for soft-margin machines on a kernel matrix, compiled on import."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from budgetrun.kernels.compiling.plain import compiled, types

Floats = NDArray[np.float64]
_MATRIX = types.Array(types.float64, 2, "C", readonly=True)
_VECTOR = types.Array(types.float64, 1, "C")


@compiled(types.float64(_MATRIX, _VECTOR, types.float64, types.int64[::1], _VECTOR, _VECTOR))
def descend(K: Floats, signs: Floats, C: float, order: NDArray[np.int64], alpha: Floats, values: Floats) -> float:
    """Make one pass over the examples, in the given order, setting each dual variable to its optimum.

    Parameters
    ----------
    K : ndarray, shape (n, n)
    signs : ndarray, shape (n,), -1 or +1
    C : float, > 0
    order : ndarray of int64, shape (n,)
    alpha : ndarray, shape (n,), in [0, C]
        The dual variables; changed in place.
    values : ndarray, shape (n,)
        g(x_i) = sum_j alpha_j y_j k(x_j, x_i); changed in place.

    Returns
    -------
    float
        The largest change of a dual variable.
    """
    largest = 0.0
    for i in order:
        square = K[i, i] if K[i, i] > 0 else 1.0
        wanted = min(max(alpha[i] + (1 - signs[i] * values[i]) / square, 0.0), C)
        change = wanted - alpha[i]
        if abs(change) > 1e-6 * C:
            alpha[i] = wanted
            step = change * signs[i]
            for j in range(len(values)):
                values[j] += step * K[i, j]
            largest = max(largest, abs(change))
    return largest
