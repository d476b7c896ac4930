"""Programs in any language: a line in, a line out."""

import os
import shlex
import subprocess
from pathlib import Path

import numpy as np

from budgetrun.base.errors import InputError
from budgetrun.papers.arena.base import ProgramLearner

_ASKED = "it must answer each line of numbers with one line, a number"


class Command(ProgramLearner):
    """A program that reads each example as a line, answers with a line, its score, and reads the label as a line.

    Parameters:
    command : str
        How to start it, such as ``python3 my_learner.py``; no shell reads this.

    Notes: In each round it reads the numbers of the example, separated by spaces; writes a number, of which the sign is
    the predicted class, and the size its log-odds if it has probabilities; and reads ``+1`` or ``-1``. The end of its
    input ends it. Its bytes are the memory of the process after the last round. What it writes to its standard error
    appears on the terminal.

    References: none.
    """

    name = "command"
    title = "Command"
    calls = 50

    def __init__(self, *, command: str) -> None:
        self.command = command
        if not command.split():
            raise ValueError("command must name a program")

    def begin(self) -> "Model":
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

    def __del__(self) -> None:
        process = getattr(self, "_process", None)
        if process is not None:
            for pipe in (process.stdin, process.stdout):
                pipe.close()
            try:
                process.wait(timeout=5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
