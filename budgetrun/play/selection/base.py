"""Selections: candidates on one stream, and the base of the rules that weigh them and vote."""

import json
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from budgetrun.base.problem import BINARY, CANCELLED, MULTICLASS, VOTES_TIE, Problem, problem_of
from budgetrun.engine import Group, score
from budgetrun.engine.group import Member
from budgetrun.engine.hypotheses import Expansion
from budgetrun.kernels import Kernel, Rows
from budgetrun.kernels.arithmetic import TILE

# Rounds between two points at which candidates may be dropped, and their support sizes are added.
APART = TILE


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

    Attributes:
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

        Parameters:
        votes : ndarray of int, shape (N, b), in {-1, 0, ..., n_classes - 1}
            The classes that the candidates predict before the label is known; -1 for none.
        losses : ndarray of int, shape (N, b), in {0, 1}
            1 where they err. Those of dropped candidates are not read.
        n_classes : int

        Returns the predicted classes, shape (b,); -1 for a tie.
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
        """Return which candidates learn from the next round, shape (N,) of bool; called before each if `samples`."""
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


class Selection:
    """Candidates that read the same examples, and a rule that predicts from their predictions.

    Candidates with equal kernels share kernel values. Each runs exactly as it would alone, on the rounds from which it
    learns. Candidates are dropped after every 64th round only, so nothing depends on how the rounds are divided into
    calls.

    Parameters:
    rule : Rule
    candidates : sequence of (Kernel, Learner)
        All learners are of the same task.
    n_classes : int, >= 2
    tie : {"mistake", "positive"}
        A score of 0, or a tie of the vote, is a mistake, or predicts +1.
    dtype : {"float64", "float32"}

    Attributes:
    rule : Rule
    mistakes, ties : int
        Wrong predictions of the rule, and ties of the vote.
    max_support : int
        The largest number of examples that all live candidates held together, after every 64th round.
    seconds : float
        Spent in `feed`.
    """

    def __init__(
        self,
        rule: Rule,
        candidates: Sequence[tuple[Kernel, Any]],
        *,
        n_classes: int = 2,
        tie: str = "mistake",
        dtype: str = "float64",
    ) -> None:
        self.rule, self.tie = rule, tie
        self.multiclass = not problem_of(candidates[0][1].task).of_signs
        self.n_classes = n_classes if self.multiclass else 2
        rule.start(len(candidates))
        kernels = {str(kernel): kernel for kernel, _ in candidates}
        self._places = [[i for i, (kernel, _) in enumerate(candidates) if str(kernel) == name] for name in kernels]
        if rule.samples:
            self._places = [[i] for i in range(len(candidates))]
        options: dict[str, Any] = {"n_classes": n_classes if self.multiclass else None, "tie": tie, "dtype": dtype}
        self._groups = [
            Group(candidates[places[0]][0], [candidates[i][1] for i in places], **options) for places in self._places
        ]
        self.mistakes = self.ties = self.max_support = 0
        self.seconds = 0.0
        # Counts of the candidates that were dropped.
        self._before = dict.fromkeys(("updates", "margin_updates"), 0)

    @property
    def problem(self) -> Problem:
        """The problem of all candidates."""
        return MULTICLASS if self.multiclass else BINARY

    @property
    def rounds(self) -> int:
        """The number of rounds so far."""
        return self.rule.rounds

    @property
    def members(self) -> list[Member]:
        """The live candidates with their hypotheses and counts, in the order in which they were given."""
        found = {
            i: group.members[at]
            for group, places in zip(self._groups, self._places, strict=True)
            for at, i in enumerate(places)
            if self.rule.live[i]
        }
        return [found[i] for i in sorted(found)]

    @property
    def support_size(self) -> int:
        """The number of examples that all live candidates hold, each counted as often as it is held."""
        return sum(member.hypothesis.size for member in self.members)

    def total(self, name: str) -> Any:
        """Return the sum over all candidates of a count, ``updates`` or ``margin_updates``."""
        return self._before[name] + sum(getattr(member.count, name) for member in self.members)

    def feed(self, X: Rows, Y: np.ndarray, *, scores: bool = True, to_follow: int = 0) -> np.ndarray:
        """Play a block of b >= 1 rounds, and return the predicted classes, from 0, or -1 for a tie that is a mistake.

        ``Y`` are the labels, shape (1, b), in {-1, +1} or {0, ..., n_classes - 1}; of two classes, 0 is -1. Without
        ``scores``, as `Group.feed` takes it, the same is computed: the rule needs them. For ``to_follow``, see there.
        """
        predicted, labels = np.empty(X.shape[0], dtype=np.intp), np.asarray(Y[0], dtype=np.intp)
        start, began = 0, time.perf_counter()
        while start < X.shape[0]:
            most = 1 if self.rule.samples else APART - self.rounds % APART
            end = min(start + most, X.shape[0])
            predicted[start:end] = self._feed(X[start:end], labels[start:end], to_follow + X.shape[0] - end)
            start = end
        self.seconds += time.perf_counter() - began
        return predicted

    def columns(self) -> dict[str, Any]:
        """Return the columns of runs.csv for the rule after some rounds."""
        return {
            "mistakes": self.mistakes,
            "online_error": self.mistakes / self.rounds,
            "updates": self.total("updates"),
            "margin_updates": self.total("margin_updates"),
            "support_size": self.support_size,
            "max_support_size": max(self.max_support, self.support_size),
            "seconds": round(self.seconds, 6),
            "facts": json.dumps(self.rule.facts()),
            "zero_scores": self.ties,
        }

    def features_in_use(self) -> np.ndarray:
        """Return which features the predictions of live candidates depend on, shape (d,) of bool."""
        used: np.ndarray = np.any([member.hypothesis.features_in_use() for member in self.members], axis=0)
        return used

    def rearrange(self, features: Sequence[int], n_features: int) -> None:
        """See `Group.rearrange`."""
        for group in self._groups:
            if any(member.hypothesis is not None for member in group.members):
                group.rearrange(features, n_features)

    def _feed(self, X: Rows, labels: np.ndarray, to_follow: int) -> np.ndarray:
        """Play rounds that do not go beyond the next moment at which candidates may be dropped."""
        n, b = len(self.rule.live), X.shape[0]
        learns = self.rule.drawn()
        votes, losses = np.full((n, b), -1, dtype=np.intp), np.zeros((n, b), dtype=np.int64)
        for group, places in zip(self._groups, self._places, strict=True):
            mine = [at for at, i in enumerate(places) if self.rule.live[i]]
            if mine:
                own = [places[at] for at in mine]
                if learns[own[0]]:
                    scores = group.feed(X, labels[None], to_follow=to_follow)[mine]
                else:
                    scores = _prediction(group, X)[None]
                votes[own] = self.problem.votes(scores, self.tie)
                losses[own] = self.problem.mistakes(scores, labels, self.tie)
        predicted = self.rule.play(votes, losses, self.n_classes)
        tied = predicted < 0
        self.ties += int(np.count_nonzero(tied))
        if self.tie == "positive":
            predicted = np.where(tied, 1, predicted)
        self.mistakes += int(np.count_nonzero(predicted != self.problem.codes(labels)))
        if self.rounds % APART == 0:
            self.max_support = max(self.max_support, self.support_size)
            self._drop(self.rule.drop())
        return predicted

    def _drop(self, dropped: np.ndarray) -> None:
        """Drop candidates for good, with all that only they hold."""
        for group, places in zip(self._groups, self._places, strict=True):
            if out := {at for at, i in enumerate(places) if dropped[i]}:
                for name in self._before:
                    self._before[name] += sum(getattr(group.members[at].count, name) for at in out)
                group.drop(out)

    def score(self, X: Rows) -> np.ndarray:
        """Return the weight of the candidates that vote for each class of other examples, shape (n_classes, n)."""
        votes = np.full((len(self.rule.live), X.shape[0]), -1, dtype=np.intp)
        for i, member in zip(np.flatnonzero(self.rule.live), self.members, strict=True):
            votes[i] = self.problem.votes(score(member, X), self.tie)
        weights = np.repeat(self.rule.next_weights()[:, None], X.shape[0], axis=1)
        return tally(weights, votes, self.n_classes)


def _prediction(group: Group, X: Rows) -> np.ndarray:
    """Return what the only member predicts for an example, shape (1,) or (n_classes, 1); ties as in a round."""
    f = group.members[0].hypothesis
    if type(f).score is not Expansion.score or not f.size:
        return score(group.members[0], X)
    terms = f.coef * group.pool.values(f.slots, X)[:, 0]
    total = terms.cumsum()[-1]
    return np.array([0.0 if abs(total) <= CANCELLED * np.abs(terms).sum() else total])
