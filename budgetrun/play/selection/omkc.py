"""OMKC with deterministic combination and deterministic update: online learning with many kernels."""

import math
from typing import ClassVar

import numpy as np

from budgetrun.base.params import ProperShare
from budgetrun.kernels.arithmetic import exp
from budgetrun.play.selection.base import Rule, added


class OMKC(Rule):
    """A candidate's weight is multiplied by beta for each of its mistakes; all candidates learn in every round.

    With a Perceptron per kernel as candidates, this is OMKC-DD. With learners on a budget, it is its budgeted form.

    Parameters:
    beta : float, 0 < beta < 1
        The factor of a mistake; the paper's is 0.99.

    Notes: On every stream, the expected mistakes are at most (L* ln(1 / beta) + ln N) / (1 - beta), with L* those of
    the best candidate.

    Departures from the paper: a score of 0 is a mistake, or predicts +1, as the config says (``tie``). In the paper, it
    votes for +1 and is a mistake of the kernel's own in any case.

    References: Hoi, Jin, Zhao & Yang (2013), Machine Learning 90, Algorithm 1 (OMKC(D,D)); the bound: Freund & Schapire
    (1997), J. Comput. Syst. Sci. 55, Theorem 2.
    """

    name: ClassVar[str] = "omkc"
    title: ClassVar[str] = "OMKC"
    theorem: ClassVar[str] = "OMKC: (L* ln(1 / beta) + ln N) / (1 - beta)"

    def __init__(self, *, beta: ProperShare = 0.99) -> None:
        self.beta = beta

    def weigh(self, losses: np.ndarray) -> np.ndarray:
        before = self.losses[:, None] + np.cumsum(losses, axis=1) - losses
        weights = exp(math.log(self.beta) * (before - before.min(axis=0)))
        shares: np.ndarray = weights / added(weights)
        return shares

    def bound(self, facts: dict[str, float], n_rounds: int) -> float:
        lost = facts["best_mistakes"] * math.log(1 / self.beta) + math.log(facts["candidates"])
        return lost / (1 - self.beta)
