"""The inner loops of shared memory, in numpy; compiled code calls others in their place, with the same bits."""

from typing import Any

import numpy as np

from budgetrun.kernels.arithmetic import END
from budgetrun.kernels.compiling.objects import compiled_as

# A sparse row is a chain of blocks of 16 numbers: seven pairs of a column and a value, as the bits of a float32, and
# then, in column LINK, the complement of the next block, or END, as after the last pair. A block is a cache line.
LINK, BLOCK = 14, 16
# Sparse rows that are dense at the same time, while code is not compiled.
_AT_ONCE = 64


@compiled_as("values_at")
def values_at(
    kernel: Any, rows: np.ndarray, at: int, places: np.ndarray, x: np.ndarray, by_products: bool
) -> np.ndarray:
    """Return the kernel values of the rows in some places, which begin in column ``at``, with an example.

    Inner products and distances are sums in float64, in the order of the features; of bits, they are counts.
    ``by_products``: distances are sums of squares and products.
    """
    if rows.dtype == np.int32 and len(places) > _AT_ONCE:
        parts = [places[start : start + _AT_ONCE] for start in range(0, len(places), _AT_ONCE)]
        return np.concatenate([values_at(kernel, rows, at, part, x, by_products) for part in parts])
    if rows.dtype == np.int32:
        given, example = _dense(rows, places, x)
    else:
        given, example = rows[places, at : at + len(x)], x
    if rows.dtype == np.uint8:
        terms = np.bitwise_count(given ^ x if kernel.of_distance else given & x).astype(np.float64)
    else:
        given, example = given.astype(np.float64), example.astype(np.float64)
        terms = np.square(given - example) if kernel.of_distance and not by_products else given * example
    sums = _sums(terms)
    if by_products:
        sums = np.maximum((_sums(np.square(given)) + _sums(np.square(example[None]))) - 2.0 * sums, 0.0)
    values: np.ndarray = kernel.formula(sums, *kernel.numbers)
    return values


def _sums(terms: np.ndarray) -> np.ndarray:
    # Compiled sums begin with 0, and are never -0.
    return np.add.accumulate(terms, axis=1)[:, -1] + 0.0 if terms.size else np.zeros(len(terms))


def _dense(rows: np.ndarray, places: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return sparse rows and an example as dense ones, with the columns that any of them has."""
    n, owners, blocks = len(places), np.arange(len(places)), places
    chain, of = [blocks], [owners]
    while len(blocks):
        links = rows[blocks, LINK]
        blocks, owners = ~links[links < 0], owners[links < 0]
        chain.append(blocks)
        of.append(owners)
    every = np.concatenate((x, rows[np.concatenate(chain), :LINK].ravel())).reshape(-1, 2)
    whose = np.concatenate((np.full(len(x) // 2, n), np.repeat(np.concatenate(of), LINK // 2)))
    given = every[:, 0] < END
    columns, at = np.unique(every[given, 0], return_inverse=True)
    found = np.zeros((n + 1, len(columns)), dtype=np.float32)
    found[whose[given], at] = every[given, 1].view(np.float32)
    return found[:n], found[n]


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
