"""The parameters of the two algorithms of Sutskever (2009)."""

import math
import re

import pytest

from budgetrun.learners.modified_rbp import ModifiedRBP
from budgetrun.learners.simplified_forgetron import SimplifiedForgetron


def test_defaults_are_those_of_the_theorems():
    rbp, forgetron = ModifiedRBP(budget=1024), SimplifiedForgetron(budget=1024)
    assert (rbp.step, rbp.radius) == (1 / 16, 4.0)
    U_squared = 1024 / (32 * 13)
    assert (forgetron.step, forgetron.radius) == (1 / 32, pytest.approx(math.sqrt(U_squared) / 2))
    assert forgetron.regulariser == pytest.approx(1 / U_squared)
    assert forgetron.factor == pytest.approx(1 - 13 / 1024)
    # eq. (11): the factor of M on the right-hand side; and the U >= 1 of section 3.2, from a smaller B than it says.
    for budget in (500, 1000, 10_000):
        learner = SimplifiedForgetron(budget=budget)
        U = 2 * learner.radius
        assert 1 / 8 + 9 / 64 + U * learner.factor**budget <= 1 / 2
    assert 2 * SimplifiedForgetron(budget=368).radius < 1 < 2 * SimplifiedForgetron(budget=369).radius


@pytest.mark.parametrize(("given", "sentence"), [
    ({"budget": 5}, "got 1.06439; with budget=5 and step=0.03125 use a larger budget or a regulariser below 32"),
    ({"budget": 100, "radius": 0.05},
     "got 3.125; with budget=100 and step=0.03125 use a larger radius or a regulariser below 32"),
    ({"budget": 100, "step": 0.5, "regulariser": 2.0}, "got 1; with budget=100 and step=0.5 use a regulariser "),
    ({"budget": 100, "radius": 1e-200}, "got inf; with budget=100"),
])  # fmt: skip
def test_a_regulariser_that_leaves_nothing_is_refused(given, sentence):
    begins = "step * regulariser must be below 1, because a mistake multiplies earlier weights by 1 minus that, "
    with pytest.raises(ValueError, match=f"^{re.escape(begins + sentence)}"):
        SimplifiedForgetron(**given)
