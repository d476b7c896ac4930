"""Predictions of a saved classifier or regressor for a stream of any format, chunk by chunk."""

import csv
import math
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from budgetrun.base.errors import InputError, listed, one_line, say
from budgetrun.base.files import growing
from budgetrun.base.grid import cell
from budgetrun.base.problem import CANCELLED, problem_with
from budgetrun.data.tables import Table, open_table
from budgetrun.data.tables.columns import Column
from budgetrun.estimators import BudgetClassifier, checked
from budgetrun.state import BY_STATE, STREAM_STATE, load_state, using

# Deviations by which means of many rows may differ.
_APART = 3.0


def predict_stream(
    path: str | Path, source: str, *, label: str | None = None, missing: Any = "fill", output: Path | None = None
) -> str:
    """Write the predictions and scores of a saved model, or of a learner of `budgetrun run`, as CSV.

    The columns are ``row``, counted from 1; ``label``, if there are any, empty where one is missing; ``prediction``;
    and, for classes, ``score``, or with more than two classes one ``score_CLASS`` for each.

    Parameters:
    path : str or Path
        A file from `BudgetEstimator.save`, or the results folder of `budgetrun run`, or ``stream.state`` in it, whose
        learner with the fewest mistakes, or the smallest squared errors, predicts; after ``--by``, each row's key does.
    source : str
        A file of any format, or ``-``.
    label : str or None
        The column of the labels, to measure the error; it is not a feature.
    missing : 'fill', 'refuse' or 'zero'
        Treatment of missing values; 'fill' needs a model whose stream was filled, and refuses them otherwise. Rows are
        not left out: each has its prediction.
    output : Path or None
        The file; None for standard output.

    Returns a sentence with the number of rows and, with labels, the error.

    Raises InputError: the model or the stream cannot be used, or they do not fit.
    """
    path = Path(path)
    if path.is_dir():
        folder, path = path, path / (BY_STATE if (path / BY_STATE).is_file() else STREAM_STATE)
        if not path.is_file():
            raise InputError(f"{folder}: not a results folder of budgetrun run, nor a saved model")
    read = [of for of in (path, Path(source)) if of.exists()]
    if output is not None and output.exists() and any(map(output.samefile, read)):
        raise InputError(f"--output {one_line(str(output))}: would replace what is read; give another file")
    saved, meta = load_state(path)
    if hasattr(saved, "best"):
        # A stream that `budgetrun run` has played.
        with _using(path):
            model, encoding = saved.best(), saved.encoding
    else:
        model, encoding = checked(saved, path), meta.get("encoding")
    if not (hasattr(model, "classes_") or hasattr(model, "n_features_in_")):
        raise InputError(f"{path}: this {type(model).__name__} has not been fitted")
    with _using(path):
        # The classes; none for numbers.
        known = getattr(model, "classes_", np.empty(0)).tolist()
        table = _opened(model, encoding, source, label, missing, None if known else [])
        far = _Far(getattr(model, "typical", None), table.features)
    table.predicts = True
    names = [f"score_{name}" for name in known] if len(known) > 2 else ["score"] * len(known[:1])
    n_rows = n_labels = mistakes = unknown = 0
    squared = absolute = 0.0
    with nullcontext(sys.stdout) if output is None else growing(output) as file:
        out = csv.writer(file, lineterminator="\n")
        labelled = table.label_column is not None
        out.writerow(["row", *(["label"] if labelled else []), "prediction", *map(_text, names)])
        for chunk in table.chunks():
            y = chunk.y
            with warnings.catch_warnings(), _using(path):
                far.add(chunk.X)
                # The columns have been compared by name already.
                warnings.filterwarnings("ignore", "X does not have valid feature names")
                given = (chunk.X, chunk.keys) if chunk.keys else (chunk.X,)
                scores = model.decision_function(*given) if known else model.predict(*given)
                predicted = np.asarray(_predicted(scores, model.classes_) if known else scores)
                if predicted.shape != (chunk.X.shape[0],):
                    raise ValueError(f"predictions of shape {predicted.shape}")
            has_label = chunk.has_label
            for i, row in enumerate(scores.reshape(len(predicted), -1).tolist()):
                labels = [_text(y[i]) if has_label[i] else ""] if labelled else []
                out.writerow([chunk.first_row + i + 1, *labels, *([_text(predicted[i]), *row] if known else row)])
            n_rows += len(predicted)
            if not has_label.any():
                continue
            n_labels += int(np.count_nonzero(has_label))
            y, scores = y[has_label], scores[has_label]
            if not known:
                if y.dtype.kind == "U":
                    raise InputError(
                        f"{table.where}: the labels in {table.label_column}, such as {_text(y[0])}, are not numbers, "
                        "but this model predicts numbers; name another column with --label, or leave it out"
                    )
                squared += float(np.square(y - scores).sum())
                absolute += float(np.abs(y - scores).sum())
            else:
                classes = _classes_as(y, model, table)
                mistakes += int((_predicted(scores, classes) != y).sum())
                unknown += int((~np.isin(y, classes)).sum())
    for note in table.unknown_notes():
        say(f"{table.where}: {note}")
    with _using(path):
        far.say()
        told = f"; {model.told}" if hasattr(model, "told") else ""
    counts = f"; {n_labels:,} of them have a label" if n_labels < n_rows and labelled else ""
    if n_labels and known:
        counts += f"; {mistakes:,} mistakes, an error of {mistakes / n_labels:.2%}"
    elif n_labels:
        rmse, mae = math.sqrt(squared / n_labels), absolute / n_labels
        counts += f"; root mean squared error {rmse:.4g}, mean absolute error {mae:.4g}"
    counts += f", {unknown:,} of them because the model does not know the label" if unknown else ""
    return f"{n_rows:,} rows{counts}{told}"


@contextmanager
def _using(path: str | Path) -> Iterator[None]:
    """As `using`, and a lack of memory is a sentence, too: edited numbers may ask for any amount."""
    try:
        with using(path):
            yield
    except MemoryError as error:
        raise InputError(f"{path}: predicting needs more memory than there is ({one_line(str(error))})") from error


class _Far:
    """Compares the means of new rows with those of the rows that were learned, by the deviations of the latter."""

    def __init__(self, typical: Any, names: Sequence[str]) -> None:
        self._typical, self._names = typical, names
        self._n, self._total = 0, np.zeros(len(names))

    def add(self, X: Any) -> None:
        """Count rows, shape (n, d), which may have missing values."""
        if self._typical is not None and isinstance(X, np.ndarray):
            self._n += len(X)
            self._total += np.where(np.isnan(X), self._typical[0], X).sum(axis=0)

    def say(self) -> None:
        """Warn if the means are far apart: several deviations, more for few rows."""
        if not self._n:
            return
        (mean, deviation), own = self._typical, self._total / self._n
        apart = np.divide(own - mean, deviation, out=np.zeros_like(mean), where=deviation > 0)
        if math.sqrt(np.mean(apart**2)) > _APART * (1 + 3 / math.sqrt(self._n)):
            j = int(np.abs(apart).argmax())
            # What is 0 except for rounding is 0.
            usual = mean[j] if abs(mean[j]) > CANCELLED * deviation[j] else 0.0
            say(
                f"warning: these rows lie far from those that were learned: the mean of feature {self._names[j]} is "
                f"{own[j]:.4g} here, and was {usual:.4g} with a deviation of {deviation[j]:.4g} there; give them the "
                "same scale and units"
            )


def _opened(
    model: Any, encoding: Any, source: str, label: str | None, missing: Any, classes: list[Any] | None
) -> Table:
    """Open the stream with the features of the model; ``classes`` is empty for numbers."""
    if encoding is not None:
        return open_table(source, label=label, missing=missing, encoding=encoding, key=getattr(model, "by", None))
    d, named = model.n_features_in_, hasattr(model, "feature_names_in_")
    names = model.feature_names_in_ if named else range(1, d + 1)
    columns = [Column(str(name), i, "number", "", named=named) for i, name in enumerate(names, start=1)]
    if label is not None:
        if source == "-":
            raise InputError("--label: not with standard input, for a model that was saved without its encoding")
        found = open_table(source, label=label, missing=missing, classes=classes).label_column
        if found is not None:
            columns.insert(d if named and found.named else found.position - 1, found)
    learned = {"columns": list(map(asdict, columns)), "classes": classes, "n_features": d, "sparse": model._sparse}
    try:
        return open_table(source, label=label, missing=missing, encoding=learned)
    except InputError as error:
        if label is None and "columns where" in str(error):
            raise InputError(f"{error}; if one is the label, name it: --label COLUMN") from None
        raise


def _predicted(scores: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Return the predicted classes, for scores of shape (n,) or (n, n_classes)."""
    return classes[problem_with(len(classes)).predict(scores.T)]


def _classes_as(y: np.ndarray, model: BudgetClassifier, table: Table) -> np.ndarray:
    """Return the model's classes as the labels of the table are, numbers or text; an InputError if no label is one."""
    try:
        classes = model.classes_.astype(str if y.dtype.kind == "U" else y.dtype)
    except (TypeError, ValueError):
        classes = np.empty(0, y.dtype)
    if not np.isin(y, classes).any():
        raise InputError(
            f"{table.where}: the labels in {table.label_column}, such as {_text(y[0])}, are none of the classes of the "
            f"model: {listed(model.classes_.tolist())}"
        )
    return classes


def _text(value: Any) -> Any:
    """Return a label for a cell: numbers as they are, whole ones without a point."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return cell(one_line(value)) if isinstance(value, str) else value
