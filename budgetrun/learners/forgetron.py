"""The Forgetrons: basic, self-tuned and greedy."""

import math
from collections.abc import Callable
from typing import Literal

import numpy as np

from budgetrun.engine.hypotheses import Expansion
from budgetrun.engine.hypotheses.pairs import first_smallest
from budgetrun.engine.pool import Pool
from budgetrun.learners.base import BinaryLearner, Budgeted, as_fields

# The damage of removals may sum to at most this fraction of the mistakes, in eqs. (41)-(52).
ALLOWED = 15 / 32


def damage(sigma: float, mu: float) -> float:
    """Return Psi(lambda, mu) = lambda^2 + 2 lambda - 2 lambda mu, eq. (15): the cost of a removal in the mistake bound.

    lambda (``sigma``, in [0, 1]) is the weight of the removed example, mu its margin before the removal.
    """
    return sigma * sigma + 2 * sigma - 2 * sigma * mu


def loss_by_shrinking(norm: float, phi: float, U: float) -> float:
    """Return log(1 / Phi), eq. (24): the cost of shrinking in the mistake bound, divided by ||g||^2.

    ``norm`` is ||f'||, before shrinking by phi in (0, 1]. The bound holds for competitors g with ||g|| <= U; shrinking
    a norm above U down to U costs nothing.
    """
    return math.log(min(norm, U) / min(phi * norm, U)) if norm > 0 else 0.0


def weight_and_margin(f: Expansion, r: int) -> tuple[float, float]:
    """Return sigma_r, the weight of support example ``r`` without its sign, and its margin y_r f(x_r)."""
    coef, score = f.coef[r], f.score_of(r)
    return abs(coef), score if coef > 0 else -score


def largest_competitor(budget: int, log: Callable[[float], float] = math.log) -> float:
    """Return U, eq. (26): the largest norm of a competitor in the mistake bounds."""
    return math.sqrt((budget + 1) / log(budget + 1)) / 4


def gentlest_shrinking(sigma: float, mu: float, Q: float, M: int) -> float:
    """Return the largest phi in (0, 1] with Psi(phi sigma, phi mu) + Q <= 15/32 M: eqs. (42)-(44), all branches.

    sigma in [0, 1] is sigma_{r,t}, the weight of the example to be removed; mu is y_r f'_t(x_r), its margin after the
    Perceptron's update; Q <= 15/32 (M - 1) is the damage of the earlier removals; M >= 1 counts the mistakes, including
    the current round. It is nan if the rounding errors of huge kernel values have broken the condition on Q.
    """
    a = sigma * sigma - 2 * sigma * mu
    b = 2 * sigma
    c = Q - ALLOWED * M
    d = b * b - 4 * a * c
    if c > 0:
        return math.nan
    if a > 0 or (a < 0 and d > 0 and (-b - math.sqrt(d)) / (2 * a) > 1):
        # (-b + sqrt(d)) / 2a, without subtracting nearly equal numbers.
        return min(1.0, -2 * c / (b + math.sqrt(d)))
    if a == 0 and b > 0:
        return min(1.0, -c / b)
    return 1.0


class _Forgetron(Budgeted, BinaryLearner):
    """Base of the Forgetrons, with the quantities in their mistake bounds.

    Parameters:
    budget : int, >= 1
        B, the most support examples between rounds. The mistake bound needs B >= 83.
    """

    name = "forgetron"
    tracks = {"norm": True, "track": "oldest"}

    def __post_init__(self) -> None:
        super().__post_init__()
        self.U = largest_competitor(self.budget)
        self.Q = 0.0
        self.shrinking = 0.0

    def facts(self, f: Expansion) -> dict[str, float]:
        return {"damage": self.Q, "shrinking": self.shrinking, "U": self.U}


@as_fields
class BasicForgetron(_Forgetron):
    """On every mistake, shrink all weights by a fixed factor; past the budget, remove the oldest example.

    Parameters:
    cap : {"every_mistake", "when_full"}
        When ||f|| is cut to U: on every mistake, as in eq. (25) (default), or only on mistakes when the budget is full,
        which Lemmas 7 and 8 allow.
    logarithm : {"natural", "base2"}
        The logarithm in U, eq. (26): natural (default), as the proofs require, or base 2.

    Attributes:
    Q, shrinking : float
        The sums of Psi_t and of log(1 / Phi_t) in Lemma 6.

    Notes: O(B d) per round. Departures from the source: none by default. The other values of ``cap`` and ``logarithm``
    are readings that agree better with the source's Table 8.1 than its text.

    References: Dekel, Shalev-Shwartz & Singer (2008), SIAM J. Comput. 37(5). Fig. 2; phi: eqs. (25)-(26).

    >>> breast_cancer(BasicForgetron(budget=20), gamma=0.03).mistakes
    77
    """

    variant = "basic"
    title = "Forgetron, basic"

    cap: Literal["every_mistake", "when_full"] = "every_mistake"
    logarithm: Literal["natural", "base2"] = "natural"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.logarithm == "base2":
            self.U = largest_competitor(self.budget, math.log2)
        self.factor = (self.budget + 1) ** (-1 / (2 * (self.budget + 1)))

    def update(self, f: Expansion, y: int, score: float) -> None:
        f.add(y)
        phi, norm = self.factor, math.sqrt(max(f.norm_sq, 0.0))
        if (self.cap == "every_mistake" or f.size > self.budget) and norm > 0:
            phi = min(phi, self.U / norm)
        self.shrinking += loss_by_shrinking(norm, phi, self.U)
        f.scale(phi)
        if f.size > self.budget:
            self.Q += damage(*weight_and_margin(f, 0))
            f.evict(0)


class SelfTunedForgetron(_Forgetron):
    """Past the budget, shrink all weights just enough, then remove the oldest example.

    Attributes:
    Q : float
        The damage of the removals so far, at most 15/32 of the mistakes.
    phi : float in (0, 1]
        The last shrinking coefficient.
    shrinking : float
        The sum of log(1 / Phi_t) in Lemma 6, for the U of eq. (26).

    Notes: O(B d) per round. Departures from the source: none.

    References: Dekel, Shalev-Shwartz & Singer (2008), SIAM J. Comput. 37(5). Fig. 3; phi: eqs. (42)-(44).

    >>> breast_cancer(SelfTunedForgetron(budget=20), gamma=0.03).mistakes
    52
    """

    variant = "self_tuned"
    title = "Forgetron, self-tuned"
    default_variant = True
    revision = 3
    alike_until_full = "adds mistakes"

    def __post_init__(self) -> None:
        super().__post_init__()
        self.phi = 1.0

    def update(self, f: Expansion, y: int, score: float) -> None:
        f.add(y)
        if f.size > self.budget:
            self.remove(f, 0)

    def remove(self, f: Expansion, r: int) -> None:
        """Shrink the hypothesis as much as the removal of support example ``r`` requires, and remove it."""
        sigma, mu = weight_and_margin(f, r)
        self.phi = gentlest_shrinking(sigma, mu, self.Q, f.mistakes)
        self.Q += damage(self.phi * sigma, self.phi * mu)
        if self.phi < 1:
            self.shrinking += loss_by_shrinking(math.sqrt(max(f.norm_sq, 0.0)), self.phi, self.U)
        f.scale(self.phi)
        f.evict(r)


@as_fields
class GreedyForgetron(SelfTunedForgetron):
    """Past the budget, remove the example that does least damage, if that is harmless; else act as the self-tuned one.

    Parameters:
    test : {"per_round", "cumulative"}
        When the least damage Psi is harmless: Psi <= 15/32, eq. (52) (default); or Psi + Q_t <= 15/32 M_t, which the
        proof allows and which lets a removal use what earlier ones have saved.

    Notes: O(B d) per round. Among examples with the same damage the oldest is removed. Departures from the source: none
    by default; ``test="cumulative"`` is a reading that agrees better with its Table 8.1 than its text.

    References: Dekel, Shalev-Shwartz & Singer (2008), SIAM J. Comput. 37(5), section 7, eqs. (51)-(52).

    >>> breast_cancer(GreedyForgetron(budget=20), gamma=0.03).mistakes
    42
    """

    variant = "greedy"
    title = "Forgetron, greedy"
    default_variant = False

    test: Literal["per_round", "cumulative"] = "per_round"

    def start(self, pool: Pool) -> Expansion:
        return Expansion(pool, norm=True, track="all", capacity=self.budget + 1)

    def update(self, f: Expansion, y: int, score: float) -> None:
        f.add(y)
        if f.size > self.budget:
            held = slice(0, f.size - 1)
            sigma, margins = np.abs(f.coef[held]), (f.labels * f.self_scores)[held]
            Psi = sigma * (sigma + 2 - 2 * margins)
            j = first_smallest(Psi, np.full(len(Psi), f.rounding))
            allowed = ALLOWED if self.test == "per_round" else ALLOWED * f.mistakes - self.Q
            self.remove(f, j if Psi[j] <= allowed + f.rounding else 0)
