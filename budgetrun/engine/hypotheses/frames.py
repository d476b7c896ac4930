"""Functions in the span of a support set, by their coordinates in an orthonormal frame of it."""

import math
from typing import Any

import numpy as np
from scipy.linalg.blas import dgemm

from budgetrun.engine.hypotheses import Hinted, Spanned
from budgetrun.engine.hypotheses.multiclass import rival_among
from budgetrun.engine.pool import Pool
from budgetrun.kernels import Rows
from budgetrun.kernels.spans import TriangularRows, negligible, refuse_impossible


class Framed(Spanned):
    """One function, or one per class, in the span of one support set: w . z(x), with z(x) the coordinates of P k(x, .).

    P is the projection on the span. The frame is that of the Cholesky factor of the kernel matrix: a new support
    example adds a coordinate, and leaves the others as they are. The verbs are `add`, `project` and `scale`.
    ``shape`` is the number of classes, for one function per class.

    Attributes:
    w : ndarray of float64, shape (size,) or (n_classes, size)
        The coordinates of f.
    z : ndarray of float64, shape (size,)
        The coordinates of P k(x, .) for the example x of the current round.
    residual : float, >= 0
        ||k(x, .) - P k(x, .)||^2 for this example; exactly 0 if it lies in the span except for rounding.
    projected_square : float
        ||P k(x, .)||^2 for this example.
    norm_sq : float, or ndarray of shape (n_classes,)
        ||f||^2.

    Notes: A score whose terms cancel except for `rounding` counts as 0, as in `Projected`. An example must be added
    only if its residual is above ``LEAST`` k(x, x): coordinates computed from a smaller one are mostly rounding error.
    """

    form = "framed"
    averages = False
    # The number of rounds before the block whose coordinates are needed.
    _window = 0

    def __init__(self, pool: Pool, *shape: int) -> None:
        super().__init__(pool, *shape)
        self.w = np.zeros((*shape, 0))
        self.z = np.zeros(0)
        self._rows = TriangularRows()
        # The coordinates of the examples of the last rounds before the block, and of those of the block, by rows, with
        # room for those that the block can add; how many rounds before it; and their slots.
        self._room = np.zeros((0, 0))
        self._n_kept = 0
        self._row_slots = np.empty(0, dtype=np.intp)

    @property
    def _coordinates(self) -> np.ndarray:
        return self._room[:, : self.size]

    @property
    def residual(self) -> float:
        return self._residuals.item(self._round)

    @property
    def projected_square(self) -> float:
        return self.square - self.residual

    @property
    def norm_sq(self) -> Any:
        return np.square(self.w).sum(axis=-1)

    @property
    def coef(self) -> np.ndarray:
        return np.array([self._rows.solve_transposed(w) for w in self.w.reshape(-1, self.size)]).reshape(self.w.shape)

    @property
    def current(self) -> Any:
        return self.w @ self.z

    def add(self, weight: float | np.ndarray) -> None:
        """f += weight k(x, .), for the example x of the current round, which must not lie in the span."""
        n, distance = self._n_kept, math.sqrt(self.residual)
        slot = self._pool.block_slots.item(self._round)
        # The pool's row of this example need not have values of rounds before it.
        before = np.concatenate([self._row_slots, self._pool.block_slots[: self._round]])
        values = np.concatenate([self._pool.block[before, self._round], self._pool.block[slot, self._round :]])
        row = (values - self._coordinates @ self.z) / distance
        row[n + self._round] = distance
        self._room[:, self.size] = row
        self._slots = np.append(self._slots, slot)
        self.z = self._coordinates[n + self._round]
        self._rows.append(self.z)
        self._residuals -= np.square(row[n:])
        self._residuals[self._round] = 0.0
        self._settle(self._round + 1)
        self.w = np.concatenate([self.w, np.zeros((*self.w.shape[:-1], 1))], axis=-1)
        self.project(weight)

    def project(self, weight: float | np.ndarray) -> None:
        """f += weight P k(x, .), for the example x of the current round."""
        self.w = self.w + np.multiply.outer(weight, self.z)

    def scale(self, phi: float | np.ndarray) -> None:
        """f *= phi."""
        self.w = np.asarray(phi)[..., None] * self.w

    def _begin_round(self) -> None:
        self.z = self._coordinates[self._n_kept + self._round]

    def begin_block(self) -> None:
        super().begin_block()
        values = np.ascontiguousarray(self._pool.block[self._slots], dtype=np.float64)
        found = self._rows.solve(values).T
        kept, n, b = self._coordinates, self.size, len(found)
        self._room = np.zeros((self._n_kept + b, n + b))
        self._room[: self._n_kept, :n] = kept
        self._room[self._n_kept :, :n] = found
        self._residuals = self.squares_from(0) - np.square(found).sum(axis=1)
        refuse_impossible(self._pool)
        self._settle(0)

    def end_block(self) -> None:
        super().end_block()
        kept = slice(max(0, len(self._coordinates) - self._window), None)
        self._room = self._coordinates[kept].copy()
        self._row_slots = np.concatenate([self._row_slots, self._pool.block_slots])[kept]
        self._n_kept = len(self._row_slots)

    def score_at(self, t: int) -> float:
        terms = self._terms(t)
        return self._set_score(t, terms.sum(), negligible(terms, self.rounding))

    def score(self, X: Rows, averaged: bool = False) -> np.ndarray:
        if not self.size:
            return np.zeros((*self.w.shape[:-1], X.shape[0]))
        return self.coef @ self._pool.values(self.slots, X)

    def _terms(self, t: int) -> np.ndarray:
        """Return the terms of f(x_t) for round ``t`` of the block, shape (size,) or (n_classes, size)."""
        return self.w * self._coordinates[self._n_kept + t]


class MulticlassFramed(Framed):
    """One function per class, in the span of one support set."""

    form = "multiclass_framed"
    revision = 2

    def lead_at(self, t: int, y: int, handicaps: np.ndarray) -> tuple[int, float]:
        terms = self._terms(t)
        self.scores[:, t] = scores = terms.sum(axis=1)
        return rival_among(scores, y, handicaps, np.array([negligible(own, self.rounding) for own in terms]))


class HintedFramed(Hinted, Framed):
    """w . z(x), with a hint. For the parameters, see `Hinted`.

    Attributes:
    projected_hint : float
        The inner product of the hint with P k(x, .) for the example x of the current round.
    """

    form = "hinted_framed"
    revision = 2
    continues = (1,)

    def __init__(self, pool: Pool, window: int, hint_weight: float) -> None:
        super().__init__(pool)
        self._start_hint(window, hint_weight)

    @property
    def projected_hint(self) -> float:
        first, last = self._span_of_hint(self._round)
        labels = self._last_labels[first:last]
        return float(labels @ (self._coordinates[first:last] @ self.z)) / max(1, last - first)

    def score_at(self, t: int) -> float:
        terms = np.append(self._terms(t), self._hint_terms(t))
        prediction = float(terms.sum())
        self._predictions[t] = prediction = 0.0 if abs(prediction) <= negligible(terms, self.rounding) else prediction
        return prediction


class Curved(Framed):
    """w . z(x), with the inverse of a matrix A of second-order information; predictions are cut to [-C, C].

    Parameters:
    mu : float, > 0
        A is mu I at first, also for coordinates that are added later.
    C : float, > 0
        The largest prediction.

    Attributes:
    inverse : ndarray of float64, shape (size, size)
        A^-1; computed.

    Notes: Within a block, A^-1 is that of its start minus the sum of u u^T over vectors u, one per step. Its products
    with the coordinates of all the block's examples, and the sum at the end, are products of matrices.
    """

    form = "curved"
    # In addition: A^-1, twice while a block ends; its products, and its changes.
    table_bytes, kept_table_bytes, block_bytes = 4.0 + 16.0, 4.0 + 8.0, 24.0 + 16.0

    def __init__(self, pool: Pool, mu: float, C: float) -> None:
        super().__init__(pool)
        self._mu = mu
        self._C = C
        # A^-1 at the start of the block; its products with the coordinates of the block's examples; the vectors u.
        self._inverse = self._products = self._changes = np.zeros((0, 0))
        self._n_changes = 0

    @property
    def inverse(self) -> np.ndarray:
        n, inverse = len(self._inverse), np.zeros((self.size, self.size))
        inverse[:n, :n] = self._inverse
        np.fill_diagonal(inverse[n:, n:], 1 / self._mu)
        changes = self._changes[: self._n_changes, : self.size]
        # In place; A^-1 is symmetric, so that it does not matter that Fortran reads its transpose.
        dgemm(-1.0, changes, changes, beta=1.0, c=inverse.T, trans_a=True, overwrite_c=True)
        return inverse

    def cut(self) -> None:
        """Move w, by the metric of A, to the nearest w with |w . z(x)| <= C, for the example x of the current round."""
        value = float(self.w @ self.z)
        if abs(value) > self._C:
            direction = self._direction()
            excess = math.copysign(abs(value) - self._C, value)
            self.w = self.w - excess / float(self.z @ direction) * direction

    def descend(self, slope: float, eta: float, *, before: bool) -> None:
        """A += eta g g^T for g = slope z(x), and w -= A^-1 g, with the new A, or with the one ``before``."""
        direction = slope * self._direction()
        growth = 1 + eta * slope * float(self.z @ direction)
        self._changes[self._n_changes, : self.size] = math.sqrt(eta / growth) * direction
        self._n_changes += 1
        self.w = self.w - (direction if before else direction / growth)

    def begin_block(self) -> None:
        super().begin_block()
        self._products = self._coordinates @ self._inverse
        self._changes = np.zeros(self._room.shape)

    def end_block(self) -> None:
        self._inverse = self.inverse
        self._products = self._changes = np.zeros((0, 0))
        self._n_changes = 0
        super().end_block()

    def score_at(self, t: int) -> float:
        score = max(-self._C, min(super().score_at(t), self._C))
        self.scores[t] = score
        return score

    def score(self, X: Rows, averaged: bool = False) -> np.ndarray:
        return np.clip(super().score(X, averaged), -self._C, self._C)

    def _direction(self) -> np.ndarray:
        """Return A^-1 z(x) for the example x of the current round."""
        at_start, n = self._products[self._round], len(self._inverse)
        if self.size > n:
            at_start = np.concatenate([at_start, self.z[n:] / self._mu])
        changes = self._changes[: self._n_changes, : self.size]
        return at_start - (changes @ self.z) @ changes
