"""The engine agrees with the multiclass reference implementations, round by round."""

import numpy as np
import pytest
import scipy.sparse as sp
from cases import STREAMS, all_cases, firsts, paired, with_blocks
from reference import kernel_expansion
from reference.structured_projectron_pp import structured_projectron_pp

from budgetrun import kernels
from budgetrun.engine import Group
from budgetrun.learners import find
from budgetrun.learners.projectron_pp import MulticlassProjectronPlusPlus

CASES = {}
for case_id, *rest in all_cases("MULTICLASS_CASES"):
    CASES[case_id if case_id not in CASES else f"{case_id}-structured"] = rest
WITH_ANY_KERNEL = [
    case_id for case_id, (name, variant, *_) in CASES.items() if name != "dualsgd" and variant != "merging"
]
KERNELS = {
    "gaussian": (kernels.Gaussian(gamma=0.5), kernel_expansion.gaussian(0.5)),
    "linear": (kernels.Linear(), kernel_expansion.linear()),
    "polynomial": (kernels.Polynomial(degree=2, gamma=0.5, coef0=1.0), kernel_expansion.polynomial(2, 0.5, 1.0)),
}
N_CLASSES = 5
HIERARCHY = "(0 (2 3)) 1 4"
# By hand: 2 and 3 share both their groups, 0 shares the outer one with them; paths have 2, 3, 3, 1 and 1 steps.
LABEL_KERNEL = np.eye(N_CLASSES)
LABEL_KERNEL[2, 3] = LABEL_KERNEL[3, 2] = 2 / 3
LABEL_KERNEL[0, 2:4] = LABEL_KERNEL[2:4, 0] = 1 / 6**0.5
ALL_CONNECTED = 0.3 + 0.7 * np.eye(N_CLASSES)
COSTS = np.abs(np.subtract.outer(np.arange(N_CLASSES), np.arange(N_CLASSES))) / (N_CLASSES - 1)


def stream(name, T=120):
    X, y = STREAMS[name]()
    codes = np.random.default_rng(4).integers(N_CLASSES, size=len(y))
    if name == "random":
        X = X + np.array([[0, 0], [2, 0], [0, 2], [-2, 0], [0, -2]])[codes]
    return X[:T], codes[:T]


def run(learner, kernel, X, codes, block_size, trace):
    """Feed the stream, and compare every round with the trace."""
    group = Group(kernel, [learner], n_classes=N_CLASSES, watch=lambda _, t: changes.update({t: now()}))
    f, count, changes = group.members[0].hypothesis, group.members[0].count, {}

    def now():
        return f.rounds.tolist(), f.coef.copy()

    scores = [
        group.feed(X[start : start + block_size], codes[None, start : start + block_size])[0]
        for start in range(0, len(codes), block_size)
    ]
    np.testing.assert_allclose(np.concatenate(scores, axis=1).T, trace.scores, rtol=1e-8, atol=2e-9)
    active, alpha = [], np.empty((N_CLASSES, 0))
    for t in range(len(codes)):
        active, alpha = changes.get(t, (active, alpha))
        assert active == trace.active[t], f"support sets differ after round {t}"
        expected = np.array(trace.alpha[t]).reshape(-1, N_CLASSES).T
        np.testing.assert_allclose(alpha, expected, rtol=1e-6, atol=1e-8)
    assert count.mistakes == sum(trace.mistakes)
    assert count.updates == sum(getattr(trace, "updates", trace.mistakes))
    assert count.max_support == max(map(len, trace.active))


@pytest.fixture(scope="session")
def traces():
    """Reference traces, computed once for all block sizes."""
    known = {}

    def get(case_id, name, kernel):
        if (case_id, name, kernel) not in known:
            X, codes = stream(name)
            known[case_id, name, kernel] = CASES[case_id][-1](X, codes, KERNELS[kernel][1], N_CLASSES)
        return known[case_id, name, kernel]

    return get


@pytest.mark.parametrize(("case_id", "name", "block_size"), with_blocks(CASES, STREAMS))
def test_same_trace(traces, case_id, name, block_size):
    algorithm, variant, parameters, _ = CASES[case_id]
    X, codes = stream(name)
    learner = find(algorithm, variant, task="multiclass")(**parameters)
    run(learner, KERNELS["gaussian"][0], X, codes, block_size, traces(case_id, name, "gaussian"))


@pytest.mark.parametrize("name", ["random", "tied"])
@pytest.mark.parametrize(("case_id", "kernel"), paired(firsts(WITH_ANY_KERNEL), ["linear", "polynomial"]))
def test_same_trace_with_other_kernels(traces, case_id, name, kernel):
    algorithm, variant, parameters, _ = CASES[case_id]
    X, codes = stream(name)
    learner = find(algorithm, variant, task="multiclass")(**parameters)
    run(learner, KERNELS[kernel][0], X, codes, 64, traces(case_id, name, kernel))


@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize("threshold", ["distance", "squared_distance"])
def test_hierarchies(name, threshold):
    X, codes = stream(name)
    given = {"eta": 0.3, "threshold": threshold}
    trace = structured_projectron_pp(
        X, codes, KERNELS["gaussian"][1], N_CLASSES, label_kernel=LABEL_KERNEL, cost=1 - LABEL_KERNEL, **given
    )
    for block_size in (1, 7, 256):
        learner = MulticlassProjectronPlusPlus(hierarchy=HIERARCHY, **given)
        run(learner, KERNELS["gaussian"][0], X, codes, block_size, trace)


@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize("K", [np.eye(N_CLASSES), np.eye(N_CLASSES) / 4, ALL_CONNECTED])
def test_any_label_kernel_and_costs(name, K):
    X, codes = stream(name)
    trace = structured_projectron_pp(X, codes, KERNELS["gaussian"][1], N_CLASSES, eta=0.3, label_kernel=K, cost=COSTS)
    for block_size in (1, 50):
        learner = MulticlassProjectronPlusPlus.of(K, COSTS, eta=0.3)
        run(learner, KERNELS["gaussian"][0], X, codes, block_size, trace)


@pytest.mark.parametrize("name", STREAMS)
def test_the_kronecker_delta_is_the_multiclass_case(name):
    X, codes = stream(name)
    kernel = KERNELS["gaussian"][0]
    learners = [
        MulticlassProjectronPlusPlus(eta=0.3),
        MulticlassProjectronPlusPlus(eta=0.3, hierarchy="0 1 2 3 4"),
        MulticlassProjectronPlusPlus.of(np.eye(N_CLASSES), 1 - np.eye(N_CLASSES), eta=0.3),
    ]
    group = Group(kernel, learners, n_classes=N_CLASSES)
    scores = group.feed(X, codes[None])
    for member, row in zip(group.members[1:], scores[1:], strict=True):
        # Only the order of summation differs.
        np.testing.assert_allclose(row, scores[0], rtol=1e-12, atol=1e-14)
        assert member.count.mistakes == group.members[0].count.mistakes
        assert member.count.updates == group.members[0].count.updates
        np.testing.assert_array_equal(member.hypothesis.rounds, group.members[0].hypothesis.rounds)


@pytest.mark.parametrize(("name", "sparse"), paired(STREAMS, [False, True]))
def test_shared_pool_is_each_learner_alone(traces, name, sparse):
    X, codes = stream(name)
    ids = firsts(CASES)
    learners = [find(a, v, task="multiclass")(**parameters) for a, v, parameters, _ in map(CASES.get, ids)]
    group = Group(KERNELS["gaussian"][0], learners, n_classes=N_CLASSES)
    rows = sp.csr_array(X) if sparse else X
    scores = [group.feed(rows[s : s + 50], codes[None, s : s + 50]) for s in range(0, len(codes), 50)]
    for i, case_id in enumerate(ids):
        trace = traces(case_id, name, "gaussian")
        np.testing.assert_allclose(np.concatenate([s[i] for s in scores], axis=1).T, trace.scores, rtol=1e-8, atol=2e-9)
        assert group.members[i].count.mistakes == sum(trace.mistakes), case_id
