"""The plain loops that the engine is measured against: one kernel row a round, in numpy, with nothing wasted.

Arrays are allocated beforehand, norms are computed once, and a row is turned into kernel values in place. Those named
``_by_index`` are as programs are often written: norms are computed once, but the support set is a list of row numbers,
by which the examples are gathered every round. All return the rounds of the mistakes, from 0.
"""

from __future__ import annotations

import numpy as np

from budgetrun.learners.forgetron import damage, gentlest_shrinking


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
