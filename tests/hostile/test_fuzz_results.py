"""Results folders damaged in any way: one sentence or a report, never a traceback, and no altered row counts."""

import gzip
import json
import os
import shutil
import tempfile
import zlib
from pathlib import Path

import pytest
from damage import damaged
from hypothesis import given
from hypothesis import strategies as st
from results.report.fake_results import build, paper_rows, runs_csv, write_curves
from sentences import or_one_sentence

from budgetrun.base.errors import AlteredError
from budgetrun.results.report import Report, figures
from budgetrun.results.store import files
from budgetrun.results.store.curves import Curves
from budgetrun.results.store.write import Store
from budgetrun.runner.status import status

pytestmark = pytest.mark.faults

# No dataset of the folder exists on any machine, so that nobody looks for its files.
ROWS = [row for row in paper_rows() if row["dataset"] == "one"]
PLAIN = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.just("\ud800\x1b[31m")
HUGE = st.sampled_from([10**400, -1, 1e308, "1" * 5000, "=1+1", "../../evil", [[[[[]]]]], {"": None}, "nan"])
NESTED = st.recursive(PLAIN | HUGE, lambda one: st.lists(one, max_size=3) | st.dictionaries(st.text(), one, max_size=3))


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A folder with a manifest, a table, its sum, curves and a part with the same runs."""
    folder = build(tmp_path_factory.mktemp("whole") / "fake", ROWS)
    write_curves(folder, ROWS)
    files.record(folder, len(ROWS), files.read_table(folder).digest)
    store = Store(folder)
    (folder / "parts").mkdir()
    store.save("a", store.rows().values())
    return folder


@st.composite
def replaced(draw, value):
    """Draw a copy of a value of JSON with something else at one or two places."""
    for _ in range(draw(st.integers(1, 2))):
        top = [json.loads(json.dumps(value))]
        inside, key = top, 0
        while isinstance(inside[key], dict | list) and inside[key] and draw(st.integers(0, 7)):
            inside = inside[key]
            key = draw(st.sampled_from(sorted(inside) if isinstance(inside, dict) else range(len(inside))))
        if isinstance(inside, dict) and draw(st.booleans()):
            del inside[key]
        else:
            inside[key] = draw(NESTED)
        value = top[0]
    return value


def look(folder):
    """Do all that reads a results folder; return whether reports accept it."""
    accepted = False
    for read in (report, status, complete):
        with or_one_sentence(most=12_000):
            read(folder)
            accepted |= read is report
    curves = Curves(folder / "curves")
    ids = [f"{i:016x}" for i in range(len(ROWS))]
    curves.trace(ids[0])
    if not curves.missing(ids):
        curves.read(ids, "mistakes")
    return accepted


def report(folder):
    made = Report(folder)
    made.write()
    assert "\x1b" not in made.summary()
    assert "\x1b" not in (folder / "report.html").read_text(encoding="utf-8")


def complete(folder):
    store = Store(folder)
    store.rows()
    store.write_table()
    store.drop_unfinished_writes()


@pytest.fixture(scope="module")
def right(whole):
    return [dict(row) for row in Store(whole).rows().values()]


@pytest.fixture(autouse=True)
def no_figures(monkeypatch):
    # They take most of the time; what they show has been read by then.
    monkeypatch.setattr(figures, "draw", lambda _: [])


@pytest.fixture
def room(whole):
    """What makes a fresh copy of the folder for an example."""
    with tempfile.TemporaryDirectory() as top:

        def fresh():
            folder = Path(top) / "fake"
            shutil.rmtree(folder, ignore_errors=True)
            shutil.copytree(whole, folder)
            return folder

        yield fresh


def pack(folder):
    plain = folder / "runs.csv"
    (folder / "runs.csv.gz").write_bytes(gzip.compress(plain.read_bytes(), mtime=0))
    plain.unlink()


@given(data=st.data())
def test_damaged_bytes_of_any_file(room, right, data):
    folder = room()
    if data.draw(st.booleans()):
        pack(folder)
    path = data.draw(st.sampled_from(sorted(path for path in folder.rglob("*") if path.is_file())))
    path.write_bytes(data.draw(damaged(path.read_bytes())))
    both = ("runs.csv.sha256", "parts/a.jsonl")
    gone = data.draw(st.sampled_from([(), both[:1], both[1:], both]))
    for name in gone:
        (folder / name).unlink()
    store = Store(folder)
    try:
        store.check()
    except AlteredError:
        assert not look(folder)
    else:
        if path.name != "runs.csv.sha256" and "runs.csv.sha256" not in gone:
            # Only what the sweep wrote counts.
            assert all(dict(row) in right for row in store.rows().values())
        look(folder)


@given(data=st.data())
def test_a_manifest_of_another_shape(room, data):
    folder = room()
    path = folder / "manifest.json"
    path.write_text(json.dumps(data.draw(replaced(json.loads(path.read_text())))))
    look(folder)


@given(data=st.data())
def test_parts_with_valid_checksums_and_any_content(room, right, data):
    folder = room()
    lines = [json.dumps(data.draw(replaced(dict(row)) | NESTED)) for row in right[:3]]
    text = "".join(f"{zlib.crc32(line.encode()):08x} {line}\n" for line in lines)
    (folder / "parts" / "b.jsonl").write_text(text)
    if data.draw(st.booleans()):
        (folder / "parts" / "a.jsonl").unlink()
        (folder / "runs.csv.sha256").unlink()
        (folder / "runs.csv").unlink()
    look(folder)


@given(data=st.data())
def test_cells_of_a_table_that_nobody_can_check(room, data):
    folder = room()
    (folder / "runs.csv.sha256").unlink()
    (folder / "parts" / "a.jsonl").unlink()
    rows = [dict(row) for row in ROWS]
    for _ in range(data.draw(st.integers(1, 3))):
        row = rows[data.draw(st.integers(0, len(rows) - 1))]
        row[data.draw(st.sampled_from(sorted(row)))] = data.draw(NESTED | st.sampled_from(["=1+1", "x" * 200_000]))
    try:
        text = runs_csv(rows).encode()
    except (UnicodeEncodeError, ValueError):
        text = repr(rows).encode()
    (folder / "runs.csv").write_bytes(text)
    look(folder)


KINDS = {
    "folder": lambda path: path.mkdir(),
    "dangling": lambda path: path.symlink_to("nowhere"),
    "loop": lambda path: path.symlink_to(path.name),
    "pipe": lambda path: os.mkfifo(path),
    "empty": lambda path: path.touch(),
}
NAMES = ("manifest.json", "runs.csv", "runs.csv.gz", "runs.csv.sha256", "parts/a.jsonl", "curves/x.npz", "report.html")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", NAMES)
def test_what_is_no_file_under_the_name_of_one(room, name, kind):
    folder = room()
    if name == "runs.csv.gz":
        (folder / "runs.csv").unlink()
    (folder / name).unlink(missing_ok=True)
    KINDS[kind](folder / name)
    look(folder)
