"""Progress of a sweep: a bar on a terminal, elsewhere a line at most every 20 seconds."""

from __future__ import annotations

import os
import sys
import time

from budgetrun.base.errors import printable


def duration(seconds: float) -> str:
    """Return a time as text, for example ``4 min`` or ``1 h 20 min``."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60:02d} min"


class Progress:
    """Counts finished runs, and estimates the time left from how long they took, compared with their estimates."""

    def __init__(self, n_runs: int, seconds: float, workers: int) -> None:
        from tqdm import tqdm

        self._n_runs, self._workers = n_runs, workers
        self._left = seconds
        self._estimated = self._taken = self._longest = 0.0
        self._finished = 0
        # Of the running jobs: what has been done of them, in estimated seconds.
        self._partly = 0.0
        self._began = self._printed = time.monotonic()
        shown = sys.stderr.isatty() and self._n_runs > 0
        # Some terminals report their size as 0 x 0, for which tqdm shows nothing.
        columns = min(100, os.get_terminal_size(sys.stderr.fileno()).columns or 80) if shown else None
        self._bar = tqdm(
            total=self._n_runs,
            bar_format="{percentage:3.0f}%|{bar}| {n_fmt}/{total_fmt} runs [{elapsed}{postfix}]",
            disable=not shown,
            file=sys.stderr,
            ncols=columns,
            nrows=20,
            postfix=self._time_left(),
        )

    def close(self) -> None:
        """Finish the bar."""
        self._bar.close()

    def expect(self, seconds: float) -> None:
        """Replace the estimated time of the runs that are left."""
        self._left = seconds

    def partly(self, estimated: float, running: int) -> None:
        """Say how much of ``running`` running jobs has been done, in estimated seconds."""
        self._partly = estimated
        now = time.monotonic()
        left = self._time_left()
        self._bar.set_postfix_str(left)
        if self._bar.disable and now - self._printed > 20:
            self._printed = now
            text = f"{self._finished:,}/{self._n_runs:,} runs, {duration(now - self._began)}"
            jobs = "1 job" if running == 1 else f"{running} jobs"
            print(f"{text}, {left} ({jobs} running)", file=sys.stderr, flush=True)

    def advance(self, n_runs: int, estimated: float, taken: float, dataset: str) -> None:
        """Count ``n_runs`` more as finished; they were estimated to take ``estimated`` seconds and took ``taken``."""
        self._finished += n_runs
        self._partly = 0.0
        self._left -= estimated
        self._estimated += estimated
        self._taken += taken
        self._longest = max(self._longest, taken)
        left = self._time_left()
        self._bar.set_postfix_str(left, refresh=False)
        self._bar.update(n_runs)
        now = time.monotonic()
        last = self._finished == self._n_runs
        if self._bar.disable and (last or now - self._printed > 20):
            self._printed = now
            elapsed = duration(now - self._began)
            text = f"{self._finished:,}/{self._n_runs:,} runs, {elapsed}"
            print(text if last else f"{text}, {left} ({dataset})", file=sys.stderr, flush=True)

    def _time_left(self) -> str:
        if self._finished == self._n_runs:
            return ""
        left = max(0.0, self._left - self._partly)
        expected = left / self._workers
        elapsed = time.monotonic() - self._began
        if self._partly > 0:
            spent, done = elapsed, self._estimated + self._partly
        else:
            # The time between jobs counts as well, but not that of jobs which are still running.
            spent, done = max(self._taken / self._workers, elapsed - self._longest), self._estimated
        if done > 0:
            # The first few seconds say little about the rest.
            trust = spent / (spent + 5)
            expected += trust * (left * spent / done - expected)
        return f"about {duration(expected)} left"

    def say(self, text: str) -> None:
        """Print a line above the bar."""
        self._bar.write(printable(text), file=sys.stderr)
