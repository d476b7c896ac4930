"""The engine agrees with the reference implementations, round by round: of two classes, of several, and of numbers."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from cases import (
    EXHAUSTIVE,
    KERNELS,
    STREAMS,
    all_cases,
    coded_stream,
    fed,
    firsts,
    paired,
    plays,
    random_stream,
    with_blocks,
)
from reference import kernel_expansion
from reference.structured_projectron_pp import structured_projectron_pp

from budgetrun import engine, kernels
from budgetrun.base.errors import InputError
from budgetrun.engine import Group
from budgetrun.engine.hypotheses import Nystroem, Optimistic
from budgetrun.engine.hypotheses.embedded import Embedded
from budgetrun.engine.hypotheses.points import Points
from budgetrun.engine.hypotheses.projected import Spanned
from budgetrun.learners import find
from budgetrun.learners.base import Learner
from budgetrun.learners.projectron_pp import MulticlassProjectronPlusPlus

# By task: id -> name, variant, parameters, reference.
OF = {"binary": {case_id: rest for case_id, *rest in all_cases()}, "multiclass": {}, "regression": {}}
for case_id, *rest in all_cases("MULTICLASS_CASES"):
    case_id = f"multiclass-{case_id}"
    OF["multiclass"][case_id if case_id not in OF["multiclass"] else f"{case_id}-structured"] = rest
for case_id, *rest in all_cases("REGRESSION_CASES"):
    OF["regression"][f"regression-{case_id}"] = rest
CASES = {case_id: (task, *rest) for task, cases in OF.items() for case_id, rest in cases.items()}
# Random features, and distances, which are those of the Gaussian kernel: parameters by task and name.
ONLY_GAUSSIAN = {
    "binary": {"fogd": {"features": 10, "step": 0.1}, "dualsgd": {"budget": 5}}
    | {name: {} for name in ("raker", "oks", "ioks", "adaraker")},
    "multiclass": {"dualsgd": {"budget": 5}},
    "regression": {"fogd": {"features": 10, "step": 0.1}, "qklms": {}, "raker": {}, "adaraker": {}},
}
MERGING = ("merging", "lookup_h", "lookup_wd")
# Those whose last hypothesis is tried on other examples.
FINAL = (
    "ioks", "oks", "fogd", "nogd", "pomdr", "bogd++", "dualsgd", "con_kons", "raker", "adaraker", "logistic", "auto",
)  # fmt: skip
# `auto` chooses its own kernels.
WITH_ANY_KERNEL = [
    i for i, (of, name, v, *_) in CASES.items() if name not in {"auto", *ONLY_GAUSSIAN[of]} and v not in MERGING
]
GAUSSIAN = KERNELS["gaussian"][0]
N_CLASSES = 5
# By hand: 2 and 3 share both their groups, 0 shares the outer one with them; paths have 2, 3, 3, 1 and 1 steps.
LABEL_KERNEL = np.eye(N_CLASSES)
LABEL_KERNEL[2, 3] = LABEL_KERNEL[3, 2] = 2 / 3
LABEL_KERNEL[0, 2:4] = LABEL_KERNEL[2:4, 0] = 1 / 6**0.5
COSTS = np.abs(np.subtract.outer(np.arange(N_CLASSES), np.arange(N_CLASSES))) / (N_CLASSES - 1)


def learner_of(case_id):
    task, name, variant, given, _ = CASES[case_id]
    return find(name, variant, task)(**given)


def stream_of(task, name):
    """Return examples and labels; of numbers, some examples are equal, and so are some numbers."""
    if task == "multiclass":
        X, codes = coded_stream(name)
        return X[:120], codes[:120]
    X, y = STREAMS[name]()
    if task == "binary":
        return X, y
    X = X / (3 if name != "far" else 1)
    noise = np.random.default_rng(3).normal(size=len(y))
    return X, np.round(np.sin(2 * X[:, 0]) + 0.5 * y + (0.3 * noise if name == "random" else 0), 1)


def is_solved(learner):
    """Return whether the two programs solve linear systems for weights differently, or search differently."""
    if learner.task == "multiclass" or issubclass(learner.form, Nystroem | Spanned):
        return True
    as_others = type(learner).uncompiled is Learner.uncompiled
    searched = not (learner.compiled if learner.task == "regression" else as_others)
    return learner.form.averages or learner.form in (Embedded, Optimistic, Points) or searched


class Recorder:
    """A group that is fed block by block, and the trace of each of its learners."""

    def __init__(self, kernel, learners, X, Y, block_size, **options):
        n_classes = N_CLASSES if learners[0].task == "multiclass" else None
        self.group = Group(kernel, learners, watch=self.watch, n_classes=n_classes, **options)
        self.changes = [{} for _ in learners]
        self.scores = fed(self.group, X, np.atleast_2d(Y), block_size)

    def watch(self, i, t):
        f = self.group.members[i].hypothesis
        self.changes[i][t] = (f.rounds.tolist(), f.coef.copy())

    def check(self, trace, i=0):
        count, learner = self.group.members[i].count, self.group.members[i].learner
        solved, several = is_solved(learner), learner.task == "multiclass"
        weights = {"rtol": 1e-6, "atol": 1e-7} if solved else {"rtol": 1e-9, "atol": 1e-12}
        atol = 2e-9 if several else 1e-8 if solved else 1e-10
        np.testing.assert_allclose(self.scores[i].T, trace.scores, rtol=1e-8 if several else 1e-9, atol=atol)
        active, alpha = [], np.empty((N_CLASSES, 0) if several else 0)
        for t in range(self.scores.shape[-1]):
            # Some weights also change on rounds on which the learner does not act.
            active, alpha = self.changes[i].get(t, (active, alpha * getattr(learner, "decay", 1.0)))
            assert active == trace.active[t], f"support sets differ after round {t}"
            expected = np.array(trace.alpha[t])
            assert_close(alpha, expected.reshape(-1, N_CLASSES).T if several else expected, **weights)
        assert count.mistakes == (0 if learner.task == "regression" else sum(trace.mistakes))
        assert count.updates == sum(getattr(trace, "updates", trace.mistakes)) == len(self.changes[i])
        assert count.max_support == max(map(len, trace.active))
        return self


def assert_close(actual, desired, rtol, atol):
    """As numpy's assert_allclose, which takes long to find nothing."""
    if actual.shape != desired.shape or not (np.abs(actual - desired) <= atol + rtol * np.abs(desired)).all():
        np.testing.assert_allclose(actual, desired, rtol=rtol, atol=atol)


@pytest.fixture(scope="session")
def traces():
    """Reference traces, computed once for all block sizes."""
    known = {}

    def get(case_id, stream, kernel="gaussian", **tie):
        key = case_id, stream, kernel, *tie.values()
        if key not in known:
            task = CASES[case_id][0]
            more = (N_CLASSES,) if task == "multiclass" else ()
            known[key] = CASES[case_id][-1](*stream_of(task, stream), KERNELS[kernel][1], *more, **tie)
        return known[key]

    return get


@pytest.mark.parametrize(
    ("case_id", "stream", "block_size"), [one for cases in OF.values() for one in with_blocks(cases, STREAMS)]
)
def test_same_trace(traces, case_id, stream, block_size):
    X, y = stream_of(CASES[case_id][0], stream)
    Recorder(GAUSSIAN, [learner_of(case_id)], X, y, block_size).check(traces(case_id, stream))


@pytest.mark.parametrize("stream", ["random", "tied"])
@pytest.mark.parametrize(("case_id", "kernel"), paired(firsts(WITH_ANY_KERNEL), ["linear", "polynomial"]))
def test_same_trace_with_other_kernels(traces, case_id, stream, kernel):
    X, y = stream_of(CASES[case_id][0], stream)
    Recorder(KERNELS[kernel][0], [learner_of(case_id)], X, y, 64).check(traces(case_id, stream, kernel))


@pytest.mark.parametrize("case_id", [i for i, (name, *_) in OF["binary"].items() if name in FINAL])
def test_the_hypothesis_that_is_left_predicts_elsewhere(traces, case_id):
    X, y = random_stream()
    trace = traces(case_id, "random")
    group = Recorder(GAUSSIAN, [learner_of(case_id)], X, y, 64).group
    alpha = dict(zip(trace.active[-1], trace.alpha[-1], strict=True))
    # A hypothesis that is not a kernel expansion over its support set has its own `final`.
    final = getattr(trace, "final", None) or (lambda x: kernel_expansion.value(alpha, X, x, KERNELS["gaussian"][1]))
    points = np.random.default_rng(5).normal(size=(3, 2))
    atol = 1e-8 if is_solved(group.members[0].learner) else 1e-10
    found = group.members[0].hypothesis.score(points)
    np.testing.assert_allclose(found, [final(x) for x in points], rtol=1e-9, atol=atol)


@pytest.mark.parametrize("case_id", OF["regression"])
def test_the_function_that_is_left_is_that_of_the_next_round(case_id):
    X, y = stream_of("regression", "random")
    group = Group(GAUSSIAN, [learner_of(case_id)])
    group.feed(X, y[None])
    points = np.random.default_rng(5).normal(size=(7, 2))
    for point, score in zip(points, engine.score(group.members[0], points), strict=True):
        own = pickle.loads(pickle.dumps(group))
        assert own.feed(point[None], np.zeros((1, 1)))[0, 0] == pytest.approx(score, rel=1e-7, abs=1e-8)


@pytest.mark.parametrize(("task", "name"), [(task, name) for task, names in ONLY_GAUSSIAN.items() for name in names])
def test_learners_that_need_the_gaussian_kernel_say_so(task, name):
    learner = find(name, task=task)(**ONLY_GAUSSIAN[task][name])
    with pytest.raises(InputError, match=rf"{name}: .* gaussian kernel, got linear: .* or leave {name} out"):
        Group(kernels.Linear(), [learner], n_classes=N_CLASSES if task == "multiclass" else None)


@pytest.mark.parametrize(("case_id", "stream"), paired(firsts(OF["binary"]), ["duplicated", "tied", "far"]))
def test_ties_can_predict_positive(traces, case_id, stream):
    trace = traces(case_id, stream, tie="positive")
    Recorder(GAUSSIAN, [learner_of(case_id)], *STREAMS[stream](), 64, tie="positive").check(trace)


@pytest.mark.parametrize("task", OF)
@pytest.mark.parametrize(("stream", "sparse"), paired(["random", "duplicated", "far", "tied"], [False, True]))
def test_shared_pool_is_each_learner_alone(traces, task, stream, sparse):
    X, y = stream_of(task, stream)
    ids = [i for i in firsts(OF[task]) if plays(i, stream)]
    recorder = Recorder(GAUSSIAN, [*map(learner_of, ids)], sp.csr_array(X) if sparse else X, y, 50)
    for i, case_id in enumerate(ids):
        recorder.check(traces(case_id, stream), i)


def test_tasks_do_not_mix():
    X, _ = random_stream(T=60)
    Y = np.array([random_stream(T=60, seed=s)[1] for s in range(3)])
    for case_id in firsts(OF["binary"]):
        recorder = Recorder(GAUSSIAN, [learner_of(case_id) for _ in range(3)], X, Y, 32, tasks=[2, 0, 1])
        for i, task in enumerate([2, 0, 1]):
            trace = CASES[case_id][-1](X, Y[task], KERNELS["gaussian"][1])
            assert recorder.group.members[i].count.mistakes == sum(trace.mistakes), case_id


# -- relations between classes -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize("threshold", ["distance", "squared_distance"])
def test_hierarchies(name, threshold):
    X, codes = stream_of("multiclass", name)
    given = {"eta": 0.3, "threshold": threshold}
    own = {"label_kernel": LABEL_KERNEL, "cost": 1 - LABEL_KERNEL}
    trace = structured_projectron_pp(X, codes, KERNELS["gaussian"][1], N_CLASSES, **own, **given)
    for block_size in (1, 7, 256):
        learner = MulticlassProjectronPlusPlus(hierarchy="(0 (2 3)) 1 4", **given)
        Recorder(GAUSSIAN, [learner], X, codes, block_size).check(trace)


@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize("K", [np.eye(N_CLASSES), np.eye(N_CLASSES) / 4, 0.3 + 0.7 * np.eye(N_CLASSES)])
def test_any_label_kernel_and_costs(name, K):
    X, codes = stream_of("multiclass", name)
    trace = structured_projectron_pp(X, codes, KERNELS["gaussian"][1], N_CLASSES, eta=0.3, label_kernel=K, cost=COSTS)
    for block_size in (1, 50):
        Recorder(GAUSSIAN, [MulticlassProjectronPlusPlus.of(K, COSTS, eta=0.3)], X, codes, block_size).check(trace)


# -- numbers -----------------------------------------------------------------------------------------------------------


@pytest.mark.compiled
@pytest.mark.parametrize("name", ["klms", "qklms", "knlms", "norma"] if EXHAUSTIVE else ["klms"])
def test_single_rounds_in_compiled_code_have_the_bits_of_blocks(name, monkeypatch):
    monkeypatch.setattr("budgetrun.engine.group._PATIENCE", 0)
    X, y = stream_of("regression", "random")
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
