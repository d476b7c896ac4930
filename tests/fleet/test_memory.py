"""Shared memory plays as the reference does: the same scores, mistakes, sizes and quantities of the bounds."""

from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from cases import paired
from reference.fleet import POLICIES, Fleet, U_of, events, fleet
from reference.kernel_expansion import gaussian

from budgetrun.fleet import SharedMemory, registry
from budgetrun.fleet import memory as at
from budgetrun.fleet.memory import bytes_of, flat, packed, play_batch, play_stream
from budgetrun.kernels import Gaussian, compiling

LEARNERS, LIMIT = 7, 20
DTYPES = "float32", "float64", "bits", "sparse"
KERNEL, K = Gaussian(gamma=0.5), gaussian(0.5)
EACH = pytest.mark.parametrize("policy", sorted(registry()))
GREEDY = pytest.mark.parametrize("greedy", [False, True], ids=["oldest first", "greedy"])


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
    memory.ints[:, at.FLOOR] = floor
    return memory


def check_same(memory, expected):
    learners = sorted(expected.learners.values(), key=lambda f: f.number)
    n = len(learners)
    assert memory.longs[:n, at.M].tolist() == [f.M for f in learners]
    assert memory.ints[:n, at.SIZE].tolist() == [len(f.held) for f in learners]
    assert memory.counts[at.ENTRIES] == sum(len(f.held) for f in learners)
    np.testing.assert_allclose(memory.ones[:n, at.Q], [f.Q for f in learners], atol=1e-9)
    np.testing.assert_allclose(memory.ones[:n, at.NORM], [f.norm() ** 2 for f in learners], atol=1e-9)
    shrinkings = [f.shrinking(U_of(f.floor)) for f in learners]
    np.testing.assert_allclose(memory.ones[:n, at.SHRINKING], shrinkings, atol=1e-9)
    fewest = [0 if np.inf == f.N else f.N for f in learners]
    found = memory.ints[:n, at.FEWEST]
    assert (found <= fewest).all() if memory.greedy else found.tolist() == fewest


@EACH
@GREEDY
@pytest.mark.parametrize("floor", [0, 2])
def test_rows_of_their_own(policy, greedy, floor):
    learners, X, Y = stream(300)
    y = Y[np.arange(300), learners]
    floor = LIMIT // LEARNERS if policy == "equal_split" else floor
    expected = fleet(events(learners.tolist(), X, y), K, LIMIT, policy, floors=floor, greedy=greedy)
    memory, scores = made(policy, floor, greedy), np.zeros(300)
    for part in (slice(0, 1), slice(1, 120), slice(120, 300)):
        play_batch(memory, *flat(X[part]), learners[part], np.zeros(300, dtype=np.int64)[part], y[part], scores[part])
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
    expected = Fleet(K, limit, POLICIES[policy](), **options)
    for j in range(LEARNERS):
        expected.learner(j)
    for t, (x, labels) in enumerate(zip(X, Y, strict=True)):
        expected.play(t, x, {j: int(y) for j, y in enumerate(labels) if y})
    memory = made(policy, floor, greedy, limit, shares=True, entry_bytes=sizes[0], row_bytes=sizes[1])
    scores = np.zeros(Y.shape)
    play_stream(memory, *flat(X), Y, scores)
    np.testing.assert_allclose(scores, [[s.get(j, 0) for j in range(LEARNERS)] for s in expected.scores], atol=1e-9)
    check_same(memory, expected)
    assert memory.counts[at.BYTES] == expected.size()
    assert (memory.longs[:, at.SEEN] == np.count_nonzero(Y, axis=0)).all()


@EACH
@GREEDY
@pytest.mark.parametrize("shares", [False, True], ids=["own rows", "shared rows"])
def test_sparse_rows(policy, greedy, shares):
    """Rows of 0 to 21 values take 1 to 3 blocks of 7; when a long one comes, several may have to go."""
    rng, (learners, X, Y) = np.random.default_rng(4), stream(120, seed=4)
    given = rng.random((120, 21)) < rng.random((120, 1)) ** 3 * 1.2
    # Functions of opposite equal rows would be 0 except for rounding.
    given[:, 0] |= ~given.any(axis=1)
    given[5], given[6] = False, True
    X = (np.column_stack([X, rng.normal(size=(120, 18))]) * given).astype(np.float32).astype(float)
    entry, block = bytes_of(registry()[policy](), 1, "sparse", shares)
    assert block == 64 + 4 + 8 * (policy == "harmless")
    limit, floor = (3000, 3) if policy == "equal_split" else (3000 if shares else 4000, 1)
    options = {"floors": floor, "greedy": greedy, "entry": entry}
    options["row"] = lambda x: block * max(1, -(-np.count_nonzero(x) // 7))
    expected = Fleet(K, limit, POLICIES[policy](), **options)
    for j in range(LEARNERS):
        expected.learner(j)
    given = {"n_features": 21, "dtype": "sparse", "shares": True, "entry_bytes": None, "row_bytes": None}
    memory, scores = made(policy, floor, greedy, limit, **given), np.zeros(Y.shape)
    played = range(LEARNERS) if shares else None
    for t, (x, labels) in enumerate(zip(X, Y, strict=True)):
        expected.play(t, x, {j: int(labels[j]) for j in (played or learners[[t]])})
        rows = flat(sp.csr_array(X[[t]].astype(np.float32)))
        if shares:
            play_stream(memory, *rows, labels[None], scores[[t]])
        else:
            out = np.zeros(1)
            play_batch(memory, *rows, learners[[t]], np.zeros(1, dtype=np.int64), labels[learners[[t]]], out)
            assert out[0] == pytest.approx(expected.scores[-1][learners[t]], abs=1e-9)
        assert memory.counts[at.BYTES] == expected.size()
        assert policy == "equal_split" or memory.counts[at.BYTES] <= limit
    check_same(memory, expected)
    memory._check()


@pytest.mark.parametrize(("rows", "policy"), paired([*product([False, True], DTYPES)], ["random", "sum_bound"]))
@pytest.mark.compiled
def test_compiled_code_gives_the_same_bits(policy, rows, monkeypatch):
    shares, dtype = rows
    learners, X, Y = stream(200)
    if dtype == "sparse":
        # Blocks of more than one row, and rows that are empty.
        X = sp.csr_array(np.tile(X * (X > 0.3), 6).astype(np.float32))
    else:
        X = packed(X > 0) if dtype == "bits" else X.astype(dtype)
    y = Y[np.arange(200), learners]
    found = []
    for on in (False, True):
        monkeypatch.setattr(compiling, "on", lambda on=on: on)
        given = {"shares": shares or dtype == "sparse", "greedy": shares, "entry_bytes": None, "row_bytes": None}
        memory = made(policy, 1, dtype=dtype, limit=2000, n_features=X.shape[1], **given)
        scores = np.zeros(Y.shape if shares else 200)
        with compiling.first():
            if shares:
                compiling.call(play_stream, memory, *flat(X), Y, scores)
            else:
                compiling.call(play_batch, memory, *flat(X), learners, np.zeros(200, dtype=np.int64), y, scores)
        # Compiled code notes in the last count that it has read what it is about to use.
        found.append([scores, memory.cells, memory.rows, memory.ones, memory.tree, memory.counts[:-1]])
    for interpreted, compiled in zip(*found, strict=True):
        assert interpreted.tobytes() == compiled.tobytes()


@EACH
def test_memory_is_freed_and_used_again(policy):
    learners, X, Y = stream(200)
    y = Y[np.arange(200), learners]
    memory = made(policy, 2)
    play_batch(memory, *flat(X), learners, np.zeros(200, dtype=np.int64), y, np.zeros(200))
    for j in range(LEARNERS):
        memory.forget(j)
    assert memory.counts[at.BYTES] == 0
    assert not memory.tree[1]
    memory.ints[:, at.FLOOR] = 2
    again, scores = made(policy, 2), np.zeros((2, 200))
    for one, out in zip((memory, again), scores, strict=True):
        if policy == "random":
            one.policy._random = np.random.default_rng(0)
        play_batch(one, *flat(X), learners, np.zeros(200, dtype=np.int64), y, out)
    assert (scores[0] == scores[1]).all()


def test_places_of_rows_are_taken_again():
    _, X, Y = stream(300, seed=2)
    memory = made("oldest", 1, shares=True, entry_bytes=0, row_bytes=1)
    play_stream(memory, *flat(X), Y, np.zeros(Y.shape))
    # As many as are held at once, and the one that comes.
    assert memory.counts[at.NEW_ROW] <= LIMIT + 1
