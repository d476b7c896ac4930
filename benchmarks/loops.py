"""The plain loops that the engine is compared with: one kernel row per round, in numpy, with nothing wasted.

One loop for every form of hypothesis. Arrays are allocated beforehand, norms are computed once, and a row is turned
into kernel values in place. All take the examples X, shape (T, d), their labels y, shape (T,), and gamma of a gaussian
kernel, and return the rounds of the mistakes, from 0.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dsymv, dsyr

from budgetrun.learners.forgetron import damage, gentlest_shrinking
from budgetrun.learners.projectron_pp import step as step_of

Floats = NDArray[np.float64]
Labels = NDArray[Any]
Loop = Callable[..., list[int]]
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
        self.examples, self.weights = np.empty((capacity, X.shape[1])), np.empty(capacity)
        self.offsets = np.empty(capacity)
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


def self_tuned_forgetron(X: Floats, y: Labels, gamma: float, *, budget: int) -> list[int]:
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
            sigma, mu = abs(oldest), score if oldest > 0 else -score
            phi = gentlest_shrinking(sigma, mu, Q, len(mistakes))
            Q += damage(phi * sigma, phi * mu)
            weights *= phi
            weight *= phi
        held.put(place, t, weight)
        kept[place, :size] = k
        kept[:size, place] = k
        kept[place, place] = 1.0
    return mistakes


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


def projectron_pp(X: Floats, y: Labels, gamma: float, *, eta: float) -> list[int]:
    """Run Projectron++ with squared distances, with the inverse kernel matrix of the paper's Fig. 4."""

    def rule(margin: float, is_mistake: bool, residual: float, projected_square: float) -> float | None:
        if is_mistake:
            return 1.0 if residual <= eta else None
        least = residual / eta
        return step_of(1 - margin, least, projected_square) if 1 - margin > least + ROUNDING else 0.0

    return _projecting(X, y, gamma, 1.0, rule)


def always_adding_projectron(X: Floats, y: Labels, gamma: float, *, eta: float) -> list[int]:
    """Run the Projectron++ of the comparison of 2024, likewise."""

    def rule(margin: float, is_mistake: bool, residual: float, projected_square: float) -> float | None:
        return 1.0 if residual <= eta**2 + ROUNDING else None

    return _projecting(X, y, gamma, 1.0 - ROUNDING, rule)


def _projecting(X: Floats, y: Labels, gamma: float, enough: float, rule: Rule) -> list[int]:
    """Run a learner that updates on rounds with a margin below ``enough``, by its rule."""
    held, inverse, size = Held(X, gamma, len(y)), Inverse(), 0
    mistakes: list[int] = []
    for t, label in enumerate(y.tolist()):
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
            size += 1
        elif factor:
            solution *= label * factor
            weights += solution[:size]
    return mistakes


def agreed_rounds(loop: Loop, X: Floats, y: Labels, gamma: float) -> int:
    """Return for how many rounds the mistakes of a loop stay the same if gamma changes in the 12th digit.

    Every strong shrinking of the Forgetron multiplies the difference between two nearly equal hypotheses. On some
    streams there are so many of them that rounding, a thousand times smaller than this change, eventually decides
    predictions; up to this round it does not.
    """
    ours, other = set(loop(X, y, gamma)), set(loop(X, y, gamma * (1 + 1e-12)))
    return min(ours ^ other, default=len(y))


def errs(margin: float, weights: Floats, k: Floats) -> bool:
    """Return whether a margin is negative, or no larger than rounding alone can make a score."""
    return margin <= ROUNDING and margin <= ROUNDING * float(np.abs(weights * k).sum()) + 1e-3 * ROUNDING


def bsgd(X: Floats, y: Labels, gamma: float, *, budget: int, regulariser: float) -> list[int]:
    """Run BSGD with removal; the weights are times lambda t, after t rounds."""
    held, n_added = Held(X, gamma, budget), 0
    mistakes: list[int] = []
    for t, label in enumerate(y.tolist()):
        size = min(n_added, budget)
        *_, margin = held.predict(t, size, label, mistakes)
        if margin < (1 - ROUNDING) * regulariser * max(t, 1):
            held.put(n_added % budget, t, label)
            n_added += 1
    return mistakes


def bogd(X: Floats, y: Labels, gamma: float, *, budget: int, step: float, regulariser: float) -> list[int]:
    """Run BOGD."""
    held, random = Held(X, gamma, budget), np.random.default_rng(0)
    mistakes: list[int] = []
    by_age: list[int] = []
    for t, label in enumerate(y.tolist()):
        size = len(by_age)
        _, weights, margin = held.predict(t, size, label, mistakes)
        weights *= 1 - step * regulariser
        if margin >= 1 - ROUNDING:
            continue
        place = size if size < budget else by_age.pop(int(random.integers(budget)))
        weights *= budget / (budget - 1) if size == budget else 1.0
        held.put(place, t, step * label)
        by_age.append(place)
        if size == budget:
            weights *= min(1.0, step / np.abs(weights).max())
    return mistakes


def avm(X: Floats, y: Labels, gamma: float, *, delta: float, max_size: int, regulariser: float) -> list[int]:
    """Run AVM with hyperspheres and the hinge loss; the weights are times lambda t, after t rounds."""
    held, size, squares = Held(X, gamma, max_size), 0, np.square(X).sum(axis=1)
    core_squares = np.empty(max_size)
    mistakes: list[int] = []
    for t, label in enumerate(y.tolist()):
        distances = core_squares[:size] + squares[t] - 2 * (held.examples[:size] @ X[t])
        kernel, weights = np.exp(-gamma * distances), held.weights[:size]
        margin = label * float(weights @ kernel)
        if errs(margin, weights, kernel):
            mistakes.append(t)
        weight = label if margin <= (1 + ROUNDING) * regulariser * t else 0.0
        if size and distances.min() <= (1 + ROUNDING) * delta**2:
            weights[np.argmax(distances <= distances.min() + ROUNDING * delta**2)] += weight
        elif size < max_size:
            held.put(size, t, weight)
            core_squares[size] = squares[t]
            size += 1
    return mistakes


def fogd(X: Floats, y: Labels, gamma: float, *, features: int, step: float) -> list[int]:
    """Run FOGD."""
    U, w = np.random.default_rng(0).normal(0, math.sqrt(2 * gamma), (features, X.shape[1])), np.zeros(2 * features)
    mistakes: list[int] = []
    for t, label in enumerate(y.tolist()):
        angles = U @ X[t]
        z = np.concatenate([np.cos(angles), np.sin(angles)]) / math.sqrt(features)
        margin = label * float(w @ z)
        if margin <= ROUNDING * step:
            mistakes.append(t)
        if margin < 1 - ROUNDING:
            w += step * label * z
    return mistakes


def nogd(X: Floats, y: Labels, gamma: float, *, budget: int, step: float, rank: int) -> list[int]:
    """Run NOGD."""
    held, size, kept = Held(X, gamma, budget), 0, np.ones((budget, budget))
    features, w = np.empty((0, budget)), np.empty(0)
    mistakes: list[int] = []
    for t, label in enumerate(y.tolist()):
        k, weights, full = held.row(t, size), held.weights[:size], size == budget
        z = features @ k if full else k
        margin = label * float((w if full else weights) @ z)
        if margin <= ROUNDING * step if full else errs(margin, weights, k):
            mistakes.append(t)
        if margin >= 1 - ROUNDING:
            continue
        if full:
            w += step * label * z
            continue
        held.put(size, t, step * label)
        kept[size, :size] = kept[:size, size] = k
        size += 1
        if size == budget:
            values, vectors = np.linalg.eigh(kept)
            top = np.flatnonzero(values > ROUNDING * values[-1])[-rank:]
            features = vectors[:, top].T / np.sqrt(values[top, None])
            w = values[top] * (features @ held.weights)
    return mistakes
