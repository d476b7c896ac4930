"""Try the tests of tests/hostile on new examples until the time is over or one fails.

A property is a test function with hypothesis' ``@given`` and no number of examples of its own, in any
``tests/hostile/test_*.py``; `make test` tries each on the same few examples every time. One round here tries all of
them on a few hundred fresh examples each. An example that takes more than a minute, or more than 4 GB, is a failure.

    python scripts/attack/fuzz.py --minutes 10 [-k readers] [--seed 7]
"""

from __future__ import annotations

import argparse
import faulthandler
import functools
import random
import resource
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

HOSTILE = Path(__file__).resolve().parents[2] / "tests" / "hostile"
_MOST_SECONDS = 60
_MOST_BYTES = 4 * 2**30


class Rounds:
    """Counts the examples of each property, ends the process if one hangs, and the round when the time is over."""

    def __init__(self, until: float) -> None:
        self.until = until
        self.examples: Counter[str] = Counter()
        self._property = ""

    def pytest_itemcollected(self, item: Any) -> None:
        """Have every example of a property counted and watched."""
        handle = getattr(item.obj, "hypothesis", None)
        if handle is None or getattr(handle.inner_test, "watched", False):
            return
        handle.inner_test = self._watched(handle.inner_test)

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        """Leave out tests that are not properties: they do not change from one round to the next."""
        items[:] = [item for item in items if hasattr(item.obj, "hypothesis")]

    def pytest_runtest_setup(self, item: Any) -> None:
        """Stop the round when the time is over; the examples that follow are those of this property."""
        self._property = item.nodeid.rpartition("/")[2]
        if time.monotonic() > self.until:
            item.session.shouldstop = "the time is over"
            pytest.skip("the time is over")

    def _watched(self, test: Any) -> Any:
        @functools.wraps(test)
        def watched(*args: Any, **kwargs: Any) -> Any:
            self.examples[self._property] += 1
            faulthandler.dump_traceback_later(_MOST_SECONDS, exit=True, file=sys.__stderr__)
            try:
                return test(*args, **kwargs)
            finally:
                faulthandler.cancel_dump_traceback_later()

        watched.watched = True  # type: ignore[attr-defined]
        return watched


def main() -> int:
    """Run rounds; return the exit code of pytest: 1 if a property fails."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("-k", default="", metavar="WORDS", help="the properties to try, as pytest's -k")
    parser.add_argument("--seed", type=int, help="of the first round; printed, so that a round can be repeated")
    given = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (_MOST_BYTES, resource.RLIM_INFINITY))
    rounds = Rounds(time.monotonic() + 60 * given.minutes)
    seed = random.SystemRandom().randrange(10**6) if given.seed is None else given.seed
    arguments = [str(HOSTILE), "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-k", given.k]
    arguments += ["--hypothesis-profile=fuzz", "--show-capture=no", "--no-header", "-r", "fE"]
    code = 0
    while code == 0 and time.monotonic() < rounds.until:
        print(f"seed {seed}", flush=True)
        code = int(pytest.main([*arguments, f"--hypothesis-seed={seed}"], plugins=[rounds]))
        if code == pytest.ExitCode.INTERRUPTED and time.monotonic() > rounds.until:
            code = 0
        seed += 1
    for name, n in sorted(rounds.examples.items()):
        print(f"{n:>10,}  {name}")
    print(f"{sum(rounds.examples.values()):>10,}  examples in all; " + ("a property failed" if code else "no failure"))
    return code


if __name__ == "__main__":
    sys.exit(main())
