"""Binary learners with several classes: one learner per class, which tells that class from all others.

This is the one place where several learners become one. To the engine, they are a learner of several classes.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Sequence
from functools import cache
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import block_diag

from budgetrun.base.errors import InputError
from budgetrun.engine.hypotheses import Hypothesis
from budgetrun.engine.hypotheses.expansion import sum_ahead
from budgetrun.engine.play import Options
from budgetrun.engine.pool import Pool
from budgetrun.kernels import Rows
from budgetrun.learners.base import Learner

ONE_VS_REST = "one_vs_rest"


def is_one_vs_rest(variant: str | None) -> bool:
    """Return whether this is the variant of a learner that is one-vs-rest."""
    return (variant or "").endswith(ONE_VS_REST)


class OneVsRestHypothesis(Hypothesis):
    """One hypothesis per class, each of them a binary learner's, over the same pool.

    Every example is stored once, however many classes hold it.

    Parameters
    ----------
    pool : Pool
    learners : list of BinaryLearner
        One per class; the label of an example is +1 for the learner of its class, and -1 for all others.

    Attributes
    ----------
    of_classes : list of Hypothesis
        That of each class.
    slots : ndarray of int, shape (size,)
        The different examples that any class holds, oldest first.
    coef : ndarray of float64, shape (n_classes, size)
        Their weights in each class.
    mistakes, updates : int
        The rounds on which the true class is not strictly ahead; those on which the learner of any class acted.
    largest_size : int
        The largest support set of one class between rounds: what a budget limits.

    Notes
    -----
    The scores of two classes tie if they differ by at most `rounding` (1e-9) times the largest absolute score of the
    round. Equal sums over different examples can differ that little; it is no matter of blocks or machines.
    """

    form = ONE_VS_REST
    compiled = False

    def __init__(self, pool: Pool, learners: list[Any]) -> None:
        super().__init__(pool, len(learners))
        self._learners = learners
        self.of_classes: list[Hypothesis] = [learner.start(pool) for learner in learners]
        self._playing = 0

    @property
    def in_pool(self) -> bool:  # type: ignore[override]  # of an instance here
        """Whether support examples are in the pool; otherwise each class has points of its own."""
        return all(part.in_pool for part in self.of_classes)

    @property
    def size(self) -> int:
        return len(self.slots) if self.in_pool else sum(part.size for part in self.of_classes)

    @property
    def rounds(self) -> np.ndarray:
        return super().rounds if self.in_pool else np.concatenate([part.rounds for part in self.of_classes])

    @property
    def support_set(self) -> Rows:
        own: list[Any] = [] if self.in_pool else [part.support_set for part in self.of_classes]
        return np.vstack(own) if own else super().support_set

    @property
    def slots(self) -> np.ndarray:
        slots = np.unique(np.concatenate([part.slots for part in self.of_classes]))
        return slots[np.argsort(self._pool.rounds[slots], kind="stable")]

    @property
    def held(self) -> np.ndarray:
        return np.unique(np.concatenate([part.held for part in self.of_classes]))

    @property
    def coef(self) -> np.ndarray:
        if not self.in_pool:
            return block_diag(*(part.coef for part in self.of_classes))  # type: ignore[attr-defined]  # as below
        slots = self.slots
        at, coef = np.zeros(self._pool.capacity, dtype=np.intp), np.zeros((len(self.of_classes), len(slots)))
        at[slots] = np.arange(len(slots))
        for row, part in zip(coef, self.of_classes, strict=True):
            row[at[part.slots]] = part.coef  # type: ignore[attr-defined]  # as for `weights_` of one class
        return coef

    @property
    def now(self) -> int:
        return self.of_classes[self._playing].now

    def begin_block(self) -> None:
        super().begin_block()
        sum_ahead(self._pool, self.of_classes)

    def play(self, learner: Any, y: np.ndarray, t: int, options: Options) -> int:
        if options.single:
            raise InputError("one-vs-rest learners cannot be watched; feed them single rounds instead")
        acted = np.zeros(len(y), dtype=bool)
        for c, (part, own) in enumerate(zip(self.of_classes, self._learners, strict=True)):
            self._playing, t = c, 0
            part.begin_block()
            labels = np.where(y == c, 1, -1)
            while t < len(y):
                t = part.play(own, labels, t, options)
            part.end_block()
            self.scores[c] = part.predictions
            self.largest_size = max(self.largest_size, part.largest_size)
            acted |= part.acted
        at, rivals = np.arange(len(y)), self.scores.copy()
        rivals[y, at] = -np.inf
        wrong = self.scores[y, at] - rivals.max(axis=0) <= self.rounding * np.abs(self.scores).max(axis=0)
        self.mistakes += int(np.count_nonzero(wrong))
        self.updates += int(np.count_nonzero(acted | wrong))
        return len(y)

    def score(self, X: Rows, averaged: bool = False) -> np.ndarray:
        return np.stack([part.score(X, averaged) for part in self.of_classes])

    def features_in_use(self) -> np.ndarray:
        used: np.ndarray = np.any([part.features_in_use() for part in self.of_classes], axis=0)
        return used

    def rearrange(self, features: Sequence[int], n_features: int) -> None:
        for part in self.of_classes:
            part.rearrange(features, n_features)

    def memory(self, size: int, block: int) -> float:
        return sum(part.memory(size, block) for part in self.of_classes) + 16 * len(self.of_classes) * block

    def solving(self, size: int) -> float:
        return sum(part.solving(size) for part in self.of_classes)


class OneVsRest(Learner):
    """One copy of a binary learner per class; the class with the largest score is predicted, the lowest if several tie.

    Parameters
    ----------
    binary : BinaryLearner
        Copies of it learn; their generators begin with the same seed.
    """

    task = "multiclass"
    alike_until_full = None
    form: ClassVar[type[Hypothesis]] = OneVsRestHypothesis

    def __init__(self, binary: Any) -> None:
        self.binary = binary
        own: Any = one_vs_rest(type(binary))  # type: ignore[arg-type]  # classes are hashable
        self.name, self.variant, self.title = own.name, own.variant, own.title  # type: ignore[misc]  # of this one
        self.budget = binary.budget

    def __getattr__(self, name: str) -> Any:
        """Return a parameter of the binary learner."""
        if name.startswith("_") or name == "binary":
            raise AttributeError(name)
        return getattr(self.binary, name)

    def averages(self) -> bool:  # type: ignore[override]  # it depends on the binary learner
        """Return whether the mean of all hypotheses is available at the end of a stream."""
        return bool(self.binary.averages())

    def start(self, pool: Pool, n_classes: int) -> OneVsRestHypothesis:
        """Return f_1 = 0 for every class."""
        return OneVsRestHypothesis(pool, [copy.deepcopy(self.binary) for _ in range(n_classes)])


@cache
def one_vs_rest(binary: Any) -> type[Any]:
    """Return what makes `OneVsRest` of a binary learner, given its parameters.

    It has the parameters and the declarations of the binary learner, and a variant and a title of its own.
    """
    form = binary.form
    label = binary.name if binary.variant is None else f"{binary.name}({binary.variant})"
    # The form and the learner behind it are part of run ids.
    parts = {"form": f"{ONE_VS_REST} {OneVsRestHypothesis.revision}, {form.form}", "revision": form.revision}
    own: dict[str, Any] = {
        "__module__": __name__,
        "__doc__": binary.__doc__,
        "__signature__": inspect.signature(binary, eval_str=True),
        "__new__": lambda cls, **given: OneVsRest(binary(**given)),
        "variant": ONE_VS_REST if binary.variant is None else f"{binary.variant}_{ONE_VS_REST}",
        "title": f"{binary.title or label}, one-vs-rest",
        "default_variant": binary.variant is None or binary.default_variant,
        "form": type(form.__name__, (OneVsRestHypothesis, form), {"__module__": __name__, **parts}),
        "averages": binary.averages,
    }
    return type(f"OneVsRest{binary.__name__}", (OneVsRest, binary), own)
