"""The least damage in the mistake bound, per byte."""

import math
from typing import Any

import numpy as np

from budgetrun.fleet.policies.base import Policy
from budgetrun.learners.forgetron import damage


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
