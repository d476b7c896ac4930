"""What every learner promises, whatever it does."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from cases import STREAMS, all_cases, random_stream

from budgetrun import kernels
from budgetrun.engine import Group
from budgetrun.learners import find, parameters, registry

CASES = {case_id: (name, variant, given) for case_id, name, variant, given, _ in all_cases()}
KERNEL = kernels.Gaussian(gamma=0.5)


def learner_of(case_id, **changes):
    name, variant, given = CASES[case_id]
    return find(name, variant)(**(given | changes))


def play(learner, X, y, block_size=40, **options):
    group = Group(KERNEL, [learner], **options)
    scores = [group.feed(X[s : s + block_size], y[None, s : s + block_size]) for s in range(0, len(y), block_size)]
    return group, np.concatenate(scores, axis=1)[0]


def test_every_learner_has_a_reference():
    with_reference = {(name, variant) for name, variant, _ in CASES.values()}
    assert with_reference == {(name, variant) for name, variants in registry().items() for variant in variants}


@pytest.mark.parametrize("name", registry())
def test_page_says_what_conventions_ask_for(name):
    for learner in registry()[name].values():
        page = learner.__doc__
        for section in ("References", "Examples", "Notes"):
            assert f"{section}\n    ---" in page
        for parameter in parameters(learner):
            assert f"    {parameter} : " in page


@pytest.mark.parametrize("case_id", CASES, ids=[f"{i}-budget_never_exceeded" for i in CASES])
@pytest.mark.parametrize("stream", STREAMS)
def test_budget_never_exceeded(case_id, stream):
    X, y = STREAMS[stream]()
    sizes = []
    group = Group(KERNEL, [learner_of(case_id)], watch=lambda i, t: sizes.append(group.members[i].hypothesis.size))
    group.feed(X, y[None])
    budget = group.members[0].learner.budget
    assert budget is None or max(sizes) <= budget
    assert group.members[0].count.max_support == max(sizes)
    assert group.pool.used <= max(sizes) + len(y)


@pytest.mark.parametrize("case_id", CASES, ids=[f"{i}-same_seed_same_trace" for i in CASES])
def test_same_seed_same_trace_and_inputs_unchanged(case_id):
    X, y = random_stream()
    before = X.copy(), y.copy()
    (_, one), (_, other) = play(learner_of(case_id), X, y), play(learner_of(case_id), X, y)
    np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(X, before[0])
    np.testing.assert_array_equal(y, before[1])


@pytest.mark.parametrize("case_id", CASES, ids=[f"{i}-survives_a_pause" for i in CASES])
def test_survives_pickling_in_mid_stream(case_id):
    X, y = random_stream()
    whole, _ = play(learner_of(case_id), X, y)
    group = Group(KERNEL, [learner_of(case_id)])
    for start in range(0, len(y), 30):
        group = pickle.loads(pickle.dumps(group))
        group.feed(X[start : start + 30], y[None, start : start + 30])
    assert group.members[0].count.mistakes == whole.members[0].count.mistakes
    np.testing.assert_allclose(group.members[0].hypothesis.coef, whole.members[0].hypothesis.coef, rtol=1e-9)


@pytest.mark.parametrize("case_id", CASES, ids=[f"{i}-flipping_labels" for i in CASES])
def test_flipping_all_labels_keeps_the_mistakes(case_id):
    X, y = random_stream()
    (one, scores), (other, flipped) = play(learner_of(case_id), X, y), play(learner_of(case_id), X, -y)
    assert one.members[0].count.mistakes == other.members[0].count.mistakes
    np.testing.assert_allclose(scores, -flipped, atol=1e-12)


REMOVAL_BASED = [i for i, c in CASES.items() if find(*c[:2]).perceptron_until_full and "budget" in c[2]]


@pytest.mark.parametrize("case_id", REMOVAL_BASED)
def test_with_room_enough_it_is_the_perceptron(case_id):
    X, y = random_stream()
    _, scores = play(learner_of(case_id, budget=len(y)), X, y)
    _, perceptron = play(find("perceptron")(), X, y)
    np.testing.assert_array_equal(scores, perceptron)


@pytest.mark.parametrize("case_id", CASES, ids=[f"{i}-float32" for i in CASES])
def test_float32_follows_float64(case_id):
    X, y = random_stream()
    (one, scores), (other, single) = play(learner_of(case_id), X, y), play(learner_of(case_id), X, y, dtype="float32")
    assert single.dtype == np.float32
    assert other.members[0].count.mistakes == one.members[0].count.mistakes
    np.testing.assert_allclose(single, scores, atol=2e-4)


def test_a_learner_that_fails_leaves_the_others_alone():
    class Faulty(find("perceptron")):
        perceptron_until_full = False

        def update(self, f, y, score):
            if f.size == 5:
                raise ZeroDivisionError("on purpose")
            super().update(f, y, score)

    X, y = random_stream()
    learners = [find("rbp")(budget=9), Faulty(), find("perceptron")()]
    group = Group(KERNEL, learners, isolate=True)
    good = find("rbp")(budget=9), find("perceptron")()
    alone = [play(learner, X, y)[0].members[0].count.mistakes for learner in good]
    for start in range(0, len(y), 30):
        group.feed(X[start : start + 30], y[None, start : start + 30])
    assert [str(m.error) if m.error else None for m in group.members] == [None, "on purpose", None]
    assert [group.members[i].count.mistakes for i in (0, 2)] == alone
    with pytest.raises(ZeroDivisionError):
        play(Faulty(), X, y)


def test_many_features_take_the_sparse_path():
    rng = np.random.default_rng(0)
    X = sp.random_array((120, 20_000), density=0.002, rng=rng, format="csr")
    y = rng.choice([-1, 1], 120)
    _, sparse = play(find("forgetron", "greedy")(budget=10), X, y)
    _, dense = play(find("forgetron", "greedy")(budget=10), X.toarray(), y)
    np.testing.assert_allclose(sparse, dense, atol=1e-12)
