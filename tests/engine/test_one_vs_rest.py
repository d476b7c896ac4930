"""Every binary learner with several classes: one per class, as its reference and as scikit-learn's wrapper say."""

import numpy as np
import pytest
from cases import EXHAUSTIVE, all_cases, coded_stream, paired
from reference import kernel_expansion
from reference.one_vs_rest import one_vs_rest
from sklearn.datasets import load_digits
from sklearn.multiclass import OneVsRestClassifier

from budgetrun import learners
from budgetrun.base.errors import InputError
from budgetrun.engine import Group, run, score
from budgetrun.estimators import CLASSIFIERS
from budgetrun.kernels import Gaussian
from budgetrun.learners.one_vs_rest import OneVsRest

# One case per learner, with parameters that its page allows; and learners of each form of hypotheses.
ONE_EACH = {(name, variant): (parameters, function) for _, name, variant, parameters, function in all_cases()}
# `auto`, whose members are of other forms, takes as long as all others.
OF_EACH_FORM = [
    key for key in {learners.find(*key).form: key for key in ONE_EACH}.values() if EXHAUSTIVE or key[0] != "auto"
]
BLOCK_SIZES = [*((*key, 50) for key in ONE_EACH), *((*key, size) for key in OF_EACH_FORM for size in (1, 256))]
KERNEL, K = Gaussian(gamma=0.5), kernel_expansion.gaussian(0.5)
N_CLASSES = 4


def stream(name, T=90):
    X, codes = coded_stream(name, N_CLASSES)
    return X[:T], codes[:T]


def made(name, variant):
    """What makes the one-vs-rest learner of a name and a binary variant."""
    return learners.find(name, f"{variant}_one_vs_rest" if variant else "one_vs_rest", "multiclass")


@pytest.fixture(scope="module")
def traces():
    known = {}

    def get(learner, name):
        if (learner, name) not in known:
            X, codes = stream(name)
            known[learner, name] = one_vs_rest(ONE_EACH[learner][1], X, codes, K, N_CLASSES)
        return known[learner, name]

    return get


@pytest.mark.parametrize(
    ("learner", "variant", "block_size", "name"),
    [(*played, name) for played, name in paired(BLOCK_SIZES, ["random", "tied"])],
)
def test_same_trace(traces, learner, variant, block_size, name):
    X, codes = stream(name)
    trace = traces((learner, variant), name)
    group = Group(KERNEL, [made(learner, variant)(**ONE_EACH[learner, variant][0])], n_classes=N_CLASSES)
    f, count = group.members[0].hypothesis, group.members[0].count
    solved = {"rtol": 1e-6, "atol": 1e-7}
    for start in range(0, len(codes), block_size):
        block = slice(start, start + block_size)
        scores = group.feed(X[block], codes[None, block])[0]
        np.testing.assert_allclose(scores.T, trace.scores[block], **solved)
        done = min(start + block_size, len(codes))
        if not f.in_pool:
            # Merged points are no examples.
            continue
        assert f.rounds.tolist() == trace.active[done - 1]
        np.testing.assert_allclose(f.coef, np.array(trace.alpha[done - 1]).reshape(N_CLASSES, -1), **solved)
        assert count.mistakes == sum(trace.mistakes[:done])
        assert count.updates == sum(np.array(trace.updates[:done]) | trace.mistakes[:done])
    assert count.max_support == trace.largest


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:90] / 16, y[:90], X[1700:] / 16


@pytest.mark.parametrize(("name", "variant"), ONE_EACH if EXHAUSTIVE else OF_EACH_FORM)
def test_scikit_learn_s_wrapper_predicts_the_same_digits(digits, name, variant, reloaded):
    X, y, points = digits
    given = ONE_EACH[name, variant][0] | ({"variant": variant} if variant else {})
    binary = next(c for c in CLASSIFIERS.values() if next(iter(c._learners.values())).name == name)(gamma=0.5, **given)
    wrapped = OneVsRestClassifier(binary).fit(X, y)
    group = Group(KERNEL, [made(name, variant)(**ONE_EACH[name, variant][0])], n_classes=10)
    group.feed(X[:50], y[None, :50])
    before = group.members[0].hypothesis.size
    # A pause, in a file.
    group = reloaded(group)
    group.feed(X[50:], y[None, 50:])
    (member,) = group.members
    scores = score(member, points)
    np.testing.assert_allclose(scores.T, wrapped.decision_function(points), rtol=1e-6, atol=1e-7)
    assert wrapped.predict(points).tolist() == scores.argmax(axis=0).tolist()
    # An example is stored once, however many classes hold it.
    if not member.hypothesis.in_pool:
        return
    held = {tuple(row) for one in wrapped.estimators_ for row in one.support_set_}
    assert len(held) == member.hypothesis.size
    assert group.pool.used <= max(before, len(held)) + 100
    if name not in learners.registry("multiclass"):
        # The classifier of the same name is that learner, with labels of any kind.
        model = binary.fit(X, np.array(list("abcdefghij"))[y])
        assert model.mistakes_ == member.count.mistakes
        assert model.predict(points).tolist() == ["abcdefghij"[c] for c in wrapped.predict(points)]
        assert (model.weights_.shape, len(model.support_set_)) == ((10, len(held)), len(held))


def test_rounding_decides_no_tie():
    """Two classes with the same sum in another order tie, whatever the last bits of the sums."""
    points = np.random.default_rng(3).normal(size=(2, 30))
    group = Group(Gaussian(gamma=0.01), [made("perceptron", None)()], n_classes=3)
    # Each point belongs to classes 0 and 1 in turn, so neither is ever strictly ahead of the other for long.
    X, y = np.repeat(points.T, 2, axis=0), np.tile([0, 1], 30)
    scores = group.feed(X, y[None])[0]
    own, rest = scores[y, np.arange(60)], np.where(np.arange(3)[:, None] == y, -np.inf, scores).max(axis=0)
    close = np.abs(own - rest) <= 1e-9 * np.abs(scores).max(axis=0)
    assert close.any()
    assert group.members[0].count.mistakes == np.count_nonzero((own <= rest) | close)
    # Before anything is learned, all scores are 0: a tie, and thus a mistake.
    assert scores[:, 0].tolist() == [0, 0, 0]


def test_names():
    for name, variants in learners.registry().items():
        for variant, binary in variants.items():
            several = made(name, variant)
            assert several.title.endswith(", one-vs-rest")
            assert several.task == "multiclass"
            assert learners.parameters(several) == learners.parameters(binary)
            paper = learners.registry("multiclass").get(name, {}).get(variant)
            assert learners.find(name, variant, "multiclass") is (paper or several)
    learner = made("rbp", None)(budget=3, seed=5)
    assert isinstance(learner, OneVsRest)
    assert (learner.name, learner.variant, learner.budget, learner.seed) == ("rbp", "one_vs_rest", 3, 5)
    with pytest.raises(AttributeError):
        _ = learner.step
    X, codes = stream("random")
    assert run(learner, KERNEL, X, codes, n_classes=N_CLASSES).max_support == 3
    with pytest.raises(InputError, match="one-vs-rest learners cannot be watched; feed them single rounds instead"):
        Group(KERNEL, [learner], n_classes=N_CLASSES, watch=print).feed(X, codes[None])
