"""The engine agrees with the references of regression learners, round by round."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from cases import EXHAUSTIVE, STREAMS, all_cases, paired, with_blocks
from reference import kernel_expansion

from budgetrun import engine, kernels
from budgetrun.base.errors import InputError
from budgetrun.engine import Group
from budgetrun.engine.hypotheses import Nystroem
from budgetrun.engine.hypotheses.projected import Spanned
from budgetrun.learners import find, parameters, registry

CASES = {case_id: rest for case_id, *rest in all_cases("REGRESSION_CASES")}
ONLY_GAUSSIAN = ("fogd", "qklms", "raker", "adaraker")
GAUSSIAN = kernels.Gaussian(gamma=0.5)
KERNELS = {
    "gaussian": (GAUSSIAN, kernel_expansion.gaussian(0.5)),
    "linear": (kernels.Linear(), kernel_expansion.linear()),
    "polynomial": (kernels.Polynomial(degree=2, gamma=0.1, coef0=0.5), kernel_expansion.polynomial(2, 0.1, 0.5)),
}


def stream_of(name, n_examples=None):
    """Return examples, some of them equal, and numbers, some of them equal."""
    X, y = STREAMS[name]()
    X = X / (3 if name != "far" else 1)
    noise = np.random.default_rng(3).normal(size=len(y))
    target = np.round(np.sin(2 * X[:, 0]) + 0.5 * y + (0.3 * noise if name == "random" else 0), 1)
    return X[:n_examples], target[:n_examples]


def learner_of(case_id):
    name, variant, given, _ = CASES[case_id]
    return find(name, variant, "regression")(**given)


class Watched:
    """A learner's scores, and its support set and weights after each round on which it acts."""

    def __init__(self, kernel, learner, X, y, block_size, **options):
        self.after = {}
        self.group = Group(kernel, [learner], watch=self.look, **options)
        blocks = [slice(start, start + block_size) for start in range(0, len(y), block_size)]
        self.scores = np.concatenate([self.group.feed(X[block], y[None, block])[0] for block in blocks])

    def look(self, i, t):
        f = self.group.members[i].hypothesis
        self.after[t] = f.rounds.tolist(), f.coef.copy()

    def check(self, trace):
        member = self.group.members[0]
        learner = member.learner
        solved = issubclass(learner.form, Nystroem | Spanned) or not learner.compiled
        weights = {"rtol": 1e-6, "atol": 1e-7} if solved else {"rtol": 1e-8, "atol": 1e-11}
        np.testing.assert_allclose(self.scores, trace.scores, rtol=1e-8, atol=1e-8 if solved else 1e-10)
        active, alpha = [], np.empty(0)
        for t in range(len(self.scores)):
            active, alpha = self.after.get(t, (active, alpha * getattr(learner, "decay", 1.0)))
            assert active == trace.active[t], f"support sets differ after round {t}"
            np.testing.assert_allclose(alpha, trace.alpha[t], **weights)
        assert member.count.updates == sum(trace.updates) == len(self.after)
        assert (member.count.mistakes, member.count.max_support) == (0, max(map(len, trace.active)))


def test_every_regression_learner_has_a_reference():
    found = {(name, variant) for name, variants in registry("regression").items() for variant in variants}
    assert found == {(name, variant) for name, variant, *_ in CASES.values()}


@pytest.mark.parametrize(("case_id", "stream", "block_size"), with_blocks(CASES, STREAMS))
def test_same_trace(case_id, stream, block_size):
    X, y = stream_of(stream)
    trace = CASES[case_id][-1](X, y, KERNELS["gaussian"][1])
    Watched(GAUSSIAN, learner_of(case_id), X, y, block_size).check(trace)
    Watched(GAUSSIAN, learner_of(case_id), sp.csr_array(X), y, 50).check(trace)


@pytest.mark.parametrize(
    ("case_id", "kernel"),
    paired([i for i, (name, *_) in CASES.items() if name not in ONLY_GAUSSIAN], ["linear", "polynomial"]),
)
def test_same_trace_with_other_kernels(case_id, kernel):
    for stream in ("random", "tied"):
        X, y = stream_of(stream, 120)
        trace = CASES[case_id][-1](X, y, KERNELS[kernel][1])
        Watched(KERNELS[kernel][0], learner_of(case_id), X, y, 64).check(trace)


def test_learners_that_share_a_pool_and_pauses_change_nothing():
    X, y = stream_of("random")
    Y = np.array([y, np.roll(y, 3)])
    learners = [learner_of(case_id) for case_id in CASES for _ in range(2)]
    group = Group(GAUSSIAN, learners, [0, 1] * len(CASES))
    scores = []
    for start in range(0, len(y), 30):
        group = pickle.loads(pickle.dumps(group))
        scores.append(group.feed(X[start : start + 30], Y[:, start : start + 30]))
    together = np.concatenate(scores, axis=1)
    for i, case_id in enumerate(CASES):
        for task in range(2):
            alone = Group(GAUSSIAN, [learner_of(case_id)]).feed(X, Y[[task]])[0]
            np.testing.assert_allclose(together[2 * i + task], alone, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("case_id", CASES)
def test_the_hypothesis_that_is_left_predicts_elsewhere(case_id):
    X, y = stream_of("random")
    group = Group(GAUSSIAN, [learner_of(case_id)])
    group.feed(X, y[None])
    points = np.random.default_rng(5).normal(size=(7, 2))
    member = group.members[0]
    scores = engine.score(member, points)
    # Of the rounds that follow, the first prediction is that of the same function.
    for point, score in zip(points, scores, strict=True):
        own = pickle.loads(pickle.dumps(group))
        assert own.feed(point[None], np.zeros((1, 1)))[0, 0] == pytest.approx(score, rel=1e-7, abs=1e-8)


@pytest.mark.compiled
@pytest.mark.parametrize("name", ["klms", "qklms", "knlms", "norma"] if EXHAUSTIVE else ["klms"])
def test_single_rounds_in_compiled_code_have_the_bits_of_blocks(name, monkeypatch):
    monkeypatch.setattr("budgetrun.engine.group._PATIENCE", 0)
    X, y = stream_of("random")
    given = {"budget": 12, "step": 0.2}
    whole, single = (Group(GAUSSIAN, [find(name, task="regression")(**given)]) for _ in range(2))
    scores = whole.feed(X, y[None])[0]
    single.feed(X[:1], y[None, :1])
    played = 0
    for t in range(1, len(y)):
        played += single.feed_one(X[t], y[t]) is not None
        if not played:
            np.testing.assert_array_equal(single.feed(X[t : t + 1], y[None, t : t + 1])[0], scores[t : t + 1])
    f, g = whole.members[0].hypothesis, single.members[0].hypothesis
    np.testing.assert_array_equal(f.coef, g.coef)
    np.testing.assert_array_equal(f.rounds, g.rounds)
    # A decaying hypothesis is not played round by round.
    assert (played == len(y) - 1) == (name != "norma")


@pytest.mark.parametrize("name", ONLY_GAUSSIAN)
def test_learners_that_need_the_gaussian_kernel_say_so(name):
    given = {"features": 10, "step": 0.1} if name == "fogd" else {}
    with pytest.raises(InputError, match=rf"{name}: .* gaussian kernel, got linear: .* or leave {name} out"):
        Group(kernels.Linear(), [find(name, task="regression")(**given)])


def test_nu_belongs_to_the_insensitive_loss():
    with pytest.raises(ValueError, match=r"nu goes with loss=insensitive only, got nu=0.5 and loss=squared; leave nu"):
        find("norma", task="regression")(nu=0.5)


OF_RAKER = {
    "factors": (16.0, 4.0, 1.0, 0.25, 0.0625, 0.015625),
    "features": 50,
    "frequencies": "orthogonal",
    "seed": 0,
}
DEFAULTS = {
    "adaraker": {
        **OF_RAKER,
        "step": 0.5,
        "regulariser": 2e-4,
        "beta": 0.5,
        "rate": 0.1,
    },
    "aogd_ald": {"alpha": 0.01, "U": 2.0, "c": 1.0, "offset": 1.0, "switch": None},
    "aomd_ogs": {"alpha": 0.01, "U": 4.0, "c": 0.5, "offset": None, "switch": None},
    "aons_ogs": {"alpha": 0.01, "C": 1.0, "mu": 1.0, "order": "paper"},
    "fb_krls": {"regulariser": 0.01},
    "fogd": {"seed": 0, "counting": "frequencies"},
    "klms": {"budget": None},
    "knlms": {"budget": None, "step": 0.5, "coherence": 0.95, "regulariser": 0.01},
    "krls": {"budget": None, "nu": 1e-4},
    "nogd": {"rank": None},
    "norma": {"budget": None, "step": 0.5, "regulariser": 0.01, "loss": "squared", "epsilon": 0.1, "nu": None},
    "raker": {**OF_RAKER, "step": 0.5, "rate": None, "regulariser": 0.0},
    "qklms": {"budget": None, "step": 0.9, "epsilon": 0.1},
}


def test_defaults():
    found = {
        name: {p.name: p.default for p in parameters(learner).values() if p.default is not p.empty}
        for name, variants in registry("regression").items()
        for learner in variants.values()
    }
    assert found == DEFAULTS
