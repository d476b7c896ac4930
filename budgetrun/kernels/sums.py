"""The inner loops of hypotheses, in numpy; compiled code calls those of `loops` in their place, with the same bits."""

from functools import lru_cache, partial
from typing import Any

import numpy as np
from scipy.linalg.blas import ddot, dgemv

from budgetrun.kernels import compiling
from budgetrun.kernels.arithmetic import LEAST_SUM
from budgetrun.kernels.compiling.objects import compiled_as


@compiled_as("add_up")
def add_up(weights: np.ndarray, slots: np.ndarray, tile: np.ndarray, out: np.ndarray) -> None:
    """out += the sums over i of ``weights[i] * tile[slots[i]]``, added in this order; ``tile``: (slots, rounds)."""
    if compiled := compiling.loop("add_up", weights, slots, tile, out):
        compiled()
    else:
        # `take` is faster, but of an array with gaps it copies all rows first.
        rows = partial(tile.take, axis=0) if tile.flags.c_contiguous else tile.__getitem__
        # By rows that fit into the cache.
        for start in range(0, len(slots), 256):
            terms = weights[start : start + 256, None] * rows(slots[start : start + 256])
            terms[0] += out
            out[:] = sum_of_rows(terms)


def sum_of_rows(terms: np.ndarray) -> np.ndarray:
    """Return the sums of the columns of a matrix, added in the order of its rows, of which there is at least one."""
    # numpy adds one row after the other, but for a single column, or columns that are contiguous, in another order.
    if terms.shape[1] > 1 and terms.flags.c_contiguous:
        return np.add.reduce(terms, axis=0)
    return np.add.accumulate(terms, axis=0)[-1]


@compiled_as("add_roughly")
def add_roughly(weights: np.ndarray, slots: np.ndarray, rows: np.ndarray, part: np.ndarray, out: np.ndarray) -> None:
    """out += the sums over i of ``weights[i] exp(-||rows[slots[i]] - x||^2)``, roughly, for the columns x of ``part``.

    ``rows`` and ``part``, shapes (n, d) and (d, 64), are float32.
    """
    if compiled := compiling.loop("add_roughly", weights, slots, rows, part, out):
        compiled()
        return
    with np.errstate(all="ignore"):
        for weight, row in zip(weights, rows[slots], strict=True):
            out += weight * np.exp(-np.square(row[:, None] - part).sum(axis=0))


@compiled_as("where")
def where(condition: np.ndarray, a: Any, b: Any) -> np.ndarray:
    """Return floats of ``a`` where a condition holds and of ``b`` elsewhere; both are numbers or arrays."""
    return np.where(condition, a, b)


@compiled_as("add_multiple")
def add_multiple(values: np.ndarray, factor: float, more: np.ndarray) -> None:
    """values += factor * more, in float64."""
    values += np.float64(factor) * more


@compiled_as("inner")
def inner(values: np.ndarray, others: np.ndarray) -> Any:
    """Return the inner product of two arrays, added in their order; 0 if they are empty."""
    return (values * others).cumsum()[-1] if len(values) else 0.0


@compiled_as("product")
def product(values: np.ndarray, vector: np.ndarray) -> Any:
    """Return the product of a contiguous matrix, or a vector, and a vector; not added in a stated order.

    Compiled code, too, calls scipy's linear algebra library, which may be another one than numpy's.
    """
    if values.ndim == 1:
        return ddot(values, vector)
    return dgemv(1.0, values.T, vector, trans=1) if values.flags.c_contiguous else dgemv(1.0, values, vector)


@compiled_as("add_outer")
def add_outer(matrix: np.ndarray, factor: float, vector: np.ndarray) -> None:
    """matrix += factor times the outer product of a vector with itself."""
    if compiled := compiling.loop("add_outer", matrix, factor, vector):
        compiled()
        return
    scaled = factor * vector
    # By rows that fit into the cache.
    for start in range(0, len(vector), 64):
        rows = slice(start, start + 64)
        matrix[rows] += vector[rows, None] * scaled


@compiled_as("taken")
def taken(values: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Return the values in some places, float64."""
    return values[places].astype(np.float64, copy=False)


@compiled_as("count_errors")
def count_errors(scores: np.ndarray, factor: float, row: np.ndarray, positive: np.ndarray, limits: np.ndarray) -> int:
    """Count where ``scores + factor * row > limits``, which predicts +1, differs from ``positive``, the true label."""
    return int(np.count_nonzero((scores + factor * row > limits) != positive))


@compiled_as("copy")
def copy(values: np.ndarray, to: np.ndarray) -> None:
    """Copy values to the beginning of a longer array."""
    to[: len(values)] = values


@compiled_as("close_gap")
def close_gap(values: np.ndarray, at: int, end: int) -> None:
    """Move the values after place ``at``, and before place ``end``, one place to the front."""
    values[at : end - 1] = values[at + 1 : end]


def drop_place(places: np.ndarray, i: int, n: int) -> int:
    """Move one of the first ``n`` places to their end, where the free places begin then, and return it."""
    place = places[i]
    close_gap(places, i, n)
    places[n - 1] = place
    return place


@compiled_as("put")
def put(values: np.ndarray, places: np.ndarray, to: np.ndarray) -> None:
    """Write values to some places of an array."""
    to[places] = values


@compiled_as("add_multiple_at")
def add_multiple_at(values: np.ndarray, places: np.ndarray, factor: float, more: np.ndarray) -> None:
    """values += factor * more, in some places, each of which is there once."""
    values[places] += factor * more


@compiled_as("inner_at")
def inner_at(values: np.ndarray, places: np.ndarray, others: np.ndarray) -> Any:
    """Return the inner product of the values in some places and others, as `inner` does."""
    return inner(taken(values, places), others)


@compiled_as("adapt")
def adapt(
    w: np.ndarray, squared: np.ndarray, places: np.ndarray, slope: float, values: np.ndarray, step: float
) -> None:
    """Change weights by step g / sqrt(the sum of g^2 so far), which ``squared`` holds, for g = slope values."""
    g = slope * values
    sums = squared[places] + g * g
    squared[places] = sums
    w[places] += step * g / np.sqrt(np.maximum(sums, LEAST_SUM))


@lru_cache(maxsize=8)
def _triangle(n: int) -> tuple[np.ndarray, np.ndarray]:
    return np.tril_indices(n)


@compiled_as("products")
def products(places: np.ndarray, values: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Return a row, whose places ascend, with the squares of its values and the products of any two.

    That of values in places i <= j is in place j (j + 1) / 2 + i, which it keeps when rows get longer; if the first
    value is a 1, the row itself is there, too. Values in places above ``most`` are in no products.
    """
    n = int(np.searchsorted(places, most, side="right"))
    right, left = _triangle(n)
    pairs = places[right] * (places[right] + 1) // 2 + places[left]
    others = most * (most + 1) // 2 + places[n:]
    return np.concatenate((pairs, others)), np.concatenate((values[left] * values[right], values[n:]))


@compiled_as("along")
def along(points: np.ndarray, i: int, columns: np.ndarray, start: int, end: int, of_distance: bool) -> np.ndarray:
    """Return ||z - x||^2 or <z, x> between z = ``points[:, i]`` and the others, ``columns[:, start:end]``.

    All are stored by feature, and sums are in the order of the features.
    """
    left, right = points[:, i : i + 1], columns[:, start:end]
    terms = np.square(left - right) if of_distance else left * right
    return sum_of_rows(terms) if len(terms) else np.zeros(end - start)


@compiled_as("evaluate")
def evaluate(kernel: Any, sums: np.ndarray, out: np.ndarray) -> None:
    """Write the kernel's values for some ||a - b||^2 or <a, b> to the beginning of a longer array."""
    out[: len(sums)] = kernel.formula(sums, *kernel.numbers)


def evaluated_sums(kernel: Any, weights: np.ndarray, slots: np.ndarray, tile: np.ndarray, column: int) -> Any:
    """Return the sums of ``weights[i] * k_i`` and of their absolute values, for the kernel's values k_i >= 0.

    They are added in this order; k_i is that for ||a - b||^2 or <a, b> in ``tile[slots[i], column]``.
    """
    if compiled := compiling.loop("evaluated_sums", kernel, weights, slots, tile, column):
        return compiled()
    values = kernel.formula(tile[slots, column], *kernel.numbers)
    return float(inner(weights, values)), float(inner(np.abs(weights), values))
