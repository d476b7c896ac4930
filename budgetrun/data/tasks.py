"""From labels to tasks: which labels of a dataset become +1 and which -1, or the codes of several classes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from budgetrun.base.errors import InputError
from budgetrun.data.cards import Label
from budgetrun.data.text import clipped

MAX_SPLIT_LABELS = 12  # 462 splits; 14 labels would give 1,716
MAX_CLASSES = 1000


def task_signs(
    classes: Sequence[Label], task: str, positive: Any, default_positive: Sequence[Label] | None, where: str
) -> dict[str, NDArray[Any]]:
    """Return the sign of every label in each task, or its code, by the names of the tasks.

    ``binary``: one task, ``-``; the labels that are ``positive``, by default the card's choice, else the larger of two
    labels, become +1, all others -1 (int8). ``equal_splits``: one task for every way to divide the labels into two
    halves, named like ``01234|56789``, in lexicographic order; the half with the first label comes first and is +1.
    ``multiclass``: one task, ``-``, in which each of 2 to `MAX_CLASSES` labels is its own class, 0 to k - 1 (int16).
    ``regression``: one task, ``-``, in which labels are numbers (float64).

    Parameters
    ----------
    classes : sequence of labels, shape (k,)
        The labels found in the data, ascending.
    task : 'binary', 'equal_splits', 'multiclass' or 'regression'
    positive : label, list of labels or None
    default_positive : sequence of labels or None
    where : str
        The dataset, for messages.

    Raises
    ------
    InputError
        The labels or ``positive`` do not fit the task.
    """
    if task != "binary":
        if positive is not None:
            raise InputError(f"{where}: 'positive' belongs to 'task: binary'; remove it or the 'task: {task}'")
        return {"equal_splits": _equal_splits, "multiclass": _codes, "regression": _numbers}[task](classes, where)
    chosen = default_positive if positive is None else positive
    if chosen is not None:
        return {"-": _chosen(classes, chosen if isinstance(chosen, list | tuple) else [chosen], where)}
    if len(classes) != 2:
        splits = ", or use 'task: equal_splits'" if len(classes) % 2 == 0 and len(classes) else ""
        advice = (
            f"name those that become +1, e.g. 'positive: {listed(classes[-1:])}'{splits}"
            if len(classes) > 1
            else "nothing can be learned from a single label"
        )
        raise InputError(
            f"{where}: 'task: binary' needs exactly two labels, found {len(classes)}: {listed(classes)}; {advice}"
        )
    return {"-": np.array([-1, 1], dtype=np.int8)}


def listed(labels: Sequence[Label]) -> str:
    """Return labels for a message, at most 20 of them."""
    shown = " ".join(clipped(str(label), 20) for label in labels[:20])
    return shown + (" ..." if len(labels) > 20 else "")


def _chosen(classes: Sequence[Label], positive: Sequence[Any], where: str) -> NDArray[np.int8]:
    signs = np.full(len(classes), -1, dtype=np.int8)
    for label in positive:
        matches = [k for k, known in enumerate(classes) if _same(label, known)]
        if not matches:
            raise InputError(f"{where}: positive: no example is labelled {label!r}; the labels are: {listed(classes)}")
        signs[matches] = 1
    if (signs == 1).all():
        raise InputError(f"{where}: positive: leaves no label for -1; the labels are: {listed(classes)}")
    return signs


def _same(label: Any, known: Label) -> bool:
    if isinstance(known, str):
        return str(label).strip() == known
    try:
        return float(label) == known
    except (TypeError, ValueError):
        return False


def _codes(classes: Sequence[Label], where: str) -> dict[str, NDArray[Any]]:
    k = len(classes)
    if not 2 <= k <= MAX_CLASSES:
        advice = "nothing can be learned from a single label" if k < 2 else "is the label a measured number?"
        raise InputError(
            f"{where}: 'task: multiclass' needs 2 to {MAX_CLASSES:,} labels, found {k:,}: {listed(classes)}; {advice}"
        )
    return {"-": np.arange(k, dtype=np.int16)}


def _numbers(labels: Sequence[Label], where: str) -> dict[str, NDArray[Any]]:
    if any(isinstance(label, str) for label in labels):
        text = next(label for label in labels if isinstance(label, str))
        raise InputError(
            f"{where}: 'task: regression' needs numbers as labels, found '{clipped(text, 20)}'; name the column of the "
            "numbers with 'label_column', or use 'task: multiclass' for classes"
        )
    return {"-": np.array(labels, dtype=np.float64)}


def _equal_splits(classes: Sequence[Label], where: str) -> dict[str, NDArray[Any]]:
    k = len(classes)
    if k % 2 or not 2 <= k <= MAX_SPLIT_LABELS:
        raise InputError(
            f"{where}: 'task: equal_splits' needs an even number of labels, 2 to {MAX_SPLIT_LABELS}, "
            f"found {k}: {listed(classes)}; use 'task: binary' with 'positive'"
        )
    names = [str(label) for label in classes]
    joint = "" if all(len(name) == 1 for name in names) else ","
    tasks = {}
    for rest in combinations(range(1, k), k // 2 - 1):
        signs = np.full(k, -1, dtype=np.int8)
        signs[[0, *rest]] = 1
        halves = (joint.join(names[i] for i in range(k) if signs[i] == side) for side in (1, -1))
        tasks["|".join(halves)] = signs
    return tasks
