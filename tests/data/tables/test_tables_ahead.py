"""The thread that reads ahead ends cleanly, and memory stays bounded."""

import io
import os
import threading
import tracemalloc

import pytest

from budgetrun.data import content as lines
from budgetrun.data.tables import open_table
from budgetrun.data.tables.table import ahead


def readers():
    # Progress bars of other tests leave a thread of their own.
    own = [thread for thread in threading.enumerate() if not type(thread).__module__.startswith("tqdm")]
    return [thread for thread in own if thread is not threading.main_thread()]


def test_items_come_in_order_and_none_is_left_out():
    assert list(ahead(item for item in [1, None, 2, None, 3])) == [1, 2, 3]


def test_an_error_comes_in_its_place_and_the_thread_ends():
    def items():
        yield 1
        raise KeyError("here")

    found = ahead(items())
    assert next(found) == 1
    with pytest.raises(KeyError):
        next(found)
    assert not readers()


def test_a_caller_who_stops_early_ends_the_thread():
    closed = []

    def items():
        try:
            yield from range(10**9)
        finally:
            closed.append(True)

    found = ahead(items())
    assert next(found) == 0
    found.close()
    assert closed
    assert not readers()


def test_a_pipe_without_end_gives_what_has_arrived_and_can_be_left(monkeypatch):
    monkeypatch.setattr(lines, "HEAD_SECONDS", 0.2)
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as file, os.fdopen(writing, "wb", buffering=0) as source:
        source.write(b"a,y\n" + b"1,0\n2,1\n" * 5000)
        table = open_table(file, label="y")
        chunks = table.chunks(10)
        source.write(b"3,0\n" * 20)
        found = [next(chunks) for _ in range(1002)]
        assert sum(len(chunk.y) for chunk in found) == 10020
        chunks.close()
    assert not readers()


def test_a_long_stream_is_read_in_bounded_memory(monkeypatch):
    monkeypatch.setattr(lines, "BLOCK_BYTES", 1 << 16)
    monkeypatch.setattr(lines, "HEAD_BYTES", 1 << 16)
    rows = b"".join(b"%d.5,%d,%d\n" % (i, i * i % 97, i % 2) for i in range(10_000))

    class Source(io.RawIOBase):
        left = 40

        def read(self, size=-1):
            self.left -= 1
            return rows if self.left >= 0 else b""

    next(open_table(io.BytesIO(rows), label="last").chunks())  # imports
    tracemalloc.start()
    try:
        table = open_table(Source(), label="last")
        assert sum(len(chunk.y) for chunk in table.chunks()) == 400_000
        assert tracemalloc.get_traced_memory()[1] < 4e6 < 40 * len(rows)
    finally:
        tracemalloc.stop()
