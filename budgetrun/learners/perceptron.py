"""The Perceptron, in its kernel form."""

from __future__ import annotations

from budgetrun.engine.hypotheses.expansion import Hypothesis
from budgetrun.learners.base import Learner


class Perceptron(Learner):
    """Add every example that was misclassified, with its label as weight.

    Attributes
    ----------
    budget : None
        The support set grows by one with every mistake.

    Notes
    -----
    O(M_t d) a round. M <= ||g||^2 + 2 sum of g's hinge losses, for any g, if k(x, x) <= 1 (Theorem 1 of the source).

    References
    ----------
    Dekel, Shalev-Shwartz & Singer (2008), SIAM J. Comput. 37(5), section 2; Rosenblatt (1958).

    Examples
    --------
    >>> from budgetrun.engine import run
    >>> from budgetrun.kernels import Linear
    >>> run(Perceptron(), Linear(), [[1.0], [2.0], [-1.0]], [1, 1, 1]).mistakes
    2
    """

    name = "perceptron"
    perceptron_until_full = True
    only_adds = True

    def __init__(self) -> None:
        pass

    def update(self, f: Hypothesis, y: int, score: float) -> None:
        f.add(y)
