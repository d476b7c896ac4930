"""The base class of policies."""

from typing import Any, ClassVar

from budgetrun.kernels.compiling import Compilable


class Policy(Compilable):
    """A rule that names the learner whose entry is removed, among those above their floors.

    Each learner has a price, and the cheapest pays; of equal ones, that of the lowest number. A tournament in a tree
    finds it: an event changes a few prices, in O(log m) each.
    """

    name: ClassVar[str] = ""  #: in configs, e.g. ``least_damage``
    by_age: ClassVar[bool] = (
        False  #: whether prices depend on the ages of entries across learners, which are then stored
    )
    by_row: ClassVar[bool] = False  #: whether ages are stored by row: entries of the same row have the same
    by_halves: ClassVar[bool] = False  #: whether prices depend on what the younger halves of learners would predict
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
