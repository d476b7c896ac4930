"""Binary learners with several classes: one learner per class, which tells that class from all others.

This is the one place where several learners become one. To the engine, they are a learner of several classes.
"""

import copy
import inspect
from functools import cache
from typing import Any

from budgetrun.engine.hypotheses.one_vs_rest import OneVsRestHypothesis
from budgetrun.engine.pool import Pool
from budgetrun.learners.base import Learner

ONE_VS_REST = "one_vs_rest"


def is_one_vs_rest(variant: str | None) -> bool:
    """Return whether this is the variant of a learner that is one-vs-rest."""
    return (variant or "").endswith(ONE_VS_REST)


class OneVsRest(Learner):
    """One copy of a binary learner per class; the class with the largest score is predicted, the lowest if several tie.

    The generators of the copies begin with the same seed.
    """

    task = "multiclass"
    alike_until_full = None
    form = OneVsRestHypothesis

    def __init__(self, binary: Any) -> None:
        self.binary = binary
        own: Any = one_vs_rest(type(binary))  # type: ignore[arg-type]  # classes are hashable
        self.name, self.variant, self.title = own.name, own.variant, own.title  # type: ignore[misc]  # of this one
        self.family = own.family  # type: ignore[misc]
        self.budget = binary.budget

    def __getattr__(self, name: str) -> Any:
        """Return a parameter of the binary learner."""
        if name.startswith("_") or name == "binary":
            raise AttributeError(name)
        return getattr(self.binary, name)

    def averages(self) -> bool:  # type: ignore[override]  # it depends on the binary learner
        return bool(self.binary.averages())

    def start(self, pool: Pool, n_classes: int) -> OneVsRestHypothesis:
        return OneVsRestHypothesis(pool, [copy.deepcopy(self.binary) for _ in range(n_classes)])


@cache
def one_vs_rest(binary: Any) -> type[Any]:
    """Return what makes `OneVsRest` of a binary learner: with its parameters, and an own variant and title."""
    form = binary.form
    label = binary.name if binary.variant is None else f"{binary.name}({binary.variant})"
    # The form and the learner behind it are part of run ids.
    parts = {"form": f"{ONE_VS_REST} {OneVsRestHypothesis.revision}, {form.form}", "revision": form.revision}
    own: dict[str, Any] = {
        "__module__": __name__,
        "__signature__": inspect.signature(binary, eval_str=True),
        "__new__": lambda cls, **given: OneVsRest(binary(**given)),
        "variant": ONE_VS_REST if binary.variant is None else f"{binary.variant}_{ONE_VS_REST}",
        "title": f"{binary.title or label}, one-vs-rest",
        "default_variant": binary.variant is None or binary.default_variant,
        "form": type(form.__name__, (OneVsRestHypothesis, form), {"__module__": __name__, **parts}),
        "averages": binary.averages,
    }
    made = type(f"OneVsRest{binary.__name__}", (OneVsRest, binary), own)
    made.__doc__ = binary.__doc__
    return made
