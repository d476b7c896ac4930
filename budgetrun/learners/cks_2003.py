"""The budget Perceptron of Crammer, Kandola and Singer, as their own paper describes it."""

from budgetrun.base.params import NotNegative, Positive
from budgetrun.engine.hypotheses import Expansion
from budgetrun.engine.hypotheses.pairs import first_smallest
from budgetrun.engine.pool import Pool
from budgetrun.learners.base import RESCALED, BinaryLearner, Budgeted, as_fields
from budgetrun.learners.cks import margins_without


class _CKS2003(BinaryLearner):
    """The rule of 2003, with a fixed or a variable cache.

    Parameters:
    beta : float, >= 0; > 0 with a variable cache
        Examples with a margin of at most beta are added.

    References: Crammer, Kandola & Singer (2004), "Online classification on a budget", NIPS 16: the algorithms with a
    limit on the cache size, and with a variable one.
    """

    name = "cks_2003"
    revised = RESCALED
    beta: float

    def margins(self, f: Expansion, t: int) -> float:
        return self.beta + f.rounding


@as_fields
class FixedCKS2003(Budgeted, _CKS2003):
    """Before an example with a margin of at most beta is added to a full cache, remove the most redundant example.

    That is the one with the largest margin after its own removal.

    Parameters:
    budget : int, >= 1
        n, the size of the cache: the most support examples.

    Notes: O(B d) per round. The name CKS in the Forgetron paper, learner `cks`, stands for a different rule: it acts on
    mistakes only, and removes after the new example was added. Among examples with the same margin the oldest is
    removed. Nothing else is known to differ from the source, which was not at hand.

    >>> breast_cancer(FixedCKS2003(budget=20, beta=0.1), gamma=0.03).mistakes
    54
    """

    variant = "fixed"
    title = "CKS of 2003, fixed cache"
    default_variant = True

    beta: NotNegative = 0.0

    def start(self, pool: Pool) -> Expansion:
        return Expansion(pool, track="all", capacity=self.budget)

    def update(self, f: Expansion, y: int, score: float) -> None:
        if f.size == self.budget:
            f.evict(first_smallest(-margins_without(f), f.rounding * f.term_sizes))
        f.add(y)


@as_fields
class VariableCKS2003(_CKS2003):
    """Add every example with a margin of at most beta, then remove those whose margin without them is at least beta.

    Notes: O(n d) per round and removal for n support examples. The example with the largest margin is removed first,
    the oldest of several; it is not known in which order the source removes them. Nothing else is known to differ from
    the source, which was not at hand.

    >>> breast_cancer(VariableCKS2003(beta=0.5), gamma=0.03).mistakes
    23
    """

    variant = "variable"
    title = "CKS of 2003, variable cache"
    tracks = {"track": "all"}

    beta: Positive

    def update(self, f: Expansion, y: int, score: float) -> None:
        f.add(y)
        while f.size:
            margins = margins_without(f)
            if margins.max() < self.beta - f.rounding:
                return
            f.evict(first_smallest(-margins, f.rounding * f.term_sizes))


# As files of version 0.2.0 name it.
FixedCache, VariableCache = FixedCKS2003, VariableCKS2003
