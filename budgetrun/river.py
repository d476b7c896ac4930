"""The learners as river classifiers and regressors.

Examples are dicts of numbers. Each key has a column, and a missing key is 0. Kernel values do not depend on columns
that are 0 in both examples, so columns can come and go without a change of what was learned.
"""

from __future__ import annotations

import inspect
import math
from array import array
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pandas as pd

try:
    from river import base
except ImportError:
    raise ImportError("budgetrun.river needs river: type pip install 'budgetrun[river]'") from None

from budgetrun import estimators
from budgetrun.base import moved
from budgetrun.base.errors import InputError, clipped
from budgetrun.base.problem import problem_with
from budgetrun.estimators.base import BY_PLACE, alone
from budgetrun.estimators.selecting import SelectingClassifier as SelectingEstimator
from budgetrun.play.metrics import Calibration
from budgetrun.state import load_state, save_state

_PAGE = """
    classes : sequence of labels, or None
        All labels, at least two; with exactly two, the second is the positive one. None: two classes, which are
        numbered as they appear, but 1 and True are always the positive one.

    Attributes
    ----------
    estimator : classifier of `budgetrun.estimators`, or None
        What was learned, with ``mistakes_``, ``weights_`` and so on; its classes are 0, 1, ..., as
        in `labels`, and its features are columns. None before the first example.
    column_of : dict
        The column of each key.
    labels : dict
        The label of each class, as far as they are known; of two classes, 1 is the positive one.
"""


_REGRESSOR_PAGE = """
    Attributes
    ----------
    estimator : regressor of `budgetrun.estimators`, or None
        What was learned, with ``weights_`` and so on; its features are columns. None before the first example.
    column_of : dict
        The column of each key.
"""


class _Model:
    """Base of classifiers and regressors: columns for keys, and an estimator that is made when needed."""

    _made: type[estimators.BudgetEstimator]
    _n_classes: int = 0  # of classifiers
    _codes: dict[Any, int]

    def __setstate__(self, state: dict[str, Any]) -> None:
        # Models of earlier versions have a row of zeros, and may have no sums.
        n_columns = len(state.pop("_zeros", b"")) // 8
        self.__dict__.update({"_n_rows": 0, "_sums": np.zeros(n_columns)} | state)

    def _begin(self) -> None:
        """Forget everything."""
        self.estimator: Any = None
        self.column_of: dict[Any, int] = {}
        # The number of keys that have room.
        self._room = 0
        # Of the rows so far: their number, and the sum of each column.
        self._n_rows, self._sums = 0, np.zeros(0)

    def _code(self, y: Any) -> Any:
        """Return a label as the estimator takes it."""
        raise NotImplementedError

    def _codes_of(self, y: Iterable[Any]) -> list[Any]:
        """Return labels as the estimator takes them; nothing changes if one is refused."""
        return [self._code(label) for label in y]

    def _before(self) -> Any:
        """Return the scores before the first example."""
        return np.zeros(self._n_classes) if self._n_classes > 2 else 0.0

    @alone
    def save(self, path: str | Path) -> None:
        """Save the model to one file, without pickle: `load` loads it, to continue with the same bits.

        Keys and labels must be text, numbers or tuples of these; otherwise, or if the file cannot be written, there is
        an InputError.
        """
        save_state(path, self)

    # -- one example ---------------------------------------------------------------------------------------------------

    @alone
    def learn_one(self, x: dict[Any, Any], y: Any) -> None:
        """Learn from one example.

        Parameters
        ----------
        x : dict
            Finite numbers, by key. With ``missing="fill"``, NaN and None are missing: they get the mean of the values
            so far, where a missing key counts as 0, and the key ``(key, "is missing")`` is 1.
        y : bool, int, str or another hashable; for a regressor, a finite number
            The label.
        """
        x = self._filled(x)
        row = None if self.estimator is None else self._row(x)
        if row is None or (self._n_classes and y not in self._codes):
            # If the example is refused, there is no new key or label.
            _check(x)
        code = self._code(y)
        if row is None:
            self._admit(x)
            row = self._row(x)
        try:
            self._learn(row, code)
        except ValueError:
            _check(x)
            raise

    @alone
    def learn_many(self, X: pd.DataFrame, y: pd.Series) -> None:
        """Learn from the rows of a table, one after the other.

        If an entry is not a finite number or a label not allowed, nothing changes.
        """
        table = _numbers(X, self._fills)
        if len(table) != len(y):
            raise ValueError(f"X has {len(table)} rows, but y has {len(y)} labels")
        if not len(table):
            return
        codes = self._codes_of(y)
        if np.isnan(table).any():
            for values, code in zip(table.tolist(), codes, strict=True):
                x = self._filled(dict(zip(X.columns, values, strict=True)))
                self._admit(x)
                self._learn(self._row(x), code)
            return
        self._admit(X.columns)
        rows = self._rows(table, X.columns, self.column_of)
        for row, code in zip(rows, codes, strict=True):
            self._learn(row, code)

    # -- the estimator -------------------------------------------------------------------------------------------------

    def _new_estimator(self) -> Any:
        made = self._made(**{name: getattr(self, name) for name in inspect.signature(self._made).parameters})
        if self._fills:
            # Examples are filled before they become rows.
            made.missing = "refuse"
        for one in made._candidates():
            if one.kernel in BY_PLACE:
                raise ValueError(
                    f"kernel {one.kernel!r} needs the task in the last column, and the keys of a dict have no order: "
                    f"use budgetrun.{type(one).__name__}, which takes arrays"
                )
        return made

    def _learn(self, row: np.ndarray, code: Any) -> None:
        classes = [range(self._n_classes)] if self.estimator is None and self._n_classes else []
        if self.estimator is None:
            self.estimator = self._new_estimator()
        try:
            self.estimator.learn_one(row, code, *classes)
        except Exception:
            # Either nothing has changed, or the estimator has forgotten everything.
            if not hasattr(self.estimator, "_group"):
                self._begin()
            raise
        self._n_rows += 1
        self._sums = row + self._sums

    @property
    def _fills(self) -> bool:
        return getattr(self, "missing", "refuse") == "fill"

    def _filled(self, x: dict[Any, Any]) -> dict[Any, Any]:
        """Return an example without missing values, if these are filled."""
        if not (self._fills and isinstance(x, dict)) or _are_numbers(x):
            return x
        lost = [key for key, value in x.items() if value is None or value is pd.NA or _is_nan(value)]
        if not lost:
            return x
        n = max(1, self._n_rows)
        means = {key: self._sums[self.column_of[key]] / n if key in self.column_of else 0.0 for key in lost}
        return x | means | {(key, "is missing"): 1.0 for key in lost}

    @alone
    def _score_of(self, x: dict[Any, Any]) -> Any:
        """Return f(x), or the scores of all classes."""
        if self.estimator is None:
            return self._before()
        x = self._filled(x)
        row = self._row(x)
        try:
            if row is not None:
                return self.estimator._value(row)
            _check(x)
            with self._places(x) as places:
                return self.estimator._value(self._row(x, places))
        except ValueError:
            _check(x)
            raise

    @alone
    def _scores_of(self, X: pd.DataFrame) -> np.ndarray:
        table = _numbers(X, self._fills)
        if np.isnan(table).any():
            return np.array([self._score_of(dict(zip(X.columns, row, strict=True))) for row in table.tolist()])
        if self.estimator is None or not len(table):
            return np.zeros((len(table), *np.shape(self._before())))
        with self._places(X.columns) as places:
            scores: np.ndarray = self.estimator._values(self._rows(table, X.columns, places))
        return scores

    # -- columns -------------------------------------------------------------------------------------------------------

    def _row(self, x: dict[Any, Any], columns: dict[Any, int] | None = None) -> Any:
        """Return an example as an array; None if a key has no column."""
        columns, row = self.column_of if columns is None else columns, array("d", bytes(8 * len(self._sums)))
        try:
            for key, value in x.items():
                row[columns[key]] = value
        except KeyError:
            return None
        except (TypeError, AttributeError, OverflowError):
            _check(x)
            raise
        return np.frombuffer(row)

    def _rows(self, table: np.ndarray, keys: Iterable[Any], places: dict[Any, int]) -> np.ndarray:
        rows = np.zeros((len(table), len(self._sums)))
        rows[:, [places[key] for key in keys]] = table
        return rows

    @contextmanager
    def _places(self, keys: Iterable[Any]) -> Iterator[dict[Any, int]]:
        """Yield the columns, and for keys that have none the columns that they would get, during a prediction."""
        places, width = self.column_of.copy(), len(self._sums)
        for key in keys:
            places.setdefault(key, len(places))
        if len(places) > width:
            self._embed(list(self.column_of), 2 * len(places))
        try:
            yield places
        finally:
            # Until gamma is fixed, the learner begins again with as many features as there are.
            if len(self._sums) > width and self.estimator._early is not None:
                self._embed(list(self.column_of), width)

    def _admit(self, keys: Iterable[Any]) -> None:
        """Give columns to keys that have none. If there is no room, only keys of held examples keep theirs."""
        # A stream may begin with an example that has no keys.
        if not self._room or len(self.column_of.keys() | keys) > self._room:
            kept: list[Any] = []
            if self.estimator is not None:
                used = self.estimator._features_in_use()
                kept = [key for key, j in self.column_of.items() if used[j]]
            n_keys = max(1, len({*kept, *keys}))
            # A fixed set of keys needs no more columns.
            self._room = n_keys if self.estimator is None else 2 * n_keys
            self._embed(kept, self._room)
        for key in keys:
            self.column_of.setdefault(key, len(self.column_of))

    def _embed(self, keys: list[Any], width: int) -> None:
        """Move the columns of these keys to the front, and make ``width`` columns of them and zeros."""
        if self.estimator is not None:
            self.estimator._rearrange([self.column_of[key] for key in keys], width)
        sums, self._sums = self._sums, np.zeros(width)
        self._sums[: len(keys)] = [sums[self.column_of[key]] for key in keys]
        self.column_of = {key: j for j, key in enumerate(keys)}


class BudgetClassifier(_Model, base.MiniBatchClassifier):
    """An online learner as a classifier of river; each learner has its own subclass."""

    classes: Sequence[Any] | None
    probabilities: bool

    def _begin(self) -> None:
        super()._begin()
        self.labels: dict[int, Any] = dict(enumerate(self.classes or ()))
        self._codes = {label: code for code, label in self.labels.items()}
        self._n_classes = len(self._codes) or 2
        if self.classes is not None and (len(self._codes) < 2 or len(self._codes) < len(self.classes)):
            raise ValueError(f"classes must be at least two different labels, got {self.classes!r}")

    @property
    def _calibration(self) -> Calibration:
        return Calibration() if self.estimator is None else self.estimator._calibration

    @property
    def _multiclass(self) -> bool:
        return self._n_classes > 2

    def predict_one(self, x: dict[Any, Any], **kwargs: Any) -> Any:
        """Return the label that the learner predicts, or None before the first label if ``classes`` were not given.

        It is the sign of f(x), or the class of the largest score; its probability is not always the largest.
        """
        score = self._score_of(x)
        return self._label(problem_with(self._n_classes).predict(score))

    def predict_proba_one(self, x: dict[Any, Any], **kwargs: Any) -> dict[Any, float]:
        """Return the probability of each label, by what the scores of earlier rounds were worth.

        See `budgetrun.play.metrics`.
        """
        self._need_probabilities()
        return self._probabilities(self._score_of(x))

    def predict_many(self, X: pd.DataFrame) -> pd.Series:
        """Return the label that is predicted for each row."""
        scores = self._scores_of(X)
        codes = problem_with(self._n_classes).predict(scores.T)
        return pd.Series([self._label(code) for code in codes], index=X.index)

    def predict_proba_many(self, X: pd.DataFrame) -> pd.DataFrame:
        """Return the probability of each label, one row per example; see `predict_proba_one`."""
        self._need_probabilities()
        return pd.DataFrame([self._probabilities(score) for score in self._scores_of(X)], index=X.index)

    def _probabilities(self, score: Any) -> dict[Any, float]:
        p = self._calibration.of(score)
        if self._codes:
            # Before the second label, the first is certain.
            return {label: p[code] if len(self._codes) > 1 else 1.0 for label, code in self._codes.items()}
        return {False: 0.5, True: 0.5}

    def _need_probabilities(self) -> None:
        if not self.probabilities:
            raise NotImplementedError(f"{type(self).__name__} has no probabilities: create it with probabilities=True")

    def _code(self, label: Any) -> int:
        """Return the class of a label, which may be new."""
        code = self._codes.get(label)
        if code is not None:
            return code
        label = label.item() if isinstance(label, np.generic) else label
        if label is None or label != label:
            raise ValueError(f"the label is missing: {_shown(label)}")
        if len(self._codes) == self._n_classes:
            known = ", ".join(map(_shown, self._codes))
            raise ValueError(
                f"the label {_shown(label)} is not among the classes {known}: give all of them in classes, or use "
                "multiclass.OneVsRestClassifier(model)"
            )
        free = [code for code in (0, 1) if code not in self.labels]
        are_bools = isinstance(label, bool) and not self.labels
        self.labels |= {0: False, 1: True} if are_bools else {free[-1 if label == 1 else 0]: label}
        self._codes = {label: code for code, label in self.labels.items()}
        return self._codes[label]

    def _codes_of(self, y: Iterable[Any]) -> list[Any]:
        before = self.labels.copy(), self._codes.copy()
        try:
            return super()._codes_of(y)
        except Exception:
            self.labels, self._codes = before
            raise

    def _label(self, code: Any) -> Any:
        known = next(iter(self.labels.values()), None)
        return self.labels.get(int(code), known)


class BudgetRegressor(_Model, base.MiniBatchRegressor):
    """An online learner as a regressor of river; each learner has its own subclass."""

    def predict_one(self, x: dict[Any, Any]) -> float:
        """Return f(x); 0 before the first example."""
        return float(self._score_of(x))

    def predict_many(self, X: pd.DataFrame) -> pd.Series:
        """Return f(x) for each row."""
        return pd.Series(self._scores_of(X), index=X.index)

    def _code(self, y: Any) -> float:
        try:
            number = float(y) if not isinstance(y, str) else math.nan
        except (TypeError, ValueError, OverflowError):
            number = math.nan
        if not math.isfinite(number):
            raise ValueError(f"the label must be a finite number, got {_shown(y)}")
        return number


def load(path: str | Path) -> Any:
    """Load a model that its method `save` saved.

    Raises InputError: the file is missing, damaged or of another version, or holds something else.
    """
    model = load_state(path)[0]
    if not isinstance(model, _Model):
        raise InputError(f"{path}: not a model of budgetrun.river that was saved, but a {type(model).__name__}")
    return model


def _are_numbers(x: dict[Any, Any]) -> bool:
    """Return True if no value is missing, decided fast; False if one may be."""
    try:
        total = math.fsum(x.values())
    except Exception:
        return False
    return total == total


def _is_nan(value: Any) -> bool:
    return isinstance(value, float | np.floating) and value != value


def _shown(value: Any) -> str:
    """Return a value for a message, shortened if it is long; Python refuses to write integers of many digits."""
    is_long = type(value) is int and value.bit_length() > 4096
    return f"an integer of {value.bit_length():,} bits" if is_long else clipped(repr(value), 60)


def _check(x: dict[Any, Any]) -> None:
    """Raise a `ValueError` for the first entry that is not a finite number, if there is one, or if it is not a dict."""
    if not isinstance(x, dict):
        raise ValueError(f"an example must be a dict of numbers, got {type(x).__name__}")
    for key, value in x.items():
        if isinstance(value, str):
            raise ValueError(
                f"feature {_shown(key)} is the text {_shown(value)}: use preprocessing.OneHotEncoder() | model"
            )
        try:
            finite = math.isfinite(value)
        except (TypeError, OverflowError):
            finite = False
        if not finite:
            raise ValueError(f"feature {_shown(key)} must be a finite number, got {_shown(value)}")


def _numbers(X: pd.DataFrame, fills: bool) -> np.ndarray:
    """Return a table as an array; raise a `ValueError` if an entry is not a finite number, or missing if it fills."""
    if not X.columns.is_unique:
        raise ValueError(f"two columns are named {X.columns[X.columns.duplicated()][0]!r}: give each a name of its own")
    for key, kind in X.dtypes.items():
        is_complex = pd.api.types.is_complex_dtype(kind)
        if is_complex or not pd.api.types.is_numeric_dtype(kind):
            _check({key: X[key].iloc[0]} if len(X) and not is_complex else {})
            raise ValueError(f"feature {_shown(key)} must be a column of numbers, got the dtype {kind}")
    table: np.ndarray = X.to_numpy(dtype=np.float64, na_value=np.nan)
    wrong = np.argwhere(np.isinf(table) if fills else ~np.isfinite(table))
    if len(wrong):
        i, j = wrong[0]
        what = f"row {i}, feature {X.columns[j]!r}: must be a finite number, got {table[i, j]}"
        raise ValueError(f"{what}; a missing key counts as 0, so fillna(0) does the same")
    return table


def _make(made: type[estimators.BudgetEstimator], kind: type[T], page: str, more: dict[str, Any]) -> type[T]:
    """Return the river model of an estimator, with the same arguments, and with more of them or other defaults."""
    keyword, own = inspect.Parameter.KEYWORD_ONLY, inspect.signature(made).parameters
    known = own | {name: inspect.Parameter(name, keyword, default=default) for name, default in more.items()}

    def __init__(self: _Model, **given: Any) -> None:
        chosen = more | given
        estimator = made(**{name: value for name, value in chosen.items() if name in own or name not in more})
        for name, value in (estimator.get_params() | {name: chosen[name] for name in more}).items():
            setattr(self, name, value)
        self._begin()

    __init__.__signature__ = inspect.Signature(  # type: ignore[attr-defined]  # functions can have it; see inspect
        [inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD), *known.values()]
    )
    parameters = (inspect.getdoc(made) or "").partition("\nAttributes\n")[0].rstrip()
    namespace = {"__init__": __init__, "_made": made, "__module__": __name__}
    namespace["__doc__"] = "\n".join([parameters, *inspect.cleandoc(page).splitlines()])
    return type(made.__name__, (kind,), namespace)


T = TypeVar("T", bound=_Model)
OF_CLASSES: dict[str, Any] = {"classes": None, "probabilities": True}
CLASSIFIERS = {name: _make(made, BudgetClassifier, _PAGE, OF_CLASSES) for name, made in estimators.CLASSIFIERS.items()}
REGRESSORS = {name: _make(made, BudgetRegressor, _REGRESSOR_PAGE, {}) for name, made in estimators.REGRESSORS.items()}
SelectingClassifier = _make(SelectingEstimator, BudgetClassifier, _PAGE, OF_CLASSES)
MADE = CLASSIFIERS | REGRESSORS
OLD_NAMES = moved.old_names(MADE)
globals().update(MADE)
__all__ = ["BudgetClassifier", "BudgetRegressor", "SelectingClassifier", *CLASSIFIERS, *REGRESSORS, "load"]


def __getattr__(name: str) -> Any:
    if name in OLD_NAMES:
        moved.warn_of_old_name(name, found := OLD_NAMES[name])
        return found
    raise AttributeError(f"module 'budgetrun.river' has no attribute {name!r}")
