"""The base of learners that are programs of others."""

import importlib
import inspect
import math
from abc import abstractmethod
from typing import Any, ClassVar

from budgetrun.base.errors import InputError
from budgetrun.engine.hypotheses.outside import Outside, Program
from budgetrun.engine.pool import Pool
from budgetrun.learners.base import BinaryLearner

# Log-odds of probabilities of 0 and 1.
_LARGEST = 30.0


class ProgramLearner(BinaryLearner):
    """A learner of two classes that is a program of others: it sees what ours see, a round at a time.

    It is not held to any number of bytes: those of its model are measured after the last round.
    """

    form = Outside
    family = "program"
    margin = math.inf
    compiled = False
    holds = 0.0
    # The packages whose versions results record.
    packages: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def begin(self) -> Program:
        """Return the program before its first round."""

    def start(self, pool: Pool) -> Outside:
        return Outside(pool, self.begin)

    def update(self, f: Outside, y: int, score: float) -> None:
        f.learn(y)


def package(name: str, install: str) -> Any:
    """Import a package that is optional; an InputError if it is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError:
        raise InputError(f"{name} is not installed; type: pip install {install}") from None


def model_of(package_name: str, path: str, install: str, **seed: int) -> Any:
    """Return a model of a package by the path of its class, ``tree.HoeffdingTreeClassifier`` say.

    ``seed`` is left out if the class does not take it. An InputError says that the package or the class is missing.
    """
    module, _, name = path.rpartition(".")
    package(package_name, install)
    try:
        made = getattr(importlib.import_module(f"{package_name}.{module}"), name)
    except (ImportError, AttributeError, ValueError):
        raise InputError(f"model: {package_name} has no {path!r}; give a path such as linear_model.NAME") from None
    return made(**seed if seed.keys() <= inspect.signature(made).parameters.keys() else {})


def log_odds(p: float) -> float:
    """Return log(p / (1 - p)), at most 30 and at least -30."""
    if p <= 0 or p >= 1:
        return math.copysign(_LARGEST, p - 0.5)
    return min(_LARGEST, max(-_LARGEST, math.log(p) - math.log1p(-p)))
