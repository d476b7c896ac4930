"""What mypy sees of the estimators: `make mypy` checks this file, where a comment that ignores no error is one."""

from pathlib import Path
from typing import assert_type

import budgetrun
from budgetrun import Forgetron, load, sweep

assert_type(Forgetron().mistakes_, int)
assert_type(sweep("quickstart").folder, Path)
budgetrun.Forgetron(budget=10, variant="greedy").fit([[0.0], [1.0]], [0, 1]).predict([[0.5]])
load("model").predict([[0.5]])
Forgetron(budget="x")  # type: ignore[arg-type]
Forgetron(variant="bold")  # type: ignore[arg-type]
budgetrun.Forgetro()  # type: ignore[attr-defined]
