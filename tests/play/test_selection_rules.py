"""Rules of selection against their references and bounds; candidates under a rule run as they would alone."""

import copy

import numpy as np
import pytest
import scipy.sparse as sp
from cases import STREAMS, fed, paired, random_stream
from reference import kernel_expansion
from reference import selection as slow

from budgetrun import learners
from budgetrun.base.problem import VOTES_TIE as TIE
from budgetrun.engine import Group
from budgetrun.engine import group as engine_group
from budgetrun.kernels import Gaussian, make
from budgetrun.play.selection import Selection, registry

RULES = {
    "hedge": ({}, slow.hedge),
    "fixed_share": ({"share": 0.01}, lambda losses: slow.fixed_share(losses, 0.01)),
    "racing": ({"confidence": 0.3}, lambda losses: slow.racing(losses, 0.3)),
    "omkc": ({"beta": 0.9}, lambda losses: slow.omkc(losses, 0.9)),
    # The weights follow all mistakes, also those on rounds from which a candidate does not learn.
    "omkc_sd": ({"beta": 0.8}, lambda losses: slow.omkc(losses, 0.8)),
}


def made(name):
    return registry()[name](**RULES[name][0])


def independent(rng, N, T):
    return (rng.random((N, T)) < rng.random(N)[:, None] * 0.5).astype(int)


def shifting(rng, N, T):
    """The best candidate changes."""
    best = np.arange(T) * N // T
    return (rng.random((N, T)) < np.where(np.arange(N)[:, None] == best, 0.1, 0.4)).astype(int)


def alike(rng, N, T):
    """Candidates that never differ, which tie."""
    return np.repeat((rng.random((1, T)) < 0.3).astype(int), N, axis=0)


def alternating(rng, N, T):
    """Each leads in turn: the worst that can be done to those who follow the leader."""
    return (np.arange(T) % N == np.arange(N)[:, None]).astype(int)


LOSSES = (independent, shifting, alike, alternating)


def played(rule, votes, losses, sizes, n_classes=2):
    """Play blocks of these sizes, over and over; candidates may be dropped after every 64th round."""
    rule.start(len(losses))
    found, start, k = [], 0, 0
    while start < losses.shape[1]:
        end = min(start + sizes[k % len(sizes)], start + 64 - start % 64, losses.shape[1])
        found.append(rule.play(votes[:, start:end], losses[:, start:end], n_classes))
        start, k = end, k + 1
        if start % 64 == 0:
            rule.drop()
    return np.concatenate(found)


def test_every_rule_is_tested():
    assert set(RULES) == set(registry())


@pytest.mark.parametrize("N", [1, 2, 7])
@pytest.mark.parametrize("stream", LOSSES)
@pytest.mark.parametrize("name", RULES)
def test_weights_and_votes_are_those_of_the_reference(name, stream, N):
    rng = np.random.default_rng(N)
    losses = stream(rng, N, 700)
    true = rng.integers(2, size=700)
    votes = np.where(losses, 1 - true, true)
    weights = np.array(list(RULES[name][1](losses.tolist()))) if N > 1 else np.ones((700, 1))
    rule = made(name)
    predicted = played(rule, votes, losses, [64])
    lead = ((2 * votes - 1) * weights.T).sum(axis=0)
    np.testing.assert_array_equal(predicted, np.where(np.abs(lead) <= TIE, -1, (lead > 0).astype(int)))
    assert rule.expected == pytest.approx((weights.T * losses).sum(), abs=1e-6)


@pytest.mark.parametrize("name", RULES)
def test_nothing_depends_on_how_rounds_are_divided(name):
    rng = np.random.default_rng(3)
    losses = independent(rng, 6, 500)
    votes = np.where(losses, rng.integers(1, 4, losses.shape), 0)
    rules = [made(name) for _ in range(3)]
    predictions = [played(r, votes, losses, sizes, 4) for r, sizes in zip(rules, ([64], [1], [7, 1, 30]), strict=True)]
    for rule, predicted in zip(rules, predictions, strict=True):
        np.testing.assert_array_equal(predicted, predictions[0])
        assert rule.facts() == rules[0].facts()
        np.testing.assert_array_equal(rule.next_weights(), rules[0].next_weights())


@pytest.mark.parametrize("stream", LOSSES)
@pytest.mark.parametrize("name", RULES)
def test_the_bounds_hold_on_every_stream(name, stream):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        for N, T in ((2, 100), (9, 1000)):
            losses, rule = stream(rng, N, T), made(name)
            wrong = int((played(rule, 1 - losses, losses, [64]) != 1).sum())
            for bound in rule.guarantees(rule.facts(), wrong, T):
                assert bound.count <= bound.value + 1e-6, bound
            assert rule.facts()["best_mistakes"] == losses.sum(axis=1)[rule.live].min()


@pytest.mark.parametrize("stream", LOSSES)
def test_the_best_sequence_of_fixed_share_is_the_cheapest_of_all(stream):
    losses, rule = stream(np.random.default_rng(1), 3, 7), made("fixed_share")
    played(rule, 1 - losses, losses, [2])
    assert rule.facts()["best_sequence"] == pytest.approx(slow.best_sequence(losses.tolist(), 0.01))


KERNELS = [Gaussian(gamma=gamma) for gamma in (0.01, 0.5, 20.0)]


def candidates(task="binary"):
    found = [("perceptron", {}), ("rbp", {"budget": 8, "seed": 1}), ("rbp", {"budget": 20, "seed": 2})]
    if task == "binary":
        found.append(("ahpatron", {"budget": 10, "epsilon": 0.6}))
        found.append(("norma", {"budget": 15, "step": 0.3, "regulariser": 0.01}))
    return [(kernel, learners.find(name, task=task)(**given)) for kernel in KERNELS for name, given in found]


@pytest.mark.parametrize(("name", "played"), paired(registry(), paired(STREAMS, ["mistake", "positive"])), ids=str)
def test_candidates_run_as_they_would_alone_and_calls_do_not_matter(name, played):
    stream, tie = played
    X, y = (part[:80] for part in STREAMS[stream]())
    selections = [Selection(registry()[name](), candidates(), tie=tie) for _ in range(3)]
    predicted = [fed(one, X, y[None], size) for one, size in zip(selections, (len(y), 1, 50), strict=True)]
    first = selections[0]
    if not first.rule.samples:
        alone = [engine_group.run(learner, kernel, X, y, tie=tie) for kernel, learner in candidates()]
        alone = [count for count, on in zip(alone, first.rule.live, strict=True) if on]
        assert first.rule.losses[first.rule.live].tolist() == [count.mistakes for count in alone]
        assert [m.count.updates for m in first.members] == [count.updates for count in alone]
    assert first.mistakes == np.where(y > 0, predicted[0] != 1, predicted[0] != 0).sum()
    assert (tie == "positive") <= (predicted[0] >= 0).all()
    for one, found in zip(selections, predicted, strict=True):
        np.testing.assert_array_equal(found, predicted[0])
        assert (one.mistakes, one.ties, one.max_support) == (first.mistakes, first.ties, first.max_support)
        assert one.rule.facts() == first.rule.facts()
        np.testing.assert_array_equal(one.score(X[:9]), first.score(X[:9]))


def test_several_classes_and_sparse_rows():
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=200)
    X = rng.normal(size=(200, 3)) + 2 * np.eye(3)[y]
    dense, sparse = (Selection(registry()["racing"](), candidates("multiclass"), n_classes=3) for _ in range(2))
    predicted = dense.feed(X, y[None])
    np.testing.assert_array_equal(sparse.feed(sp.csr_array(X), y[None]), predicted)
    alone = [engine_group.run(learner, k, X, y, n_classes=3) for k, learner in candidates("multiclass")]
    losses = np.array([count.mistakes for count in alone])
    np.testing.assert_array_equal(dense.rule.losses[dense.rule.live], losses[dense.rule.live])
    assert dense.mistakes == (predicted != y).sum() < losses.mean()
    assert dense.score(X).shape == (3, 200)


def test_what_is_dropped_takes_no_more_memory_or_time():
    rng = np.random.default_rng(0)
    X, y = random_stream(1000)
    X = np.concatenate([X, rng.normal(size=(1000, 3))], axis=1)
    gammas = enumerate((0.01, 0.1, 100.0, 200.0))
    given = [(Gaussian(gamma=gamma), learners.find("rbp")(budget=50, seed=i)) for i, gamma in gammas]
    given.append((given[0][0], learners.find("norma")(budget=60, step=1e-9, regulariser=0.5)))
    all_of_them, race = (Selection(registry()[name](), copy.deepcopy(given)) for name in ("hedge", "racing"))
    for one in (all_of_them, race):
        one.feed(X, y[None])
    live = race.rule.live
    assert live.tolist() == [True, True, True, False, False]
    assert len(race.members) == live.sum()
    assert race.support_size == sum(m.hypothesis.size for m in race.members) < all_of_them.support_size
    # What was the largest came before anything was dropped.
    assert race.support_size < race.max_support <= all_of_them.max_support
    assert race.total("updates") < all_of_them.total("updates")
    # The survivors are untouched.
    mistakes = np.array([m.count.mistakes for m in all_of_them.members])
    np.testing.assert_array_equal(race.rule.losses[live], mistakes[live])


def test_a_group_goes_on_without_a_member():
    X, y = random_stream(300)
    # The first two share a hypothesis until a budget is full.
    made = [*(learners.find("rbp")(budget=budget, seed=0) for budget in (10, 200)), learners.find("perceptron")()]
    group, whole = Group(KERNELS[1], copy.deepcopy(made)), Group(KERNELS[1], made)
    group.feed(X[:64], y[None, :64])
    group.drop([0, 2])
    scores = group.feed(X[64:], y[None, 64:])
    assert np.isnan(scores[[0, 2]]).all()
    whole.feed(X[:64], y[None, :64])
    np.testing.assert_array_equal(scores[1], whole.feed(X[64:], y[None, 64:])[1])
    assert group.members[1].count.mistakes == whole.members[1].count.mistakes
    assert group.members[0].hypothesis is None


def test_omkc_is_a_vote_of_perceptrons_with_16_kernels():
    X, y = random_stream(300)
    gammas, degrees = [2.0**p for p in range(-6, 7)], (1, 2, 3)
    plain = [kernel_expansion.gaussian(gamma) for gamma in gammas]
    plain += [lambda a, b, p=p: float(a @ b) ** p for p in degrees]
    kernels = [Gaussian(gamma=gamma) for gamma in gammas]
    kernels += [make("polynomial", degree=p, gamma=1.0, coef0=0.0) for p in degrees]
    wrong, mistakes = slow.omkc_dd(X, y.tolist(), plain, 0.99)
    omkc = Selection(registry()["omkc"](), [(kernel, learners.find("perceptron")()) for kernel in kernels])
    np.testing.assert_array_equal(omkc.feed(X, y[None]) != (y + 1) // 2, wrong)
    assert omkc.rule.losses.tolist() == mistakes


@pytest.mark.parametrize("stream", STREAMS)
def test_omkc_with_stochastic_update_is_that_of_its_reference(stream):
    X, y = STREAMS[stream]()
    gammas = [2.0**p for p in range(-6, 7, 3)]
    plain = [kernel_expansion.gaussian(gamma) for gamma in gammas]
    wrong, mistakes, sizes = slow.omkc_sd(X, y.tolist(), plain, 0.7, 0.05, 3)
    rule = registry()["omkc_sd"](beta=0.7, smoothing=0.05, seed=3)
    omkc = Selection(rule, [(Gaussian(gamma=gamma), learners.find("perceptron")()) for gamma in gammas])
    np.testing.assert_array_equal(fed(omkc, X, y[None], 90) != (y + 1) // 2, wrong)
    assert omkc.rule.losses.tolist() == mistakes
    assert [m.hypothesis.size for m in omkc.members] == sizes
    assert sum(sizes) < sum(mistakes)


def test_a_candidate_learns_from_the_rounds_that_are_drawn_for_it_as_it_would_alone():
    X, y = random_stream(150)
    rule = registry()["omkc_sd"](beta=0.8, seed=1)
    seen, draw = [], rule.drawn
    rule.drawn = lambda: seen.append(draw()) or seen[-1]
    omkc = Selection(rule, candidates())
    omkc.feed(X, y[None])
    for i, (kernel, learner) in enumerate(candidates()):
        own = np.array(seen)[:, i]
        assert omkc.members[i].count.updates == engine_group.run(learner, kernel, X[own], y[own]).updates
        assert 0 < own.sum() < 150 or rule.losses[i] == rule.losses.min()
