"""The plain loops of the field's learners, like those in `loops`: they return the rounds of the mistakes, from 0."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from budgetrun.bench.feature_loops import fourier, frequencies
from budgetrun.bench.loops import ROUNDING, Floats, Held, Inverse, Labels, errs
from budgetrun.engine.hypotheses.merging import EQUAL, tables
from budgetrun.learners.raker import FACTORS


def stoptron(X: Floats, y: Labels, gamma: float, *, budget: int) -> list[int]:
    """Run the Stoptron."""
    held, size = Held(X, gamma, budget), 0
    mistakes: list[int] = []
    for t, label in enumerate(y.tolist()):
        if label * (held.weights[:size] @ held.row(t, size)) > 0:
            continue
        mistakes.append(t)
        if size < budget:
            held.put(size, t, label)
            size += 1
    return mistakes


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


def norma(X: Floats, y: Labels, gamma: float, *, budget: int, step: float, regulariser: float) -> list[int]:
    """Run NORMA with a budget."""
    held, n_added = Held(X, gamma, budget), 0
    mistakes: list[int] = []
    for t, label in enumerate(y.tolist()):
        size = min(n_added, budget)
        _, weights, margin = held.predict(t, size, label, mistakes)
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


def bpa(X: Floats, y: Labels, gamma: float, *, budget: int, C: float) -> list[int]:
    """Run BPA-S."""
    held, by_age = Held(X, gamma, budget), np.empty(0, dtype=int)
    mistakes: list[int] = []
    for t, label in enumerate(y.tolist()):
        size = len(by_age)
        k, weights, margin = held.predict(t, size, label, mistakes)
        if margin >= 1 - ROUNDING:
            continue
        weight, place = label * min(C, 1 - margin), size
        if size == budget:
            sizes = np.square(weights)
            r, place = _cheapest(sizes * (1 - np.square(k)), sizes, by_age)
            weight += weights[place] * k[place]
            by_age = np.delete(by_age, r)
        held.put(place, t, weight)
        by_age = np.append(by_age, place)
    return mistakes


def dualsgd(X: Floats, y: Labels, gamma: float, *, budget: int, k: int, features: int, regulariser: float) -> list[int]:
    """Run DualSGD with the hinge loss; the weights are times lambda t, after t rounds, so -1, 0 or 1."""
    held, size, w = Held(X, gamma, budget), 0, np.zeros(2 * features)
    U = frequencies(X, gamma, features)
    Z = np.empty((budget, 2 * features))
    mistakes: list[int] = []
    for t, label in enumerate(y.tolist()):
        z = fourier(U, X[t])
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


def bsgd_lookup_wd(X: Floats, y: Labels, gamma: float, *, budget: int, regulariser: float) -> list[int]:
    """Run BSGD with merging and lookup tables; the weights are times lambda t, after t rounds."""
    held, by_age = Held(X, gamma, budget + 1), np.empty(0, dtype=int)
    mistakes: list[int] = []
    for t, label in enumerate(y.tolist()):
        size = len(by_age)
        *_, margin = held.predict(t, size, label, mistakes)
        if margin >= (1 - ROUNDING) * regulariser * max(t, 1):
            continue
        held.put(size, t, label)
        by_age = np.append(by_age, size)
        if size == budget:
            by_age = _merge(held, by_age)
    return mistakes


def _merge(held: Held, by_age: NDArray[np.int64]) -> NDArray[np.int64]:
    """Merge two points, move the last one to the free place, and return the places in the order of age."""
    weights = held.weights[by_age]
    squares, signs = np.square(weights), np.sign(weights)
    has_partner = np.where(signs > 0, (signs > 0).sum(), (signs < 0).sum()) > 1
    p = _first_least(np.where(has_partner, squares, np.inf), 1e-9 * squares)
    place = by_age[p]
    distances = held.offsets + held.offsets[place] - 2 * held.gamma * (held.examples @ held.examples[place])
    kernel, total = np.exp(-np.maximum(distances, 0.0))[by_age], weights[p] + weights
    partners = signs == signs[p]
    partners[p] = False
    share = np.where(partners, weights[p] / np.where(partners, total, 1.0), 0.0)
    places, losses = tables()
    lost = np.where(partners, _looked_up(losses, share, kernel) * total * total, np.inf)
    i = _first_least(lost, EQUAL * (squares[p] + squares))
    h, other = float(_looked_up(places, share[i], kernel[i])), by_age[i]
    held.examples[place] = z = h * held.examples[place] + (1 - h) * held.examples[other]
    held.weights[place] = weights[p] * kernel[i] ** (1 - h) ** 2 + weights[i] * kernel[i] ** h**2
    held.offsets[place] = held.gamma * (z @ z)
    last = len(by_age) - 1
    for column in (held.examples, held.weights, held.offsets):
        column[other] = column[last]
    by_age = np.delete(by_age, i)
    by_age[by_age == last] = other
    return by_age


def _first_least(values: Floats, tolerances: Floats) -> int:
    """Return the index of the least value; the first of several that are equal."""
    return int(np.argmax(values <= values.min() + tolerances))


def _looked_up(table: Floats, share: Any, kernel: Any) -> Any:
    """Return values of a table of squares of [0, 1], interpolated between the four nearest entries."""
    row, column = share * (len(table) - 1), kernel * (len(table) - 1)
    i, j = (np.minimum(np.asarray(at, dtype=int), len(table) - 2) for at in (row, column))
    u, v = row - i, column - j
    above = (1 - v) * table[i, j] + v * table[i, j + 1]
    return (1 - u) * above + u * ((1 - v) * table[i + 1, j] + v * table[i + 1, j + 1])


def bpa_nearest(X: Floats, y: Labels, gamma: float, *, budget: int, C: float) -> list[int]:
    """Run BPA-NN."""
    held, by_age = Held(X, gamma, budget), np.empty(0, dtype=int)
    # By place: the kernel values of the support set, where no example is near itself; the place of the nearest one; and
    # the round in which an example was added.
    kept, nearest, added = np.full((budget, budget), -1.0), np.zeros(budget, dtype=int), np.zeros(budget, dtype=int)
    every = np.arange(budget)
    mistakes: list[int] = []
    for t, label in enumerate(y.tolist()):
        size = len(by_age)
        k, weights, margin = held.predict(t, size, label, mistakes)
        if margin >= 1 - ROUNDING:
            continue
        weight, place = label * min(C, 1 - margin), size
        if size == budget:
            # Project on the new example and the nearest one, or on the new one alone if both are the same.
            k_near, between = kept[every, nearest], k[nearest]
            rest = 1 - np.square(between)
            apart = rest > ROUNDING
            rest[~apart] = 1.0
            shares = np.where(apart, (k - between * k_near) / rest, k)
            near_shares = np.where(apart, (k_near - between * k) / rest, 0.0)
            sizes = np.square(weights)
            lost = sizes * (1 - shares * k - near_shares * k_near)
            r, place = _cheapest(lost, sizes, by_age)
            weight += weights[place] * shares[place]
            weights[nearest[place]] += weights[place] * near_shares[place]
            by_age = np.delete(by_age, r)
        held.put(place, t, weight)
        by_age = np.append(by_age, place)
        added[place] = t
        n = len(by_age)
        k = held.room[:n]
        k[place] = -1.0
        searching = nearest[:n] == place
        searching[place] = True
        nearest[:n][k > kept[every[:n], nearest[:n]] + ROUNDING / 2] = place
        kept[place, :n] = kept[:n, place] = k
        rows = kept[:n][searching, :n]
        equal = rows >= rows.max(axis=1, keepdims=True) - ROUNDING / 2
        nearest[:n][searching] = np.where(equal, added[:n], t + 1).argmin(axis=1)
    return mistakes


def bpa_projecting(X: Floats, y: Labels, gamma: float, *, budget: int, C: float, ridge: float) -> list[int]:
    """Run BPA-P."""
    held, by_age = Held(X, gamma, budget), np.empty(0, dtype=int)
    # By place: the kernel matrix plus the ridge, and its inverse, which is computed again before rounding has grown.
    kept, inverse, n_replaced = np.empty((budget, budget)), np.empty((budget, budget)), 0
    mistakes: list[int] = []
    for t, label in enumerate(y.tolist()):
        size = len(by_age)
        k, weights, margin = held.predict(t, size, label, mistakes)
        if margin >= 1 - ROUNDING:
            continue
        weight, place = label * min(C, 1 - margin), size
        if size == budget:
            if n_replaced % budget == 0:
                inverse[:] = np.linalg.inv(kept)
            n_replaced += 1
            # Add the new example to the inverse, by a last row and column that are stored apart, and remove the other.
            column = inverse @ k
            corner = 1 / (1 + ridge - float(k @ column))
            sizes, last = np.square(weights), -corner * column
            r, place = _cheapest(sizes / (inverse.diagonal() - last * column), sizes, by_age)
            inverse -= np.outer(last, column)
            leaving, of_last = inverse[place].copy(), last[place]
            pivot = leaving[place]
            inverse -= np.outer(leaving, leaving / pivot)
            inverse[place] = inverse[:, place] = last - leaving * (of_last / pivot)
            inverse[place, place] = corner - of_last**2 / pivot
            weight -= weights[place] * of_last / pivot
            weights -= leaving * (weights[place] / pivot)
            by_age = np.delete(by_age, r)
        held.put(place, t, weight)
        by_age = np.append(by_age, place)
        kept[place, :size] = kept[:size, place] = k
        kept[place, place] = 1 + ridge
    return mistakes


def _cheapest(lost: Floats, sizes: Floats, by_age: NDArray[np.int64]) -> tuple[int, int]:
    """Return which example loses least, by age, and its place; the oldest of several that are equal."""
    lost = lost[by_age]
    r = int(np.argmax(lost <= lost.min() + ROUNDING * sizes.max()))
    return r, int(by_age[r])


def _into_ball(weights: Floats, norm_sq: float, U: float) -> float:
    """Scale weights so that ||f|| <= U, by the squared norm, which is returned."""
    if norm_sq <= U**2:
        return norm_sq
    weights *= U / math.sqrt(norm_sq)
    return U**2


class _Sparse:
    """A function of norm at most U in the span of examples, which grows by those farther from it than ``alpha``."""

    def __init__(self, X: Floats, gamma: float, alpha: float, U: float) -> None:
        self.held, self._inverse = Held(X, gamma, len(X)), Inverse()
        self._alpha, self._U = alpha, U
        self.size, self._norm_sq = 0, 0.0

    @property
    def weights(self) -> Floats:
        """The weights of the examples, which can be changed in place."""
        return self.held.weights[: self.size]

    def approximate(self, k: Floats) -> float:
        """Project the example with these kernel values, if it is near enough; return the squared norm of the result."""
        self.solution = self._inverse.times(self.held.room)
        self._projected_square = float(self.solution[: self.size] @ k)
        self.projects = self.size > 0 and 1 - self._projected_square <= self._alpha + ROUNDING
        return self._projected_square if self.projects else 1.0

    def step(self, t: int, weight: float, score: float) -> None:
        """Add the example of round t, or its projection, with this weight; f(x) was the ``score``."""
        square = self._projected_square if self.projects else 1.0
        self._norm_sq += weight * (2 * score + weight * square)
        if self.projects:
            self.weights[:] += weight * self.solution[: self.size]
        else:
            self._inverse.extend(self.solution, self.size, 1 - self._projected_square)
            self.held.put(self.size, t, weight)
            self.size += 1
        self._norm_sq = _into_ball(self.weights, self._norm_sq, self._U)


def avp_ogs(X: Floats, y: Labels, gamma: float, *, alpha: float, epsilon: float, U: float, c: float) -> list[int]:
    """Run AVP-OGS."""
    return _avp_ogs(_Sparse(X, gamma, alpha, U), y, 1 - epsilon, c * U, lambda L: c * U / math.sqrt(U**2 + L))


def mavp_ogs(X: Floats, y: Labels, gamma: float, *, alpha: float, epsilon: float, U: float, c: float) -> list[int]:
    """Run MAVP-OGS; with two classes, their functions are f and -f."""

    def step(L: float) -> float:
        return c * U * math.sqrt(2 / (2 * U**2 + L))

    return _avp_ogs(_Sparse(X, gamma, alpha, U), y, (1 - epsilon) / 2, step(1.0), step)


def _avp_ogs(f: _Sparse, y: Labels, enough: float, step: float, next_step: Callable[[float], float]) -> list[int]:
    mistakes: list[int] = []
    L = 1.0
    for t, label in enumerate(y.tolist()):
        k = f.held.row(t, f.size)
        margin = label * float(f.weights @ k)
        is_mistake = errs(margin, f.weights, k)
        if is_mistake:
            mistakes.append(t)
        if margin < enough - ROUNDING:
            square = f.approximate(k)
            if is_mistake and f.size:
                L += square
                step = next_step(L)
            f.step(t, label * step, label * margin)
    return mistakes


def aogd_ald(X: Floats, y: Labels, gamma: float, *, alpha: float, U: float, c: float) -> list[int]:
    """Run AOGD-ALD, without a switch."""
    f, S = _Sparse(X, gamma, alpha, U), 1.0
    mistakes: list[int] = []
    for t, label in enumerate(y.tolist()):
        k = f.held.row(t, f.size)
        score = float(f.weights @ k)
        if errs(label * score, f.weights, k):
            mistakes.append(t)
        error = score - label
        S += 4 * error**2 * f.approximate(k)
        f.step(t, -2 * error * c * U / math.sqrt(S), score)
    return mistakes


class _Hint:
    """The mean of the last M examples, each times its label; ``capacity`` is that of the support set."""

    def __init__(self, X: Floats, gamma: float, M: int, capacity: int) -> None:
        # With the labels as weights; and by row their kernel values with the support set.
        self._latest, self._rows = Held(X, gamma, M), np.zeros((M, capacity + 1))
        self._M = M

    def of(self, t: int) -> float:
        """Return the value for the example of round t."""
        n = min(t, self._M)
        self.k, self.weights = self._latest.row(t, n), self._latest.weights[:n] / max(n, 1)
        return float(self.weights @ self.k)

    def of_projection(self, solution: Floats) -> float:
        """Return the inner product with a function in the span of the support set, by its weights."""
        return float(self.weights @ (self._rows[: len(self.weights), : len(solution)] @ solution))

    def end(self, t: int, label: float, k: Floats) -> None:
        """Take the example of round t, by its kernel values with the support set; it may have become its next one."""
        place, size = t % self._M, len(k)
        self._rows[: len(self.weights), size] = self.k
        self._rows[place, :size], self._rows[place, size] = k, 1.0
        self._latest.put(place, t, label)


def aomd_ogs(X: Floats, y: Labels, gamma: float, *, alpha: float, U: float, c: float, M: int) -> list[int]:
    """Run AOMD-OGS with the hinge loss."""
    f, hint, S = _Sparse(X, gamma, alpha, U), _Hint(X, gamma, M, len(y)), 0.0
    mistakes: list[int] = []
    for t, label in enumerate(y.tolist()):
        k, step, hinted = f.held.row(t, f.size), c * U / math.sqrt(3 + S), hint.of(t)
        score = float(f.weights @ k)
        margin = label * (score + step * hinted)
        if errs(margin, np.append(f.weights, step * hint.weights), np.append(k, hint.k)):
            mistakes.append(t)
        if margin < 1 - ROUNDING:
            square = f.approximate(k)
            if f.projects:
                hinted = hint.of_projection(f.solution[: f.size])
            S += max(0.0, square - 2 * label * hinted)
            f.step(t, label * step, score)
        hint.end(t, label, k)
    return mistakes


def pomdr(X: Floats, y: Labels, gamma: float, *, budget: int, first_budget: int, eta: float, U: float) -> list[int]:
    """Run POMDR."""
    held, size, kept, inverse = Held(X, gamma, budget), 0, np.ones((budget, budget)), Inverse()
    hint, A, norm_sq, factor, half = _Hint(X, gamma, 15, budget), 0.0, 0.0, 1.0, budget // 2
    mistakes: list[int] = []
    for t, label in enumerate(y.tolist()):
        k, weights, hinted = held.row(t, size), held.weights[:size], hint.of(t)
        step = factor * U / math.sqrt(3 + A)
        score = float(weights @ k)
        margin = label * (score + step * hinted)
        if errs(margin, np.append(weights, step * hint.weights), np.append(k, hint.k)):
            mistakes.append(t)
        if margin >= 1 - ROUNDING:
            hint.end(t, label, k)
            continue
        if size == budget:
            # The first half takes the weights of the second, each at the nearest example.
            among = kept[:half, half:]
            nearest = (among >= among.max(axis=0) - ROUNDING).argmax(axis=0)
            weights = weights[:half] + np.bincount(nearest, weights[half:], half)
            weights *= U / math.sqrt(weights @ kept[:half, :half] @ weights)
            held.weights[:half] = weights
            size, k, A, norm_sq, factor = half, k[:half], 0.0, U**2, 0.1
            score, step = float(weights @ k), factor * U / math.sqrt(3)
        square, projects = 1.0, False
        if factor == 1.0 and size < first_budget:
            solution = inverse.times(held.room)
            projected_square = float(solution[:size] @ k)
            projects = 1 - projected_square <= eta**2 + ROUNDING
            if projects:
                square, hinted = projected_square, hint.of_projection(solution[:size])
            else:
                inverse.extend(solution, size, 1 - projected_square)
        if projects:
            weights += label * step * solution[:size]
        else:
            held.put(size, t, label * step)
            kept[size, :size] = kept[:size, size] = k
        hint.end(t, label, k)
        size += not projects
        A += max(0.0, square - 2 * label * hinted)
        norm_sq += label * step * (2 * score + label * step * square)
        norm_sq = _into_ball(held.weights[:size], norm_sq, U)
    return mistakes


def avp(X: Floats, y: Labels, gamma: float, *, epsilon: float, U: float) -> list[int]:
    """Run AVP with the steps of Corollary 2."""
    held, size, norm_sq = Held(X, gamma, len(y)), 0, 0.0
    mistakes: list[int] = []
    for t, label in enumerate(y.tolist()):
        *_, margin = held.predict(t, size, label, mistakes)
        if margin >= 1 - epsilon - ROUNDING:
            continue
        step = U / math.sqrt(U**2 + len(mistakes))
        held.put(size, t, label * step)
        size += 1
        norm_sq = _into_ball(held.weights[:size], norm_sq + step * (2 * margin + step), U)
    return mistakes


def ahpatron(X: Floats, y: Labels, gamma: float, *, budget: int, epsilon: float, eta: float) -> list[int]:
    """Run Ahpatron with the norm and the step of Theorem 6."""
    held, size, kept, half = Held(X, gamma, budget), 0, np.ones((budget, budget)), budget // 2
    U, step, norm_sq = math.sqrt(budget) / 2, 1 / 4, 0.0
    mistakes: list[int] = []
    for t, label in enumerate(y.tolist()):
        k, weights, margin = held.predict(t, size, label, mistakes)
        if margin >= 1 - epsilon - ROUNDING:
            continue
        if size == budget:
            heaviest = np.argsort(-np.round(np.abs(weights) / np.abs(weights).max(), 9), kind="stable")
            stay, leave = np.sort(heaviest[:half]), heaviest[half:]
            among = kept[np.ix_(stay, stay)]
            theta = np.linalg.solve(among + eta * np.eye(half), kept[np.ix_(stay, leave)] @ weights[leave])
            moved = weights[stay] + theta
            held.keep(stay)
            held.weights[:half] = moved * math.sqrt(norm_sq / (moved @ among @ moved))
            kept[:half, :half] = among
            size, k = half, k[stay]
            margin = label * float(held.weights[:half] @ k)
        held.put(size, t, label * step)
        kept[size, :size] = kept[:size, size] = k
        size += 1
        norm_sq = _into_ball(held.weights[:size], norm_sq + step * (2 * margin + step), U)
    return mistakes


def tighter(X: Floats, y: Labels, gamma: float, *, budget: int, beta: float) -> list[int]:
    """Run the Tighter Budget Perceptron, with the errors on the cache."""
    held, by_age, kept = Held(X, gamma, budget), np.empty(0, dtype=int), np.ones((budget, budget))
    mistakes: list[int] = []
    for t, label in enumerate(y.tolist()):
        size = len(by_age)
        k, weights, margin = held.predict(t, size, label, mistakes)
        if margin > beta + ROUNDING:
            continue
        place = size
        if size == budget:
            parts = weights[:, None] * kept
            errors = ((weights @ kept - parts > ROUNDING) != (weights > 0)).sum(axis=1)
            r = int(errors[by_age].argmin())
            place = int(by_age[r])
            by_age = np.delete(by_age, r)
        held.put(place, t, label)
        kept[place, :size] = kept[:size, place] = k
        kept[place, place] = 1.0
        by_age = np.append(by_age, place)
    return mistakes


def bogd_plus_plus(X: Floats, y: Labels, gamma: float, *, budget: int, step: float, regulariser: float) -> list[int]:
    """Run BOGD++."""
    held, size, random = Held(X, gamma, budget), 0, np.random.default_rng(0)
    mistakes: list[int] = []
    for t, label in enumerate(y.tolist()):
        _, weights, margin = held.predict(t, size, label, mistakes)
        weights *= 1 - step * regulariser
        if margin >= 1 - ROUNDING:
            continue
        place = size
        if size == budget:
            sizes = np.abs(weights)
            p = np.maximum(1 - (budget - 1) / sizes.sum() * sizes, 0.0)
            p /= p.sum()
            place = int(np.searchsorted(np.cumsum(p), random.random(), "right"))
            weights /= 1 - p
            np.clip(weights, -step, step, out=weights)
        held.put(place, t, step * label)
        size = min(size + 1, budget)
    return mistakes


def oks(X: Floats, y: Labels, gamma: float, *, horizon: int) -> list[int]:
    """Run OKS."""
    K, losses = len(FACTORS), np.zeros(len(FACTORS))
    delta = (K / horizon) ** (1 / 3)
    eta, step = math.sqrt(2 * (1 - delta) * math.log(K) / (K * horizon)), 25 * math.sqrt(delta / (K * horizon))
    functions, sizes, p = [Held(X, factor * gamma, len(y)) for factor in FACTORS], [0] * K, np.full(K, 1 / K)
    random = np.random.default_rng(0)
    mistakes: list[int] = []
    for t, label in enumerate(y.tolist()):
        i = int(np.searchsorted(np.cumsum(p), random.random(), "right"))
        f, size = functions[i], sizes[i]
        k, weights = f.row(t, size), f.weights[:size]
        margin = label * float(weights @ k)
        if _errs_relatively(margin, weights, k):
            mistakes.append(t)
        f.put(size, t, step * label / (1 + math.exp(margin)) / p.item(i))
        sizes[i] += 1
        losses[i] += math.log1p(math.exp(-margin)) / p[i]
        shares = np.exp(eta * (losses.min() - losses))
        p = (1 - delta) * shares / shares.sum() + delta / K
    return mistakes


def ioks(X: Floats, y: Labels, gamma: float, *, horizon: int, U: float) -> list[int]:
    """Run IOKS."""
    K, T = len(FACTORS), horizon
    etas, rho = np.full(K, 8 * K ** (3 / 8) / (U * math.sqrt(T * math.log(T)))), np.full(K, 2.0 * K)
    functions, sizes = [Held(X, factor * gamma, len(y)) for factor in FACTORS], [0] * K
    norms_sq, S, q, p = np.zeros(K), np.zeros(K), np.full(K, 1 / K), np.full(K, 1 / K)
    random = np.random.default_rng(0)
    mistakes: list[int] = []
    for t, label in enumerate(y.tolist()):
        i = int(np.searchsorted(np.cumsum(p), random.random(), "right"))
        f, size = functions[i], sizes[i]
        k, weights = f.row(t, size), f.weights[:size]
        margin = label * float(weights @ k)
        if _errs_relatively(margin, weights, k):
            mistakes.append(t)
        slope = 1 / (1 + math.exp(margin)) / p.item(i)
        S[i] += slope**2
        step = math.sqrt(0.5 / (1 + S[i])) * U * slope
        f.put(size, t, label * step)
        sizes[i] += 1
        norms_sq[i] = _into_ball(f.weights[: size + 1], norms_sq[i] + step * (2 * margin + step), U)
        loss = math.log1p(math.exp(-margin)) / (p[i] if p[i] > etas.max() else p[i] + etas.max())
        q = _moved(q, etas, i, loss)
        p = (1 - T**-0.75) * q + T**-0.75 / K
        rare = 1 / p > rho
        rho[rare] = 2 / p[rare]
        etas[rare] *= math.exp(2 / (3 * math.log(T)))
    return mistakes


def _errs_relatively(margin: float, weights: Floats, k: Floats) -> bool:
    """As `errs`, for kernels so narrow that all terms of a score may be tiny."""
    return margin <= ROUNDING and margin <= ROUNDING * float(np.abs(weights) @ k)


def _moved(q: Floats, etas: Floats, i: int, loss: float) -> Floats:
    """Return (q_j^(-7/8) + eta_j (l_j - c))^(-8/7), with the c at which they sum to 1; only l_i is not 0."""
    base = q ** (-7 / 8)
    base[i] += etas[i] * loss
    most = min(loss, (1 - ROUNDING) * float((base / etas).min()))
    c = brentq(lambda c: float(((base - etas * c) ** (-8 / 7)).sum()) - 1, 0.0, most)
    moved: Floats = (base - etas * c) ** (-8 / 7)
    return moved
