"""The learners, one module per algorithm, found by file."""

from functools import cache
from typing import Any

from budgetrun.base import moved
from budgetrun.base.params import Task
from budgetrun.base.registry import classes, parameters
from budgetrun.learners.base import BinaryLearner, Learner, MulticlassLearner, RegressionLearner
from budgetrun.learners.one_vs_rest import one_vs_rest

__all__ = [
    "BinaryLearner",
    "Learner",
    "MulticlassLearner",
    "RegressionLearner",
    "Task",
    "find",
    "for_task",
    "parameters",
    "registry",
]

# Pickles of version 0.2.0 name a learner before anything that has moved.
moved.register()
# Their bases, by task.
BASES: dict[str, type[Learner]] = {base.task: base for base in (BinaryLearner, MulticlassLearner, RegressionLearner)}


@cache
def registry(task: Task = "binary") -> dict[str, dict[str | None, type[Any]]]:
    """Return the learners of a task as ``{name: {variant: class}}``, with the variant None if a name has only one."""
    found: dict[str, dict[str | None, type[Any]]] = {}
    for learner in classes(__name__, BASES[task]):
        found.setdefault(learner.name, {})[learner.variant] = learner
    return dict(sorted(found.items()))


def for_task(task: Task) -> dict[str, dict[str | None, type[Any]]]:
    """Return the learners that can be used for a task, as `registry` does.

    With several classes, every binary learner is one-vs-rest: under a variant of its own (``one_vs_rest``, or
    ``VARIANT_one_vs_rest``), and also under the binary one's, unless that is a multiclass learner's.
    """
    if task != "multiclass":
        return registry(task)
    found: dict[str, dict[str | None, type[Any]]] = {}
    for name, variants in registry().items():
        made: dict[str | None, Any] = {
            variant: one_vs_rest(learner)  # type: ignore[arg-type]  # classes are hashable
            for variant, learner in variants.items()
        }
        found[name] = {**made, **{learner.variant: learner for learner in made.values()}}
    for name, variants in registry(task).items():
        found[name] = found.get(name, {}) | variants
    return dict(sorted(found.items()))


def find(name: str, variant: str | None = None, task: Task = "binary") -> type[Any]:
    """Return the learner of that name and variant; without a variant, the default variant.

    Raises
    ------
    KeyError
        No learner of `for_task` has that name or that variant.
    """
    variants = for_task(task)[name]
    if variant is None and None not in variants:
        variant = next(key for key, learner in variants.items() if learner.__dict__.get("default_variant"))
    return variants[variant]
