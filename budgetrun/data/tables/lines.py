"""Text in blocks of whole lines, so that each block can be parsed on its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from budgetrun.base.errors import InputError
from budgetrun.data.tables.origins import Origin

HEAD_BYTES = 1 << 20
HEAD_ROWS = 10_000
HEAD_FIELDS = 400_000
BLOCK_BYTES = 1 << 21
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")


class Lines(NamedTuple):
    """Whole lines, each ending in ``\\n``, and the number from 1 of the first of them."""

    text: bytes
    first: int


def last_line_end(text: bytes) -> int:
    """Return the position after the last line end, 0 if there is none."""
    return text.rfind(b"\n") + 1


def head_lines(origin: Origin, whole: Callable[[bytes], int] = last_line_end) -> bytes:
    """Return the first lines of a text, at most `HEAD_BYTES` of them or the first line."""
    n_bytes = HEAD_BYTES
    while True:
        head = origin.head(n_bytes)
        text = _normal(head, first=True)
        if head.startswith(_UTF_16):
            raise InputError(f"{origin.name}: UTF-16 text; save the file as UTF-8")
        end = whole(text)
        if end and len(head) >= n_bytes:
            return text[:end]
        if len(head) < n_bytes:  # all there is, or all that has arrived
            return text[:end] if end and not origin.again else text + (b"" if text.endswith(b"\n") else b"\n")
        if n_bytes > 64 * HEAD_BYTES:
            raise InputError(f"{origin.name}: no line ends in its first {n_bytes >> 20} MB; this is no text of rows")
        n_bytes *= 4


def line_blocks(origin: Origin, whole: Callable[[bytes], int] = last_line_end) -> Iterator[Lines | None]:
    """Yield a text in blocks of about `BLOCK_BYTES`.

    None means that nothing has arrived for a while; then, blocks are as short as what has arrived.

    Parameters
    ----------
    origin : Origin
    whole : function of bytes to int
        Returns the position after the last row that is complete, 0 if there is none.
    """
    held: list[bytes] = []
    n_bytes, needed, number, started = 0, BLOCK_BYTES, 1, False
    for piece in origin.pieces():
        held.append(piece)
        n_bytes += len(piece)
        if n_bytes < needed and (piece or not n_bytes):
            if not piece:
                yield None
            continue
        text = _normal(b"".join(held), first=not started)
        end = whole(text)
        if end:
            started = True
            yield Lines(text[:end], number)
            number += text.count(b"\n", 0, end)
        elif not piece:
            yield None
        elif n_bytes > 64 * BLOCK_BYTES:
            raise InputError(
                f"{origin.name}:{number}: a row of more than {n_bytes >> 20} MB; is a quotation mark not closed?"
            )
        held = [text[end:]]
        n_bytes = len(held[0])
        needed = max(BLOCK_BYTES, 2 * n_bytes)
    text = _normal(b"".join(held), first=not started)
    if text or not started:
        yield Lines(text + (b"" if text.endswith(b"\n") else b"\n"), number)


def _normal(text: bytes, first: bool) -> bytes:
    """Return text without a byte order mark at the beginning, with ``\\n`` for ``\\r\\n``."""
    text = text.removeprefix(_BYTE_ORDER_MARK) if first else text
    return text.replace(b"\r\n", b"\n") if b"\r" in text else text
