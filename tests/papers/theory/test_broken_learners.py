"""Learners with a defect violate their bounds; without it they do not."""

import math

import numpy as np
import pytest
from playing import competitors, play, verdicts

from budgetrun import kernels
from budgetrun.learners import find, forgetron

LINEAR = kernels.Linear()


def again_and_again(n, times):
    """Orthogonal examples, one after the other, again and again: their sum has the norm sqrt(n), and no loss."""
    return np.vstack([np.eye(n)] * times), np.ones(n * times, dtype=int)


def violated(learner, X, y):
    """Return the theorems that the learner's run on a stream violates."""
    found = verdicts(play(learner, LINEAR, X, y), competitors(LINEAR, X, y))
    assert all(verdict.applies for verdict in found.values())
    return [name for name, verdict in found.items() if verdict.violated]


class Forgetful(find("perceptron")):
    """Learns from every third mistake."""

    def __init__(self):
        super().__init__()
        self.seen = 0

    def update(self, f, y, score):
        self.seen += 1
        if self.seen % 3 == 0:
            super().update(f, y, score)


def test_perceptron_that_forgets_to_update():
    X, y = again_and_again(20, 6)
    assert violated(find("perceptron")(), X, y) == []
    assert violated(Forgetful(), X, y) == ["Liao et al. (2024), Theorem 2", "Dekel et al. (2008), Theorem 1"]


class Careless(find("projectron")):
    """Projects whatever there is something to project on."""

    def update(self, f, y, score):
        if f.size:
            f.project(y)
        else:
            f.add(y)


def test_projectron_that_projects_too_much():
    X, y = again_and_again(16, 20)
    assert violated(find("projectron")(eta=0.1), X, y) == []
    assert violated(Careless(eta=0.1), X, y) == ["Orabona et al. (2009), Theorem 3"]


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


class Contrary(find("avp")):
    """Learns the wrong label, from the third mistake on."""

    def update(self, f, y, score):
        super().update(f, -y if self.misses >= 3 else y, score)


def test_avp_that_learns_the_wrong_label():
    X, y = again_and_again(10, 60)
    found = competitors(LINEAR, X, y)
    for learner_class, wrong in ((find("avp"), False), (Contrary, True)):
        member = play(learner_class(epsilon=0.6), LINEAR, X, y)
        assert verdicts(member, found)["Liao et al. (2024), Corollary 1"].violated == wrong


@pytest.mark.parametrize("more", [0, 3])
def test_more_halvings_than_lemma_1_allows(more):
    X, y = again_and_again(50, 1)
    learner = find("ahpatron")(budget=10, epsilon=0.5)
    member = play(learner, LINEAR, X, y)
    learner.halvings += more
    verdict = verdicts(member, competitors(LINEAR, X, y))["Liao et al. (2024), Lemma 1"]
    assert verdict.violated == (more > 0)
