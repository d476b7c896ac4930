"""The base classes of classifiers and regressors: scikit-learn's conventions, on a group of one learner."""

import math
import threading
from collections.abc import Callable
from copy import copy
from functools import cache, wraps
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data
from threadpoolctl import ThreadpoolController

from budgetrun.base.problem import problem_with
from budgetrun.data.scaling import Means
from budgetrun.engine import Group, score
from budgetrun.estimators.arguments import Variants, finds_gamma, found_gamma, group_options
from budgetrun.kernels import registry
from budgetrun.kernels.kinds import dense, enlarged
from budgetrun.kernels.width import ROUNDS
from budgetrun.play.metrics import Calibration
from budgetrun.state import save_state

# Kinds of dtypes.
_NUMBERS = "fiub"
# The kernels that depend on the places of features.
BY_PLACE = [name for name, kernel in registry().items() if kernel.by_place]
# Rows scored at a time, to limit the memory for kernel values.
_ROWS = 1024
# The rounds that gamma is found from, as in `budgetrun run`.
_EARLY = ROUNDS
# Rounds that the engine is given at a time: it cuts them into blocks.
_ROUNDS = 16384
# The threads that use models, by the ids of these.
_USERS: dict[int, int] = {}
F = TypeVar("F", bound=Callable[..., Any])


@cache
def _blas() -> ThreadpoolController:
    """Return what limits the threads of the libraries for linear algebra; looking for these takes long."""
    return ThreadpoolController().select(user_api="blas")


def _one_thread(method: F) -> F:
    """Let a method compute with one thread: its matrices are too small for several, which would wait for each other."""

    @wraps(method)
    def limited(*args: Any, **options: Any) -> Any:
        with _blas().limit(limits=1):
            return method(*args, **options)

    return limited  # type: ignore[return-value]


def alone(method: F) -> F:
    """Let a method of a model raise a `RuntimeError` while another thread uses the same model."""

    @wraps(method)
    def guarded(self: Any, *args: Any, **options: Any) -> Any:
        model, thread = id(self), threading.get_ident()
        if _USERS.get(model) == thread:
            return method(self, *args, **options)
        # Setting a default is one step, whatever other threads do.
        if _USERS.setdefault(model, thread) != thread:
            raise RuntimeError(
                f"another thread uses this {type(self).__name__}: a model is used by one thread at a time; use a lock, "
                "or a copy of the model in each thread"
            )
        try:
            return method(self, *args, **options)
        finally:
            del _USERS[model]

    return guarded  # type: ignore[return-value]


class BudgetEstimator(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """An online learner with scikit-learn's conventions; each learner has its own subclass.

    `fit` forgets earlier data and makes one pass over its data, in their order; `partial_fit` continues. The result is
    exactly that of the learner fed example by example, however the data are divided into calls. Memory depends on the
    size of the support set, not on the length of the stream. A model is used by one thread at a time.
    """

    _learners: Variants
    _several: Variants
    _arguments: frozenset[str]
    # scikit-learn checks labels as numbers, or as classes.
    _numeric = False
    # The map from scores to probabilities, if requested.
    _calibration: Calibration | None = None
    # The first rows with their labels, until gamma is fixed; and gamma, if it was found from them.
    _early: list[tuple[Any, np.ndarray]] | None = None
    gamma_: float
    # The means that missing values get; once one was missing, examples have a second feature for each column.
    _means: Means | None = None
    _wide = False

    @alone
    def fit(self, X: Any, y: Any, **refused: Any) -> Any:
        """Forget earlier data and make one pass over these, in their order.

        Parameters
        ----------
        X : array_like or sparse, shape (n, d)
        y : array_like, shape (n,)
            Two classes or more; numbers for regression.
        **refused
            ``sample_weight`` is refused: the learners' papers define no weights of examples.
        """
        self._refuse(refused)
        self._forget()
        return self._pass(X, y)

    def partial_fit(self, X: Any, y: Any, **refused: Any) -> Any:
        """Continue with more rounds.

        Parameters
        ----------
        X : array_like or sparse, shape (n, d), n >= 1
        y : array_like, shape (n,)
        **refused
            As in `fit`.

        Raises ValueError: a parameter was changed since the first call; only ``averaged`` can be.
        """
        self._refuse(refused)
        one = _is_row(X) and type(y) in (list, np.ndarray) and len(y) == 1
        if not (one and self._play_one(X[0], y[0])):
            self._pass(X, y)
        return self

    def learn_one(self, x: Any, y: Any) -> None:
        """Continue with one round, an example of shape (d,) and its label; as `partial_fit`, but faster."""
        row = np.asarray(x)
        if not self._play_one(row, y):
            self._pass(x if sp.issparse(x) else row[None], [y])

    @alone
    def _value(self, x: Any) -> Any:
        """Return f(x), or the scores of all classes, for one example of shape (d,)."""
        row = np.asarray(x)
        score = self._score_one(row)
        return self._scores(x if sp.issparse(x) else row[None])[0] if score is None else score

    @alone
    def _values(self, X: Any) -> np.ndarray:
        """Return the same for each row."""
        score = self._score_one(X[0]) if _is_row(X) else None
        return self._scores(X) if score is None else np.array([score])

    @_one_thread
    def _scores(self, X: Any) -> np.ndarray:
        check_is_fitted(self, "_group")
        X = self._filled(self._validated(X, reset=False), learn=False)
        pieces = (_in_form(X[start : start + _ROWS], self._sparse) for start in range(0, X.shape[0], _ROWS))
        return np.concatenate([self._scores_of(piece) for piece in pieces])

    def _scores_of(self, rows: Any) -> np.ndarray:
        """Return f(x), or the scores of all classes, of rows in the engine's form; shape (n,) or (n, n_classes)."""
        return score(self._member, rows, getattr(self, "averaged", False)).T

    @alone
    def save(self, path: str | Path, *, encoding: dict[str, Any] | None = None) -> None:
        """Save the estimator to one file, without pickle: `budgetrun.load` loads it, to continue with the same bits.

        With the ``encoding`` of the `budgetrun.data.tables.Table` that the examples come from, its columns and
        categories, ``budgetrun predict`` reads other files into the same features.

        Raises CannotWriteError: the file cannot be written.
        """
        save_state(path, self, encoding=encoding)

    @property
    def typical(self) -> Any:
        """The mean and the deviation of each feature so far, shape (d,); None if they are not known."""
        return None if self._means is None else self._means.typical()

    @property
    def support_set_(self) -> Any:
        return _in_form(self._member.hypothesis.support_set, self._sparse)

    @property
    @_one_thread
    def weights_(self) -> np.ndarray:
        return self._member.hypothesis.coef.copy()

    @property
    def members_(self) -> list[dict[str, Any]]:
        return self._member.hypothesis.members

    @property
    def n_rounds_(self) -> int:
        check_is_fitted(self, "_group")
        return int(self._group.rounds)

    @property
    def seed_(self) -> int:
        return int(self._member.learner.seed)

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if name in self._arguments and "_labels" in self.__dict__:
            # The next call takes the general path, which compares the parameters with those in force.
            self.__dict__["_labels"] = {}

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        text: str = super().__repr__(N_CHAR_MAX)
        return f"{text}  # {note}" if (note := self._not_in_force()) else text

    def _repr_mimebundle_(self, **options: Any) -> Any:
        # The table that scikit-learn shows in notebooks has no room for the note.
        return {"text/plain": repr(self)} if self._not_in_force() else super()._repr_mimebundle_(**options)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse, tags.input_tags.allow_nan = True, self._fills
        return tags

    @property
    def _member(self) -> Any:
        check_is_fitted(self, "_group")
        return self._group.members[0]

    @alone
    def _play_one(self, x: np.ndarray, y: Any) -> bool:
        """Play one round on the engine's short path; return whether that was possible and the arguments are valid."""
        label = self._label_of(y)
        if label is None or x.dtype.kind not in _NUMBERS:
            return False
        early = self._early
        try:
            short = not self._wide and (early is None or _of_gamma(self._group.rounds + 1) <= self._group.rounds)
            score = self._group.feed_one(x, label) if short else None
        except Exception:
            self._forget()
            raise
        if score is None:
            return self._fits(x) and self._play(x[None].astype(np.float64), np.array([label]))
        if early is not None:
            self._early = [*early, (x[None].astype(np.float64), np.array([label]))]
        if self._means is not None:
            self._means.learn(x)
        if self._calibration is not None:
            # Rounded as those of blocks are.
            self._calibration.learn(float(self._group.pool.dtype.type(score)), int(label > 0))
        return True

    def _fits(self, x: np.ndarray) -> bool:
        """Return whether an array of numbers is an example that scikit-learn need not check."""
        return x.shape == (self.n_features_in_,) and not self._sparse and bool(np.isfinite(x).all())

    def _label_of(self, y: Any) -> Any:
        """Return a label as the engine's short path takes it; None if it cannot."""
        raise NotImplementedError

    def _find_classes(self, y: np.ndarray, classes: Any) -> None:
        """Set `classes_`, in ascending order, from ``classes`` or else from the first labels; not for regression."""

    def _encoded(self, y: np.ndarray, classes: Any) -> np.ndarray:
        """Return labels as the engine takes them."""
        raise NotImplementedError

    def _score_one(self, x: np.ndarray) -> Any:
        """Return f(x), or the scores of all classes, of an example of shape (d,); None if it has to be validated."""
        if not self.__dict__.get("_labels") or x.dtype.kind not in _NUMBERS:
            return None
        score = None if getattr(self, "averaged", False) or self._wide else self._group.score_one(x)
        if score is None and self._fits(x):
            with _blas().limit(limits=1):
                return self._scores_of(self._filled(x[None].astype(np.float64), learn=False))[0]
        return score

    @alone
    def _pass(self, X: Any, y: Any, classes: Any = None) -> Any:
        first, before = not hasattr(self, "_group"), self.__dict__.copy()
        self._check_in_force()
        try:
            X, y = self._validated(X, y, reset=first, y_numeric=self._numeric)
            if first:
                self._find_classes(y, classes)
                self._in_force = self.get_params(deep=False)
                self._early = [] if self._rule_of_gamma() else None
                self._begin()
                # The engine keeps rows in the form of the first ones.
                self._sparse = sp.issparse(X)
                self._means = Means(X.shape[1], spread=True) if self._fills and not self._sparse else None
            labels = self._encoded(y, classes)
        except Exception:
            # What is refused changes nothing.
            self.__dict__.clear()
            self.__dict__.update(before)
            raise
        self._play(X, labels, first)
        return self

    def _play(self, X: Any, labels: np.ndarray, first: bool = False) -> bool:
        """Play rounds, with missing values filled; return True."""
        group, rounds, means = self._group, self._group.rounds, copy(self._means)
        before: dict[str, Any] = {}
        try:
            X = self._filled(X)
            before = self.__dict__.copy()
            if self._early is not None:
                X, labels = self._with_early(self._early, X, labels)
            self._play_rounds(X, labels)
        except Exception:
            if first or group.rounds > rounds:
                # What was learned is lost as soon as an update has failed.
                self._forget()
            else:
                # The first block was refused, or a new group was fed.
                self.__dict__.update(before | {"_means": means})
            raise
        return True

    def _with_early(self, early: list[tuple[Any, np.ndarray]], X: Any, labels: np.ndarray) -> tuple[Any, np.ndarray]:
        """Return the rounds to play while gamma is not fixed: all of them again whenever their number has doubled."""
        early = [*early, (_in_form(X, self._sparse), labels)]
        n = sum(len(y) for _, y in early)
        at = _of_gamma(n)
        if at > self._group.rounds:
            rows = [x for x, _ in early]
            X = sp.vstack(rows, format="csr") if self._sparse else np.concatenate(rows)
            labels = np.concatenate([y for _, y in early])
            self.gamma_ = found_gamma(str(self._rule_of_gamma()), X[:at])
            early = [(X, labels)]
            self._begin()
        self._early = early if at < _EARLY else None
        return X, labels

    @_one_thread
    def _play_rounds(self, X: Any, labels: np.ndarray) -> None:
        """Play rounds on the engine's general path, and fit the calibration to the scores before each was learned."""
        most = 1 if self._predicts_first else _ROUNDS
        for start in range(0, len(labels), most):
            rows, y = _in_form(X[start : start + most], self._sparse), labels[start : start + most]
            before = self._scores_of(rows) if self._predicts_first else None
            to_follow = len(labels) - start - len(y)
            scores = self._group.feed(rows, y[None], scores=self._calibration is not None, to_follow=to_follow)[0]
            if self._calibration is not None:
                scores = (scores.T if before is None else before).astype(np.float64, copy=False)
                several = scores.ndim == 2
                codes = (y if several else y > 0).tolist()
                for one, code in zip(scores if several else scores.tolist(), codes, strict=True):
                    self._calibration.learn(one, int(code))

    def _candidates(self) -> list[Any]:
        """Return the estimators that `fit` will run, not fitted."""
        return [self]

    def _begin(self) -> None:
        self._group = self._started(getattr(self, "classes_", np.empty(0)))
        self._calibration = Calibration() if self._in_force.get("probabilities") else None

    def _validated(self, X: Any, *y: Any, **options: Any) -> Any:
        """Return examples, and labels, as scikit-learn checks them, and refuse what would be learned wrongly."""
        rows = X if isinstance(X, list) or (isinstance(X, np.ndarray) and X.ndim == 1) else [X]
        first = rows[0] if len(rows) else None
        # Sparse matrices of one format are dicts, too.
        if isinstance(first, dict) and not sp.issparse(first):
            name = type(self).__name__
            raise ValueError(f"budgetrun.{name} takes arrays, not dicts; for dicts use budgetrun.river.{name}")
        if isinstance(X, np.ma.MaskedArray):
            raise ValueError("the mask of a masked array would be lost: give X.filled(numpy.nan)")
        _refuse_dates(X)
        options |= {"accept_sparse": "csr", "dtype": np.float64, "ensure_all_finite": self._finite(X)}
        try:
            found = validate_data(self, X, *y, **options)
        except OverflowError as error:
            raise ValueError(f"X has a number that is too large for float64: {error}") from None
        except ValueError as error:
            if "could not convert string" in str(error) and (text := _first_text(X)):
                raise ValueError(f"column {text} is text: encode it first, as OneHotEncoder does ({error})") from None
            raise
        if sp.issparse(X := found[0] if y else found):
            # scipy looks at them only when it has to.
            X.check_format(full_check=True)
        return found

    @property
    def _fills(self) -> bool:
        # A feature that tells of missing values would stand where such a kernel looks for another one.
        return getattr(self, "missing", "refuse") == "fill" and getattr(self, "kernel", None) not in BY_PLACE

    def _finite(self, X: Any) -> bool | str:
        """Return what scikit-learn is to check of values."""
        begun = hasattr(self, "_group")
        return "allow-nan" if (self._means is not None if begun else self._fills and not sp.issparse(X)) else True

    def _filled(self, X: Any, learn: bool = True) -> Any:
        """Return rows without missing values, and once one was missing with the features that tell of them."""
        if self._means is None:
            return X
        X = X.toarray() if sp.issparse(X) else X.copy()
        lost = self._means.fill(X, learn)
        if learn and not self._wide and lost.any():
            self._wide, d = True, X.shape[1]
            if self._group.rounds:
                self._group.rearrange(range(d), 2 * d)
            self._early = self._early and [(np.hstack([x, np.zeros_like(x)]), y) for x, y in self._early]
        return np.hstack([X, lost]) if self._wide else X

    def _rule_of_gamma(self) -> str | None:
        """Return how gamma is found from the first rows; None if it is given."""
        return str(self._in_force["gamma"]) if finds_gamma(self._in_force) else None

    def _with_gamma(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return arguments with the gamma that was found from the first rows, if they leave it open."""
        return given | {"gamma": getattr(self, "gamma_", 1.0)} if finds_gamma(given) else given

    def _features_in_use(self) -> np.ndarray:
        """Return which features predictions depend on, or will depend on when gamma is fixed; shape (d,) of bool."""
        used: np.ndarray = self._group.features_in_use()
        for X, _ in self._early or ():
            used = used | (X != 0).any(axis=0)
        return used

    def _rearrange(self, features: list[int], n_features: int) -> None:
        self._group.rearrange(features, n_features)
        self.n_features_in_ = n_features
        self._early = self._early and [(enlarged(X[:, features], len(X), n_features), y) for X, y in self._early]

    def _started(self, classes: np.ndarray) -> Any:
        """Return what plays the rounds of a stream with these classes."""
        given = self._with_gamma(self._in_force)
        if hasattr(self, "_group") and given.get("random_state") is not None and hasattr(self._member.learner, "seed"):
            # A RandomState is drawn from once.
            given |= {"random_state": None, "seed": self.seed_}
        kernel, learner, options = group_options(given, self._learners, self._several, classes)
        return Group(kernel, [learner], **options)

    @property
    def _predicts_first(self) -> bool:
        """True if the calibration needs scores that the engine does not compute in its rounds."""
        return self._calibration is not None and getattr(self, "averaged", False)

    def _forget(self) -> None:
        made = ("classes_", "_group", "_labels", "_in_force", "_sparse", "_calibration", "_early", "gamma_")
        for name in (*made, "_means", "_wide", "candidates_"):
            self.__dict__.pop(name, None)

    def _check_in_force(self) -> None:
        if note := self._not_in_force():
            raise ValueError(f"{note}: call fit to start again with the new value, or set the old one")

    def _not_in_force(self) -> str:
        """Return which parameters are not those that the learner was started with; empty if all are."""
        if "_group" not in self.__dict__:
            return ""
        now = self.get_params(deep=False)
        free = "" if self._calibration is not None else "averaged"
        changed = [k for k, old in self._in_force.items() if k != free and not _same(now.get(k), old)]
        what = ", ".join(f"{name}={self._in_force[name]!r}, now {now.get(name)!r}" for name in changed)
        return f"fitted with {what}" if changed else ""

    def _refuse(self, refused: dict[str, Any]) -> None:
        for name, value in refused.items():
            if name != "sample_weight":
                raise TypeError(f"{type(self).__name__}.fit has no argument {name!r}")
            if value is not None:
                raise ValueError(
                    f"{type(self).__name__} takes no sample_weight: its rule gives every example the same "
                    "weight; leave it out, or repeat rows"
                )


class BudgetClassifier(ClassifierMixin, BudgetEstimator):  # type: ignore[misc]
    """An online learner as a classifier; see `BudgetEstimator`."""

    # Models that were saved before there was this parameter do not have it.
    probabilities: bool = False

    def partial_fit(self, X: Any, y: Any, classes: Any = None, **refused: Any) -> Any:
        """Continue with more rounds, as `BudgetEstimator.partial_fit` does.

        ``classes`` are all classes, required in the first call unless its labels include every class.
        """
        if classes is None:
            return super().partial_fit(X, y, **refused)
        self._refuse(refused)
        return self._pass(X, y, classes)

    def learn_one(self, x: Any, y: Any, classes: Any = None) -> None:
        """Continue with one round, an example of shape (d,) and its label; as `partial_fit`, but faster.

        ``classes`` are all classes, required if this is the first call; later calls are faster without them.
        """
        if classes is None:
            super().learn_one(x, y)
        else:
            self._pass(x if sp.issparse(x) else np.asarray(x)[None], [y], classes)

    def decision_one(self, x: Any) -> Any:
        """Return f(x) for one example of shape (d,): a number, or with more than two classes an array of them."""
        return self._value(x)

    def predict_one(self, x: Any) -> Any:
        """Return the class of one example of shape (d,)."""
        score = self.decision_one(x)
        return self.classes_[problem_with(len(self.classes_)).predict(score)]

    def decision_function(self, X: Any) -> np.ndarray:
        """Return f(x) for each row: shape (n,), positive for the second of two classes.

        With more classes, the shape is (n, n_classes), and the class of the largest is predicted.
        """
        return self._values(X)

    def predict(self, X: Any) -> np.ndarray:
        """Return the class of each row, shape (n,)."""
        scores = self.decision_function(X)
        return self.classes_[problem_with(len(self.classes_)).predict(scores.T)]

    @property
    def predict_proba(self) -> Callable[[Any], np.ndarray]:
        """With ``probabilities=True``: a method that returns the probability of each class, shape (n, n_classes).

        They are those of `budgetrun.play.metrics`, fitted to the scores of the rounds so far, each before its
        label was learned: Platt scaling for two classes; for more, the softmax of the scores with one fitted factor.
        `predict` goes by the scores, so its class is not always that of the largest probability.
        """
        if not self.probabilities:
            raise AttributeError(f"{type(self).__name__} has no probabilities: create it with probabilities=True")
        return self._probabilities

    def _probabilities(self, X: Any) -> np.ndarray:
        scores = self.decision_function(X).astype(np.float64, copy=False)
        self._check_in_force()
        assert self._calibration is not None
        return np.array([self._calibration.of(score) for score in scores])

    @property
    def mistakes_(self) -> int:
        return int(self._member.count.mistakes)

    @property
    def online_error_(self) -> float:
        return self.mistakes_ / self.n_rounds_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        known = (self._learners or {}).values()
        tags.classifier_tags.poor_score = any(getattr(learner, "restarts", False) for learner in known)
        return tags

    def _label_of(self, y: Any) -> Any:
        try:
            return self.__dict__.get("_labels", {}).get(y)
        except TypeError:
            return None

    def _encoded(self, y: np.ndarray, classes: Any) -> np.ndarray:
        if classes is not None and not np.array_equal(np.unique(classes), self.classes_):
            raise ValueError(f"classes={list(classes)} differs from the first call's, {self.classes_.tolist()}")
        # The labels of single rounds, without feature names, which scikit-learn checks.
        short = not hasattr(self, "feature_names_in_") and not self._predicts_first
        problem = problem_with(len(self.classes_))
        labels = problem.labels(np.arange(len(self.classes_)))
        self._labels = dict(zip(self.classes_.tolist(), labels.tolist(), strict=True)) if short else {}
        known = set(self.classes_.tolist())
        unknown = [label for label in dict.fromkeys(y.tolist()) if label not in known]
        if unknown:
            raise ValueError(f"y has labels {unknown} that are not among the classes {self.classes_.tolist()}")
        return problem.labels(np.searchsorted(self.classes_, y))

    def _find_classes(self, y: np.ndarray, classes: Any) -> None:
        try:
            check_classification_targets(y)
            found: np.ndarray = np.unique(y if classes is None else classes)
        except TypeError as error:
            raise ValueError(f"the classes must all be numbers, or all be text ({error})") from None
        except ValueError as error:
            advice = "y must be class labels; for classes made from numbers, give for example y > numpy.median(y)"
            raise ValueError(f"{error} {advice}") from None
        if any(label != label for label in found.tolist()):
            raise ValueError(f"a class is missing: {found.tolist()}")
        if len(found) < 2:
            raise ValueError(
                f"y must have at least two classes, got one class, {found.tolist()}; in partial_fit, give all classes "
                "in the first call: classes=[...]"
            )
        self.classes_ = found


class BudgetRegressor(RegressorMixin, BudgetEstimator):  # type: ignore[misc]
    """An online regression learner; see `BudgetEstimator`."""

    _numeric = True

    def predict(self, X: Any) -> np.ndarray:
        """Return f(x) for each row, shape (n,)."""
        return self._values(X)

    def predict_one(self, x: Any) -> float:
        """Return f(x) for one example of shape (d,)."""
        return float(self._value(x))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # After one pass over few examples.
        tags.regressor_tags.poor_score = True
        return tags

    def _label_of(self, y: Any) -> Any:
        number = self.__dict__.get("_labels") and isinstance(y, int | float | np.number)
        return float(y) if number and math.isfinite(y) else None

    def _encoded(self, y: np.ndarray, classes: Any) -> np.ndarray:
        # Feature names have to be checked, so with them the engine's short path is closed.
        self._labels = not hasattr(self, "feature_names_in_")
        return y.astype(np.float64, copy=False)


def _is_row(X: Any) -> bool:
    return type(X) is np.ndarray and X.ndim == 2 and len(X) == 1


def _of_gamma(n: int) -> int:
    """Return of how many of the first n rounds gamma is, n >= 1."""
    return _EARLY if n >= _EARLY else 1 << (n.bit_length() - 1)


def _in_form(X: Any, sparse: bool) -> Any:
    return sp.csr_array(X) if sparse else dense(X)


def _refuse_dates(X: Any) -> None:
    of_frame = zip(X.columns, X.dtypes, strict=True) if hasattr(X, "dtypes") else ()
    for name, dtype in of_frame or [(None, getattr(X, "dtype", None))]:
        if getattr(dtype, "kind", "") in {"M", "m"}:
            where = "X" if name is None else f"column {name!r}"
            raise ValueError(f"{where} has dates or times: give numbers, for example days since the first one")


def _first_text(X: Any) -> str:
    """Return the name of the first column of a frame that holds text, as Python writes it; empty if there is none."""
    for name in getattr(X, "columns", ()):
        try:
            np.asarray(X[name], dtype=np.float64)
        except (TypeError, ValueError):
            return repr(name)
    return ""


def _same(one: Any, other: Any) -> bool:
    return one is other or bool(np.all(one == other))
