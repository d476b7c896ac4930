"""How far a stream is: a bar on a terminal, elsewhere a line at most every 20 seconds."""

from __future__ import annotations

import os
import sys
import time

from budgetrun.base.errors import printable
from budgetrun.runner.progress import duration

_SECONDS = 20.0


class Progress:
    """Says how many rounds have been played, how fast, and how long the rest takes.

    Parameters
    ----------
    n_rows : int or None
        T; None if it is not known.
    done : int
        Rounds that were played before.
    """

    def __init__(self, n_rows: int | None, done: int = 0) -> None:
        from tqdm import tqdm

        self._n_rows, self._first, self._done = n_rows, done, done
        self._began = self._said = time.monotonic()
        on_terminal = sys.stderr.isatty()
        columns = min(100, os.get_terminal_size(sys.stderr.fileno()).columns or 80) if on_terminal else None
        self._bar = tqdm(
            total=n_rows, initial=done, unit=" rows", unit_scale=True, disable=not on_terminal, file=sys.stderr,
            ncols=columns, nrows=20,
        )  # fmt: skip

    def advance(self, rounds: int, errors: str) -> None:
        """Say how far it is, if it is time to; ``errors`` is what to say of the errors so far."""
        self._bar.update(rounds - self._done)
        self._done = rounds
        now = time.monotonic()
        if self._bar.disable and now - self._said >= _SECONDS:
            self._said = now
            self.say(f"{self._text(now)}; {errors}")

    def is_due(self) -> bool:
        """Return whether the next call of `advance` says something."""
        return self._bar.disable and time.monotonic() - self._said >= _SECONDS

    def _text(self, now: float) -> str:
        speed = (self._done - self._first) / max(1e-9, now - self._began)
        if not self._n_rows:
            return f"{self._done:,} rows, {speed:,.0f} rows/s"
        left = duration((self._n_rows - self._done) / max(1e-9, speed))
        return f"{self._done:,} of {self._n_rows:,} rows, {speed:,.0f} rows/s, about {left} left"

    def say(self, text: str) -> None:
        """Print a line above the bar."""
        self._bar.write(printable(text), file=sys.stderr)
        sys.stderr.flush()

    def close(self) -> None:
        """Finish the bar."""
        self._bar.close()
