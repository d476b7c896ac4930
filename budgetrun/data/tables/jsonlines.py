"""JSON lines: one object per line, with a number, text, true, false or null for each key."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from budgetrun.base.errors import InputError
from budgetrun.data.tables.columns import MISSING, Sample
from budgetrun.data.tables.source import HEAD_ROWS, Batch, Lines, Origin, Reader, head_lines, length_faults, line_blocks
from budgetrun.data.text import clipped, shown

_KINDS: dict[type, Any] = {bool: "boolean", int: "number", float: "number", str: None, list: "nested", dict: "nested"}


class JsonLines(Reader):
    """JSON lines; the keys of the first rows are the columns."""

    def __init__(self, origin: Origin) -> None:
        super().__init__(origin)
        found: dict[str, list[Any]] = {}
        lines = [line for line in head_lines(origin).split(b"\n") if line.strip()][:HEAD_ROWS]
        for row, line in enumerate(lines):
            record = _record(line)
            for key, value in record.items() if record is not None else ():
                found.setdefault(key, [None] * len(lines))[row] = value
        if not found:
            raise InputError(f'{self.where}: no rows; JSON lines has one object per line, such as {{"x": 1, "y": 0}}')
        self.samples = [_sample(name, values) for name, values in found.items()]
        self._kinds = {sample.name: sample.kind for sample in self.samples}

    def batches(self, wanted: Mapping[int, bool]) -> Iterator[Batch | None]:
        for lines in line_blocks(self.origin):
            yield None if lines is None else self._batch(lines, wanted)

    def _batch(self, lines: Lines, wanted: Mapping[int, bool]) -> Batch:
        import pyarrow as pa

        records: list[dict[str, Any]] = []
        numbers: list[int] = []
        wrong: list[tuple[int, str]] = []
        for number, line in enumerate(lines.text.split(b"\n"), start=lines.first):
            record = _record(line)
            if record is not None and (fault := self._fault(record)) is None:
                records.append(record)
                numbers.append(number)
            elif line.strip():
                told = fault if record is not None else f"{shown(line.decode(errors='replace'))} is not a JSON object"
                wrong.append((len(records), f"{self.where}:{number}: {told}"))

        def cell(row: int, position: int) -> str:
            return _text(records[row].get(self.samples[position - 1].name)) or ""

        columns = {}
        for position, as_text in wanted.items():
            name = self.samples[position - 1].name
            values = [record.get(name) for record in records]
            try:
                if bool in map(type, values):
                    raise TypeError
                columns[position] = pa.array(values, pa.string() if as_text else pa.float64())
            except (TypeError, ValueError):  # values of several types, very large integers, or lone surrogates
                columns[position] = pa.array(map(_text, values), pa.string())
        return Batch(columns, len(records), lambda row, _: f"{self.where}:{numbers[row]}", cell, length_faults(wrong))

    def _fault(self, record: dict[str, Any]) -> str | None:
        for key, value in record.items():
            if key not in self._kinds:
                return f"key {shown(key)} is not in the first rows"
            if isinstance(value, (list, dict)) and self._kinds[key] != "nested":
                return f"{clipped(key)} is a list or an object; only numbers, text, true, false and null are read"
        return None


def _record(line: bytes) -> dict[str, Any] | None:
    """Return the object of a line, with the last value of a key that occurs twice; None for other lines."""
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
        return None if value is None else value.strip().encode(errors="replace").decode()
    return json.dumps(value)
