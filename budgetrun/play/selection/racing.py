"""Racing: Hedge, and candidates that are hopeless are dropped for good."""

from typing import ClassVar

import numpy as np

from budgetrun.base.params import ProperShare
from budgetrun.play.selection.hedge import Hedge


class Racing(Hedge):
    """Hedge on the candidates that are left; one that errs significantly more often than another is dropped for good.

    After every 64th round, for each pair: n is the number of rounds so far in which exactly one of the two erred, and D
    how much more often it was the first. The first is dropped if D > sqrt(2 n ln(N^2 n (n + 1) / confidence)). A
    dropped candidate frees its memory and takes no more time.

    Parameters:
    confidence : float, 0 < confidence < 1
        delta, the probability with which a good candidate may be dropped.

    Notes: With probability at least 1 - delta, no candidate is dropped for which, in every round in which it and
    another differ, the probability given the past that it is the one that errs is at most 1/2, whichever the other is.
    This is Hoeffding's inequality for the rounds in which a pair differs, for all pairs and all n at once. It assumes
    nothing else of the stream; if the best candidate changes, the later one may be gone.

    The expected mistakes exceed those of the best candidate that is left by at most sqrt(T ln N), as for Hedge:
    dropping a weight only lowers the sum of weights.

    References: Maron & Moore (1994), NIPS 6; Even-Dar, Mannor & Mansour (2006), J. Mach. Learn. Res. 7.
    """

    name: ClassVar[str] = "racing"
    title: ClassVar[str] = "Racing"
    theorem: ClassVar[str] = "Racing: L* of those left + sqrt(T ln N)"

    def __init__(self, *, confidence: ProperShare = 0.05) -> None:
        self.confidence = confidence

    def start(self, n_candidates: int) -> None:
        super().start(n_candidates)
        # In how many rounds the row's candidate erred and the column's did not.
        self.apart = np.zeros((n_candidates, n_candidates), dtype=np.int64)

    def weigh(self, losses: np.ndarray) -> np.ndarray:
        weights = super().weigh(losses)
        errs = losses.astype(np.float64)
        self.apart = self.apart + (errs @ (1 - errs).T).astype(np.int64)
        return weights

    def drop(self) -> np.ndarray:
        n = (self.apart + self.apart.T).astype(np.float64)
        more = self.apart - self.apart.T
        log = np.log(len(self.live) ** 2 * np.maximum(n, 1) * (n + 1) / self.confidence)
        hopeless = more > np.sqrt(2 * n * log)
        dropped: np.ndarray = self.live & hopeless[:, self.live].any(axis=1)
        self.live = self.live & ~dropped
        return dropped
