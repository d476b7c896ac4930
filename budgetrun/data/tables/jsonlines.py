"""JSON lines: one object per line, with a number, text, true, false or null for each key."""

import json
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from budgetrun.base.errors import InputError, clipped
from budgetrun.data.content import HEAD_ROWS, Lines, Origin, head_lines, line_blocks, shown
from budgetrun.data.tables.columns import MISSING, Batch, Column, Reader, Sample, check_width

_KINDS: dict[type, Any] = {bool: "boolean", int: "number", float: "number", str: None, list: "nested", dict: "nested"}


class JsonLines(Reader):
    """JSON lines; the keys of the first rows are the columns."""

    def __init__(self, origin: Origin) -> None:
        super().__init__(origin)
        found: dict[str, list[Any]] = {}
        lines = [line for line in head_lines(origin).split(b"\n") if line.strip()][:HEAD_ROWS]
        for row, line in enumerate(lines):
            record = _parsed(line)
            for key, value in record.items() if isinstance(record, dict) else ():
                found.setdefault(key, [None] * len(lines))[row] = value
        if not found:
            told = f"; the first line {_parsed(lines[0])}" if lines else ""
            example = '{"x": 1, "y": 0}'
            raise InputError(f"{self.where}: no rows{told}; JSON lines has one object per line, such as {example}")
        check_width(len(found), self.where)
        self.samples = [_sample(name, values) for name, values in found.items()]
        self._position = {sample.name: at for at, sample in enumerate(self.samples, start=1)}

    def batches(self, wanted: Sequence[Column]) -> Iterator[Batch | None]:
        for lines in line_blocks(self.origin, n_columns=len(self.samples)):
            if lines is None or lines.text.strip():
                yield None if lines is None else self._batch(lines, wanted)

    def _batch(self, lines: Lines, wanted: Sequence[Column]) -> Batch:
        import pyarrow as pa
        from pyarrow import json as of_arrow

        @cache
        def rows() -> list[tuple[int, dict[str, Any]]]:
            return [(at, record) for at, record in self._records(lines) if isinstance(record, dict)]

        def cell(row: int, position: int) -> str:
            value = rows()[row][1].get(self.samples[position - 1].name)
            return value if isinstance(value, str) else json.dumps(value)

        def place(row: int, position: int) -> str:
            return f"{self.where}:{rows()[row][0]}"

        types = {None: pa.string(), "number": pa.float64(), "boolean": pa.bool_()}
        schema = pa.schema([(s.name, types[s.kind]) for s in self.samples if s.kind in types])
        names = {column.position: self.samples[column.position - 1].name for column in wanted}
        try:
            table = of_arrow.read_json(
                pa.BufferReader(lines.text),
                of_arrow.ReadOptions(use_threads=False, block_size=len(lines.text) + 1),
                of_arrow.ParseOptions(explicit_schema=schema, unexpected_field_behavior="error"),
            )
            columns = {position: table.column(name).combine_chunks() for position, name in names.items()}
            return Batch(columns, table.num_rows, place, cell)
        except pa.ArrowInvalid:
            # A line has a fault, or is unusual.
            records: list[dict[str, Any]] = []
            wrong: list[tuple[int, str]] = []
            for at, record in self._records(lines):
                if isinstance(record, dict):
                    records.append(record)
                else:
                    wrong.append((len(records), f"{self.where}:{at}: {record}"))
            texts = {at: [_text(record.get(name)) for record in records] for at, name in names.items()}
            columns = {at: pa.array(values, pa.string()) for at, values in texts.items()}
            return Batch(columns, len(records), place, cell, self.length_faults(wrong))

    def _records(self, lines: Lines) -> Iterator[tuple[int, dict[str, Any] | str]]:
        """Yield the number of each line that is not blank with its object, or with what is wrong with it."""
        for number, line in enumerate(lines.text.split(b"\n"), start=lines.first):
            if line.strip():
                record = _parsed(line)
                if isinstance(record, str):
                    yield number, f"{shown(line.decode(errors='replace'))} {record}"
                else:
                    yield number, self._fault(record) or record

    def _fault(self, record: dict[str, Any]) -> str | None:
        for key, value in record.items():
            if key not in self._position:
                return f"key {shown(key)} is not in the first rows"
            kind = self.samples[self._position[key] - 1].kind
            if kind != "nested" and isinstance(value, list | dict):
                return f"{clipped(key)} is a list or an object; only numbers, text, true, false and null are read"
        return None


def _parsed(line: bytes) -> dict[str, Any] | str:
    """Return the object of a line, or a clause that says why it is not one."""
    try:
        found = json.loads(line, parse_int=_whole, object_pairs_hook=_once)
        if b"\\u" in line:
            json.dumps(found, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return "has half a character, such as \\ud800, in its text"
    except KeyError as error:
        return f"has the key {error} twice"
    except (ValueError, RecursionError):
        found = None
    return found if isinstance(found, dict) else "is not a JSON object"


def _whole(digits: str) -> float:
    return int(digits) if len(digits) < 309 else float(digits)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise KeyError(clipped(key))
        found[key] = value
    return found


def _sample(name: str, values: list[Any]) -> Sample:
    values = [
        None if value != value or (isinstance(value, str) and value.strip() in MISSING) else value for value in values
    ]
    kinds = {_KINDS[type(value)] for value in values if value is not None}
    kind: Any = next(iter(kinds), "number") if len(kinds) <= 1 else "nested" if "nested" in kinds else None
    return Sample(name, [_text(value) for value in values] if kind is None else values, kind)


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value and value.strip()
    return json.dumps(value)
