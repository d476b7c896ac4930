"""The plain loops of the field's learners, like those in `loops`: they return the rounds of the mistakes, from 0."""

from __future__ import annotations

import math

import numpy as np

from budgetrun.bench.loops import ROUNDING, Floats, Held, Labels, errs


def bsgd(X: Floats, y: Labels, gamma: float, *, budget: int, regulariser: float) -> list[int]:
    """Run BSGD with removal; the weights are times lambda t, after t rounds."""
    held, n_added = Held(X, gamma, budget), 0
    mistakes: list[int] = []
    for t, label in enumerate(y.tolist()):
        size = min(n_added, budget)
        k, weights = held.row(t, size), held.weights[:size]
        margin = label * float(weights @ k)
        if errs(margin, weights, k):
            mistakes.append(t)
        if margin < (1 - ROUNDING) * regulariser * max(t, 1):
            held.put(n_added % budget, t, label)
            n_added += 1
    return mistakes


def norma(X: Floats, y: Labels, gamma: float, *, budget: int, step: float, regulariser: float) -> list[int]:
    """Run NORMA with a budget."""
    held, n_added = Held(X, gamma, budget), 0
    mistakes: list[int] = []
    for t, label in enumerate(y.tolist()):
        size = min(n_added, budget)
        k, weights = held.row(t, size), held.weights[:size]
        margin = label * float(weights @ k)
        if errs(margin, weights, k):
            mistakes.append(t)
        weights *= 1 - step * regulariser
        if margin < 1 - ROUNDING:
            held.put(n_added % budget, t, step * label)
            n_added += 1
    return mistakes


def bogd(X: Floats, y: Labels, gamma: float, *, budget: int, step: float, regulariser: float) -> list[int]:
    """Run BOGD."""
    held, random = Held(X, gamma, budget), np.random.default_rng(0)
    mistakes: list[int] = []
    by_age: list[int] = []
    for t, label in enumerate(y.tolist()):
        size = len(by_age)
        k, weights = held.row(t, size), held.weights[:size]
        margin = label * float(weights @ k)
        if errs(margin, weights, k):
            mistakes.append(t)
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


def bpa(X: Floats, y: Labels, gamma: float, *, budget: int, C: float) -> list[int]:
    """Run BPA-S."""
    held, by_age = Held(X, gamma, budget), np.empty(0, dtype=int)
    mistakes: list[int] = []
    for t, label in enumerate(y.tolist()):
        size = len(by_age)
        k, weights = held.row(t, size), held.weights[:size]
        margin = label * float(weights @ k)
        if errs(margin, weights, k):
            mistakes.append(t)
        if margin >= 1 - ROUNDING:
            continue
        weight, place = label * min(C, 1 - margin), size
        if size == budget:
            sizes = np.square(weights)
            lost = (sizes * (1 - np.square(k)))[by_age]
            r = int(np.argmax(lost <= lost.min() + ROUNDING * sizes.max()))
            place = int(by_age[r])
            weight += weights[place] * k[place]
            by_age = np.delete(by_age, r)
        held.put(place, t, weight)
        by_age = np.append(by_age, place)
    return mistakes


def dualsgd(X: Floats, y: Labels, gamma: float, *, budget: int, k: int, features: int, regulariser: float) -> list[int]:
    """Run DualSGD with the hinge loss; the weights are times lambda t, after t rounds, so -1, 0 or 1."""
    held, size, w = Held(X, gamma, budget), 0, np.zeros(2 * features)
    frequencies = np.random.default_rng(0).normal(0, math.sqrt(2 * gamma), (features, X.shape[1]))
    Z = np.empty((budget, 2 * features))
    mistakes: list[int] = []
    for t, label in enumerate(y.tolist()):
        angles = frequencies @ X[t]
        z = np.concatenate([np.cos(angles), np.sin(angles)]) / math.sqrt(features)
        margin = label * float(held.weights[:size] @ held.row(t, size) + w @ z)
        if margin <= ROUNDING:
            mistakes.append(t)
        if size == budget:
            leaving = np.argsort(np.abs(held.weights), kind="stable")[:k]
            w += held.weights[leaving] @ Z[leaving]
            rest = np.delete(np.arange(budget), leaving)
            size = len(rest)
            held.keep(rest)
            Z[:size] = Z[rest]
        held.put(size, t, label if margin <= (1 + ROUNDING) * regulariser * t else 0.0)
        Z[size] = z
        size += 1
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
