"""The first use of an installation: processor time of `fit` in a new process, with an empty cache and a full one."""

import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from budgetrun.kernels.compiling import ENVIRONMENT

LEARNERS = (
    "Forgetron(budget=200)",
    "BPA(budget=200)",
    "BOGD(budget=200)",
    "BSGD(variant='merging', budget=200)",
    "Perceptron()",
    "PassiveAggressive()",
)
ROUNDS = 30000
# Prints the processor seconds of this process for `fit`, and then for `fit` again.
_PROGRAM = """
import sys, time
import numpy as np
import budgetrun
from benchmarks.growth import made_stream
X, (y,) = made_stream(int(sys.argv[2]), 120, 1)
model = eval(f"budgetrun.{sys.argv[1]}").set_params(gamma=0.04)
for _ in range(2):
    began = time.process_time()
    model.fit((X > 0.1).astype(float), y)
    print(time.process_time() - began, flush=True)
"""


@dataclass
class FirstUse:
    """The seconds of a learner's fit; a row of first_use.csv."""

    learner: str
    rounds: int
    first: float  # in an empty cache; nothing is waited for
    compiled_first: float  # in an empty cache, with BUDGETRUN_COMPILED=1
    new_process: float  # in a new process, when all is in the cache
    again: float  # in the same process, when all is loaded


def measure_first_use() -> list[FirstUse]:
    """Measure each of the learners on generated rows of zeros and ones."""
    found = []
    for learner in LEARNERS:
        with tempfile.TemporaryDirectory() as empty, tempfile.TemporaryDirectory() as cache:
            first, _ = _seconds(learner, "", Path(empty))
            compiled_first, again = _seconds(learner, "1", Path(cache))
            new_process, _ = _seconds(learner, "", Path(cache))
        found.append(FirstUse(learner, ROUNDS, first, compiled_first, new_process, again))
    return found


def _seconds(learner: str, mode: str, cache: Path) -> list[float]:
    env = {**os.environ, ENVIRONMENT: mode, "NUMBA_CACHE_DIR": str(cache)}
    command = [sys.executable, "-c", _PROGRAM, learner, str(ROUNDS)]
    said = subprocess.run(command, env=env, stdout=subprocess.PIPE, text=True, check=True).stdout
    return [float(line) for line in said.split()]
