"""What configs know of algorithms: the kinds of runs that plug-ins provide, parameters, and formulas in T for these."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import Any, ClassVar

from budgetrun.base.errors import InputError
from budgetrun.base.params import Formula, Task
from budgetrun.base.registry import defined_in, parameters, plugin_modules
from budgetrun.config.problems import Checker, ValueType
from budgetrun.config.schema import RunSpec, plain


class RunKind(ABC):
    """Runs that see all examples at once; each has its own job. All algorithms of a config are of one kind."""

    name: ClassVar[str]  # of an algorithm of this kind in messages; manifests have a key of this name
    quantities: ClassVar[tuple[str, ...]]  # of its runs, which tables can show; the first is the default
    holds: ClassVar[str] = "all examples"  # what an algorithm keeps in memory
    of_all_tasks: ClassVar[bool] = False  # a run plays all tasks of a stream together

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

    def bounds(self, rows: list[dict[str, Any]], stream: Any, kernel: Any, config: Any) -> Iterator[Any] | None:
        """Yield verdicts of mistake bounds on runs on a stream, each with its row; None if those of learners apply."""
        return None

    @abstractmethod
    def memory(self, spec: Any, info: Any) -> float:
        """Return the bytes that a run takes on a stream, apart from the data as read."""

    @abstractmethod
    def seconds(self, spec: Any, info: Any) -> float:
        """Return about how long a run takes on a stream, on one core."""


@cache
def registry() -> dict[str, RunKind]:
    """Return the kinds that plug-ins provide, by name."""
    homes = plugin_modules("kind")
    found = [kind for home in homes for kind in defined_in(home, RunKind)]  # type: ignore[type-abstract]
    return {kind.name: kind() for kind in found}


def find(name: str) -> RunKind:
    """Return the kind of this name; an InputError says that no plug-in provides it."""
    if name not in registry():
        raise InputError(f"no plug-in of this installation runs a {name}")
    return registry()[name]


def kind_of(algorithm: Any) -> RunKind | None:
    """Return the kind that has an algorithm of this name; None for learners, and for anything but a name."""
    known = registry().values() if isinstance(algorithm, str) else ()
    return next((kind for kind in known if algorithm in kind.algorithms()), None)


@cache
def programs(task: Task = "binary") -> dict[str, type[Any]]:
    """Return the learners of a task that plug-ins provide, by name; all are of two classes."""
    homes = plugin_modules("learners") if task == "binary" else []
    return {learner.name: learner for home in homes for learner in home.LEARNERS}


def learners_for(task: Task) -> dict[str, dict[str | None, type[Any]]]:
    """Return the learners of a task, those of plug-ins included, as `budgetrun.learners.for_task` does."""
    from budgetrun import learners

    return learners.for_task(task) | {name: {None: learner} for name, learner in programs(task).items()}


@cache
def class_of(name: str, variant: str | None, task: Task) -> Any:
    """Return the class of an algorithm, a learner's for this task; a KeyError if there is none."""
    from budgetrun import learners

    if kind := kind_of(name):
        return kind.algorithms()[name]
    return programs(task).get(name) or learners.find(name, variant, task)


@cache
def parameter_types(cls: type) -> dict[str, ValueType]:
    """Return the parameters of an algorithm or kernel that a config may give: all except the seed."""
    known = parameters(cls).items()
    return {name: ValueType(p.annotation, p.default is p.empty) for name, p in known if name != "seed"}


# -- parameters typed as formulas in T, the number of rounds: checked with the config, computed once T is known --------

_OF_FORMULAS = ("T",)


def is_formula(value: Any, wanted: ValueType) -> bool:
    """Return True for a formula: a text where a number is wanted, but not a number in quotes."""
    return isinstance(value, str) and wanted.takes_formulas and isinstance(plain(value), str)


def wrong_formula(text: str, wanted: ValueType) -> str:
    """Return what is wrong with a text for which `is_formula` is true; empty if nothing is."""
    try:
        formula = Formula(text, _OF_FORMULAS)
    except ValueError as error:
        return f"must be {wanted.wanted}, or a formula in T: {error}"
    return "" if formula.used else f"must be {wanted.wanted}, or a formula in T: {text!r} has no T"


def formulas(given: Mapping[str, Any], cls: type) -> dict[str, str]:
    """Return the parameters of an algorithm that are typed as formulas."""
    types = parameter_types(cls)
    return {name: value for name, value in given.items() if is_formula(value, types[name])}


def resolve(spec: RunSpec, cls: type, n_rounds: int) -> RunSpec:
    """Return a run's spec with numbers in place of formulas, which move to `RunSpec.typed`.

    Raises ValueError: the algorithm does not take a number, or not together with the others; a line per problem.
    """
    typed = formulas(spec.parameters, cls)
    if not typed:
        return spec
    numbers: dict[str, Any] = {}
    problems = []
    for name, text in typed.items():
        numbers[name], wrong = _number(text, parameter_types(cls)[name], n_rounds)
        problems += [f"{name}: {text!r} with T = {n_rounds:,}{wrong}"] if wrong else []
    if problems:
        raise ValueError("\n".join(problems))
    resolved = replace(spec, parameters=spec.parameters | numbers, typed=spec.typed | typed)
    if spec.budget_fraction is None and spec.learner_memory is None:
        # Only the class itself knows which parameters go together.
        try:
            resolved.build(cls)
        except ValueError as error:
            values = ", ".join(f"{name} = {text} = {numbers[name]:.6g}" for name, text in typed.items())
            raise ValueError(f"with T = {n_rounds:,}, {values}: {error}") from None
    return resolved


def _number(text: str, wanted: ValueType, n_rounds: int) -> tuple[Any, str]:
    """Return the value of a formula and what is wrong with it."""
    try:
        value = Formula(text, _OF_FORMULAS)(T=float(n_rounds))
    except (ArithmeticError, ValueError, TypeError):
        value = 1j  # type: ignore[assignment]  # as of a root that the functions refuse with a TypeError
    if isinstance(value, complex):
        return None, " is not a real number"
    whole = wanted.is_whole and value.is_integer()
    good, problems = wanted.check(int(value) if whole else value)
    advice = f"; write round({text})" if wanted.is_whole and not whole else ""
    return good, "".join(f": {wrong}{advice}" for wrong in problems.values())
