"""The engine agrees with the reference implementations, round by round."""

import numpy as np
import pytest
import scipy.sparse as sp
from cases import STREAMS, all_cases, firsts, paired, random_stream, with_blocks
from reference import kernel_expansion

from budgetrun import kernels
from budgetrun.base.errors import InputError
from budgetrun.engine import Group
from budgetrun.engine.hypotheses import Nystroem, Optimistic
from budgetrun.engine.hypotheses.embedded import Embedded
from budgetrun.engine.hypotheses.points import Points
from budgetrun.learners import find
from budgetrun.learners.base import Learner

CASES = {case_id: rest for case_id, *rest in all_cases()}
# Their parameters, by name and variant.
ONLY_GAUSSIAN = {
    ("fogd", None): {"features": 10, "step": 0.1},
    ("dualsgd", None): {"budget": 5},
    ("raker", None): {},
    ("oks", None): {},
    ("ioks", None): {},
    ("adaraker", None): {},
    ("bsgd", "merging"): {"budget": 5},
    ("bsgd", "lookup_h"): {"budget": 5},
    ("bsgd", "lookup_wd"): {"budget": 5},
}
# Those whose last hypothesis is tried on other examples.
FINAL = ("ioks", "oks", "fogd", "nogd", "pomdr", "bogd++", "dualsgd", "con_kons", "raker", "adaraker", "logistic")
WITH_ANY_KERNEL = [case_id for case_id, (*learner, _, _) in CASES.items() if tuple(learner) not in ONLY_GAUSSIAN]
KERNELS = {
    "gaussian": (kernels.Gaussian(gamma=0.5), kernel_expansion.gaussian(0.5)),
    "linear": (kernels.Linear(), kernel_expansion.linear()),
    "polynomial": (kernels.Polynomial(degree=2, gamma=0.5, coef0=1.0), kernel_expansion.polynomial(2, 0.5, 1.0)),
}


class Recorder:
    """A group that is fed block by block, and the trace of each of its learners."""

    def __init__(self, kernel, learners, block_size, **options):
        self.group = Group(kernel, learners, watch=self.watch, **options)
        self.block_size = block_size
        self.changes = [{} for _ in learners]
        self.scores = []
        # The two programs solve linear systems for weights differently, and search with different rounding.
        forms, always = (Embedded, Nystroem, Optimistic, Points), Learner.uncompiled
        solved = [a.form.averages or a.form in forms or type(a).uncompiled is not always for a in learners]
        self.weights = [{"rtol": 1e-6, "atol": 1e-7} if s else {"rtol": 1e-9, "atol": 1e-12} for s in solved]
        self.tolerances = [{"rtol": 1e-9, "atol": 1e-8 if s else 1e-10} for s in solved]

    def watch(self, i, t):
        f = self.group.members[i].hypothesis
        self.changes[i][t] = (f.rounds.tolist(), f.coef.copy())

    def feed(self, X, Y):
        for start in range(0, X.shape[0], self.block_size):
            block = slice(start, start + self.block_size)
            self.scores.append(self.group.feed(X[block], Y[:, block]))
        return self

    def check(self, i, trace, y):
        scores = np.concatenate([s[i] for s in self.scores])
        np.testing.assert_allclose(scores, trace.scores, **self.tolerances[i])
        active, alpha = [], np.empty(0)
        count, learner = self.group.members[i].count, self.group.members[i].learner
        for t in range(len(y)):
            # Some weights also change on rounds on which the learner does not act.
            active, alpha = self.changes[i].get(t, (active, alpha * getattr(learner, "decay", 1.0)))
            assert active == trace.active[t], f"support sets differ after round {t}"
            assert_close(alpha, np.array(trace.alpha[t]), **self.weights[i])
        assert count.mistakes == sum(trace.mistakes)
        assert count.updates == sum(getattr(trace, "updates", trace.mistakes))
        assert count.max_support == max(map(len, trace.active))


def assert_close(actual, desired, rtol, atol):
    """As numpy's assert_allclose, which takes long to find nothing."""
    if actual.shape != desired.shape or not (np.abs(actual - desired) <= atol + rtol * np.abs(desired)).all():
        np.testing.assert_allclose(actual, desired, rtol=rtol, atol=atol)


@pytest.fixture(scope="session")
def traces():
    """Reference traces, computed once for all block sizes."""
    known = {}

    def get(case_id, stream, kernel, tie="mistake"):
        key = case_id, stream, kernel, tie
        if key not in known:
            X, y = STREAMS[stream]()
            known[key] = CASES[case_id][-1](X, y, KERNELS[kernel][1], tie=tie)
        return known[key]

    return get


@pytest.mark.parametrize(("case_id", "stream", "block_size"), with_blocks(CASES, STREAMS))
def test_same_trace(traces, case_id, stream, block_size):
    name, variant, parameters, _ = CASES[case_id]
    X, y = STREAMS[stream]()
    learner = find(name, variant)(**parameters)
    Recorder(KERNELS["gaussian"][0], [learner], block_size).feed(X, y[None]).check(
        0, traces(case_id, stream, "gaussian"), y
    )


@pytest.mark.parametrize("stream", ["random", "tied"])
@pytest.mark.parametrize(("case_id", "kernel"), paired(firsts(WITH_ANY_KERNEL), ["linear", "polynomial"]))
def test_same_trace_with_other_kernels(traces, case_id, stream, kernel):
    name, variant, parameters, _ = CASES[case_id]
    X, y = STREAMS[stream]()
    learner = find(name, variant)(**parameters)
    Recorder(KERNELS[kernel][0], [learner], 64).feed(X, y[None]).check(0, traces(case_id, stream, kernel), y)


@pytest.mark.parametrize(
    "case_id",
    [i for i, (name, *_) in CASES.items() if name in FINAL],
)
def test_the_hypothesis_that_is_left_predicts_elsewhere(traces, case_id):
    name, variant, parameters, _ = CASES[case_id]
    X, y = random_stream()
    recorder = Recorder(KERNELS["gaussian"][0], [find(name, variant)(**parameters)], 64).feed(X, y[None])
    trace = traces(case_id, "random", "gaussian")
    alpha = dict(zip(trace.active[-1], trace.alpha[-1], strict=True))
    # A hypothesis that is not a kernel expansion over its support set has its own `final`.
    final = getattr(trace, "final", None) or (lambda x: kernel_expansion.value(alpha, X, x, KERNELS["gaussian"][1]))
    points = np.random.default_rng(5).normal(size=(7, 2))
    f = recorder.group.members[0].hypothesis
    np.testing.assert_allclose(f.score(points), [final(x) for x in points], **recorder.tolerances[0])


@pytest.mark.parametrize("name", [name for name, variant in ONLY_GAUSSIAN if variant is None])
def test_random_features_are_those_of_the_gaussian_kernel(name):
    learner = find(name)(**ONLY_GAUSSIAN[name, None])
    with pytest.raises(
        InputError, match=rf"{name}: .* gaussian kernel, got linear: use the gaussian kernel, or leave {name} out"
    ):
        Group(kernels.Linear(), [learner])


@pytest.mark.parametrize("stream", ["duplicated", "tied", "far"])
def test_ties_can_predict_positive(traces, stream):
    X, y = STREAMS[stream]()
    for case_id in [i for i, at in paired(firsts(CASES), ["duplicated", "tied", "far"]) if at == stream]:
        name, variant, parameters, _ = CASES[case_id]
        learner = find(name, variant)(**parameters)
        Recorder(KERNELS["gaussian"][0], [learner], 64, tie="positive").feed(X, y[None]).check(
            0, traces(case_id, stream, "gaussian", "positive"), y
        )


@pytest.mark.parametrize(("stream", "sparse"), paired(STREAMS, [False, True]))
def test_shared_pool_is_each_learner_alone(traces, stream, sparse):
    X, y = STREAMS[stream]()
    ids = firsts(CASES)
    learners = [find(name, variant)(**parameters) for name, variant, parameters, _ in map(CASES.get, ids)]
    recorder = Recorder(KERNELS["gaussian"][0], learners, 50)
    recorder.feed(sp.csr_array(X) if sparse else X, y[None])
    for i, case_id in enumerate(ids):
        recorder.check(i, traces(case_id, stream, "gaussian"), y)


def test_tasks_do_not_mix():
    X, _ = random_stream(T=60)
    Y = np.array([random_stream(T=60, seed=s)[1] for s in range(3)])
    kernel, k = KERNELS["gaussian"]
    for case_id in firsts(CASES):
        name, variant, parameters, function = CASES[case_id]
        learners = [find(name, variant)(**parameters) for _ in range(3)]
        recorder = Recorder(kernel, learners, 32, tasks=[2, 0, 1]).feed(X, Y)
        for i, task in enumerate([2, 0, 1]):
            trace = function(X, Y[task], k)
            assert recorder.group.members[i].count.mistakes == sum(trace.mistakes), case_id
