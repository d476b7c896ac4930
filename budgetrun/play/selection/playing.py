"""Candidates on one stream, and the rule that follows them."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from budgetrun.base.problem import BINARY, CANCELLED, MULTICLASS, Problem, problem_of
from budgetrun.engine import Group, score
from budgetrun.engine.group import Member
from budgetrun.engine.hypotheses import Expansion
from budgetrun.kernels import Kernel, Rows
from budgetrun.kernels.arithmetic import TILE
from budgetrun.play.selection.base import Rule, tally

# Rounds between two points at which candidates may be dropped, and their support sizes are added.
APART = TILE


class Selection:
    """Candidates that read the same examples, and a rule that predicts from their predictions.

    Candidates with equal kernels share kernel values. Each runs exactly as it would alone, on the rounds from which it
    learns. Candidates are dropped after every 64th round only, so nothing depends on how the rounds are divided into
    calls.

    Parameters
    ----------
    rule : Rule
    candidates : sequence of (Kernel, Learner)
        All learners are of the same task.
    n_classes : int, >= 2
    tie : {"mistake", "positive"}
        A score of 0, or a tie of the vote, is a mistake, or predicts +1.
    dtype : {"float64", "float32"}

    Attributes
    ----------
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
        self.rule, self.tie, self.n_classes = rule, tie, n_classes
        self.multiclass = not problem_of(candidates[0][1].task).of_signs
        rule.start(len(candidates))
        kernels = {str(kernel): kernel for kernel, _ in candidates}
        self._places = [[i for i, (kernel, _) in enumerate(candidates) if str(kernel) == name] for name in kernels]
        if rule.samples:
            self._places = [[i] for i in range(len(candidates))]
        options: dict[str, Any] = {"n_classes": self.problem.n_classes(n_classes), "tie": tie, "dtype": dtype}
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

    def feed(self, X: Rows, Y: np.ndarray) -> np.ndarray:
        """Play a block of rounds.

        Parameters
        ----------
        X : ndarray, csr_array or IntegerRows, shape (b, d), b >= 1
        Y : ndarray, shape (1, b), in {-1, +1} or {0, ..., n_classes - 1}
            The labels.

        Returns
        -------
        ndarray of int, shape (b,)
            The classes that are predicted, from 0; of two, 0 is -1. -1 for a tie that counts as a mistake.
        """
        predicted, labels = np.empty(X.shape[0], dtype=np.intp), np.asarray(Y[0], dtype=np.intp)
        start, began = 0, time.perf_counter()
        while start < X.shape[0]:
            end = min(start + APART - self.rounds % APART, X.shape[0])
            predicted[start:end] = self._feed(X[start:end], labels[start:end])
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

    def _feed(self, X: Rows, labels: np.ndarray) -> np.ndarray:
        """Play rounds up to the next moment at which candidates may be dropped."""
        n, b = len(self.rule.live), X.shape[0]
        if self.rule.samples and b > 1:
            return np.concatenate([self._feed(X[t : t + 1], labels[t : t + 1]) for t in range(b)])
        learns = self.rule.drawn() if self.rule.samples else self.rule.live
        votes, losses = np.full((n, b), -1, dtype=np.intp), np.zeros((n, b), dtype=np.int64)
        for group, places in zip(self._groups, self._places, strict=True):
            mine = [at for at, i in enumerate(places) if self.rule.live[i]]
            if mine:
                own = [places[at] for at in mine]
                scores = group.feed(X, labels[None])[mine] if learns[own[0]] else _prediction(group, X)[None]
                votes[own] = self.problem.votes(scores, self.tie)
                losses[own] = self.problem.mistakes(scores, labels, self.tie)
        predicted = self._decided(self.rule.play(votes, losses, self.n_classes))
        self.mistakes += int(np.count_nonzero(predicted != self.problem.codes(labels)))
        if self.rounds % APART == 0:
            self.max_support = max(self.max_support, self.support_size)
            self._drop(self.rule.drop())
        return predicted

    def _drop(self, dropped: np.ndarray) -> None:
        """Drop candidates for good, with all that only they hold."""
        for group, places in zip(self._groups, self._places, strict=True):
            out = {at for at, i in enumerate(places) if dropped[i]}
            for at in out:
                for name in self._before:
                    self._before[name] += getattr(group.members[at].count, name)
            if out:
                group.drop(out)

    def score(self, X: Rows) -> np.ndarray:
        """Return the weight of the candidates that vote for each class of other examples, shape (n_classes, n)."""
        votes = np.full((len(self.rule.live), X.shape[0]), -1, dtype=np.intp)
        for i, member in zip(np.flatnonzero(self.rule.live), self.members, strict=True):
            votes[i] = self.problem.votes(score(member, X), self.tie)
        weights = np.repeat(self.rule.next_weights()[:, None], X.shape[0], axis=1)
        return tally(weights, votes, self.n_classes)

    def _decided(self, classes: np.ndarray) -> np.ndarray:
        """Count the ties of predictions, and replace them if they predict +1."""
        tied = classes < 0
        self.ties += int(np.count_nonzero(tied))
        return np.where(tied, 1, classes) if self.tie == "positive" else classes


def _prediction(group: Group, X: Rows) -> np.ndarray:
    """Return what the only member predicts for an example, shape (1,) or (n_classes, 1); ties as in a round."""
    f = group.members[0].hypothesis
    if type(f).score is not Expansion.score or not f.size:
        return score(group.members[0], X)
    terms = f.coef * group.pool.values(f.slots, X)[:, 0]
    total = terms.cumsum()[-1]
    return np.array([0.0 if abs(total) <= CANCELLED * np.abs(terms).sum() else total])
