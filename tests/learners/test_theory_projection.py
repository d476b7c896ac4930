"""What the theorems of the Projectron paper say about runs and need of them; its references against linear algebra.

Theorem numbers are those of Orabona, Keshet & Caputo (2009), JMLR 10.
"""

import math
from dataclasses import dataclass

import numpy as np
import pytest
from cases import EXHAUSTIVE, STREAMS, TASKS, paired, random_stream
from reference import kernel_expansion
from reference.alma import alma
from reference.projected_alma import projected_alma
from reference.projection import Basis, gram
from reference.structured_projectron_pp import structured_projectron_pp

from budgetrun import kernels
from budgetrun.engine import Group, run
from budgetrun.engine.hypotheses import projected as projection
from budgetrun.kernels import Kernel
from budgetrun.learners import find
from budgetrun.learners.projectron_pp import MulticlassProjectronPlusPlus
from budgetrun.papers.theory.projectron import alma_bound

GAUSSIAN = kernels.Gaussian(gamma=0.5)
N_CLASSES = 5


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


def coded(T=300, seed=6):
    """Examples around a centre for each class; some labels are wrong."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(N_CLASSES, size=T)
    angle = 2 * np.pi * codes / N_CLASSES
    X = 2 * np.stack([np.cos(angle), np.sin(angle)], axis=1) + 0.5 * rng.normal(size=(T, 2))
    return X, np.where(rng.random(T) < 0.03, rng.integers(N_CLASSES, size=T), codes)


BINARY = {
    "random": (random_stream, GAUSSIAN),
    "duplicated": (STREAMS["duplicated"], GAUSSIAN),
}


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


# -- what the mistake bounds need ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("eta", [0.05, 0.1, 0.5])
def test_the_gain_of_theorem_4_is_counted_as_the_paper_defines_it(name, eta):
    make, kernel = BINARY[name]
    member, updates = record(find("projectron++")(eta=eta), kernel, *make())
    B = gain(updates, lambda u: 1 - u.told[0] * u.told[1], eta)
    assert member.learner.facts(member.hypothesis) == {"gain": pytest.approx(B, abs=1e-9)}
    assert B > 0


@pytest.mark.parametrize(("labels", "eta"), paired(["apart", "connected"], [0.05, 0.3]))
def test_the_gain_of_theorem_6_is_counted_as_the_paper_defines_it(labels, eta):
    # ||k((x, y), .)|| <= 1/2: K(y, y) = 1/4, and k(x, x) = 1.
    L = np.eye(N_CLASSES) / 4 if labels == "apart" else (0.3 + 0.7 * np.eye(N_CLASSES)) / 4
    member, updates = record(MulticlassProjectronPlusPlus.of(L, eta=eta), GAUSSIAN, *coded(), N_CLASSES)
    B = gain(updates, lambda u: 1 - u.told[2], eta)
    assert member.learner.facts(member.hypothesis) == {"gain": pytest.approx(B, abs=1e-9)}


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize(
    ("threshold", "given"),
    paired(
        [(0.0, "example"), (0.02, "example"), (0.1, "example"), (0.02, "hypothesis")],
        [{}, {"alpha": 1.0, "C": 1.0}, {"alpha": 0.9}],
    ),
    ids=str,
)
def test_what_projected_alma_loses_of_an_example(name, threshold, given):
    (eta, delta), (make, kernel) = threshold, BINARY[name]
    learner = find("projected_alma")(eta=eta, delta=delta, **given)
    _, updates = record(learner, kernel, *make())
    # The proof needs what a projection loses of k(x, .) itself. The text's delta = f' - f'' is that times the step,
    # C / sqrt(k): then the most that was lost of an example may be above eta.
    lost = max([math.sqrt(u.residual) for u in updates if not u.added], default=0.0)
    assert learner.facts(None) == {"lost": pytest.approx(lost)}
    assert delta == "hypothesis" or lost <= eta + 1e-4
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
    assert alma_bound(1.0, 25.0, 0.2, 1.0, published=True) < 50
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
@pytest.mark.parametrize(("name", "several"), [
    *((name, several) for name in ("projectron", "projectron++") for several in (False, True)),
    ("projected_alma", False),
])  # fmt: skip
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


KERNELS = {
    "gaussian": kernel_expansion.gaussian(0.5),
    "linear": kernel_expansion.linear(),
    "polynomial": kernel_expansion.polynomial(2, 0.5, 1.0),
}

N_LABELS = 5


def classes_of(stream, seed=7):
    """A stream of the same examples with codes 0..4: those of the random one in groups, else drawn."""
    X, y = STREAMS[stream]()
    codes = np.random.default_rng(seed).integers(N_LABELS, size=len(y))
    if stream == "random":
        X = X + np.array([[0, 0], [2, 0], [0, 2], [-2, 0], [0, -2]])[codes]
    return X, codes


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("stream", STREAMS)
def test_recursive_inverse_is_the_inverse(stream, kernel):
    X, _ = STREAMS[stream]()
    k = KERNELS[kernel]
    K = gram(X, k)
    S = Basis()
    for t in range(len(X)):
        k_t, k_tt = K[S.members, t], K[t, t]
        d, square, residual = S.project(k_t, k_tt)
        if S.members and t % 10 == 0:
            exact = np.linalg.solve(K[np.ix_(S.members, S.members)], k_t)
            np.testing.assert_allclose(d, exact, rtol=1e-6, atol=1e-6)
            assert square == pytest.approx(k_t @ exact, rel=1e-8, abs=1e-10)
        # Before clipping, it is below zero by rounding at most.
        assert k_tt - square >= -1e-9 * max(1, k_tt)
        if residual > 1e-3 * k_tt:
            S.add(t, k_t, k_tt)
    inverse = np.linalg.inv(K[np.ix_(S.members, S.members)])
    np.testing.assert_allclose(S.inverse.astype(float), inverse, rtol=1e-8, atol=1e-10 * np.abs(inverse).max())


def test_label_kernel_shares_what_is_learnt():
    """Labels that the label kernel does not distinguish have equal scores, which is a mistake for both."""
    X, codes = classes_of("random")
    alike = np.eye(N_LABELS)
    alike[:2, :2] = 1
    trace = structured_projectron_pp(X, codes, KERNELS["gaussian"], N_LABELS, 0.1, label_kernel=alike)
    scores = np.array(trace.scores)
    np.testing.assert_allclose(scores[:, 0], scores[:, 1], atol=1e-9)
    assert all(m for m, c in zip(trace.mistakes, codes, strict=True) if c < 2)


# Not on the far stream: there scores are tiny. ALMA calls one 0 if its own terms cancel, the projected version if it is
# below 1e-9, and the two part on scores between.
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("stream", ["duplicated", "tied"])
def test_projected_alma_without_a_threshold_is_alma(stream, kernel):
    X, y = STREAMS[stream]()
    full = alma(X, y, KERNELS[kernel], alpha=0.9, B=1.0, C=math.sqrt(1.01) - 0.1)
    short = projected_alma(X, y, KERNELS[kernel], eta=0.0, alpha=0.9, B=1.0, C=math.sqrt(1.01) - 0.1)
    assert short.mistakes == full.mistakes
    assert short.updates == full.updates
    np.testing.assert_allclose(short.scores, full.scores, atol=1e-8)
