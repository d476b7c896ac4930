"""From columns to examples: numbers as they are, booleans as 0 and 1, categories as one feature each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from budgetrun.data.cards import Label
from budgetrun.data.tables.blocks import Block, Fault, Texts
from budgetrun.data.tables.columns import BOOLEANS, Column
from budgetrun.data.tasks import listed
from budgetrun.data.text import clipped, number_fault, shown
from budgetrun.kernels.rows import Matrix

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Missing = Literal["refuse", "skip", "zero"]
# With more features than this, of which each row has less than this share, one-hot rows are sparse.
DENSE_FEATURES = 64
DENSE_SHARE = 0.5
_TRUTH = {**BOOLEANS[0], **BOOLEANS[1]}


class Encoder:
    """Turns blocks into examples.

    Attributes
    ----------
    features : list of str
    unknown : dict of str to int
        For each category column, the rows whose category was not known; they have zeros there.
    """

    def __init__(self, columns: Sequence[Column], classes: Sequence[Label] | None) -> None:
        self.inputs = [column for column in columns if column.features]
        self.label = next((column for column in columns if column.kind == "label"), None)
        self.classes = classes
        self.features = [feature for column in self.inputs for feature in column.features]
        self.offsets = np.cumsum([0, *(len(column.features) for column in self.inputs)]).tolist()
        # The position of each feature's column.
        self.positions = np.repeat([c.position for c in self.inputs], [len(c.features) for c in self.inputs])
        d = len(self.features)
        self.sparse = d > DENSE_FEATURES and len(self.inputs) < DENSE_SHARE * d
        self.unknown = {column.name: 0 for column in self.inputs if column.kind == "category"}

    @property
    def wanted(self) -> dict[int, bool]:
        """The positions of the columns in use, and whether their values are read as text."""
        used = [*self.inputs, *([self.label] if self.label else [])]
        return {column.position: column.as_text for column in used}

    def encode(self, block: Block, rows: slice) -> tuple[Matrix, NDArray[Any], list[Fault]]:
        """Return some rows of a block: examples, NaN where a value is missing, labels, and what is wrong in them."""
        n = min(rows.stop, block.n_rows) - rows.start
        faults: list[Fault] = []
        # Of each column, the feature that is not 0 and its value.
        at, values = np.empty((n, len(self.inputs)), dtype=np.int32), np.empty((n, len(self.inputs)))
        for k, column in enumerate(self.inputs):
            found, at[:, k] = block.columns[column.position], self.offsets[k]
            if not isinstance(found, Texts):
                values[:, k] = found[rows]
                continue
            codes = found.codes[rows]
            if column.kind == "boolean":
                values[:, k] = self._truth(found.values, codes, column, faults)
                continue
            order = {category: code for code, category in enumerate(column.categories)}
            code_of = np.array([*(order.get(value, -1) for value in found.values), -2], dtype=np.int32)[codes]
            values[:, k] = np.where(code_of >= 0, 1.0, np.where(code_of == -1, 0.0, np.nan))
            at[:, k] += np.maximum(code_of, 0)
            self.unknown[column.name] += int(np.count_nonzero(code_of == -1))
        y = self._labels(block, rows, n, faults)
        X = values if len(self.inputs) == len(self.features) and not self.unknown else self._spread(at, values)
        for fault in number_faults(X, self.positions):
            if fault.kind == "infinite":
                cell = block.cell(rows.start + fault.row, fault.position)
                told = number_fault(cell) or f"{clipped(cell)} is not a finite number"
                fault = fault._replace(told=told)
            faults.append(fault)
        return X, y, faults

    def _spread(self, at: NDArray[np.int32], values: NDArray[np.float64]) -> Matrix:
        n, d = len(values), len(self.features)
        if not self.sparse:
            X = np.zeros((n, d))
            np.put_along_axis(X, at, values, axis=1)
            return X
        from scipy.sparse import csr_array

        indptr = np.arange(0, at.size + 1, at.shape[1], dtype=np.int32)
        sparse: csr_array = csr_array((values.ravel(), at.ravel(), indptr), shape=(n, d))
        sparse.eliminate_zeros()
        return sparse

    def _truth(
        self, values: Sequence[str], codes: NDArray[np.int32], column: Column, faults: list[Fault]
    ) -> NDArray[np.float64]:
        truth = np.array([*(_TRUTH.get(value.lower(), 2.0) for value in values), np.nan])[codes]
        wrong = np.flatnonzero(truth == 2.0)
        if len(wrong):
            told = f"{shown(values[codes[wrong[0]]])} is neither true nor false"
            faults.append(Fault("text", int(wrong[0]), column.position, len(wrong), told))
        return truth

    def _labels(self, block: Block, rows: slice, n: int, faults: list[Fault]) -> NDArray[Any]:
        if self.label is None:
            return np.empty(0)
        found = block.columns[self.label.position]
        if isinstance(found, Texts):
            codes = found.codes[rows]
            y: NDArray[Any] = np.array([*found.values, ""])[codes]
            missing = codes < 0
        else:
            y = found[rows]
            missing = np.isnan(y)
        faults += label_faults(y, missing, self.label, self.classes)
        return y


def label_faults(
    y: NDArray[Any], missing: NDArray[np.bool_], label: Column, classes: Sequence[Label] | None
) -> list[Fault]:
    """Return what is wrong with some labels: missing, infinite, or none of the classes."""
    faults = []
    if missing.any():
        faults.append(
            Fault("no label", int(missing.argmax()), label.position, int(missing.sum()), "the label is missing")
        )
    if y.dtype.kind == "f" and np.isinf(y).any():
        wrong = np.isinf(y)
        told = f"{y[wrong.argmax()]} is not a finite number"
        faults.append(Fault("infinite", int(wrong.argmax()), label.position, int(wrong.sum()), told))
    elif classes is not None:
        unknown = ~np.isin(y, np.array(list(classes), dtype=y.dtype if y.dtype.kind == "f" else None)) & ~missing
        if unknown.any():
            told = f"label {shown(plain(y[unknown.argmax()]))} is none of the known labels {listed(list(classes))}"
            faults.append(Fault("label", int(unknown.argmax()), label.position, int(unknown.sum()), told))
    return faults


def plain(label: Any) -> str:
    """Return a label as messages write it."""
    number = label.item() if isinstance(label, np.generic) else label
    return str(int(number)) if isinstance(number, float) and number.is_integer() else str(number)


def number_faults(X: Matrix, positions: NDArray[Any]) -> list[Fault]:
    """Return where values are missing or infinite, for each column; ``positions`` are those of the features."""
    values = X if isinstance(X, np.ndarray) else X.data
    if np.isfinite(values).all():
        return []
    faults = []
    for kind, wrong in (("missing", np.isnan(values)), ("infinite", np.isinf(values))):
        places = np.flatnonzero(wrong.ravel())
        if isinstance(X, np.ndarray):
            rows, features = places // X.shape[1], places % X.shape[1]
        else:
            rows, features = np.searchsorted(X.indptr, places, side="right") - 1, X.indices[places]
        for position in np.unique(positions[features]).tolist():
            of_column = rows[positions[features] == position]
            faults.append(Fault(kind, int(of_column[0]), position, len(np.unique(of_column)), f"{kind} value"))
    return faults


def without_missing(
    X: Matrix, y: NDArray[Any], missing: Missing, no_label: NDArray[np.bool_]
) -> tuple[Matrix, NDArray[Any]]:
    """Return examples without missing values: their rows left out, or zeros instead."""
    values = X if isinstance(X, np.ndarray) else X.data
    lost = np.isnan(values)
    if missing == "zero":
        values[lost] = 0.0
        if not isinstance(X, np.ndarray):
            X.eliminate_zeros()
        return X, y
    if isinstance(X, np.ndarray):
        kept = ~(lost.any(axis=1) | no_label)
    else:
        kept = ~no_label
        kept[np.searchsorted(X.indptr, np.flatnonzero(lost), side="right") - 1] = False
    return X[kept], y[kept] if len(y) else y
