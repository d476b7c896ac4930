"""The theorems of the Projectron paper, checked on runs against competitors found in hindsight, up to rounding.

Theorem numbers are those of Orabona, Keshet & Caputo (2009), JMLR 10.
"""

import math
import os
from dataclasses import dataclass

import numpy as np
import pytest
import scipy.sparse as sp
from cases import EXHAUSTIVE, STREAMS, TASKS, all_cases, paired, random_stream
from sklearn.svm import SVC

from budgetrun import kernels
from budgetrun.config.schema import DatasetSpec
from budgetrun.data import open_stream
from budgetrun.engine import Group, run
from budgetrun.engine.hypotheses import projected as projection
from budgetrun.kernels import Kernel
from budgetrun.kernels.rows import floats
from budgetrun.learners import find
from budgetrun.learners.projectron_pp import MulticlassProjectronPlusPlus
from budgetrun.papers.theory.projectron import alma_bound, projectron_bound, reach_of

GAUSSIAN = kernels.Gaussian(gamma=0.5)
N_CLASSES = 5
real = pytest.mark.skipif("BUDGETRUN_DATA" not in os.environ, reason="BUDGETRUN_DATA names no folder of real data")


# -- runs ------------------------------------------------------------------------------------------------------------


@dataclass
class Update:
    """A round on which the learner acted, before its update."""

    t: int
    mistaken: bool
    told: tuple
    residual: float  # ||delta||^2, of k(x, .) or of the difference of two classes' functions
    projected_square: float
    added: bool


def record(learner, kernel, X, y, n_classes=None, block_size=256, **options):
    """Run the learner; return it as a member of its group, and its updates."""
    updates, original = [], learner.update

    def update(f, *told):
        at = told[:2] if learner.task == "multiclass" else ()
        residual = f.residual(*at) if at else f.residual
        square = f.projected_square(*at) if at else f.projected_square
        size = f.size
        original(f, *told)
        updates.append(Update(f.now - 1, f.mistaken, told, residual, square, f.size > size))

    learner.update = update
    group = Group(kernel, [learner], n_classes=n_classes, **options)
    for start in range(0, len(y), block_size):
        group.feed(X[start : start + block_size], y[None, start : start + block_size])
    return group.members[0], updates


def two_moons(T=400, noise=0.02, seed=5):
    rng = np.random.default_rng(seed)
    y = rng.choice([-1, 1], T)
    angle = rng.uniform(0, np.pi, T)
    X = np.stack([np.cos(angle) * y - 0.5 * y, np.sin(angle) * y], axis=1) + 0.1 * rng.normal(size=(T, 2))
    return X, np.where(rng.random(T) < noise, -y, y)


def coded(T=300, seed=6):
    """Examples around a centre for each class; some labels are wrong."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(N_CLASSES, size=T)
    angle = 2 * np.pi * codes / N_CLASSES
    X = 2 * np.stack([np.cos(angle), np.sin(angle)], axis=1) + 0.5 * rng.normal(size=(T, 2))
    return X, np.where(rng.random(T) < 0.03, rng.integers(N_CLASSES, size=T), codes)


def real_prefix(name, T=600, **given):
    stream = open_stream(DatasetSpec(name=name, scale="unit_norm", n_examples=T, **given), 0, 0)
    X = floats(stream.X)
    X = X.toarray() if sp.issparse(X) else X
    return X.astype(np.float64), stream.tasks["-"].astype(int)


BINARY = {
    "random": (random_stream, GAUSSIAN),
    "two moons": (two_moons, kernels.Gaussian(gamma=2.0)),
    "duplicated": (STREAMS["duplicated"], GAUSSIAN),
    "a9a": (lambda: real_prefix("a9a"), kernels.Gaussian(gamma=1.0)),
    "ijcnn1": (lambda: real_prefix("ijcnn1"), kernels.Gaussian(gamma=8.0)),
    "phishing": (lambda: real_prefix("phishing"), kernels.Linear()),
}
SEVERAL = {
    "coded": (coded, GAUSSIAN),
    "usps": (lambda: real_prefix("usps", task="multiclass"), kernels.Gaussian(gamma=1.0)),
}
REAL = ("a9a", "ijcnn1", "phishing", "usps")


def marked(streams):
    return [pytest.param(name, marks=[real, pytest.mark.realdata] if name in REAL else []) for name in streams]


@pytest.fixture(scope="module")
def streams():
    """Streams and their Gram matrices, made once."""
    known = {}

    def get(name):
        if name not in known:
            make, kernel = (BINARY | SEVERAL)[name]
            X, y = make()
            known[name] = X, y, kernel, kernel.between(X, X)
        return known[name]

    return get


# -- competitors -----------------------------------------------------------------------------------------------------


def binary_competitors(K, y, runs):
    """Yield g as its values on the stream, g(x_t), and its norm; not scaled."""
    weights = [np.linalg.solve(K + ridge * np.eye(len(y)), y) for ridge in (0.1, 10.0)]
    for C in (0.1, 10.0):
        machine = SVC(C=C, kernel="precomputed").fit(K, y)
        # Without its intercept it is a function of the space still, if a worse one.
        dual = np.zeros(len(y))
        dual[machine.support_] = machine.dual_coef_[0]
        weights.append(dual)
    for member in runs:
        f = member.hypothesis
        for coef in (f.coef, (1 - (f.rounds + 1) / len(y)) * f.coef):
            own = np.zeros(len(y))
            own[f.rounds] = coef
            weights.append(own)
    for w in weights:
        yield K @ w, math.sqrt(w @ K @ w)


def scaled(competitors, largest):
    """Yield (values, norm) of each competitor at several norms below ``largest``."""
    for values, norm in competitors:
        for share in (0.01, 0.1, 0.3, 0.6, 0.9):
            factor = share * largest / norm
            yield factor * values, share * largest
        if norm < largest:
            yield values, norm


def gain(updates, losses, eta):
    """B of Theorems 4 and 6, with tau from its definition below Theorem 4; the learner sums it up itself."""
    B = 0.0
    for u in updates:
        if u.mistaken:
            continue
        loss, lost = losses(u), math.sqrt(u.residual) / eta
        tau = min(loss / u.projected_square, 2 * (loss - lost) / u.projected_square, 1.0)
        beta = tau * (2 * loss - tau * u.projected_square - 2 * lost)
        assert 0 < tau <= 1
        # Positive in the theorem, where tau is below the second bound; the algorithm takes it up to that.
        assert beta >= -1e-9
        B += beta
    return B


# -- mistake bounds --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", marked(BINARY))
@pytest.mark.parametrize(
    ("eta", "threshold"), [(0.0, "distance"), (0.1, "distance"), (0.5, "distance"), (0.1, "squared_distance")]
)
def test_projectron_theorem_3(streams, name, eta, threshold):
    X, y, kernel, K = streams(name)
    member, _ = record(find("projectron")(eta=eta, threshold=threshold), kernel, X, y)
    perceptron = Group(kernel, [find("perceptron")()])
    perceptron.feed(X, y[None])
    # What the proof uses is that a projection moves k(x, .) by eta at most.
    reach = eta if threshold == "distance" else math.sqrt(eta)
    assert reach_of(member.learner) == pytest.approx(reach)
    largest = min(1 / reach, 50.0) if reach else 50.0
    bounds = [
        float(projectron_bound(norm, np.maximum(0, 1 - y * values).sum(), reach))
        for values, norm in scaled(binary_competitors(K, y, perceptron.members), largest)
    ]
    assert member.count.mistakes <= min(bounds) + 1e-6
    # The bound is not trivial: it is below the number of rounds.
    if name in ("two moons", "a9a", "phishing") and eta <= 0.1 and threshold == "distance":
        assert min(bounds) < len(y)


def test_projectron_theorem_3_is_tight_on_orthogonal_examples():
    X, y = np.eye(30), np.ones(30, dtype=int)
    # g = sum of all examples: norm^2 30, no loss; the bound is 30 mistakes.
    for name, multiclass in (("projectron", False), ("projectron", True)):
        learner = find(name, task=TASKS[multiclass])(eta=0.0)
        assert run(learner, kernels.Linear(), X, y, n_classes=2 if multiclass else None).mistakes == 30
    assert projectron_bound(math.sqrt(30), 0.0, 0.0) == pytest.approx(30)


@pytest.mark.parametrize("name", marked(BINARY))
@pytest.mark.parametrize("eta", [0.05, 0.1, 0.5])
def test_projectron_pp_theorem_4(streams, name, eta):
    X, y, kernel, K = streams(name)
    member, updates = record(find("projectron++")(eta=eta), kernel, X, y)
    perceptron = Group(kernel, [find("perceptron")()])
    perceptron.feed(X, y[None])
    B = gain(updates, lambda u: 1 - u.told[0] * u.told[1], eta)
    assert member.learner.facts(member.hypothesis) == {"gain": pytest.approx(B, abs=1e-9)}
    bounds, without = [], []
    for values, norm in scaled(binary_competitors(K, y, perceptron.members), 1 / eta):
        loss = np.maximum(0, 1 - y * values).sum()
        bounds.append(float(projectron_bound(norm, loss, eta, B)))
        without.append(float(projectron_bound(norm, loss, eta)))
    assert member.count.mistakes <= min(bounds) + 1e-6
    assert min(bounds) <= min(without)
    # The other two have no example so near to the others that its projection would pay.
    assert B > 0 or name in ("a9a", "ijcnn1")


def multiclass_competitors(K, L, codes, runs):
    """Yield g(x_t, c), shape (n_classes, T), and its norm; not scaled."""
    targets = np.where(codes == np.arange(len(L))[:, None], 1.0, -1.0 / (len(L) - 1))
    weights = [np.linalg.solve(K + ridge * np.eye(len(codes)), targets.T).T for ridge in (0.1, 10.0)]
    for member in runs:
        f = member.hypothesis
        for coef in (f.coef, (1 - (f.rounds + 1) / len(codes)) * f.coef):
            own = np.zeros((len(L), len(codes)))
            own[:, f.rounds] = coef
            weights.append(own)
    for w in weights:
        yield L @ w @ K, math.sqrt(np.einsum("ct,ce,es,ts->", w, L, w, K, optimize=True))


@pytest.mark.parametrize("name", marked(SEVERAL))
@pytest.mark.parametrize(("labels", "eta"), paired(["apart", "connected", "mistakes only"], [0.05, 0.3]))
def test_several_classes_theorem_6(streams, name, labels, eta):
    X, codes, kernel, K = streams(name)
    m = int(codes.max()) + 1
    # ||k((x, y), .)|| <= 1/2: K(y, y) = 1/4, and k(x, x) = 1.
    L = np.eye(m) / 4 if labels != "connected" else (0.3 + 0.7 * np.eye(m)) / 4
    if labels == "mistakes only":
        # On mistakes f's scale does not matter: with K = I this is the learner for K = I / 4 and half of its eta.
        member, _ = record(find("projectron", task="multiclass")(eta=2 * eta), kernel, X, codes, m)
        B = 0.0
    else:
        learner = MulticlassProjectronPlusPlus.of(L, eta=eta)
        member, updates = record(learner, kernel, X, codes, m)
        B = gain(updates, lambda u: 1 - u.told[2], eta)
        assert member.learner.facts(member.hypothesis) == {"gain": pytest.approx(B, abs=1e-9)}
    perceptron = Group(kernel, [find("perceptron", task="multiclass")()], n_classes=m)
    perceptron.feed(X, codes[None])
    bounds, at = [], np.arange(len(codes))
    for values, norm in scaled(multiclass_competitors(K, L, codes, perceptron.members), 1 / eta):
        others = values.copy()
        others[codes, at] = -np.inf
        loss = np.maximum(0, 1 - values[codes, at] + others.max(axis=0)).sum()
        bounds.append(float(projectron_bound(norm, loss, eta, B)))
    assert member.count.mistakes <= min(bounds) + 1e-6
    if name == "coded" and eta < 0.1:
        assert min(bounds) < len(codes)


def theorem_7(loss, gamma, lost, C, *, published):
    """The right-hand side for g of norm 1 with this loss at the margin gamma."""
    return float(alma_bound(1 / gamma, loss / gamma, lost, C, published=published))


ALMAS = [{}, {"alpha": 1.0, "C": 1.0}, {"alpha": 0.9}]


@pytest.mark.parametrize("name", marked(BINARY))
@pytest.mark.parametrize(
    ("threshold", "given"),
    paired([(0.0, "example"), (0.02, "example"), (0.1, "example"), (0.02, "hypothesis")], ALMAS),
    ids=str,
)
def test_projected_alma_theorem_7(streams, name, threshold, given):
    eta, delta = threshold
    X, y, kernel, K = streams(name)
    learner = find("projected_alma")(eta=eta, delta=delta, **given)
    member, updates = record(learner, kernel, X, y)
    # The proof needs what a projection loses of k(x, .) itself. The text's delta = f' - f'' is that times the step,
    # C / sqrt(k): there the bound is for the most that was lost of an example in this run, which may be above eta.
    lost = max([math.sqrt(u.residual) for u in updates if not u.added], default=0.0)
    if (K.diagonal() == 1).all():
        assert learner.facts(member.hypothesis) == {"lost": pytest.approx(lost)}
    if delta == "example":
        assert lost <= eta + 1e-4
        lost = eta
    perceptron = Group(kernel, [find("perceptron")()])
    perceptron.feed(X, y[None])
    bounds = {True: [math.inf], False: [math.inf]}
    for values, norm in binary_competitors(K, y, perceptron.members):
        margins = y * values / norm
        for gamma in (*np.quantile(margins, [0.1, 0.5, 0.9]), 0.3, 1.0):
            if gamma > lost:
                loss = np.maximum(0, gamma - margins).sum()
                for published in bounds:
                    bounds[published].append(theorem_7(loss, gamma, lost, learner.C, published=published))
    assert member.count.mistakes <= min(bounds[False]) + 1e-6
    assert min(bounds[False]) <= min(bounds[True])
    # No projection exceeds what the text allows.
    assert all(u.residual * learner.C**2 / k <= eta**2 + 1e-8 for k, u in enumerate(updates, 1) if not u.added)


def test_theorem_7_is_not_for_a_distance_that_includes_the_step():
    """The text's delta = f' - f'' shrinks with the step, until all is projected and nothing is learned any more."""
    T = 100
    X = np.vstack([np.eye(26)[:25], np.repeat(np.eye(26)[25:], T, axis=0)])
    y = np.ones(T + 25, dtype=int)
    member, _ = record(find("projected_alma")(eta=0.2, alpha=1.0, C=1.0), kernels.Linear(), X, y)
    # g is the last example: its margin is 1 from round 26 on, its loss 1 before.
    assert member.count.mistakes == T + 25
    assert theorem_7(25.0, 1.0, 0.2, 1.0, published=True) < 50
    proved, _ = record(find("projected_alma")(eta=0.2, alpha=1.0, C=1.0, delta="example"), kernels.Linear(), X, y)
    assert proved.count.mistakes == 26


# -- the support set -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["projectron", "projectron++"])
def test_support_set_is_no_larger_than_a_packing(name):
    """Theorem 1, where a packing number is known: points in a square, so far apart that discs are disjoint."""
    eta, gamma = 0.4, 3.0
    rng = np.random.default_rng(0)
    X, y = rng.random((6000, 2)), rng.choice([-1, 1], 6000)
    member, updates = record(find(name)(eta=eta), kernels.Gaussian(gamma=gamma), X, y)
    points = X[member.hypothesis.rounds]
    # ||k(a, .) - k(b, .)||^2 = 2 - 2 exp(-gamma ||a - b||^2) > eta^2
    apart = math.sqrt(-math.log(1 - eta**2 / 2) / gamma)
    distances = np.linalg.norm(points[:, None] - points, axis=2)[~np.eye(len(points), dtype=bool)]
    assert distances.min() > apart
    assert len(points) <= (1 + apart) ** 2 / (math.pi * apart**2 / 4)
    assert max(u.t for u in updates if u.added) < 3000
    assert member.count.mistakes > 1000


def lost_by_definition(kernel, X, rounds):
    """||delta||^2 of each support example with respect to those before it: the squared pivots of the Gram matrix."""
    K = kernel.between(X[rounds], X[rounds])
    return np.linalg.cholesky(K).diagonal() ** 2


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("stream", STREAMS)
@pytest.mark.parametrize(
    ("name", "given", "least"),
    [
        ("projectron", {"eta": 0.1}, 0.01),
        ("projectron", {"eta": 0.1, "threshold": "squared_distance"}, 0.1),
        ("projectron++", {"eta": 0.3}, 0.09),
        ("projectron++", {"eta": 0.3, "threshold": "squared_distance"}, 0.3),
    ],
)
def test_every_support_example_was_far_enough_from_the_others(name, given, least, stream, dtype):
    X, y = STREAMS[stream]()
    member, updates = record(find(name)(**given), GAUSSIAN, X, y, dtype=dtype)
    rounding = 1e-9 if dtype == "float64" else 2e-4
    assert min(lost_by_definition(GAUSSIAN, X, member.hypothesis.rounds)) > least - rounding
    assert all(u.residual > least for u in updates if u.added)
    assert all(u.residual <= least + rounding for u in updates if u.mistaken and not u.added)


@pytest.mark.parametrize("name", ["projectron", "projectron++"])
def test_every_pair_of_several_classes_was_far_enough(name):
    X, codes = coded()
    member, updates = record(find(name, task="multiclass")(eta=0.3), GAUSSIAN, X, codes, N_CLASSES)
    assert all(u.residual > 0.09 for u in updates if u.added)
    assert all(u.residual <= 0.09 + 1e-9 for u in updates if u.mistaken and not u.added)
    f = member.hypothesis
    for weights in f.coef:
        # No example of a class lies in the span of the earlier ones.
        assert min(lost_by_definition(GAUSSIAN, X, f.rounds[weights != 0])) > 1e-9


@pytest.fixture(scope="module")
def near_duplicates():
    """A long stream that repeats few points, exactly or with jitter of every difficult size."""
    rng = np.random.default_rng(0)
    T, points = 300_000 if EXHAUSTIVE else 60_000, rng.uniform(-1, 1, size=(40, 2))
    at = rng.integers(40, size=T)
    X = points[at] + rng.normal(size=(T, 2)) * rng.choice([0, 1e-9, 1e-7, 1e-5, 1e-3], T)[:, None]
    y = rng.choice([-1, 1], 40)[at]
    return X, np.where(rng.random(T) < 0.002, -y, y)


@pytest.mark.parametrize("name", ["projectron", "projectron++"])
def test_long_stream_of_near_duplicates(near_duplicates, monkeypatch, name):
    X, y = near_duplicates
    kernel, lowest, settle = kernels.Gaussian(gamma=4.0), [], projection.settle

    def watched(residuals, squares, rounding, text):
        lowest.append((residuals / squares).min(initial=0.0))
        settle(residuals, squares, rounding, text)

    monkeypatch.setattr(projection, "settle", watched)
    group = Group(kernel, [find(name)(eta=1e-3)])
    for start in range(0, len(y), 256):
        group.feed(X[start : start + 256], y[None, start : start + 256])
    f = group.members[0].hypothesis
    assert 40 < f.size < 200
    # Values up to 1e-9 count as 0; none is below -1e-9.
    assert min(lowest) > -2e-9
    alpha, S = f.coef, X[f.rounds]
    assert f.norm_sq == pytest.approx(alpha @ kernel.between(S, S) @ alpha, rel=1e-6)
    points = np.random.default_rng(1).uniform(-1, 1, size=(200, 2))
    direct = np.array([sum(alpha * np.exp(-4.0 * ((S - x) ** 2).sum(axis=1))) for x in points])
    np.testing.assert_allclose(f.score(points), direct, atol=1e-6 * np.abs(direct).max())
    # Its predictions, too: they are computed from coordinates, not from weights.
    np.testing.assert_allclose(group.feed(points[:1], np.array([[1]]))[0], direct[:1], atol=1e-6 * np.abs(direct).max())


# -- other ways to compute the same ----------------------------------------------------------------------------------


def norm_sq(f, K):
    """||f||^2 from the weights."""
    held = f.rounds
    return float(f.coef @ K[np.ix_(held, held)] @ f.coef)


@pytest.mark.parametrize("stream", STREAMS)
@pytest.mark.parametrize(
    ("name", "given"), [("projectron", {"eta": 0.1}), ("projectron++", {"eta": 0.1}), ("projected_alma", {"eta": 0.05})]
)
def test_norm_is_that_of_the_weights(name, given, stream):
    X, y = STREAMS[stream]()
    K, seen = GAUSSIAN.between(X, X), []
    learner = find(name)(**given)
    group = Group(GAUSSIAN, [learner], watch=lambda i, t: seen.append((f.norm_sq, norm_sq(f, K))))
    f = group.members[0].hypothesis
    group.feed(X, y[None])
    kept, computed = np.transpose(seen)
    np.testing.assert_allclose(kept, computed, rtol=1e-7, atol=1e-7)
    if name == "projected_alma":
        assert max(kept) <= 1 + 1e-9


WELL_CONDITIONED = [
    ("random", kernels.Linear()),
    ("random", kernels.Polynomial(degree=2)),
    ("duplicated", GAUSSIAN),
    ("tied", kernels.Gaussian(gamma=2.0)),
    ("far", kernels.Gaussian(gamma=2.0)),
]


@pytest.mark.parametrize(("stream", "kernel"), WELL_CONDITIONED, ids=str)
@pytest.mark.parametrize("several", [False, True])
def test_without_a_threshold_it_is_the_perceptron(stream, kernel, several):
    X, y = STREAMS[stream]()
    if several:
        y = np.random.default_rng(7).integers(N_CLASSES, size=len(y))
    learners = [find("perceptron", task=TASKS[several])(), find("projectron", task=TASKS[several])(eta=0.0)]
    group = Group(kernel, learners, n_classes=N_CLASSES if several else None)
    full, short = group.feed(X, y[None])
    perceptron, projectron = group.members
    if stream == "far":
        # Some scores are so small that the projected learner takes them for 0: compare up to the first such round.
        tiny = np.abs(full).max(axis=0) if several else np.abs(full)
        until = next((t for t in range(1, len(y)) if tiny[t] < 1e-8), len(y))
        np.testing.assert_allclose(short[..., :until], full[..., :until], atol=1e-8)
        return
    assert projectron.count.mistakes == perceptron.count.mistakes
    np.testing.assert_allclose(short, full, atol=1e-8 * max(1.0, np.abs(full).max()))
    assert projectron.hypothesis.size < perceptron.hypothesis.size


AVERAGED = {
    **{i: (False, find(name, variant), given) for i, name, variant, given, _ in all_cases()},
    **{
        f"multiclass-{i}": (True, find(n, v, "multiclass"), given)
        for i, n, v, given, _ in all_cases("MULTICLASS_CASES")
    },
    "structured": (True, find("projectron++", task="multiclass"), {"eta": 0.3, "hierarchy": "(0 (2 3)) 1 4"}),
}
AVERAGED = {i: case for i, case in AVERAGED.items() if case[1].averages()}


@pytest.mark.parametrize("case_id", AVERAGED)
def test_averaged_hypothesis_is_the_mean_of_those_that_predicted(case_id):
    several, make, given = AVERAGED[case_id]
    X, y = random_stream(T=120)
    if several:
        y = np.random.default_rng(7).integers(N_CLASSES, size=len(y))
    points = np.random.default_rng(5).normal(size=(6, 2))
    K = GAUSSIAN.between(X, points)
    for block_size in (7, 50):
        learner, scores = make(**given), {}
        L = learner.label_kernel if getattr(learner, "label_kernel", None) is not None else np.eye(N_CLASSES)

        def watch(i, t, scores=scores, L=L):
            f = group.members[i].hypothesis  # noqa: B023 (of this run)
            values = f.coef @ K[f.rounds]
            scores[t] = L @ values if several else values

        group = Group(GAUSSIAN, [learner], n_classes=N_CLASSES if several else None, watch=watch)
        for start in range(0, len(y), block_size):
            group.feed(X[start : start + block_size], y[None, start : start + block_size])
        now, total = 0.0, np.zeros((N_CLASSES, 6) if several else 6)
        for t in range(len(y)):
            total += now  # round t predicts with what the rounds before it left
            now = scores.get(t, now)
        f = group.members[0].hypothesis
        np.testing.assert_allclose(f.score(points, averaged=True), total / len(y), rtol=1e-8, atol=1e-9)
        np.testing.assert_allclose(f.score(points), now + np.zeros_like(total), rtol=1e-8, atol=1e-9)


# -- kernels without projections -------------------------------------------------------------------------------------


class Parabola(Kernel):
    """A function of ||a - b||^2 that is no kernel."""

    name = "parabola"
    of_distance = True

    @property
    def numbers(self):
        return ()

    def formula(self, s):
        return 1 - s


class Sigmoid(Kernel):
    """A function of <a, b> that is no kernel."""

    name = "sigmoid"

    @property
    def numbers(self):
        return ()

    def formula(self, s):
        return np.tanh(s - 1)


@pytest.mark.parametrize("kernel", [Parabola(), Sigmoid()], ids=str)
@pytest.mark.parametrize(
    ("name", "several"),
    [
        *((name, several) for name in ("projectron", "projectron++") for several in (False, True)),
        ("projected_alma", False),
    ],
)
def test_kernel_that_is_not_positive_definite_is_named(kernel, name, several):
    X, y = random_stream()
    labels = (y + 1) // 2 if several else y
    learner = find(name, task=TASKS[several])(eta=0.1)
    with pytest.raises(FloatingPointError, match=f"the {kernel.name} kernel is not positive definite on this data"):
        run(learner, kernel, X, labels, n_classes=2 if several else None)


@pytest.mark.parametrize("name", ["projectron", "projectron++"])
def test_overflow_of_a_polynomial_is_named(name):
    cubic = kernels.Polynomial(degree=3)
    X, y = random_stream()
    for multiclass, labels in ((False, y), (True, (y + 1) // 2)):
        given = {"n_classes": 2 if multiclass else None}
        with pytest.raises(FloatingPointError, match=r"the polynomial.* kernel overflows float64 on this data"):
            run(find(name, task=TASKS[multiclass])(eta=0.1), cubic, 1e60 * X, labels, **given)
        # Large values that do not overflow are no reason to stop.
        run(find(name, task=TASKS[multiclass])(eta=0.1), cubic, 1e40 * X, labels, **given)
