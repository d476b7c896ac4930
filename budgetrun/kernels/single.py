"""Examples that are stored one at a time, in compiled code, and their kernel values with all others."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from budgetrun.kernels.arithmetic import TILE
from budgetrun.kernels.compiling import Compilable, prepared
from budgetrun.kernels.compiling.loops import count_ones, fill_by_table, fill_floats, fill_integers, pack, take_whole
from budgetrun.kernels.kinds import Bits, Floats, Formula, Integers, Kind


class Examples(Compilable):
    """The arrays of a kind, to which compiled code adds examples; there is one subclass per kind.

    Parameters
    ----------
    kind : Bits, Integers or Floats
    kernel : Formula
    """

    def __init__(self, kind: Any, kernel: Formula) -> None:
        self.stored, self.scaled = kind.stored, kind.scaled
        self.n_features = kind.n_features
        self.kernel = prepared(kernel)

    def square(self, slot: int) -> float:
        """Return k(x, x) of the example in ``slot``."""
        kernel = self.kernel
        formula = kernel.formula
        return formula(0.0 if kernel.of_distance else self.scaled[0, slot], *kernel.numbers)


class _Bits(Examples):
    def __init__(self, kind: Bits, kernel: Formula) -> None:
        super().__init__(kind, kernel)
        self.table = kind.by_count(kernel, 1.0, 1.0)

    def store(self, x: np.ndarray, slot: int) -> bool:
        """Store an example; return whether that is exact."""
        words = self.stored[slot]
        if not pack(x.reshape((1, -1)), self.stored[slot : slot + 1]):
            return False
        total = 0
        for w in range(len(words)):
            total += count_ones(words[w])  # type: ignore[call-arg]  # the compiler passes the context
        self.scaled[0, slot], self.scaled[1, slot] = total, 1.0
        return True

    def fill(self, slot: int, out: np.ndarray) -> None:
        """Compute the kernel values of the example in ``slot`` with all slots, shape (1, slots, 1)."""
        fill_by_table(self.stored, self.stored[slot : slot + 1].T, self.table, self.kernel.of_distance, out)


class _Integers(Examples):
    def store(self, x: np.ndarray, slot: int) -> bool:
        """Store an example; return whether that is exact."""
        if not take_whole(x.reshape((1, -1)), self.stored[slot : slot + 1]):
            return False
        total, row = 0, self.stored[slot]
        for j in range(len(row)):
            total += int(row[j]) * int(row[j])
        self.scaled[0, slot], self.scaled[1, slot] = total, 1.0
        return total < 2**31

    def fill(self, slot: int, out: np.ndarray) -> None:
        """Compute the kernel values of the example in ``slot`` with all slots, shape (1, slots, 1)."""
        paired = np.empty((0, 0, TILE, 2), np.int16)
        given = self.scaled[:, slot : slot + 1]
        fill_integers(self.stored, self.stored[slot : slot + 1], paired, self.kernel, self.scaled, given, out)


class _Floats(Examples):
    def store(self, x: np.ndarray, slot: int) -> bool:
        """Store an example; return whether it is finite."""
        total = 0.0
        for j in range(len(x)):
            self.stored[j, slot] = x[j]
            total += x[j] * x[j]
        self.scaled[0, slot], self.scaled[1, slot] = total, 1.0
        return math.isfinite(total)

    def fill(self, slot: int, out: np.ndarray) -> None:
        """Compute the kernel values of the example in ``slot`` with all slots, shape (1, slots, 1)."""
        fill_floats(self.stored, self.stored[:, slot : slot + 1], self.kernel, out)


_OF_KINDS: dict[type[Kind], type[Examples]] = {Bits: _Bits, Integers: _Integers, Floats: _Floats}


def examples_of(kind: Any, kernel: Formula) -> Examples | None:
    """Return the examples of a kind; None if single ones cannot be added to it."""
    if type(kind) not in _OF_KINDS or (isinstance(kind, Bits) and kind.factor != 1):
        return None
    return _OF_KINDS[type(kind)](kind, kernel)
