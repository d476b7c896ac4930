"""Pegasos: steps on drawn examples."""

import math

from budgetrun.kernels.compiling.plain import compiled, types
from budgetrun.papers.solvers.loops import rows as kinds
from budgetrun.papers.solvers.loops.rows import Floats, Indices, SignedRows, add, dot

_DRAWS = types.uint32[:, ::1]
_SIGNATURES = [
    kinds.Tuple((types.float64, types.float64))(
        rows, kinds.VECTOR, _DRAWS, kinds.INDICES, kinds.VECTOR, types.int64, *[types.float64] * 3
    )
    for rows in (kinds.DENSE, kinds.SPARSE, kinds.BINARY)
]
_LEAST_SHRUNK = 1e-50


@compiled(*_SIGNATURES)
def descend(
    rows: SignedRows,  # y_k x_k
    squares: Floats,  # ||x_k||^2
    draws: Indices,  # the examples of each step, shape (steps, k)
    wrong: Indices,  # working space, shape (k,)
    v: Floats,  # changed in place
    t: int,  # the number of steps taken before
    shrunk: float,  # the product of the factors of all projections so far
    norm_squared: float,  # ||v||^2
    rate: float,  # lambda
) -> tuple[float, float]:
    """Take steps on w = shrunk v / t, and return the new ``shrunk`` and ``norm_squared``.

    Dividing by t is all that shrinking by 1 - 1/t in each step amounts to.
    """
    for i in range(draws.shape[0]):
        scale = shrunk / t if t > 0 else 0.0
        n_wrong = 0
        for j in range(draws.shape[1]):
            if scale * dot(rows, draws[i, j], v) < 1:
                wrong[n_wrong] = draws[i, j]
                n_wrong += 1
        t += 1
        step = 1 / (rate * draws.shape[1] * shrunk)
        for j in range(n_wrong):
            norm_squared += step * (2 * dot(rows, wrong[j], v) + step * squares[wrong[j]])
            add(rows, wrong[j], step, v)
        norm = shrunk * math.sqrt(max(norm_squared, 0.0)) / t
        if norm * math.sqrt(rate) > 1:
            shrunk /= norm * math.sqrt(rate)
        if shrunk < _LEAST_SHRUNK:
            # With long examples every early step is projected, and the product would underflow.
            v *= shrunk
            norm_squared *= shrunk**2
            shrunk = 1.0
    return shrunk, norm_squared
