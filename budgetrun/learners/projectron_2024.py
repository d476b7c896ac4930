"""The "Projectron++" of the comparison of 2024: it updates on every positive loss, by projecting or by adding."""

from budgetrun.base.params import NotNegative
from budgetrun.learners.projectron import Projectron


class AlwaysAddingProjectron(Projectron):
    """The Projectron, updated on every positive hinge loss, not only on mistakes.

    Parameters:
    eta : float, >= 0
        An example is projected if its distance from the span, ||delta||, is at most eta; otherwise it is added.

    Notes: O(n^2) time per round and O(n^2) memory for n support examples. The Projectron++ of 2009 (``projectron++``)
    takes smaller steps on margin errors and never adds them; its errors and support sizes differ from the published
    table. This is the rule of the authors' runs; the paper does not state it.

    References: "Projectron++" in Liao, Li, Liao, Hu & Dang (2024), "Ahpatron: a new budgeted online kernel learning
    machine with tighter mistake bound", AAAI, Table 2; after Orabona, Keshet & Caputo (2009), JMLR 10.

    >>> breast_cancer(AlwaysAddingProjectron(eta=0.3), gamma=0.03).mistakes
    23
    """

    name = "projectron++_2024"
    title = "Projectron++ (2024)"
    margin = 1.0

    def __init__(self, *, eta: NotNegative) -> None:
        super().__init__(eta=eta)
