"""The learners as scikit-learn classifiers and regressors.

Each name in `budgetrun.learners` has one classifier, or one regressor, generated from the learner's parameters; a new
learner needs no code here. With more than two classes, the classifier uses the multiclass learner of its name, or if
there is none, one learner per class (one-vs-rest).
"""

import ast
import inspect
from doctest import DocTestParser
from pathlib import Path
from typing import Any, TypeVar, cast

from budgetrun import learners
from budgetrun.base import moved
from budgetrun.base.errors import InputError
from budgetrun.estimators.arguments import DEFAULTS, Variants, arguments_of, class_name
from budgetrun.estimators.base import BudgetClassifier, BudgetEstimator, BudgetRegressor
from budgetrun.estimators.fleet import Fleet
from budgetrun.learners.page import entries, sections
from budgetrun.state import load_state, using

T = TypeVar("T", bound=BudgetEstimator)


def load(path: str | Path) -> Any:
    """Load a classifier, regressor or fleet that its method `save` saved; it continues with the same bits.

    Raises InputError: the file is missing, damaged or of another version, or holds something else.
    """
    found = load_state(path)[0]
    if isinstance(found, Fleet):
        with using(path):
            found.check()
        return found
    return checked(found, path)


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
                why = "; the rule of its paper gives every class the same weight" if key == "class_weight" else ""
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
    namespace |= {"_arguments": frozenset(arguments), "__doc__": _page(title, variants, several, arguments)}
    return type(title, (base,), namespace)


# -- their docstrings, from those of the learners ----------------------------------------------------------------------

_ONE_VS_REST = (
    "One-vs-rest: one such learner per class, each with all of these parameters. The class of the",
    "largest score is predicted, the first if several tie. An example is stored once for all classes.",
)
_RANDOM_STATE = """
random_state : int >= 0, numpy.random.RandomState or None
    scikit-learn's name for ``seed``: an integer is the seed, a RandomState draws one whenever a fit begins, and None
    leaves it to ``seed``. The seed in use is `seed_`.
"""
# Of each name, those that are its arguments.
_OPTIONS = """
kernel : {"gaussian", "linear", "polynomial", "multitask"}
    The kernel; "gaussian" by default.
gamma : float > 0, "auto", "scale" or None
    Parameter of the gaussian kernel, exp(-gamma ||a - b||^2), and of the polynomial kernel; None means 1. "auto", the
    default, is 1 / the median of ||a - b||^2 over pairs of the first 1,000 rows ("scale": 1 / (d Var(X)) of these, as
    in SVC). Until there are so many, it is found again from the rows so far when their number has doubled, and they
    are played again: at any time the model is that of the rows so far with one gamma, `gamma_`. With other kernels
    than the gaussian, "auto" means 1.
sigma : float > 0, or None
    Alternative to gamma for the gaussian kernel: gamma = 1 / (2 sigma^2).
degree : int, >= 1
coef0 : float, >= 0
    Parameters of the polynomial kernel, (gamma <a, b> + coef0)^degree.
products : "blas" or None
    What computes the inner products of dense floats: None for the order of the features, with the same bits
    everywhere, "blas" for more speed with hundreds of features. Not for the multitask kernel.
n_tasks : int >= 2, or None
    The number of tasks of the multitask kernel; the last column of X is the task, from 0 to n_tasks - 1.
b : float, >= 0
    How much the tasks share: values between two tasks are b / (n_tasks + b) times those within one.
base : {"gaussian", "polynomial", "linear"}
    The multitask kernel's kernel of the other columns, with its parameters as above.
tie : {"mistake", "positive"}
    In training, a score of exactly 0 is a mistake (default), or predicts the second class. `predict` always
    returns the second class for it.
    With more than two classes only "mistake" is possible.
missing : {"fill", "refuse"}
    Missing values, NaN or None, of dense rows: the mean of the column's values in the rows before, with one more
    feature per column that tells whether the value was missing; or an error, as always with the multitask kernel.
    `support_set_` has these features last, once a value was missing.
dtype : {"float64", "float32"}
    Type of kernel values and scores.
averaged : bool
    Predict with the mean of the hypotheses of all rounds (online-to-batch conversion) instead of the last
    hypothesis. It can be changed after fitting.
probabilities : bool
    Offer probabilities. Their calibration is fitted while learning, which takes a few microseconds per round.
    With them, ``averaged`` cannot be changed after fitting.
"""
_ATTRIBUTES = """
Attributes
----------
n_features_in_ : int
n_rounds_ : int
    The rounds so far.
support_set_ : ndarray or csr_array, shape (n_support, n_features)
    The support examples, oldest first.
weights_ : ndarray, shape (n_support,)
    The weights of the support examples in the last hypothesis; f(x) = sum of weights_ times kernel values.
"""
_OF_CLASSIFIERS = """
    With more than two classes: shape (n_classes, n_support).
    With a hierarchy: of (example, class) pairs.
classes_ : ndarray, shape (n_classes,)
mistakes_ : int
    The mistakes so far. Each label is predicted before it is seen.
online_error_ : float
    mistakes_ / n_rounds_.
"""
_SEED = """
seed_ : int
    The seed in use.
"""
# The streams of `budgetrun.engine.examples`: how to read them, and what is X.
_STREAMS = {
    "breast_cancer": (
        "from sklearn.datasets import load_breast_cancer", "from sklearn.preprocessing import scale",
        "X, y = load_breast_cancer(return_X_y=True)", "scale(X)",
    ),
    "digits": ("from sklearn.datasets import load_digits", "X, y = load_digits(n_class=4, return_X_y=True)", "X / 16"),
    "diabetes": ("from sklearn.datasets import load_diabetes", "X, y = load_diabetes(return_X_y=True)", "X"),
}  # fmt: skip


def _page(title: str, variants: Variants, several: Variants, arguments: dict[str, Any]) -> str:
    """Return a classifier's docstring: its learners' rules, parameters, papers and examples, and what all share."""
    pages = {(v, kind): _sections(learner) for kind in (0, 1) for v, learner in (variants, several)[kind].items()}
    summary = pages[None, 0]["summary"] if None in variants else "A family of learners; choose one with ``variant``."
    lines = [summary, ""]
    of_classes = "tie" in arguments
    if of_classes:
        own = [(f"{v}: " if v else "") + of_one["summary"] for (v, kind), of_one in pages.items() if kind]
        if variants.keys() > several.keys():
            own += [*["Other variants:"][: len(own)], *_ONE_VS_REST]
        lines += ["With more than two classes:", *(f"    {line}" for line in own), ""]
    lines += ["Parameters", "----------"]
    if None not in variants:
        lines.append("variant : {" + ", ".join(f'"{v}"' for v in variants) + "}")
        lines += [f"    {v}: {pages[v, 0]['summary']}" for v in variants]
    lines += _parameters(pages, arguments)
    lines += [line for name, entry in entries(_OPTIONS) if name in arguments for line in entry.splitlines()]
    attributes = [_ATTRIBUTES, _OF_CLASSIFIERS * of_classes, _SEED * ("seed" in arguments)]
    lines += [line for text in ["\n\n", *attributes] for line in text.splitlines()[1:]]
    for name in {"hierarchy", "averaged"} - arguments.keys():
        lines = [line for line in lines if name not in line]
    lines += ["", "References", "----------"]
    for text, owners in _by_text({key: of_one["References"] for key, of_one in pages.items()}):
        lines += ([f"{_owners(owners, pages)}:"] if len(owners) < len(pages) else []) + text.splitlines()
    example = _example(title, variants[arguments.get("variant")], of_classes)
    return "\n".join([*lines, "", "Examples", "--------", *example])


def _sections(learner: type[Any]) -> dict[str, str]:
    """Return the sections of a learner's docstring by their titles, and its summary."""
    found = sections(inspect.getdoc(learner) or "")
    return {"summary": found[""].partition("\n")[0], **found}


def _by_text(texts: dict[Any, str]) -> list[tuple[str, list[Any]]]:
    """Return the different texts, each with its owners."""
    found: dict[str, list[Any]] = {}
    for owner, text in texts.items():
        found.setdefault(text, []).append(owner)
    return list(found.items())


def _owners(owners: list[tuple[str | None, int]], pages: dict[Any, Any]) -> str:
    """Return which variants or numbers of classes these are, among all of the name."""
    of_classes = "two classes", "more than two classes"
    if owners[0][0] is None:
        return of_classes[owners[0][1]]
    named = []
    for v in dict.fromkeys(v for v, _ in owners):
        kinds, known = ([kind for w, kind in found if w == v] for found in (owners, pages))
        named.append(f'"{v}"' if len(kinds) == len(known) else f'"{v}" for {of_classes[kinds[0]]}')
    either = " or ".join(filter(None, (", ".join(named[:-1]), *named[-1:])))
    return f"variant {either}"


def _parameters(pages: dict[Any, dict[str, str]], arguments: dict[str, Any]) -> list[str]:
    """Return the entries of the learners' parameters: first those of all learners, then those of some."""
    described: dict[str, dict[Any, str]] = {}
    for owner, of_one in pages.items():
        for name, entry in entries(of_one.get("Parameters", "")):
            described.setdefault(name, {})[owner] = entry
    lines = []
    for name in sorted(described, key=lambda name: len(described[name]) < len(pages)):
        texts = _by_text({owner: entry.partition("\n")[2] for owner, entry in described[name].items()})
        lines.append(next(iter(described[name].values())).partition("\n")[0])
        for text, owners in texts:
            only = f"    With {_owners(owners, pages)}{':' if len(texts) > 1 else ' only:'}"
            lines += ([only] if len(owners) < len(pages) else []) + [line for line in text.splitlines() if line]
        if name in DEFAULTS and name != "budget" and arguments[name] is not None:
            lines.append(f"    The default, {arguments[name]}, is only a starting point: choose it for your data.")
        if name == "seed":
            lines += _RANDOM_STATE.strip().splitlines()
    return lines


def _example(title: str, learner: type[Any], classifies: bool) -> list[str]:
    """Return the example of a learner, which runs it over a stream of `budgetrun.engine.examples`, as the class's."""
    examples = DocTestParser().get_examples(inspect.getdoc(learner) or "")
    if len(examples) < 2:
        return ["None."]
    example = examples[1]
    call = cast(Any, ast.parse(example.source).body[0]).value.value
    *before, X = _STREAMS[call.func.id]
    given = ", ".join(map(ast.unparse, (*call.args[0].keywords, *call.keywords)))
    shown, result = ("mistakes_", example.want.strip()) if classifies else ("predict(X).shape", "(442,)")
    lines = [f"from budgetrun import {title}", *before, f"{title}({given}).fit({X}, y).{shown}"]
    return [*(f">>> {line}" for line in lines), result]


# -- all of them -------------------------------------------------------------------------------------------------------

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
__all__ = ["BudgetClassifier", "BudgetEstimator", "BudgetRegressor", "Fleet", "load", *CLASSIFIERS, *REGRESSORS]
