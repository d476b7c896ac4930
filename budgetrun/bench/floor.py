"""A lower limit on a block engine's time: its matrix products and exponentials alone."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np
from scipy.linalg.blas import dtrsm

from budgetrun.bench.timing import Maker
from budgetrun.engine import Group
from budgetrun.kernels import Gaussian

# The parts of a floor, and the units of their rates. Only a learner that projects has the last two.
PARTS = ("kernel products", "exponentials", "score products", "triangular solves", "products of projections")
UNITS = ("GFlop/s", "G/s", "GFlop/s", "GFlop/s", "GFlop/s")


@dataclass
class Floor:
    """The operations that a block engine needs in any case, timed alone, with the sizes of the engine's own run.

    For every block: the product of the examples held and the block with the block, its exponential in place, and the
    product of all learners' weights with the kernel values of the examples held. For a learner that projects, also the
    triangular solve that turns these values into coordinates, and the product of all coordinates with each other.

    Attributes
    ----------
    left, right : ndarray, shape (T, d + 2)
        The factors of each round in a product that gives -gamma ||a - b||^2.
    held : list of ndarray of int
        For each block, the rounds of the examples that any learner holds at its start.
    block_size, n_learners : int
    projects : bool
    times : list of tuple of float
        Seconds for each of `PARTS`, one tuple per turn.
    """

    left: np.ndarray
    right: np.ndarray
    held: list[np.ndarray]
    block_size: int
    n_learners: int
    projects: bool
    times: list[tuple[float, ...]] = field(default_factory=list)

    @property
    def best(self) -> tuple[float, ...]:
        """The best turn's seconds, for each of `PARTS`."""
        return min(self.times, key=sum)

    @property
    def seconds(self) -> float:
        """The best turn's seconds, summed over the parts."""
        return sum(self.best)

    @property
    def rates(self) -> tuple[float, ...]:
        """The rate of each of `PARTS` per second: of floating-point operations, or of exponentials."""
        work = np.zeros(len(PARTS))
        for rows, held in self._blocks():
            b, n = len(self.left[rows]), len(held)
            values = (n + b) * b
            # The product of a matrix with its transpose is symmetric, so only half is computed.
            work += (2 * self.left.shape[1] * values, values, 2 * self.n_learners * n * b, n * n * b, n * b * b)
        return tuple((work[: len(self.best)] / self.best).tolist())

    def turn(self) -> None:
        """Compute all blocks once more."""
        seconds = np.zeros(len(PARTS) if self.projects else len(PARTS) - 2)
        ones = np.ones(max(map(len, self.held)) ** 2 if self.projects else 0)
        for rows, held in self._blocks():
            left, right = np.concatenate([self.left[held], self.left[rows]]), self.right[rows].T
            block = np.empty((left.shape[0], right.shape[1]), dtype=left.dtype)
            weights = np.ones((self.n_learners, len(held)), dtype=left.dtype)
            scores = np.empty((self.n_learners, right.shape[1]), dtype=left.dtype)
            moments = [time.perf_counter()]
            np.matmul(left, right, out=block)
            moments.append(time.perf_counter())
            np.exp(block, out=block)
            moments.append(time.perf_counter())
            np.matmul(weights, block[: len(held)], out=scores)
            moments.append(time.perf_counter())
            if self.projects:
                values, n = block[: len(held)], len(held)
                # BLAS is column-major: it sees the transpose, to be divided by an upper triangle from the right.
                triangle = ones[: n * n].reshape(n, n).T
                if n:
                    dtrsm(1.0, triangle, values.T, side=1, overwrite_b=1)
                moments.append(time.perf_counter())
                np.matmul(values.T, values)
                moments.append(time.perf_counter())
            seconds += np.diff(moments)
        self.times.append(tuple(seconds.tolist()))

    def _blocks(self) -> list[tuple[slice, np.ndarray]]:
        b = self.block_size
        return [(slice(i * b, (i + 1) * b), held) for i, held in enumerate(self.held)]


def floor_of(gamma: float, make: Maker, X: np.ndarray, Y: np.ndarray, *, block_size: int, dtype: str) -> Floor:
    """Run the engine once, recording what it holds at the start of each block, and return the floor of that run."""
    group = Group(Gaussian(gamma=gamma), [make() for _ in Y], range(len(Y)), dtype=dtype)
    held = []
    for start in range(0, X.shape[0], block_size):
        held.append(np.unique(np.concatenate([member.hypothesis.rounds for member in group.members])))
        group.feed(X[start : start + block_size], Y[:, start : start + block_size])
    squares, ones = -gamma * np.square(X).sum(axis=1)[:, None], np.ones((X.shape[0], 1))
    left, right = np.hstack([X, squares, ones]).astype(dtype), np.hstack([2 * gamma * X, ones, squares]).astype(dtype)
    projects = any(member.hypothesis.solving(1) for member in group.members)
    return Floor(left, right, held, block_size, len(Y), projects)
