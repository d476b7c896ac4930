"""Statements of the papers that no finished run can be checked against; a learner with a defect violates its bound."""

import math
from itertools import pairwise

import numpy as np
import pytest
from cases import all_cases, random_stream
from papers.solvers.conftest import separable
from playing import competitors, play, verdicts
from reference import mpu as reference

from budgetrun import kernels
from budgetrun.engine import Group, score
from budgetrun.kernels import Gaussian, Linear, squares
from budgetrun.learners import find, forgetron
from budgetrun.learners.pomdr import _WINDOW
from budgetrun.papers.solvers.mpu import MarginPerceptronWithUnlearning as MPU

# -- Dekel, Shalev-Shwartz & Singer (2008), section 2 ------------------------------------------------------------------

MERGING = {"merging", "lookup_h", "lookup_wd"}
BUDGETED = {(name, variant): given for _, name, variant, given, _ in all_cases() if "budget" in given}
# These need another kernel than the linear one of the statement.
BUDGETED = {key: given for key, given in BUDGETED.items() if key[0] != "dualsgd" and key[1] not in MERGING}
# Its members without a kernel hold no examples.
del BUDGETED["auto", None]


@pytest.mark.parametrize(("name", "variant"), BUDGETED, ids=lambda part: part or "")
def test_every_budget_errs_always_on_one_example_more(name, variant):
    """On every round the B + 1 unit vectors have one that is orthogonal to all that is held; the label is always +1."""
    B, T = 20, 80
    learner = find(name, variant)(**BUDGETED[name, variant] | {"budget": B})
    # The hint of POMDR reads more examples than those of its budget.
    n = B + 1 + (_WINDOW if name == "pomdr" else 0)
    examples, group, shown = np.eye(n), Group(Linear(), [learner]), []
    for t in range(T):
        scores = score(group.members[0], examples) if t else np.zeros(n)
        shown.append(int(np.abs(scores).argmin()))
        assert scores[shown[-1]] == 0
        group.feed(examples[shown[-1:]], np.array([[1]]))
    assert group.members[0].count.mistakes == T
    assert group.members[0].count.max_support <= B
    # The sum of the vectors, of the norm sqrt(B + 1), has no loss.
    assert (examples[shown] @ examples.sum(axis=0) == 1).all()


# -- Sutskever (2009), Lemma 1 -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("drift", [0.0, 0.002])
def test_lemma_1_of_sutskever(drift):
    """The simplified Forgetron descends the regularized hinge losses of its mistakes; the error is what it removes."""
    rng = np.random.default_rng(3)
    T, B = 1500, 40
    angle = drift * np.arange(T)
    concepts = np.stack([np.cos(angle), np.sin(angle), np.zeros(T)], axis=1)
    X = rng.normal(size=(T, 3))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    y = np.where((X * concepts).sum(axis=1) + 0.3 * rng.normal(size=T) > 0, 1, -1)
    learner = find("forgetron", "simplified")(budget=B, step=0.25, radius=1.5, regulariser=0.5)
    group, w, steps = Group(Linear(), [learner]), np.zeros(3), []
    for t in range(T):
        before = group.members[0].count.mistakes
        group.feed(X[t : t + 1], y[None, t : t + 1])
        if group.members[0].count.mistakes > before:
            f = group.members[0].hypothesis
            after = f.coef @ f.support_set
            steps.append((t, w, after))
            w = after
    eta, lam, U = learner.step, learner.regulariser, 2 * learner.radius
    # f_i(w) = max(0, 1 - y <w, x>) + lambda ||w||^2 / 2, and the gradient that the step amounts to.
    gradients = [(before - after) / eta for _, before, after in steps]
    exact = [lam * before - y[t] * X[t] for t, before, _ in steps]
    errors = [g - e for g, e in zip(gradients, exact, strict=True)]
    # No step was projected: the error is the removed example, shrunk at least B - 1 times since it was added.
    assert all(np.linalg.norm(after) < learner.radius * (1 - 1e-9) for *_, after in steps)
    assert max(map(np.linalg.norm, errors)) <= (1 - eta * lam) ** B * (1 + 1e-9)
    assert max(map(np.linalg.norm, errors)) > 0
    G, E = max(map(np.linalg.norm, gradients)), math.fsum(map(np.linalg.norm, errors))

    def loss(t, w):
        return max(0.0, 1 - y[t] * (X[t] @ w)) + lam * (w @ w) / 2

    regrets = []
    for length in (0.0, 0.3, 0.8, learner.radius):
        compared = [length * concepts[t] for t, *_ in steps]
        S = math.fsum(np.linalg.norm(a - b) for a, b in pairwise(compared))
        regret = math.fsum(loss(t, before) - loss(t, v) for (t, before, _), v in zip(steps, compared, strict=True))
        M = len(steps)
        assert regret <= U**2 / (2 * eta) + 3 * U * S / (2 * eta) + M * eta * G**2 / 2 + U * E
        regrets.append(regret)
    assert M > 2 * B
    assert max(regrets) > 0


# -- Liao et al. (2024), Theorems 3 and 5 ------------------------------------------------------------------------------


@pytest.mark.parametrize(("U", "epsilon"), [(None, 0.55), (None, 0.9), (0.8, 0.55), (3.0, 0.9)])
def test_theorem_3_of_liao(U, epsilon):
    """The sum of the theorem, and eq. (12), of which it is made, round by round; against any competitor in the ball."""
    X, y = random_stream(T=300)
    kernel, rng, margins, W = Gaussian(gamma=0.5), np.random.default_rng(0), [], [np.zeros(len(y))]
    learner = find("avp")(epsilon=epsilon, U=U)
    update = learner.update

    def recorded(f, label, score):
        update(f, label, score)
        margins.append(label * score)
        W.append(np.zeros(len(y)))
        W[-1][f.rounds] = f.coef
        steps.append(1.0 if U is None else U / math.sqrt(U**2 + learner.misses))
        rounds.append(f.now - 1)

    steps, rounds, learner.update = [], [], recorded
    Group(kernel, [learner]).feed(X, y[None])
    K, margins, steps, W = kernel.between(X, X), np.array(margins), np.array(steps), np.array(W)
    missed = margins <= 0
    for competitor in (W[-1], y / 9, rng.normal(size=len(y)), np.zeros(len(y))):
        norm = math.sqrt(competitor @ K @ competitor)
        w = competitor if U is None else competitor * min(1.0, U / max(norm, 1e-9))
        left, losses = W - w, np.maximum(0, 1 - y * (K @ w))
        delta = -np.diff(np.einsum("ut,ut->u", left @ K, left))
        assert (1 - margins - losses[rounds] <= delta / (2 * steps) + steps / 2 + 1e-7).all()
        right = (delta / (2 * steps)).sum() + (steps[missed] / 2).sum() + (steps[~missed] / 2 - epsilon).sum()
        assert missed.sum() - losses.sum() <= right + 1e-6


@pytest.mark.parametrize("gamma", [0.1, 1.0])
def test_theorem_5_of_liao(gamma):
    """The kernel alignment is the loss of the mean of the examples, whose norm is at most 1."""
    X, y = random_stream(T=300)
    K = Gaussian(gamma=gamma).between(X, X)
    T = len(y)
    alignment = T - y @ K @ y / T
    mean = K @ y / T
    assert math.sqrt(y @ K @ y) / T <= 1
    assert np.maximum(0, 1 - y * mean).sum() == pytest.approx(alignment)
    least = min(c.losses(np.array([1.0]))[0] for c in competitors(Gaussian(gamma=gamma), X, y).fixed if c.norm)
    assert least <= alignment < T


# -- Panagiotakopoulos & Tsampouka (2010), remarks 1-3 -----------------------------------------------------------------


def until_it_stops(delta, ratio, margin=0.3):
    X, y = separable(T=200, margin=margin)
    found = MPU(hard_margin=True, delta=delta, delta_b=ratio, accuracy=1e-15, max_epochs=10**6).solve(X, y, Linear())
    assert found.converged
    gap = ratio * squares(X).max()
    return found, gap / (math.sqrt(1 + delta) - 1), gap, squares(X).max()


def test_remark_1():
    """With a fixed delta_b the largest margin is approached as b grows; without unlearning at least half of it."""
    fractions = [until_it_stops(delta, 1.5)[0].margin / 0.3 for delta in (3.0, 0.3, 0.03, 0.003)]
    assert all(f > (1 + delta) ** -0.5 for f, delta in zip(fractions, (3.0, 0.3, 0.03, 0.003), strict=True))
    assert 0.998 < fractions[-1] <= 1 + 1e-9
    for delta in (1e12, 1e8):
        found, b, gap, R_squared = until_it_stops(delta, 1e6)
        assert gap > b + R_squared
        assert found.unlearning_steps == 0
        assert found.margin / 0.3 > 1 / (2 + R_squared / b)


@pytest.mark.parametrize("delta", [3.0, 0.1, 0.01])
def test_remark_2(delta):
    """The number of learning steps less that of unlearning steps is near b / gamma_d^2."""
    found, b, gap, _ = until_it_stops(delta, 1.5)
    difference = found.steps - 2 * found.unlearning_steps
    assert 1 / (1 + gap / b) < difference * 0.3**2 / b < 1 + gap / b


@pytest.mark.parametrize("ratio", [1.1, 3.0])
def test_remark_3(ratio):
    """Online: insert a new pattern at most once, remove any that is very well classified; the bound (10) holds."""
    X = np.random.default_rng(0).integers(-5, 6, size=(1500, 2))
    X = X[np.abs(X @ [2, 1]) >= 3]
    y = np.where(X @ [2, 1] > 0, 1, -1)
    ys = reference.signed(X, y)
    R_squared = reference.longest_square(ys)
    thresholds = reference.Thresholds(1, 2 * R_squared, ratio * R_squared)
    state = reference.State(ys)
    for k in range(len(ys)):
        reference.present(state, ys, k, thresholds)
        for held in [i for i in range(k + 1) if state.I[i]]:
            if reference.present(state, ys, held, thresholds):
                break
    assert state.t_minus > 3
    # The largest margin is at least that of the labels' own direction.
    gamma = min(reference.dot(row, [2, 1]) for row in ys) / math.sqrt(5)
    both = R_squared + 2 * thresholds.b
    assert state.t <= both / gamma**2 * (1 + both / (4 * (thresholds.delta_b - R_squared)))
    # Eq. (17), the bound on the variable cache size.
    assert sum(state.I) == state.t_plus - state.t_minus <= both / gamma**2


LINEAR = kernels.Linear()


def violated(learner, X, y):
    """Return the theorems that the learner's run on a stream violates."""
    found = verdicts(play(learner, LINEAR, X, y), competitors(LINEAR, X, y))
    assert all(verdict.applies for verdict in found.values())
    return [name for name, verdict in found.items() if verdict.violated]


def larger_root(gentlest):
    """Return a `gentlest_shrinking` that takes the wrong one of two positive roots where eq. (43) has the other."""

    def shrinking(sigma, mu, Q, M):
        a, b, c = sigma * sigma - 2 * sigma * mu, 2 * sigma, Q - 15 / 32 * M
        d = b * b - 4 * a * c
        if a < 0 and d > 0 and (-b - math.sqrt(d)) / (2 * a) > 1:
            return (-b - math.sqrt(d)) / (2 * a)
        return gentlest(sigma, mu, Q, M)

    return shrinking


def test_forgetron_with_the_wrong_root(monkeypatch):
    """Every round is a mistake; the first removal finds the oldest example's margin at a bit more than 1/2."""
    budget = 83
    X, y = np.eye(400), np.ones(400, dtype=int)
    y[0] = -1
    X[1, :2] = 0.499, math.sqrt(1 - 0.499**2)
    found = competitors(LINEAR, X, y)
    right = play(find("forgetron", "self_tuned")(budget=budget), LINEAR, X, y)
    assert not any(verdict.violated for verdict in verdicts(right, found).values())
    monkeypatch.setattr(forgetron, "gentlest_shrinking", larger_root(forgetron.gentlest_shrinking))
    wrong = find("forgetron", "self_tuned")(budget=budget)
    wrong.compiled = False
    member = play(wrong, LINEAR, X, y)
    assert member.count.mistakes == right.count.mistakes == 400
    # What it grows is not paid for: the removal of a weight in the hundreds counts as a large gain.
    assert member.learner.facts(member.hypothesis)["damage"] < -1e5
    assert verdicts(member, found)["Dekel et al. (2008), Lemma 6"].violated
