"""Competitors in hindsight: the functions a mistake bound compares a learner with, found without the learner."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from budgetrun.kernels import Kernel, Rows, squares
from budgetrun.kernels.compiling.plain import compiled, types

Floats = NDArray[np.float64]
_MATRIX = types.Array(types.float64, 2, "C", readonly=True)
_VECTOR = types.Array(types.float64, 1, "C")

# The most examples that competitors are trained on.
SAMPLE = 2000
# C of the machines; the largest lets single examples of a sample matter.
PENALTIES = (0.001, 0.01, 0.1, 1.0, 10.0, 100.0)
# Numbers of equal segments that a stream is cut into for competitors that change, and C of their machines.
SEGMENTS = (2, 5, 10)
SEGMENT_PENALTIES = (0.1, 1.0, 10.0)


@dataclass(frozen=True, eq=False)
class Competitor:
    """A function g, or a sequence of functions, given by its margins on a stream; it may be scaled to any norm."""

    name: str  # how it was found, in a few words
    margins: Floats  # shape (T,): y g(x); for several classes g_y(x) minus the largest of the others
    norm: float  # ||g||, the largest one of a sequence
    lengths: Floats  # shape (T,): sqrt(k(x, x)), or 1 where that is 0
    shift: float = 0.0  # the sum of ||g_t - g_(t-1)|| of a sequence

    def losses(self, norms: Floats) -> Floats:
        """Return the sums of hinge losses of g scaled to each of the norms, which are > 0, or any if g is 0."""
        margins, sums = self._sorted
        if self.norm == 0:
            return np.full(len(norms), float(len(margins)))
        scales = norms / self.norm
        # Margins below 1 / scale have a loss.
        below = np.searchsorted(margins, 1 / np.maximum(scales, 1e-300))
        losses: Floats = below - scales * sums[below]
        return losses

    def losses_so_far(self, norm: float, rounds: NDArray[np.int64]) -> Floats:
        """Return sums of hinge losses over the first ``rounds`` rounds, scaled to one norm; shaped like ``rounds``."""
        scale = norm / self.norm if self.norm else 0.0
        sums: Floats = np.cumsum(np.maximum(0.0, 1 - scale * self.margins))
        return sums[rounds - 1]

    def shift_at(self, norm: Floats | float) -> Floats:
        """Return how far g moves when scaled to each of these norms, or to this one; shaped like ``norm``."""
        return np.asarray(norm) * (self.shift / self.norm if self.norm else 0.0)

    def grid(self, largest: float) -> Floats:
        """Return norms to try, ascending, none above ``largest``: from 0.01 to 100 times its own, and its own.

        Some bounds are infinite at the largest norm, so the last norm is just below it.
        """
        if self.norm == 0:
            return np.zeros(1)
        top = min(100 * self.norm, largest * (1 - 1e-9))
        norms = np.geomspace(min(0.01 * self.norm, 0.01 * top), top, _NORMS)
        return np.union1d(norms, [min(self.norm, top)])

    @cached_property
    def normalised(self) -> Competitor:
        """The same function on the examples x / sqrt(k(x, x))."""
        same = (self.lengths == 1).all()
        return self if same else replace(self, margins=self.margins / self.lengths, lengths=np.ones(len(self.lengths)))

    @cached_property
    def _sorted(self) -> tuple[Floats, Floats]:
        """The margins, ascending, and the sums of the first 0, 1, 2, ... of them."""
        ascending = np.sort(self.margins)
        return ascending, np.concatenate([[0.0], np.cumsum(ascending)])


@dataclass(frozen=True, eq=False)
class Competitors:
    """The competitors on one stream."""

    largest_square: float  # the largest k(x, x)
    fixed: tuple[Competitor, ...]  # g = 0 is the first
    shifting: tuple[Competitor, ...] = ()

    @property
    def all(self) -> tuple[Competitor, ...]:
        """The fixed ones, then those that change."""
        return self.fixed + self.shifting


def find(
    X: Rows,
    tasks: Mapping[str, NDArray[Any]],
    kernel: Kernel,
    n_classes: int | None = None,
    *,
    shifting: bool = False,
    sample: int = SAMPLE,
) -> dict[str, Competitors]:
    """Return competitors for each task of a stream, whose labels are -1 and +1, or 0 to ``n_classes`` - 1.

    They are soft-margin machines without intercept, for several C; for several classes one machine per class, against
    the others. They are trained on ``sample`` examples, drawn without replacement with a fixed seed. With ``shifting``,
    there are also competitors that change between segments.
    """
    T = X.shape[0]
    rows = np.sort(np.random.default_rng(0).choice(T, size=min(sample, T), replace=False))
    S = X[rows]
    K = kernel.between(S, S)
    norms = kernel.diagonal(squares(X))
    lengths = np.sqrt(np.where(norms > 0, norms, 1.0))
    trained: dict[str, list[_Trained]] = {}
    for task, labels in tasks.items():
        # A row of signs for each machine: the labels, or each class against the others.
        classes = 1 if n_classes is None else np.arange(n_classes)[:, None]
        signs = np.where(classes == labels[None, rows], 1.0, -1.0)
        pairs = zip(PENALTIES, machines(K, signs, PENALTIES), strict=True)
        trained[task] = [_Trained(f"C = {C:g}", dual[None] * signs, T) for C, dual in pairs]
        for n in SEGMENTS if shifting else ():
            trained[task] += _on_segments(K, signs, rows * n // T, n, T)
    # Kernel values are the same for every task.
    step = max(1, _VALUES // len(K))
    for start in range(0, T, step):
        rounds = np.arange(start, min(start + step, T))
        values = kernel.between(X[rounds], S)
        for task, labels in tasks.items():
            for one in trained[task]:
                one.margins[rounds] = _margins(one.values(values, rounds), labels[rounds], n_classes)
    zero = Competitor("g = 0", np.zeros(T), 0.0, lengths)
    found = {}
    for task, of_task in trained.items():
        known = [(one, one.norm(K)) for one in of_task]
        competitors = [Competitor(one.name, one.margins, n, lengths, one.shift(K)) for one, n in known if n > 0]
        fixed = tuple(c for c in competitors if c.shift == 0)
        found[task] = Competitors(float(norms.max()), (zero, *fixed), tuple(c for c in competitors if c.shift > 0))
    return found


class _Trained:
    """Functions on the segments of a stream, one per segment and row of labels, by their weights on the sample."""

    def __init__(self, name: str, weights: Floats, n_rounds: int) -> None:
        self.name = name
        self.weights = weights  # shape (segments, rows of labels, n)
        self.margins = np.empty(n_rounds)  # to be filled in

    def values(self, kernel_values: Floats, rounds: NDArray[np.int64]) -> Floats:
        """Return g(x) in some rounds, shape (rounds, rows of labels), from their kernel values with the sample."""
        segments = rounds * len(self.weights) // len(self.margins)
        found = np.empty((len(rounds), self.weights.shape[1]))
        for segment in np.unique(segments):
            # Rounds are in order, so those of a segment are contiguous.
            here = slice(*np.searchsorted(segments, [segment, segment + 1]))
            found[here] = kernel_values[here] @ self.weights[segment].T
        return found

    def norm(self, K: Floats) -> float:
        """Return the largest norm of a segment's function."""
        return max(_norm(K, weights) for weights in self.weights)

    def shift(self, K: Floats) -> float:
        """Return the sum of the norms of the differences between successive segments."""
        return sum(_norm(K, after - before) for before, after in pairwise(self.weights))


def machines(K: Floats, signs: Floats, penalties: Sequence[float], passes: int = 50) -> list[Floats]:
    """Return the dual variables of soft-margin machines without intercept, near the optimum, for each C.

    Dual coordinate descent, Hsieh et al. (2008), ICML, where each C starts where the previous one ended. With alpha in
    [0, C], shape (m, n), each machine is g = sum_i alpha_i y_i k(x_i, .). ``K``, shape (n, n), are kernel values,
    ``signs``, shape (m, n), the labels of m machines, ``penalties`` the weights C of the hinge losses, in rising order;
    ||g||^2 / 2 has weight 1. There are at most ``passes`` passes for each C.
    """
    rng, K, signs = np.random.default_rng(0), np.ascontiguousarray(K), np.ascontiguousarray(signs)
    alpha, values = np.zeros(signs.shape), np.zeros(signs.shape)
    found = []
    for C in penalties:
        for of_one, own, labels in zip(alpha, values, signs, strict=True):
            for _ in range(passes):
                if descend(K, labels, C, rng.permutation(len(K)), of_one, own) <= 1e-3 * C:
                    break
        found.append(alpha.copy())
    return found


@compiled(types.float64(_MATRIX, _VECTOR, types.float64, types.int64[::1], _VECTOR, _VECTOR))
def descend(K: Floats, signs: Floats, C: float, order: NDArray[np.int64], alpha: Floats, values: Floats) -> float:
    """Make one pass over the examples, in the given order; return the largest change of a dual variable.

    Dual coordinate descent on a soft-margin machine, compiled on import: each dual variable in ``alpha``, in [0, C], is
    set to its optimum, and ``values`` is kept at g(x_i) = sum_j alpha_j y_j k(x_j, x_i).
    """
    largest = 0.0
    for i in order:
        square = K[i, i] if K[i, i] > 0 else 1.0
        wanted = min(max(alpha[i] + (1 - signs[i] * values[i]) / square, 0.0), C)
        change = wanted - alpha[i]
        if abs(change) > 1e-6 * C:
            alpha[i] = wanted
            step = change * signs[i]
            for j in range(len(values)):
                values[j] += step * K[i, j]
            largest = max(largest, abs(change))
    return largest


def _on_segments(K: Floats, signs: Floats, segment_of: NDArray[np.int64], n: int, n_rounds: int) -> list[_Trained]:
    """Return machines trained on each of n segments separately, for several C."""
    weights = np.zeros((len(SEGMENT_PENALTIES), n, *signs.shape))
    for segment in np.unique(segment_of):
        here = np.flatnonzero(segment_of == segment)
        duals = machines(K[np.ix_(here, here)], signs[:, here], SEGMENT_PENALTIES)
        for of_one, dual in zip(weights, duals, strict=True):
            of_one[segment][:, here] = dual * signs[:, here]
    pairs = zip(SEGMENT_PENALTIES, weights, strict=True)
    return [_Trained(f"{n} segments, C = {C:g}", of_one, n_rounds) for C, of_one in pairs]


def _margins(values: Floats, labels: NDArray[Any], n_classes: int | None) -> Floats:
    """Return y g(x), or g_y(x) minus the largest of the others, for values of shape (rounds, machines)."""
    margins: Floats
    if n_classes is None:
        margins = labels * values[:, 0]
        return margins
    at = np.arange(len(labels))
    own, others = values[at, labels], values.copy()
    others[at, labels] = -np.inf
    margins = own - others.max(axis=1)
    return margins


def _norm(K: Floats, weights: Floats) -> float:
    """Return the norm of the functions with these weights, shape (machines, n), together."""
    return float(np.sqrt(max(0.0, float(np.einsum("mi,mi->", weights @ K, weights)))))


# Number of norms in a grid.
_NORMS = 80
# The most kernel values in memory at a time.
_VALUES = 4_000_000
