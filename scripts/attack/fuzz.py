"""Try the tests of tests/hostile on new examples until the time is over or one fails.

A property is a test function with hypothesis' ``@given`` and no number of examples of its own, in any
``tests/hostile/test_*.py``; `make test` tries each on the same few examples every time. One round here tries all of
them on a few hundred fresh examples each. An example that takes more than a minute, or more than 4 GB, is a failure.
With --record, the counts of each property become a row of results/fuzz.csv, which CONTRIBUTING.md sums up; with
--examples, those that are in the table count.

    python scripts/attack/fuzz.py --minutes 10 [-k readers] [--seed 7]
    python scripts/attack/fuzz.py --examples 1000 --record  # until each property was tried on so many
"""

from __future__ import annotations

import argparse
import faulthandler
import functools
import math
import os
import random
import resource
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

TOP = Path(__file__).resolve().parents[2]
HOSTILE = TOP / "tests" / "hostile"
TABLE = TOP / "results" / "fuzz.csv"
COLUMNS = ["property", "seed", "examples", "failed"]
_MOST_SECONDS = 60
# pytest takes the other one.
_STDERR = os.dup(2)
_MOST_BYTES = 4 * 2**30


class Rounds:
    """Counts the examples of each property, ends the process if one hangs, and the round when the time is over."""

    def __init__(self, until: float, enough: int) -> None:
        self.until, self.enough = until, enough
        self.examples: Counter[str] = Counter()
        self.failed: Counter[str] = Counter()
        # Those of other seeds in the table, if they count.
        self.before: Counter[str] = Counter()
        self._property = ""

    def pytest_itemcollected(self, item: Any) -> None:
        """Have every example of a property counted and watched."""
        handle = getattr(item.obj, "hypothesis", None)
        if handle is None or getattr(handle.inner_test, "watched", False):
            return
        handle.inner_test = self._watched(handle.inner_test)

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        """Leave out tests that are not properties: they do not change from one round to the next."""
        tried, properties = self.examples + self.before, [item for item in items if hasattr(item.obj, "hypothesis")]
        items[:] = [item for item in properties if tried[name_of(item.nodeid)] < self.enough]

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Count a property that failed."""
        self.failed[name_of(report.nodeid)] += report.failed

    def pytest_runtest_setup(self, item: Any) -> None:
        """Stop the round when the time is over; the examples that follow are those of this property."""
        self._property = name_of(item.nodeid)
        if time.monotonic() > self.until:
            item.session.shouldstop = "the time is over"
            pytest.skip("the time is over")

    def _watched(self, test: Any) -> Any:
        @functools.wraps(test)
        def watched(*args: Any, **kwargs: Any) -> Any:
            self.examples[self._property] += 1
            faulthandler.dump_traceback_later(_MOST_SECONDS, exit=True, file=_STDERR)
            try:
                return test(*args, **kwargs)
            finally:
                faulthandler.cancel_dump_traceback_later()

        watched.watched = True  # type: ignore[attr-defined]
        return watched


def name_of(nodeid: str) -> str:
    """Return the name of a property: its file and its function."""
    return nodeid.rpartition("tests/hostile/")[2].partition("[")[0]


def known() -> pd.DataFrame:
    """Return the table, in which seeds are sorted as text."""
    return pd.read_csv(TABLE, dtype={"seed": str}) if TABLE.is_file() else pd.DataFrame(columns=COLUMNS)


def recorded(seed: int, rounds: Rounds) -> None:
    """Write the counts of the properties that were tried into the table."""
    found = [(name, str(seed), examples, rounds.failed[name]) for name, examples in rounds.examples.items()]
    table = pd.concat([known(), pd.DataFrame(found, columns=COLUMNS)]).drop_duplicates(COLUMNS[:2], keep="last")
    table.sort_values(COLUMNS[:2]).to_csv(TABLE, index=False)


def summary() -> list[str]:
    """Return the lines of CONTRIBUTING.md with the counts of each file of properties."""
    table, lines = known(), []
    for name, own in table.groupby(table["property"].str.partition("::")[0], sort=False):
        shown, counts = name.removeprefix("test_fuzz_").removesuffix(".py"), own[["examples", "failed"]].sum()
        lines.append(f"| {shown} | {own['property'].nunique()} | " + " | ".join(map("{:,}".format, counts)) + " |")
    return lines


def main() -> int:
    """Run rounds; return the exit code of pytest: 1 if a property fails."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    limits = parser.add_mutually_exclusive_group()
    limits.add_argument("--minutes", type=float, default=10.0)
    limits.add_argument("--examples", type=int, metavar="N", help="until each property was tried on N, however long")
    parser.add_argument("-k", default="", metavar="WORDS", help="the properties to try, as pytest's -k")
    parser.add_argument("--seed", type=int, help="of the first round; printed, so that a round can be repeated")
    parser.add_argument("--record", action="store_true", help="write the counts into results/fuzz.csv")
    given = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (_MOST_BYTES, resource.RLIM_INFINITY))
    # What a learner may ask for is otherwise all the memory that is there.
    os.environ["BUDGETRUN_MEMORY"] = str(_MOST_BYTES // 2)
    until = time.monotonic() + 60 * given.minutes if given.examples is None else math.inf
    rounds = Rounds(until, given.examples or sys.maxsize)
    seed = first = random.SystemRandom().randrange(10**6) if given.seed is None else given.seed
    arguments = [str(HOSTILE), "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-k", given.k]
    arguments += ["--hypothesis-profile=fuzz", "--show-capture=no", "--no-header", "-r", "fE"]
    if given.record:
        table = known()
        rounds.before.update(table[table["seed"] != str(first)].groupby("property")["examples"].sum().to_dict())
    code = 0
    while code == 0 and time.monotonic() < rounds.until:
        print(f"seed {seed}", flush=True)
        code = int(pytest.main([*arguments, f"--hypothesis-seed={seed}"], plugins=[rounds]))
        if code == pytest.ExitCode.INTERRUPTED and time.monotonic() > rounds.until:
            code = int(any(rounds.failed.values()))
        seed += 1
        if given.record:
            recorded(first, rounds)
    if code == pytest.ExitCode.NO_TESTS_COLLECTED and rounds.examples:
        # Each had enough.
        code = 0
    for name, n in sorted(rounds.examples.items()):
        print(f"{n:>10,}  {name}")
    print(f"{sum(rounds.examples.values()):>10,}  examples in all; " + ("a property failed" if code else "no failure"))
    return code


if __name__ == "__main__":
    sys.exit(main())
