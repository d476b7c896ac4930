"""Budgets in bytes: the largest budget with which a learner keeps at most so much."""

import math
from bisect import bisect_right
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from typing import Any

from budgetrun.base.limits import sized
from budgetrun.base.problem import problem_of
from budgetrun.config.kinds import parameter_types
from budgetrun.config.schema import RunSpec
from budgetrun.data import StreamInfo
from budgetrun.engine.group import trial
from budgetrun.engine.hypotheses.base import bytes_kept
from budgetrun.kernels.kinds import row_bytes

# The least budget that goes with the other parameters is below this.
_MOST_TRIED = 100


class TooLittleMemory(ValueError):
    """No budget of a learner fits its ``learner_memory``."""


def with_budget(spec: RunSpec, algorithm: Any, info: StreamInfo) -> RunSpec:
    """Return a run's spec with the largest budget whose `bytes_kept` its ``learner_memory`` holds.

    It is at most the number of rounds. A spec without ``learner_memory`` is returned as it is.

    Raises TooLittleMemory: no budget fits; or ValueError: the learner does not take its parameters together with any.
    """
    if spec.learner_memory is None:
        return spec
    assert spec.kernel is not None
    kernel, shape = spec.kernel.build(), problem_of(spec.task).scores_each(info.n_classes)
    row = row_bytes(info.held_as, info.n_features, info.values_per_example)
    taken = parameter_types(algorithm)["budget"]

    def goes(budget: int) -> bool:
        with suppress(ValueError):
            return not taken.check(budget)[1] and bool(replace(spec, budget=budget).build(algorithm))
        return False

    found = list(islice(filter(goes, range(1, _MOST_TRIED)), 2))
    if len(found) < 2:
        # The learner says which of its parameters do not go together.
        replace(spec, budget=_MOST_TRIED).build(algorithm)
    smallest, following = found

    def budget_at(i: int) -> int:
        return smallest + i * (following - smallest)

    def kept(i: int) -> float:
        built = replace(spec, budget=budget_at(i)).build(algorithm)
        return bytes_kept(*trial(built, kernel, *shape), budget_at(i), row, info.n_features)

    if (least := kept(0)) > spec.learner_memory:
        raise TooLittleMemory(
            f"learner_memory: {sized(spec.learner_memory)} is too little: with a budget of {smallest}, the least, "
            f"the learner keeps more; give at least {math.ceil(least / 100) / 10:g}KB"
        )
    most = max(0, (info.n_examples - smallest) // (following - smallest))
    largest = bisect_right(range(most + 1), float(spec.learner_memory), lo=1, key=kept) - 1
    return replace(spec, budget=budget_at(largest))
