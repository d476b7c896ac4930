"""JSON lines: one object per line, with a number, text, true, false or null for each key."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from budgetrun.base.errors import InputError
from budgetrun.data.tables.blocks import Block, Fault, Values, numbers_of, texts_of
from budgetrun.data.tables.columns import MISSING, Sample
from budgetrun.data.tables.lines import HEAD_ROWS, Lines, head_lines, line_blocks
from budgetrun.data.tables.origins import Origin
from budgetrun.data.text import clipped, shown

_KINDS: dict[type, Any] = {bool: "boolean", int: "number", float: "number", str: None, list: "nested", dict: "nested"}


class JsonLines:
    """A `Reader` of JSON lines; the keys of the first rows are the columns."""

    named = True
    n_rows: int | None = None
    hashed = True

    def __init__(self, origin: Origin) -> None:
        self.where, self.again, self._origin = origin.name, origin.again, origin
        found: dict[str, list[Any]] = {}
        lines = [line for line in head_lines(origin).split(b"\n") if line.strip()][:HEAD_ROWS]
        for row, line in enumerate(lines):
            record = _record(line)
            for key, value in record.items() if record is not None else ():
                found.setdefault(key, [None] * len(lines))[row] = value
        if not found:
            raise InputError(f'{self.where}: no rows; JSON lines has one object per line, such as {{"x": 1, "y": 0}}')
        self.samples = [_sample(name, values) for name, values in found.items()]
        self._position = {sample.name: at for at, sample in enumerate(self.samples, start=1)}

    @property
    def sha256(self) -> str | None:
        """Of the whole content."""
        return self._origin.sha256

    def blocks(self, wanted: Mapping[int, bool]) -> Iterator[Block | None]:
        """Yield the rows; see `Reader`."""
        for lines in line_blocks(self._origin):
            if lines is None or lines.text.strip():
                yield None if lines is None else self._block(lines, wanted)

    def _block(self, lines: Lines, wanted: Mapping[int, bool]) -> Block:
        import pyarrow as pa
        from pyarrow import json as of_arrow

        texts: list[tuple[int, bytes]] = []

        def line_of(row: int) -> tuple[int, bytes]:
            if not texts:
                rows = [(k, line) for k, line in enumerate(lines.text.split(b"\n")) if line.strip()]
                texts.extend(one for one in rows if self._fault(one[1]) is None)
            return texts[row]

        def cell(row: int, position: int) -> str:
            value = (_record(line_of(row)[1]) or {}).get(self.samples[position - 1].name)
            return value if isinstance(value, str) else json.dumps(value)

        def place(row: int, position: int) -> str:
            return f"{self.where}:{lines.first + line_of(row)[0]}"

        types = {None: pa.string(), "number": pa.float64(), "boolean": pa.bool_()}
        schema = pa.schema([(s.name, types[s.kind]) for s in self.samples if s.kind in types])
        faults: list[Fault] = []
        try:
            table = of_arrow.read_json(
                pa.BufferReader(lines.text),
                of_arrow.ReadOptions(use_threads=False, block_size=len(lines.text) + 1),
                of_arrow.ParseOptions(explicit_schema=schema, unexpected_field_behavior="error"),
            )
            arrays = [table.column(self.samples[position - 1].name).combine_chunks() for position in wanted]
            n_rows = table.num_rows
        except pa.ArrowInvalid:
            arrays, n_rows, faults = self._carefully(lines, wanted)
        columns: dict[int, Values] = {}
        for (position, as_text), array in zip(wanted.items(), arrays, strict=True):
            if as_text:
                columns[position] = texts_of(array)
                continue
            columns[position], bad = numbers_of(array)
            if bad:
                told = f"{shown(cell(bad[0], position))} is not a number"
                faults.append(Fault("text", bad[0], position, len(bad), told))
        return Block(columns, n_rows, place, cell, faults)

    def _carefully(self, lines: Lines, wanted: Mapping[int, bool]) -> tuple[list[Any], int, list[Fault]]:
        """Read lines that have a fault, or are unusual: slower, and says what is wrong."""
        import pyarrow as pa

        rows: list[dict[str, Any]] = []
        wrong: list[tuple[int, str]] = []
        for number, line in enumerate(lines.text.split(b"\n"), start=lines.first):
            if not line.strip():
                continue
            fault = self._fault(line)
            if fault is None:
                rows.append(_record(line) or {})
            else:
                wrong.append((len(rows), f"{self.where}:{number}: {fault}"))
        faults = [Fault("length", wrong[0][0], 0, len(wrong), wrong[0][1])] if wrong else []
        names = [self.samples[position - 1].name for position in wanted]
        return [pa.array([_text(row.get(name)) for row in rows], pa.string()) for name in names], len(rows), faults

    def _fault(self, line: bytes) -> str | None:
        record = _record(line)
        if record is None:
            return f"{shown(line.decode(errors='replace'))} is not a JSON object"
        for key, value in record.items():
            if key not in self._position:
                return f"key {shown(key)} is not in the first rows"
            kind = self.samples[self._position[key] - 1].kind
            if kind != "nested" and isinstance(value, list | dict):
                return f"{clipped(key)} is a list or an object; only numbers, text, true, false and null are read"
        return None


def _record(line: bytes) -> dict[str, Any] | None:
    """Return the object of a line, or None if it is none; of a key that occurs twice, the last."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _sample(name: str, values: list[Any]) -> Sample:
    values = [
        None if value != value or (isinstance(value, str) and value.strip() in MISSING) else value for value in values
    ]
    kinds = {_KINDS[type(value)] for value in values if value is not None}
    kind: Any = next(iter(kinds), "number") if len(kinds) <= 1 else "nested" if "nested" in kinds else None
    return Sample(name, [_text(value) for value in values] if kind is None else values, kind)


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return None if value is None else value.strip()
    return json.dumps(value)
