"""CSV and TSV as people write them: quotes, separators of several kinds, a header or none, blank lines."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from budgetrun.base.errors import InputError
from budgetrun.data import content
from budgetrun.data.content import Held, Lines, Origin, is_text, last_line_end, shown
from budgetrun.data.formats import Content, Examples, LabelColumn, Layout, joined
from budgetrun.data.tables.columns import MISSING, MOST_LABELS, Batch, Column, Fault, Reader, Sample, check_width
from budgetrun.data.tables.table import Table

REVISION = 1
SUFFIXES = (".csv", ".tsv")
SEPARATORS = ";\t,|"
# Number of first lines used to detect the separator, and the most bytes of them.
_LOOKED_AT = 20
_LOOKED_BYTES = 1 << 18
_WIDE = 4096  # with more columns than this, rows of another length are looked for first
_QUOTED = re.compile(rb'"(?:[^"]|"")*+"')


def read(files: Sequence[Content], layout: Layout) -> Examples:
    """Read tables with `parse_table`."""
    return joined([parse_table(*file, layout.label_column) for file in files], files[0].where)


def parse_table(
    text: bytes, where: str, label: LabelColumn = "first"
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the examples, one per row, and labels of a table of numbers, as float64.

    An InputError names the file, line and column (both from 1) of the first fault.
    """
    table = Table(Delimited(Held(text, where)), label)
    for column in table.columns:
        if column.kind not in ("number", "constant") and not (column.kind == "label" and column.numeric):
            raise InputError(f"{where}: {column} does not hold numbers")
    X, y = table.whole(len(text))
    return np.asarray(X), y


class _Row(NamedTuple):
    """The fields of a row, and the numbers of the line that it starts in and of the one after it, from 0."""

    fields: list[str]
    line: int
    end: int


class Delimited(Reader):
    """Text whose columns are separated by semicolons, tabs, commas, bars or blanks.

    The separator is the first of these that occurs equally often in all of the first lines. The first row is a header
    if all its fields are text, and either a column has numbers below it or some field does not occur below it; if one
    field is text and the others count the columns; if it is 0, 1, 2, ... itself; or if a field is not one of the few
    texts below it, which recur. Blank lines are left out, and so are lines before the header that begin with #.
    """

    def __init__(self, origin: Origin) -> None:
        super().__init__(origin)
        head = content.head_lines(origin)
        self._n_comments = _n_comments(head)
        self.separator = _separator(head.split(b"\n", self._n_comments)[-1])
        s = re.escape(self.separator)
        self._field_pattern = re.compile(rf'(?: *+"((?:[^"]|"")*+)"([^{s}\n]*+)|([^{s}\n]*+))({s}|\n)')
        field = rf'(?: *+"(?:[^"]|"")*+"[^{s}\n]*+|(?! *")[^{s}\n]*+)'
        self._rows_pattern = re.compile(rf"(?:{field}(?:{s}{field})*+\n)*+".encode())
        if b'"' in head:
            head = content.head_lines(origin, self._whole)
        head = head.split(b"\n", self._n_comments)[-1]
        self._refuse_returns(head, 1 + self._n_comments)
        found = self._rows(head)
        row = next(found, None)
        if row is None:
            raise InputError(f"{self.where}: no rows; all lines are blank")
        first = [field.strip(" ") for field in row.fields]
        self._width, self.named = len(first), False
        check_width(self._width, self.where)
        rows = list(islice(found, min(content.HEAD_ROWS, content.HEAD_FIELDS // self._width + 1)))
        below = [row.fields for row in rows if len(row.fields) == self._width]
        if self._width > _WIDE and len(below) < len(rows):
            # Before the kind of each of these many columns is decided.
            wrong = next(row for row in rows if len(row.fields) != self._width)
            raise InputError(self._of_another_length(wrong, 1))
        columns = [[field.strip(" \t") for field in column] for column in zip(*below, strict=True)]
        columns = columns or [[] for _ in first]
        # Before revision 2, such headers were read as rows.
        is_new = len(first) > 1 and (_is_count(first) or _is_alone(first, columns))
        self.format = "table 2" if is_new else self.format
        self.named = is_new or _is_header(first, columns)
        if self.named and not head.split(b"\n", row.end)[-1].strip():
            raise InputError(f"{self.where}: no rows below the header line")
        if not self.named:
            columns = [[name, *column] for name, column in zip(first, columns, strict=True)]
        names = first if self.named else [str(position) for position in range(1, self._width + 1)]
        self.samples = [
            Sample(name, [None if value in MISSING else value for value in column])
            for name, column in zip(names, columns, strict=True)
        ]

    def batches(self, wanted: Sequence[Column]) -> Iterator[Batch | None]:
        header = self.named
        for lines in content.line_blocks(self.origin, self._whole, self._width):
            if lines is None:
                yield None
                continue
            text, number = lines
            if number == 1:
                text, number = text.split(b"\n", self._n_comments)[-1], 1 + self._n_comments
            if b'"' in text and self._whole(text) < len(text):
                at = number + text.count(b"\n", 0, self._whole(text))
                raise InputError(f"{self.where}:{at}: a quotation mark opens a field and is never closed")
            self._refuse_returns(text, number)
            if header:
                first = next(self._rows(text), None)
                if first is None:
                    continue
                number += first.end
                text, header = text.split(b"\n", first.end)[-1], False
            if text.strip(b" \n"):
                yield self._batch(Lines(text, number), wanted)

    def _refuse_returns(self, text: bytes, number: int) -> None:
        """Refuse carriage returns that pyarrow takes for line ends; in quotes they may stand."""
        if b"\r" in text and b"\r" in _QUOTED.sub(b"", text):
            at = number + text.count(b"\n", 0, text.index(b"\r"))
            told = "a carriage return without a line feed; save the file with \\n line ends"
            raise InputError(f"{self.where}:{at}: {told}")

    def _batch(self, lines: Lines, wanted: Sequence[Column]) -> Batch:
        import pyarrow as pa

        text = _single_blanks(lines.text) if self.separator == " " else lines.text

        @cache
        def rows() -> list[_Row]:
            return [row for row in self._rows(text) if len(row.fields) == self._width]

        def place(row: int, position: int) -> str:
            return f"{self.where}:{lines.first + rows()[row].line}:{position}"

        def cell(row: int, position: int) -> str:
            return rows()[row].fields[position - 1].strip(" \t")

        faults: list[Fault] = []
        try:
            columns = self._parsed(text, wanted)
        except pa.ArrowInvalid:
            columns, faults = self._carefully(text, wanted, lines.first)
        return Batch(columns, len(next(iter(columns.values()))), place, cell, faults)

    def _parsed(self, text: bytes, wanted: Sequence[Column]) -> dict[int, Any]:
        import pyarrow as pa
        import pyarrow.compute as pc
        from pyarrow import csv

        # pyarrow takes quotes after a blank for text.
        if b'"' in text and any(mark + b' "' in text for mark in (self.separator.encode(), b"\n")):
            raise pa.ArrowInvalid("blanks before quotes")
        texts, numbers = pa.dictionary(pa.int32(), pa.string()), pa.float64()
        table = csv.read_csv(
            pa.py_buffer(text),
            csv.ReadOptions(
                use_threads=False, block_size=len(text) + 1, column_names=list(map(str, range(1, self._width + 1)))
            ),
            csv.ParseOptions(delimiter=self.separator, newlines_in_values=b'"' in text),
            csv.ConvertOptions(
                column_types={str(column.position): texts if column.as_text else numbers for column in wanted},
                include_columns=[str(column.position) for column in wanted],
                null_values=list(MISSING), strings_can_be_null=True, quoted_strings_can_be_null=True,
            ),
        )  # fmt: skip
        arrays = {column.position: table.column(k).combine_chunks() for k, column in enumerate(wanted)}
        if any(not column.as_text and pc.any(pc.is_nan(arrays[column.position])).as_py() for column in wanted):
            raise pa.ArrowInvalid("words such as nan(1)")
        return arrays

    def _carefully(self, text: bytes, wanted: Sequence[Column], first: int) -> tuple[dict[int, Any], list[Fault]]:
        """Read rows that have a fault, or are unusual: slower, and says what is wrong."""
        import pyarrow as pa

        rows: list[list[str]] = []
        wrong: list[tuple[int, str]] = []
        for row in self._rows(text):
            if len(row.fields) == self._width:
                rows.append(row.fields)
            else:
                wrong.append((len(rows), self._of_another_length(row, first)))
        faults = self.length_faults(wrong)
        texts = [column.position for column in wanted if column.as_text]
        undecoded = [(row, at) for row, fields in enumerate(rows) for at in texts if "\ufffd" in fields[at - 1]]
        if undecoded:
            first_row, at = undecoded[0]
            told = f"{shown(rows[first_row][at - 1])} is not UTF-8 text; save the file as UTF-8"
            faults.append(Fault("encoding", first_row, at, len(undecoded), told))
        positions = [column.position for column in wanted]
        return {at: pa.array([fields[at - 1] for fields in rows], pa.large_string()) for at in positions}, faults

    def _of_another_length(self, row: _Row, first: int) -> str:
        n, width = len(row.fields), self._width
        source = "the header" if self.named else "the first row"
        told = f"{n} columns where {source} has {width}; all rows have the same length"
        return f"{self.where}:{first + row.line}:{min(n, width) + 1}: {told}"

    def _whole(self, text: bytes) -> int:
        if b'"' not in text:
            return last_line_end(text)
        found = self._rows_pattern.match(text)
        return found.end() if found else 0

    def _rows(self, text: bytes) -> Iterator[_Row]:
        """Yield the rows of a text that ends in a line end; blank lines are left out."""
        lines = (_single_blanks(text) if self.separator == " " else text).decode("utf-8", errors="replace")
        if '"' not in lines:
            for number, line in enumerate(lines[:-1].split("\n")):
                if line.strip(" "):
                    yield _Row(line.split(self.separator), number, number + 1)
            return
        fields: list[str] = []
        number = start = 0
        for found in self._field_pattern.finditer(lines):
            quoted, rest, plain, end = found.groups()
            fields.append(plain if quoted is None else quoted.replace('""', '"') + rest)
            number += found[0].count("\n")
            if end == "\n":
                if len(fields) > 1 or fields[0].strip(" ") or quoted is not None:
                    yield _Row(fields, start, number)
                fields, start = [], number


def _separator(head: bytes) -> str:
    """Return the separator of a text, by its first lines without what is quoted."""
    lines = [line for line in _QUOTED.sub(b"", head[:_LOOKED_BYTES]).split(b"\n") if line.strip(b" ")]
    lines = lines[: min(_LOOKED_AT, len(lines) - 1 if len(head) > _LOOKED_BYTES and len(lines) > 1 else len(lines))]
    for separator in SEPARATORS:
        counts = {line.count(separator.encode()) for line in lines}
        if len(counts) == 1 and counts != {0}:
            return separator
    second = lines[1] if len(lines) > 1 else lines[0] if lines else b""
    return next((separator for separator in SEPARATORS if separator.encode() in second), " ")


def _n_comments(head: bytes) -> int:
    """Return the number of first lines that begin with #, without one that names the columns."""
    lines = head.split(b"\n")
    n = next(k for k, line in enumerate(lines) if not line.startswith(b"#"))
    rest = b"\n".join(lines[n:])
    separator = _separator(rest).encode()
    if n and lines[n].strip() and lines[n - 1].lstrip(b"# ").count(separator) == lines[n].count(separator) > 0:
        return n - 1
    return n if rest.strip() else 0


def _single_blanks(text: bytes) -> bytes:
    return re.sub(rb" *\n *", lambda found: b"\n" * found[0].count(b"\n"), re.sub(rb" +", b" ", text)).lstrip(b" ")


def _is_header(first: list[str], columns: list[list[str]]) -> bool:
    if len(first) < 2:
        return bool(first[0]) and _is_text(first[0]) and any(not _is_text(value) for value in columns[0])
    texts = [field for field in first if _is_text(field)]
    others = [field for field in first if not _is_text(field)]
    if len(texts) == 1 and others in ([str(start + k) for k in range(len(others))] for start in (0, 1)):
        return True
    if not texts or any(others):
        return False
    with_numbers = any(not _is_text(value) for column in columns for value in column[:_LOOKED_AT] if value)
    return with_numbers or not all(field in column for field, column in zip(first, columns, strict=True))


def _is_count(first: list[str]) -> bool:
    """Return True if a row is 0, 1, 2, ..., as pandas names columns, perhaps after the empty name of its index."""
    fields = first[first[0] == "" :]
    return len(fields) > 2 and fields == [str(k) for k in range(len(fields))]


def _is_alone(first: list[str], columns: list[list[str]]) -> bool:
    """Return True if a field is not one of the few texts below it, which recur, and some field is not text.

    Names of columns may be numbers, such as years.
    """
    for field, column in zip(first, columns, strict=True):
        counts = Counter(column) if field not in MISSING and len(column) >= _LOOKED_AT else {}
        if 1 < len(counts) <= MOST_LABELS and field not in counts and min(counts.values()) > 1:
            return all(map(_is_text, counts)) and not all(map(_is_text, first))
    return False


def _is_text(field: str) -> bool:
    return field not in MISSING and is_text(field)


READER = Delimited
