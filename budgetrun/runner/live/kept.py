"""What is kept of a stream between two calls of `budgetrun run`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from budgetrun.data.running import Running
from budgetrun.engine import score
from budgetrun.play.session import Session
from budgetrun.runner.live.scaling import Scaler

if TYPE_CHECKING:
    from budgetrun.kernels.rows import Matrix

# Rows scored at a time, to limit the memory for kernel values.
_ROWS = 1024


@dataclass
class Progressed:
    """What was chosen, and how far the learners are."""

    request: dict[str, Any]
    config: str
    said: list[str]
    classes: list[Any]
    encoding: Any
    scaler: Scaler
    session: Session
    # What messages call the learners.
    names: list[str]
    # Of the parts of a pipe that earlier calls have read.
    sha256s: list[str] = field(default_factory=list)
    # What ``gamma: auto`` stands for.
    median_gamma: float | None = None
    stamp: list[int] = field(default_factory=list)
    seconds: float = 0.0
    ended: bool = False

    def __setstate__(self, state: dict[str, Any]) -> None:
        if "player" in state:
            # Of version 0.2.0.
            state["session"] = state.pop("player")
        self.__dict__.update(state)

    def best(self) -> Best:
        """Return the learner with the fewest mistakes or the smallest squared errors so far; of several, the first."""
        return Best(self)


class Best:
    """The best learner of a stream so far, which predicts as a classifier or a regressor does, and learns no more.

    Attributes
    ----------
    classes_ : ndarray, shape (n_classes,)
        Empty if it predicts numbers.
    told : str
        Which learner it is.
    """

    def __init__(self, state: Progressed) -> None:
        session, totals = state.session, state.session.totals()
        i = int(totals.argmin())
        self.classes_ = np.array(state.classes)
        self.told = f"by {state.names[i]}, which {session.problem.best(totals[i], session.rounds)}"
        self._member, self._scaler = session.members[i], state.scaler

    def decision_function(self, X: Matrix) -> np.ndarray:
        """Return f(x) for each row, shape (n,), or (n, n_classes); with ``running``, the stream's scale is kept."""
        if isinstance(self._scaler, Running):
            self._scaler.scale(X, learn=False)
        else:
            X = self._scaler.scaled(X)
        scores = [score(self._member, X[start : start + _ROWS]).T for start in range(0, X.shape[0], _ROWS)]
        return np.concatenate(scores)

    predict = decision_function
