"""OKS and IOKS: in every round, one of several kernels is drawn, and only its function predicts and learns."""

import math
from bisect import bisect_right
from itertools import accumulate

import numpy as np

from budgetrun.base.params import Count, Factors, Positive, Seed
from budgetrun.engine.hypotheses.drawn import Drawn
from budgetrun.engine.pool import Pool
from budgetrun.kernels import Gaussian, compiling
from budgetrun.learners.base import BinaryLearner, gaussian_rate
from budgetrun.learners.raker import FACTORS
from budgetrun.learners.steps import logistic_slope


class OKS(BinaryLearner):
    """Draw a kernel by the losses so far; its function alone predicts, and takes a step on the logistic loss.

    Parameters:
    factors : list of float, > 0
        The kernels: exp(-c gamma ||a - b||^2) for each factor c, where gamma is that of the Gaussian kernel of the run.
    horizon : int, >= the number of kernels
        T, for K kernels, in the constants delta = (K / T)^(1/3) and eta = sqrt(2 (1 - delta) ln K / (K T)): kernel i is
        drawn with probability p_i, which is delta / K plus a share of 1 - delta in proportion to exp(-eta L_i). Give
        the number of rounds.
    step : float, > 0, or None
        lambda. The example is added with weight lambda y / (p_i (1 + exp(y f(x)))), for the kernel i that was drawn.
        None means 25 sqrt(delta / (K T)).
    seed : int, >= 0
        Seed of the learner's generator, ``numpy.random.default_rng(seed)``; one uniform number u per round. The first
        kernel at which the cumulative sum of the probabilities exceeds u is drawn.

    Notes: O(n d) per round after n rounds. There is no budget: every example is added to one of the functions. L_i
    grows by log(1 + exp(-y f(x))) / p_i when kernel i is drawn. Only for the Gaussian kernel. The kernel of a round is
    drawn at the end of the one before, so a prediction outside the stream is what the next round would predict. The
    source was not at hand: the constants and the logistic loss are those of a later program that compares with it (Li &
    Liao, 2022), which has the factors here with sigma = 1.

    References: Yang, Mahdavi, Jin, Yi & Hoi (2012), "Online kernel selection: algorithms and evaluations", AAAI.

    >>> breast_cancer(OKS(horizon=569), gamma=0.03).mistakes
    79
    """

    name = "oks"
    title = "OKS"
    form = Drawn
    margin = math.inf
    draws = True
    compiled = False
    calls = 35
    holds = 1.0

    def __init__(
        self, *, factors: Factors = FACTORS, horizon: Count = 1_000, step: Positive | None = None, seed: Seed = 0
    ) -> None:
        self.factors = tuple(factors)
        K, T = len(self.factors), horizon
        if T < K:
            raise ValueError(f"horizon must be at least the number of kernels, {K}, got {T}")
        self.delta = (K / T) ** (1 / 3)
        self.eta = math.sqrt(2 * (1 - self.delta) * math.log(K) / (K * T))
        self.step = 25 * math.sqrt(self.delta / (K * T)) if step is None else step
        self.seed = seed
        self._random = np.random.default_rng(seed)
        self._p = [1 / K] * K
        self._L = [0.0] * K

    def start(self, pool: Pool) -> Drawn:
        rate = gaussian_rate(pool, self.name, "its kernels are multiples of the gaussian kernel")
        return Drawn(pool, [Gaussian(gamma=factor * rate) for factor in self.factors], self._draw())

    def update(self, f: Drawn, y: int, score: float) -> None:
        p = self._p[f.chosen]
        f.add(self.step * y * logistic_slope(y * score) / p)
        self._L[f.chosen] += float(np.logaddexp(0.0, -y * score)) / p
        least, K = min(self._L), len(self._L)
        weights = np.exp([-self.eta * (L - least) for L in self._L])
        total = float(weights.sum())
        self._p = [(1 - self.delta) * weight / total + self.delta / K for weight in weights.tolist()]
        f.chosen = self._draw()

    def _draw(self) -> int:
        return min(bisect_right(list(accumulate(self._p)), self._random.random()), len(self._p) - 1)


class IOKS(OKS):
    """Draw a kernel by the losses so far; its function alone predicts, and takes a step that its gradients decide.

    Parameters:
    horizon : int, >= 2
        T, in the constants below. Give the number of rounds.
    U : float, > 0
        The largest ||f_i||. The example is added with weight lambda g y, where i is the kernel that was drawn, g = 1 /
        (p_i (1 + exp(y f(x)))), lambda = sqrt(1/2) U / sqrt(1 + S_i) and S_i is the sum of g^2 so far; then f_i is
        scaled down to norm U if it is longer.

    Notes: O(n d) per round after n rounds. There is no budget: every example is added to one of the functions. Kernel i
    is drawn with probability p_i = (1 - T^(-3/4)) q_i + T^(-3/4) / K, for K kernels. After a round, q_j becomes
    (q_j^(-7/8) + eta_j (l_j - c))^(-8/7), with the c at which they sum to 1. The loss l_j is 0 for all kernels but i,
    and l_i = log(1 + exp(-y f(x))) / p_i; if p_i is not above the largest eta, it is divided by their sum instead. All
    eta_j begin as 8 K^(3/8) / (U sqrt(T ln T)), and rho_j = 2 K. If 1 / p_j exceeds rho_j, rho_j becomes 2 / p_j, and
    eta_j is multiplied by exp(2 / (3 ln T)).

    Only for the Gaussian kernel. As for OKS, a prediction outside the stream is what the next round would predict. The
    rule is that of the authors' program for the logistic loss. Departures: c is computed to rounding, where the program
    stops when the sum is within 1e-5 of 1. The authors' OKS++ is not here: its program has a mistake, and the paper was
    not at hand.

    References: Li & Liao (2022), "Improved regret bounds for online kernel selection under bandit feedback", ECML-PKDD:
    IOKS.

    >>> breast_cancer(IOKS(horizon=569), gamma=0.03).mistakes
    80
    """

    name = "ioks"
    title = "IOKS"
    calls = 60

    def __init__(
        self, *, factors: Factors = FACTORS, horizon: Count = 1_000, U: Positive = 15.0, seed: Seed = 0
    ) -> None:
        if horizon < 2:
            raise ValueError(f"horizon must be at least 2, got {horizon}")
        super().__init__(factors=factors, horizon=max(horizon, len(factors)), seed=seed)
        K, T = len(factors), horizon
        self.U = U
        self.least = T**-0.75
        self.growth = math.exp(2 / (3 * math.log(T)))
        self._q = np.array(self._p)
        self._etas = np.full(K, 8 * K**0.375 / (U * math.sqrt(T * math.log(T))))
        self._rho = [2.0 * K] * K
        self._S = [0.0] * K

    def update(self, f: Drawn, y: int, score: float) -> None:
        i = f.chosen
        p, largest = self._p[i], float(self._etas.max())
        g = logistic_slope(y * score) / p
        self._S[i] += g**2
        f.add(math.sqrt(0.5) * self.U / math.sqrt(1 + self._S[i]) * g * y)
        if f.norm_sq[i] > self.U**2:
            f.scale(self.U / math.sqrt(f.norm_sq[i]))
        loss = float(np.logaddexp(0.0, -y * score)) / (p if p > largest else p + largest)
        # (q_j^(-7/8) + eta_j (l_j - c))^(-8/7) with sum 1, where l_i = loss and the other l_j are 0.
        base = self._q**-0.875
        base[i] += self._etas[i] * loss
        c = compiling.call(_solved, base, self._etas, min(loss, float((base / self._etas).min())))
        self._q = (base - c * self._etas) ** (-8 / 7)
        self._p = [(1 - self.least) * q + self.least / len(self._q) for q in self._q.tolist()]
        for j, p in enumerate(self._p):
            if 1 / p > self._rho[j]:
                self._rho[j] = 2 / p
                self._etas[j] *= self.growth
        f.chosen = self._draw()


def _solved(base: np.ndarray, eta: np.ndarray, most: float) -> float:
    """Return the c below ``most`` at which the sum of (base_j - eta_j c)^(-8/7) is 1."""
    low, high = 0.0, most
    # The sum grows with c, from at most 1 at 0.
    while True:
        c, total = (low + high) / 2, 0.0
        if c in (low, high):
            return low
        for j in range(len(base)):
            total += (base[j] - eta[j] * c) ** (-8 / 7)
        low, high = (c, high) if total < 1 else (low, c)
