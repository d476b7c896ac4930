"""Files that change between plan and runs: no row is computed from other data than its run id says."""

import json
import os

import pytest
from sweeping import config, outcomes, rows, swept_folder

from budgetrun import config as config_module
from budgetrun.runner import sweep as sweep_module
from budgetrun.runner.plan import Options
from budgetrun.runner.status import status
from budgetrun.runner.sweep import sweep

OLD = "".join(f"{1 if i % 3 else -1},{i % 7},{i % 5}\n" for i in range(60))
# The same size, the same labels: only the checksum tells.
NEW = "".join(f"{1 if i % 3 else -1},{i % 5},{i % 7}\n" for i in range(60))


@pytest.mark.parametrize("changed", ["own.csv", "test.csv"])
def test_data_overwritten_in_mid_sweep_fail_the_runs_that_follow(tmp_path, monkeypatch, changed):
    (tmp_path / "own.csv").write_text(OLD)
    (tmp_path / "test.csv").write_text("".join(OLD.splitlines(True)[:20]))
    dataset = {"name": "own", "path": "own.csv", "test_path": "test.csv", "order": "permuted"}
    algorithms = [{"name": "perceptron"}, {"name": "remove_oldest", "budget": 5}]
    own = config(tmp_path, "changing", datasets=[dataset], repetitions=4, algorithms=algorithms)
    path = tmp_path / changed
    before, planned = path.read_text(), path.stat()
    keep = sweep_module._Sweep._keep
    kept = []

    def overwrite(*arguments):
        keep(*arguments)
        kept.append(arguments)
        if len(kept) == 2:
            path.write_text(NEW if changed == "own.csv" else "".join(NEW.splitlines(True)[:20]))
            os.utime(path, ns=(planned.st_atime_ns, planned.st_mtime_ns))

    with monkeypatch.context() as patch:
        patch.setattr(sweep_module._Sweep, "_keep", overwrite)
        assert sweep(config_module.load(own), Options(results=tmp_path / "results")) == 1
    folder = tmp_path / "results" / "changing"
    states = [row["status"] for row in rows(folder)]
    assert (states.count("done"), states.count("failed")) == (4, 4)
    (told,) = {row["error"] for row in rows(folder) if row["error"]}
    said = "InputError: dataset 'own': own.csv or test.csv changed after the runs were planned: sha256 "
    assert told.startswith(said)
    path.write_text(before)
    assert "4 of 8 runs finished, 4 failed" in status(folder)
    again = outcomes(swept_folder(own, tmp_path / "results"))
    assert again == outcomes(swept_folder(own, tmp_path / "apart"))
    assert json.loads((folder / "manifest.json").read_text())["failures"] == []
