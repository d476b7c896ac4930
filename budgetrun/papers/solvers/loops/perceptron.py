"""The Margin Perceptron with Unlearning: present some examples once, in a given order."""

import numpy as np
from numpy.typing import NDArray

from budgetrun.kernels.compiling.plain import compiled, types
from budgetrun.papers.solvers.loops import rows as kinds
from budgetrun.papers.solvers.loops.rows import Floats, Indices, SignedRows, add, dot

_LIST, _VECTOR = kinds.INDICES, kinds.VECTOR
_SIGNATURES = [
    kinds.Tuple((types.int64,) * 4)(
        rows, _VECTOR, _LIST, _VECTOR, kinds.INTEGERS, types.int64, *[types.float64] * 3, _LIST, _LIST
    )
    for rows in kinds.KINDS
]


@compiled(types.int64(types.float64, types.float64, types.int64))
def updates(distance: float, square: float, room: int) -> int:
    """Return how many successive updates one presentation of an example makes: at least 1 and at most ``room``.

    ``distance`` is how far the example's score is beyond the threshold, ``square`` how far an update moves it back.
    """
    if distance >= square * room:
        # This includes rows of zeros, whose score no update moves.
        return room
    n = int(distance / square) + 1
    # The quotient may have been rounded up to an integer, but even the last update must be due.
    while n > 1 and (n - 1) * square > distance:
        n -= 1
    return min(n, room)


@compiled(*_SIGNATURES)
def present(
    rows: SignedRows,  # y_k x_k
    squares: Floats,  # ||x_k||^2
    order: Indices,  # the examples to present
    a: Floats,  # the weight vector; changed in place
    counts: NDArray[np.int64],  # I_k; changed in place
    limit: int,  # I, the largest I_k allowed
    b: float,  # the threshold of learning
    upper: float,  # that of unlearning, b + delta_b
    near_b: float,  # that of the first-level active set, c_bar b
    near: Indices,  # to be filled with the examples that have y_k <a, x_k> <= near_b when presented, or I_k > 0 then
    moved: Indices,  # to be filled with the examples whose I_k changed and is positive; both as long as ``order``
) -> tuple[int, int, int, int]:
    """Present examples once each, with multiple updates.

    Return the updates of either kind, learned and unlearned, and how far ``near`` and ``moved`` were filled.
    """
    learned, unlearned, n_near, n_moved = 0, 0, 0, 0
    for i in range(order.shape[0]):
        k = order[i]
        p = dot(rows, k, a)
        # Most examples of most data end here.
        if p > near_b and counts[k] == 0:
            continue
        n = 0
        if p <= b:
            if counts[k] < limit:
                n = updates(b - p, squares[k], limit - counts[k])
                learned += n
        elif p >= upper and counts[k] > 0:
            n = -updates(p - upper, squares[k], counts[k])
            unlearned -= n
        if n != 0:
            add(rows, k, float(n), a)
            counts[k] += n
            if counts[k] > 0:
                moved[n_moved] = k
                n_moved += 1
        if counts[k] > 0 or p <= near_b:
            near[n_near] = k
            n_near += 1
    return learned, unlearned, n_near, n_moved
