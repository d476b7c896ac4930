"""The plain loops that the engine is compared with: one kernel row per round, in numpy, with nothing wasted.

Arrays are allocated beforehand, norms are computed once, and a row is turned into kernel values in place. The functions
named ``_by_index`` are as such programs are often written: norms are computed once, but the support set is a list of
row numbers, by which the examples are gathered in every round.

All take the examples X, shape (T, d), their labels y, shape (T,), and gamma of a gaussian kernel, and return the rounds
of the mistakes, from 0; those that project also return the rounds of the examples they hold.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dsymv, dsyr

from budgetrun.learners.forgetron import damage, gentlest_shrinking
from budgetrun.learners.projectron_pp import step

Floats = NDArray[np.float64]
Labels = NDArray[Any]
# How an example with a margin error is learned: from its margin, whether it is a mistake, its squared distance from the
# span of the support set, and the squared norm of its projection; returns the factor of the projection to add, 0 for
# nothing, or None to add the example itself.
Rule = Callable[[float, bool, float, float], float | None]

# As in the engine: a score is a tie if it is no larger than this relative to its terms, and so is a margin error whose
# gain is no larger than this.
ROUNDING = 1e-9
# Rows by which the arrays of inverses grow.
GROWTH = 64


class Held:
    """The examples held, with allocated room for ``capacity`` of them, and the kernel values of a round with them."""

    def __init__(self, X: Floats, gamma: float, capacity: int) -> None:
        self.X = X
        self.gamma = gamma
        self.squares: list[float] = (gamma * np.square(X).sum(axis=1)).tolist()
        self.examples, self.weights, self.offsets = (
            np.empty((capacity, X.shape[1])),
            np.empty(capacity),
            np.empty(capacity),
        )
        self.room = np.zeros(capacity + GROWTH)

    def row(self, t: int, size: int) -> Floats:
        """Return the kernel values of round t with the first ``size`` examples; valid until the next call."""
        k = np.matmul(self.examples[:size], self.X[t], out=self.room[:size])
        k *= 2 * self.gamma
        k -= self.offsets[:size]
        k -= self.squares[t]
        return np.exp(k, out=k)

    def predict(self, t: int, size: int, label: int, mistakes: list[int]) -> tuple[Floats, Floats, float]:
        """Return the kernel values of round t, the weights and the margin; a wrong round is added to the mistakes."""
        k, weights = self.row(t, size), self.weights[:size]
        margin = label * float(weights @ k)
        if errs(margin, weights, k):
            mistakes.append(t)
        return k, weights, margin

    def put(self, place: int, t: int, weight: float) -> None:
        """Hold the example of round t."""
        self.examples[place], self.weights[place], self.offsets[place] = self.X[t], weight, self.squares[t]

    def keep(self, places: NDArray[np.int64]) -> None:
        """Hold the examples in these places, in this order, in the first places."""
        for column in (self.examples, self.weights, self.offsets):
            column[: len(places)] = column[places]


def perceptron(X: Floats, y: Labels, gamma: float) -> list[int]:
    """Run the kernel Perceptron."""
    held = Held(X, gamma, len(y))
    mistakes: list[int] = []
    for t, label in enumerate(y.tolist()):
        size = len(mistakes)
        if label * (held.weights[:size] @ held.row(t, size)) <= 0:
            held.put(size, t, label)
            mistakes.append(t)
    return mistakes


def self_tuned_forgetron(X: Floats, y: Labels, gamma: float, budget: int) -> list[int]:
    """Run the self-tuned Forgetron, keeping the B x B kernel values of its support set for the evictions."""
    held, kept = Held(X, gamma, budget), np.ones((budget, budget))
    mistakes: list[int] = []
    Q = 0.0
    for t, label in enumerate(y.tolist()):
        size = min(len(mistakes), budget)
        k, weights = held.row(t, size), held.weights[:size]
        if label * (weights @ k) > 0:
            continue
        place = len(mistakes) % budget  # that of the oldest example, once the budget is full
        mistakes.append(t)
        weight = float(label)
        if size == budget:
            oldest = weights.item(place)
            score = float(kept[place] @ weights) + weight * k.item(place)
            phi, Q = _shrinking(oldest, score, Q, len(mistakes))
            weights *= phi
            weight *= phi
        held.put(place, t, weight)
        kept[place, :size] = k
        kept[:size, place] = k
        kept[place, place] = 1.0
    return mistakes


def _shrinking(oldest: float, score: float, Q: float, n_mistakes: int) -> tuple[float, float]:
    """Return phi for the removal of the oldest example, by its weight and score, and the next Q."""
    sigma, mu = abs(oldest), score if oldest > 0 else -score
    phi = gentlest_shrinking(sigma, mu, Q, n_mistakes)
    return phi, Q + damage(phi * sigma, phi * mu)


class Inverse:
    """The inverse kernel matrix of the paper's Fig. 4, in an array with room to grow.

    It is symmetric, so BLAS reads and updates only one triangle, which takes half the time. Its symmetric routines take
    whole matrices, so the array is never much larger than the support, and 0 beyond it.
    """

    def __init__(self) -> None:
        self._matrix = np.zeros((GROWTH, GROWTH), order="F")

    def times(self, room: Floats) -> Floats:
        """Return the product with the vector at the start of ``room``, padded with 0."""
        product: Floats = dsymv(1.0, self._matrix, room[: len(self._matrix)], lower=1)
        return product

    def extend(self, solution: Floats, size: int, residual: float) -> None:
        """Add an example with this squared distance; ``solution`` is its `times`, and is overwritten."""
        solution[size] = -1
        self._matrix = dsyr(1 / residual, solution, lower=1, a=self._matrix, overwrite_a=1)
        if size + 1 == len(self._matrix):
            self._matrix = np.asfortranarray(np.pad(self._matrix, (0, GROWTH)))


def _plus_plus(
    margin: float, is_mistake: bool, residual: float, projected_square: float, *, eta: float
) -> float | None:
    """Projectron++ with squared distances."""
    if is_mistake:
        return 1.0 if residual <= eta else None
    least = residual / eta
    return step(1 - margin, least, projected_square) if 1 - margin > least + ROUNDING else 0.0


def _always_adding(
    margin: float, is_mistake: bool, residual: float, projected_square: float, *, eta: float
) -> float | None:
    """The Projectron++ of the comparison of 2024."""
    return 1.0 if residual <= eta**2 + ROUNDING else None


def projectron_pp(X: Floats, y: Labels, gamma: float, eta: float) -> tuple[list[int], list[int]]:
    """Run the Projectron++ with squared distances, with the inverse kernel matrix of the paper's Fig. 4."""
    return _projecting(X, y, gamma, 1.0, partial(_plus_plus, eta=eta))


def always_adding_projectron(X: Floats, y: Labels, gamma: float, eta: float) -> tuple[list[int], list[int]]:
    """Run the Projectron++ of the comparison of 2024, with the inverse kernel matrix as in `projectron_pp`."""
    return _projecting(X, y, gamma, 1.0 - ROUNDING, partial(_always_adding, eta=eta))


def _projecting(X: Floats, y: Labels, gamma: float, enough: float, rule: Rule) -> tuple[list[int], list[int]]:
    """Run a learner that updates on rounds with a margin below ``enough``, by its rule."""
    held, inverse = Held(X, gamma, len(y)), Inverse()
    mistakes: list[int] = []
    added: list[int] = []
    for t, label in enumerate(y.tolist()):
        size = len(added)
        k, weights = held.row(t, size), held.weights[:size]
        margin = label * (weights @ k).item()
        if margin >= enough:
            continue
        is_mistake = errs(margin, weights, k)
        if is_mistake:
            mistakes.append(t)
        solution = inverse.times(held.room)
        projected_square = (solution[:size] @ k).item()
        factor = rule(margin, is_mistake, 1 - projected_square, projected_square)
        if factor is None:
            inverse.extend(solution, size, 1 - projected_square)
            held.put(size, t, label)
            added.append(t)
        elif factor:
            solution *= label * factor
            weights += solution[:size]
    return mistakes, added


def _gathering_row(X: Floats, squares: Floats, gamma: float, t: int, support: NDArray[np.int64]) -> Floats:
    """Return the kernel values of round t with the examples of the support set, which are gathered first."""
    k: Floats = np.exp(-gamma * (squares[support] + squares[t] - 2 * (X[support] @ X[t])))
    return k


def perceptron_by_index(X: Floats, y: Labels, gamma: float) -> list[int]:
    """Run the kernel Perceptron as `perceptron` does, gathering the support's examples in every round."""
    row, labels = partial(_gathering_row, X, np.square(X).sum(axis=1), gamma), y.astype(float)
    support = np.empty(len(y), dtype=int)
    mistakes: list[int] = []
    for t, label in enumerate(labels.tolist()):
        held = support[: len(mistakes)]
        if label * (labels[held] @ row(t, held)) <= 0:
            support[len(mistakes)] = t
            mistakes.append(t)
    return mistakes


def self_tuned_forgetron_by_index(X: Floats, y: Labels, gamma: float, budget: int) -> list[int]:
    """Run the self-tuned Forgetron as `self_tuned_forgetron` does, gathering the support's examples in every round."""
    row = partial(_gathering_row, X, np.square(X).sum(axis=1), gamma)
    support, weights = np.empty(0, dtype=int), np.empty(0)
    mistakes: list[int] = []
    Q = 0.0
    for t, label in enumerate(y.tolist()):
        if label * (weights @ row(t, support)) > 0:
            continue
        mistakes.append(t)
        support, weights = np.append(support, t), np.append(weights, float(label))
        if len(support) > budget:
            score = float(weights @ row(int(support[0]), support))
            phi, Q = _shrinking(weights.item(0), score, Q, len(mistakes))
            support, weights = support[1:], phi * weights[1:]
    return mistakes


def projectron_pp_by_index(X: Floats, y: Labels, gamma: float, eta: float) -> list[int]:
    """Run the Projectron++ as `projectron_pp` does, gathering the support's examples, with a new inverse each time."""
    return _projecting_by_index(X, y, gamma, 1.0, partial(_plus_plus, eta=eta))


def always_adding_projectron_by_index(X: Floats, y: Labels, gamma: float, eta: float) -> list[int]:
    """Run `always_adding_projectron` likewise, gathering the support's examples, with a new inverse each time."""
    return _projecting_by_index(X, y, gamma, 1.0 - ROUNDING, partial(_always_adding, eta=eta))


def _projecting_by_index(X: Floats, y: Labels, gamma: float, enough: float, rule: Rule) -> list[int]:
    row = partial(_gathering_row, X, np.square(X).sum(axis=1), gamma)
    support, weights, inverse = np.empty(0, dtype=int), np.empty(0), np.empty((0, 0))
    mistakes: list[int] = []
    for t, label in enumerate(y.tolist()):
        k = row(t, support)
        margin = label * float(weights @ k)
        if margin >= enough:
            continue
        is_mistake = errs(margin, weights, k)
        if is_mistake:
            mistakes.append(t)
        solution = inverse @ k
        projected_square = float(k @ solution)
        factor = rule(margin, is_mistake, 1 - projected_square, projected_square)
        if factor is None:
            inverse = _extended(inverse, solution, 1 - projected_square)
            support, weights = np.append(support, t), np.append(weights, label)
        elif factor:
            weights = weights + label * factor * solution
    return mistakes


def _extended(inverse: Floats, solution: Floats, residual: float) -> Floats:
    """Return the inverse kernel matrix with one more example, as in the paper's Fig. 4."""
    column = np.append(solution, -1)
    larger: Floats = np.pad(inverse, (0, 1)) + np.outer(column, column) / residual
    return larger


def agreed_rounds(X: Floats, y: Labels, gamma: float, budget: int) -> int:
    """Return for how many rounds the self-tuned Forgetron's mistakes stay the same if gamma changes in the 12th digit.

    Every strong shrinking multiplies the difference between two nearly equal hypotheses. On some streams there are so
    many of them that rounding, a thousand times smaller than this change, eventually decides predictions; up to this
    round it does not.
    """
    ours = self_tuned_forgetron(X, y, gamma, budget)
    other = self_tuned_forgetron(X, y, gamma * (1 + 1e-12), budget)
    first = next((min(a, b) for a, b in zip(ours, other, strict=False) if a != b), None)
    if first is None and len(ours) != len(other):
        first = max(ours, other, key=len)[min(len(ours), len(other))]
    return len(y) if first is None else first


def errs(margin: float, weights: Floats, k: Floats) -> bool:
    """Whether a margin is negative, or no larger than rounding alone can make a score."""
    return margin <= ROUNDING and margin <= ROUNDING * float(np.abs(weights * k).sum()) + 1e-3 * ROUNDING
