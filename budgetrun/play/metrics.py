"""Metrics of classes besides mistakes, probabilities, and errors of numbers: each prediction precedes its label."""

import json
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from budgetrun.base.problem import BINARY, FADING, METRICS_IN_CURVES, MULTICLASS, SCORES_TIE, SQUARED_ERROR, WINDOW

# Log losses are at most -log of this, as those of scikit-learn.
_LEAST = float(np.finfo(np.float64).eps)


class Tally:
    """Metrics of one run, in memory that does not depend on the number of rounds.

    ``names`` are of `Problem.metrics`, in any order; ``n_classes`` is None for labels -1 and +1. ``tie`` is what is
    predicted where f(x) = 0: a label other than the true one, or +1. With several classes, the first of the other
    classes whose score is as large as that of the true one is predicted.

    The fading error is that of Gama, Sebastiao & Rodrigues (2013), "On evaluating stream learning algorithms": a round
    counts `FADING` times as much as the next. The AUC is the mean over windows of `WINDOW` rounds in which both classes
    occur, weighted by their rounds: scores that are far apart in time have different scales, and memory stays bounded.
    F1, kappa and the AUC of a window are scikit-learn's. Probabilities are those of `Calibration`: that of a round
    depends on the rounds before it. The Brier score is the mean of (p - y)^2 with y 0 or 1; of several classes, of the
    sum over classes. Results do not depend on how the rounds are divided into calls, not even in the last bit.
    """

    def __init__(self, names: Sequence[str], n_classes: int | None, tie: str) -> None:
        self._names = list(names)
        self._n_classes, self._tie = n_classes, tie
        self._rounds, self._faded, self._largest = 0, 0.0, 0.0
        self._last = np.zeros(0, dtype=bool)
        self._confusion = np.zeros((n_classes or 2, n_classes or 2), dtype=np.int64)
        # The scores and labels of the window that has begun; the sum of the AUC times rounds, and the rounds.
        self._window = np.zeros((2, 0))
        self._auc, self._auc_rounds = 0.0, 0
        self._calibration = Calibration()
        self._brier, self._log_loss = 0.0, 0.0

    def add(self, scores: np.ndarray, labels: np.ndarray) -> None:
        """Add a block of rounds.

        Parameters:
        scores : ndarray, shape (b,) or (n_classes, b), b >= 1
            f_t(x_t), as `Group.feed` returns them.
        labels : ndarray of int, shape (b,)
            -1 and +1, or classes from 0.
        """
        scores = scores.astype(np.float64)
        problem = MULTICLASS if self._n_classes else BINARY
        largest = np.maximum.accumulate(np.append(self._largest, np.abs(scores).reshape(-1, len(labels)).max(axis=0)))
        self._largest = float(largest[-1])
        wrong = problem.mistakes(scores, labels, self._tie, SCORES_TIE * largest[1:])
        codes = problem.codes(labels)
        predicted = np.where(wrong, problem.rivals(scores, labels), codes)
        self._rounds += len(codes)
        np.add.at(self._confusion, (codes, predicted), 1)
        if "sliding_error" in self._names:
            self._last = np.concatenate([self._last, wrong])[-WINDOW:]
        if "fading_error" in self._names:
            for one in wrong.tolist():
                self._faded = FADING * self._faded + one
        if "auc" in self._names:
            self._window = np.concatenate([self._window, [scores, codes]], axis=1)
            while self._window.shape[1] >= WINDOW:
                self._auc, self._auc_rounds = self._with_window(self._window[:, :WINDOW])
                self._window = self._window[:, WINDOW:]
        if "brier" in self._names or "log_loss" in self._names:
            for score, code in zip(scores.T, codes.tolist(), strict=True):
                p = self._calibration.learn(score, code)
                self._log_loss -= math.log(max(_LEAST, p[code]))
                squares = sum((p_c - (c == code)) ** 2 for c, p_c in enumerate(p))
                self._brier += squares if self._n_classes else squares / 2

    def _with_window(self, window: np.ndarray) -> tuple[float, int]:
        from sklearn.metrics import roc_auc_score

        scores, codes = window
        if codes.min() == codes.max():
            return self._auc, self._auc_rounds
        return self._auc + len(codes) * float(roc_auc_score(codes, scores)), self._auc_rounds + len(codes)

    def now(self) -> dict[str, float]:
        """Return those metrics, of `METRICS_IN_CURVES`, that were asked for; 0 before the first round."""
        # The sum of FADING ** i over the rounds.
        total = (1 - FADING**self._rounds) / (1 - FADING) if self._rounds else 1.0
        values = {"sliding_error": float(self._last.mean()) if len(self._last) else 0.0}
        values["fading_error"] = self._faded / total
        return {name: values[name] for name in METRICS_IN_CURVES if name in self._names}

    def columns(self) -> dict[str, Any]:
        """Return the columns of the metrics; None where one is not defined, as with a single class."""
        values: dict[str, Any] = {**self.now(), **self._of_confusion()}
        if "auc" in self._names:
            total, rounds = self._with_window(self._window) if self._window.size else (self._auc, self._auc_rounds)
            values["auc"] = total / rounds if rounds else None
        values |= {"brier": self._brier / self._rounds, "log_loss": self._log_loss / self._rounds}
        return {name: value for name, value in values.items() if name in self._names or name == "confusion"}

    def _of_confusion(self) -> dict[str, Any]:
        if not {"f1", "kappa"} & set(self._names):
            return {}
        from sklearn.metrics import cohen_kappa_score, f1_score

        true, predicted = np.nonzero(self._confusion)
        given: dict[str, Any] = {"sample_weight": self._confusion[true, predicted]}
        average = "macro" if self._n_classes else "binary"
        # Where one class is always true and always predicted, kappa is 0 / 0.
        kappa = float(cohen_kappa_score(true, predicted, **given)) if len({*true, *predicted}) > 1 else None
        f1 = float(f1_score(true, predicted, average=average, zero_division=0, **given))
        return {"f1": f1, "kappa": kappa, "confusion": json.dumps(self._confusion.tolist())}


class Tallies:
    """The metrics of several learners of classes, one `Tally` each."""

    def __init__(self, tallies: list[Tally]) -> None:
        self.tallies = tallies

    def add(self, scores: Sequence[np.ndarray], labels: Sequence[np.ndarray]) -> None:
        """Add a block of rounds: each learner's scores and labels; scores of nan are those of one that has failed."""
        for tally, own, true in zip(self.tallies, scores, labels, strict=True):
            if not np.isnan(own).any():
                tally.add(own, true)

    def now(self) -> dict[str, list[float]]:
        """Return the points of the curves, a number per learner."""
        found = [tally.now() for tally in self.tallies]
        return {name: [values[name] for values in found] for name in found[0]}

    def columns(self, i: int) -> dict[str, Any]:
        """Return the columns of learner ``i`` after the rounds so far."""
        return self.tallies[i].columns()


class Errors:
    """Errors of ``n`` regression learners: sums over the rounds so far.

    Attributes:
    squared : ndarray of float64, shape (n,)
        The sum of (y - f(x))^2.

    Notes: The sums do not depend on how the rounds are divided into calls, not even in the last bit. That of the
    squared deviations of the labels is updated as by Welford (1962), "Note on a method for calculating corrected sums".
    """

    def __init__(self, n: int) -> None:
        self.squared = np.zeros(n)
        self._absolute = np.zeros(n)
        self._n_rounds, self._mean, self._spread = 0, 0.0, 0.0

    def add(self, scores: Sequence[np.ndarray], labels: Sequence[np.ndarray]) -> None:
        """Add rounds: each learner's predictions and labels, shape (b,); the labels are the same for all."""
        y = labels[0]
        errors = np.stack(scores).astype(np.float64, copy=False) - y
        self.squared = _continued(self.squared, np.square(errors))
        self._absolute = _continued(self._absolute, np.abs(errors))
        for label in y.tolist():
            self._n_rounds += 1
            deviation = label - self._mean
            self._mean += deviation / self._n_rounds
            self._spread += deviation * (label - self._mean)

    def rmse(self, i: int) -> float:
        """Return the root mean squared error of learner ``i`` so far."""
        return math.sqrt(self.squared[i] / self._n_rounds)

    def now(self) -> dict[str, list[float]]:
        """Return the points of the curves, a number per learner."""
        return {SQUARED_ERROR: self.squared.tolist()}

    def columns(self, i: int) -> dict[str, float | None]:
        """Return the columns of learner ``i`` after the rounds so far.

        ``r2`` is 1 minus the sum of its squared errors over that of the squared deviations of the labels from their
        mean over these rounds; None if all labels are equal.
        """
        r2 = 1 - float(self.squared[i]) / self._spread if self._spread > 0 else None
        return {"mae": float(self._absolute[i]) / self._n_rounds, "rmse": self.rmse(i), "r2": r2}


def _continued(sums: np.ndarray, terms: np.ndarray) -> np.ndarray:
    """Return sums, shape (n,), with further terms, shape (n, b), added one after the other."""
    totals: np.ndarray = np.cumsum(np.column_stack([sums, terms]), axis=1)[:, -1]
    return totals


class Calibration:
    """Probabilities from scores, fitted on the stream: each round's from the rounds before it.

    Notes: With two classes, this is Platt scaling, p = 1 / (1 + exp(-(a f(x) / s + b))); with more, p_c is proportional
    to exp(a f_c(x) / s). The scale s is the root mean square of all scores so far, including f(x). Each round changes a
    and b, from a = 1 and b = 0, by an online Newton step on the logarithmic loss: minus H^-1 g, where g is the gradient
    of the round's loss, and H the identity plus the sum of g g' so far.

    References: Platt (1999), "Probabilistic outputs for support vector machines"; Hazan, Agarwal & Kale (2007),
    "Logarithmic regret algorithms for online convex optimization", Section 3.2, without its projection.
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
