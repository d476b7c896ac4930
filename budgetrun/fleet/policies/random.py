"""A random entry of all."""

from typing import Any

import numpy as np

from budgetrun.base.params import Seed
from budgetrun.fleet.policies.base import Policy


class Random(Policy):
    """The owner of a random entry pays: entries of learners above their floors, in the order of the learners.

    Parameters:
    seed : int, >= 0
        Seed of ``numpy.random.default_rng``; one draw per removal, an index into these entries.
    """

    name = "random"

    def __init__(self, *, seed: Seed = 0) -> None:
        self.seed = seed
        self._random = np.random.default_rng(seed)

    def relieve(self, memory: Any) -> None:
        tree, at = memory.tree, 1
        i = int(self._random.integers(0, int(tree[1])))
        while 2 * at < len(tree):
            at *= 2
            if i >= tree[at]:
                i -= tree[at]
                at += 1
        memory.remove(at - len(tree) // 2)

    def refresh(self, memory: Any, j: int, pays: bool) -> None:
        """Note how many entries a learner has; the tree has their sums."""
        tree, at = memory.tree, len(memory.tree) // 2 + j
        change = (memory.size(j) if pays else 0) - tree[at]
        while at:
            tree[at] += change
            at //= 2

    def fits(self, memory: Any) -> bool:
        """Return whether the tree has entries of learners only, and their sums."""
        tree, half = memory.tree, len(memory.tree) // 2
        sums = np.array_equal(tree[1:half], tree[2::2] + tree[3::2])
        return bool(tree.min() >= 0 and sums and not tree[half + len(memory.prices) :].any())
