"""The base of rules of selection: weights of candidates, a weighted vote, and the mistakes that are charged."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from budgetrun.base.problem import VOTES_TIE


@dataclass(frozen=True)
class Guarantee:
    """An upper bound that holds on every run: its name, what it counts, both sides."""

    theorem: str
    counts: Literal["mistakes", "expected mistakes"]
    count: float
    value: float


class Rule(ABC):
    """Weighs N candidates by their mistakes so far, and predicts the class whose voters weigh most.

    Weights within 1e-9 are a tie. The expected mistakes, which regret bounds are about, are those of a prediction drawn
    by the weights, p . l with l the 0/1 losses of the candidates. A wrong prediction means that at least half of the
    weight errs, so the mistakes are at most twice the expected ones.

    Attributes
    ----------
    name, title : str
        The name in configs, and on pages.
    revision : int, >= 1
        Raised whenever a change to the rule changes outcomes; part of run ids.
    samples : bool
        True if each candidate learns only from the rounds that `drawn` says; rounds are then played one by one.
    live : ndarray of bool, shape (N,)
        The candidates that were not dropped.
    losses : ndarray of int, shape (N,)
        The mistakes of each candidate, up to the round in which it was dropped.
    rounds : int
    expected : float
        The expected mistakes.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    revision: ClassVar[int] = 1
    samples: ClassVar[bool] = False

    def start(self, n_candidates: int) -> None:
        """Start anew with N candidates."""
        self.live = np.ones(n_candidates, dtype=bool)
        self.losses = np.zeros(n_candidates, dtype=np.int64)
        self.rounds = 0
        self.expected = 0.0

    def play(self, votes: np.ndarray, losses: np.ndarray, n_classes: int) -> np.ndarray:
        """Play b rounds, with the same result however the rounds are divided into calls.

        Parameters
        ----------
        votes : ndarray of int, shape (N, b), in {-1, 0, ..., n_classes - 1}
            The classes that the candidates predict before the label is known; -1 for none.
        losses : ndarray of int, shape (N, b), in {0, 1}
            1 where they err. Those of dropped candidates are not read.
        n_classes : int

        Returns
        -------
        ndarray of int, shape (b,)
            The predicted classes; -1 for a tie.
        """
        losses = losses * self.live[:, None]
        weights = self.weigh(losses)
        for value in added(weights * losses).tolist():
            self.expected += value
        self.rounds += losses.shape[1]
        self.losses += losses.sum(axis=1)
        return winners(tally(weights, votes, n_classes))

    @abstractmethod
    def weigh(self, losses: np.ndarray) -> np.ndarray:
        """Return the weights before each of the next b rounds, shape (N, b), columns of sum 1; 0 for the dropped.

        It is called with the losses of all these rounds before `rounds` and `losses` include them; the weights of a
        round may depend on the losses of earlier rounds only.
        """

    def next_weights(self) -> np.ndarray:
        """Return the weights before the next round, shape (N,).

        A rule overrides this if its `weigh` changes what it keeps also where nobody errs.
        """
        return self.weigh(np.zeros((len(self.live), 1), dtype=np.int64))[:, 0]

    def drawn(self) -> np.ndarray:
        """Draw which candidates learn from the next round, shape (N,) of bool; called before each if `samples`."""
        return self.live

    def drop(self) -> np.ndarray:
        """Return which candidates to drop for good now, shape (N,) of bool; called after every 64th round."""
        return np.zeros(len(self.live), dtype=bool)

    def facts(self) -> dict[str, float]:
        """Return the facts that `guarantees` needs, besides the number of rounds and the mistakes."""
        return {
            "candidates": len(self.live),
            "live": int(self.live.sum()),
            "expected_mistakes": self.expected,
            "best_mistakes": int(self.losses[self.live].min()),
        }

    def guarantees(self, facts: dict[str, float], mistakes: float, n_rounds: int) -> list[Guarantee]:
        """Return the bounds that hold on a run with these facts."""
        expected = facts["expected_mistakes"]
        regret = Guarantee(self.theorem, "expected mistakes", expected, self.bound(facts, n_rounds))
        return [regret, Guarantee("Weighted majority", "mistakes", mistakes, 2 * expected)]

    # The name of the rule's bound on the expected mistakes.
    theorem: ClassVar[str]

    @abstractmethod
    def bound(self, facts: dict[str, float], n_rounds: int) -> float:
        """Return the bound on the expected mistakes."""


def added(terms: np.ndarray) -> np.ndarray:
    """Return the sums over the first axis, added in its order: the same bits for any number of columns."""
    total = np.zeros(terms.shape[1:])
    for row in terms:
        total += row
    return total


def tally(weights: np.ndarray, votes: np.ndarray, n_classes: int) -> np.ndarray:
    """Return the weight of the voters of each class, shape (n_classes, b), of weights and votes of shape (N, b)."""
    total = np.zeros((n_classes, votes.shape[1]))
    columns = np.arange(votes.shape[1])
    for i in range(len(votes)):
        voting = votes[i] >= 0
        total[votes[i, voting], columns[voting]] += weights[i, voting]
    return total


def winners(total: np.ndarray) -> np.ndarray:
    """Return the class of the largest weight in each column of `tally`; -1 where the two largest are a tie."""
    top = np.partition(total, -2, axis=0)[-2:]
    found: np.ndarray = np.where(top[1] - top[0] <= VOTES_TIE, -1, total.argmax(axis=0))
    return found
