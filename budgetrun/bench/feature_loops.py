"""The plain loops of learners with features or coordinates; they return the rounds of the mistakes, from 0."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.linalg.blas import dsymv, dsyr, dtrmv

from budgetrun.bench.loops import GROWTH, ROUNDING, Floats, Held, Labels, errs
from budgetrun.engine.hypotheses.nystroem import canonical
from budgetrun.learners.raker import FACTORS


def frequencies(X: Floats, gamma: float, n: int) -> Floats:
    """Draw n frequencies for a gaussian kernel."""
    return np.random.default_rng(0).normal(0, math.sqrt(2 * gamma), (n, X.shape[1]))


def fourier(U: Floats, x: Floats) -> Floats:
    """Return the features of an example, by the frequencies U."""
    angles = U @ x
    return np.concatenate([np.cos(angles), np.sin(angles)]) / math.sqrt(len(U))


def fogd(X: Floats, y: Labels, gamma: float, *, features: int, step: float) -> list[int]:
    """Run FOGD."""
    U, w = frequencies(X, gamma, features), np.zeros(2 * features)
    mistakes: list[int] = []
    for t, label in enumerate(y.tolist()):
        z = fourier(U, X[t])
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


def raker(X: Floats, y: Labels, gamma: float, *, features: int, step: float, regulariser: float) -> list[int]:
    """Run Raker, with orthogonal frequencies."""
    random, K = np.random.default_rng(0), len(FACTORS)
    U = np.vstack([math.sqrt(2 * factor * gamma) * _orthogonal(random, features, X.shape[1]) for factor in FACTORS])
    w, losses, shares = np.zeros((K, 2 * features)), np.zeros(K), np.full(K, 1 / K)
    mistakes: list[int] = []
    for t, label in enumerate(y.tolist()):
        angles = (U @ X[t]).reshape(K, features)
        Z = np.hstack([np.cos(angles), np.sin(angles)]) / math.sqrt(features)
        margins = label * (w * Z).sum(axis=1)
        if float(shares @ margins) <= ROUNDING * step:
            mistakes.append(t)
        losses += np.logaddexp(0.0, -margins) + regulariser * np.square(w).sum(axis=1)
        w *= 1 - 2 * step * regulariser
        w += (step * label / (1 + np.exp(margins)))[:, None] * Z
        shares = np.exp(step / 2 * (losses.min() - losses))
        shares /= shares.sum()
    return mistakes


def _orthogonal(random: np.random.Generator, n: int, d: int) -> Floats:
    """Draw n frequencies, of which d at a time are orthogonal."""
    directions = []
    for start in range(0, n, d):
        Q, R = np.linalg.qr(random.normal(size=(d, min(d, n - start))))
        directions.append((Q * np.sign(np.diag(R))).T)
    drawn: Floats = np.sqrt(random.chisquare(d, n))[:, None] * np.vstack(directions)
    return drawn


class _Frame:
    """The inverse of the Cholesky factor of a matrix that grows by rows, so that BLAS reads half of it."""

    def __init__(self) -> None:
        self._matrix, self.size = np.zeros((GROWTH, GROWTH), order="F"), 0

    def coordinates(self, k: Floats) -> Floats:
        """Return the product with a vector, padded with 0, and room for one more."""
        room = np.zeros(len(self._matrix))
        room[: len(k)] = k
        z: Floats = dtrmv(self._matrix, room, lower=1, overwrite_x=1)
        return z

    def extend(self, z: Floats, last: float) -> None:
        """Add a row to the factor: ``z``, which gets this last number."""
        n = self.size
        self._matrix[n] = dtrmv(self._matrix, z, lower=1, trans=1) / -last
        self._matrix[n, n], z[n] = 1 / last, last
        self.size += 1
        if self.size == len(self._matrix):
            self._matrix = np.asfortranarray(np.pad(self._matrix, (0, GROWTH)))


class _Newton:
    """The weights w of f(x) = w . z, cut to [-C, C], and the inverse of A, which is mu I at first."""

    def __init__(self, C: float, mu: float, size: int = GROWTH) -> None:
        self._C, self._mu = C, mu
        self.w, self._inverse = np.zeros(size), np.eye(size, order="F") / mu

    def restart(self) -> None:
        """Begin again, with w = 0."""
        self.w[:], self._inverse = 0.0, np.eye(len(self.w), order="F") / self._mu

    def score(self, z: Floats) -> float:
        """Move w to the nearest one with |w . z| <= C, by the metric of A, and return f(x)."""
        n = len(self.w)
        if len(z) > n:
            self.w, smaller = np.pad(self.w, (0, len(z) - n)), self._inverse
            self._inverse = np.eye(len(z), order="F") / self._mu
            self._inverse[:n, :n] = smaller
        self._z, self.direction = z, dsymv(1.0, self._inverse, z, lower=1)
        value = float(self.w @ z)
        if abs(value) > self._C:
            self.w -= math.copysign(abs(value) - self._C, value) / float(z @ self.direction) * self.direction
        return max(-self._C, min(value, self._C))

    def step(self, slope: float, curvature: float) -> None:
        """A += curvature g g^T, and w -= A^-1 g, for the gradient g = slope z."""
        added = curvature * slope**2
        growth = 1 + added * float(self._z @ self.direction)
        self._inverse = dsyr(-added / growth, self.direction, lower=1, a=self._inverse, overwrite_a=1)
        self.w -= slope / growth * self.direction


def aons_ogs(X: Floats, y: Labels, gamma: float, *, alpha: float, C: float, mu: float) -> list[int]:
    """Run AONS-OGS."""
    held, frame, newton = Held(X, gamma, len(y)), _Frame(), _Newton(C, mu)
    mistakes: list[int] = []
    for t, label in enumerate(y.tolist()):
        is_first = frame.size == 0
        z = frame.coordinates(held.row(t, frame.size))
        residual, score = 1 - float(z @ z), newton.score(z)
        if errs(label * score, newton.w, z):
            mistakes.append(t)
        if residual > alpha + ROUNDING:
            distance = math.sqrt(residual)
            newton.direction[frame.size] = distance / mu
            held.put(frame.size, t, 0.0)
            frame.extend(z, distance)
        if not is_first:
            newton.step(2 * (score - label), 1 / (4 * C**2 + 4))
    return mistakes


def pros_n_kons(X: Floats, y: Labels, gamma: float, *, g: float) -> list[int]:
    """Run PROS-N-KONS, with alpha, beta and C of 1."""
    return _kons(X, y, gamma, g, restarts=True)


def con_kons(X: Floats, y: Labels, gamma: float, *, g: float) -> list[int]:
    """Run CON-KONS, likewise."""
    return _kons(X, y, gamma, g, restarts=False)


def _kons(X: Floats, y: Labels, gamma: float, g: float, *, restarts: bool) -> list[int]:
    # The dictionary, with S as its weights; the places of its examples that are not nearly in the span of earlier ones;
    # and the frames of these, and of S K S + g I.
    held, size, basis = Held(X, gamma, len(y)), 0, np.empty(0, dtype=int)
    frame, ridge, newton, random = _Frame(), _Frame(), _Newton(1.0, 1.0), np.random.default_rng(0)
    mistakes: list[int] = []
    for t, label in enumerate(y.tolist()):
        k = held.row(t, size)
        phi = frame.coordinates(k[basis])
        score = newton.score(phi)
        if label * score <= ROUNDING:
            mistakes.append(t)
        newton.step(2 * (score - label), 1 / 16)
        solved = ridge.coordinates(held.weights[:size] * k)
        residual = 1 - float(solved @ solved)
        p = min(1.0, 1.5 * residual / (g + residual))
        if random.random() >= p:
            continue
        S = 1 / math.sqrt(p)
        ridge.extend(S * solved, math.sqrt(S**2 * residual + g))
        apart = 1 - float(phi @ phi)
        if apart > 1e-6:
            frame.extend(phi, math.sqrt(apart))
            basis = np.append(basis, size)
        held.put(size, t, S)
        size += 1
        if restarts:
            newton.restart()
    return mistakes


def skegd(X: Floats, y: Labels, gamma: float, *, step: float, rank: int, **sizes: int) -> list[int]:
    """Run SkeGD."""
    w = np.zeros(rank)

    def descend(z: Floats, label: float) -> None:
        w[:] += step * label * z

    return _sketching(X, y, gamma, step, w, descend, lambda: None, **sizes)


def forks(
    X: Floats, y: Labels, gamma: float, *, step: float, rank: int, alpha: float, curvature: float, **sizes: int
) -> list[int]:
    """Run FORKS, with C = 1."""
    newton = _Newton(1.0, alpha, rank)

    def descend(z: Floats, label: float) -> None:
        newton.step(-2 * label * (1 - label * newton.score(z)), curvature)

    return _sketching(X, y, gamma, step, newton.w, descend, newton.restart, **sizes)


def _sketching(
    X: Floats,
    y: Labels,
    gamma: float,
    step: float,
    w: Floats,
    descend: Callable[[Floats, float], None],
    go_on: Callable[[], None],
    *,
    budget: int,
    columns: int,
    sampled: int,
    cycle: int,
) -> list[int]:
    """Run SkeGD or FORKS, which ``descend`` for an example's features, and ``go_on`` with new features."""
    held, size, kept, n_losses = Held(X, gamma, budget), 0, np.ones((budget, budget)), 0
    random, S, chosen = np.random.default_rng(0), np.zeros((budget, columns)), np.empty(0, dtype=int)
    both, one, Q = np.empty((0, 0)), np.empty((0, 0)), np.empty((0, 0))
    mistakes: list[int] = []
    for t, label in enumerate(y.tolist()):
        k, weights, full = held.row(t, size), held.weights[:size], size == budget
        z = Q @ k[chosen] if full else k
        margin = label * float((w if full else weights) @ z)
        if margin <= ROUNDING * step if full else errs(margin, weights, k):
            mistakes.append(t)
        if margin >= 1 - ROUNDING:
            continue
        if full:
            descend(z, label)
            n_losses += 1
            if n_losses % cycle == 0:
                s = np.zeros(columns)
                column = random.integers(columns)
                s[column] = 1 - 2 * random.integers(2)
                u = S.T @ k
                one += np.outer(s, k[chosen])
                both += np.outer(s, u) + np.outer(u, s) + np.outer(s, s)
                Q = _sketched(both, one, len(w), budget)
                go_on()
            continue
        held.put(size, t, step * label)
        kept[size, :size] = kept[:size, size] = k
        size += 1
        if size == budget:
            places, signs = random.integers(columns, size=budget), 1 - 2 * random.integers(2, size=budget)
            S[np.arange(budget), places] = signs
            chosen = random.choice(budget, size=sampled, replace=False)
            both, one = S.T @ kept @ S, S.T @ kept[:, chosen]
            Q = _sketched(both, one, len(w), budget)
            z = Q @ kept[-1, chosen]
            w += label * (margin + step) / float(z @ z) * z
    return mistakes


def _sketched(both: Floats, one: Floats, rank: int, trace: float) -> Floats:
    """Return the matrix that maps kernel values to the features."""
    values, vectors = (found[..., ::-1] for found in np.linalg.eigh(both))
    roots = np.sqrt(np.where(values > ROUNDING * trace, values, 0.0))[:rank]
    left, singular, right = np.linalg.svd(one, full_matrices=False)
    some = singular > 1e-6 * trace
    Q: Floats = (canonical(values, vectors, ROUNDING, rank) * roots).T @ left[:, some] / singular[some] @ right[some]
    return Q
