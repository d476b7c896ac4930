"""From batches to examples: numbers as they are, booleans as 0 and 1, categories as one feature each."""

from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from budgetrun.base.errors import clipped, listed
from budgetrun.config.schema import Label
from budgetrun.data.content import number_fault, shown
from budgetrun.data.scaling import Means
from budgetrun.data.tables.columns import MISSING, Batch, Column, Fault, as_classes
from budgetrun.data.tables.written import BOOLEAN, TOLD, number
from budgetrun.kernels.kinds import Matrix

# An error; leave the row out; read 0; or read the mean of the values before it, or a category of its own.
Missing = Literal["refuse", "skip", "zero", "fill"]
# With more features, of which rows have less than this share, rows are sparse; see `is_sparse`.
DENSE_FEATURES = 64
DENSE_SHARE = 0.5


def is_sparse(n_features: int, n_values: int, n_rows: int = 1) -> bool:
    """Decide whether examples of LIBSVM text, and those with categories, are sparse.

    The zeros of a sparse matrix stay zeros when it is scaled, so this decision is part of the data. It changes no
    kernel value: kernels store rows of up to `budgetrun.kernels.kinds.DENSE_FEATURES` features the same way.
    """
    return n_features > DENSE_FEATURES and n_values < DENSE_SHARE * n_rows * n_features


class Texts(NamedTuple):
    """Text: the position of each row's value in ``values``, -1 where it is missing."""

    codes: NDArray[np.int32]
    values: list[str]


Values = NDArray[np.float64] | Texts


class Piece(NamedTuple):
    """Examples as read from a batch, NaN where a value is missing, with their faults."""

    X: Matrix
    y: NDArray[Any]
    faults: list[Fault]  # with rows of the piece
    batch: Batch
    start: int  # the row of the batch that is the first one here
    n_rows: int
    means: list[list[float]]  # `Means.state` after these rows
    keys: list[str]  # the texts of the key column, empty where they are missing; none without such a column


class Encoder:
    """Turns batches into examples.

    Rows that are vectors already have ``vectors`` features; other features follow from the columns of the table.
    ``unknown`` counts, for each category column, the rows whose category was not known; they have zeros there.
    With ``means``, missing values of columns are filled, and ``lost`` counts them by position. All that is counted
    begins again with each reading.
    """

    def __init__(
        self,
        columns: Sequence[Column],
        vectors: int | None = None,
        sparse: bool = False,
        means: Means | None = None,
        key: Column | None = None,
    ) -> None:
        self.means, self._before = means, (means.totals, means.counts) if means else None
        self.lost = dict.fromkeys((column.position for column in columns), 0)
        self.label = next((column for column in columns if column.kind == "label"), None)
        self.key, self.vectors, self.sparse = key, vectors, sparse
        self.inputs = [column for column in columns if column.features]
        self.wanted = [*self.inputs, *filter(None, (self.label, key))]  # the columns in use
        self.unknown = {column.name: 0 for column in self.inputs if column.kind == "category"}
        if vectors is not None:
            self.features = [str(k) for k in range(1, vectors + 1)]
            self.positions = np.arange(1, vectors + 1)
            return
        self.features = [feature for column in self.inputs for feature in column.features]
        sizes = [len(column.features) for column in self.inputs]
        self._offsets = np.cumsum([0, *sizes]).tolist()
        # The columns of numbers, and the last feature of those with gaps.
        self._numbers = [k for k, column in enumerate(self.inputs) if column.kind != "category"]
        self._gaps = [(k, self._offsets[k + 1] - 1) for k in self._numbers if self.inputs[k].gaps]
        # The position of each feature's column.
        self.positions = np.repeat([column.position for column in self.inputs], sizes)
        self.sparse = is_sparse(len(self.features), len(self.inputs))

    def begin(self) -> None:
        """Begin a reading: the batches that come are all."""
        self.unknown, self.lost = dict.fromkeys(self.unknown, 0), dict.fromkeys(self.lost, 0)
        if self.means is not None and self._before is not None:
            self.means.totals, self.means.counts = self._before

    def pieces(self, batch: Batch, n_rows: int, classes: Sequence[Label] | None) -> Iterator[Piece]:
        """Yield the examples of a batch, at most ``n_rows`` at a time; labels must be in ``classes``, if given."""
        values: dict[int, Any] = batch.columns
        of_batch = batch.faults
        if not self.vectors:
            values, of_text = values_of(batch, self.wanted)
            of_batch = of_text + of_batch
        texts: Texts | None = None if self.key is None else values[self.key.position]
        names = [*texts.values, ""] if texts else []
        for start in range(0, max(batch.n_rows, 1), n_rows):
            rows = slice(start, min(start + n_rows, batch.n_rows))
            at_end = rows.stop == batch.n_rows
            faults = [
                fault._replace(row=fault.row - start)
                for fault in of_batch
                if start <= fault.row < rows.stop or (at_end and fault.row >= batch.n_rows)
            ]
            X = values[1][rows] if self.vectors else self._features(values, rows)
            if self.vectors and not self.sparse and not isinstance(X, np.ndarray):
                X = X.toarray()
            for fault in number_faults(X, self.positions):
                if fault.kind == "infinite" and batch.cell is not None:
                    cell = batch.cell(start + fault.row, fault.position)
                    fault = fault._replace(told=number_fault(cell) or f"{clipped(cell)} is not a finite number")
                faults.append(fault)
            y: NDArray[Any] = np.empty(0)
            if self.label is not None:
                found = values[self.label.position]
                y = np.array([*found.values, ""])[found.codes[rows]] if isinstance(found, Texts) else found[rows].copy()
                faults += label_faults(y, self.label.position, classes)
            state = [self.means.totals.tolist(), self.means.counts.tolist()] if self.means else []
            keys = [names[code] for code in texts.codes[rows].tolist()] if texts else []
            yield Piece(X, y, faults, batch, start, rows.stop - start, state, keys)

    def _features(self, columns: dict[int, Values], rows: slice) -> Matrix:
        n, width = rows.stop - rows.start, len(self.inputs) + len(self._gaps)
        # For each column, the feature that is not 0 and its value; then the features that tell of gaps.
        at, values = np.empty((n, width), dtype=np.int32), np.empty((n, width))
        for k, column in enumerate(self.inputs):
            found, at[:, k] = columns[column.position], self._offsets[k]
            if not isinstance(found, Texts):
                values[:, k] = found[rows]
                continue
            codes = found.codes[rows]
            order = {category: code for code, category in enumerate(column.categories)}
            if self.means is not None:
                self.lost[column.position] += int(np.count_nonzero(codes == -1))
            # Without a category of its own, what is missing is like an unknown category.
            none = len(order) if column.gaps else -2 if self.means is None else -1
            code_of = np.array([*(order.get(value, -1) for value in found.values), none], dtype=np.int32)[codes]
            values[:, k] = np.where(code_of >= 0, 1.0, np.where(code_of == -1, 0.0, np.nan))
            at[:, k] += np.maximum(code_of, 0)
            self.unknown[column.name] += int(np.count_nonzero((code_of == -1) & (codes != -1)))
        if self.means is not None:
            filled = values[:, self._numbers]
            lost = self.means.fill(filled)
            values[:, self._numbers] = filled
            for k, n_lost in zip(self._numbers, lost.sum(axis=0).tolist(), strict=True):
                self.lost[self.inputs[k].position] += n_lost
            for slot, (k, feature) in enumerate(self._gaps, start=len(self.inputs)):
                at[:, slot], values[:, slot] = feature, lost[:, self._numbers.index(k)]
        d = len(self.features)
        if width == d and not self.unknown and not self._gaps:
            return values
        if not self.sparse:
            X = np.zeros((n, d))
            np.put_along_axis(X, at, values, axis=1)
            return X
        indptr = np.arange(0, at.size + 1, at.shape[1], dtype=np.int32)
        sparse: csr_array = csr_array((values.ravel(), at.ravel(), indptr), shape=(n, d))
        sparse.eliminate_zeros()
        return sparse


def no_labels(y: NDArray[Any]) -> NDArray[np.bool_]:
    missing: NDArray[np.bool_] = np.isnan(y) if y.dtype.kind == "f" else y == ""
    return missing


def label_faults(y: NDArray[Any], position: int, classes: Sequence[Label] | None) -> list[Fault]:
    """Return the faults of some labels: missing, infinite, or not one of the classes."""
    missing, infinite = no_labels(y), np.isinf(y) if y.dtype.kind == "f" else np.zeros(len(y), dtype=bool)
    unknown = np.zeros(len(y), dtype=bool)
    if classes is not None and not infinite.any():
        unknown = ~np.isin(y, np.array(list(classes), dtype=y.dtype if y.dtype.kind == "f" else None)) & ~missing
    faults = []
    for kind, wrong in (("no label", missing), ("infinite", infinite), ("label", unknown)):
        rows = np.flatnonzero(wrong).tolist()
        if rows:
            label = y[rows[0]].item()
            told = "the label is missing" if kind == "no label" else f"{label} is not a finite number"
            if kind == "label":
                known = listed(list(classes or ()))
                told = f"label {shown(str(as_classes([label])[0]))} is not one of the known labels {known}"
            faults.append(Fault(kind, rows[0], position, len(rows), told))
    return faults


def number_faults(X: Matrix, positions: NDArray[Any]) -> list[Fault]:
    """Return the missing and infinite values of each column; ``positions`` are those of the features."""
    values = X if isinstance(X, np.ndarray) else X.data
    if np.isfinite(values).all():
        return []
    faults = []
    for kind, wrong in (("missing", np.isnan(values)), ("infinite", np.isinf(values))):
        places = np.flatnonzero(wrong)
        rows, features = _rows_at(X, places), places % X.shape[1] if isinstance(X, np.ndarray) else X.indices[places]
        for position in np.unique(positions[features]).tolist():
            of_column = rows[positions[features] == position]
            faults.append(Fault(kind, int(of_column[0]), position, len(np.unique(of_column)), f"{kind} value"))
    return faults


def without_missing(X: Matrix, y: NDArray[Any], missing: Missing) -> tuple[Matrix, NDArray[np.bool_]]:
    """Return examples without missing values, and which rows these are: others are left out, or have zeros instead.

    Filled ones lack labels alone.
    """
    values = X if isinstance(X, np.ndarray) else X.data
    lost = np.isnan(values)
    if missing == "zero":
        values[lost] = 0.0
        if not isinstance(X, np.ndarray):
            X.eliminate_zeros()
        return X, np.ones(X.shape[0], dtype=bool)
    kept = ~no_labels(y) if len(y) else np.ones(X.shape[0], dtype=bool)
    if missing != "fill":
        kept[_rows_at(X, np.flatnonzero(lost))] = False
    return X[kept], kept


def _rows_at(X: Matrix, places: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the rows of stored values, given by their places among all."""
    return places // X.shape[1] if isinstance(X, np.ndarray) else np.searchsorted(X.indptr, places, side="right") - 1


def values_of(batch: Batch, wanted: Sequence[Column]) -> tuple[dict[int, Values], list[Fault]]:
    """Return columns of a batch as texts, or as the numbers that they hold or stand for; and the faults of text."""
    values: dict[int, Values] = {}
    faults: list[Fault] = []
    for column in wanted:
        array, position = batch.columns[column.position], column.position
        if (column.form and is_temporal(array)) or not (column.as_text or "string" in str(array.type)):
            values[position] = numbers_of(array)
            continue
        texts = texts_of(array)
        # Arrays of text drop them from the end of a label.
        if column.as_text and (nul := [code for code, text in enumerate(texts.values) if "\0" in text]):
            rows = np.flatnonzero(np.isin(texts.codes, nul)).tolist()
            told = f"{shown(texts.values[texts.codes[rows[0]]])} has a NUL character; remove it"
            faults.append(Fault("NUL", rows[0], position, len(rows), told))
        form = BOOLEAN if column.kind == "boolean" else column.form
        if column.as_text and not form:
            values[position] = texts
            continue
        found = [number(text, form) for text in texts.values]
        values[position] = np.array([*(0.0 if one is None else one for one in found), np.nan])[texts.codes]
        if other := [code for code, one in enumerate(found) if one is None]:
            rows = np.flatnonzero(np.isin(texts.codes, other)).tolist()
            text = texts.values[texts.codes[rows[0]]] if form or not batch.cell else batch.cell(rows[0], position)
            what = {"": "not a number", BOOLEAN: "neither true nor false"}.get(form)
            told = f"{shown(text)} is {what or f'not as this column was so far: {TOLD[form]}'}"
            faults.append(Fault("text", rows[0], position, len(rows), told))
    return values, faults


def numbers_of(array: Any) -> NDArray[np.float64]:
    """Return an Arrow array of numbers, dates or times as numbers, NaN where missing, infinite beyond float64."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if is_temporal(array):
        return _days(array)
    if pa.types.is_null(array.type):
        return np.full(len(array), np.nan)
    numbers: NDArray[Any] = pc.cast(array, pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    return numbers.astype(np.float64, copy=False)


def is_temporal(array: Any) -> bool:
    """Return whether an Arrow array holds dates, times or durations."""
    import pyarrow as pa

    kind = array.type.value_type if pa.types.is_dictionary(array.type) else array.type
    return bool(pa.types.is_temporal(kind)) and "interval" not in str(kind)


def _days(array: Any) -> NDArray[np.float64]:
    """Return dates as days since 1970-01-01, times and durations as days."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind, lost = array.type, pc.is_null(array).to_numpy(zero_copy_only=False)
    counts = pc.cast(array, pa.int32() if kind.bit_width == 32 else pa.int64()).fill_null(0).to_numpy()
    if str(kind) == "date32[day]":
        return np.where(lost, np.nan, counts)
    per_second = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}["ms" if str(kind) == "date64[ms]" else kind.unit]
    # As of text: whole days, and then the time of the day.
    days, rest = np.divmod(counts.astype(np.int64), 86400 * per_second)
    return np.where(lost, np.nan, days + rest / per_second / 86400)


def texts_of(array: Any) -> Texts:
    """Return an Arrow array as text without blanks around it."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(array.type) and "string" not in str(array.type.value_type):
        array = array.dictionary_decode()
    if not pa.types.is_dictionary(array.type):
        if pa.types.is_floating(array.type) or pa.types.is_decimal(array.type):
            texts = [None if v is None or v != v else f"{float(v):.17g}" for v in array.to_pylist()]
            array = pa.array(texts, pa.string())
        array = pc.cast(array, pa.large_string()).dictionary_encode()
    values = ["" if value is None else str(value).strip(" \t") for value in array.dictionary.to_pylist()]
    distinct = list(dict.fromkeys(value for value in values if value not in MISSING))
    position = {value: at for at, value in enumerate(distinct)}
    codes = np.array([*(position.get(value, -1) for value in values), -1], dtype=np.int32)
    return Texts(codes[array.indices.fill_null(len(values)).to_numpy(zero_copy_only=False)], distinct)
