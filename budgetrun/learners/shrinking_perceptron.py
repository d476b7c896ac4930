"""The Shrinking Perceptron."""

import math
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from budgetrun.base.params import Formula
from budgetrun.engine.hypotheses import Expansion
from budgetrun.learners.base import BinaryLearner

_NAMES = ("m", "norm")
_TINY = 1e-300


def _formula(text: str) -> str:
    Formula(text, _NAMES)
    return text


Phi = Annotated[float, Field(gt=0, le=1)] | Annotated[str, AfterValidator(_formula)]


class ShrinkingPerceptron(BinaryLearner):
    """The Perceptron, with the hypothesis multiplied by phi_t after each update.

    Parameters:
    phi : float in (0, 1], or str
        The shrinking coefficient: a constant, or a formula in m, the number of mistakes including the current one, and
        norm, which is ||f'_t||; e.g. ``"(m / (m + 1)) ** 0.1"`` or ``"min(0.99, 5 / norm)"``, clipped to (0, 1].

    Attributes:
    shrinking : float
        The sum of log(1 / phi_t), in the bound of section 4.

    Notes: O(M_t d) per round. There is no budget: nothing is removed.

    References: Dekel, Shalev-Shwartz & Singer (2008), SIAM J. Comput. 37(5), section 4.

    >>> breast_cancer(ShrinkingPerceptron(phi=0.95), gamma=0.03).mistakes
    43
    """

    name = "shrinking_perceptron"
    title = "Shrinking Perceptron"
    tracks = {"norm": True}
    compiled = False

    def __init__(self, *, phi: Phi) -> None:
        self.phi = phi
        self.shrinking = 0.0
        self._formula = Formula(phi, _NAMES) if isinstance(phi, str) else None

    def update(self, f: Expansion, y: int, score: float) -> None:
        f.add(y)
        phi: Any = self.phi
        if self._formula is not None:
            norm = math.sqrt(max(f.norm_sq, _TINY))
            phi = min(1.0, max(_TINY, self._formula(m=f.mistakes, norm=norm)))
        self.shrinking -= math.log(phi)
        f.scale(phi)

    def facts(self, f: Expansion) -> dict[str, float]:
        return {"shrinking": self.shrinking}
