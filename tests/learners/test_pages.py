"""Pages of learners: examples give the output shown, and what a page leaves out comes from the rule it builds on."""

import doctest
import importlib

import pytest

from budgetrun.learners import BASES, registry
from budgetrun.learners.nogd import NOGD
from budgetrun.learners.page import complete

LEARNERS = [learner for task in BASES for variants in registry(task).values() for learner in variants.values()]
MODULES = {"budgetrun.base.params", *(learner.__module__ for learner in LEARNERS)}


@pytest.mark.parametrize("module", sorted(MODULES))
def test_examples(module):
    failed, attempted = doctest.testmod(importlib.import_module(module))
    assert attempted > 0
    assert failed == 0


def test_a_page_has_what_it_leaves_out_from_the_rule_it_builds_on():
    class Twice(NOGD):
        """Two steps.

        Parameters:
        step : float, > 0
            Half of eta.

        References: Nobody (2026).
        """

    parts = Twice.__doc__.split("    Notes\n")
    assert (
        parts[1].partition("    References")[0] == NOGD.__doc__.split("    Notes\n")[1].partition("    References")[0]
    )
    entries = [line.strip() for line in parts[0].splitlines() if " : " in line]
    assert [entry.partition(" : ")[0] for entry in entries] == ["budget", "step", "rank", "reading"]
    assert "step : float, > 0\n        Half of eta.\n    rank" in parts[0]
    assert parts[0].startswith("Two steps.\n\n    Parameters\n    ----------\n    budget : int")
    assert Twice.__doc__.endswith("    References\n    ----------\n    Nobody (2026).\n    ")
    # Examples are a class's own, and completing a page again changes nothing.
    assert "Examples" not in Twice.__doc__
    before = Twice.__doc__
    complete(Twice)
    assert Twice.__doc__ == before


def test_a_class_without_a_page_gets_none():
    class Silent(NOGD):
        pass

    assert Silent.__doc__ is None
