"""Missing values that are filled, dates and times, and numbers as people write them."""

import io
import json
from datetime import date, datetime, time, timedelta

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from faults import message
from hypothesis import given, settings
from hypothesis import strategies as st
from made_files import read

from budgetrun.config.schema import DatasetSpec
from budgetrun.data.dataset import Source
from budgetrun.data.tables import open_table, written
from budgetrun.kernels.kinds import floats

GAPS = "a,c,f,y\n1,red,yes,0\n,blue,no,1\n3,,,0\nNA,red,yes,1\n5,?,no,\n7,red,yes,1\n"
FEATURES = ["a", "a is missing", "c=blue", "c=red", "c is missing", "f", "f is missing"]
FILLED = [
    [1, 0, 0, 1, 0, 1, 0], [1, 1, 1, 0, 0, 0, 0], [3, 0, 0, 0, 1, 0.5, 1], [2, 1, 0, 1, 0, 1, 0], [7, 0, 0, 1, 0, 1, 0],
]  # fmt: skip


def sources(folder):
    (folder / "s.csv").write_text(GAPS)
    frame = pd.read_csv(io.StringIO(GAPS), na_values="?")
    frame.to_parquet(folder / "s.parquet")
    records = [{k: None if v != v else v for k, v in row.items()} for row in frame.astype(object).to_dict("records")]
    (folder / "s.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    return [folder / "s.csv", folder / "s.parquet", folder / "s.jsonl", io.BytesIO(GAPS.encode()), frame]


def test_gaps_become_means_and_categories(tmp_path):
    for source in sources(tmp_path):
        for n_rows in (1, 2, 4096):
            if hasattr(source, "seek"):
                source.seek(0)
            table = open_table(source, label="y", missing="fill", name="s")
            assert read(table, n_rows) == (FILLED, [0, 1, 0, 1, 1])
            assert (table.features, table.classes) == (FEATURES, (0, 1))
    told = [note.partition(": ")[2] for note in table.notes()]
    mean = "became the mean of the values before them, with a feature that tells it."
    assert told == [
        "column 2 (c) became 3 features, one for each category.",
        "column 3 (f) is read as 0 and 1 (only no and yes in the first 6 rows).",
        f"column 1 (a): 2 missing values {mean}",
        "column 2 (c): 2 missing values became a category of their own.",
        f"column 3 (f): 1 missing value {mean}",
        "1 row left out because the label is missing.",
    ]
    own = Source(DatasetSpec(name="own", path=tmp_path / "s.csv", label_column="y", missing="fill")).load()
    assert floats(own.X).tolist() == FILLED


def test_other_rows_get_the_means_that_were_learned(tmp_path):
    (tmp_path / "s.csv").write_text(GAPS)
    table = open_table(tmp_path / "s.csv", label="y", missing="fill")
    read(table)
    encoding = json.loads(json.dumps(table.encoding))
    rows = b"f,c,a\n,,\nno,red,2\n"
    other = open_table(io.BytesIO(rows), missing="fill", encoding=encoding)
    assert [chunk.X.tolist() for chunk in other.chunks()] == [[[4, 1, 0, 0, 1, 0.6, 1], [2, 0, 0, 1, 0, 0, 0]]]
    # A stream that goes on learns from its new values.
    text = b"a,c,f,y\n10,red,yes,0\n,red,yes,1\n"
    table = open_table(io.BytesIO(text), label="y", missing="fill", encoding=encoding, continued=True)
    assert read(table)[0][1][0] == (16 + 10) / 5
    unfilled = {key: value for key, value in encoding.items() if key != "means"}
    told = message(open_table(io.BytesIO(rows), name="s", missing="fill", encoding=unfilled).chunks().__next__)
    assert told.startswith("s:2:1: missing value in column 1 (f); fill such gaps (--missing fill), leave")
    told = message(open_table(io.BytesIO(GAPS.encode()), name="s", missing="fill", encoding=encoding).chunks().__next__)
    assert told == "s:6:4: the label is missing; a missing label cannot be read as 0"


def test_a_gap_after_the_first_rows_of_a_pipe_has_no_feature_of_its_own(monkeypatch):
    monkeypatch.setattr("budgetrun.data.content.HEAD_ROWS", 2)
    text = "a,c,y\n1,u,0\n3,v,1\n4,u,1\n,,0\n"
    table = open_table(io.BytesIO(text.encode()), label="y", missing="fill")
    assert read(table)[0] == [[1, 1, 0], [3, 0, 1], [4, 1, 0], [8 / 3, 0, 0]]
    assert table.features == ["a", "c=u", "c=v"]
    assert [note for note in table.notes() if "missing" in note] == [
        "the data: column 1 (a): 1 missing value became the mean of the values before them.",
        "the data: column 2 (c): 1 missing value became no category.",
    ]


def test_many_categories_with_gaps_are_sparse():
    frame = pd.DataFrame({"n": [None, 2.0] * 100, "c": [f"k{i % 70}" for i in range(200)], "y": [0, 1] * 100})
    frame.loc[7, "c"] = None
    table = open_table(frame, label="y", missing="fill")
    X = np.vstack([chunk.X.toarray() for chunk in table.chunks(9)])
    assert len(table.features) == X.shape[1] == 2 + 70 + 1
    assert X[:, 0].tolist() == [0, *[2.0] * 199]
    assert X[:, 1].tolist() == [1, 0] * 100
    assert X[:, 2:].sum(axis=1).tolist() == [1] * 200
    assert X[7, -1] == 1
    table = open_table(frame, label="y", missing="skip")
    assert [chunk.X.shape[0] for chunk in table.chunks(1)] == [1] * 99
    (chunk,) = table.chunks()
    expected = frame.dropna()
    assert chunk.X.toarray()[:, 0].tolist() == [2.0] * 99
    assert [table.features[k][2:] for k in chunk.X[:, 1:].indices + 1] == list(expected["c"])


@settings(max_examples=25, deadline=None)
@given(
    rows=st.lists(st.lists(st.floats(-9, 9) | st.none(), min_size=2, max_size=2), min_size=2, max_size=20),
    size=st.integers(1, 7),
)
def test_means_are_those_of_a_plain_loop(rows, size):
    frame = pd.DataFrame(rows, columns=["a", "b"], dtype=float).assign(y=[float(k) for k in range(len(rows))])
    expected, totals, counts = [], [0.0, 0.0], [0, 0]
    for row in rows:
        expected.append([totals[j] / max(counts[j], 1) if row[j] is None else row[j] for j in (0, 1)])
        for j in (0, 1):
            totals[j], counts[j] = totals[j] + (row[j] or 0.0), counts[j] + (row[j] is not None)
    table = open_table(frame, label="y", missing="fill", classes=())
    X = np.array(read(table, size)[0])
    assert X[:, [table.features.index(name) for name in "ab"]].tolist() == expected


@settings(max_examples=40, deadline=None)
@given(when=st.datetimes(datetime(1600, 1, 1), datetime(2300, 1, 1)), minutes=st.integers(-14 * 60, 14 * 60))
def test_dates_are_days_in_text_and_columns(when, minutes):
    day = float((when.date() - date(1970, 1, 1)).days)
    sign, zone = "-" if minutes < 0 else "+", time(*divmod(abs(minutes), 60)).strftime("%H:%M")
    assert written.number(when.strftime("%Y-%m-%d") if when.year > 999 else "", "ymd") == day
    assert written.number(f"{when.day}.{when.month}.{when.year}", "dmy") == day
    assert written.number(f"{when.month}/{when.day}/{when.year}", "mdy") == day
    text = f"{when.isoformat(' ', 'microseconds')}{sign}{zone}"
    exact = (when - datetime(1970, 1, 1) - timedelta(minutes=minutes)) / timedelta(days=1)
    assert written.number(text, "ymd") == pytest.approx(exact, abs=1e-9)
    if minutes == 0:
        return
    table = open_table(pa.table({"t": pa.array([when, when], pa.timestamp("us")), "y": ["a", "b"]}))
    text = f"t,y\n{when.isoformat()},a\n{when.isoformat('T', 'microseconds')},b\n"
    of_text = open_table(io.BytesIO(text.encode()))
    assert [chunk.X.tolist() for chunk in table.chunks()] == [chunk.X.tolist() for chunk in of_text.chunks()]


@pytest.mark.parametrize(("values", "form", "numbers"), [
    (["1,5", "2", "1.000,25"], "1.234,5", [1.5, 2, 1000.25]),
    (["1,234", "12", "1,234,567.5"], "1,234.5", [1234, 12, 1234567.5]),
    (["1,234", "2,5"], "1.234,5", [1.234, 2.5]),
    (["0,126", "1,234"], "1.234,5", [0.126, 1.234]),
    (["-3,5", "+4,25"], "1.234,5", [-3.5, 4.25]),
    (["1,5", "x"], "", []),
    (["2024-01-02", "2024/1/3"], "ymd", [19724, 19725]),
    (["2024-01-02", "2024-02-30"], "", []),
    (["1/2/2024", "1/13/2024"], "mdy", [19724, 19735]),
    (["1/2/2024", "13/1/2024"], "dmy", [19754, 19735]),
    (["1.2.2024", "2.1.2024"], "dmy", [19754, 19724]),
    (["6:00", "18:30:00"], "time", [0.25, 18.5 / 24]),
    (["2024-01-02T06:00Z", "2024-01-02 06:00:00+06:00"], "ymd", [19724.25, 19724]),
    (["2024-01-02T25:00"], "", []),
    (["1-2-3"], "", []),
    (["12:60"], "", []),
])  # fmt: skip
def test_forms(values, form, numbers):
    assert written.form_of(values) == form
    assert [written.number(value, form) for value in values[: len(numbers)]] == numbers


def test_values_of_another_form_are_named():
    rows = "".join(f"{i},{i};2024-01-{i:02};{i % 2}\n" for i in range(1, 20))
    table = open_table(
        io.BytesIO(f"x;d;y\n{rows}1.5x;2024-01-01;0\n".encode()), name="s.csv", label="y", classes=[0, 1]
    )
    table = open_table(io.BytesIO(f"x;d;y\n{rows}".encode()), name="s.csv", label="y")
    later = io.BytesIO(b"x;d;y\n1.5x;2024-01-01;0\n")
    told = "s.csv:2:1: '1.5x' is not as this column was so far: numbers with a decimal comma"
    assert message(list, open_table(later, name="s.csv", encoding=table.encoding).chunks()) == told
    later = io.BytesIO(b"x;d;y\n1,5;01/02/2024;0\n")
    told = "s.csv:2:2: '01/02/2024' is not as this column was so far: days since 1970-01-01, from year, month and day"
    assert message(list, open_table(later, name="s.csv", encoding=table.encoding).chunks()) == told


@pytest.mark.parametrize(("text", "features"), [
    ("# made by me\n# 2024, x\na,b,y\n1,2,0\n3,4,1\n", ["a", "b"]),
    ("# a,b,y\n1,2,0\n3,4,1\n", ["# a", "b"]),
    ('# say "x\n1,2,0\n3,4,1\n', ["1", "2"]),
])  # fmt: skip
def test_comments_before_the_header(text, features):
    for source in (io.BytesIO(text.encode()), io.BytesIO(text.replace("\n", "\r\n").encode())):
        table = open_table(source, label="last", name="s.csv")
        assert (table.features, read(table)[0]) == (features, [[1, 2], [3, 4]])
    wrong = io.BytesIO(text.replace("4,1", "4x,1").encode())
    line = 1 + text[: text.index("4,1")].count("\n")
    told = message(list, open_table(wrong, label="last", name="s.csv", encoding=table.encoding).chunks())
    assert told.startswith(f"s.csv:{line}:2: '4x' is not a number")
