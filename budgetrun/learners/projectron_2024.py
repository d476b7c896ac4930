"""What the comparison of 2024 calls Projectron++: every loss is learned, by projection or else by adding."""

from __future__ import annotations

from typing import TYPE_CHECKING

from budgetrun.learners.projectron import Projectron
from budgetrun.params import NotNegative

if TYPE_CHECKING:
    from budgetrun.engine.hypotheses import Projected


class AlwaysAddingProjectron(Projectron):
    """The Projectron, but on every hinge loss: what the support set does not nearly span is added, no matter why.

    Parameters
    ----------
    eta : float, >= 0
        The most that a projection may lose of an example: it is projected if ||delta|| <= eta.

    Notes
    -----
    O(n^2) a round for n support examples, and as much memory. The Projectron++ of 2009 (``projectron++``) takes smaller
    steps on margin errors, and never adds them: it has other errors and other support sizes than the table prints.
    The rule is that of the authors' runs; the paper itself does not spell it out.

    References
    ----------
    "Projectron++" in Liao, Li, Liao, Hu & Dang (2024), "Ahpatron: a new budgeted online kernel learning machine with
    tighter mistake bound", AAAI, Table 2; after Orabona, Keshet & Caputo (2009), JMLR 10.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from budgetrun.engine import run
    >>> from budgetrun.kernels import Gaussian
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> count = run(AlwaysAddingProjectron(eta=0.3), Gaussian(gamma=0.03), scale(X), 2 * y - 1)
    >>> count.mistakes, count.max_support
    (23, 74)
    """

    name = "projectron++_2024"

    def __init__(self, *, eta: NotNegative) -> None:
        super().__init__(eta=eta)

    def margins(self, f: Projected, t: int) -> float:
        # An update may leave a margin of 1: the same example again must not have a loss through rounding.
        return 1 - f.rounding
