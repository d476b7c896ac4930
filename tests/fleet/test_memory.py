"""Shared memory plays as the reference does: the same scores, mistakes, sizes and quantities of the bounds."""

from itertools import product

import numpy as np
import pytest
from cases import paired
from reference.fleet import POLICIES, Fleet, U_of, events, fleet

from budgetrun.fleet import SharedMemory, registry
from budgetrun.fleet.memory import (
    BYTES,
    ENTRIES,
    FEWEST,
    FLOOR,
    NEW_ROW,
    NORM,
    SEEN,
    SHRINKING,
    SIZE,
    M,
    Q,
    packed,
    play_batch,
    play_stream,
)
from budgetrun.kernels import Gaussian, compiling

LEARNERS, LIMIT = 7, 20
DTYPES = "float32", "float64", "bits"
KERNEL = Gaussian(gamma=0.5)
EACH = pytest.mark.parametrize("policy", sorted(registry()))
GREEDY = pytest.mark.parametrize("greedy", [False, True], ids=["oldest first", "greedy"])


def kernel(a, b):
    return float(np.exp(-0.5 * np.sum((a - b) ** 2)))


def stream(n_rounds, seed=1):
    """Return learners in the order of their first examples, examples, and noisy labels of several difficulties."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rounds, 3))
    drawn = rng.integers(0, LEARNERS, n_rounds) ** 2 // LEARNERS
    numbers = {key: i for i, key in enumerate(dict.fromkeys(drawn.tolist()))}
    planes, noise = rng.normal(size=(LEARNERS, 3)), rng.normal(size=(n_rounds, LEARNERS))
    learners = np.array([numbers[key] for key in drawn.tolist()])
    Y = np.where(X @ planes.T + noise * np.linspace(0.1, 1, LEARNERS) > 0, 1, -1)
    return learners, X, Y


def made(policy, floor, greedy=False, limit=LIMIT, **options):
    options = {"n_features": 3, "dtype": "float64", "entry_bytes": 1, "row_bytes": 0} | options
    memory = SharedMemory(KERNEL, registry()[policy](), limit=limit, most_learners=LEARNERS, greedy=greedy, **options)
    memory.ints[:, FLOOR] = floor
    return memory


def check_same(memory, expected):
    learners = sorted(expected.learners.values(), key=lambda f: f.number)
    n = len(learners)
    assert memory.longs[:n, M].tolist() == [f.M for f in learners]
    assert memory.ints[:n, SIZE].tolist() == [len(f.held) for f in learners]
    assert memory.counts[ENTRIES] == sum(len(f.held) for f in learners)
    np.testing.assert_allclose(memory.ones[:n, Q], [f.Q for f in learners], atol=1e-9)
    np.testing.assert_allclose(memory.ones[:n, NORM], [f.norm() ** 2 for f in learners], atol=1e-9)
    shrinkings = [f.shrinking(U_of(f.floor)) for f in learners]
    np.testing.assert_allclose(memory.ones[:n, SHRINKING], shrinkings, atol=1e-9)
    fewest = [0 if np.inf == f.N else f.N for f in learners]
    assert (memory.ints[:n, FEWEST] <= fewest).all() if memory.greedy else memory.ints[:n, FEWEST].tolist() == fewest


@EACH
@GREEDY
@pytest.mark.parametrize("floor", [0, 2])
def test_rows_of_their_own(policy, greedy, floor):
    learners, X, Y = stream(300)
    y = Y[np.arange(300), learners]
    floor = LIMIT // LEARNERS if policy == "equal_split" else floor
    expected = fleet(events(learners.tolist(), X, y), kernel, LIMIT, policy, floors=floor, greedy=greedy)
    memory, scores = made(policy, floor, greedy), np.zeros(300)
    for part in (slice(0, 1), slice(1, 120), slice(120, 300)):
        play_batch(memory, learners[part], np.zeros(300, dtype=np.int64)[part], X[part], y[part], scores[part])
    np.testing.assert_allclose(scores, [own[j] for own, j in zip(expected.scores, learners, strict=True)], atol=1e-9)
    check_same(memory, expected)


@EACH
@GREEDY
@pytest.mark.parametrize("sizes", [(1, 0), (0, 1), (1, 5)], ids=["entries", "rows", "both"])
def test_shared_rows(policy, greedy, sizes):
    """Some learners do not play some rounds."""
    _, X, Y = stream(150, seed=2)
    Y[np.random.default_rng(3).random(Y.shape) < 0.2] = 0
    limit = 100 if all(sizes) else LIMIT
    floor = LIMIT // LEARNERS if policy == "equal_split" else 1
    options = {"floors": floor, "entry": sizes[0], "row": sizes[1], "greedy": greedy}
    expected = Fleet(kernel, limit, POLICIES[policy](), **options)
    for j in range(LEARNERS):
        expected.learner(j)
    for t, (x, labels) in enumerate(zip(X, Y, strict=True)):
        expected.play(t, x, {j: int(y) for j, y in enumerate(labels) if y})
    memory = made(policy, floor, greedy, limit, shares=True, entry_bytes=sizes[0], row_bytes=sizes[1])
    scores = np.zeros(Y.shape)
    play_stream(memory, X, Y, scores)
    np.testing.assert_allclose(scores, [[s.get(j, 0) for j in range(LEARNERS)] for s in expected.scores], atol=1e-9)
    check_same(memory, expected)
    assert memory.counts[BYTES] == expected.size()
    assert (memory.longs[:, SEEN] == np.count_nonzero(Y, axis=0)).all()


@pytest.mark.parametrize(("rows", "policy"), paired([*product([False, True], DTYPES)], ["random", "sum_bound"]))
@pytest.mark.compiled
def test_compiled_code_gives_the_same_bits(policy, rows, monkeypatch):
    shares, dtype = rows
    learners, X, Y = stream(200)
    X, y = packed(X > 0) if dtype == "bits" else X.astype(dtype), Y[np.arange(200), learners]
    found = []
    for on in (False, True):
        monkeypatch.setattr(compiling, "on", lambda on=on: on)
        memory = made(
            policy, 1, dtype=dtype, shares=shares, greedy=shares, entry_bytes=None, row_bytes=None, limit=2000
        )
        scores = np.zeros(Y.shape if shares else 200)
        with compiling.first():
            if shares:
                compiling.call(play_stream, memory, X, Y, scores)
            else:
                compiling.call(play_batch, memory, learners, np.zeros(200, dtype=np.int64), X, y, scores)
        # Compiled code notes in the last count that it has read what it is about to use.
        found.append([scores, memory.cells, memory.ones, memory.tree, memory.counts[:-1]])
    for interpreted, compiled in zip(*found, strict=True):
        assert interpreted.tobytes() == compiled.tobytes()


@EACH
def test_memory_is_freed_and_used_again(policy):
    learners, X, Y = stream(200)
    y = Y[np.arange(200), learners]
    memory = made(policy, 2)
    play_batch(memory, learners, np.zeros(200, dtype=np.int64), X, y, np.zeros(200))
    for j in range(LEARNERS):
        memory.forget(j)
    assert memory.counts[BYTES] == 0
    assert not memory.tree[1]
    memory.ints[:, FLOOR] = 2
    again, scores = made(policy, 2), np.zeros((2, 200))
    for one, out in zip((memory, again), scores, strict=True):
        if policy == "random":
            one.policy._random = np.random.default_rng(0)
        play_batch(one, learners, np.zeros(200, dtype=np.int64), X, y, out)
    assert (scores[0] == scores[1]).all()


def test_places_of_rows_are_taken_again():
    _, X, Y = stream(300, seed=2)
    memory = made("oldest", 1, shares=True, entry_bytes=0, row_bytes=1)
    play_stream(memory, X, Y, np.zeros(Y.shape))
    # As many as are held at once, and the one that comes.
    assert memory.counts[NEW_ROW] <= LIMIT + 1
