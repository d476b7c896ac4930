"""Binary, multiclass and regression problems: labels, predictions, ties, mistakes, measures, and words for them."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from budgetrun.base.params import Task

if TYPE_CHECKING:
    # Configs are read without it.
    import numpy as np

# A score that is at most this fraction of a bound on its terms may be mere rounding. It is summed again, and is 0
# if it is at most the second fraction of the sum of its absolute terms, which may be far below that bound.
UNSURE = 1e-13
CANCELLED = 1e-9
# Scores of classes tie if they differ by at most this share of the largest score so far (metrics; a test set has 0).
SCORES_TIE = 1e-12
# The weights of two classes tie if they differ by at most this (selection on the stream).
VOTES_TIE = 1e-9

# The last rounds of a sliding window, also the rounds of a window of the AUC; and how much less a round counts than the
# next in a fading error.
WINDOW, FADING = 1000, 0.999
# The metrics of classes that are recorded along the stream; and the sum of (y - f(x))^2 so far, of regression.
METRICS_IN_CURVES = ("sliding_error", "fading_error")
# The metric of the first rounds by which settings are chosen.
PREFIX_LOG_LOSS = "prefix_log_loss"
# The metric that is no error: the bytes that a learner keeps after the last round.
KEPT_BYTES = "kept_bytes"
SQUARED_ERROR = "squared_error"
_METRICS = (*METRICS_IN_CURVES, "f1", "kappa", "brier", "log_loss", PREFIX_LOG_LOSS, KEPT_BYTES)


class Problem(ABC):
    """A kind of problem: two classes, several classes, or numbers.

    Scores have shape (..., b) for b examples, or (..., n_classes, b) for several classes. Labels are those that the
    engine takes, shape (b,); codes are classes from 0, or the numbers themselves.

    Attributes:
    name : {"binary", "multiclass", "regression"}
    learns : str
        In words.
    of_classes, of_signs : bool
        True if labels are classes; if they are -1 and +1.
    dtype : str
        Of labels in the engine.
    ties : tuple of str
        The values of ``tie``: f(x) = 0 is a mistake, or predicts +1. With several classes, a tie with the true class is
        a mistake.
    metrics : tuple of str
        The allowed names of the key ``metrics`` of a config.
    columns : tuple of str
        The columns of runs.csv that only such runs have, besides ``metrics``.
    constant : str
        What is predicted without looking at the examples, in words.
    error : str
        The quantity that tables show if they name none; a column.
    error_title, error_form : str
        Its name and its format in messages.
    total : str
        The curve of the sum over the rounds from which `error_after` computes the error.
    """

    name: ClassVar[Task]
    learns: ClassVar[str]
    of_classes: ClassVar[bool] = True
    of_signs: ClassVar[bool] = False
    dtype: ClassVar[str] = "intp"
    ties: ClassVar[tuple[str, ...]] = ("mistake",)
    metrics: ClassVar[tuple[str, ...]] = _METRICS
    columns: ClassVar[tuple[str, ...]] = ("confusion",)
    constant: ClassVar[str] = "the largest class"
    error: ClassVar[str] = "online_error"
    error_title: ClassVar[str] = "online error"
    error_form: ClassVar[str] = ".2%"
    total: ClassVar[str] = "mistakes"

    def n_classes(self, n: int) -> int | None:
        """Return the engine's ``n_classes`` for ``n`` classes: None unless each has a score of its own."""
        return None

    def scores_each(self, n: int) -> tuple[int, ...]:
        """Return the shape of the scores of an example: empty, or the number of classes."""
        return () if self.n_classes(n) is None else (n,)

    def curves(self, metrics: Sequence[str]) -> list[str]:
        """Return the names of the curves besides mistakes and support sizes, given the metrics that are asked for."""
        return [name for name in METRICS_IN_CURVES if name in metrics]

    def labels(self, codes: np.ndarray) -> np.ndarray:
        """Return codes as labels."""
        return codes

    def codes(self, labels: np.ndarray) -> np.ndarray:
        """Return labels as codes."""
        return labels.astype(self.dtype, copy=False)

    @abstractmethod
    def predict(self, scores: Any) -> Any:
        """Return the codes that are predicted where no label is known: of several that tie, one of them.

        A single score, or the scores of a single example, give a single code.
        """

    def mistakes(self, scores: np.ndarray, labels: np.ndarray, tie: str, tolerance: Any = 0.0) -> np.ndarray:
        """Return on which examples the prediction is wrong; scores of classes tie within the tolerance."""
        raise NotImplementedError(f"{self.name} has no mistakes")

    def rivals(self, scores: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """Return the code that is predicted where the true one is not."""
        raise NotImplementedError(f"{self.name} has no rivals")

    def votes(self, scores: np.ndarray, tie: str) -> np.ndarray:
        """Return the predicted codes before the labels are known; -1 for a tie that is a mistake."""
        raise NotImplementedError(f"{self.name} has no votes")

    def error_after(self, total: Any, rounds: int) -> Any:
        """Return the error of so many rounds, given the `total` over them."""
        return total / rounds

    def best(self, total: float, rounds: int) -> str:
        """Return why a learner with this total is the best of its stream."""
        return f"made the fewest mistakes on its stream ({total:,})"


class _Binary(Problem):
    name = "binary"
    learns = "two classes"
    of_signs = True
    constant = "the larger class"
    ties = ("mistake", "positive")
    metrics = (*METRICS_IN_CURVES, "f1", "kappa", "auc", "brier", "log_loss", PREFIX_LOG_LOSS, KEPT_BYTES)

    def labels(self, codes: np.ndarray) -> np.ndarray:
        return 2 * codes - 1

    def codes(self, labels: np.ndarray) -> np.ndarray:
        return (labels > 0).astype("intp")

    def predict(self, scores: Any) -> Any:
        # The product is an integer of whichever type the scores have: one number, or an array.
        return (scores >= 0) * 1

    def mistakes(self, scores: np.ndarray, labels: np.ndarray, tie: str, tolerance: Any = 0.0) -> np.ndarray:
        wrong: np.ndarray = (labels * scores < 0) | ((scores == 0) & ((labels < 0) | (tie != "positive")))
        return wrong

    def rivals(self, scores: np.ndarray, labels: np.ndarray) -> np.ndarray:
        return 1 - self.codes(labels)

    def votes(self, scores: np.ndarray, tie: str) -> np.ndarray:
        votes: np.ndarray = (scores > 0) + (scores == 0) * (1 if tie == "positive" else -1)
        return votes


class _Multiclass(Problem):
    name = "multiclass"
    learns = "several classes"

    def n_classes(self, n: int) -> int | None:
        return n

    def predict(self, scores: Any) -> Any:
        return scores.argmax(axis=0)

    def mistakes(self, scores: np.ndarray, labels: np.ndarray, tie: str, tolerance: Any = 0.0) -> np.ndarray:
        own = scores[..., labels, range(len(labels))]
        wrong: np.ndarray = self._others(scores, labels).max(axis=-2) >= own - tolerance
        return wrong

    def rivals(self, scores: np.ndarray, labels: np.ndarray) -> np.ndarray:
        rivals: np.ndarray = self._others(scores, labels).argmax(axis=-2)
        return rivals

    def _others(self, scores: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """Return the scores without those of the true classes."""
        others = scores.copy()
        others[..., labels, range(len(labels))] = -math.inf
        return others

    def votes(self, scores: np.ndarray, tie: str) -> np.ndarray:
        leads = scores.max(axis=-2, keepdims=True) == scores
        votes: np.ndarray = leads.argmax(axis=-2)
        votes[leads.sum(axis=-2) > 1] = -1
        return votes


class _Regression(Problem):
    name = "regression"
    learns = "numbers"
    of_classes = False
    dtype = "float"
    ties = ()
    metrics = ()
    columns = ("mae", "rmse", "r2", "prefix_rmse")
    constant = "the mean"
    error = "rmse"
    error_title = "RMSE"
    error_form = ".4g"
    total = SQUARED_ERROR

    def curves(self, metrics: Sequence[str]) -> list[str]:
        return [SQUARED_ERROR]

    def predict(self, scores: Any) -> Any:
        return scores

    def error_after(self, total: Any, rounds: int) -> Any:
        return (total / rounds) ** 0.5

    def best(self, total: float, rounds: int) -> str:
        return f"had the smallest root mean squared error on its stream ({self.error_after(total, rounds):.4g})"


BINARY, MULTICLASS, REGRESSION = _Binary(), _Multiclass(), _Regression()
PROBLEMS: dict[str, Problem] = {problem.name: problem for problem in (BINARY, MULTICLASS, REGRESSION)}


def problem_of(task: Any) -> Problem:
    """Return the problem of a dataset with this value of the key ``task``: splits into two are binary."""
    # A config may have anything there, which has messages of its own.
    return next((problem for problem in PROBLEMS.values() if problem.name == task), BINARY)


def problem_with(n_classes: int) -> Problem:
    """Return the problem of so many classes: two, or several; none means numbers."""
    return MULTICLASS if n_classes > 2 else BINARY if n_classes else REGRESSION
