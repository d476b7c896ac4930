"""The plain loops that the engine is measured against: one kernel row a round, in numpy, with nothing wasted.

Arrays are allocated beforehand, norms are computed once, and a row is turned into kernel values in place. Those named
``_by_index`` are as programs are often written: norms are computed once, but the support set is a list of row numbers,
by which the examples are gathered every round. All return the rounds of the mistakes, from 0; those that project also
those of the examples they hold.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg.blas import dsymv, dsyr

from budgetrun.learners.forgetron import damage, gentlest_shrinking
from budgetrun.learners.projectron_pp import step

# As in the engine: a score is a tie if it is no more than this beside its terms, a margin error's gain nothing if it is
# no more than this.
_ROUNDING = 1e-9
# Rows that the room for an inverse grows by.
_GROWTH = 64


def perceptron(X: np.ndarray, y: np.ndarray, gamma: float) -> list[int]:
    """Run the kernel Perceptron over the examples X, shape (T, d), with labels y, shape (T,)."""
    T, d = X.shape
    support, weights, offsets, room = np.empty((T, d)), np.empty(T), np.empty(T), np.empty(T)
    squares = gamma * np.square(X).sum(axis=1)
    mistakes: list[int] = []
    for t, (label, square) in enumerate(zip(y.tolist(), squares.tolist(), strict=True)):
        x, size = X[t], len(mistakes)
        k = np.matmul(support[:size], x, out=room[:size])
        k *= 2 * gamma
        k -= offsets[:size]
        k -= square
        np.exp(k, out=k)
        if label * (weights[:size] @ k) <= 0:
            support[size], weights[size], offsets[size] = x, label, square
            mistakes.append(t)
    return mistakes


def self_tuned_forgetron(X: np.ndarray, y: np.ndarray, gamma: float, budget: int) -> list[int]:
    """Run the self-tuned Forgetron, keeping the B x B kernel values of its support set for the evictions."""
    support, weights, offsets = np.empty((budget, X.shape[1])), np.empty(budget), np.empty(budget)
    room, kept = np.empty(budget), np.ones((budget, budget))
    squares = gamma * np.square(X).sum(axis=1)
    mistakes: list[int] = []
    Q = 0.0
    for t, (label, square) in enumerate(zip(y.tolist(), squares.tolist(), strict=True)):
        x, size = X[t], min(len(mistakes), budget)
        k = np.matmul(support[:size], x, out=room[:size])
        k *= 2 * gamma
        k -= offsets[:size]
        k -= square
        np.exp(k, out=k)
        if label * (weights[:size] @ k) > 0:
            continue
        place = len(mistakes) % budget  # the oldest example's, once the budget is spent
        mistakes.append(t)
        weight = float(label)
        if size == budget:
            oldest = weights.item(place)
            score = float(kept[place] @ weights) + weight * k.item(place)
            sigma, mu = abs(oldest), score if oldest > 0 else -score
            phi = gentlest_shrinking(sigma, mu, Q, len(mistakes))
            Q += damage(phi * sigma, phi * mu)
            weights *= phi
            weight *= phi
        support[place], weights[place], offsets[place] = x, weight, square
        kept[place, :size] = k
        kept[:size, place] = k
        kept[place, place] = 1.0
    return mistakes


class _Inverse:
    """The inverse kernel matrix of the paper's Fig. 4, with room to grow.

    It is symmetric, so BLAS reads and updates one triangle of it only: that takes half as long as all of it. As its
    symmetric routines take whole matrices, the room is never much larger than the support, and 0 beyond it.
    """

    def __init__(self) -> None:
        self._matrix = np.zeros((_GROWTH, _GROWTH), order="F")

    def times(self, room: np.ndarray) -> np.ndarray:
        """Return the product with the vector that ``room`` begins with, and 0 behind it."""
        return dsymv(1.0, self._matrix, room[: len(self._matrix)], lower=1)

    def extend(self, solution: np.ndarray, size: int, residual: float) -> None:
        """Take in one more example, whose `times` is ``solution``, overwritten, and whose squared distance is given."""
        solution[size] = -1
        self._matrix = dsyr(1 / residual, solution, lower=1, a=self._matrix, overwrite_a=1)
        if size + 1 == len(self._matrix):
            self._matrix = np.asfortranarray(np.pad(self._matrix, (0, _GROWTH)))


def projectron_pp(X: np.ndarray, y: np.ndarray, gamma: float, eta: float) -> tuple[list[int], list[int]]:
    """Run the Projectron++ with squared distances, with the inverse kernel matrix of the paper's Fig. 4."""
    T, d = X.shape
    support, weights, offsets, room = np.empty((T, d)), np.empty(T), np.empty(T), np.zeros(T + _GROWTH)
    inverse = _Inverse()
    squares = gamma * np.square(X).sum(axis=1)
    mistakes: list[int] = []
    held: list[int] = []
    for t, (label, square) in enumerate(zip(y.tolist(), squares.tolist(), strict=True)):
        x, size = X[t], len(held)
        k = np.matmul(support[:size], x, out=room[:size])
        k *= 2 * gamma
        k -= offsets[:size]
        k -= square
        np.exp(k, out=k)
        margin = label * (weights[:size] @ k).item()
        if margin >= 1:
            continue
        solution = inverse.times(room)
        projected_square = (solution[:size] @ k).item()
        residual = 1 - projected_square
        if margin > _ROUNDING or margin > _negligible(weights[:size], k):
            if 1 - margin > residual / eta + _ROUNDING:
                solution *= label * step(1 - margin, residual / eta, projected_square)
                weights[:size] += solution[:size]
            continue
        mistakes.append(t)
        if residual <= eta:
            solution *= label
            weights[:size] += solution[:size]
            continue
        inverse.extend(solution, size, residual)
        support[size], weights[size], offsets[size] = x, label, square
        held.append(t)
    return mistakes, held


def always_adding_projectron(X: np.ndarray, y: np.ndarray, gamma: float, eta: float) -> tuple[list[int], list[int]]:
    """Run the Projectron++ of the comparison of 2024, with the inverse kernel matrix as in `projectron_pp`."""
    T, d = X.shape
    support, weights, offsets, room = np.empty((T, d)), np.empty(T), np.empty(T), np.zeros(T + _GROWTH)
    inverse = _Inverse()
    squares = gamma * np.square(X).sum(axis=1)
    mistakes: list[int] = []
    held: list[int] = []
    for t, (label, square) in enumerate(zip(y.tolist(), squares.tolist(), strict=True)):
        x, size = X[t], len(held)
        k = np.matmul(support[:size], x, out=room[:size])
        k *= 2 * gamma
        k -= offsets[:size]
        k -= square
        np.exp(k, out=k)
        margin = label * (weights[:size] @ k).item()
        if margin >= 1 - _ROUNDING:
            continue
        if margin <= _ROUNDING and margin <= _negligible(weights[:size], k):
            mistakes.append(t)
        solution = inverse.times(room)
        residual = 1 - (solution[:size] @ k).item()
        if residual <= eta**2 + _ROUNDING:
            solution *= label
            weights[:size] += solution[:size]
            continue
        inverse.extend(solution, size, residual)
        support[size], weights[size], offsets[size] = x, label, square
        held.append(t)
    return mistakes, held


def perceptron_by_index(X: np.ndarray, y: np.ndarray, gamma: float) -> list[int]:
    """Run the kernel Perceptron as `perceptron` does, gathering the support's examples every round."""
    squares, labels = np.square(X).sum(axis=1), y.astype(float)
    support = np.empty(len(y), dtype=int)
    mistakes: list[int] = []
    for t, label in enumerate(labels.tolist()):
        held = support[: len(mistakes)]
        k = np.exp(-gamma * (squares[held] + squares[t] - 2 * (X[held] @ X[t])))
        if label * (labels[held] @ k) <= 0:
            support[len(mistakes)] = t
            mistakes.append(t)
    return mistakes


def self_tuned_forgetron_by_index(X: np.ndarray, y: np.ndarray, gamma: float, budget: int) -> list[int]:
    """Run the self-tuned Forgetron as `self_tuned_forgetron` does, gathering the support's examples every round."""
    squares = np.square(X).sum(axis=1)
    support, weights = np.empty(0, dtype=int), np.empty(0)
    mistakes: list[int] = []
    Q = 0.0
    for t, label in enumerate(y.tolist()):
        k = np.exp(-gamma * (squares[support] + squares[t] - 2 * (X[support] @ X[t])))
        if label * (weights @ k) > 0:
            continue
        mistakes.append(t)
        support, weights = np.append(support, t), np.append(weights, float(label))
        if len(support) > budget:
            r, oldest = int(support[0]), weights.item(0)
            k = np.exp(-gamma * (squares[support] + squares[r] - 2 * (X[support] @ X[r])))
            score = float(weights @ k)
            sigma, mu = abs(oldest), score if oldest > 0 else -score
            phi = gentlest_shrinking(sigma, mu, Q, len(mistakes))
            Q += damage(phi * sigma, phi * mu)
            support, weights = support[1:], phi * weights[1:]
    return mistakes


def projectron_pp_by_index(X: np.ndarray, y: np.ndarray, gamma: float, eta: float) -> list[int]:
    """Run the Projectron++ as `projectron_pp` does, gathering the support's examples, with a new inverse each time."""
    squares = np.square(X).sum(axis=1)
    support, weights, inverse = np.empty(0, dtype=int), np.empty(0), np.empty((0, 0))
    mistakes: list[int] = []
    for t, label in enumerate(y.tolist()):
        k = np.exp(-gamma * (squares[support] + squares[t] - 2 * (X[support] @ X[t])))
        margin = label * (weights @ k)
        if margin >= 1:
            continue
        solution = inverse @ k
        projected_square = k @ solution
        residual = 1 - projected_square
        if margin > _ROUNDING or margin > _negligible(weights, k):
            if 1 - margin > residual / eta + _ROUNDING:
                weights = weights + label * step(1 - margin, residual / eta, projected_square) * solution
            continue
        mistakes.append(t)
        if residual <= eta:
            weights = weights + label * solution
        else:
            inverse = _extended(inverse, solution, residual)
            support, weights = np.append(support, t), np.append(weights, label)
    return mistakes


def always_adding_projectron_by_index(X: np.ndarray, y: np.ndarray, gamma: float, eta: float) -> list[int]:
    """Run what `always_adding_projectron` does, gathering the support's examples, with a new inverse each time."""
    squares = np.square(X).sum(axis=1)
    support, weights, inverse = np.empty(0, dtype=int), np.empty(0), np.empty((0, 0))
    mistakes: list[int] = []
    for t, label in enumerate(y.tolist()):
        k = np.exp(-gamma * (squares[support] + squares[t] - 2 * (X[support] @ X[t])))
        margin = label * (weights @ k)
        if margin >= 1 - _ROUNDING:
            continue
        if margin <= _ROUNDING and margin <= _negligible(weights, k):
            mistakes.append(t)
        solution = inverse @ k
        residual = 1 - k @ solution
        if residual <= eta**2 + _ROUNDING:
            weights = weights + label * solution
        else:
            inverse = _extended(inverse, solution, residual)
            support, weights = np.append(support, t), np.append(weights, label)
    return mistakes


def _extended(inverse: np.ndarray, solution: np.ndarray, residual: float) -> np.ndarray:
    """Return the inverse kernel matrix with an example more, as the paper's Fig. 4 has it."""
    column = np.append(solution, -1)
    return np.pad(inverse, (0, 1)) + np.outer(column, column) / residual


def agreed_rounds(X: np.ndarray, y: np.ndarray, gamma: float, budget: int) -> int:
    """Return how many rounds the self-tuned Forgetron's mistakes stay the same if gamma changes in the 12th digit.

    Every strong shrinking multiplies differences between two nearly equal hypotheses. Some streams have so many of them
    that rounding, a thousand times smaller than this change, decides predictions in the end; up to here it does not.
    """
    ours = self_tuned_forgetron(X, y, gamma, budget)
    other = self_tuned_forgetron(X, y, gamma * (1 + 1e-12), budget)
    first = next((min(a, b) for a, b in zip(ours, other, strict=False) if a != b), None)
    if first is None and len(ours) != len(other):
        first = max(ours, other, key=len)[min(len(ours), len(other))]
    return len(y) if first is None else first


def _negligible(weights: np.ndarray, k: np.ndarray) -> float:
    """Return how large a score may be through rounding alone."""
    return _ROUNDING * float(np.abs(weights * k).sum()) + 1e-3 * _ROUNDING
