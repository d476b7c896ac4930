"""CSV as people write it, against Python's csv module; the thread that reads ahead, and memory."""

import csv
import io
import os
import threading
import tracemalloc

import pytest
from faults import message
from hypothesis import given, settings
from hypothesis import strategies as st
from made_files import read

from budgetrun.data import content as lines
from budgetrun.data.tables import open_table
from budgetrun.data.tables.columns import as_classes
from budgetrun.data.tables.table import ahead


def table_of(text, **options):
    return open_table(io.BytesIO(text.encode()), name="s.csv", **options)


words = st.text(st.sampled_from('ab ,;"\n|\t'), min_size=1, max_size=6).map(lambda text: f"w{text}w")
numbers = st.floats(allow_nan=False, allow_infinity=False).map(repr) | st.integers(-9, 9).map(str)


@settings(max_examples=30, deadline=None)
@given(
    rows=st.lists(st.tuples(numbers, words, numbers), min_size=2, max_size=12),
    separator=st.sampled_from(",;\t|"),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC]),
    end=st.sampled_from(["\n", "\r\n"]),
    size=st.sampled_from([16, 40, 1 << 20]),
)
def test_it_reads_what_pythons_csv_module_writes(tmp_path_factory, rows, separator, quoting, end, size):
    path = tmp_path_factory.getbasetemp() / "random.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file, delimiter=separator, quoting=quoting, lineterminator=end)
        writer.writerows([("first", "word", "last"), *rows])
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(lines, "BLOCK_BYTES", size)
        patched.setattr("budgetrun.data.content.PIECE_BYTES", 7)
        with path.open(newline="") as file:
            content = io.BytesIO(file.read().encode())
        for source in (path, content):
            table = open_table(source, label="first", classes=())
            X, y = read(table, 3)
            categories = sorted({word for _, word, _ in rows})
            assert table.features == [*(f"word={word}" for word in categories), "last"]
            assert y == [float(first) for first, _, _ in rows]
            one_hot = [[float(word == category) for category in categories] for _, word, _ in rows]
            assert [[*hot, float(last)] for hot, (_, _, last) in zip(one_hot, rows, strict=True)] == X


FINITE = "a feature is a finite number"
FILL = "fill such gaps (--missing fill), leave the rows out (--missing skip), or read 0 (--missing zero)"


@pytest.mark.parametrize(("text", "fault"), [
    ("a,y\n1,0\n2,\n", "3:2: the label is missing; leave such rows out (--missing skip)"),
    ("a,y\n1,0\nNA,1\n", f"3:1: missing value in column 1 (a); {FILL}"),
    ("a,y\n1,0\n2,1\n3,x\n", "4:2: 'x' is not a number; a label is a number too"),
    ("a,y\n1,0\n2,1\n\n3x,1\n", f"5:1: '3x' is not a number; {FINITE}"),
    ("a,y\n1,0\n\n-inf,1\n", f"4:1: -inf is not a finite number; {FINITE}"),
    ("a,y\n1,0\n2\n", "3:2: 1 columns where the header has 2; all rows have the same length"),
    ('a,t,y\n1,"x\nz",0\n2,"x\nz",1,1\n', "4:4: 4 columns where the header has 3; all rows have the same length"),
    ('a,t,y\n1,"x\nz",0\n2,"x\nz",1\n?4?,q,1\n', f"6:1: '?4?' is not a number; {FINITE}"),
    ('a,y\n1,0\n"2,1\n', "3: a quotation mark opens a field and is never closed"),
    ("a,b,y\n1,2,0\n3,nan(4),1\n", f"3:2: 'nan(4)' is not a number; {FINITE}"),
    ("a,ok,y\n1,yes,0\n1,no,1\n", None),
])  # fmt: skip
def test_a_fault_is_named_with_its_line_and_column(text, fault):
    table = table_of(text, label="y")
    if fault is None:
        assert read(table) == ([[1, 1], [1, 0]], [0, 1])
    else:
        assert message(lambda: list(table.chunks())) == f"s.csv:{fault}"


def test_a_fault_far_down_has_its_line(tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "BLOCK_BYTES", 100)
    rows = [f'{i},"a ""b""\n{i}",{i % 2}\n' for i in range(300)]
    (tmp_path / "s.csv").write_text("x,t,y\n" + "".join(rows[:250]) + "one,b,1\n" + "".join(rows[250:]))
    monkeypatch.setattr("budgetrun.data.tables.columns.MOST_CATEGORIES", 10**6)
    table = open_table(tmp_path / "s.csv", label="y", key="t")
    told = message(lambda: list(table.chunks(7)))
    assert told.endswith("s.csv:502:1: 'one' is not a number; a feature is a finite number")


def test_missing_values_are_refused_skipped_or_zero():
    text = "a,c,y\n1,u,0\n,v,1\n3,?,0\n4,v,\n5,v,1\n"
    skipped = table_of(text, missing="skip", label="y")
    assert read(skipped) == ([[1, 1, 0], [5, 0, 1]], [0, 1])
    assert skipped.skipped == 3
    zero = table_of(text.replace("4,v,\n", ""), missing="zero", label="y")
    assert read(zero) == ([[1, 1, 0], [0, 0, 1], [3, 0, 0], [5, 0, 1]], [0, 1, 0, 1])
    assert zero.zeroed == 2
    told = message(lambda: list(table_of(text, missing="zero", label="y").chunks()))
    assert told == "s.csv:5:3: the label is missing; a missing label cannot be read as 0"
    assert message(open_table, "s.csv", missing="drop") == "missing: must be refuse, skip, zero or fill, got 'drop'"


def test_free_text_is_refused_with_words():
    text = "a,words,y\n" + "".join(f"{i},some text {i},{i % 2}\n" for i in range(99))
    assert "column 2 (words): it holds text, 99 different values in the first 99 rows" in message(table_of(text).chunks)


FEW = "which has few different values"
ASK = "which column is the label? it could be column 1 (u) or column 3 (w); add --label u or --label w"


@pytest.mark.parametrize(("text", "found"), [
    ("x,class,z\n1,2,3\n4,5,6\n", "the label is column 2 (class), by its name"),
    ("x,Target\n1,2\n4,5\n", "the label is column 2 (Target), by its name"),
    ("x,kind,z\n1,a,3\n4,b,6\n", "the label is column 2 (kind), the only one with text"),
    ("0.5,1\n0.7,0\n", f"the label is column 2, {FEW}, and the first column has not"),
    ("1,0.5\n0,0.7\n", f"the label is column 1, {FEW}, and the last column has not"),
    ("x,yes,ok\n1.5,yes,2.5\n2,no,3.5\n", "the label is column 2 (yes), the only one with text"),
    ("x,hue,ok\n1.5,red,yes\n2,red,no\n", f"the label is column 3 (ok), {FEW}, and the first column has not"),
    ("x,hue,ok\n1.5,red,True\n2,blue,False\n", f"the label is column 3 (ok), {FEW}, and the first column has not"),
    ("0,1,2\n0.5,1.5,0\n2.5,3.5,1\n", f"the label is column 3 (2), {FEW}, and the first column has not"),
    (",0,1,2\n0,0.5,1.5,0\n1,2.5,3.5,1\n", f"the label is column 4 (2), {FEW}, and the first column has not"),
])  # fmt: skip
def test_the_label_is_found_and_said(text, found):
    assert table_of(text).label_found == found


@pytest.mark.parametrize(("label", "told"), [
    (None, ASK),
    ("q", "label: no column 'q'; its columns are u v w"),
    (4, "label: no column 4; columns count from 1 to 3, or back from -1"),
    (0, "label: no column 0; columns count from 1 to 3, or back from -1"),
])  # fmt: skip
def test_a_label_that_is_not_clear_is_asked_for(label, told):
    assert message(table_of, "u,v,w\n1,0.5,3\n4,5,6\n", label=label) == f"s.csv: {told}"


def test_a_column_of_categories_is_not_taken_before_one_that_looks_like_labels():
    told = "which column is the label? it could be column 2 (my hue) or column 3 (approved)"
    text = "x,my hue,approved\n1.5,red,1\n2,blue,0\n"
    assert message(table_of, text) == f"s.csv: {told}; add --label 'my hue' or --label approved"
    told = "no column looks like one; add --label and one of its columns, x z; for a number to be predicted also"
    assert message(table_of, "x,z\n1.5,2.5\n2.5,1.5\n") == f"s.csv: which column is the label? {told} --task regression"


NUMBERS = "u,hue,v,sold,w\n0.5,red,1,yes,7.5\n4,blue,2.5,no,6\n"


def test_a_label_of_numbers_is_the_first_or_the_last_column():
    assert message(table_of, NUMBERS).endswith("add --label hue or --label sold, or --label w --task regression")
    told = "which column is the label? it could be column 1 (u) or column 5 (w); add --label u or --label w"
    assert message(table_of, NUMBERS, classes=()) == f"s.csv: {told}"
    table = table_of("city,a,price\nx,1,2.5\ny,2,3.5\n", classes=())
    assert table.label_found == "the label is column 3 (price), which has numbers, and the first column has not"
    told = "no column looks like one; add --label and one of its columns, a b c"
    assert message(table_of, "a,b,c\nx,1,x\ny,2,y\n", classes=()).endswith(told)


def test_a_header_that_counts_is_a_header():
    text = "0,1,2,3\n5.5,6,7,1\n6,5,7,0\n"
    for label in (None, "3", 4, "last"):
        table = table_of(text, label=label)
        assert (table.features, table.classes, table.reader) == (["0", "1", "2"], (0, 1), "table 2")
        assert read(table) == ([[5.5, 6, 7], [6, 5, 7]], [1, 0])
    # A name goes before a number.
    assert table_of(text, label="1", classes=()).label_column.position == 2
    assert table_of("1,2,3\n4,5,6\n", label=1).reader == "table 1"


def test_a_header_with_years_is_a_header():
    rows = [f"{k}.5,{k},{'pq'[k % 2]}\n" for k in range(20)]
    for header in ("2019,2020,kind", ",-1,label", "2019,2020,2021"):
        table = table_of("".join([header + "\n", *rows]), label="last")
        assert (len(read(table)[0]), table.classes, table.reader) == (20, ("p", "q"), "table 2")
    # A rare class, and few rows, do not make a header.
    for text in ("".join(["1,2,r\n", *rows[:19], "1,2,r\n"]), "".join(["1,2,r\n", *rows[:9]])):
        assert table_of(text, label=3).reader == "table 1"


def test_an_id_that_counts_is_left_out():
    for name in ("id", "PassengerId", "user_id", "customerID"):
        assert table_of(f"{name},a,y\n892,0.5,1\n893,0.7,0\n").features == ["a"]
    assert table_of("valid,a,y\n892,0.5,1\n893,0.7,0\n").features == ["valid", "a"]
    assert table_of("id,a,y\n892,0.5,1\n894,0.7,0\n").features == ["id", "a"]


def test_a_new_label_of_a_pipe_is_refused_and_a_file_knows_all(tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "HEAD_BYTES", 20)
    monkeypatch.setattr(lines, "BLOCK_BYTES", 20)
    text = "a,y\n" + "".join(f"{i % 7},{'abc'[i // 50]}\n" for i in range(150))
    table = table_of(text)
    assert table.classes == ("a",)
    told = message(lambda: list(table.chunks()))
    assert told == "s.csv:52:2: label 'b' is not one of the known labels a; name all labels in advance (--classes)"
    assert len(read(table_of(text, classes=["a", "b", "c"]))[1]) == 150
    told = message(lambda: list(table_of(text, classes=["a\nb"]).chunks()))
    assert r"label 'a' is not one of the known labels a\nb; name" in told
    known = table_of(text, classes=["a"])
    told = message(lambda: list(table_of("a,y\n1,z\n", encoding=known.encoding).chunks()))
    assert told == "s.csv:2:2: label 'z' is not one of the known labels a; that model learns no further one"
    (tmp_path / "s.csv").write_text(text)
    assert open_table(tmp_path / "s.csv").classes == ("a", "b", "c")


def test_labels_that_are_named_may_mix_text_and_numbers():
    text = "a,y\n0.5,3\n0.7,x\n0.9,3\n"
    assert message(lambda: list(table_of(text).chunks())) == "s.csv:3:2: 'x' is not a number; a label is a number too"
    for named in (["3", "x"], ["x", "3", "x"]):
        table = table_of(text, classes=as_classes(named))
        assert (table.classes, read(table)[1]) == (("3", "x"), ["3", "x", "3"])
    said = "s.csv: class NA: that stands for a missing value; give the class another name"
    assert message(table_of, text, classes=["NA", "x"]) == said


def test_categories_of_a_file_are_all_known_and_those_of_a_pipe_counted(tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "HEAD_BYTES", 30)
    monkeypatch.setattr(lines, "BLOCK_BYTES", 30)
    text = "c,y\n" + "".join(f"{'uvw'[i // 50]},{i % 2}\n" for i in range(150))
    (tmp_path / "s.csv").write_text(text)
    assert open_table(tmp_path / "s.csv").features == ["c=u", "c=v", "c=w"]
    table = table_of(text)
    assert table.features == ["c=u"]
    assert sum(row[0] for row in read(table)[0]) == 50
    assert table.notes()[-1] == "s.csv: 100 rows with an unknown category in c: zeros."


def test_an_encoding_gives_the_same_features_in_any_order_of_columns():
    learned = table_of("id,a,c,y\n0,1,u,p\n1,2,v,q\n")
    assert learned.features == ["a", "c=u", "c=v"]
    other = table_of("y,c,b,a\nq,v,7,5\np,w,7,6\n", encoding=learned.encoding)
    assert other.features == learned.features
    assert read(other) == ([[5, 0, 1], [6, 0, 0]], ["q", "p"])
    assert other.notes()[-1] == "s.csv: 1 row with an unknown category in c: zeros."
    without = table_of("c,a\nv,5\n", encoding=learned.encoding)
    chunk = next(without.chunks())
    assert (chunk.X.tolist(), len(chunk.y)) == ([[5, 0, 1]], 0)
    told = message(table_of, "c,y\nv,p\n", encoding=learned.encoding)
    assert told == "s.csv: column 'a' of the table that was learned is missing"


def test_a_scan_says_all_that_is_wrong_with_counts():
    rows = [f"{i},{i},k,{i % 2}" for i in range(200)]
    rows[3], rows[5], rows[9], rows[20], rows[30] = "3,x,k,1", "5,,k,1", "9,,k,1", "1,2", "30,inf,k,0"
    scan = table_of("n,v,c,y\n" + "\n".join(rows) + "\n", label="y").scan()
    assert scan.n_rows == 200
    assert scan.counts == {0: 99, 1: 100}
    assert scan.problems == [
        "s.csv: 1 of 200 rows have another number of columns, or no record; the first: s.csv:22:3: 2 columns where the "
        "header has 4; all rows have the same length",
        "s.csv: 1 of 200 rows have an infinite value in column 2 (v); the first: s.csv:32:2: inf is not a finite number",  # noqa: E501
        "s.csv: 2 of 200 rows have a missing value in column 2 (v); the first: s.csv:7:2: missing value",
        "s.csv: 1 of 200 rows have text in column 2 (v), which holds numbers; the first: s.csv:5:2: 'x' is not a number",  # noqa: E501
    ]
    assert scan.notes == ["s.csv: feature c=k is constant: always 1"]
    said = "s.csv: all rows have the label 1; nothing can be learned from a single label"
    assert table_of("a,y\n1,1\n2,1\n", label="y").scan().problems == [said]


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
    message(next, found, kind=KeyError)
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


def test_a_pipe_may_pause_after_its_header(monkeypatch):
    monkeypatch.setattr(lines, "HEAD_SECONDS", 0.05)
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as file, os.fdopen(writing, "wb", buffering=0) as source:
        source.write(b"a,y\n")
        later = threading.Timer(0.3, source.write, [b"1,0\n2,1\n"])
        later.start()
        assert open_table(file, label="y").features == ["a"]
        later.join()


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
