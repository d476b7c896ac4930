"""Probabilities from the scores of a learner, fitted on the stream."""

from __future__ import annotations

import math
from typing import Any

import numpy as np


class Calibration:
    """Probabilities from scores, fitted on the stream: each round's from the rounds before it.

    Notes
    -----
    Two classes: Platt scaling, p = 1 / (1 + exp(-(a f(x) / s + b))). More: p_c is proportional to exp(a f_c(x) / s).
    The scale s is the root mean square of all scores so far, including f(x). Each round changes a and b, from a = 1 and
    b = 0, by an online Newton step on the logarithmic loss: minus H^-1 g, where g is the gradient of the round's loss,
    and H the identity plus the sum of g g' so far.

    References
    ----------
    Platt (1999), "Probabilistic outputs for support vector machines"; Hazan, Agarwal & Kale (2007), "Logarithmic regret
    algorithms for online convex optimization", Section 3.2, without its projection.
    """

    def __init__(self) -> None:
        self._a, self._b = 1.0, 0.0
        self._aa, self._ab, self._bb = 1.0, 0.0, 1.0
        self._sum, self._n = 0.0, 0

    def of(self, score: Any) -> list[float]:
        """Return the probability of each class for f(x), or for the scores of all classes."""
        return self._of(self._scaled(score))

    def _of(self, z: list[float]) -> list[float]:
        exponents = [self._a * z_c for z_c in z]
        if len(z) == 2:
            exponents[1] += self._b
        largest = max(exponents)
        shares = [math.exp(e - largest) for e in exponents]
        total = sum(shares)
        return [share / total for share in shares]

    def learn(self, score: Any, code: int) -> list[float]:
        """Learn from the score of a round and its class; return the probabilities from before."""
        z = self._scaled(score)
        p = self._of(z)
        by_a = sum(p_c * z_c for p_c, z_c in zip(p, z, strict=True)) - z[code]
        by_b = p[1] - code if len(z) == 2 else 0.0
        self._aa += by_a * by_a
        self._ab += by_a * by_b
        self._bb += by_b * by_b
        determinant = self._aa * self._bb - self._ab * self._ab
        self._a -= (self._bb * by_a - self._ab * by_b) / determinant
        self._b -= (self._aa * by_b - self._ab * by_a) / determinant
        self._sum, self._n = self._sum + _square(score), self._n + 1
        return p

    def _scaled(self, score: Any) -> list[float]:
        scale = math.sqrt((self._sum + _square(score)) / (self._n + 1)) or 1.0
        return [0.0, float(score) / scale] if isinstance(score, float) else (score / scale).tolist()


def _square(score: Any) -> float:
    return float(score * score) if isinstance(score, float) else float(np.mean(score * score))
