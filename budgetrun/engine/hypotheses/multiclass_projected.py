"""Hypotheses over pairs of example and label, with projections on the span of the support set."""

import math
from dataclasses import dataclass, field

import numpy as np
from scipy.sparse.csgraph import connected_components

from budgetrun.engine.hypotheses.multiclass import rival_of
from budgetrun.engine.hypotheses.projected import Spanned
from budgetrun.engine.pool import Pool
from budgetrun.kernels import Rows
from budgetrun.kernels.spans import LEAST, SpannedFunction, negligible, refuse_impossible, settle


@dataclass
class Part:
    """A connected set of labels, with its support pairs (x_i, y_i).

    Attributes:
    labels : ndarray of int, shape (q,)
    kernel : ndarray, shape (q, q)
        The label kernel between them.
    function : SpannedFunction
        f on these labels, in the span of the pairs. The functions of a block are numbered by round, then by label.
    slots, of : ndarray of int, shape (size,)
        The slots of the pairs' examples in the pool, and the positions of their labels in ``labels``.
    gaps : ndarray, shape (b, q, q)
        <delta_c, delta_e> for the rounds of the block, with delta_c = phi_c - P phi_c and phi_c = k((x_t, c), .).
    """

    labels: np.ndarray
    kernel: np.ndarray
    function: SpannedFunction = field(default_factory=SpannedFunction)
    slots: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    of: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    gaps: np.ndarray = field(default_factory=lambda: np.empty((0, 1, 1)))

    @property
    def q(self) -> int:
        return len(self.labels)


class MulticlassProjected(Spanned):
    """f(x, c) in the span of pairs (x_i, y_i), under the joint kernel k(x, x') K(c, c') of a label kernel K.

    The verbs are `add` and `project`. Labels that K does not connect span orthogonal spaces, each of which is one
    `Part`. If K is the Kronecker delta, there is one space per class.

    Parameters:
    label_kernel : ndarray, shape (n_classes, n_classes)
        K, positive semidefinite.

    Attributes:
    coef : ndarray of float64, shape (n_classes, size)
        The weights of the pairs (x_i, c), x_i oldest first.
    """

    form = "multiclass_projected"

    def __init__(self, pool: Pool, label_kernel: np.ndarray) -> None:
        super().__init__(pool, len(label_kernel))
        n_parts, part_of = connected_components(label_kernel != 0, directed=False)
        groups = [np.flatnonzero(part_of == p) for p in range(n_parts)]
        self.parts = [Part(labels, label_kernel[np.ix_(labels, labels)]) for labels in groups]
        # For each class, its part and its position there.
        self._places = {c: (part, i) for part in self.parts for i, c in enumerate(part.labels.tolist())}
        self._label_kernel = label_kernel

    @property
    def coef(self) -> np.ndarray:
        return self._weights(None)

    def residual(self, y: int, rival: int) -> float:
        """Return ||delta||^2 of k((x_t, y), .) - k((x_t, rival), .), for the example of the current round."""
        return self.residual_at(self._round, y, rival)

    def projected_square(self, y: int, rival: int) -> float:
        """Return ||P (k((x_t, y), .) - k((x_t, rival), .))||^2, for the example of the current round."""
        return self.square_at(self._round, y, rival) - self.residual(y, rival)

    def residual_at(self, t: int, y: int, rival: int) -> float:
        """Return `residual` for round ``t`` of the block."""
        (part, i), (other, j) = self._places[y], self._places[rival]
        lost = part.gaps[t, [i], i] + other.gaps[t, j, j]
        if part is other:
            lost -= 2 * part.gaps[t, i, j]
        settle(lost, self._squares[self._block_slots[[t]]], self.rounding, str(self._pool.kernel))
        return lost.item()

    def square_at(self, t: int, y: int, rival: int) -> float:
        """Return ||k((x_t, y), .) - k((x_t, rival), .)||^2 for round ``t`` of the block."""
        K = self._label_kernel
        return float(self._squares[self._block_slots[t]] * (K[y, y] + K[rival, rival] - 2 * K[y, rival]))

    def project(self, y: int, rival: int, weight: float) -> None:
        """f += weight P (k((x_t, y), .) - k((x_t, rival), .)), for the example of the current round."""
        self._project(y, weight)
        self._project(rival, -weight)

    def add(self, y: int, rival: int) -> None:
        """f += k((x_t, y), .) - k((x_t, rival), .), but a function that nearly lies in the span is projected."""
        held = False
        for c, weight in ((y, 1.0), (rival, -1.0)):
            part, i = self._places[c]
            if part.gaps[self._round, i, i] > LEAST * self.square * self._label_kernel.item(c, c):
                self._add(c, weight)
                held = True
            else:
                self._project(c, weight)
        if held:
            self._slots = np.append(self._slots, self._pool.block_slots[self._round])

    def _begin_round(self) -> None:
        self._moved = np.zeros(self.n_classes)

    def lead_at(self, t: int, y: int, handicaps: np.ndarray) -> tuple[int, float]:
        # Handicaps are costs minus 1.
        one = handicaps.any()
        scores, own = self.scores[:, t] + (handicaps + one), self.scores.item(y, t)
        rival, lead, tied = rival_of(scores, y, own, self.rounding)
        if one or not tied:
            return rival, lead + one
        # Exact sums would not help, because the weights are not exact; scores within rounding count as equal.
        least = max(
            negligible(part.function.terms(t * part.q + i), self.rounding) for part in self.parts for i in range(part.q)
        )
        return rival_of(scores, y, own, least)[0], 0.0 if abs(lead) <= least else lead

    def begin_block(self) -> None:
        super().begin_block()
        pool, squares = self._pool, self.squares_from(0)
        b = len(squares)
        refuse_impossible(pool)
        for part in self.parts:
            q = part.q
            values = pool.block[part.slots][:, :, None] * part.kernel[part.of][:, None, :]
            values = np.ascontiguousarray(values, dtype=np.float64).reshape(-1, b * q)
            projected, scores = part.function.begin_block(values)
            self.scores[part.labels] = scores.reshape(b, q).T
            if q == 1:
                part.gaps = (squares * part.kernel[0, 0] - projected)[:, None, None]
            else:
                z = part.function.coordinates.reshape(-1, b, q)
                part.gaps = squares[:, None, None] * part.kernel - np.einsum("nbc,nbe->bce", z, z)
            self._settle_part(part, 0)

    def end_block(self) -> None:
        for part in self.parts:
            part.function.end_block()

    def score(self, X: Rows, averaged: bool = False) -> np.ndarray:
        weights = self._weights(self._pool.seen if averaged else None)
        return self._label_kernel.T @ weights @ self._pool.values(self.slots, X)

    def _weights(self, n_rounds: int | None) -> np.ndarray:
        weights = np.zeros((self.n_classes, self.size))
        place = {slot: i for i, slot in enumerate(self._slots.tolist())}
        for part in self.parts:
            at = [place[slot] for slot in part.slots.tolist()]
            weights[part.labels[part.of], at] = part.function.weights(n_rounds)
        return weights

    def _project(self, c: int, weight: float) -> None:
        (part, i), t = self._places[c], self._round
        q, f = part.q, part.function
        f.step(t * q + i, weight, self.now)
        self._move(part, weight, f.products(t * q + i, t * q)[:q], f.products(t * q + i, (t + 1) * q))

    def _add(self, c: int, weight: float) -> None:
        """f += weight k((x_t, c), .), which must not lie in the span."""
        part, i = self._places[c]
        pool, t, q = self._pool, self._round, part.q
        slot = pool.block_slots.item(t)
        # Include the current round, because the rival is processed after the true class.
        values = (pool.block[slot, t:, None].astype(np.float64) * part.kernel[i]).ravel()
        self._move(part, weight, values[:q], values[q:])
        row = part.function.extend(t * q + i, values, math.sqrt(part.gaps[t, i, i])).reshape(-1, q)
        part.function.step(t * q + i, weight, self.now)
        part.gaps[t:] -= row[:, :, None] * row[:, None, :]
        self._settle_part(part, t)
        part.slots, part.of = np.append(part.slots, slot), np.append(part.of, i)

    def _move(self, part: Part, weight: float, now: np.ndarray, values: np.ndarray) -> None:
        """Add to the scores of the current round and of later ones."""
        self._moved[part.labels] += weight * now
        self.scores[part.labels, self._round + 1 :] += weight * values.reshape(-1, part.q).T

    def _settle_part(self, part: Part, t: int) -> None:
        """Set residuals of the rounds from ``t`` on to 0 that are 0 except for rounding."""
        i = np.arange(part.q)
        left = part.gaps[t:, i, i]
        settle(left, self.squares_from(t)[:, None] * part.kernel[i, i], self.rounding, str(self._pool.kernel))
        part.gaps[t:, i, i] = left
