"""Blocks of rows as the readers of all formats give them: a numpy array per column, and what is wrong in them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from budgetrun.data.tables.columns import MISSING, Sample
from budgetrun.data.text import number_fault

_MISSING = frozenset(MISSING)


class Texts(NamedTuple):
    """Text: the position of each row's value in ``values``, -1 where it is missing."""

    codes: NDArray[np.int32]
    values: list[str]


Values: TypeAlias = "NDArray[np.float64] | Texts"


class Fault(NamedTuple):
    """Something wrong in a block.

    Attributes
    ----------
    kind : 'length', 'text', 'missing', 'infinite', 'label'
    row : int
        The first row of the block that has it, from 0.
    position : int
        The column, from 1.
    n : int
        Rows that have it.
    told : str
        What the first one is, as a clause.
    """

    kind: str
    row: int
    position: int
    n: int
    told: str


@dataclass
class Block:
    """Some rows: the values of the columns by position, NaN or -1 where they are missing.

    ``places`` returns where messages say that a row and a column are; ``cell`` returns the text of a field.
    """

    columns: dict[int, Values]
    n_rows: int
    places: Callable[[int, int], str]
    cell: Callable[[int, int], str]
    faults: list[Fault] = field(default_factory=list)


class Reader(Protocol):
    """What reads a table of columns.

    Attributes
    ----------
    where : str
        For messages.
    samples : sequence of Sample
        The first values of all columns.
    named : bool
        Whether the columns have names.
    again : bool
        Whether the rows can be read more than once.
    hashed : bool
        Whether the content has a checksum of its own.
    sha256 : str or None
        Of the content; known once all of it was read.
    """

    where: str
    samples: list[Sample]
    named: bool
    again: bool
    hashed: bool

    @property
    def n_rows(self) -> int | None:
        """None if it is not known before the end."""
        ...

    @property
    def sha256(self) -> str | None: ...

    def blocks(self, wanted: Mapping[int, bool]) -> Iterator[Block | None]:
        """Yield the values of some columns, as text where ``wanted`` is true; None while nothing arrives."""
        ...


def numbers_of(array: Any) -> tuple[NDArray[np.float64], list[int]]:
    """Return an Arrow array as numbers, NaN where they are missing, and the rows whose text is no number.

    Text that stands for a number beyond the range of float64 becomes an infinity.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if not (pa.types.is_string(array.type) or pa.types.is_large_string(array.type) or _is_view(array.type)):
        if pa.types.is_null(array.type):
            return np.full(len(array), np.nan), []
        found = pc.cast(array, pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        return found.astype(np.float64, copy=False), []
    found, faults = np.full(len(array), np.nan), []
    known: dict[str, float] = {}
    for row, text in enumerate(array.to_pylist()):
        text = "" if text is None else text.strip(" \t")
        if text in _MISSING:
            continue
        value = known.get(text)
        if value is None:
            fault = number_fault(text)
            if fault is not None and fault.endswith("is not a number"):
                faults.append(row)
                value = 0.0
            else:
                value = known[text] = float(text)
        found[row] = value
        if len(known) > 1000:
            known.clear()
    return found, faults


def texts_of(array: Any) -> Texts:
    """Return an Arrow array as text without blanks around it."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_dictionary(array.type):
        if pa.types.is_floating(array.type) or pa.types.is_decimal(array.type):
            array = pa.array(
                [None if v is None or v != v else f"{float(v):.17g}" for v in array.to_pylist()], pa.string()
            )
        array = pc.cast(array, pa.large_string()).dictionary_encode()
    values = ["" if value is None else str(value).strip(" \t") for value in array.dictionary.to_pylist()]
    distinct = list(dict.fromkeys(value for value in values if value not in _MISSING))
    position = {value: at for at, value in enumerate(distinct)}
    codes = np.array([*(position.get(value, -1) for value in values), -1], dtype=np.int32)
    return Texts(codes[array.indices.fill_null(len(values)).to_numpy(zero_copy_only=False)], distinct)


def _is_view(kind: Any) -> bool:
    import pyarrow as pa

    return hasattr(pa.types, "is_string_view") and bool(pa.types.is_string_view(kind))
