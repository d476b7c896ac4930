"""Counts over the rounds of a stream that the engine does not make."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from budgetrun.kernels.rows import Matrix


@dataclass
class Stretch:
    """The longest and the present stretch of rounds with one label."""

    label: int = 0
    length: int = 0
    longest: int = 0

    def extend(self, labels: np.ndarray) -> None:
        """Add the labels of further rounds, shape (b,), b >= 1."""
        ends = np.flatnonzero(np.diff(labels)) + 1
        lengths = np.diff(np.concatenate([[0], ends, [len(labels)]]))
        if self.length and labels[0] == self.label:
            lengths[0] += self.length
        self.label, self.length = int(labels[-1]), int(lengths[-1])
        self.longest = max(self.longest, int(lengths.max()))


@dataclass
class Counts:
    """Counts of a `Session`, and of its data if `look` is called."""

    rounds: int = 0
    # The rounds on which each learner's score was exactly 0.
    zeros: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    # Rounds of each class, by code; empty for numbers.
    labels: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    stretch: Stretch = field(default_factory=Stretch)
    # The values that sparse examples store.
    is_sparse: bool = False
    stored: int = 0
    # The first row, and the features that have had its values ever since; shape (d,), None before it.
    first: np.ndarray | None = None
    constant: np.ndarray | None = None

    def look(self, X: Matrix, codes: np.ndarray) -> None:
        """Add the examples and classes of further rounds, of which there is at least one."""
        if len(self.labels):
            self.labels = self.labels + np.bincount(codes, minlength=len(self.labels))
            self.stretch.extend(codes)
        if isinstance(X, np.ndarray):
            self.compare(X)
        else:
            self.is_sparse = True
            self.stored += X.nnz

    def compare(self, X: np.ndarray) -> None:
        """Compare the features of further rounds with those of the first."""
        if self.first is None or self.constant is None:
            self.first, self.constant = X[0].copy(), np.ones(X.shape[1], dtype=bool)
        self.constant &= (self.first == X).all(axis=0)
