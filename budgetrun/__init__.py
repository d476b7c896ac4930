"""Online kernel learning under a memory budget.

The learners are scikit-learn classifiers here: ``from budgetrun import Forgetron``. The command line is ``budgetrun``.
"""

from importlib import import_module
from typing import Any

__version__ = "0.2.0"


def __getattr__(name: str) -> Any:
    # Only who asks for a classifier waits for scikit-learn; classes have capitals, modules do not.
    if name[:1].isupper():
        classifiers = import_module("budgetrun.estimators").CLASSIFIERS
        if name in classifiers:
            return classifiers[name]
    raise AttributeError(f"module 'budgetrun' has no attribute {name!r}")
