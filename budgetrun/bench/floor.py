"""A lower limit on the engine's time: the blocks of kernel values and the score sums alone."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np

from budgetrun.bench.timing import BLOCK_SIZE, Maker
from budgetrun.engine import Group
from budgetrun.kernels import Kernel, Rows
from budgetrun.kernels.kinds import Kind
from budgetrun.kernels.sums import add_up

# The parts of a floor, and the units of their rates: kernel values, and terms of sums.
PARTS = ("kernel values", "score sums")


@dataclass
class Block:
    """The sizes of a block of the engine's own run.

    Attributes
    ----------
    rounds : slice
    shape : tuple of int
        That of its kernel values: tiles, slots, rounds per tile.
    supports : list of int
        The number of support examples of each learner.
    """

    rounds: slice
    shape: tuple[int, ...]
    supports: list[int]


@dataclass
class Floor:
    """What the engine computes in any case, timed alone in its own code, with the sizes of its own run.

    For every block: the kernel values of the examples held and those of the block with the block, and for every learner
    and tile, the sum over its support set.

    Attributes
    ----------
    kernel : Kernel
    kind : Kind
        With examples in all slots.
    X : ndarray or csr_array, shape (T, d)
    blocks : list of Block
    times : list of tuple of float
        Processor seconds for each of `PARTS`, one tuple per turn.
    """

    kernel: Kernel
    kind: Kind
    X: Rows
    blocks: list[Block]
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
        """The rate of each of `PARTS` per second."""
        values = sum(float(np.prod(block.shape)) for block in self.blocks)
        terms = sum(block.shape[0] * block.shape[2] * sum(block.supports) for block in self.blocks)
        return tuple(work / seconds for work, seconds in zip((values, terms), self.best, strict=True))

    def turn(self) -> None:
        """Compute all blocks once more."""
        most = max(size for block in self.blocks for size in block.supports)
        weights, slots = np.ones(most), np.arange(most)
        seconds = np.zeros(len(PARTS))
        for block in self.blocks:
            examples = self.kind.encode(self.X[block.rounds])
            assert examples is not None
            tiles, scores = np.empty(block.shape), np.empty(block.shape[2])
            moments = [time.process_time()]
            self.kind.fill(self.kernel, examples, tiles)
            moments.append(time.process_time())
            for size in block.supports:
                for tile in tiles:
                    add_up(weights[:size], slots[:size], tile, scores)
            moments.append(time.process_time())
            seconds += np.diff(moments)
        self.times.append(tuple(seconds.tolist()))


def floor_of(kernel: Kernel, make: Maker, X: Rows, Y: np.ndarray) -> Floor:
    """Run the engine once, recording the sizes of its blocks, and return the floor of that run."""
    group = Group(kernel, [make() for _ in Y], range(len(Y)))
    blocks = []
    for start in range(0, X.shape[0], BLOCK_SIZE):
        called = slice(start, start + BLOCK_SIZE)
        supports = [member.hypothesis.size for member in group.members]
        group.feed(X[called], Y[:, called])
        # The last call may consist of several blocks; only the last of them counts.
        rounds = slice(group.rounds - len(group.pool.block_slots), group.rounds)
        blocks.append(Block(rounds, group.pool.tiles.shape, supports))
    assert group.pool.kind is not None
    return Floor(kernel, group.pool.kind, X, blocks)
