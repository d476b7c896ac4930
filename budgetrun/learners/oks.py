"""OKS and IOKS: in every round, one of several kernels is drawn, and only its function predicts and learns."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from budgetrun.engine.hypotheses import Hypothesis
from budgetrun.engine.hypotheses.base import CANCELLED
from budgetrun.kernels import Gaussian, Rows
from budgetrun.kernels.sums import add_up, evaluated, inner
from budgetrun.learners.avm import Distances
from budgetrun.learners.base import BinaryLearner, gaussian_rate
from budgetrun.learners.raker import FACTORS
from budgetrun.params import Count, Factors, Positive, Seed

if TYPE_CHECKING:
    from budgetrun.engine.pool import Pool


class Drawn(Hypothesis):
    """A kernel expansion f_i for each of several kernels; f is the one that was drawn for the next round.

    The verbs, for that one, are `add` and `scale`.

    Parameters
    ----------
    pool : Pool
    kernels : list of Gaussian
    chosen : int
        The kernel of the first round.

    Attributes
    ----------
    chosen : int
        The kernel of the current round; assigned for the next one.
    norm_sq : ndarray of float64, shape (kernels,)
        ||f_i||^2.
    slots, coef : ndarray, shape (size,)
        The support examples of all kernels, oldest first, each in one f_i with this weight.

    Notes
    -----
    Kernel values are computed from squared distances, which serve all kernels, when a round comes.
    """

    form = "drawn"
    compiled = False

    def __init__(self, pool: Pool, kernels: list[Gaussian], chosen: int) -> None:
        super().__init__(pool)
        self.chosen = chosen
        self.norm_sq = np.zeros(len(kernels))
        self.coef = np.zeros(0)
        self._kernels = kernels
        self._slots = np.zeros(0, dtype=np.intp)
        # The kernel of each support example.
        self._of = np.zeros(0, dtype=np.intp)
        self._shared: Distances = pool.shared.setdefault("distances", Distances())
        self._distances = np.zeros((1, 0, 0))

    @property
    def slots(self) -> np.ndarray:
        return self._slots

    @property
    def current(self) -> float:
        return float(inner(*self._terms(self._round)))

    def add(self, weight: float) -> None:
        """f_i += weight k_i(x, .), for the example x of the current round."""
        self.norm_sq[self.chosen] += 2 * weight * self.current + weight**2 * self.square
        self._slots = np.append(self._slots, self._block_slots[self._round])
        self.coef = np.append(self.coef, weight)
        self._of = np.append(self._of, self.chosen)

    def scale(self, phi: float) -> None:
        """f_i *= phi."""
        self.norm_sq[self.chosen] *= phi**2
        self.coef = np.where(self._of == self.chosen, phi, 1.0) * self.coef

    def begin_block(self) -> None:
        super().begin_block()
        self._distances = self._shared.of_block(self._pool)

    def end_block(self) -> None:
        self._distances = np.zeros((1, 0, 0))

    def score_at(self, t: int) -> float:
        """Return f(x_t) for round ``t`` of the tile; 0 if its terms cancel except for rounding."""
        weights, values = self._terms(t)
        score = float(inner(weights, values))
        self.scores[t] = score = 0.0 if abs(score) <= CANCELLED * inner(np.abs(weights), values) else score
        return score

    def score(self, X: Rows, averaged: bool = False) -> np.ndarray:
        scores, mine = np.zeros(X.shape[0]), self._of == self.chosen
        if mine.any():
            assert self._pool.kind is not None
            values = self._pool.kind.taken(self._slots[mine]).between(self._kernels[self.chosen], X)
            add_up(self.coef[mine], np.arange(len(values)), values, scores)
        return scores

    def memory(self, size: int, block: int) -> float:
        return super().memory(size, block) + 8 * size * block

    def solving(self, size: int) -> float:
        # The kernel values of a part of the examples, from distances, and copies of what is held.
        return 500.0 * size

    def _terms(self, t: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the weights of f_i, and the kernel values of its examples with that of round ``t`` of the tile."""
        mine = np.flatnonzero(self._of == self.chosen)
        squares = self._distances[self._tile][self._slots[mine], t - self.tile_start]
        return self.coef[mine], evaluated(self._kernels[self.chosen], squares)


class OKS(BinaryLearner):
    """Draw a kernel by the losses so far; its function alone predicts, and takes a step on the logistic loss.

    Parameters
    ----------
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

    Notes
    -----
    O(n d) per round after n rounds. There is no budget: every example is added to one of the functions.
    L_i grows by log(1 + exp(-y f(x))) / p_i when kernel i is drawn. Only for the Gaussian kernel. The kernel of a round
    is drawn at the end of the one before, so a prediction outside the stream is what the next round would predict. The
    source was not at hand: the constants and the logistic loss are those of a later program that compares with it (Li &
    Liao, 2022), which has the factors here with sigma = 1.

    References
    ----------
    Yang, Mahdavi, Jin, Yi & Hoi (2012), "Online kernel selection: algorithms and evaluations", AAAI.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from budgetrun.engine import run
    >>> from budgetrun.kernels import Gaussian
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> run(OKS(horizon=569), Gaussian(gamma=0.03), scale(X), 2 * y - 1).mistakes
    79
    """

    name = "oks"
    title = "OKS"
    form = Drawn
    margin = math.inf
    draws = True
    compiled = False
    calls = 115
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
        self._p = np.full(K, 1 / K)
        self._L = np.zeros(K)

    def start(self, pool: Pool) -> Drawn:
        rate = gaussian_rate(pool, self.name, "its kernels are multiples of the gaussian kernel")
        return Drawn(pool, [Gaussian(gamma=factor * rate) for factor in self.factors], self._draw())

    def update(self, f: Drawn, y: int, score: float) -> None:
        p = float(self._p[f.chosen])
        f.add(self.step * y * _slope(y * score) / p)
        self._L[f.chosen] += np.logaddexp(0.0, -y * score) / p
        weights = np.exp(-self.eta * (self._L - self._L.min()))
        self._p = (1 - self.delta) * weights / weights.sum() + self.delta / len(weights)
        f.chosen = self._draw()

    def _draw(self) -> int:
        """Draw the kernel of the next round."""
        return min(int(np.searchsorted(np.cumsum(self._p), self._random.random(), "right")), len(self._p) - 1)


class IOKS(OKS):
    """Draw a kernel by the losses so far; its function alone predicts, and takes a step that its gradients decide.

    Parameters
    ----------
    factors : list of float, > 0
        The kernels: exp(-c gamma ||a - b||^2) for each factor c, where gamma is that of the Gaussian kernel of the run.
    horizon : int, >= 2
        T, in the constants below. Give the number of rounds.
    U : float, > 0
        The largest ||f_i||. The example is added with weight lambda g y, where i is the kernel that was drawn, g = 1 /
        (p_i (1 + exp(y f(x)))), lambda = sqrt(1/2) U / sqrt(1 + S_i) and S_i is the sum of g^2 so far; then f_i is
        scaled down to norm U if it is longer.
    seed : int, >= 0
        Seed of the learner's generator, ``numpy.random.default_rng(seed)``; one uniform number u per round. The first
        kernel at which the cumulative sum of the probabilities exceeds u is drawn.

    Notes
    -----
    O(n d) per round after n rounds. There is no budget: every example is added to one of the functions.
    Kernel i is drawn with probability p_i = (1 - T^(-3/4)) q_i + T^(-3/4) / K, for K kernels. After a round, q_j
    becomes (q_j^(-7/8) + eta_j (l_j - c))^(-8/7), with the c at which they sum to 1. The loss l_j is 0 for all kernels
    but i, and l_i = log(1 + exp(-y f(x))) / p_i; if p_i is not above the largest eta, it is divided by their sum
    instead. All eta_j begin as 8 K^(3/8) / (U sqrt(T ln T)), and rho_j = 2 K. If 1 / p_j exceeds rho_j, rho_j becomes
    2 / p_j, and eta_j is multiplied by exp(2 / (3 ln T)).

    Only for the Gaussian kernel. As for OKS, a prediction outside the stream is what the next round would predict. The
    rule is that of the authors' program for the logistic loss. Departures: c is computed to rounding, where the program
    stops when the sum is within 1e-5 of 1. The authors' OKS++ is not here: its program has a mistake, and the paper was
    not at hand.

    References
    ----------
    Li & Liao (2022), "Improved regret bounds for online kernel selection under bandit feedback", ECML-PKDD: IOKS.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from budgetrun.engine import run
    >>> from budgetrun.kernels import Gaussian
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> run(IOKS(horizon=569), Gaussian(gamma=0.03), scale(X), 2 * y - 1).mistakes
    80
    """

    name = "ioks"
    title = "IOKS"
    calls = 210

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
        self._q = self._p.copy()
        self._etas = np.full(K, 8 * K**0.375 / (U * math.sqrt(T * math.log(T))))
        self._rho = np.full(K, 2.0 * K)
        self._S = np.zeros(K)

    def update(self, f: Drawn, y: int, score: float) -> None:
        i = f.chosen
        p, largest = float(self._p[i]), float(self._etas.max())
        g = _slope(y * score) / p
        self._S[i] += g**2
        f.add(math.sqrt(0.5) * self.U / math.sqrt(1 + self._S[i]) * g * y)
        if f.norm_sq[i] > self.U**2:
            f.scale(self.U / math.sqrt(f.norm_sq[i]))
        loss = float(np.logaddexp(0.0, -y * score)) / (p if p > largest else p + largest)
        self._q = _moved(self._q, self._etas, i, loss)
        self._p = (1 - self.least) * self._q + self.least / len(self._q)
        rare = 1 / self._p > self._rho
        self._rho = np.where(rare, 2 / self._p, self._rho)
        self._etas = np.where(rare, self.growth, 1.0) * self._etas
        f.chosen = self._draw()


def _slope(margin: float) -> float:
    """Return 1 / (1 + exp(margin)). numpy's exp has another last digit for some numbers, on which outcomes depend."""
    small = math.exp(-abs(margin))
    return (small if margin > 0 else 1.0) / (1 + small)


def _moved(q: np.ndarray, eta: np.ndarray, i: int, loss: float) -> np.ndarray:
    """Return (q_j^(-7/8) + eta_j (l_j - c))^(-8/7) with sum 1, where l_i = loss and the other l_j are 0."""
    base, slope = (q**-0.875).tolist(), eta.tolist()
    base[i] += slope[i] * loss
    low, high = 0.0, min(loss, *(b / s for b, s in zip(base, slope, strict=True)))
    # The sum grows with c, from at most 1 at 0.
    while (c := (low + high) / 2) not in (low, high):
        terms = [b - s * c for b, s in zip(base, slope, strict=True)]
        low, high = (c, high) if sum(t ** (-8 / 7) for t in terms) < 1 else (low, c)
    moved: np.ndarray = (np.array(base) - low * eta) ** (-8 / 7)
    return moved
