"""Online kernel learning under a memory budget.

Each learner is a scikit-learn classifier or regressor: ``from budgetrun import Forgetron``. The command line is
``budgetrun``.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.machinery import SOURCE_SUFFIXES, FileFinder, SourceFileLoader

# The command imports this before it can handle interrupts: the typing module would take most of that time.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType
    from typing import Any

__version__ = "0.2.0"

# What users call, and where it is; it is imported only when asked for.
_FUNCTIONS = {
    "load": "estimators",
    "load_results": "runner.api",
    "sweep": "runner.api",
    "SelectingClassifier": "estimators.selecting",
}
# The code of each module that this process has imported; its file may have changed since.
loaded_code: dict[str, CodeType] = {}


class _Recording(SourceFileLoader):
    """Loads a module of this package, and records the code that it loads."""

    def get_code(self, fullname: str) -> CodeType | None:
        code = super().get_code(fullname)
        if code is not None:
            loaded_code[fullname] = code
        return code


def _finder(path: str) -> FileFinder:
    if not path.startswith(__path__[0]):
        raise ImportError("only for this package")
    return FileFinder(path, (_Recording, SOURCE_SUFFIXES))


sys.path_hooks.insert(0, _finder)


def __getattr__(name: str) -> Any:
    if name in _FUNCTIONS:
        return getattr(import_module(f"budgetrun.{_FUNCTIONS[name]}"), name)
    # Importing scikit-learn takes a second: do it only for an estimator, whose name begins with a capital.
    if name == "__all__":
        return sorted({*_FUNCTIONS, *_estimators()})
    if name[:1].isupper() and name in _estimators():
        return _estimators()[name]
    raise AttributeError(f"module 'budgetrun' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_FUNCTIONS, *_estimators()})


def _estimators() -> dict[str, Any]:
    estimators = import_module("budgetrun.estimators")
    found: dict[str, Any] = estimators.CLASSIFIERS | estimators.REGRESSORS
    return found
