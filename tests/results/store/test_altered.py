"""A table that was cut off, edited or taken from another folder is noticed, and its runs do not count."""

import gzip
import hashlib
import json
import os
import shutil

import pytest
from sweeping import config, rows, run

from budgetrun.base.errors import AlteredError, InputError
from budgetrun.results.report import Report, figures
from budgetrun.results.store import files
from budgetrun.results.store.read import load
from budgetrun.results.store.write import Store

N = 16
ADVICE = (
    "restore the file from a copy, or repeat the sweep: budgetrun sweep CONFIG --force; to accept it as it is, delete "
)


@pytest.fixture(scope="module")
def swept(tmp_path_factory):
    """A finished sweep: its config, its results folder and another of the same runs with other seeds."""
    from contextlib import chdir

    from budgetrun.config import load as load_config
    from budgetrun.runner.plan import Options
    from budgetrun.runner.sweep import sweep

    top = tmp_path_factory.mktemp("swept")
    with chdir(top):
        for name, seed in (("small", 0), ("other", 1)):
            path = config(top, name, seed=seed)
            assert sweep(load_config(str(path)), Options(results=top / "results", jobs=1)) == 0
    return top


@pytest.fixture
def folder(swept, tmp_path, monkeypatch):
    """A copy of the results folder, without parts."""
    shutil.copytree(swept, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    shutil.rmtree("results/small/parts")
    monkeypatch.setattr(figures, "draw", lambda _: [])
    return tmp_path / "results" / "small"


def truncate(folder):
    path = folder / "runs.csv"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[: 1 + N // 2]))


def edit(folder):
    path = folder / "runs.csv"
    lines = path.read_text().splitlines(keepends=True)
    fields = lines[3].split(",")
    # Consistent in itself, so that nothing but the checksum tells.
    header = lines[0].split(",")
    at = {name: header.index(name) - len(header) for name in ("mistakes", "online_error", "n_examples")}
    n, mistakes = int(fields[at["n_examples"]]), int(fields[at["mistakes"]]) - 5
    fields[at["mistakes"]], fields[at["online_error"]] = str(mistakes), repr(mistakes / n)
    lines[3] = ",".join(fields)
    path.write_text("".join(lines))


def swap(folder):
    shutil.copy(folder.with_name("other") / "runs.csv", folder / "runs.csv")


EDITED = "is not as the sweep wrote it (its sha256 is not that in runs.csv.sha256), so numbers in it may be wrong"
ALTERATIONS = {
    truncate: f"runs.csv: has only {N // 2} of the {N} runs that the sweep wrote; ",
    edit: f"runs.csv: {EDITED}; ",
    swap: f"runs.csv: {EDITED}; ",
}


def pack(folder):
    path = folder / "runs.csv"
    path.with_name("runs.csv.gz").write_bytes(gzip.compress(path.read_bytes()))
    path.unlink()


@pytest.mark.parametrize(("alter", "packed"), [(truncate, True), (edit, False), (swap, False)])
def test_reports_and_figures_refuse_an_altered_table_and_status_says_so(folder, capsys, alter, packed):
    alter(folder)
    if packed:
        pack(folder)
    words = ALTERATIONS[alter].replace("runs.csv:", "runs.csv.gz:") if packed else ALTERATIONS[alter]
    for verb in ("report", "plot", "bounds"):
        code, _, err = run(capsys, verb, "results/small")
        assert (code, err) == (1, f"results/small/{words}{ADVICE}results/small/runs.csv.sha256\n")
    assert not (folder / "report.html").exists()
    code, out, err = run(capsys, "status", "results/small")
    assert (code, out) == (1, "")
    assert err.startswith("results/small: ")
    assert f"; but results/small/{words}" in err


@pytest.mark.parametrize("alter", ALTERATIONS)
def test_a_sweep_does_not_count_the_runs_of_an_altered_table(folder, capsys, alter):
    alter(folder)
    before = (folder / "runs.csv").read_bytes()
    for arguments in ([], ["--dry-run"]):
        code, _, err = run(capsys, "sweep", "small.yaml", "--jobs", "1", *arguments)
        assert (code, err) == (2, f"results/small/{ALTERATIONS[alter]}{ADVICE}results/small/runs.csv.sha256\n")
    assert (folder / "runs.csv").read_bytes() == before


@pytest.mark.parametrize("alter", ALTERATIONS)
def test_parts_that_have_all_runs_replace_an_altered_table(folder, swept, capsys, alter):
    shutil.copytree(swept / "results" / "small" / "parts", folder / "parts")
    before = (folder / "runs.csv").read_bytes()
    alter(folder)
    code, _, err = run(capsys, "sweep", "small.yaml", "--jobs", "1")
    assert code == 0
    assert "its runs are taken from results/small/parts instead" in err
    assert f"0 runs to do, {N} finished" in err
    assert (folder / "runs.csv").read_bytes() == before
    alter(folder)
    code, _, err = run(capsys, "plot", "results/small")
    assert code == 0
    assert "; it has been rebuilt from results/small/parts\n" in err
    assert (folder / "runs.csv").read_bytes() == before


def test_a_packed_table_is_as_good(folder, capsys):
    pack(folder)
    code, _, err = run(capsys, "report", "results/small")
    assert code == 0, err
    code, _, err = run(capsys, "sweep", "small.yaml", "--jobs", "1")
    assert f"0 runs to do, {N} finished" in err
    assert code == 0


def test_without_a_sum_the_plan_tells_what_is_missing(folder, capsys):
    (folder / "runs.csv.sha256").unlink()
    truncate(folder)
    # In the middle of a row, within quotes.
    path = folder / "runs.csv"
    path.write_bytes(path.read_bytes()[:-3])
    code, out, err = run(capsys, "report", "results/small")
    n = N // 2 - 1
    said = f"only {n} of {N} planned runs are here"
    assert code == 1
    told = f"results/small/runs.csv: {said}; to complete them, see: budgetrun status results/small"
    assert err.splitlines()[-1] == told
    assert f"These results are incomplete: {said}." in (folder / "report.html").read_text()
    assert f"These results are incomplete: {said}." in out
    assert run(capsys, "plot", "results/small")[0] == 1


def test_runs_of_another_plan_are_told_without_a_sum(folder, capsys):
    swap(folder)
    shutil.copy(folder.with_name("other") / "runs.csv.sha256", folder / "runs.csv.sha256")
    code, _, err = run(capsys, "report", "results/small")
    assert code == 1
    assert f"the {N} runs here are not the {N} planned ones" in err


def test_the_other_folders_are_reported_all_the_same(folder, capsys):
    edit(folder)
    (folder.with_name("other") / "report.html").unlink(missing_ok=True)
    code, _, err = run(capsys, "report", "results")
    assert code == 1
    assert (folder.with_name("other") / "report.html").exists()
    assert "small/runs.csv: is not as the sweep wrote it" in err.splitlines()[-1]


@pytest.mark.parametrize("text", ["", "garbage", "# 3 runs\n"])
def test_the_sum_is_that_of_sha256sum_and_a_damaged_one_does_not_fit(folder, text):
    sum_of = hashlib.sha256((folder / "runs.csv").read_bytes()).hexdigest()
    assert (folder / "runs.csv.sha256").read_text() == f"# {N} runs\n{sum_of}  runs.csv\n"
    (folder / "runs.csv.sha256").write_text(text)
    with pytest.raises(AlteredError):
        load(folder)
    (folder / "runs.csv.sha256").unlink()
    (folder / "runs.csv.sha256").mkdir()
    with pytest.raises(AlteredError):
        load(folder)


@pytest.mark.parametrize("call", range(9))
def test_a_kill_at_any_step_of_replacing_the_table_leaves_a_valid_one(folder, swept, monkeypatch, call):
    """Every second step is a rename; what follows the kill never happens."""

    class Killed(BaseException):
        pass

    store = Store(folder)
    before = store.rows()
    shutil.copytree(swept / "results" / "small" / "parts", folder / "parts")
    extra = dict(next(iter(before.values()))) | {"run_id": "f" * 16}
    store.save("extra", [extra])
    n = 0

    def counted(real):
        def step(*arguments, **keywords):
            nonlocal n
            n += 1
            if n > call:
                raise Killed
            return real(*arguments, **keywords)

        return step

    for name in ("replace", "fsync", "unlink"):
        monkeypatch.setattr(os, name, counted(getattr(os, name)))
    try:
        store.write_table()
    except Killed:
        pass
    else:
        assert n <= call
    monkeypatch.undo()
    assert load(folder).runs["run_id"].nunique() in (N, N + 1)
    shutil.rmtree(folder / "parts")
    Store(folder).check()


def test_a_report_of_a_folder_without_plan_or_sum_is_silent(folder):
    (folder / "runs.csv.sha256").unlink()
    manifest = json.loads((folder / "manifest.json").read_text())
    del manifest["plan"]
    (folder / "manifest.json").write_text(json.dumps(manifest))
    truncate(folder)
    assert Report(folder).incomplete == ""
    assert files.read_table(folder).sums is None
    assert len(rows(folder)) == N // 2


def test_a_key_of_a_manifest_is_quoted_on_one_line(tmp_path):
    (tmp_path / "manifest.json").write_text(json.dumps({"expected": {"a\n\tb": 1}}))
    with pytest.raises(InputError) as caught:
        files.read_manifest(tmp_path / "manifest.json")
    assert str(caught.value).startswith(f"{tmp_path / 'manifest.json'}: expected.'a\\n\\tb': ")
    assert "\n" not in str(caught.value)
