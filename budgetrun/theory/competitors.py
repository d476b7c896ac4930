"""Competitors in hindsight: what a mistake bound compares a learner with, found without looking at the learner."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from budgetrun.kernels import Kernel, squares

if TYPE_CHECKING:
    from budgetrun.kernels import Rows

# Examples that competitors are made of, at most.
SAMPLE = 2000
# C of the machines; the largest gives every example of a sample its own say.
PENALTIES = (0.001, 0.01, 0.1, 1.0, 10.0, 100.0)
# Into how many segments of equal length a stream is cut for competitors that change, and C of their machines.
SEGMENTS = (2, 5, 10)
SEGMENT_PENALTIES = (0.1, 1.0, 10.0)


@dataclass(frozen=True, eq=False)
class Competitor:
    """A function g, or a sequence of functions, by its margins on a stream; it may be scaled to any norm.

    Attributes
    ----------
    name : str
        How it was found, in a few words.
    margins : ndarray, shape (T,)
        y g(x); of several classes g_y(x) less the largest of the others.
    norm : float, >= 0
        ||g||, of a sequence the largest.
    lengths : ndarray, shape (T,)
        sqrt(k(x, x)), and 1 where that is 0.
    shift : float, >= 0
        The sum of ||g_t - g_(t-1)|| of a sequence.
    """

    name: str
    margins: np.ndarray
    norm: float
    lengths: np.ndarray
    shift: float = 0.0

    def losses(self, norms: np.ndarray, normalised: bool = False) -> np.ndarray:
        """Return the sum of hinge losses, scaled to each of the norms.

        Parameters
        ----------
        norms : ndarray, shape (n,), > 0; any for a g that is 0 itself
        normalised : bool
            On examples x / sqrt(k(x, x)).

        Returns
        -------
        ndarray, shape (n,)
        """
        margins, sums = self._normalised if normalised else self._sorted
        if self.norm == 0:
            return np.full(len(norms), float(len(margins)))
        scales = norms / self.norm
        # Losses are those of the margins below 1 / scale.
        below = np.searchsorted(margins, 1 / np.maximum(scales, 1e-300))
        return below - scales * sums[below]

    def losses_so_far(self, norm: float, rounds: np.ndarray, normalised: bool = False) -> np.ndarray:
        """Return the sums of hinge losses over the first so many rounds, scaled to one norm; of the shape of rounds."""
        margins = self.margins / self.lengths if normalised else self.margins
        scale = norm / self.norm if self.norm else 0.0
        return np.cumsum(np.maximum(0.0, 1 - scale * margins))[rounds - 1]

    def shift_at(self, norm: np.ndarray | float) -> np.ndarray:
        """Return how far it moves when scaled to each of some norms, or to one; of their shape."""
        return np.asarray(norm) * (self.shift / self.norm if self.norm else 0.0)

    def grid(self, largest: float) -> np.ndarray:
        """Return norms to try, ascending, none above ``largest``: its own, and from 0.01 to 100 times that.

        A bound that blows up towards the largest norm is for norms below it, so the last is next to it.
        """
        if self.norm == 0:
            return np.zeros(1)
        top = min(100 * self.norm, largest * (1 - 1e-9))
        norms = np.geomspace(min(0.01 * self.norm, 0.01 * top), top, _NORMS)
        return np.union1d(norms, min(self.norm, top))

    @cached_property
    def _sorted(self) -> tuple[np.ndarray, np.ndarray]:
        return _cumulated(self.margins)

    @cached_property
    def _normalised(self) -> tuple[np.ndarray, np.ndarray]:
        return self._sorted if (self.lengths == 1).all() else _cumulated(self.margins / self.lengths)


@dataclass(frozen=True, eq=False)
class Competitors:
    """The competitors on one stream.

    Attributes
    ----------
    largest_square : float
        The largest k(x, x).
    fixed : tuple of Competitor
        g = 0 is the first.
    shifting : tuple of Competitor
    """

    largest_square: float
    fixed: tuple[Competitor, ...]
    shifting: tuple[Competitor, ...] = ()

    @property
    def all(self) -> tuple[Competitor, ...]:
        """Those that change, and those that do not."""
        return self.fixed + self.shifting


def find(
    X: Rows,
    tasks: Mapping[str, np.ndarray],
    kernel: Kernel,
    n_classes: int | None = None,
    *,
    shifting: bool = False,
    sample: int = SAMPLE,
) -> dict[str, Competitors]:
    """Return competitors for each task of a stream.

    Parameters
    ----------
    X : ndarray or csr_array, shape (T, d)
    tasks : mapping of str to ndarray, shape (T,)
        Labels, -1 and +1, or 0 to ``n_classes`` - 1.
    kernel : Kernel
    n_classes : int or None
    shifting : bool
        Those that change between segments, too.
    sample : int
        Of how many examples they are made, drawn without replacement by a fixed seed: soft-margin machines without
        intercept, for several C; of several classes one machine a class against the others.
    """
    T = X.shape[0]
    rows = np.sort(np.random.default_rng(0).choice(T, size=min(sample, T), replace=False))
    S = X[rows]
    K = kernel.between(S, S)
    norms = kernel.diagonal(squares(X))
    lengths = np.sqrt(np.where(norms > 0, norms, 1.0))
    made: dict[str, list[_Made]] = {}
    for task, labels in tasks.items():
        signs = _signs(labels[rows], n_classes)
        duals = machines(K, signs, PENALTIES)
        made[task] = [_Made(f"C = {C:g}", dual[None] * signs, T) for C, dual in zip(PENALTIES, duals, strict=True)]
        for n in SEGMENTS if shifting else ():
            made[task] += _on_segments(K, signs, rows * n // T, n, T)
    # Kernel values are the same for every task.
    step = max(1, _VALUES // len(K))
    for start in range(0, T, step):
        rounds = np.arange(start, min(start + step, T))
        values = kernel.between(X[rounds], S)
        for task, labels in tasks.items():
            for one in made[task]:
                one.margins[rounds] = _margins(one.values(values, rounds), labels[rounds], n_classes)
    zero = Competitor("g = 0", np.zeros(T), 0.0, lengths)
    found = {}
    for task, of_task in made.items():
        known = [(one, one.norm(K)) for one in of_task]
        competitors = [Competitor(one.name, one.margins, n, lengths, one.shift(K)) for one, n in known if n > 0]
        fixed = tuple(c for c in competitors if c.shift == 0)
        changing = tuple(c for c in competitors if c.shift > 0)
        found[task] = Competitors(float(norms.max()), (zero, *fixed), changing)
    return found


class _Made:
    """Functions on the segments of a stream, one a segment and label, by their weights on the sample.

    Attributes
    ----------
    name : str
    weights : ndarray, shape (segments, rows of labels, n)
    margins : ndarray, shape (T,)
        To be filled in.
    """

    def __init__(self, name: str, weights: np.ndarray, n_rounds: int) -> None:
        self.name = name
        self.weights = weights
        self.margins = np.empty(n_rounds)

    def values(self, kernel_values: np.ndarray, rounds: np.ndarray) -> np.ndarray:
        """Return g(x) of some rounds, shape (rounds, rows of labels), from their kernel values with the sample."""
        segments = rounds * len(self.weights) // len(self.margins)
        found = np.empty((len(rounds), self.weights.shape[1]))
        for segment in np.unique(segments):
            # Rounds are in order, so those of a segment are side by side.
            here = slice(*np.searchsorted(segments, [segment, segment + 1]))
            found[here] = kernel_values[here] @ self.weights[segment].T
        return found

    def norm(self, K: np.ndarray) -> float:
        """Return the largest norm of a segment's function."""
        return max(_norm(K, weights) for weights in self.weights)

    def shift(self, K: np.ndarray) -> float:
        """Return the sum of the norms of the differences from one segment to the next."""
        return sum(_norm(K, after - before) for before, after in pairwise(self.weights))


def machines(K: np.ndarray, signs: np.ndarray, penalties: Sequence[float], passes: int = 50) -> list[np.ndarray]:
    """Return the dual variables of soft-margin machines without intercept, as near the optimum as some passes get.

    Parameters
    ----------
    K : ndarray, shape (n, n)
        Kernel values.
    signs : ndarray, shape (m, n), -1 or +1
        The labels of m machines.
    penalties : sequence of float, ascending
        C of the hinge losses, beside ||g||^2 / 2.
    passes : int
        Passes of dual coordinate descent for each C, beginning at the last one's end.

    Returns
    -------
    list of ndarray, shape (m, n), in [0, C]
        g = sum_i alpha_i y_i k(x_i, .).

    References
    ----------
    Hsieh et al. (2008), "A dual coordinate descent method for large-scale linear SVM", ICML.
    """
    # Compiled code is slow to load, and what looks at bounds alone does without.
    from budgetrun.theory.descent import descend

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


def _signs(labels: np.ndarray, n_classes: int | None) -> np.ndarray:
    """Return a row of signs for each machine: the labels, or each class against the others."""
    if n_classes is None:
        return labels[None].astype(np.float64)
    return np.where(np.arange(n_classes)[:, None] == labels, 1.0, -1.0)


def _on_segments(K: np.ndarray, signs: np.ndarray, segment_of: np.ndarray, n: int, n_rounds: int) -> list[_Made]:
    """Return machines of their own for each of n segments, for several C."""
    weights = np.zeros((len(SEGMENT_PENALTIES), n, *signs.shape))
    for segment in np.unique(segment_of):
        here = np.flatnonzero(segment_of == segment)
        duals = machines(K[np.ix_(here, here)], signs[:, here], SEGMENT_PENALTIES)
        for of_one, dual in zip(weights, duals, strict=True):
            of_one[segment][:, here] = dual * signs[:, here]
    pairs = zip(SEGMENT_PENALTIES, weights, strict=True)
    return [_Made(f"{n} segments, C = {C:g}", of_one, n_rounds) for C, of_one in pairs]


def _margins(values: np.ndarray, labels: np.ndarray, n_classes: int | None) -> np.ndarray:
    """Return y g(x), or g_y(x) less the largest of the others, for values of shape (rounds, machines)."""
    if n_classes is None:
        return labels * values[:, 0]
    at = np.arange(len(labels))
    own, others = values[at, labels], values.copy()
    others[at, labels] = -np.inf
    return own - others.max(axis=1)


def _norm(K: np.ndarray, weights: np.ndarray) -> float:
    """Return the norm of the functions with these weights, shape (machines, n), together."""
    return float(np.sqrt(max(0.0, float(np.einsum("mi,mi->", weights @ K, weights)))))


def _cumulated(margins: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the margins, ascending, and the sums of the first 0, 1, 2, ... of them."""
    ascending = np.sort(margins)
    return ascending, np.concatenate([[0.0], np.cumsum(ascending)])


# Norms in a grid.
_NORMS = 80
# Kernel values in memory at a time.
_VALUES = 4_000_000
