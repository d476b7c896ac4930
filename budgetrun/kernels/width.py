"""The width of a Gaussian kernel, found from the distances of the first examples."""

import numpy as np

from budgetrun.kernels.kinds import Rows, floats

# The rounds that decide, and how many times each is compared with another one.
ROUNDS, PAIRS_PER_ROUND = 1000, 50
# The range of a kernel's parameters.
_LEAST, _MOST = 1e-100, 1e100


def median_gamma(X: Rows) -> float:
    """Return 1 / median of ||a - b||^2 over pairs of the first examples, to three significant digits.

    With n of the first `ROUNDS` examples, example i is compared with i + s (modulo n) for at most `PAIRS_PER_ROUND`
    shifts s, evenly spaced from 1 to n / 2. With n <= 101, these are all pairs. Pairs of equal examples do not count.
    The digits that are dropped are those that might differ between machines.

    X, shape (n, d), has the examples in the order of the rounds, scaled as learners see them. A ValueError says that
    all of the first ones are equal, or so far apart or close together that no kernel has such a gamma.
    """
    first = floats(X[:ROUNDS])
    n = first.shape[0]
    found = []
    for shift in np.unique(np.linspace(1, n // 2, PAIRS_PER_ROUND).astype(int)) if n > 1 else ():
        # Half of the examples, where the other half gives the same pairs.
        here = np.arange(n // 2 if 2 * shift == n else n)
        difference = first[here] - first[(here + shift) % n]
        with np.errstate(over="ignore"):
            squares = difference * difference
            found.append(np.asarray(squares.sum(axis=1)).ravel())
    distances = np.concatenate([np.zeros(0), *found])
    distances = distances[distances > 0]
    if not len(distances):
        what = f"the first {n:,} examples are all equal" if n > 1 else "there is only one example"
        raise ValueError(f"{what}, so they have no distances; give gamma as a number")
    median = float(np.median(distances))
    if not _LEAST < 1 / median < _MOST:
        raise ValueError(f"the median of ||a - b||^2 is {median:g}; scale the examples, or give gamma as a number")
    return float(f"{1 / median:.3g}")
