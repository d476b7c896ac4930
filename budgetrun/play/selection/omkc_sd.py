"""OMKC with deterministic combination and stochastic update: candidates that err often seldom learn."""

from typing import ClassVar

import numpy as np

from budgetrun.base.params import ProperShare, Seed
from budgetrun.play.selection.omkc import OMKC


class SampledOMKC(OMKC):
    """As OMKC, but a candidate learns from a round with a probability that falls with its weight.

    The probability is (1 - delta) q / max q + delta, with q its weight. This saves time, and the
    memory of candidates with small weights.

    Parameters:
    beta : float, 0 < beta < 1
        The factor of a mistake; the paper's is 0.99.
    smoothing : float, 0 < delta < 1
        The least probability.
    seed : int, >= 0
        Seed of ``numpy.random.default_rng(seed)``; one uniform number per candidate and round, in their order. The
        candidate learns if it is below the probability.

    Notes: All candidates vote in every round, and the weights follow all of their mistakes, so the bound is that of
    OMKC, with the candidates as they have learned. For a candidate, a round from which it does not learn does not
    exist: its weights, for example, do not decay.

    We had no access to the source, and do not know whether it also keeps the weight of a candidate that is not drawn.
    Departures: as for OMKC.

    References: Hoi, Jin, Zhao & Yang (2013), Machine Learning 90: OMKC(S,D); the bound: Freund & Schapire (1997), J.
    Comput. Syst. Sci. 55, Theorem 2.
    """

    name: ClassVar[str] = "omkc_sd"
    title: ClassVar[str] = "OMKC, stochastic update"
    samples: ClassVar[bool] = True

    def __init__(self, *, beta: ProperShare = 0.99, smoothing: ProperShare = 0.001, seed: Seed = 0) -> None:
        super().__init__(beta=beta)
        self.smoothing = smoothing
        self.seed = seed

    def start(self, n_candidates: int) -> None:
        super().start(n_candidates)
        self._random = np.random.default_rng(self.seed)

    def drawn(self) -> np.ndarray:
        weights = self.next_weights()
        p = (1 - self.smoothing) * weights / weights.max() + self.smoothing
        drawn: np.ndarray = self._random.random(len(weights)) < p
        return drawn
