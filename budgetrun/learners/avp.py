"""AVP, the aggressive variant of the Perceptron."""

import math

from budgetrun.base.params import Positive, ProperShare
from budgetrun.engine.hypotheses import Expansion
from budgetrun.learners.base import BinaryLearner
from budgetrun.learners.steps import into_ball


class AVP(BinaryLearner):
    """Add every example whose margin is below 1 - epsilon, and keep ||f|| <= U.

    Parameters:
    epsilon : float in (1/2, 1) for the mistake bounds
        Examples with a margin below 1 - epsilon are added.
    U : float, > 0, or None
        The bound on ||f||. None means no bound, and steps of 1 (Corollary 1); otherwise the step is U / sqrt(U^2 + m)
        after m rounds with y f(x) <= 0, including the current one (Corollary 2).

    Attributes:
    misses : int
        |M'_T|, the number of rounds so far with y f(x) <= 0.
    margin_steps : float
        Delta_T, the sum of step / 2 - epsilon over the updates with y f(x) > 0.

    Notes: O(n d) per round for n support examples. Nothing is removed. Departures from the source: none.

    References: Liao, Li, Liao, Hu & Dang (2024), "Ahpatron: a new budgeted online kernel learning machine with tighter
    mistake bound", AAAI. Algorithm 1; steps: Corollaries 1 and 2.

    >>> breast_cancer(AVP(epsilon=0.6), gamma=0.03).mistakes
    28
    """

    name = "avp"
    title = "AVP"
    tracks = {"norm": True}

    def __init__(self, *, epsilon: ProperShare, U: Positive | None = None) -> None:
        self.epsilon = epsilon
        self.U = U
        self._radius = math.inf if U is None else U
        self.misses = 0
        self.margin_steps = 0.0

    def margins(self, f: Expansion, t: int) -> float:
        return 1 - self.epsilon - f.rounding

    def update(self, f: Expansion, y: int, score: float) -> None:
        missed = y * score <= 0
        self.misses += missed
        step = 1 / math.sqrt(1 + self.misses / self._radius**2)
        if not missed:
            self.margin_steps += step / 2 - self.epsilon
        f.add(y * step)
        into_ball(f, self._radius)

    def facts(self, f: Expansion) -> dict[str, float]:
        return {"margin_steps": self.margin_steps}
