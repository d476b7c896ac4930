"""The inner loops of shared memory, in numpy; compiled code calls others in their place, with the same bits."""

from typing import Any

import numpy as np

from budgetrun.kernels.compiling.objects import compiled_as


@compiled_as("values_at")
def values_at(kernel: Any, rows: np.ndarray, at: int, places: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return the kernel values of the rows in some places, which begin in column ``at``, with an example.

    Inner products and distances are sums in float64, in the order of the features; of bits, they are counts.
    """
    given = rows[places, at : at + len(x)]
    if rows.dtype == np.uint8:
        terms = np.bitwise_count(given ^ x if kernel.of_distance else given & x).astype(np.float64)
    else:
        given, example = given.astype(np.float64), x.astype(np.float64)
        terms = np.square(given - example) if kernel.of_distance else given * example
    sums = np.add.accumulate(terms, axis=1)[:, -1] if terms.size else np.zeros(len(places))
    values: np.ndarray = kernel.formula(sums, *kernel.numbers)
    return values


@compiled_as("sum_at")
def sum_at(cells: np.ndarray, slots: np.ndarray, values: np.ndarray) -> tuple[float, float]:
    """Return the sums of ``cells[slots, 0] * values`` and of their absolute values, added in this order."""
    if not len(slots):
        return 0.0, 0.0
    with np.errstate(over="ignore"):
        terms = cells[slots, 0] * values
        return float(np.cumsum(terms)[-1]), float(np.cumsum(np.abs(terms))[-1])


@compiled_as("add_at")
def add_at(cells: np.ndarray, slots: np.ndarray, column: int, factor: float, values: np.ndarray) -> None:
    """Add factor * values to a column of different cells."""
    cells[slots, column] += factor * values


@compiled_as("scale_at")
def scale_at(cells: np.ndarray, slots: np.ndarray, factor: float) -> None:
    """Multiply the first two columns of different cells."""
    cells[slots, :2] *= factor


@compiled_as("touch")
def touch(memory: Any, learners: np.ndarray) -> None:
    """Load what some learners hold into the caches: compiled code waits for many of them at a time."""
