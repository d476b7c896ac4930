"""The arguments of classifiers: their names and defaults, and the kernel and the learner that values stand for."""

import inspect
import re
from collections.abc import Collection, Mapping
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp

from budgetrun import kernels
from budgetrun.base.params import STARTING, Seed
from budgetrun.base.problem import problem_of, problem_with
from budgetrun.base.registry import parameters
from budgetrun.config.problems import ValueType
from budgetrun.kernels.width import median_gamma
from budgetrun.learners import Learner
from budgetrun.learners.hierarchy import parse

# Learners by variant; None if the name has only one.
Variants: TypeAlias = dict[str | None, type[Any]]

_OF_ALL = {"kernel": "gaussian", "gamma": "auto", "sigma": None, "degree": 3, "coef0": 1.0}
_OF_ALL |= {"products": None, "n_tasks": None, "b": 1.0, "base": "gaussian", "tie": "mistake", "dtype": "float64"}
_OF_ALL |= {"missing": "fill"}
# Defaults of parameters that learners require, because every class can be constructed without arguments.
DEFAULTS = {"budget": 100, **STARTING}
# The allowed values of the arguments that all classifiers share.
_CHOICES: dict[str, tuple[Any, ...]] = {"tie": ("mistake", "positive"), "dtype": ("float64", "float32")}
_CHOICES |= {"averaged": (False, True), "probabilities": (False, True), "products": (None, "blas")}
_CHOICES |= {"missing": ("fill", "refuse")}


def class_name(name: str, variants: Variants) -> str:
    """Return the name of the class for the learners of a name: of variants, what their class names have in common."""
    one = next(iter(variants.values()))
    if None in variants:
        return str(one.__name__)
    start = one.__name__.lower().index(spelled := name.replace("_", ""))
    return one.__name__[start : start + len(spelled)] + ("" if problem_of(one.task).of_classes else "Regressor")


def arguments_of(variants: Variants, several: Variants) -> dict[str, Any]:
    """Return the arguments of a classifier with their defaults."""
    among = [*variants.values(), *several.values()]
    arguments: dict[str, Any] = {}
    if None not in variants:
        arguments["variant"] = next(v for v, learner in variants.items() if learner.default_variant)
    for name, default in _parameters(among).items():
        arguments[name] = default
        if name == "seed":
            arguments["random_state"] = None
    of_classes = problem_of(among[0].task).of_classes
    arguments |= {name: default for name, default in _OF_ALL.items() if name != "tie" or of_classes}
    if all(learner.averages() for learner in among):
        arguments["averaged"] = False
    if of_classes:
        arguments["probabilities"] = False
    return arguments


def _parameters(among: list[type[Learner]]) -> dict[str, Any]:
    """Return the parameters of the learners of one name with their defaults: None if the learners' defaults differ."""
    found = [parameters(learner) for learner in among]
    defaults: dict[str, Any] = {}
    for name in dict.fromkeys(name for of_one in found for name in of_one):
        own = [of_one[name].default if name in of_one else None for of_one in found]
        missing = inspect.Parameter.empty in own
        default = own[0] if not missing and all(d == own[0] for d in own) else None
        defaults[name] = DEFAULTS.get(name) if missing else default
    return defaults


def group_options(
    given: dict[str, Any], variants: Variants, several: Variants, classes: np.ndarray
) -> tuple[kernels.Kernel, Any, dict[str, Any]]:
    """Return the kernel, the learner and the options of the group that these arguments of a classifier stand for.

    Raises ValueError: an argument is wrong; the sentence names it.
    """
    given = {name: value.item() if isinstance(value, np.generic) else value for name, value in given.items()}
    problem = problem_with(len(classes))
    are_several = problem.n_classes(len(classes)) is not None
    check_choices(given)
    tie = given.get("tie", "mistake")
    if are_several and tie != "mistake":
        raise ValueError(f"tie must be mistake with more than two classes, got {tie!r}")
    known, variant = several if are_several else variants, given.get("variant")
    check_choice("variant", variant, known)
    chosen = _chosen(given, known[variant], [*variants.values(), *several.values()])
    if chosen.get("hierarchy") is not None:
        chosen["hierarchy"] = _by_position(chosen["hierarchy"], classes)
    options = {"n_classes": problem.n_classes(len(classes)), "tie": tie, "dtype": given["dtype"]}
    return kernel_of(given), known[variant](**chosen), options


def finds_gamma(given: dict[str, Any]) -> bool:
    """Return whether gamma is found from the first rows, for these arguments of a classifier."""
    of_kernel = {"auto": ("gaussian",), "scale": ("gaussian", "polynomial")}
    gamma = given.get("gamma")
    return isinstance(gamma, str) and given.get("sigma") is None and given["kernel"] in of_kernel.get(gamma, ())


def found_gamma(how: str, X: Any) -> float:
    """Return the gamma that ``auto`` or ``scale`` stands for on rows of shape (n, d); 1 if it has no finite value.

    ``auto`` is the median heuristic of `budgetrun run`, ``scale`` is that of scikit-learn's SVC: 1 / (d Var(X)).
    """
    if how == "scale":
        mean = X.mean()
        variance = float(X.multiply(X).mean() - mean**2 if sp.issparse(X) else X.var())
        gamma = 1 / (X.shape[1] * variance) if variance > 0 else 1.0
        return gamma if 1e-100 <= gamma <= 1e100 else 1.0
    try:
        return median_gamma(X)
    except ValueError:
        return 1.0


def check_choices(given: dict[str, Any]) -> None:
    """Raise a ValueError if one of the arguments that classifiers share has a value that is not allowed."""
    for name, allowed in _CHOICES.items():
        if name in given:
            check_choice(name, given[name], allowed)


def check_choice(name: str, value: Any, allowed: Collection[Any]) -> None:
    """Raise a ValueError if the value of an argument is none of those that are allowed."""
    if value not in list(allowed):
        raise ValueError(f"{name} must be one of {', '.join(map(str, allowed))}, got {value!r}")


def _chosen(given: dict[str, Any], learner: type[Learner], among: list[type[Learner]]) -> dict[str, Any]:
    """Return the given parameters that the learner has, checked; None means the learner's default."""
    wanted, defaults = parameters(learner), _parameters(among)
    # Models that were saved before there was some parameter do not give it.
    chosen, given = {}, defaults | given
    for name, default in defaults.items():
        if given[name] is None:
            continue
        if name not in wanted:
            if given[name] == default:
                continue
            kind = learner.name if learner.variant is None else f"{learner.name}({learner.variant})"
            of = "two classes" if problem_of(learner.task).of_signs else "more than two classes"
            raise ValueError(f"{name} is not a parameter of {kind} for {of}: leave it out, got {given[name]!r}")
        chosen[name] = given[name]
    if given.get("random_state") is not None:
        chosen["seed"] = _seed(given["random_state"], given["seed"], wanted["seed"].default)
    return _checked(chosen, wanted)


def _seed(random_state: Any, seed: Any, default: Any) -> int:
    if seed not in (None, default):
        raise ValueError(f"random_state is another name for seed: give one of them, got seed={seed!r} as well")
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    if type(random_state) is not int:
        wanted = "must be None, an integer >= 0 or a numpy.random.RandomState"
        raise ValueError(f"random_state {wanted}, got {random_state!r}")
    check_value("random_state", random_state, Seed)
    return random_state


def kernel_of(given: dict[str, Any]) -> kernels.Kernel:
    """Return the kernel that these arguments of a classifier stand for; a ValueError names one that is wrong."""
    known = kernels.registry()
    check_choice("kernel", given["kernel"], known)
    kernel = known[given["kernel"]]
    wanted = kernel.parameters_with(given)
    if given["gamma"] == "auto":
        given = given | {"gamma": None}
    chosen = _checked({name: given[name] for name in wanted if given[name] is not None}, wanted)
    if given["products"] is not None and "products" not in wanted:
        sentence = f"products is not a parameter of the {kernel.name} kernel: leave it out"
        raise ValueError(f"{sentence}, got {given['products']!r}")
    if "sigma" in wanted and not {"gamma", "sigma"} & set(chosen):
        chosen["gamma"] = 1.0
    return kernel(**chosen)


def check_value(name: str, value: Any, annotation: Any) -> None:
    """Raise a ValueError that begins with the name if the annotation does not allow the value."""
    try:
        problems = list(ValueType(annotation).check(value)[1].values())
    except TypeError:
        problems = [f"must be {ValueType(annotation).wanted}, got {value!r}"]
    if problems:
        raise ValueError(f"{name} {problems[0]}")


def _checked(chosen: dict[str, Any], wanted: Mapping[str, inspect.Parameter]) -> dict[str, Any]:
    """Return the chosen values, if the wanted parameters allow them and each without a default is there."""
    for name, value in chosen.items():
        kind = ValueType(wanted[name].annotation)
        # A whole number where only integers go.
        if isinstance(value, float) and value.is_integer() and kind.takes_formulas and kind.is_whole:
            chosen[name] = value = int(value)
        check_value(name, value, wanted[name].annotation)
    for name, parameter in wanted.items():
        if name not in chosen and parameter.default is parameter.empty:
            raise ValueError(f"{name} is required: it must be {ValueType(parameter.annotation).wanted}, got None")
    return chosen


def _by_position(hierarchy: str, classes: np.ndarray) -> str:
    """Return the hierarchy with each label replaced by its position among the classes."""
    labels = (int(label) if isinstance(label, float) and label.is_integer() else label for label in classes.tolist())
    position = {str(label): i for i, label in enumerate(labels)}
    named = [label for label, _ in parse(hierarchy)]
    for label in named:
        if label not in position:
            raise ValueError(f"hierarchy has the label {label}, which is not among the classes {classes.tolist()}")
    for label in position:
        if label not in named:
            raise ValueError(f"hierarchy lacks the class {label}: it must contain each of {classes.tolist()}")
    return re.sub(r"[^\s()]+", lambda found: str(position[found[0]]), hierarchy)
