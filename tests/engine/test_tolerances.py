"""docs/engine.md lists the tolerances of the package, with the values that the code has."""

import importlib
import re
import tokenize
from pathlib import Path

import numpy as np
import pytest

import budgetrun
from budgetrun import kernels
from budgetrun.engine import Group
from budgetrun.learners import find

PACKAGE = Path(budgetrun.__file__).parent
PAGE = (PACKAGE.parent / "docs" / "engine.md").read_text(encoding="utf-8")
SECTION = PAGE.split("\n## Tolerances\n")[1].split("\n## ")[0]
LISTED = re.findall(r"^\| `([\w.]+)\.(\w+)` \| (\S+) \|", SECTION, re.MULTILINE)
# Numbers of this form that are not tolerances: defaults of parameters, widths, floors and factors of algorithms.
OTHERS = {
    ("engine/hypotheses/merging.py", "2e-4"),
    ("engine/hypotheses/merging.py", "1e-10"),
    ("learners/auto.py", "1e-4"),
    ("learners/bsgd_merging.py", "1e-4"),
    ("learners/raker.py", "1e-10"),
    ("learners/raker.py", "1e-4"),
    ("learners/raker.py", "1e-12"),
    # Of parameters that the user gives, and of a second part for terms that are 0 on paper.
    ("learners/projected_alma.py", "1e-6"),
    ("learners/projectron_pp.py", "1e-9"),
    ("kernels/spans.py", "1e-3"),
    # Kernels that cannot tell distances apart are refused.
    ("kernels/kinds.py", "1e-10"),
    ("kernels/kinds.py", "2e-16"),
}


@pytest.mark.parametrize(("module", "name", "value"), LISTED, ids=".".join)
def test_the_page_has_the_value_of_the_code(module, name, value):
    assert getattr(importlib.import_module(f"budgetrun.{module}"), name) == float(value)


def numbers():
    """Yield (file, number) for each small number of the parts that compare values."""
    for part in ("base", "kernels", "engine", "learners", "play", "estimators"):
        for path in sorted((PACKAGE / part).rglob("*.py")):
            with tokenize.open(path) as file:
                for token in tokenize.generate_tokens(file.readline):
                    is_small = token.type == tokenize.NUMBER and "e-" in token.string
                    if is_small and not re.search(rf"\b(regulariser|nu): \w+ = {re.escape(token.string)}", token.line):
                        yield path.relative_to(PACKAGE).as_posix(), token.string


def test_every_tolerance_is_on_the_page():
    listed = {(f"{module.replace('.', '/')}.py", value) for module, _, value in LISTED}
    # Below, numbers that only keep divisions and logarithms finite, and the digits of log 2.
    found = {(path, number) for path, number in numbers() if float(number) >= 1e-20 and len(number) < 10}
    assert found - OTHERS == listed
    assert found >= OTHERS


def test_rounding_is_that_of_the_type_of_kernel_values():
    base = importlib.import_module("budgetrun.engine.hypotheses.base")
    for dtype, rounding in (("float64", base.ROUNDING), ("float32", base.ROUGH)):
        group = Group(kernels.Gaussian(gamma=1), [find("perceptron")()], dtype=dtype)
        group.feed(np.zeros((1, 2)), np.ones((1, 1), dtype=int))
        assert group.members[0].hypothesis.rounding == rounding
