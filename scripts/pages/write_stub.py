"""Write budgetrun/__init__.pyi: what users import, for editors and mypy, generated from the estimators.

Usage: python scripts/pages/write_stub.py
"""

from __future__ import annotations

import argparse
import inspect
import textwrap
import types
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from budgetrun import kernels
from budgetrun.base.registry import parameters
from budgetrun.estimators import CLASSIFIERS, MADE

STUB = Path(__file__).resolve().parents[2] / "budgetrun" / "__init__.pyi"
HEAD = '''"""Online kernel learning under a memory budget; written by scripts/pages/write_stub.py."""
# fmt: off

from typing import Literal, TypedDict, Unpack

from numpy.random import RandomState

from budgetrun.estimators import BudgetClassifier, BudgetRegressor
from budgetrun.estimators import load as load
from budgetrun.estimators.fleet import Fleet as Fleet
from budgetrun.estimators.selecting import SelectingClassifier as SelectingClassifier
from budgetrun.runner.api import load_results as load_results
from budgetrun.runner.api import sweep as sweep

__version__: str
__all__: list[str]
'''
# The longest line, and a space at which none ends.
WIDTH, GLUE = 120, "\0"
# The arguments that estimators add to those of learners and kernels.
SHARED: dict[str, Any] = {
    "random_state": "int | RandomState | None",
    "kernel": Literal[tuple(kernels.registry())],
    "gamma": float | Literal["auto", "scale"] | None,
    "sigma": float | None,
    "degree": int,
    "coef0": float,
    "missing": Literal["fill", "refuse"],
    "products": Literal["blas"] | None,
    "n_tasks": int | None,
    "b": float,
    "base": Literal["gaussian", "polynomial", "linear"],
    "tie": Literal["mistake", "positive"],
    "dtype": Literal["float64", "float32"],
    "averaged": bool,
    "probabilities": bool,
}


def written(annotation: Any) -> list[str]:
    """Return the alternatives of an annotation as they stand in a stub, without what is only for checks."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if isinstance(annotation, str):
        return annotation.split(" | ")
    if origin is Annotated:
        return written(arguments[0])
    if origin in (Union, types.UnionType):
        return [text for one in arguments for text in written(one)]
    if origin is Literal:
        return [f"Literal[{', '.join(map(quoted, arguments))}]"]
    if origin is tuple:
        return [f"tuple[{', '.join('...' if one is ... else ' | '.join(written(one)) for one in arguments)}]"]
    if annotation in (None, type(None)):
        return ["None"]
    return [annotation.__name__ if annotation in (bool, int, float, str) else f"unknown {annotation}"]


def quoted(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)


def type_of(name: str, default: Any, learners: list[type[Any]]) -> str:
    """Return the type of an argument, which learners of one name may declare differently."""
    declared = [parameters(one)[name].annotation for one in learners if name in parameters(one)]
    found = [text for one in declared or [SHARED[name]] for text in written(one)]
    found += ["None"] * (default is None)
    return " | ".join(sorted(dict.fromkeys(found), key="None".__eq__))


def arguments_of(made: type[Any]) -> dict[str, tuple[str, str]]:
    """Return the type and the default of each argument of an estimator, as they are written."""
    learners = [*made._learners.values(), *(one for one in made._several.values() if one is not None)]
    found = {}
    for key, parameter in inspect.signature(made).parameters.items():
        variants = f"Literal[{', '.join(map(quoted, made._learners))}]"
        kind = variants if key == "variant" else type_of(key, parameter.default, learners)
        found[key] = (kind, quoted(parameter.default))
    return found


def settings_of(name: str, base: str, arguments: dict[str, tuple[str, str]]) -> str:
    """Return the declaration of what many estimators take; a TypedDict holds no defaults, so comments do."""
    lines = [f"    {key}: {kind}  # default: {default}\n" for key, (kind, default) in arguments.items()]
    return f"class {name}({base}, total=False):\n{''.join(lines)}"


def class_of(name: str, arguments: dict[str, tuple[str, str]], base: str, settings: str) -> str:
    """Return the declaration of an estimator by the arguments that are its own."""
    own = [f"{key}: {kind} = {default}" for key, (kind, default) in arguments.items()]
    given = ["self", *["*"][: len(own)], *own, f"**settings: Unpack[{settings}]) -> None: ..."]
    summary = inspect.getdoc(MADE[name]).partition("\n")[0]  # type: ignore[union-attr]
    # Lines end after arguments.
    line = f"    def __init__({', '.join(one.replace(' ', GLUE) for one in given)}"
    signature = textwrap.fill(line, WIDTH, subsequent_indent=8 * " ").replace(GLUE, " ")
    return f'class {name}({base}):\n    """{summary}"""\n{signature}\n'


def stub() -> str:
    """Return the stub: what every estimator takes, what every classifier takes besides, and each one's own."""
    found = {name: arguments_of(made) for name, made in sorted(MADE.items())}
    everywhere = set.intersection(*(set(one.items()) for one in found.values()))
    besides = set.intersection(*(set(found[name].items()) for name in CLASSIFIERS)) - everywhere
    example = found["Forgetron"].items()  # in the order of a signature
    parts = [
        HEAD,
        settings_of("_Settings", "TypedDict", {key: one for key, one in example if (key, one) in everywhere}),
        settings_of("_ClassifierSettings", "_Settings", {key: one for key, one in example if (key, one) in besides}),
    ]
    for name, arguments in found.items():
        classifies = name in CLASSIFIERS
        shared = everywhere | besides if classifies else everywhere
        own = dict(item for item in arguments.items() if item not in shared)
        ends = ("BudgetClassifier", "_ClassifierSettings") if classifies else ("BudgetRegressor", "_Settings")
        parts.append(class_of(name, own, *ends))
    return "\n".join(parts)


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    STUB.write_text(stub(), encoding="utf-8")
