"""Fixed share: exponential weights of which a share is divided among all candidates after every round."""

import math
from typing import ClassVar

import numpy as np

from budgetrun.base.params import ProperShare
from budgetrun.play.selection.base import Rule, added


class FixedShare(Rule):
    """Weights are multiplied by exp(-eta) for a mistake; then every candidate gets an equal part of a share of them.

    So the weights recover when the best candidate changes.

    Parameters:
    share : float, 0 < share < 1
        alpha, the share that is divided among all N candidates: about how often the best candidate changes, per round.

    Notes: With c = -(1 - alpha) ln(1 - alpha) - alpha ln(alpha / N), what a sequence of candidates that changes at that
    rate costs per round, the rate eta = sqrt(8 c) makes both terms of the bound equal. On every stream, the expected
    mistakes are at most those of any sequence of candidates, plus T eta / 8, plus (1 / eta) times: ln N, -ln(1 - alpha
    + alpha / N) per round without a change, and -ln(alpha / N) per change. The bound on a run is that of the best
    sequence, which is computed along with the weights.

    References: Herbster & Warmuth (1998), Machine Learning 32; Cesa-Bianchi & Lugosi (2006), Section 5.2.
    """

    name: ClassVar[str] = "fixed_share"
    title: ClassVar[str] = "Fixed share"
    theorem: ClassVar[str] = "Fixed share: the best sequence of candidates"

    def __init__(self, *, share: ProperShare = 0.001) -> None:
        self.share = share

    def start(self, n_candidates: int) -> None:
        super().start(n_candidates)
        self.weights = np.full(n_candidates, 1 / n_candidates)
        # The cost of the best sequence of candidates that ends with each.
        self.costs = np.full(n_candidates, math.log(n_candidates) / self.rate)

    @property
    def rate(self) -> float:
        """eta."""
        alpha, n = self.share, len(self.live)
        return math.sqrt(8 * (-(1 - alpha) * math.log(1 - alpha) - alpha * math.log(alpha / n)))

    def weigh(self, losses: np.ndarray) -> np.ndarray:
        eta, alpha, n = self.rate, self.share, len(self.live)
        out = np.empty(losses.shape)
        factors = np.where(losses, math.exp(-eta), 1.0)
        stay, change = -math.log(1 - alpha + alpha / n) / eta, -math.log(alpha / n) / eta
        for t in range(losses.shape[1]):
            out[:, t] = self.weights
            kept = self.weights * factors[:, t]
            self.weights = (1 - alpha) * kept / added(kept) + alpha / n
            if self.rounds + t:
                self.costs = np.minimum(self.costs + stay, self.costs.min() + change)
            self.costs = self.costs + losses[:, t]
        return out

    def next_weights(self) -> np.ndarray:
        return self.weights.copy()

    def facts(self) -> dict[str, float]:
        return super().facts() | {"best_sequence": float(self.costs.min()), "rate": self.rate}

    def bound(self, facts: dict[str, float], n_rounds: int) -> float:
        return facts["best_sequence"] + n_rounds * facts["rate"] / 8
