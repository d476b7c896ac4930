"""Programs in any language: a line in, a line out."""

from __future__ import annotations

import os
import shlex
import subprocess
import weakref
from contextlib import suppress
from pathlib import Path

import numpy as np

from budgetrun.base.errors import InputError
from budgetrun.papers.arena.base import ProgramLearner

# The seconds that a process has to end by itself.
_PATIENCE = 5.0
_ASKED = "it must answer each line of numbers with one line, a number"


class Command(ProgramLearner):
    """A program that reads each example as a line, answers with a line, its score, and reads the label as a line.

    Parameters:
    command : str
        How to start it, such as ``python3 my_learner.py``; no shell reads this.

    Notes: O(d) per round, and what the program takes. In each round it reads the numbers of the example, separated by
    spaces; writes a number, of which the sign is the predicted class, and the size its log-odds if it has
    probabilities; and reads ``+1`` or ``-1``. The end of its input ends it. Its bytes are the memory of the process
    after the last round. What it writes to its standard error appears on the terminal.

    References: the line protocol is that of this project.
    """

    name = "command"
    title = "Command"
    calls = 50

    def __init__(self, *, command: str) -> None:
        self.command = command
        if not command.split():
            raise ValueError("command must name a program")

    def begin(self) -> Model:
        return Model(self.command)


class Model:
    """A process as a `Program`."""

    def __init__(self, command: str) -> None:
        self._command = command
        try:
            self._process = subprocess.Popen(
                shlex.split(command), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
            )
        except (OSError, ValueError) as error:
            raise InputError(f"command {command!r} cannot be started: {error}") from None
        weakref.finalize(self, _end, self._process)

    def score(self, x: np.ndarray) -> float:
        self._write(" ".join(map(repr, x.tolist())))
        assert self._process.stdout is not None
        answer = self._process.stdout.readline()
        if not answer:
            raise InputError(f"command {self._command!r} ended; {_ASKED}")
        try:
            return float(answer)
        except ValueError:
            raise InputError(f"command {self._command!r} answered {answer.strip()[:80]!r}; {_ASKED}") from None

    def learn(self, x: np.ndarray, y: int) -> None:
        self._write(f"{y:+d}")

    def size(self) -> int:
        """Return the resident memory of the process; 0 where the system does not tell."""
        status = Path(f"/proc/{self._process.pid}/statm")
        return int(status.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") if status.exists() else 0

    def _write(self, line: str) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(line + "\n")
        except OSError:
            raise InputError(f"command {self._command!r} ended; {_ASKED}") from None


def _end(process: subprocess.Popen[str]) -> None:
    """Close the pipes of a process, which ends it, and wait for that."""
    for pipe in (process.stdin, process.stdout):
        # What is left to write goes to a process that has ended.
        with suppress(OSError, AttributeError):
            pipe.close()  # type: ignore[union-attr]
    try:
        process.wait(timeout=_PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
