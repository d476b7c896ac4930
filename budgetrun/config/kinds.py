"""Kinds of runs besides those of online learners. Plug-ins provide them; all other code knows them by `RunKind`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import cache
from typing import Any, ClassVar

from budgetrun.base.errors import InputError
from budgetrun.base.registry import contributed
from budgetrun.config.problems import Checker


class RunKind(ABC):
    """Runs that see all examples at once; each has its own job. All algorithms of a config are of one kind.

    Attributes
    ----------
    name : str
        Name of an algorithm of this kind in messages; manifests have a key of this name.
    quantities : tuple of str
        The quantities of its runs that tables can show; the first is the default.
    holds : str
        Description of what an algorithm keeps in memory.
    """

    name: ClassVar[str]
    quantities: ClassVar[tuple[str, ...]]
    holds: ClassVar[str] = "all examples"

    @abstractmethod
    def algorithms(self) -> Mapping[str, type[Any]]:
        """Return the classes of its algorithms, by name in configs."""

    @abstractmethod
    def cost(self, algorithm: type[Any]) -> str:
        """Return a sentence on the time that an algorithm takes."""

    @abstractmethod
    def check(self, checker: Checker, given: Mapping[str, Any], datasets: list[Any]) -> None:
        """Add the problems of a config's values and datasets (None for a wrong one) that do not go with this kind."""

    @abstractmethod
    def misfit(self, algorithm: type[Any], dataset: Any) -> str:
        """Return why an algorithm cannot run on a dataset; empty if it can."""

    @abstractmethod
    def measure(self, job: Any, settings: Any) -> Any:
        """Run a job, as `budgetrun.runner.job.measure` does for learners."""

    @abstractmethod
    def memory(self, spec: Any, info: Any) -> float:
        """Return the bytes that a run takes on a stream, apart from the data as read."""

    @abstractmethod
    def seconds(self, spec: Any, info: Any) -> float:
        """Return about how long a run takes on a stream, on one core."""


@cache
def registry() -> dict[str, RunKind]:
    """Return the kinds that plug-ins provide, by name."""
    found = contributed("kind", RunKind)  # type: ignore[type-abstract]  # the base is never made
    return {kind.name: kind() for kind in found}


def find(name: str) -> RunKind:
    """Return the kind of this name.

    Raises
    ------
    InputError
        No plug-in provides it.
    """
    if name not in registry():
        raise InputError(f"no plug-in of this installation runs a {name}")
    return registry()[name]


def kind_of(algorithm: Any) -> RunKind | None:
    """Return the kind that has an algorithm of this name; None for learners, and for anything but a name."""
    known = registry().values() if isinstance(algorithm, str) else ()
    return next((kind for kind in known if algorithm in kind.algorithms()), None)
