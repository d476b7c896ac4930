"""Ahpatron: AVP on a budget, which halves the support set and projects the removed half."""

import math
from typing import Literal

import numpy as np

from budgetrun.base.params import EvenBudget, Positive, ProperShare
from budgetrun.engine.hypotheses import Expansion
from budgetrun.kernels.compiling import interpreted
from budgetrun.learners.base import BinaryLearner, Budgeted, as_fields, derived
from budgetrun.learners.steps import into_ball, with_norm


@as_fields
class Ahpatron(Budgeted, BinaryLearner):
    """Add every example whose margin is below 1 - epsilon; when the budget is full, project half of the examples.

    Parameters:
    budget : int, even, >= 2
        B, the most support examples between rounds. Theorem 4 needs B >= 50, Theorem 6 B >= 16.
    epsilon : float in (0, 1)
        Examples with a margin below 1 - epsilon are added. Theorem 4 needs epsilon > 3 U / sqrt(B).
    U : float, > 0, or None
        The bound on ||f||; None means sqrt(B) / 2, as in the authors' runs.
    step : float, > 0, or None
        lambda, the weight of a new example; None means U / sqrt(4 B), as in Theorem 6.
    eta : float, > 0
        The ridge regularisation of the projection, eq. (6).
    norm : {"kept", "shrunk"}
        ||f|| after halving: unchanged, c_t = ||f_t|| / U (Theorem 6; default), or 0.6 U (Theorem 4).
    halving : {"largest", "program"}
        Which half is kept: the examples with the largest weights (default), as in the paper; or, as in the authors'
        program, the oldest of those whose weight is at least the median, even if a younger one has a larger weight.

    Attributes:
    halvings : int
        |J|, the number of halvings.
    moved, furthest : float
        The sum and the maximum of ||f - fbar|| over the halvings.

    Notes: O(B d) per round, and O(B^2 d + B^3) per halving; at most one in B / 2 updates is a halving (Lemma 1). Among
    examples with equal weights the older ones are kept. The paper does not say so, but its Table 3 agrees with it:
    keeping the younger ones gives 17% more margin updates on w8a than published, keeping the older ones 1% fewer.

    References: Liao, Li, Liao, Hu & Dang (2024), "Ahpatron: a new budgeted online kernel learning machine with tighter
    mistake bound", AAAI. Algorithm 2, eqs. (6)-(9).

    >>> breast_cancer(Ahpatron(budget=20, epsilon=0.5), gamma=0.03).mistakes
    35
    """

    name = "ahpatron"
    title = "Ahpatron"
    tracks = {"norm": True}
    added = {"halving": "largest"}

    budget: EvenBudget
    epsilon: ProperShare
    U: Positive = derived(lambda self: math.sqrt(self.budget) / 2)
    step: Positive = derived(lambda self: self.U / math.sqrt(4 * self.budget))
    eta: Positive = 0.0005
    norm: Literal["kept", "shrunk"] = "kept"
    halving: Literal["largest", "program"] = "largest"

    def __post_init__(self) -> None:
        super().__post_init__()
        self.halvings = 0
        self.moved = self.furthest = 0.0

    def margins(self, f: Expansion, t: int) -> float:
        return 1 - self.epsilon - f.rounding

    def uncompiled(self, f: Expansion) -> bool:
        return f.size == self.budget

    def update(self, f: Expansion, y: int, score: float) -> None:
        if f.size == self.budget:
            self.halve(f)
        f.add(y * self.step)
        into_ball(f, self.U)

    @interpreted
    def halve(self, f: Expansion) -> None:
        """Keep one half of the support set, and project the other half on its span."""
        half = self.budget // 2
        # Weights that differ only by rounding are equal. The sort is stable, so the older of them are kept.
        sizes = np.round(np.abs(f.coef) / np.abs(f.coef).max(), 9)
        first = np.argsort(-sizes, kind="stable")
        if self.halving == "program":
            first = np.flatnonzero(sizes >= np.median(sizes))
        stays = np.sort(first[:half])
        # Those that stay come first: to copy parts of K takes as long as to solve for theta.
        order = np.concatenate((stays, np.delete(np.arange(f.size), stays)))
        K, change = f.gram(order), f.coef[order]
        K_2, K_21 = K[:half, :half], K[:half, half:]
        theta = np.linalg.solve(K_2 + self.eta * np.eye(half), K_21 @ change[half:])
        # Below 0 by rounding, where f is nearly 0.
        norm = math.sqrt(max(0.0, f.norm_sq)) if self.norm == "kept" else 0.6 * self.U
        weights, norm_sq = with_norm(change[:half] + theta, K_2, norm)
        change[:half] -= weights
        distance = math.sqrt(max(0.0, float(change @ K @ change)))
        self.halvings += 1
        self.moved += distance
        self.furthest = max(self.furthest, distance)
        f.keep(stays, weights, norm_sq)

    def facts(self, f: Expansion) -> dict[str, float]:
        return {"halvings": self.halvings, "zeta": self.furthest / self.U, "moved": self.moved}
