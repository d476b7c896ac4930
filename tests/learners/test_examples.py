"""The examples in the learners' docstrings give the output shown."""

import doctest
import importlib

import pytest

from budgetrun.learners import BASES, registry

LEARNERS = [learner for task in BASES for variants in registry(task).values() for learner in variants.values()]
MODULES = {"budgetrun.base.params.expressions", *(learner.__module__ for learner in LEARNERS)}


@pytest.mark.parametrize("module", sorted(MODULES))
def test_examples(module):
    failed, attempted = doctest.testmod(importlib.import_module(module))
    assert attempted > 0
    assert failed == 0
