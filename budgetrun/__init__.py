"""Online kernel learning under a memory budget.

Each learner is a scikit-learn classifier or regressor: ``from budgetrun import Forgetron``. The command line is
``budgetrun``.
"""

__version__ = "0.3.0"


# `__init__.pyi` lists what there is. It is imported when it is asked for, because scikit-learn takes a second.
def __getattr__(name: str) -> object:
    if name in ("load_results", "sweep"):
        from budgetrun.runner import api

        return getattr(api, name)
    if name == "SelectingClassifier":
        from budgetrun.estimators.selecting import SelectingClassifier

        return SelectingClassifier
    if name in ("__all__", "load") or name[:1].isupper():
        from budgetrun import estimators
        from budgetrun.base import moved

        if name in ("Fleet", "load"):
            return getattr(estimators, name)
        if name == "__all__":
            return sorted([*estimators.MADE, "Fleet", "SelectingClassifier", "load", "load_results", "sweep"])
        if name in estimators.MADE:
            return estimators.MADE[name]
        if name in estimators.OLD_NAMES:
            moved.warn_of_old_name(name, found := estimators.OLD_NAMES[name])
            return found
    raise AttributeError(f"module 'budgetrun' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__getattr__("__all__"), *(n for n in globals() if n.startswith("__"))])
