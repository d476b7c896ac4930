"""What the theorems of the Projectron paper say about runs and need of them.

Theorem numbers are those of Orabona, Keshet & Caputo (2009), JMLR 10.
"""

import math
from dataclasses import dataclass

import numpy as np
import pytest
from cases import EXHAUSTIVE, STREAMS, TASKS, fed, paired, random_stream

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
    fed(group, X, y[None], block_size)
    return group.members[0], updates


def coded(T=300, seed=6):
    """Examples around a centre for each class; some labels are wrong."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(N_CLASSES, size=T)
    angle = 2 * np.pi * codes / N_CLASSES
    X = 2 * np.stack([np.cos(angle), np.sin(angle)], axis=1) + 0.5 * rng.normal(size=(T, 2))
    return X, np.where(rng.random(T) < 0.03, rng.integers(N_CLASSES, size=T), codes)


BINARY = {"random": (random_stream, GAUSSIAN), "duplicated": (STREAMS["duplicated"], GAUSSIAN)}


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
    fed(group, X, y[None], 256)
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
