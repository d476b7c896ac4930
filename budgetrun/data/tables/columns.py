"""Columns of a table: readers that give them in batches, their kinds by the first rows, and the choice of the label."""

import math
import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from budgetrun.base import limits
from budgetrun.base.errors import InputError, clipped, listed, one_line, printable
from budgetrun.config.schema import Label
from budgetrun.data.content import Held, Origin, count_lines, is_text, shown
from budgetrun.data.tables.written import BOOLEANS, DAYS, MARKS, form_of
from budgetrun.kernels.kinds import Matrix

Kind = Literal["number", "constant", "boolean", "category", "label", "index", "date", "text", "nested"]
# Text that means a missing value.
MISSING = frozenset((
    "", "?", "NA", "na", "N/A", "n/a", "#N/A", "<NA>", "nan", "NaN", "NAN", "null", "NULL", "Null", "none", "None",
    "NONE",
))  # fmt: skip
MOST_CATEGORIES = 1000  # the most categories of a column, and the most classes
MOST_LABELS = 20  # a column of at most this many different whole numbers looks like labels
LABEL_NAMES = (
    "label", "labels", "target", "class", "classes", "outcome", "y", "response", "result", "category", "species",
    "diagnosis",
)  # fmt: skip
INDEX_NAMES = {"", "unnamed: 0", "index", "idx", "id", "row", "row_id", "rowid", "rownames", "__index_level_0__"}
# Advice on the kinds of columns that cannot be learned from.
REFUSED: dict[str, str] = {
    "text": "free text is not a category; turn it into numbers first, or leave the column out",
    "nested": "only numbers, booleans and text are read; flatten the column, or leave it out",
}
NUMBERS = ("number", "constant", "boolean", "date")  # kinds of columns that are one number


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Kinds are ``number``; ``constant``, a number with one value so far; ``boolean``, 0 or 1; ``category``, one feature
    for each of its ``categories``; ``date``, a date or time in days; ``label``; ``index``, which is left out; and those
    that cannot be learned from: ``text`` and ``nested``. ``form`` tells how text stands for numbers, see
    `budgetrun.data.tables.written`; empty for plain numbers.
    """

    name: str  # the position, if the table has no names
    position: int  # from 1
    kind: Kind
    why: str  # the reason for the kind
    categories: tuple[str, ...] = ()
    numeric: bool = True  # for a label: its values are numbers
    named: bool = True  # the table has names
    gaps: bool = False  # one more feature tells whether the value is missing
    form: str = ""

    @property
    def features(self) -> list[str]:
        own = [self.name] if self.kind in NUMBERS else []
        if self.kind == "category":
            own = [f"{self.name}={category}" for category in self.categories]
        return own + [f"{self.name} is missing"] * (self.gaps and bool(own))

    @cached_property
    def as_text(self) -> bool:
        return bool(self.form) or not (self.kind in ("number", "constant") or (self.kind == "label" and self.numeric))

    def __str__(self) -> str:
        return f"column {self.position} ({one_line(self.name)})" if self.named else f"column {self.position}"


@dataclass(frozen=True)
class Sample:
    """The first values of a column, None where they are missing; ``kind`` is what its type says, None for text.

    ``type`` names the type of a column that cannot be read, if the source has types.
    """

    name: str
    values: Sequence[Any]
    kind: Literal["number", "boolean", "date", "nested"] | None = None
    type: str = ""


def columns_of(samples: Sequence[Sample], named: bool) -> list[Column]:
    """Return the columns of a table, none of them the label yet; a column that counts the rows is left out."""
    columns = [Column(sample.name, at, **_kind(sample), named=named) for at, sample in enumerate(samples, start=1)]
    for at, (column, sample) in enumerate(zip(columns, samples, strict=True)):
        like_ids = column.name.lower() in INDEX_NAMES or re.search(r"([_\W]id|[a-z]I[dD])$", column.name)
        if column.kind == "number" and named and like_ids and _counts(sample.values):
            columns[at] = replace(column, kind="index", why="left out: it counts the rows")
    return columns


def as_label(column: Column, sample: Sample, where: str) -> Column:
    """Return a column as the label."""
    if column.kind in ("date", "nested") and sample.kind:
        raise InputError(f"{where}: {column} cannot be the label: {column.why}; labels are numbers, booleans or text")
    numeric = column.kind in ("number", "constant", "index") and sample.kind != "boolean"
    form = column.form if numeric else ""
    return replace(column, kind="label", why="the label", categories=(), numeric=numeric, form=form)


def _kind(sample: Sample) -> dict[str, Any]:
    """Return the kind of a column, the reason for it, and its categories or its form, if it has any."""
    values = [value for value in sample.values if value is not None]
    so_far = f"the first {len(sample.values):,} rows"
    if sample.kind in ("date", "nested"):
        what = "dates or times" if sample.kind == "date" else "lists or records"
        told = f"it holds {f'values of type {clipped(sample.type)}' if sample.type else what}"
        return {"kind": sample.kind, "why": told, "form": DAYS if sample.kind == "date" else ""}
    if not values:
        return {"kind": "number", "why": f"no values in {so_far}"}
    distinct = set(values)
    if sample.kind == "boolean":
        return {"kind": "boolean", "why": "true and false"}
    if sample.kind == "number":
        return _number(distinct, "numbers", so_far)
    numbers = {value for value in distinct if not is_text(value)}
    n_numbers = len(values) if len(numbers) == len(distinct) else sum(value in numbers for value in values)
    if n_numbers < len(values) and (form := form_of(distinct)):
        return {"kind": "number" if form in MARKS else "date", "why": f"such as {values[0]!r}", "form": form}
    if 2 * n_numbers >= len(values):
        told = "numbers" if n_numbers == len(values) else f"{n_numbers / len(values):.1%} numbers"
        return _number(distinct if n_numbers == len(values) else {0, 1}, told, so_far)
    if any({value.lower() for value in distinct} <= pair.keys() for pair in BOOLEANS):
        return {"kind": "boolean", "why": f"only {' and '.join(sorted(distinct))} in {so_far}"}
    if len(distinct) > MOST_CATEGORIES or (len(distinct) > 50 and 2 * len(distinct) > len(values)):
        return {"kind": "text", "why": f"it holds text, {len(distinct):,} different values in {so_far}"}
    told = f"{len(distinct):,} {'category' if len(distinct) == 1 else 'categories'}"
    return {"kind": "category", "why": f"text with {told} in {so_far}", "categories": tuple(sorted(distinct))}


def _number(distinct: set[Any], what: str, so_far: str) -> dict[str, Any]:
    if len({float(value) for value in distinct}) == 1:
        return {"kind": "constant", "why": f"always {next(iter(distinct))} in {so_far}"}
    return {"kind": "number", "why": f"{what} in {so_far}"}


def _counts(values: Sequence[Any]) -> bool:
    """Tell whether values count, from any whole number."""
    try:
        numbers = [float(value) for value in values]
    except (TypeError, ValueError):
        return False
    return bool(numbers) and numbers[0].is_integer() and numbers == [numbers[0] + k for k in range(len(numbers))]


def find_column(columns: Sequence[Column], wanted: str | int, where: str, what: str) -> Column:
    """Return a column that a user names.

    ``first`` and ``last``, a name of the header, or a number: from 1, or from -1 for the last.
    """
    named = columns[0].named
    of_name = [column for column in columns if named and column.name == wanted]
    if len(of_name) == 1:
        return of_name[0]
    if of_name:
        positions = listed([column.position for column in of_name])
        raise InputError(f"{where}: {what}: columns {positions} are all called '{wanted}'; give a number instead")
    if wanted in ("first", "last"):
        return columns[0 if wanted == "first" else -1]
    if re.fullmatch(r"-?\d{1,9}", str(wanted)):
        number = int(wanted)
        at = number + len(columns) if number < 0 else number - 1
        if 0 <= at < len(columns):
            return columns[at]
        known = f"columns count from 1 to {len(columns):,}, or back from -1"
        raise InputError(f"{where}: {what}: no column {number}; {known}")
    names = listed([column.name for column in columns])
    known = f"its columns are {names}" if named else "the table has no header; give the number of the column"
    raise InputError(f"{where}: {what}: no column '{wanted}'; {known}")


def check_names(names: Sequence[str], where: str) -> None:
    """Raise an InputError if two columns, which are found by their names, have the same one."""
    for one, other in pairwise(sorted(names)):
        if one == other:
            raise InputError(f"{where}: two columns are called '{clipped(one)}'; rename one of them")


def find_label(columns: Sequence[Column], samples: Sequence[Sample], where: str, numbers: bool) -> tuple[Column, str]:
    """Return the column that seems to be the label, of classes or of ``numbers``, and a sentence that says why.

    An InputError says that no column, or more than one, seems to be it.
    """
    names = [column.name.lower() for column in columns]
    usual = [name for name in LABEL_NAMES if columns[0].named and names.count(name) == 1]
    if usual:
        column = columns[names.index(usual[0])]
        return column, f"the label is {column}, by its name"
    texts = [] if numbers else [column for column in columns if column.kind in ("category", "boolean")]
    inner = [column.position - 1 for column in columns if column.kind != "index"] or [0]
    ends = sorted({inner[0], inner[-1]})
    measured = [columns[at] for at in ends if columns[at].kind == "number"]
    few = [columns[at] for at in ends if _like_labels(columns[at], samples[at])]
    likely = measured if numbers else few
    if len(texts) == 1 and (texts[0] in likely or len(likely) != 1):
        return texts[0], f"the label is {texts[0]}, the only one with text"
    if len(texts) != 1 and len(likely) == 1:
        other, values = "last" if likely[0].position == 1 else "first", "numbers" if numbers else "few different values"
        return likely[0], f"the label is {likely[0]}, which has {values}, and the {other} column has not"
    found = [column for _, column in sorted({column.position: column for column in [*texts, *likely]}.items())[:5]]
    told = f"it could be {' or '.join(map(str, found))}" if found else "no column looks like one"
    advice = " or ".join(map(_option, found))
    last = columns[ends[-1]]
    if found and not numbers and last in measured and last not in few:
        advice += f", or {_option(last)} --task regression"
    known = listed([column.name for column in columns]) if columns[0].named else f"1 to {len(columns):,}"
    for_numbers = "" if numbers else "; for a number to be predicted also --task regression"
    advice = advice or f"--label and one of its columns, {known}{for_numbers}"
    raise InputError(f"{where}: which column is the label? {told}; add {advice}")


def _option(column: Column) -> str:
    name = column.name if column.named and column.name else str(column.position)
    return f"--label {shlex.quote(printable(name))}"


def _like_labels(column: Column, sample: Sample) -> bool:
    if column.kind == "boolean":
        return True
    distinct = {value for value in sample.values if value is not None}
    try:
        whole = column.kind == "category" or all(float(value).is_integer() for value in distinct)
    except (TypeError, ValueError, OverflowError):
        return False
    return whole and 1 < len(distinct) <= MOST_LABELS


def fitted_columns(
    learned: Sequence[dict[str, Any]], given: Sequence[Column], where: str, label: str | int | None
) -> list[Column]:
    """Return given columns as those of another table, as `asdict` gave them, in its order: by name, if both have names.

    An InputError names a column that is missing.
    """
    columns = [Column(**{**one, "categories": tuple(one["categories"])}) for one in learned]
    n, by_name = len(given), given[0].named and columns[0].named
    n_features = sum(column.kind != "label" for column in columns)
    if not by_name and n not in (len(columns), n_features):
        told = f"{n:,} columns where the table that was learned has {len(columns):,}"
        raise InputError(f"{where}: {told}; they must be equal")
    places = {name: at for at, name in enumerate(_numbered(given), start=1)}
    names, fitted, at = _numbered(columns), [], 0
    for name, column in zip(names, columns, strict=True):
        if n == n_features and not by_name and column.kind == "label":
            continue
        at += 1
        if column.kind == "label" and label is not None:
            position = find_column(given, label, where, "label").position
        elif by_name and name not in places:
            if column.kind in ("label", "index"):
                continue
            raise InputError(f"{where}: column '{column.name}' of the table that was learned is missing")
        else:
            position = places[name] if by_name else at
        fitted.append(replace(column, position=position))
    at_label = {column.position for column in fitted if column.kind == "label"}
    if both := [one for one in fitted if one.position in at_label and one.kind not in ("label", "index")]:
        raise InputError(f"{where}: label: {both[0]} is a feature of the table that was learned; name another column")
    if by_name:
        # Of more columns of one name than were learned, which is which would be a guess.
        known = set(names)
        more = {name for name, _ in set(places) - known if (name, 0) in known}
        check_names([name for name, _ in places if name in more], where)
    others = sorted(set(range(1, n + 1)) - {column.position for column in fitted})
    why = "left out: not in the table that was learned"
    return fitted + [Column(given[at - 1].name, at, "index", why, named=by_name) for at in others]


def _numbered(columns: Sequence[Column]) -> list[tuple[str, int]]:
    """Return the names of columns, each with the number of those before it that are equal."""
    seen: Counter[str] = Counter()
    found = []
    for column in columns:
        found.append((column.name, seen[column.name]))
        seen[column.name] += 1
    return found


def as_classes(found: Iterable[Any]) -> tuple[Label, ...]:
    """Return distinct labels, ascending; whole numbers as int, without missing ones."""
    kept = {value for value in found if value == value and value != ""}
    return tuple(int(v) if isinstance(v, float) and v.is_integer() else v for v in sorted(kept))


def check_classes(labels: Iterable[Any], where: str) -> None:
    """Raise an InputError if labels that a user names cannot be read from a table."""
    if gone := next((label for label in labels if label in MISSING), None):
        raise InputError(f"{where}: class {gone}: that stands for a missing value; give the class another name")
    check_exact(labels, where)


def check_exact(labels: Iterable[Any], where: str) -> None:
    """Raise an InputError if a class is a number so large that others become the same float64."""
    for label in labels:
        if not isinstance(label, str) and 2.0**53 <= abs(label) < math.inf:
            raise InputError(
                f"{where}: label {label:g}: numbers of 2^53 and more cannot all be told apart; write them as "
                "text with a letter in it, or number the classes from 0"
            )


def check_distinct(found: set[Any], where: str, column: Column | None) -> None:
    """Raise an InputError if a column has too many different labels or categories, or labels that are not exact."""
    is_label = column is None or column.kind == "label"
    if len(found) > MOST_CATEGORIES:
        told = "categories; turn it into numbers first, or leave the column out"
        if is_label:
            told = (
                "labels; is it a measured number? Name the column of the labels (--label NAME or NUMBER), or learn "
                "numbers (--task regression)"
            )
        raise InputError(f"{where}: {column}: more than {MOST_CATEGORIES:,} different {told}")
    if is_label:
        check_exact(found, f"{where}: {column}")


class Fault(NamedTuple):
    """Fault of a batch: its first row, from 0, and column, from 1; the number of rows; the first as a clause.

    ``kind`` is 'length', 'text', 'missing', 'no label', 'infinite', 'encoding', 'NUL' or 'label'.
    """

    kind: str
    row: int
    position: int
    n: int
    told: str


@dataclass
class Batch:
    """Some rows: an Arrow array per column in use, by position.

    ``place`` returns the name of a row and column in messages; ``cell`` returns the text of a field. Rows that are
    vectors already, from an array, a sparse matrix or LIBSVM text, are at position 1 and their labels at 0, as numpy
    and scipy hold them.
    """

    columns: dict[int, Any]
    n_rows: int
    place: Callable[[int, int], str]
    cell: Callable[[int, int], str] | None = None
    faults: list[Fault] = field(default_factory=list)


def check_width(n_columns: int, where: str) -> None:
    """Raise an InputError if the samples and the kinds of all columns, of text, and what pyarrow needs, do not fit."""
    limits.check(16384 * n_columns, where, f"a table of {n_columns:,} columns")


def check_lengths(n_rows: int, y: Any, where: str) -> None:
    """Raise an InputError unless there is one label per row, or no labels at all (None)."""
    if y is not None and len(y) != n_rows:
        raise InputError(f"{where}: X has {n_rows:,} rows and y has {len(y):,}; the numbers must be equal")


class Reader:
    """Rows in batches; subclasses read one format each."""

    named = again = True  # columns have names; rows can be read again
    n_rows: int | None = None  # None if it is not known before the end
    # The format with its revision, raised whenever the same file gives other examples or labels; part of the run ids.
    format = "table 1"
    samples: Sequence[Sample] = ()  # the first values of all columns; none if rows are vectors

    def __init__(self, origin: Origin) -> None:
        self.origin: Any = origin
        self.where, self.again = origin.name, origin.again

    @property
    def most_rows(self) -> int | None:
        """An upper bound on the number of rows, if one is known without reading."""
        if self.n_rows is None and isinstance(self.origin, Held):
            content = self.origin.content
            return min(count_lines(content), len(content) // (2 * len(self.samples)) + 1)
        return self.n_rows

    def batches(self, wanted: Sequence[Column]) -> Iterator[Batch | None]:
        """Yield some columns, as text those that are `Column.as_text`; None while nothing arrives."""
        raise NotImplementedError

    @staticmethod
    def length_faults(wrong: list[tuple[int, str]]) -> list[Fault]:
        """Return the fault of records that are left out, each with the row before which it is and a sentence."""
        return [Fault("length", wrong[0][0], 0, len(wrong), wrong[0][1])] if wrong else []


_ROWS = 1 << 15  # the rows of an array that are converted at a time
LABEL = Column("label", 0, "label", "given with the examples")  # the column of labels that come with vectors


class Vectors(Reader):
    """Examples in memory, with their labels if there are any."""

    n_features: int
    sparse: bool
    label: Column | None
    label_found: str  # how, as a sentence
    fitting: dict[str, Any]  # settings for reading another source in the same way, besides the number of features

    def __init__(self, X: Any, y: Any, origin: Origin, format: str = "") -> None:
        super().__init__(origin)
        where, self.format = origin.name, format
        self._X, self._y = X, None if y is None else labels_of(y, where)
        self.n_rows, self.n_features = X.shape
        self.sparse, self.fitting = not isinstance(X, np.ndarray), {}
        check_lengths(self.n_rows, self._y, where)
        if 0 in X.shape:
            raise InputError(f"{where}: X has shape {X.shape}; at least one example and one feature are needed")
        self.label = None if self._y is None else replace(LABEL, numeric=self._y.dtype.kind == "f")
        self.label_found = "there are no labels" if self.label is None else "the labels are given with the examples"

    def fit(self, encoding: dict[str, Any] | None, numbers: bool) -> None:
        """Read in the same way as the source of an encoding; with ``numbers``, labels are not classes."""
        if encoding is not None and encoding.get("n_features") != self.n_features:
            learned = encoding.get("n_features") or "a table of columns"
            raise InputError(f"{self.where}: {self.n_features:,} features; {learned} were learned")

    def labels(self) -> set[Any]:
        """Return all labels."""
        found = set() if self._y is None else set(np.unique(self._y).tolist())
        check_distinct(found, self.where, self.label)
        return found

    def batches(self, wanted: Sequence[Column]) -> Iterator[Batch | None]:
        assert self.n_rows is not None
        for start in range(0, self.n_rows, _ROWS):
            rows = slice(start, min(start + _ROWS, self.n_rows))
            yield self._batch(_numbers(self._X[rows]), None if self._y is None else self._y[rows], start)

    def _batch(self, X: Matrix, y: NDArray[Any] | None, first: int) -> Batch:
        def place(row: int, position: int) -> str:
            return f"{self.where}: row {first + row + 1:,}" + (f", feature {position:,}" if position else "")

        return Batch({0: y, 1: X}, X.shape[0], place)


def labels_of(y: Any, where: str) -> NDArray[Any]:
    """Return labels as float64 or text."""
    found = np.asarray(y)
    if found.dtype.kind == "U" and isinstance(y, list | tuple):
        found = np.array(y, dtype=object)  # with the NUL characters at the end of a text
    if found.ndim == 2 and found.shape[1] == 1:
        found = found[:, 0]
    if found.ndim != 1:
        raise InputError(f"{where}: y has shape {found.shape}; one label per row is needed")
    numbers = int | float | np.number
    if found.dtype.kind == "O" and all(isinstance(v, numbers) and not isinstance(v, bool) for v in found):
        found = found.astype(np.float64)
    if found.dtype.kind == "b":
        return np.where(found, "true", "false")
    if found.dtype.kind in "iuf":
        return found.astype(np.float64)
    if found.dtype.kind in "OUT":
        texts = ["" if v is None or v != v else str(v) for v in found.tolist()]
        if wrong := next((text for text in texts if "\0" in text), None):
            raise InputError(f"{where}: label {shown(wrong)} has a NUL character; remove it")
        return np.array(texts)
    raise InputError(f"{where}: y holds {found.dtype}; labels are numbers or text")


def _numbers(X: Any) -> Matrix:
    """Return rows as float64: C-contiguous, or CSR with sorted int32 indices. The caller's own copy."""
    if isinstance(X, np.ndarray):
        return np.array(X, dtype=np.float64, order="C")
    found = csr_array(X, dtype=np.float64, copy=True)
    found.sum_duplicates()
    found.eliminate_zeros()
    found.indices, found.indptr = found.indices.astype(np.int32), found.indptr.astype(np.int32)
    return found
