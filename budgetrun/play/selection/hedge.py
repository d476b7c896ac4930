"""Hedge: exponential weights, with a rate that holds for any number of rounds."""

import math
from typing import ClassVar

import numpy as np

from budgetrun.kernels.arithmetic import exp
from budgetrun.play.selection.base import Rule, added


class Hedge(Rule):
    """A candidate's weight in round t is exp(-eta_t L), with L its mistakes so far and eta_t = 2 sqrt(ln N / t).

    Notes: The expected mistakes exceed those of the best candidate by at most sqrt(T ln N), for every T and every
    stream: sum over t of eta_t / 8 <= sqrt(T ln N) / 2 is the loss by Hoeffding's lemma, and ln N / eta_T = sqrt(T ln
    N) / 2 that of starting with N candidates. The rate may decrease because (mean of x^eta)^(1/eta) increases with eta.

    References: Freund & Schapire (1997), J. Comput. Syst. Sci. 55. Rates: Auer, Cesa-Bianchi & Gentile (2002), J.
    Comput. Syst. Sci. 64; Gyorfi & Ottucsak (2007), IEEE Trans. Inf. Theory 53(5), Lemma 1.

    Examples:
    >>> import numpy as np
    >>> rule = Hedge()
    >>> rule.start(2)
    >>> votes = np.array([[1, 1, 1, 1], [0, 0, 0, 0]])
    >>> rule.play(votes, np.array([[0, 0, 1, 0], [1, 1, 0, 1]]), n_classes=2).tolist()
    [-1, 1, 1, 1]
    """

    name: ClassVar[str] = "hedge"
    title: ClassVar[str] = "Hedge"
    theorem: ClassVar[str] = "Hedge, anytime rate: L* + sqrt(T ln N)"

    def weigh(self, losses: np.ndarray) -> np.ndarray:
        before = self.losses[:, None] + np.cumsum(losses, axis=1) - losses
        rates = 2 * np.sqrt(math.log(len(self.live)) / np.arange(self.rounds + 1, self.rounds + losses.shape[1] + 1))
        weights: np.ndarray = (
            exp(-rates * (before - before[self.live].min(axis=0)) * self.live[:, None]) * self.live[:, None]
        )
        shares: np.ndarray = weights / added(weights)
        return shares

    def bound(self, facts: dict[str, float], n_rounds: int) -> float:
        return facts["best_mistakes"] + math.sqrt(n_rounds * math.log(facts["candidates"]))
