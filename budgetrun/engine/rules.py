"""The interface of learners: on which rounds they act, and how they update their hypothesis."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

if TYPE_CHECKING:
    from budgetrun.engine.pool import Pool


class BinaryRule(Protocol):
    """A binary learner; see `budgetrun.learners.base.BinaryLearner`."""

    budget: int | None

    @property
    def alike_until_full(self) -> str | None: ...

    def start(self, pool: Pool) -> Any: ...

    def margins(self, f: Any, t: int) -> float | np.ndarray: ...

    def update(self, f: Any, y: int, score: float) -> None: ...


class MulticlassRule(Protocol):
    """A multiclass learner; see `budgetrun.learners.base.MulticlassLearner`."""

    budget: int | None
    costs: np.ndarray | None

    @property
    def alike_until_full(self) -> str | None: ...

    def start(self, pool: Pool, n_classes: int) -> Any: ...

    def margins(self, f: Any, t: int, true: np.ndarray, rivals: np.ndarray) -> float | np.ndarray: ...

    def update(self, f: Any, y: int, rival: int, lead: float) -> None: ...
