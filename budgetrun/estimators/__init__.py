"""The learners as scikit-learn classifiers and regressors.

Each name in `budgetrun.learners` has one classifier, or one regressor, generated from the learner's parameters; a new
learner needs no code here. With more than two classes, the classifier uses the multiclass learner of its name, or if
there is none, one learner per class (one-vs-rest).
"""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any, TypeVar

from budgetrun import learners
from budgetrun.base import moved
from budgetrun.base.errors import InputError
from budgetrun.estimators.arguments import Variants, arguments_of, class_name
from budgetrun.estimators.base import BudgetClassifier, BudgetEstimator, BudgetRegressor
from budgetrun.estimators.pages import page
from budgetrun.state import load_state

T = TypeVar("T", bound=BudgetEstimator)


def load(path: str | Path) -> Any:
    """Load a classifier or regressor that its method `save` saved; it continues with the same bits.

    Parameters
    ----------
    path : str or Path

    Raises
    ------
    InputError
        The file is missing, damaged or of another version, or holds something else.
    """
    return checked(load_state(path)[0], path)


def checked(model: Any, path: str | Path) -> Any:
    """Return what was saved, if it is a classifier or regressor."""
    if not isinstance(model, BudgetEstimator):
        raise InputError(f"{path}: not a classifier or regressor that was saved, but a {type(model).__name__}")
    return model


def _make(base: type[T], name: str, variants: Variants, several: Variants) -> type[T]:
    """Return the estimator of one name, whose arguments are the parameters of its learners and of the kernel.

    ``several`` are the name's own learners of several classes; variants without one are one-vs-rest.
    """
    arguments = arguments_of(variants, several)
    title = class_name(name, variants)
    parameters = [inspect.Parameter(key, inspect.Parameter.KEYWORD_ONLY, default=d) for key, d in arguments.items()]

    def __init__(self: BudgetEstimator, **given: Any) -> None:
        for key in given:
            if key not in arguments:
                why = f"; {_NO_WEIGHTS}" if key == "class_weight" else ""
                raise TypeError(f"{title} has no argument {key!r}{why}; it takes {', '.join(arguments)}")
        for key, value in (arguments | given).items():
            setattr(self, key, value)

    __init__.__signature__ = inspect.Signature(  # type: ignore[attr-defined]  # functions can have it; see inspect
        [inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD), *parameters]
    )
    of_classes = issubclass(base, BudgetClassifier)
    every = {variant: learners.find(name, variant, "multiclass") for variant in variants if of_classes}
    # Models that were saved before there was some argument do not have it.
    namespace = arguments | {"__init__": __init__, "_learners": variants, "_several": every, "__module__": __name__}
    namespace |= {"_arguments": frozenset(arguments), "__doc__": page(title, variants, several, arguments)}
    return type(title, (base,), namespace)


_NO_WEIGHTS = "the rule of its paper gives every class the same weight"
_SEVERAL = learners.registry("multiclass")
CLASSIFIERS = {
    made.__name__: made
    for made in (_make(BudgetClassifier, *item, _SEVERAL.get(item[0], {})) for item in learners.registry().items())
}
REGRESSORS = {
    made.__name__: made
    for made in (_make(BudgetRegressor, *item, {}) for item in learners.registry("regression").items())
}
MADE: dict[str, type[BudgetEstimator]] = CLASSIFIERS | REGRESSORS
OLD_NAMES = moved.old_names(MADE)
globals().update(MADE | OLD_NAMES)
__all__ = ["BudgetClassifier", "BudgetEstimator", "BudgetRegressor", "load", *CLASSIFIERS, *REGRESSORS]
