"""The choices of `budgetrun run` from the first rows of the stream, each with a sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from budgetrun.base.errors import InputError
from budgetrun.base.problem import problem_of, problem_with
from budgetrun.config.schema import AUTO
from budgetrun.data.median import ROUNDS, median_gamma
from budgetrun.runner.live.kept import scaler
from budgetrun.runner.live.request import Choices, Request, defaults

if TYPE_CHECKING:
    from budgetrun.data.tables import Table
    from budgetrun.kernels.rows import Matrix

# The rounds that choices are made from.
FIRST = ROUNDS
_MOST_CLASSES = 100


def choices(request: Request, table: Table, first: Matrix) -> tuple[Choices, list[str]]:
    """Return the choices, with a sentence for each that the user did not make.

    Parameters
    ----------
    request : Request
    table : Table
    first : ndarray or csr_array, shape (n, d), n >= 1
        The first examples of the stream, at most `FIRST`.

    Raises
    ------
    InputError
        The stream does not fit the request.
    """
    said = [f"{table.label_found[0].upper()}{table.label_found[1:]}."] if table.label_found else []
    said += table.notes()
    task = _task(request, table)
    if request.task == "auto":
        said.append(f"Task: {task}, because there are {len(table.classes)} classes.")
    scale = request.scale
    if scale == "auto":
        scale, why = _scale(first)
        said.append(f"Scale: {scale}, because {why}.")
    gammas = tuple(_gamma(text) for text in request.gamma)
    median = None
    if AUTO in gammas:
        try:
            median = median_gamma(scaler(scale, first.shape[1]).scaled(first.copy()))
        except ValueError as error:
            raise InputError(f"{table.where}: --gamma auto: {error}") from None
        said.append(f"gamma: {median:g}, the median heuristic on the first {first.shape[0]:,} rounds.")
    left_out = [] if request.algorithms else defaults(task, table.n_rows)[1]
    said += [
        f"{name} is left out: it is too slow or too large on a long stream; to include it: --algorithm {name}."
        for name in left_out
    ]
    return Choices(task, scale, gammas, median, _label(table), table.n_rows), said


def _task(request: Request, table: Table) -> str:
    # This counts the rows, too.
    n = len(table.classes)
    if not problem_of(request.task).of_classes:
        for option, values in (("--metrics", request.metrics), ("--classes", request.classes)):
            if values:
                given = ",".join(values)
                raise InputError(f"{option} {given}: goes with classes, not with --task regression; remove it")
        return request.task
    shown = " ".join(map(str, table.classes[:10])) + (" ..." if n > 10 else "")
    if n < 2:
        raise InputError(f"{table.where}: every row has the label {shown}; nothing can be learned from a single class")
    if n > _MOST_CLASSES:
        raise InputError(
            f"{table.where}: the labels have {n:,} different values ({shown}): these look like measurements, not "
            "classes; name another column with --label, or learn numbers with --task regression"
        )
    if request.task == "binary" and n != 2:
        raise InputError(f"{table.where}: --task binary needs two classes, found {n}: {shown}; use --task multiclass")
    return problem_with(n).name if request.task == "auto" else request.task


def _scale(first: Matrix) -> tuple[str, str]:
    values = first if isinstance(first, np.ndarray) else first.data
    largest = float(np.abs(values).max(initial=0.0))
    if largest <= 1:
        return "none", f"no value of the first {first.shape[0]:,} rows is beyond -1 and 1"
    kind = "each row is scaled by the mean and deviation of the rows before it"
    return "running", f"values reach {largest:,.4g}: {kind}"


def _gamma(text: str) -> float | str:
    if text == AUTO:
        return text
    try:
        gamma = float(text)
    except ValueError:
        gamma = 0.0
    if not 1e-100 <= gamma <= 1e100:
        raise InputError(f"--gamma {text}: must be auto or a number above 0")
    return gamma


def _label(table: Table) -> str | int | None:
    """Return how a config names the column of the labels."""
    column = table.label_column
    return None if column is None else column.name if column.named else column.position
