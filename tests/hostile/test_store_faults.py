"""Each system call of each write fails once: nothing that was finished is lost, and a sweep resumes to the same end."""

import errno
import os
import re

import pytest
from results.report.fake_results import build, paper_rows, row

from budgetrun.base.errors import InputError
from budgetrun.config.schema import Config
from budgetrun.results.report import Report, figures
from budgetrun.results.store import files
from budgetrun.results.store.write import Store

pytestmark = pytest.mark.faults

CALLS = ("open", "write", "fsync", "close", "replace", "rename", "mkdir", "unlink")
CONFIG = Config(name="n", datasets=(), algorithms=()).resolved()


class Faults:
    """Makes one system call of those in `CALLS` fail, the one with this number; counts them all."""

    def __init__(self, monkeypatch, number, error):
        self.n, self.number, self.error = 0, number, error
        for name in CALLS:
            monkeypatch.setattr(os, name, self.faulty(getattr(os, name), name))

    def faulty(self, real, name):
        def call(*arguments, **keywords):
            if name == "open" and len(arguments) > 1 and not arguments[1] & (os.O_CREAT | os.O_DIRECTORY):
                return real(*arguments, **keywords)
            self.n += 1
            if self.n - 1 == self.number:
                if name == "close":
                    real(*arguments)
                raise OSError(self.error, os.strerror(self.error))
            return real(*arguments, **keywords)

        return call


def sweep(folder, saved, force=False):
    """Do what a sweep does with its store, from the beginning or after an end of any kind."""
    store = Store(folder)
    store.open({"config": CONFIG, "end": None}, force)
    store.prune(lambda old: old["run_id"] != "f" * 16)
    for job in range(2):
        rows = [row(i) for i in (2 * job, 2 * job + 1)]
        if not all(one["run_id"] in store.rows() for one in rows):
            store.save_curves(f"job{job}", {"run_id": [one["run_id"] for one in rows]})
            store.save(f"job{job}", rows)
            saved |= {one["run_id"] for one in rows}
            store.write_table()
    store.drop_unfinished_writes()
    store.write_table()
    store.write_manifest({"config": CONFIG, "end": "now"})


def contents(folder):
    """Return the content of every file by its path; the pack of curves has the time in it, so its name must do."""
    paths = (path for path in folder.rglob("*") if path.is_file() and path.suffix != ".lock")
    return {str(path.relative_to(folder)): path.suffix == ".npz" or path.read_bytes() for path in paths}


def outcome(work, monkeypatch, number, error):
    """Do some work whose system call of this number fails; return whether there was one, and how it failed."""
    with monkeypatch.context() as patched:
        faults = Faults(patched, number, error)
        try:
            work()
        except InputError as raised:
            told = str(raised)
        else:
            told = ""
    assert not told or re.fullmatch(rf"/\S+: .*\({os.strerror(error)}\).*", told)
    return faults.n > number


@pytest.mark.parametrize(
    ("start", "error"),
    [("empty", errno.ENOSPC), ("half", errno.EIO), ("packed", errno.EACCES), ("large", errno.ENOSPC)],
    ids=str,
)
def test_a_sweep_survives_every_fault(tmp_path, monkeypatch, start, error):
    table_name = "runs.csv"
    if start == "large":
        # The folder becomes large in the middle of the sweep.
        monkeypatch.setattr(files, "LARGE", 3)
        table_name = "runs.parquet"

    def begin(folder):
        """Prepare a folder as an earlier sweep left it."""
        if start != "empty":
            store = Store(folder)
            store.open({"config": CONFIG, "end": None})
            store.save("job0", [row(0), row(1)])
            store.save("old", [row(0) | {"run_id": "f" * 16}])
            store.write_table()
        if start == "packed":
            import gzip

            table = folder / "runs.csv"
            (folder / "runs.csv.gz").write_bytes(gzip.compress(table.read_bytes()))
            table.unlink()
            (folder / "parts" / "job0.jsonl").unlink()
        return {row(i)["run_id"] for i in (0, 1) if start != "empty"}

    begin(tmp_path / "right")
    sweep(tmp_path / "right", set())
    right = contents(tmp_path / "right")
    number, more = 0, True
    while more:
        folder = tmp_path / str(number)
        saved = begin(folder)
        more = outcome(lambda folder=folder, saved=saved: sweep(folder, saved), monkeypatch, number, error)
        store = Store(folder)
        assert store.rows().keys() >= saved
        store.check()
        sweep(folder, set())
        again = {path: text for path, text in contents(folder).items() if not path.endswith(".tmp")}
        # The parts and curves of a job may be those of an earlier attempt, and have further runs.
        assert again.keys() >= right.keys() - {"curves/job0.npz"}
        assert (start == "large") is ("runs.csv" not in again)
        assert again[table_name] == right[table_name]
        assert again[f"{table_name}.sha256"] == right[f"{table_name}.sha256"]
        assert again["manifest.json"] == right["manifest.json"]
        number += 1
    assert number > 50


def test_a_report_survives_every_fault(tmp_path, monkeypatch):
    monkeypatch.setattr(figures, "draw", lambda _: [])
    folder = build(tmp_path / "fake", paper_rows())
    Report(folder).write()
    old = contents(folder)
    (folder / "manifest.json").write_text((folder / "manifest.json").read_text().replace("made up", "changed"))
    new_report = Report(folder)
    new_report.write()
    new = contents(folder)
    number, more = 0, True
    while more:
        more = outcome(new_report.write, monkeypatch, number, errno.ENOSPC)
        for path, text in contents(folder).items():
            assert text in (old.get(path), new.get(path)) or path.endswith(".tmp")
        number += 1
    assert number > 40
    assert {path: text for path, text in contents(folder).items() if not path.endswith(".tmp")} == new


def test_moving_results_aside_survives_every_fault(tmp_path, monkeypatch):
    number, more = 0, True
    while more:
        folder = tmp_path / str(number) / "r"
        saved = set()
        sweep(folder, saved)
        new = Store(folder)
        more = outcome(lambda new=new: new.open({"config": CONFIG}, force=True), monkeypatch, number, errno.EACCES)
        assert saved in [Store(found).rows().keys() for found in folder.parent.iterdir()]
        number += 1
    assert number > 10
