"""The learners as scikit-learn classifiers, on the same engine.

Each name in `budgetrun.learners` has one classifier, generated from the learner's parameters; a new learner needs no
code here. If the name also has a multiclass learner, the classifier uses it when the labels have more than two classes.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data
from threadpoolctl import ThreadpoolController

from budgetrun import kernels, learners
from budgetrun.config.problems import ValueType
from budgetrun.engine import Group, score
from budgetrun.learners import Learner
from budgetrun.learners.hierarchy import parse
from budgetrun.registry import parameters

# Learners by variant; None if the name has only one.
Variants = dict[str | None, type[Any]]

_COMMON = {"kernel": "gaussian", "gamma": None, "sigma": None, "degree": 3, "coef0": 1.0, "tie": "mistake"}
_COMMON |= {"dtype": "float64"}
_AVERAGED_PAGE = """
    averaged : bool
        Predict with the mean of the hypotheses of all rounds (online-to-batch conversion) instead of the last
        hypothesis. It can be changed after fitting.
"""
_COMMON_PAGE = """
    kernel : {"gaussian", "polynomial", "linear"}
        The kernel; "gaussian" by default.
    gamma : float > 0, or None
        Parameter of the gaussian kernel, exp(-gamma ||a - b||^2), and of the polynomial kernel; None means 1.
    sigma : float > 0, or None
        Alternative to gamma for the gaussian kernel: gamma = 1 / (2 sigma^2).
    degree : int, >= 1
    coef0 : float, >= 0
        Parameters of the polynomial kernel, (gamma <a, b> + coef0)^degree.
    tie : {"mistake", "positive"}
        In training, a score of exactly 0 is a mistake (default), or predicts the second class. `predict` always
        returns the second class for it.
        With more than two classes only "mistake" is possible.
    dtype : {"float64", "float32"}
        Type of kernel values and scores.

    Attributes
    ----------
    classes_ : ndarray, shape (n_classes,)
    n_features_in_ : int
    support_set_ : ndarray or csr_array, shape (n_support, n_features)
        The support examples, oldest first.
    weights_ : ndarray, shape (n_support,)
        The weights of the support examples in the last hypothesis; f(x) = sum of weights_ times kernel values.
        With more than two classes: shape (n_classes, n_support); with a hierarchy, weights of (example, class) pairs.
    n_rounds_, mistakes_ : int
        The rounds so far, and the mistakes on them. Each label is predicted before it is seen.
    online_error_ : float
        mistakes_ / n_rounds_.
"""


class BudgetClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """An online learner as a classifier; each learner has its own subclass.

    `fit` forgets earlier data and makes one pass over its data, in their order; `partial_fit` continues. The result is
    exactly that of the learner fed example by example, however the data are divided into calls. Memory depends on the
    size of the support set, not on the length of the stream.
    """

    _learners: Variants
    _several: Variants

    def fit(self, X: Any, y: Any) -> BudgetClassifier:
        """Forget earlier data and make one pass over these, in their order.

        Parameters
        ----------
        X : array_like or sparse, shape (n, d)
        y : array_like, shape (n,)
            Two classes, or more if the learner is also multiclass.
        """
        self._forget()
        return self._pass(X, y, None)

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> BudgetClassifier:
        """Continue with more rounds.

        Parameters
        ----------
        X : array_like or sparse, shape (n, d), n >= 1
        y : array_like, shape (n,)
        classes : array_like, shape (n_classes,), or None
            All classes; required in the first call, unless its labels include every class.
        """
        one = classes is None and _is_row(X) and type(y) in (list, np.ndarray) and len(y) == 1
        if not (one and self._play_one(X[0], y[0])):
            self._pass(X, y, classes)
        return self

    def learn_one(self, x: Any, y: Any, classes: Any = None) -> None:
        """Continue with one round, with the result of `partial_fit`, but faster.

        Parameters
        ----------
        x : array_like, shape (d,)
        y : int, float, str or bool
            The label.
        classes : array_like, shape (n_classes,), or None
            All classes; required if this is the first call. Later calls are faster without it.
        """
        row = np.asarray(x)
        if classes is not None or not self._play_one(row, y):
            self._pass(_table(x, row), [y], classes)

    def decision_one(self, x: Any) -> Any:
        """Return f(x) for one example of shape (d,): a number, or with more than two classes an array of them."""
        row = np.asarray(x)
        score = self._score_one(row)
        return self._scores(_table(x, row))[0] if score is None else score

    def predict_one(self, x: Any) -> Any:
        """Return the class of one example of shape (d,)."""
        score = self.decision_one(x)
        return self.classes_[int(score >= 0) if np.ndim(score) == 0 else score.argmax()]

    def decision_function(self, X: Any) -> np.ndarray:
        """Return f(x) for each row.

        Returns
        -------
        ndarray, shape (n,) or (n, n_classes)
            Two classes: positive for the second. More: one column per class; the class of the largest is predicted.
        """
        score = self._score_one(X[0]) if _is_row(X) else None
        return self._scores(X) if score is None else np.array([score])

    def _scores(self, X: Any) -> np.ndarray:
        member, averaged = self._member, getattr(self, "averaged", False)
        X = _rows(validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False))
        with _blas().limit(limits=1):
            parts = [score(member, X[start : start + _ROWS], averaged).T for start in range(0, X.shape[0], _ROWS)]
        return np.concatenate(parts)

    def predict(self, X: Any) -> np.ndarray:
        """Return the class of each row, shape (n,)."""
        scores = self.decision_function(X)
        return self.classes_[scores.argmax(axis=1) if scores.ndim == 2 else (scores >= 0).astype(int)]

    @property
    def support_set_(self) -> Any:
        return self._member.hypothesis.support_set

    @property
    def weights_(self) -> np.ndarray:
        return self._member.hypothesis.coef.copy()

    @property
    def n_rounds_(self) -> int:
        check_is_fitted(self, "_group")
        return int(self._group.rounds)

    @property
    def mistakes_(self) -> int:
        return int(self._member.count.mistakes)

    @property
    def online_error_(self) -> float:
        return self.mistakes_ / self.n_rounds_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_class = bool(self._several)
        return tags

    @property
    def _member(self) -> Any:
        check_is_fitted(self, "_group")
        return self._group.members[0]

    def _play_one(self, x: np.ndarray, y: Any) -> bool:
        """Play one round on the engine's short path; return whether that was possible and the arguments are valid."""
        try:
            label = self.__dict__.get("_labels", {}).get(y)
        except TypeError:
            return False
        if label is None or x.dtype.kind not in _NUMBERS:
            return False
        try:
            return self._group.feed_one(x, label)
        except Exception:
            self._forget()
            raise

    def _score_one(self, x: np.ndarray) -> float | None:
        """Return f(x) from the engine's short path; None if that is not possible, or if ``x`` has to be validated."""
        if not self.__dict__.get("_labels") or x.dtype.kind not in _NUMBERS or getattr(self, "averaged", False):
            return None
        return self._group.score_one(x)

    def _pass(self, X: Any, y: Any, classes: Any) -> BudgetClassifier:
        first = not hasattr(self, "_group")
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64, reset=first)
        X = _rows(X)
        if first:
            found = _classes(y, classes, several=bool(self._several))
            self._group = self._new_group(found)
            self.classes_ = found
            # The labels on the engine's short path, for two classes without feature names, which scikit-learn checks.
            short = len(found) == 2 and not hasattr(self, "feature_names_in_")
            self._labels = dict(zip(found.tolist(), (-1, 1), strict=True)) if short else {}
        elif classes is not None and not np.array_equal(np.unique(classes), self.classes_):
            raise ValueError(f"classes={list(classes)} differs from the first call's, {self.classes_.tolist()}")
        known = set(self.classes_.tolist())
        unknown = [label for label in dict.fromkeys(y.tolist()) if label not in known]
        if unknown:
            raise ValueError(f"y has labels {unknown} that are not among the classes {self.classes_.tolist()}")
        codes = np.searchsorted(self.classes_, y)
        labels = codes if len(self.classes_) > 2 else 2 * codes - 1
        # With a small support set, most of the time would go into the kernel values within a large block.
        budget = self._member.learner.budget
        block = 64 if self._group.pool.used < 512 and budget is not None and budget < 512 else 256
        before = self._group.rounds
        try:
            with _blas().limit(limits=1):
                for start in range(0, len(labels), block):
                    self._group.feed(X[start : start + block], labels[None, start : start + block])
        except Exception:
            # What was learned is lost as soon as an update has failed, but not if the first block was refused.
            if first or self._group.rounds > before:
                self._forget()
            raise
        return self

    def _forget(self) -> None:
        for name in ("classes_", "_group", "_labels"):
            self.__dict__.pop(name, None)

    def _new_group(self, classes: np.ndarray) -> Group:
        given = {name: _plain(value) for name, value in self.get_params().items()}
        several = len(classes) > 2
        for name, allowed in _CHOICES.items():
            if name in given and given[name] not in allowed:
                raise ValueError(f"{name} must be one of {', '.join(map(str, allowed))}, got {given[name]!r}")
        if several and given["tie"] != "mistake":
            raise ValueError(f"tie must be mistake with more than two classes, got {given['tie']!r}")
        learner = self._learner(given.get("variant"), several)
        chosen = self._chosen(given, learner, several)
        if chosen.get("hierarchy") is not None:
            chosen["hierarchy"] = _by_position(chosen["hierarchy"], classes)
        n_classes = len(classes) if several else None
        return Group(_kernel(given), [learner(**chosen)], n_classes=n_classes, tie=given["tie"], dtype=given["dtype"])

    def _learner(self, variant: Any, several: bool) -> type[Any]:
        variants = self._several if several else self._learners
        if variant not in list(variants):
            raise ValueError(f"variant must be one of {', '.join(map(str, variants))}, got {variant!r}")
        return variants[variant]

    def _chosen(self, given: dict[str, Any], learner: type[Learner], several: bool) -> dict[str, Any]:
        """Return the given parameters that the learner has, checked; None means the learner's default."""
        wanted = parameters(learner)
        chosen = {}
        for name, default in _parameters([*self._learners.values(), *self._several.values()]).items():
            if given[name] is None:
                continue
            if name not in wanted:
                if given[name] == default:
                    continue
                kind = learner.name if learner.variant is None else f"{learner.name}({learner.variant})"
                of = "more than two classes" if several else "two classes"
                raise ValueError(f"{name} is not a parameter of {kind} for {of}: leave it out, got {given[name]!r}")
            _check(name, given[name], wanted[name].annotation)
            chosen[name] = given[name]
        for name, parameter in wanted.items():
            if name not in chosen and parameter.default is parameter.empty:
                raise ValueError(f"{name} is required: it must be {ValueType(parameter.annotation).wanted}, got None")
        return chosen


# The allowed values of the parameters that all classifiers share.
_CHOICES = {"tie": ("mistake", "positive"), "dtype": ("float64", "float32"), "averaged": (False, True)}
# Kinds of dtypes.
_NUMBERS = "fiub"
# Rows scored at a time, to limit the memory for kernel values.
_ROWS = 1024


def _kernel(given: dict[str, Any]) -> kernels.Kernel:
    known = kernels.registry()
    if given["kernel"] not in list(known):
        raise ValueError(f"kernel must be one of {', '.join(known)}, got {given['kernel']!r}")
    kernel = known[given["kernel"]]
    wanted = parameters(kernel)
    chosen = {name: given[name] for name in wanted if given.get(name) is not None}
    for name, value in chosen.items():
        _check(name, value, wanted[name].annotation)
    if "sigma" in wanted and not {"gamma", "sigma"} & set(chosen):
        chosen["gamma"] = 1.0
    return kernel(**chosen)


def _check(name: str, value: Any, annotation: Any) -> None:
    try:
        problems = list(ValueType(annotation).check(value)[1].values())
    except TypeError:
        problems = [f"must be {ValueType(annotation).wanted}, got {value!r}"]
    if problems:
        raise ValueError(f"{name} {problems[0]}")


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


@cache
def _blas() -> ThreadpoolController:
    """Return what limits the threads of the libraries for linear algebra; looking for these takes long."""
    return ThreadpoolController().select(user_api="blas")


def _is_row(X: Any) -> bool:
    """Whether this is an array of one row."""
    return type(X) is np.ndarray and X.ndim == 2 and len(X) == 1


def _table(x: Any, row: np.ndarray) -> Any:
    """Return one example as a table."""
    return x if sp.issparse(x) else row[None]


def _rows(X: Any) -> Any:
    return sp.csr_array(X) if sp.issparse(X) else X


def _classes(y: np.ndarray, classes: Any, several: bool) -> np.ndarray:
    try:
        check_classification_targets(y)
        found = np.unique(y if classes is None else classes)
    except TypeError as error:
        raise ValueError(f"the classes must all be numbers, or all be text ({error})") from None
    if len(found) > 2 and not several:
        kind = type_of_target(y, input_name="y")
        raise ValueError(f"Only binary classification is supported. The type of the target is {kind}.")
    if len(found) < 2:
        raise ValueError(
            f"y must have at least two classes, got one class, {found.tolist()}; "
            f"in partial_fit, give {'all' if several else 'both'} classes in the first call: classes=[...]"
        )
    return found


def _by_position(hierarchy: str, classes: np.ndarray) -> str:
    """Return the hierarchy with each label replaced by its position among the classes."""
    position = {_written(label): i for i, label in enumerate(classes.tolist())}
    named = [label for label, _ in parse(hierarchy)]
    for label in named:
        if label not in position:
            raise ValueError(f"hierarchy has the label {label}, which is not among the classes {classes.tolist()}")
    for label in position:
        if label not in named:
            raise ValueError(f"hierarchy lacks the class {label}: it must contain each of {classes.tolist()}")
    return re.sub(r"[^\s()]+", lambda found: str(position[found[0]]), hierarchy)


def _written(label: Any) -> str:
    return str(int(label)) if isinstance(label, float) and label.is_integer() else str(label)


def _parameters(among: Sequence[type[Learner]]) -> dict[str, Any]:
    """Return the parameters of the learners of one name with their defaults: None if the learners' defaults differ."""
    found = [parameters(learner) for learner in among]
    defaults: dict[str, Any] = {}
    for name in dict.fromkeys(name for of_one in found for name in of_one):
        own = [of_one[name].default if name in of_one else None for of_one in found]
        default = own[0] if all(d == own[0] for d in own) else None
        missing = inspect.Parameter.empty in own
        defaults[name] = _DEFAULTS.get(name, default) if missing else default
    return defaults


# Defaults of required parameters, because scikit-learn expects a default for every argument.
_DEFAULTS = {"budget": 100, "eta": 0.1}


def _make(name: str, variants: Variants, several: Variants) -> type[BudgetClassifier]:
    """Return the classifier of one name, whose arguments are the parameters of its learners and of the kernel."""
    among = [*variants.values(), *several.values()]
    arguments: dict[str, Any] = {}
    if None not in variants:
        arguments["variant"] = next(v for v, learner in variants.items() if learner.default_variant)
    arguments |= _parameters(among) | _COMMON
    if all(learner.averages() for learner in among):
        arguments["averaged"] = False
    required = [key for key, default in arguments.items() if default is inspect.Parameter.empty]
    defaults = {key: default for key, default in arguments.items() if key not in required}
    kind = inspect.Parameter.KEYWORD_ONLY
    signature = [inspect.Parameter(key, kind) for key in required]
    signature += [inspect.Parameter(key, kind, default=value) for key, value in defaults.items()]

    def __init__(self: BudgetClassifier, **given: Any) -> None:
        unknown = [key for key in given if key not in arguments]
        missing = [key for key in required if key not in given]
        if unknown or missing:
            what = f"has no argument {unknown[0]!r}" if unknown else f"needs the argument {missing[0]!r}"
            raise TypeError(f"{title} {what}; it takes {', '.join([*required, *defaults])}")
        for key, value in (defaults | given).items():
            setattr(self, key, value)

    __init__.__signature__ = inspect.Signature(  # type: ignore[attr-defined]  # functions can have it; see inspect
        [inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD), *signature]
    )
    title = next(iter(variants.values())).__name__ if None in variants else name.title().replace("_", "")
    namespace = {"__init__": __init__, "_learners": variants, "_several": several, "__module__": __name__}
    namespace["__doc__"] = _page(variants, several, averaged="averaged" in arguments)
    return type(title, (BudgetClassifier,), namespace)


def _page(variants: Variants, several: Variants, averaged: bool) -> str:
    """Return a classifier's docstring: its learners' rules and parameters, then those that all classifiers share."""
    pages = [inspect.getdoc(learner) or "" for learner in (*variants.values(), *several.values())]
    summaries = [page.partition("\n")[0] for page in pages]
    lines = [summaries[0] if None in variants else "A family of learners; choose one with ``variant``.", ""]
    if several:
        lines += ["With more than two classes:", *(f"    {summary}" for summary in summaries[len(variants) :]), ""]
    lines += ["Parameters", "----------"]
    if None not in variants:
        lines.append("variant : {" + ", ".join(f'"{v}"' for v in variants) + "}")
        lines += [f"    {v}: {summary}" for v, summary in zip(variants, summaries, strict=False)]
    seen: set[str] = set()
    for page in pages:
        for entry in _parameter_entries(page):
            if entry[0] not in seen:
                seen.add(entry[0])
                lines += entry
    common = "\n".join(line for line in _COMMON_PAGE.splitlines() if several or "than two classes" not in line)
    parameters, heading, attributes = inspect.cleandoc(common).partition("\nAttributes\n")
    lines += parameters.rstrip().splitlines()
    if averaged:
        lines += inspect.cleandoc(_AVERAGED_PAGE).splitlines()
    return "\n".join([*lines, *(heading + attributes).splitlines()])


def _parameter_entries(page: str) -> list[Sequence[str]]:
    _, _, rest = page.partition("Parameters\n----------\n")
    section = rest.partition("\n\n")[0].splitlines()
    entries: list[list[str]] = []
    for line in section:
        if line.startswith(" ") and entries:
            entries[-1].append(line)
        elif line:
            entries.append([line])
    return list(entries)


_SEVERAL = learners.registry(multiclass=True)
CLASSIFIERS = {
    made.__name__: made for made in (_make(*item, _SEVERAL.get(item[0], {})) for item in learners.registry().items())
}
globals().update(CLASSIFIERS)
__all__ = ["BudgetClassifier", *CLASSIFIERS]
