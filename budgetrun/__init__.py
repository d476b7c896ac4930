"""Online kernel learning under a memory budget.

Each learner is a scikit-learn classifier: ``from budgetrun import Forgetron``. The command line is ``budgetrun``.
"""

from __future__ import annotations

from importlib import import_module

# The command imports this before it can handle interrupts: the typing module would take most of that time.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__version__ = "0.2.0"


def __getattr__(name: str) -> Any:
    # Importing scikit-learn takes a second: do it only for a classifier, whose name begins with a capital.
    if name == "__all__":
        return sorted(_classifiers())
    if name[:1].isupper() and name in _classifiers():
        return _classifiers()[name]
    raise AttributeError(f"module 'budgetrun' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_classifiers()})


def _classifiers() -> dict[str, Any]:
    found: dict[str, Any] = import_module("budgetrun.estimators").CLASSIFIERS
    return found
