"""Kinds of the columns of a table, found from its first rows, and the choice of the label column."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from budgetrun.base.errors import InputError
from budgetrun.data.cards import Label
from budgetrun.data.text import is_text, listed

Kind = Literal["number", "constant", "boolean", "category", "label", "index", "date", "text", "nested"]
# Text that means a missing value.
MISSING = frozenset((
    "", "?", "NA", "na", "N/A", "n/a", "#N/A", "<NA>", "nan", "NaN", "NAN", "null", "NULL", "Null", "none", "None",
    "NONE",
))  # fmt: skip
BOOLEANS = ({"true": 1.0, "false": 0.0}, {"yes": 1.0, "no": 0.0})
# The most categories of a column, and the most classes.
MOST_CATEGORIES = 1000
# A column of at most this many different whole numbers looks like labels.
MOST_LABELS = 20
LABEL_NAMES = (
    "label", "labels", "target", "class", "classes", "outcome", "y", "response", "result", "category", "species",
    "diagnosis",
)  # fmt: skip
INDEX_NAMES = {"", "unnamed: 0", "index", "idx", "id", "row", "row_id", "rowid", "rownames", "__index_level_0__"}
# Advice on the kinds of columns that cannot be learned from.
REFUSED: dict[str, str] = {
    "date": "turn them into numbers first (days since some date, hour of the day), or leave the column out",
    "text": "free text is not a category; turn it into numbers first, or leave the column out",
    "nested": "only numbers, booleans and text are read; flatten the column, or leave it out",
}
_DATE = re.compile(
    r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}([ T].*)?|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}([ T].*)?|\d{1,2}:\d{2}(:\d{2}.*)?"
)


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes
    ----------
    name : str
        The position, if the table has no names.
    position : int, >= 1
    kind : str
        ``number``; ``constant``, a number with one value so far; ``boolean``, 0 or 1; ``category``, one feature for
        each of its ``categories``; ``label``; ``index``, which is left out; or, if it cannot be learned from, ``date``,
        ``text`` or ``nested``.
    why : str
        The reason for the kind.
    categories : tuple of str
    numeric : bool
        For a label, True if its values are numbers.
    named : bool
        The table has names.
    """

    name: str
    position: int
    kind: Kind
    why: str
    categories: tuple[str, ...] = ()
    numeric: bool = True
    named: bool = True

    @property
    def features(self) -> list[str]:
        """The names of its features."""
        if self.kind == "category":
            return [f"{self.name}={category}" for category in self.categories]
        return [self.name] if self.kind in ("number", "constant", "boolean") else []

    @property
    def as_text(self) -> bool:
        """True if its values are read as text."""
        return self.kind in ("category", "boolean") or (self.kind == "label" and not self.numeric)

    def __str__(self) -> str:
        return f"column {self.position} ({self.name})" if self.named else f"column {self.position}"


@dataclass(frozen=True)
class Sample:
    """The first values of a column, None where they are missing; ``kind`` is what its type says, None for text."""

    name: str
    values: Sequence[Any]
    kind: Literal["number", "boolean", "date", "nested"] | None = None


def columns_of(samples: Sequence[Sample], label: int | None, named: bool, index: Sequence[int]) -> list[Column]:
    """Return the columns of a table; positions count from 1."""
    return [
        _column(sample, position, named, label == position, position in index)
        for position, sample in enumerate(samples, start=1)
    ]


def _column(sample: Sample, position: int, named: bool, is_label: bool, is_index: bool) -> Column:
    kind, why, categories = _kind(sample)
    if is_label:
        numeric = kind in ("number", "constant") and sample.kind != "boolean"
        if kind in ("date", "nested") and sample.kind:
            raise InputError(f"{_called(sample, position, named)} cannot be the label: {why}")
        return Column(sample.name, position, "label", "the label", (), numeric, named)
    if is_index:
        return Column(sample.name, position, "index", "left out as asked", named=named)
    if kind == "number" and named and sample.name.lower() in INDEX_NAMES and _counts(sample.values):
        return Column(sample.name, position, "index", "left out: it counts the rows", named=named)
    return Column(sample.name, position, kind, why, categories, named=named)


def _kind(sample: Sample) -> tuple[Kind, str, tuple[str, ...]]:
    values = [value for value in sample.values if value is not None]
    so_far = f"the first {len(sample.values):,} rows"
    if sample.kind in ("date", "nested"):
        return sample.kind, "it holds dates or times" if sample.kind == "date" else "it holds lists or records", ()
    if not values:
        return "number", f"no values in {so_far}", ()
    distinct = set(values)
    if sample.kind == "boolean":
        return "boolean", "true and false", ()
    if sample.kind == "number":
        return _number(distinct, "numbers", so_far)
    numbers = {value for value in distinct if not is_text(value)}
    n_numbers = len(values) if len(numbers) == len(distinct) else sum(value in numbers for value in values)
    if 2 * n_numbers >= len(values):
        told = "numbers" if n_numbers == len(values) else f"{n_numbers / len(values):.1%} numbers"
        return _number(distinct if n_numbers == len(values) else {0, 1}, told, so_far)
    if any({value.lower() for value in distinct} <= pair.keys() for pair in BOOLEANS):
        return "boolean", f"only {' and '.join(sorted(distinct))} in {so_far}", ()
    if 2 * sum(_DATE.fullmatch(value) is not None for value in distinct) >= len(distinct):
        return "date", f"it holds dates or times, such as {next(iter(values))!r}", ()
    if len(distinct) > MOST_CATEGORIES or (len(distinct) > 50 and 2 * len(distinct) > len(values)):
        return "text", f"it holds text, {len(distinct):,} different values in {so_far}", ()
    told = "category" if len(distinct) == 1 else "categories"
    return "category", f"text with {len(distinct):,} {told} in {so_far}", tuple(sorted(distinct))


def _number(distinct: set[Any], what: str, so_far: str) -> tuple[Kind, str, tuple[str, ...]]:
    if len({float(value) for value in distinct}) == 1:
        return "constant", f"always {next(iter(distinct))} in {so_far}", ()
    return "number", f"{what} in {so_far}", ()


def _counts(values: Sequence[Any]) -> bool:
    """Return True if values count from 0 or 1."""
    try:
        numbers = [float(value) for value in values]
    except (TypeError, ValueError):
        return False
    return any(numbers == [float(start + k) for k in range(len(numbers))] for start in (0, 1))


def _called(sample: Sample, position: int, named: bool) -> str:
    return f"column {position} ({sample.name})" if named else f"column {position}"


def find_column(samples: Sequence[Sample], wanted: str | int, where: str, named: bool, what: str) -> int:
    """Return the position, from 1, of a column that a user names.

    ``first`` and ``last``, a name of the header, or a number: from 1, or from -1 for the last.
    """
    names = [sample.name for sample in samples] if named else []
    if isinstance(wanted, str):
        if names.count(wanted) == 1:
            return names.index(wanted) + 1
        if names.count(wanted) > 1:
            positions = listed([at for at, name in enumerate(names, start=1) if name == wanted])
            raise InputError(f"{where}: {what}: columns {positions} are all called '{wanted}'; give a number instead")
        if wanted in ("first", "last"):
            return 1 if wanted == "first" else len(samples)
    if re.fullmatch(r"-?\d{1,9}", str(wanted)):
        number = int(wanted)
        position = number + len(samples) + 1 if number < 0 else number
        if 1 <= position <= len(samples):
            return position
        raise InputError(f"{where}: {what}: no column {number}; columns count from 1 to {len(samples):,}")
    known = f"its columns are {listed(names)}" if named else "the table has no header; give the number of the column"
    raise InputError(f"{where}: {what}: no column '{wanted}'; {known}")


def find_label(samples: Sequence[Sample], where: str, named: bool) -> tuple[int, str]:
    """Return the position, from 1, of the column that seems to be the label, and a sentence that says why.

    Raises
    ------
    InputError
        No column, or more than one, seems to be the label.
    """
    names = [sample.name.lower() for sample in samples]
    usual = [name for name in LABEL_NAMES if named and names.count(name) == 1]
    if usual:
        position = names.index(usual[0]) + 1
        return position, f"the label is {_called(samples[position - 1], position, named)}, by its name"
    kinds = [_kind(sample)[0] for sample in samples]
    texts = [position for position, kind in enumerate(kinds, start=1) if kind == "category"]
    if len(texts) == 1:
        return texts[0], f"the label is {_called(samples[texts[0] - 1], texts[0], named)}, the only one with text"
    ends = [position for position in sorted({1, len(samples)}) if _like_labels(samples[position - 1])]
    if not texts and len(ends) == 1:
        called = _called(samples[ends[0] - 1], ends[0], named)
        other = "last" if ends[0] == 1 else "first"
        return ends[0], f"the label is {called}, which has few different whole numbers, and the {other} column has not"
    found = [_called(samples[position - 1], position, named) for position in (texts or ends)]
    told = f"{' and '.join(found[:5])} could be it" if found else "no column looks like one"
    raise InputError(f"{where}: which column is the label? {told}; name it (--label NAME or NUMBER)")


def _like_labels(sample: Sample) -> bool:
    distinct = {value for value in sample.values if value is not None}
    if sample.kind == "boolean" or (sample.kind is None and _kind(sample)[0] == "boolean"):
        return True
    try:
        return 1 < len(distinct) <= MOST_LABELS and all(float(value).is_integer() for value in distinct)
    except (TypeError, ValueError, OverflowError):
        return False


def to_json(columns: Sequence[Column]) -> list[dict[str, Any]]:
    """Return columns as values that JSON can hold."""
    return [asdict(column) for column in columns]


def fitted_columns(
    learned: Sequence[dict[str, Any]], samples: Sequence[Sample], where: str, named: bool, label: str | int | None
) -> list[Column]:
    """Return columns as those of another table, which `to_json` gave, in its order: by name, if both have names.

    Raises
    ------
    InputError
        A column is missing.
    """
    columns = [Column(**{**one, "categories": tuple(one["categories"])}) for one in learned]
    n, names = len(samples), [sample.name for sample in samples]
    by_name = named and columns[0].named
    without_label = [column for column in columns if column.kind != "label"]
    if not by_name and n not in (len(columns), len(without_label)):
        raise InputError(
            f"{where}: {n:,} columns where the table that was learned has {len(columns):,}; they must be equal"
        )
    fitted = []
    for at, column in enumerate(columns if n == len(columns) or by_name else without_label, start=1):
        if by_name and column.name not in names:
            if column.kind in ("label", "index"):
                continue
            raise InputError(f"{where}: column '{column.name}' of the table that was learned is missing")
        position = names.index(column.name) + 1 if by_name else at
        if column.kind == "label" and label is not None:
            position = find_column(samples, label, where, named, "label")
        fitted.append(replace(column, position=position))
    others = set(range(1, n + 1)) - {column.position for column in fitted}
    why = "left out: not in the table that was learned"
    return fitted + [Column(names[at - 1], at, "index", why, named=by_name) for at in sorted(others)]


def as_classes(found: Iterable[Any]) -> tuple[Label, ...]:
    """Return distinct labels, ascending; whole numbers as int, without missing ones."""
    kept = [value for value in found if value == value and value != ""]
    return tuple(int(v) if isinstance(v, float) and v.is_integer() else v for v in sorted(kept))


def check_distinct(found: set[Any], where: str, column: Column | None) -> None:
    """Raise an InputError if a column has too many different labels or categories."""
    if len(found) > MOST_CATEGORIES:
        told = "categories; turn it into numbers first, or leave the column out"
        if column is None or column.kind == "label":
            told = (
                "labels; is it a measured number? Name the column of the labels (--label NAME or NUMBER), or learn "
                "numbers (--task regression)"
            )
        raise InputError(f"{where}: {column}: more than {MOST_CATEGORIES:,} different {told}")
