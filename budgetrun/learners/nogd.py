"""NOGD: gradient descent over the Nystroem features of the first examples with a positive loss."""

from typing import Literal

import numpy as np

from budgetrun.base.params import Count, Positive
from budgetrun.engine.hypotheses import Nystroem
from budgetrun.engine.hypotheses.nystroem import canonical
from budgetrun.engine.pool import Pool
from budgetrun.kernels.compiling import interpreted
from budgetrun.learners.base import BinaryLearner, Budgeted, RegressionLearner, as_fields, derived


@as_fields
class _NystroemSteps(Budgeted):
    """NOGD, for two classes or numbers.

    Parameters:
    budget : int, >= 1
        B, the number of support examples: the first ones with a positive loss (of numbers: the first ones).
    rank : int in 1..B, or None
        The number of eigenvectors of the kernel matrix used in z(x) = L^-1/2 V^T k(x); None means B / 5, rounded, or B
        for numbers.

    References: Lu, Hoi, Wang, Zhao & Liu (2016), "Large scale online kernel learning", JMLR 17, Algorithm 2, without
    the regulariser. For regression, step and start are those of the program of Li et al. (2024).
    """

    name = "nogd"
    title = "NOGD"
    form = Nystroem
    reading = "algorithm"

    step: Positive
    rank: Count = derived(lambda self: self.budget, at_most="budget")

    def start(self, pool: Pool) -> Nystroem:
        return Nystroem(pool, self.step)

    def bytes_kept(self, size: int, row: float, n_features: int) -> float:
        return 8.0 * self.rank * (size + 1)

    def descend(self, f: Nystroem, weight: float) -> None:
        """Take a step with this weight of the example, or of its features."""
        if f.approximated:
            f.step(weight)
            return
        f.add(weight)
        if f.size == self.budget:
            self.approximate(f)

    @interpreted
    def approximate(self, f: Nystroem) -> None:
        """Switch to z(x) = L^-1/2 V^T k(x), for the largest ``rank`` eigenvalues L of the kernel matrix V L V^T."""
        values, every = (array[..., ::-1] for array in np.linalg.eigh(f.gram()))
        as_program = self.reading == "program"
        if as_program:
            every = canonical(values, every, f.rounding, len(values))
        kept = np.flatnonzero(values[: self.rank] > f.rounding * values[0])
        roots, vectors = np.sqrt(values[kept]), every[:, kept]
        # With V, the matrix of all eigenvectors, in place of V^T, w belongs to another function.
        w = roots * ((every[kept] if as_program else vectors.T) @ f.coef)
        f.approximate(vectors / roots, w)


@as_fields
class NOGD(_NystroemSteps, BinaryLearner):
    """Gradient descent on the hinge loss; once there are B support examples, over their Nystroem features.

    Parameters:
    step : float, > 0
        eta. A positive loss adds eta y k(x, .) to f, or eta y z(x) to the weights once there are B support examples.
    reading : {"algorithm", "program"}
        The initial weights of the features: f projected on them (algorithm, default); or those computed with the
        eigenvector matrix transposed (program: the program behind the tables of 2024), which give a different function.

    Notes: O(B (d + rank)) per round, and O(B^2 d + B^3) once. Eigenvectors of eigenvalues that are 0 except for
    rounding are left out. The program's reading depends on the signs of the eigenvectors, and with equal eigenvalues on
    which are chosen: here they are the columns of a pivoted Cholesky factor of the projection on each eigenspace, whose
    largest component is positive. In float32 its result is not determined. Departures from the source: none by default.

    >>> breast_cancer(NOGD(budget=20, step=0.5), gamma=0.03).mistakes
    42
    """

    margin = 1.0
    # Since 2, the signs hold for the features too, and equal eigenvalues have determined eigenvectors.
    revised = {("reading", "program"): 2}

    rank: Count = derived(lambda self: max(1, int(0.2 * self.budget + 0.5)), at_most="budget")
    reading: Literal["algorithm", "program"] = "algorithm"

    def update(self, f: Nystroem, y: int, score: float) -> None:
        self.descend(f, y * self.step)


class NOGDRegressor(_NystroemSteps, RegressionLearner):
    """Gradient descent on the squared error; once there are B support examples, over their Nystroem features.

    Parameters:
    step : float, > 0
        eta. A round adds 2 eta (y - f(x)) k(x, .) to f, or 2 eta (y - f(x)) z(x) to the weights once there are B
        support examples.

    Notes: O(B (d + rank)) per round, and O(B^2 d + B^3) once. Eigenvectors of eigenvalues that are 0 except for
    rounding are left out. Departures from the source: the rank may be smaller than B.

    >>> diabetes(NOGDRegressor(budget=50, step=0.1), gamma=10).max_support
    50
    """

    def update(self, f: Nystroem, y: float, score: float) -> None:
        self.descend(f, 2 * self.step * (y - score))
