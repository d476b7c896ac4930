"""What is kept of a stream between two calls of `budgetrun run`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from budgetrun.data.running import Running
from budgetrun.engine import score
from budgetrun.runner.live.play import Player
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
    player: Player
    # What messages call the learners.
    names: list[str]
    # Of the parts of a pipe that earlier calls have read.
    sha256s: list[str] = field(default_factory=list)
    # What ``gamma: auto`` stands for.
    median_gamma: float | None = None
    stamp: list[int] = field(default_factory=list)
    seconds: float = 0.0
    ended: bool = False

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
        members, errors = state.player.members, state.player.errors
        if errors is None:
            i = min(range(len(members)), key=lambda i: members[i].count.mistakes)
            why = f"made the fewest mistakes on its stream ({members[i].count.mistakes:,})"
        else:
            i = int(errors.squared.argmin())
            why = f"had the smallest root mean squared error on its stream ({errors.rmse(i):.4g})"
        self.classes_ = np.array(state.classes)
        self.told = f"by {state.names[i]}, which {why}"
        self._member, self._scaler = members[i], state.scaler

    def decision_function(self, X: Matrix) -> np.ndarray:
        """Return f(x) for each row, shape (n,), or (n, n_classes); with ``running``, the stream's scale is kept."""
        if isinstance(self._scaler, Running):
            self._scaler.scale(X, learn=False)
        else:
            X = self._scaler.scaled(X)
        scores = [score(self._member, X[start : start + _ROWS]).T for start in range(0, X.shape[0], _ROWS)]
        return np.concatenate(scores)

    predict = decision_function
