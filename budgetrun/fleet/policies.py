"""Policies: which learner gives up an entry when the memory is full."""

import math
from typing import Any, ClassVar

import numpy as np

from budgetrun.base.params import Seed
from budgetrun.kernels.compiling import Compilable
from budgetrun.learners.forgetron import damage

# Above every damage that is harmless; and above that of a learner with less than half as many entries.
_MOST = 2.0**52
_MOST_OF_FEW = 2.0**20


class Policy(Compilable):
    """A rule that names the learner whose entry is removed, among those above their floors.

    Each learner has a price, and the cheapest pays; of equal ones, that of the lowest number. A tournament in a tree
    finds it: an event changes a few prices, in O(log m) each.
    """

    name: ClassVar[str] = ""  #: in configs, e.g. ``least_damage``
    by_age: ClassVar[bool] = False  #: whether prices depend on ages across learners, which are then stored
    by_row: ClassVar[bool] = False  #: whether ages are stored by row: entries of the same row have the same
    greedy: ClassVar[bool] = False  #: whether any entry may go that does no harm, not only the oldest of a learner

    def price(self, memory: Any, j: int) -> float:
        """Return the price of learner ``j``, which holds more than its floor."""
        return 0.0

    def is_over(self, memory: Any) -> bool:
        """Return whether an entry must go, while some learner is above its floor."""
        return bool(memory.is_full())

    def relieve(self, memory: Any) -> None:
        """Remove an entry, or several at once."""
        memory.remove(memory.tree[1] - 1)

    def refresh(self, memory: Any, j: int, pays: bool) -> None:
        """Note the price of a learner that has changed; it pays only above its floor."""
        tree, prices = memory.tree, memory.prices
        if pays:
            prices[j] = self.price(memory, j)
        at = len(tree) // 2 + j
        # In the tree, 0 is nobody.
        tree[at] = j + 1 if pays else 0
        while at > 1:
            at //= 2
            a, b = tree[2 * at], tree[2 * at + 1]
            winner = a if b == 0 or (a != 0 and prices[a - 1] <= prices[b - 1]) else b
            if winner == tree[at] != j + 1:
                # Nothing changes above.
                break
            tree[at] = winner

    def fits(self, memory: Any) -> bool:
        """Return whether the tree names learners only."""
        return bool(memory.tree.min() >= 0 and memory.tree.max() <= len(memory.prices))


class EqualSplit(Policy):
    """A learner that holds more than its floor pays at once; each is a Forgetron with its floor as the budget."""

    name = "equal_split"

    def is_over(self, memory: Any) -> bool:
        return True


class Harmless(Policy):
    """Of all entries that do no harm, the one of least damage goes; if there is none, the oldest entry of all.

    Learners that share rows lose the oldest row together, so that its bytes are freed.
    """

    name = "harmless"
    by_age = by_row = True
    greedy = True

    def price(self, memory: Any, j: int) -> float:
        r, _ = memory.least_harmful(j)
        Psi = damage(*memory.weight_and_margin(r))
        return Psi if memory.is_harmless(Psi) else float(_MOST + memory.birth(memory.oldest(j)))


class LeastDamage(Policy):
    """The learner pays whose removal costs least in the mistake bound, Psi + U^2 log(1 / phi), per byte that it frees.

    If no removal frees a byte, all holders of a row pay: that whose holders' costs sum to least, among the rows that
    are the oldest entry of each holder, and these above their floors. If there is none, the learner of least cost pays.
    """

    name = "least_damage"

    def price(self, memory: Any, j: int) -> float:
        freed = memory.freed(j)
        return cost(memory, j) / freed if freed else math.inf

    def relieve(self, memory: Any) -> None:
        cheapest = memory.tree[1] - 1
        if memory.prices[cheapest] < math.inf:
            memory.remove(cheapest)
            return
        costs = np.full(len(memory.prices), math.inf)
        sums, counts = np.zeros(len(memory.holders)), np.zeros(len(memory.holders))
        for j in memory.payers():
            costs[j] = cost(memory, j)
            place = memory.place(memory.oldest(j))
            sums[place] += costs[j]
            counts[place] += 1
        sums[(counts == 0) | (counts < memory.holders)] = math.inf
        place = sums.argmin()
        if sums[place] == math.inf:
            memory.remove(costs.argmin())
            return
        for j in memory.payers():
            if memory.place(memory.oldest(j)) == place:
                memory.remove(j)


def cost(memory: Any, j: int) -> float:
    """Return what the removal of a learner's oldest entry costs in its bound, in mistakes."""
    sigma, mu = memory.weight_and_margin(memory.oldest(j))
    phi = memory.phi(j, sigma, mu)
    return damage(phi * sigma, phi * mu) + (memory.U(j) ** 2 * math.log(1 / phi) if phi < 1 else 0.0)


class Mistakes(Policy):
    """The learner pays that holds the largest part of its mistakes, so that sizes go by the share of mistakes."""

    name = "mistakes"

    def price(self, memory: Any, j: int) -> float:
        return float(-memory.size(j) / memory.mistakes(j))


class Oldest(Policy):
    """The owner of the oldest entry of all pays."""

    name = "oldest"
    by_age = True

    def price(self, memory: Any, j: int) -> float:
        return float(memory.birth(memory.oldest(j)))


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


class SquareRoot(Policy):
    """Of the oldest entries that may go without shrinking, that of least damage; else who holds most for sqrt(M) pays.

    If a learner with n entries makes about a / n mistakes more than with all, and a grows as its mistakes M do, then
    all make the fewest mistakes with sizes in proportion to sqrt(M).
    """

    name = "square_root"

    def price(self, memory: Any, j: int) -> float:
        sigma, mu = memory.weight_and_margin(memory.oldest(j))
        if memory.phi(j, sigma, mu) == 1:
            return damage(sigma, mu)
        return float(_MOST_OF_FEW - memory.size(j) / math.sqrt(memory.mistakes(j)))


class SumBound(Policy):
    """Of the oldest entries that may go without shrinking, the one of least damage; else the oldest entry of all."""

    name = "sum_bound"
    by_age = True

    def price(self, memory: Any, j: int) -> float:
        r = memory.oldest(j)
        sigma, mu = memory.weight_and_margin(r)
        return damage(sigma, mu) if memory.phi(j, sigma, mu) == 1 else _MOST + memory.birth(r)
