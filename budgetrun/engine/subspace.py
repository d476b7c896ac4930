"""The span of kernel functions, and projections on it, a block of rounds at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.linalg.blas import dtrsm

if TYPE_CHECKING:
    from budgetrun.engine.pool import Pool


class Subspace:
    """The span of n basis functions, in orthonormal coordinates: their Gram matrix is L L^T.

    A function phi has the coordinates z = L^-1 <basis, phi>; its projection P phi has the squared norm z . z, and
    <P phi, P psi> = z_phi . z_psi. For the functions of a whole block the coordinates are one triangular solve, and
    their products are one matrix product. What is projected or added within the block then costs a row of that.
    Nothing is ever inverted or refreshed, and a basis function's row of L never changes.

    Attributes
    ----------
    size : int
        n.
    coordinates : ndarray, shape (size at the start of the block, J)
        z of the block's functions, with respect to the basis as it was then.
    fresh : ndarray, shape (basis functions added since, J)
        Their further coordinates. A function of the block has none from before its own round on.
    """

    def __init__(self) -> None:
        self.size = 0
        self.coordinates = np.empty((0, 0))
        self._rows = _TriangularRows()
        self._products: np.ndarray | None = None
        self._fresh = np.empty((0, 0))
        self._n_fresh = 0

    @property
    def fresh(self) -> np.ndarray:
        return self._fresh[: self._n_fresh]

    def begin_block(self, values: np.ndarray) -> np.ndarray:
        """Go to the functions of a new block.

        Parameters
        ----------
        values : ndarray of float64, C-contiguous, shape (size, J)
            The inner products of the basis with the block's functions. They are overwritten.

        Returns
        -------
        ndarray, shape (J,)
            The squared norms of the functions' projections.
        """
        self.coordinates = self._rows.solve(values)
        self._fresh = np.empty((8, values.shape[1]))
        self._n_fresh = 0
        if values.shape[1] > _MOST_PRODUCTS:
            self._products = None
            return np.einsum("ij,ij->j", values, values)
        self._products = self.coordinates.T @ self.coordinates
        return self._products.diagonal().copy()

    def products(self, j: int, start: int) -> np.ndarray:
        """Return <P phi_j, P phi_i> for the block's functions i >= ``start``, shape (J - start,)."""
        if self._products is not None:
            row = self._products[j, start:]
        else:
            row = self.coordinates[:, j] @ self.coordinates[:, start:]
        if not self._n_fresh:
            return row
        fresh = self.fresh
        return row + fresh[:, j] @ fresh[:, start:]

    def extend(self, j: int, values: np.ndarray, distance: float) -> np.ndarray:
        """Make function ``j`` of the block a basis function.

        Parameters
        ----------
        j : int
        values : ndarray, shape (n,)
            Its inner products with the last n functions of the block: those that are still to come.
        distance : float, > 0
            ||phi_j - P phi_j||.

        Returns
        -------
        ndarray, shape (n,)
            The new coordinate of these functions.
        """
        n, start = self._n_fresh, self._fresh.shape[1] - len(values)
        if n == len(self._fresh):
            self._fresh = np.concatenate([self._fresh, np.empty_like(self._fresh)])
        row = self._fresh[n]
        row[:start] = 0
        row[start:] = (values - self.products(j, start)) / distance
        row[j] = distance
        self._rows.append(np.concatenate([self.coordinates[:, j], self._fresh[: n + 1, j]]))
        self._n_fresh += 1
        self.size += 1
        return row[start:]

    def weights(self, beta: np.ndarray) -> np.ndarray:
        """Return the weights on the basis functions of the function with coordinates ``beta``, shape (size,)."""
        return self._rows.solve_transposed(beta)

    def __getstate__(self) -> dict[str, Any]:
        """Leave the block in hand out of pickles: between blocks it has no meaning."""
        empty = np.empty((0, 0))
        return self.__dict__ | {"coordinates": empty, "_products": None, "_fresh": empty, "_n_fresh": 0}


class SpannedFunction:
    """A function f in a subspace, and what the mean of all it ever was takes.

    Within a block f moves by multiples of the block's projected functions. Those are noted, and become coordinates
    when they are asked for, at the latest when the block ends.

    Notes
    -----
    The mean over T rounds is f - changes / T, where ``changes`` sums up every change of f, times the number of rounds
    up to it; both are kept as coordinates.
    """

    def __init__(self, subspace: Subspace) -> None:
        self._subspace = subspace
        # Row 0: f. Row 1: its changes.
        self._beta = np.zeros((2, 0))
        # Of the block in hand, for both rows: the multiples of its functions, and of f as it began.
        self._steps = np.zeros((2, 0))
        self._shares = [1.0, 0.0]
        # By which the further coordinates differ from what these multiples come to: see `extend`.
        self._offsets = np.zeros((2, 0))

    def begin_block(self) -> np.ndarray:
        """Go to the block that the subspace is at; return f's inner products with its functions, shape (J,)."""
        coordinates = self._subspace.coordinates
        self._steps = np.zeros((2, coordinates.shape[1]))
        return self._beta[0] @ coordinates

    def step(self, j: int, weight: float, now: int) -> None:
        """f += weight P phi_j, for function ``j`` of the block, in the round that is number ``now``, from 1."""
        self._steps[:, j] += weight, weight * now

    def extend(self) -> None:
        """Follow the subspace, which has just got a basis function.

        Steps so far were along projections on the span as it was, and do not get the new coordinate.
        """
        self._offsets = np.append(self._offsets, -(self._steps @ self._subspace.fresh[-1])[:, None], axis=1)

    def scale(self, phi: float, now: int) -> None:
        """f *= phi, in the round that is number ``now``, from 1."""
        steps, shares = self._steps, self._shares
        shares[1] += now * (phi - 1) * shares[0]
        shares[0] *= phi
        for moves in (steps, self._offsets):
            moves[1] += now * (phi - 1) * moves[0]
            moves[0] *= phi

    def end_block(self) -> None:
        """Leave the block."""
        self._beta = self._coordinates()
        self._steps = self._offsets = np.zeros((2, 0))
        self._shares = [1.0, 0.0]

    def products(self, j: int) -> np.ndarray:
        """Return the products of f's coordinates with those of function ``j`` of the block; they sum to <f, phi_j>."""
        subspace = self._subspace
        return self._coordinates()[0] * np.concatenate([subspace.coordinates[:, j], subspace.fresh[:, j]])

    def weights(self, n_rounds: int | None = None) -> np.ndarray:
        """Return the weights on the basis, shape (size,), of f or of its mean over ``n_rounds`` rounds."""
        f, changes = self._coordinates()
        return self._subspace.weights(f if n_rounds is None else f - changes / n_rounds)

    def _coordinates(self) -> np.ndarray:
        if not self._steps.shape[1]:
            return self._beta
        old = self._steps @ self._subspace.coordinates.T
        old[0] += self._shares[0] * self._beta[0]
        old[1] += self._beta[1] + self._shares[1] * self._beta[0]
        return np.concatenate([old, self._steps @ self._subspace.fresh.T + self._offsets], axis=1)


class _TriangularRows:
    """A lower triangular matrix that grows by rows, in panels that are never copied: n^2 / 2 numbers."""

    def __init__(self) -> None:
        self.size = 0
        self._panels: list[np.ndarray] = []

    def append(self, row: np.ndarray) -> None:
        """Add a row, shape (size + 1,)."""
        at = self.size % _PANEL
        if at == 0:
            self._panels.append(np.zeros((_PANEL, self.size + _PANEL)))
        self._panels[-1][at, : self.size + 1] = row
        self.size += 1

    def solve(self, B: np.ndarray) -> np.ndarray:
        """Return L^-1 B, in place, for C-contiguous ``B`` of shape (size, J)."""
        for start, stop, left, diagonal in self._pieces():
            here = B[start:stop]
            if start:
                here -= left @ B[:start]
            # In Fortran's eyes a C-contiguous array is its transpose: X L^T = B^T, with L^T the upper triangle.
            dtrsm(1.0, diagonal.T, here.T, side=1, lower=0, overwrite_b=1)
        return B

    def solve_transposed(self, b: np.ndarray) -> np.ndarray:
        """Return L^-T b, shape (size,)."""
        x = b.copy()
        for start, stop, left, diagonal in reversed(list(self._pieces())):
            x[start:stop] = dtrsm(1.0, diagonal.T, x[start:stop, None], side=0, lower=0)[:, 0]
            if start:
                x[:start] -= x[start:stop] @ left
        return x

    def _pieces(self) -> list[tuple[int, int, np.ndarray, np.ndarray]]:
        """Return (first row, last row + 1, what is left of the diagonal block, that block) of each panel."""
        pieces = []
        for start, panel in zip(range(0, self.size, _PANEL), self._panels, strict=True):
            stop = min(start + _PANEL, self.size)
            rows = panel[: stop - start]
            pieces.append((start, stop, rows[:, :start], np.ascontiguousarray(rows[:, start:stop])))
        return pieces


# Rows a panel: enough for matrix products at full speed, few enough for the triangular rest not to matter.
_PANEL = 128
# With more functions a block than this, their products are computed as they are needed, not all at once.
_MOST_PRODUCTS = 4096


def settle(residuals: np.ndarray, squares: np.ndarray, rounding: float, kernel: str) -> None:
    """Set residuals to 0 that are 0 but for rounding, in place.

    Parameters
    ----------
    residuals, squares : ndarray, of one shape
        ||phi - P phi||^2 and ||phi||^2 of some functions.
    rounding : float
        How large a residual may be through rounding alone, in units of ||phi||^2.
    kernel : str
        For the message.

    Raises
    ------
    FloatingPointError
        A residual is below 0 by far.
    """
    if (residuals < -_IMPOSSIBLE * squares).any():
        raise _not_positive_definite(kernel)
    residuals[residuals <= rounding * squares] = 0.0


# In units of ||phi||^2. A kernel that is not positive definite goes below by as much as it has.
_IMPOSSIBLE = 0.05


def negligible(terms: np.ndarray, rounding: float) -> float:
    """Return how large a sum of these terms may be through rounding alone.

    The terms' own rounding counts little, unless they cancel; and weights that are 0 on paper have some, too.
    """
    return rounding * float(np.abs(terms).sum()) + 1e-3 * rounding


def refuse_impossible(pool: Pool) -> None:
    """Refuse a kernel with k(x, x) <= 0 for an example of the block that has kernel values other than 0.

    Raises
    ------
    FloatingPointError
    """
    null = pool.squares[pool.block_slots] <= 0
    if null.any() and (np.abs(pool.block[pool.block_slots[null]]) > pool.resolution).any():
        raise _not_positive_definite(str(pool.kernel))


def _not_positive_definite(kernel: str) -> FloatingPointError:
    return FloatingPointError(
        f"the {kernel} kernel is not positive definite on this data: an example lies nearer to the span of the others "
        "than is possible; projections need a positive definite kernel"
    )
