"""Results have the same bits however they are computed: a part of what scripts/measure/hashes.py checks."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "measure" / "hashes.py"
SPEC = importlib.util.spec_from_file_location("hashes", SCRIPT)
hashes = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(hashes)
TABLE = json.loads(hashes.TABLE.read_text())


@pytest.mark.compiled
@pytest.mark.parametrize("size", [64, hashes.RANDOM])
@pytest.mark.parametrize("stream", hashes.GENERATED)
def test_generated_streams_have_the_committed_hashes(stream, size):
    assert hashes.hashes(stream, size) == TABLE[stream]


@pytest.mark.compiled
@pytest.mark.realdata
def test_a9a_has_the_committed_hashes():
    if "BUDGETRUN_DATA" not in os.environ:
        pytest.skip("set BUDGETRUN_DATA")
    assert hashes.hashes("a9a", 256) == TABLE["a9a"]


def test_numpy_alone_gives_the_committed_hashes():
    command = [sys.executable, str(SCRIPT), "bits", "floats", "--ways", "numpy", "--sizes", "256"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("ok") == 2


def test_a_wrong_hash_is_noticed():
    assert hashes.differences({"bits": TABLE["bits"] | {"rbp": "0"}}, "bits", 1024) == ["rbp"]
