"""Progress of a sweep or a stream: a bar on a terminal, elsewhere a line at most every 20 seconds."""

import os
import sys
import time

from budgetrun.base.errors import say

_SECONDS = 20.0


def duration(seconds: float) -> str:
    """Return a time as text, for example ``4 min`` or ``1 h 20 min``."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60:02d} min"


class Display:
    """A bar of tqdm (``look`` has its arguments) that counts to ``total``, if that is known; or lines instead of it."""

    def __init__(self, total: int | None, done: int = 0, **look: object) -> None:
        from tqdm import tqdm

        self.total, self.first, self.done = total, done, done
        self.began = self._printed = time.monotonic()
        shown = sys.stderr.isatty() and total != 0
        # Some terminals report their size as 0 x 0, for which tqdm shows nothing.
        columns = min(100, os.get_terminal_size(sys.stderr.fileno()).columns or 80) if shown else None
        fixed = {"file": sys.stderr, "ncols": columns, "nrows": 20, "disable": not shown}
        self._bar = tqdm(total=total, initial=done, postfix=self.beside(), **fixed, **look)

    def is_due(self) -> bool:
        """Return whether it is time for a line; never if there is a bar."""
        return self._bar.disable and time.monotonic() - self._printed > _SECONDS

    def beside(self) -> str:
        """Return the words beside the bar."""
        return ""

    def count(self, n: int) -> None:
        """Count ``n`` more."""
        self.done += n
        self._bar.set_postfix_str(self.beside(), refresh=not n)
        self._bar.update(n)

    def line(self, text: str, is_last: bool = False) -> None:
        """Print a line if it is due, or if it is the last one and there is no bar."""
        if self.is_due() or (is_last and self._bar.disable):
            self._printed = time.monotonic()
            say(text)

    def close(self) -> None:
        """Finish the bar."""
        self._bar.close()


class RowsProgress(Display):
    """Shows how many rounds of a stream have been played, how fast, and how long the rest takes."""

    def __init__(self, n_rows: int | None, done: int = 0) -> None:
        super().__init__(n_rows, done, unit=" rows", unit_scale=True)

    def advance(self, rounds: int, errors: str) -> None:
        """Show that so many rounds have been played in all; ``errors`` has the errors so far, in words."""
        self.count(rounds - self.done)
        speed = (self.done - self.first) / max(1e-9, time.monotonic() - self.began)
        text = f"{self.done:,} rows, {speed:,.0f} rows/s"
        if self.total:
            left = duration((self.total - self.done) / max(1e-9, speed))
            text = f"{self.done:,} of {self.total:,} rows, {speed:,.0f} rows/s, about {left} left"
        self.line(f"{text}; {errors}" if errors else text)


class Progress(Display):
    """Counts finished runs, and estimates the time left from how long they took, compared with their estimates."""

    def __init__(self, n_runs: int, seconds: float, workers: int) -> None:
        # The estimated time of the runs that are left.
        self.left = seconds
        self._workers = workers
        self._estimated = self._taken = self._longest = 0.0
        # Estimated seconds of the running jobs that have passed.
        self._partly = 0.0
        super().__init__(n_runs, bar_format="{percentage:3.0f}%|{bar}| {n_fmt}/{total_fmt} runs [{elapsed}{postfix}]")

    def partly(self, estimated: float, running: int) -> None:
        """Show how much of ``running`` running jobs has been done, in estimated seconds."""
        self._partly = estimated
        self.count(0)
        self.line(f"{self._text()}, {self.beside()} ({'1 job' if running == 1 else f'{running} jobs'} running)")

    def advance(self, n_runs: int, estimated: float, taken: float, dataset: str) -> None:
        """Count ``n_runs`` more as finished; they were estimated to take ``estimated`` seconds and took ``taken``."""
        self._partly = 0.0
        self.left -= estimated
        self._estimated += estimated
        self._taken += taken
        self._longest = max(self._longest, taken)
        self.count(n_runs)
        last = self.done == self.total
        self.line(self._text() if last else f"{self._text()}, {self.beside()} ({dataset})", is_last=last)

    def _text(self) -> str:
        return f"{self.done:,}/{self.total:,} runs, {duration(time.monotonic() - self.began)}"

    def beside(self) -> str:
        """Return about how long the rest takes."""
        if self.done == self.total:
            return ""
        left = max(0.0, self.left - self._partly)
        expected = left / self._workers
        spent, done = time.monotonic() - self.began, self._estimated + self._partly
        if not self._partly:
            # The time between jobs counts as well, but not that of jobs which are still running.
            spent = max(self._taken / self._workers, spent - self._longest)
        if done > 0:
            # The first few seconds, and the first fiftieth of the work, say little about the rest.
            trust = spent / (spent + 5) * min(1.0, 50 * done / (done + left))
            expected += trust * (left * spent / done - expected)
        return f"about {duration(expected)} left"
