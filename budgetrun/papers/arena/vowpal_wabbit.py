"""Vowpal Wabbit."""

import os
import tempfile
from typing import Any

import numpy as np

from budgetrun.papers.arena.base import ProgramLearner, package


class VowpalWabbit(ProgramLearner):
    """Vowpal Wabbit with the logistic loss.

    Parameters:
    options : str
        Its options besides, as on its command line, such as ``--nn 20 --inpass``.

    Notes: O(d) per round, and what the program takes. Its score is its raw prediction. Its bytes are those of its model
    as saved.

    References: Langford, Li & Strehl (2007), "Vowpal Wabbit open source project".
    """

    name = "vowpal_wabbit"
    title = "Vowpal Wabbit"
    packages = ("vowpalwabbit",)
    calls = 50

    def __init__(self, *, options: str = "") -> None:
        self.options = options

    def begin(self) -> "Model":
        made = package("vowpalwabbit", "vowpalwabbit").Workspace
        return Model(made(f"--quiet --loss_function logistic {self.options}"))


class Model:
    """A workspace of Vowpal Wabbit as a `Program`."""

    def __init__(self, workspace: Any) -> None:
        self._workspace = workspace
        self._line = ""

    def score(self, x: np.ndarray) -> float:
        places = np.flatnonzero(x)
        self._line = "| " + " ".join(map("{}:{:.9g}".format, places.tolist(), x[places].tolist()))
        return float(self._workspace.predict(self._line))

    def learn(self, x: np.ndarray, y: int) -> None:
        self._workspace.learn(f"{y} {self._line}")

    def size(self) -> int:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model")
            self._workspace.save(path)
            return os.path.getsize(path)
