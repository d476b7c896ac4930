"""Functions in the span of kernel functions, and projections on it, one block of rounds at a time."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.linalg.blas import dtrsm


class SpannedFunction:
    """A function f in the span of n basis functions, in orthonormal coordinates: their Gram matrix is L L^T.

    A function phi has the coordinates z = L^-1 <basis, phi>; its projection P phi has the squared norm z . z, and
    <P phi, P psi> = z_phi . z_psi. For a whole block, one triangular solve gives the coordinates and one matrix product
    the inner products; each projection or addition within the block then reads one row of them. No matrix is inverted,
    and a basis function's row of L never changes.

    Within a block f changes by multiples of the block's projected functions. These multiples are recorded, and turned
    into coordinates when the coordinates are needed, at the latest at the end of the block.

    Attributes:
    coordinates : ndarray, shape (n at the start of the block, J)
        z of the block's functions, with respect to the basis at the start of the block.
    fresh : ndarray, shape (basis functions added since, J)
        Their coordinates for the added basis functions; 0 for functions of earlier rounds than the added one.

    Notes: The mean of f over T rounds is f - changes / T, where ``changes`` is the sum of all changes of f, each times
    the number of rounds up to it. Both are stored as coordinates.
    """

    def __init__(self) -> None:
        self._rows = TriangularRows()
        self._products: np.ndarray | None = None
        # Row 0: f. Row 1: its changes.
        self._beta = np.zeros((2, 0))
        self._forget()

    @property
    def fresh(self) -> np.ndarray:
        return self._fresh[: self._n_fresh]

    def begin_block(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Begin a block with J functions; return the squared norms of their projections, and their products with f.

        ``values`` are the inner products of the basis with them, float64, C-contiguous, shape (n, J); overwritten.
        """
        self.coordinates = self._rows.solve(values)
        self._fresh = np.empty((8, values.shape[1]))
        self._steps = np.zeros((2, values.shape[1]))
        if values.shape[1] > _MOST_PRODUCTS:
            squares = np.einsum("ij,ij->j", values, values)
        else:
            products = self._products = self.coordinates.T @ self.coordinates
            squares = products.diagonal().copy()
        return squares, self._beta[0] @ self.coordinates

    def end_block(self) -> None:
        self._beta = self._coordinates()
        self._forget()

    def _forget(self) -> None:
        self.coordinates = self._fresh = np.empty((0, 0))
        self._products = None
        self._n_fresh = 0
        # For the current block and both rows: the multiples of its functions, and of f at its start.
        self._steps = np.zeros((2, 0))
        self._shares = [1.0, 0.0]
        # Corrections of the coordinates for basis functions added in this block; see `extend`.
        self._offsets = np.zeros((2, 0))

    def products(self, j: int, start: int) -> np.ndarray:
        """Return <P phi_j, P phi_i> for the block's functions i >= ``start``, shape (J - start,)."""
        if self._products is not None:
            row = self._products[j, start:]
        else:
            row = self.coordinates[:, j] @ self.coordinates[:, start:]
        return row + self.fresh[:, j] @ self.fresh[:, start:] if self._n_fresh else row

    def step(self, j: int, weight: float, now: int) -> None:
        """f += weight P phi_j, for function ``j`` of the block, in round number ``now``, counted from 1."""
        self._steps[:, j] += weight, weight * now

    def scale(self, phi: float, now: int) -> None:
        """f *= phi, in round number ``now``, counted from 1."""
        shares = self._shares
        shares[1] += now * (phi - 1) * shares[0]
        shares[0] *= phi
        for moves in (self._steps, self._offsets):
            moves[1] += now * (phi - 1) * moves[0]
            moves[0] *= phi

    def extend(self, j: int, values: np.ndarray, distance: float) -> np.ndarray:
        """Make function ``j`` of the block, at the ``distance`` ||phi_j - P phi_j|| > 0, a basis function.

        ``values`` are its inner products with the last n functions of the block, those of the rounds to come, shape
        (n,). Return these functions' coordinates for the new basis function, shape (n,).
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
        # Earlier steps were projections on the smaller span, so their new coordinate is 0.
        self._offsets = np.append(self._offsets, -(self._steps @ row)[:, None], axis=1)
        return row[start:]

    def terms(self, j: int) -> np.ndarray:
        """Return the products of the coordinates of f and of function ``j`` of the block; they sum to <f, phi_j>."""
        return self._coordinates()[0] * np.concatenate([self.coordinates[:, j], self.fresh[:, j]])

    def weights(self, n_rounds: int | None = None) -> np.ndarray:
        """Return the weights on the basis functions, shape (n,), of f or of its mean over ``n_rounds`` rounds."""
        f, changes = self._coordinates()
        return self._rows.solve_transposed(f if n_rounds is None else f - changes / n_rounds)

    def _coordinates(self) -> np.ndarray:
        if not self._steps.shape[1]:
            return self._beta
        old = self._steps @ self.coordinates.T
        old[0] += self._shares[0] * self._beta[0]
        old[1] += self._beta[1] + self._shares[1] * self._beta[0]
        return np.concatenate([old, self._steps @ self.fresh.T + self._offsets], axis=1)


class TriangularRows:
    """A lower triangular matrix of n^2 / 2 numbers that grows by rows, in panels that are never copied."""

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
            # Fortran reads a C-contiguous array as its transpose: solve X L^T = B^T, where L^T is upper triangular.
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

    def _pieces(self) -> Iterator[tuple[int, int, np.ndarray, np.ndarray]]:
        """Yield, per panel, (first row, last row + 1, the part left of the diagonal block, the diagonal block)."""
        for start, panel in zip(range(0, self.size, _PANEL), self._panels, strict=True):
            stop = min(start + _PANEL, self.size)
            rows = panel[: stop - start]
            yield start, stop, rows[:, :start], np.ascontiguousarray(rows[:, start:stop])


# In units of the squared norm: a function with a smaller residual is not added to a span, because coordinates computed
# from such a tiny residual are mostly rounding error.
LEAST = 1e-6
# Rows per panel: enough for fast matrix products, and few enough for the triangular solves to be a small part.
_PANEL = 128
# Above this many functions per block, inner products are computed one row at a time.
_MOST_PRODUCTS = 4096


def settle(residuals: np.ndarray, squares: np.ndarray, rounding: float, kernel: str) -> None:
    """Set residuals ||phi - P phi||^2 to 0, in place, that are at most ``rounding`` times ||phi||^2, the ``squares``.

    A residual clearly below 0 raises a FloatingPointError: the ``kernel`` is not positive definite.
    """
    if (residuals < -_IMPOSSIBLE * squares).any():
        raise _not_positive_definite(kernel)
    residuals[residuals <= rounding * squares] = 0.0


# A residual below minus this, in units of ||phi||^2, is not a rounding error: the kernel is not positive definite.
_IMPOSSIBLE = 0.05


def negligible(terms: np.ndarray, rounding: float) -> float:
    """Return the largest sum of these terms that counts as rounding."""
    # The second part is for terms that are all 0 in exact arithmetic.
    return rounding * float(np.abs(terms).sum()) + 1e-3 * rounding


def refuse_impossible(pool: Any) -> None:
    """Raise a FloatingPointError if an example of the block has k(x, x) <= 0 but other kernel values that are not 0."""
    null = pool.squares[pool.block_slots] <= 0
    if null.any() and (np.abs(pool.block[pool.block_slots[null]]) > 0).any():
        raise _not_positive_definite(str(pool.kernel))


def _not_positive_definite(kernel: str) -> FloatingPointError:
    return FloatingPointError(
        f"the {kernel} kernel is not positive definite on this data: an example has a negative squared distance from "
        "the span of the others; projections need a positive definite kernel"
    )
