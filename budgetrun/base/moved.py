"""Modules and estimators of version 0.2.0 that have other names since: saved models and pickles name them."""

import importlib
import sys
import warnings
from pathlib import Path
from types import ModuleType
from typing import Any

# Old names without the package's own, in the order in which they are tried.
MOVED = {
    "kernels.loops": "kernels.compiling.loops",
    "kernels.rows": "kernels.kinds",
    **{f"learners.{name}": f"engine.hypotheses.{name}" for name in ("frames", "points", "inverse", "merging")},
    "learners.absorbing": "engine.hypotheses.absorbing",
    "learners.pairs": "engine.hypotheses.pairs",
    "engine.hypotheses.sketched": "engine.hypotheses.nystroem",
    "learners.calibration": "play.metrics",
    "data.running": "data.scaling",
    "runner.metrics": "play.metrics",
    "runner.targets": "play.metrics",
    "live.curve": "play.session",
    "live.play": "play.session",
    "live": "runner.live",
    "selection.playing": "play.selection.base",
    "selection": "play.selection",
    "compiling": "kernels.compiling",
    "errors": "base.errors",
    "params.expressions": "base.params",
    "params": "base.params",
}

# Classes that are now elsewhere than the rest of their module.
CLASSES = {"live.play:Player": "play.session:Session", "live.scaling:ByRow": "runner.live.kept:ByRow"}


def module_now(module: str) -> str:
    """Return the full name of the module that now holds what a module of 0.2.0 held."""
    inside = module.removeprefix("budgetrun.")
    for old, now in MOVED.items():
        if inside == old or inside.startswith(f"{old}."):
            return f"budgetrun.{now}{inside.removeprefix(old)}"
    return module


def class_now(title: str) -> tuple[str, str]:
    """Return the module and the name of what was the class ``module:name`` in 0.2.0."""
    moved = CLASSES.get(title.removeprefix("budgetrun."))
    module, _, name = (f"budgetrun.{moved}" if moved else title).partition(":")
    return module_now(module), name


class _Moved(ModuleType):
    """Stands where a module was, and finds what is in it now."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(importlib.import_module(module_now(self.__name__)), name)


def register() -> None:
    """Let pickles find the modules of 0.2.0; those that hold their content now are not imported yet."""
    package = Path(__file__).parents[1]
    for old, now in MOVED.items():
        inside = (f".{path.stem}" for path in package.joinpath(*now.split(".")).glob("[!_]*.py"))
        for name in (f"budgetrun.{old}{module}" for module in ("", *inside)):
            sys.modules.setdefault(name, _Moved(name))


# Acronyms are in capitals; in 0.2.0 these were not.
_OLD_NAMES: tuple[str, ...] = ("Alma", "AomdOgs", "AomdOgsRegressor", "Avm", "Bpa", "Bsgd", "Cks2003", "ConKons")
_OLD_NAMES += ("Norma", "NormaRegressor", "ProjectedAlma", "ProsNKons")


def old_names(estimators: dict[str, Any]) -> dict[str, Any]:
    """Return the estimators, given by name, that 0.2.0 wrote differently, by these names."""
    now = {name.lower(): made for name, made in estimators.items()}
    return {old: now[old.lower()] for old in _OLD_NAMES}


def warn_of_old_name(old: str, now: type[Any]) -> None:
    """Warn that an estimator was asked for by its old name."""
    warnings.warn(f"use {now.__name__}; the old name {old} will be removed in 0.4", DeprecationWarning, stacklevel=3)
