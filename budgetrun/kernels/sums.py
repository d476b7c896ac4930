"""Weighted sums of kernel values over a support set, one after the other, oldest first."""

from __future__ import annotations

import numpy as np

from budgetrun import compiling


def add_up(weights: np.ndarray, slots: np.ndarray, tile: np.ndarray) -> np.ndarray:
    """Return the sums over i of ``weights[i] * tile[slots[i]]``, added in this order; shape (rounds,), float64.

    Compiled code calls `loops.add_up` in its place, which gives the same bits.

    Parameters
    ----------
    weights : ndarray of float64, shape (n,)
    slots : ndarray of int, shape (n,)
    tile : ndarray, shape (slots, rounds)
    """
    if compiling.on():
        return compiling.loop("add_up")(weights, slots, tile)
    if not len(slots):
        return np.zeros(tile.shape[1])
    sums: np.ndarray = np.add.accumulate(weights[:, None] * tile[slots], axis=0)[-1]
    return sums
