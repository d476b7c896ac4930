"""The state of a stream between two calls of `budgetrun run`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from budgetrun.data.running import Running
from budgetrun.data.scaling import scale_in_place
from budgetrun.engine import score
from budgetrun.play.session import Session

if TYPE_CHECKING:
    from budgetrun.kernels.rows import Matrix

# Rows scored at a time, to limit the memory for kernel values.
_ROWS = 1024


class ByRow:
    """Leaves the examples of a stream as they are, or scales each to Euclidean norm 1."""

    def __init__(self, scale: str) -> None:
        self.scale = scale

    def scaled(self, X: Matrix) -> Matrix:
        """Return the next examples scaled, shape (b, d), in place."""
        scale_in_place(X, self.scale, "the stream")
        return X


def scaler(scale: str, n_features: int) -> Running | ByRow:
    """Return the object that scales the chunks of a stream, in order: ``none``, ``unit_norm`` or ``running``."""
    return Running(n_features) if scale == "running" else ByRow(scale)


@dataclass
class Progressed:
    """The choices for a stream, and its learners after the rounds so far."""

    request: dict[str, Any]
    config: str
    said: list[str]
    classes: list[Any]
    encoding: Any
    scaler: Running | ByRow
    session: Session
    # The learners in messages.
    names: list[str]
    # Checksums of the parts of a pipe that earlier calls have read.
    sha256s: list[str] = field(default_factory=list)
    # The value of ``gamma: auto``.
    median_gamma: float | None = None
    stamp: list[int] = field(default_factory=list)
    seconds: float = 0.0
    ended: bool = False

    def __setstate__(self, state: dict[str, Any]) -> None:
        if "player" in state:
            # A state of version 0.2.0.
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
        The learner in words.
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
