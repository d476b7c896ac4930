"""What compiled code takes from classes."""

import inspect

import pytest
from cases import TASKS, all_cases

from budgetrun import kernels
from budgetrun.engine import Group
from budgetrun.learners import find

# Only Python reads these.
OF_PYTHON = {"upkeep", "compiled", "reading"}
CASES = {
    (name, variant, TASKS[kind == "MULTICLASS_CASES"]): parameters
    for kind in ("CASES", "MULTICLASS_CASES")
    for _, name, variant, parameters, _ in all_cases(kind)
}


@pytest.mark.parametrize("learner", CASES, ids=str)
def test_no_attribute_of_an_object_hides_a_constant_of_its_class(learner):
    """Compiled code would read the constant."""
    found = find(*learner)(**CASES[learner])
    group = Group(kernels.Gaussian(gamma=0.5), [found], **({"n_classes": 3} if learner[2] == "multiclass" else {}))
    for thing in (found, group.members[0].hypothesis):
        if not thing.compiled:
            continue
        of_class = {name: inspect.getattr_static(type(thing), name, None) for name in vars(thing)}
        hidden = {name for name, value in of_class.items() if isinstance(value, bool | int | float | str)}
        assert hidden <= OF_PYTHON
