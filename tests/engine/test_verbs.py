"""Verbs can be called in any order: random sequences of them, checked against plain dictionaries of weights."""

import numpy as np
import pytest
from cases import EXHAUSTIVE

from budgetrun import kernels
from budgetrun.engine.hypotheses import (
    Decaying,
    Expansion,
    ExplicitFeatures,
    MulticlassExpansion,
    MulticlassProjected,
    Nystroem,
    Optimistic,
    Projected,
)
from budgetrun.engine.hypotheses.linear import Linear
from budgetrun.engine.hypotheses.points import MulticlassPoints, Points
from budgetrun.engine.play import Options
from budgetrun.engine.pool import Pool
from budgetrun.kernels.kinds import TILE

SEQUENCES = 120 if EXHAUSTIVE else 30
BLOCKS = (5, 7)
GAUSSIAN = kernels.Gaussian(gamma=0.6)
CLOSE = {"rtol": 1e-8, "atol": 1e-8}
# Weights from a linear system have fewer correct digits, here and there.
SOLVED = {"rtol": 1e-5, "atol": 1e-5}


def assert_close(actual, expected, rtol, atol):
    """Like numpy.testing.assert_allclose, but without its overhead, which dominated the time of these tests."""
    actual, expected = np.asarray(actual), np.asarray(expected)
    assert actual.shape == expected.shape
    # Written so that NaN fails.
    assert (np.abs(actual - expected) <= atol + rtol * np.abs(expected)).all(), f"{actual} is not {expected}"


class Acting:
    """A learner that calls a function on every round, or on mistakes and on some rounds with a positive margin."""

    compiled = False
    costs = None
    budget = None

    def __init__(self, act, margin=np.inf):
        self.act, self.margin = act, margin

    def margins(self, f, t, *_):
        return self.margin

    def update(self, f, *_):
        self.act(f)


class Harness:
    """A form that is fed blocks, and the dictionary {round: [point, weight]} that f has to equal."""

    def __init__(self, make, kernel, rng, n_classes=None):
        self.pool, self.kernel, self.rng = Pool(kernel, np.dtype("float64")), kernel, rng
        self.f = make(self.pool)
        self.n_classes = n_classes
        self.held = {}
        self.made = 0
        solved = isinstance(self.f, Projected | MulticlassProjected | Optimistic | Nystroem)
        self.close = SOLVED if solved else CLOSE

    def k(self, A, B):
        return self.kernel.between(np.atleast_2d(A), np.atleast_2d(B))

    def f_of(self, X):
        """f on examples X, by the dictionary."""
        if not self.held or not len(X):
            return np.zeros((len(X),) if self.n_classes is None else (self.n_classes, len(X)))
        return self.weights().T @ self.k(self.points(), X)

    def points(self):
        return np.array([point for point, _ in self.held.values()]).reshape(len(self.held), 3)

    def weights(self):
        return np.array([weight for _, weight in self.held.values()])

    def play(self, act, check, margin=np.inf):
        def on_round(f):
            t = f._round
            self.x, self.rest, self.t = self.X[t], self.X[t + 1 :], t
            for _ in range(self.rng.integers(5)):
                act(self)
                assert_close(f.current, self.f_of(self.X[t : t + 1])[..., 0], **self.close)
            # These have their scores summed when they are read.
            if margin == np.inf and not isinstance(f, Points | Linear):
                assert_close(f.scores[..., t + 1 :], self.f_of(self.rest), **self.close)
            check(self)

        pool = self.pool
        # The second block continues 64 rounds, or begins the next.
        pool.seen = int(self.rng.choice([0, TILE - BLOCKS[0]]))
        for b in BLOCKS:
            self.X = self.rng.normal(size=(b, 3))
            pool.admit(self.X)
            self.f.begin_block()
            y = self.rng.choice([-1, 1], b) if self.n_classes is None else self.rng.integers(self.n_classes, size=b)
            t = 0
            while t < b:
                t = self.f.play(Acting(on_round, margin), y, t, Options(single=True))
            self.f.end_block()
            pool.release(self.f.held)
            others = self.rng.normal(size=(2, 3))
            if not isinstance(self.f, Optimistic | Decaying | ExplicitFeatures):
                assert_close(self.f.score(others), self.f_of(others), **self.close)

    def key(self, i):
        return list(self.held)[i]

    def hold(self, point, weight):
        self.made += 1
        self.held[self.made] = [point, weight]

    @property
    def x_is_held(self):
        return any(point is self.x or np.array_equal(point, self.x) for point, _ in self.held.values())


def weight_of(rng):
    return float(rng.choice([-1.0, 1.0, rng.normal()]))


def act_on_expansion(h):
    f, rng, n = h.f, h.rng, len(h.held)
    verb = rng.choice(["add", "scale", "evict", "shift", "keep"])
    if verb == "add" and not h.x_is_held:
        w = weight_of(rng)
        f.add(w)
        h.hold(h.x, w)
    elif verb == "scale":
        phi = float(rng.uniform(0.3, 1.0))
        f.scale(phi)
        for entry in h.held.values():
            entry[1] *= phi
    elif verb == "evict" and n:
        i = int(rng.choice([0, rng.integers(n)]))
        f.evict(i)
        del h.held[h.key(i)]
    elif verb == "shift" and n:
        i, delta = int(rng.integers(n)), weight_of(rng)
        f.shift(i, delta)
        h.held[h.key(i)][1] += delta
    elif verb == "keep" and n > 2:
        chosen = np.flatnonzero(rng.random(n) < 0.6)
        weights = rng.normal(size=len(chosen))
        kept = [h.key(i) for i in chosen]
        f.keep(chosen, weights)
        h.held = {key: [h.held[key][0], w] for key, w in zip(kept, weights.tolist(), strict=True)}


def check_expansion(h):
    f, weights = h.f, h.weights()
    K = h.k(h.points(), h.points()) if len(weights) else np.zeros((0, 0))
    assert_close(f.coef, weights, **h.close)
    assert_close(f.support_set, h.points(), **h.close)
    if f._normed:
        assert_close(f.norm_sq, weights @ K @ weights, **h.close)
    if not len(weights):
        return
    assert_close(f.kernel_row(), h.k(h.points(), h.x)[:, 0], **h.close)
    assert_close([f.score_of(i) for i in range(f.size)], K @ weights, **h.close)
    if f._track == 2:
        assert_close(f.self_scores, K @ weights, **h.close)
    assert_close(f.gram(), K, **h.close)


TRACKED = [{"norm": norm, "track": track} for norm in (False, True) for track in (None, "oldest", "all")]


@pytest.mark.parametrize("kernel", [GAUSSIAN, kernels.Polynomial(degree=2, gamma=0.4, coef0=1.0)], ids=str)
@pytest.mark.parametrize("tracked", TRACKED, ids=str)
def test_expansion(tracked, kernel):
    for seed in range(SEQUENCES):
        rng = np.random.default_rng(seed)
        Harness(lambda pool: Expansion(pool, **tracked), kernel, rng).play(act_on_expansion, check_expansion)


def test_decaying():
    for seed in range(2 * SEQUENCES):
        rng = np.random.default_rng(seed)
        decay = float(rng.choice([1.0, 0.9, 0.5]))

        def act(h):
            f, n = h.f, len(h.held)
            if h.x_is_held:
                return
            if h.rng.random() < 0.6 or not n:
                w = weight_of(h.rng)
                f.add(w)
                h.hold(h.x, w)
            else:
                i, weights = int(h.rng.integers(n)), h.rng.normal(size=n)
                f.displace(i, weights.copy())
                keys = list(h.held)
                h.held = {k: [h.x if j == i else h.held[k][0], weights[j]] for j, k in enumerate(keys)}

        def on_act(h):
            now = h.f.now
            for entry in h.held.values():
                entry[1] *= decay ** (now - h.passed)  # noqa: B023 (of this harness)
            h.passed = now
            act(h)

        h = Harness(lambda pool, decay=decay: Decaying(pool, decay), GAUSSIAN, rng)
        h.passed = 0
        h.play(
            on_act, lambda h: assert_close(h.f.coef, h.weights(), **CLOSE) if h.passed == h.f.now else None, margin=0.1
        )


def projection_on(h, x):
    """The weights of the projection of k(x, .) on the support set."""
    P = h.points()
    return np.linalg.solve(h.k(P, P), h.k(P, x)[:, 0]) if len(P) else np.empty(0)


def project(h, weight):
    for entry, share in zip(h.held.values(), projection_on(h, h.x), strict=True):
        entry[1] += weight * share


def act_on_projected(h):
    f, rng = h.f, h.rng
    verb, w = rng.choice(["add", "project", "scale"]), weight_of(rng)
    if verb == "add" and not h.x_is_held:
        f.add(w)
        h.hold(h.x, w)
    elif verb == "project" and not h.x_is_held:
        f.project(w)
        project(h, w)
    elif verb == "scale":
        f.scale(0.7)
        for entry in h.held.values():
            entry[1] *= 0.7


def check_projected(h):
    P, weights = h.points(), h.weights()
    norm = weights @ h.k(P, P) @ weights if len(P) else 0.0
    assert_close(h.f.norm_sq, norm, **SOLVED)
    if not h.x_is_held and len(P):
        residual = h.k(h.x, h.x)[0, 0] - h.k(P, h.x)[:, 0] @ projection_on(h, h.x)
        assert_close(h.f.residual, residual, **SOLVED)


def test_projected():
    kernel = kernels.Gaussian(gamma=2.0)
    for seed in range(2 * SEQUENCES):
        Harness(Projected, kernel, np.random.default_rng(seed)).play(act_on_projected, check_projected)


def test_linear():
    for seed in range(SEQUENCES):
        rng, w, squared = np.random.default_rng(seed), np.zeros(4), np.zeros(4)

        def act(h, w=w, squared=squared):
            z, slope = np.append(1.0, h.x), weight_of(h.rng)
            if h.rng.random() < 0.5:
                h.f.step(slope)
                w += slope * z
            else:
                h.f.adapt(slope, 0.3)
                squared += (slope * z) ** 2
                w += 0.3 * slope * z / np.sqrt(squared)

        h = Harness(lambda pool: Linear(pool, 1.0), GAUSSIAN, rng)
        h.f_of = lambda X, w=w: w[0] + X @ w[1:] if len(X) else np.zeros(0)
        h.play(act, lambda h, w=w: assert_close(h.f.w, w, **CLOSE))


def test_multiclass_expansion():
    def act(h):
        f, rng, n = h.f, h.rng, len(h.held)
        if rng.random() < 0.6 and not h.x_is_held:
            (y, rival), weight = (int(c) for c in rng.choice(3, 2, replace=False)), weight_of(rng)
            f.add(y, rival, weight)
            h.hold(h.x, weight * (np.eye(3)[y] - np.eye(3)[rival]))
        elif n:
            i = int(rng.integers(n))
            f.evict(i)
            del h.held[h.key(i)]

    def check(h):
        assert_close(h.f.coef, h.weights().T if h.held else np.zeros((3, 0)), **CLOSE)
        assert_close(h.f.support_set, h.points(), **CLOSE)

    for seed in range(SEQUENCES):
        Harness(lambda pool: MulticlassExpansion(pool, 3), GAUSSIAN, np.random.default_rng(seed), 3).play(act, check)


@pytest.mark.parametrize("n_classes", [None, 3])
def test_points(n_classes):
    """Two points can become one between them, which is no example."""

    def act(h):
        f, rng, n = h.f, h.rng, len(h.held)
        verb = rng.choice(["append", "shift", "evict", "merge"])
        c = int(rng.integers(n_classes or 1))
        if verb == "append" and n < 8:
            f.append()
            h.hold(h.x, 0.0 if n_classes is None else np.zeros(n_classes))
        elif verb == "shift" and n:
            i, delta = int(rng.integers(n)), rng.normal()
            f.shift(i, delta, c)
            h.held[h.key(i)][1] = h.held[h.key(i)][1] + (delta if n_classes is None else delta * np.eye(n_classes)[c])
        elif verb == "evict" and n:
            i = int(rng.integers(n))
            f.evict(i)
            del h.held[h.key(i)]
        elif verb == "merge" and n > 1:
            (i, j), (at, of_i, of_j) = (int(k) for k in rng.choice(n, 2, replace=False)), rng.random(3)
            f.merge(i, j, at, of_i, of_j)
            (z_i, w_i), (z_j, w_j) = h.held[h.key(i)], h.held[h.key(j)]
            h.held[h.key(i)] = [at * z_i + (1 - at) * z_j, of_i * w_i + of_j * w_j]
            del h.held[h.key(j)]

    def check(h):
        f = h.f
        assert_close(f.coef, h.weights().T if h.held else np.zeros(np.shape(f.coef)), **CLOSE)
        assert_close(f.support_set, h.points(), **CLOSE)
        if h.held:
            assert_close(f.kernel_row(), h.k(h.points(), h.x)[:, 0], **CLOSE)
            apart = h.points() - h.points()[0]
            assert_close(f.distances(0), (apart * apart).sum(axis=1), **CLOSE)

    form = Points if n_classes is None else MulticlassPoints
    for seed in range(SEQUENCES):
        rng = np.random.default_rng(seed)
        h = Harness(lambda pool: form(pool, 9, n_classes), GAUSSIAN, rng, n_classes)
        h.play(act, check)


def test_an_example_whose_functions_lie_in_the_span_is_not_held_again():
    x, sizes = np.ones((1, 3)), []

    def act(f):
        f.add(0, 1)
        sizes.append(len(f.held))

    pool = Pool(GAUSSIAN, np.dtype("float64"))
    f = MulticlassProjected(pool, np.eye(3))
    for _ in range(2):
        pool.admit(x)
        f.begin_block()
        f.play(Acting(act), np.zeros(1, dtype=int), 0, Options(single=True))
        f.end_block()
        pool.release(f.held)
    assert sizes == [1, 1]
    assert_close(f.score(x)[:, 0], [2.0, -2.0, 0.0], **CLOSE)
