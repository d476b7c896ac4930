"""The class `Fleet`: keys, batches, files, single models, bytes, and what it refuses."""

import re
import subprocess
import sys
import textwrap
import threading
from itertools import chain
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from faults import raises

import budgetrun
from budgetrun import Fleet, Forgetron
from budgetrun.base.errors import InputError
from budgetrun.fleet import registry
from budgetrun.kernels import compiling

KEYS = [f"key {k}" if k % 2 else k for k in range(9)]


def stream(n_rounds=400, seed=0):
    rng = np.random.default_rng(seed)
    X, drawn = rng.normal(size=(n_rounds, 4)), rng.integers(0, len(KEYS), n_rounds)
    planes = rng.normal(size=(len(KEYS), 4))
    y = np.where((X * planes[drawn]).sum(axis=1) + 0.5 * rng.normal(size=n_rounds) > 0, 1, -1)
    return [KEYS[k] for k in drawn], X, y


def made(memory=6000, **options):
    return Fleet(memory, **{"gamma": 0.3, "dtype": "float64"} | options)


@pytest.fixture
def refused(reloaded):
    """Check that a file of a fleet with another number in this place is refused, and put the number back."""

    def with_number(fleet, array, place, wrong, sentence):
        before = int(array[place])
        array[place] = wrong
        raises(InputError, sentence, reloaded, fleet)
        array[place] = before

    return with_number


@pytest.mark.parametrize("dtype", ["float64", "sparse"])
@pytest.mark.parametrize("policy", sorted(registry()))
def test_batches_examples_and_files_give_the_same_bits(policy, dtype, reloaded):
    keys, X, y = stream()
    whole = made(policy=policy, dtype=dtype).partial_fit(keys, sp.coo_array(X), y)
    fleet = made(policy=policy, dtype=dtype)
    scores = [fleet.partial_fit(keys[:150], X[:150], y[:150])]
    fleet = reloaded(fleet)
    rows = X[150:200], (sp.csr_array(x[None]) for x in X[200:250])
    scores.append([fleet.learn_one(*one) for one in zip(keys[150:250], chain(*rows), y[150:250], strict=True)])
    fleet = reloaded(fleet)
    scores.append(fleet.partial_fit(np.array(keys[250:], dtype=object), X[250:].tolist(), y[250:] > 0))
    assert np.concatenate(scores).tolist() == whole.tolist()
    assert fleet.memory_used <= 6000
    assert fleet.facts()["mistakes"].sum() == np.count_nonzero(whole * y <= 0)
    assert fleet.facts()["rounds"].tolist() == [keys.count(key) for key in fleet.keys]
    assert fleet.facts()["held"].min() >= 4 or policy == "equal_split"
    assert fleet.predict(keys, X).tolist() == [fleet.predict_one(key, x) for key, x in zip(keys, X, strict=True)]


@pytest.mark.parametrize("variant", ["self_tuned", "greedy"])
def test_one_key_is_the_forgetron_and_the_equal_split_is_several(variant):
    keys, X, y = stream()
    greedy = variant == "greedy"
    one = made(10**6, floor=20, policy="equal_split", greedy=greedy)
    alone = Forgetron(budget=20, gamma=0.3, variant=variant)
    assert np.count_nonzero(one.partial_fit(["all"] * len(y), X, y) * y <= 0) == alone.fit(X, y).mistakes_
    assert one.predict(["all"] * len(y), X) == pytest.approx(alone.decision_function(X), abs=1e-12)
    several = made(10**6, floor=8, policy="equal_split", greedy=greedy)
    several.partial_fit(keys, X, y)
    for key, mistakes in zip(several.keys, several.facts()["mistakes"], strict=True):
        own = [other == key for other in keys]
        assert Forgetron(budget=8, gamma=0.3, variant=variant).fit(X[own], y[own]).mistakes_ == mistakes


def test_a_key_is_created_while_all_floors_fit():
    each = 140 + 32 + 4 * (24 + 4 * 8)
    fleet, x = made(3 * each, floor=4), np.ones(4)
    for key in (1, 2, 3):
        assert fleet.room_for([8, 9], 4) == min(2, 4 - key)
        fleet.learn_one(key, x, 1)
    assert fleet.room_for([8], 4) == 0
    raises(InputError, "beside the floors of 3 keys", fleet.learn_one, 4, x, 1)
    fleet.delete(2)
    assert fleet.learn_one(4, x, 1) == 0


@pytest.mark.parametrize("kernel", [{"gamma": 0.1}, {"kernel": "polynomial", "degree": 2, "gamma": 0.1}])
@pytest.mark.parametrize("n_features", [60, 9000])
def test_sparse_rows_have_the_bits_of_other_learners(n_features, kernel):
    """Rows with more features are sparse in kernels, too; a dense fleet has the same scores except for rounding."""
    rng = np.random.default_rng(0)
    X = sp.random_array((300, n_features), density=12 / n_features, rng=rng, format="csr")
    X.data = (X.data - 0.5).astype(np.float32).astype(float)
    X[[7]] *= 0
    y, all_one = np.where(X @ rng.normal(size=n_features) > 0, 1, -1), ["all"] * 300
    given = {"floor": 20, "policy": "equal_split"} | kernel
    fleet, dense = (made(10**8, dtype=dtype, **given) for dtype in ("sparse", "float32"))
    alone = Forgetron(budget=20, **kernel).fit(X, y)
    mistakes = [np.count_nonzero(one.partial_fit(all_one, X, y) * y <= 0) for one in (fleet, dense)]
    assert mistakes == [alone.mistakes_, alone.mistakes_]
    assert fleet.predict(all_one, X).tolist() == alone.decision_function(X).tolist()
    assert fleet.predict(all_one, X) == pytest.approx(dense.predict(all_one, X), abs=1e-10)
    assert fleet.predict(all_one, X) == pytest.approx(fleet.export("all").decision_function(X), rel=1e-9, abs=1e-12)


def test_long_examples_leave_room_for_floors(reloaded):
    """A block of seven values has 68 bytes, an entry 24; the floor of a key is counted with the longest example."""
    charge, entries = 140 + 32, lambda n: 24 + 68 * n
    fleet = made(2 * charge + 8 * entries(3), dtype="sparse")
    eye = np.eye(40)
    for i, n in enumerate((0, 1, 7, 8)):
        fleet.learn_one(1, eye[:n].sum(axis=0), (-1) ** i)
        fleet.learn_one(2, sp.csr_array(eye[:n].sum(axis=0)[None]), (-1) ** i)
    assert fleet.memory_used == 2 * charge + 2 * (3 * entries(1) + entries(2))
    assert fleet.room_for([3], 0) == fleet.room_for([3], 40) == 0
    for one in (fleet, reloaded(fleet)):
        used = one.memory_used
        need = 2 * charge + 8 * entries(4)
        message = (
            f"memory: floors of 4 examples for 2 keys would take {need:,} bytes if examples had 22 values, and the "
            f"memory is {one.memory:,}; the least memory that would do is {need:,}"
        )
        raises(InputError, f"^{re.escape(message)}$", one.learn_one, 1, eye[:22].sum(axis=0), 1)
        with pytest.raises(InputError, match=r"^memory: floors of 4 examples for 2 keys would take "):
            one.partial_fit([1, 2], eye[:22].cumsum(axis=0)[-2:], [1, 1])
        with pytest.raises(InputError, match=r"^memory: 1 new key with a floor of 4 examples would take 1,084 bytes"):
            one.learn_one(3, eye[:15].sum(axis=0), 1)
        assert one.memory_used == used
        for i in range(60):
            one.partial_fit([1, 2], eye[i % 20 : i % 20 + 21].cumsum(axis=0)[-2:], [1 - 2 * (i % 2)] * 2)
            assert one.memory_used <= one.memory
        assert one.facts()["held"].min() >= 4


@pytest.mark.parametrize("shared", [False, True])
def test_an_edited_file_of_sparse_rows_is_refused(shared, reloaded, refused):
    """A chain of blocks without an end, or of blocks that are used twice."""
    keys, X, y = stream(60)
    fleet = made(12_000, dtype="sparse", shared_rows=shared)
    fleet.partial_fit(KEYS if shared else keys, np.tile(X, 4), np.outer(y, [1, -1] * 4 + [1]) if shared else y)
    fleet.delete("key 1")
    memory = fleet._memory
    free = int(memory.counts[8])
    edits = [(memory.rows, (0, 14), wrong) for wrong in (0, 2, -1, -3, -(10**6))]
    edits += [(memory.rows, (0, 2), -1), (memory.holders, 0, 5), (memory.ints, (0, 1), int(memory.ints[1, 1]))]
    edits += [(memory.links, (0, 5), 1), (memory.links, (int(memory.ints[0, 0]), 4), int(memory.ints[1, 0]))]
    edits += [(memory.holders, free - 1, -free), (memory.ints, (0, 3), 100), (memory.counts, 0, 11_000)]
    for edit in edits:
        refused(fleet, *edit, r"damaged .*it(s counts are not| names entries that| holds more than)")
    fleet._longest = 7
    raises(InputError, r"it holds more than its memory", reloaded, fleet)


@pytest.mark.parametrize("options", [{}, {"greedy": True}, {"kernel": "polynomial", "degree": 2, "gamma": 0.1}])
def test_export(options, reloaded):
    keys, X, y = stream()
    fleet = made(**options)
    fleet.partial_fit(keys, X, y)
    for key, held in zip(fleet.keys, fleet.facts()["held"], strict=True):
        model = reloaded(fleet.export(key))
        assert model.decision_function(X) == pytest.approx(fleet.predict([key] * len(X), X), rel=1e-9, abs=1e-12)
        assert len(model.support_set_) == held
        facts = fleet.facts()
        at = fleet.keys.index(key)
        assert (model.n_rounds_, model.mistakes_) == (facts["rounds"][at], facts["mistakes"][at])
        model.partial_fit(X, y)
        assert len(model.support_set_) <= held
    raises(KeyError, "none", fleet.export, "none")


def test_delete_gives_room_to_others(reloaded):
    keys, X, y = stream()
    fleet = made()
    fleet.partial_fit(keys, X, y)
    others = {key: n for key, n in zip(fleet.keys, fleet.facts()["held"], strict=True) if key != "key 3"}
    used = fleet.memory_used
    fleet.delete("key 3")
    assert "key 3" not in fleet
    assert len(fleet) == len(KEYS) - 1
    assert dict(zip(fleet.keys, fleet.facts()["held"], strict=True)) == others
    assert fleet.memory_used < used
    assert fleet.predict_one("key 3", X[0]) == 0
    assert fleet.learn_one("key 3", X[0], 1) == 0
    assert fleet.predict_one("key 3", X[0]) == 1
    raises(KeyError, "none", fleet.delete, "none")
    for key in list(fleet.keys):
        fleet.delete(key)
    empty = reloaded(fleet)
    assert (len(empty), empty.memory_used) == (0, 0)


def test_labellings_of_one_stream(reloaded):
    """Rows are stored once; what no key holds is not stored."""
    _, X, _ = stream()
    Y = np.where(X @ np.random.default_rng(1).normal(size=(4, len(KEYS))) > 0, 1, -1)
    Y[::5, 3] = 0
    fleet = made(20_000, shared_rows=True)
    whole = fleet.partial_fit(KEYS, X, Y)
    assert fleet.facts()["rounds"].tolist() == np.count_nonzero(Y, axis=0).tolist()
    again = made(20_000, shared_rows=True)
    again.partial_fit(KEYS, X[:77], Y[:77])
    rest = reloaded(again).partial_fit(KEYS[::-1], X[77:], Y[77:, ::-1])
    assert rest[:, ::-1].tolist() == whole[77:].tolist()
    n_bytes = 24 * int(fleet.facts()["held"].sum())
    assert fleet.memory_used < n_bytes + 36 * fleet.facts()["held"].sum()
    assert fleet.memory_used <= 20_000
    model = fleet.export(KEYS[1])
    assert model.decision_function(X) == pytest.approx(fleet.predict([KEYS[1]] * len(X), X), rel=1e-9, abs=1e-12)
    fleet.delete(KEYS[1])
    assert fleet.partial_fit(KEYS[2:], X[:9], Y[:9, 2:]).shape == (9, 7)
    raises(ValueError, r"with shared_rows, all keys learn together: use partial_fit", fleet.learn_one, 0, X[0], 1)
    with pytest.raises(ValueError, match=r"with shared_rows, the keys are those of the first call, and 77 is new"):
        fleet.partial_fit([77], X, Y[:, :1])


GROWTH = """
import sys
from itertools import product
import numpy as np, psutil, scipy.sparse as sp
from budgetrun import Fleet

def grown():  # without the pages of programs, which the system takes and gives back as it likes
    info = psutil.Process().memory_info()
    return info.rss - getattr(info, "shared", 0)

dtype, n_keys, rounds = sys.argv[1], 1500, 10
X = np.random.default_rng(0).normal(size=(n_keys, 500)).astype(np.float32)
y, keys = np.ones(n_keys, dtype=np.int64), np.arange(n_keys)
if dtype == "sparse":
    X = sp.csr_array(np.tile(X, 4) * (np.arange(2000) % 9 == 0))
Fleet(10**6, gamma=1.0, dtype=dtype).partial_fit(keys[:100], X[:100], y[:100])
fleet, before = Fleet(n_keys * rounds * 2000, gamma=1.0, dtype=dtype), grown()
# Opposite labels of the same rows are mistakes.
for i, start in product(range(rounds), range(0, n_keys, 100)):
    part = slice(start, start + 100)
    fleet.partial_fit(keys[part], X[part], y[part] * (-1) ** i)
print(fleet.memory, fleet.memory_used, grown() - before)
"""


@pytest.mark.parametrize("dtype", ["float32", "sparse"])
def test_bytes_are_those_of_the_process(dtype):
    """The growth of a new process is within 10% of the account; results/fleet has that of up to a million keys."""
    done = subprocess.run([sys.executable, "-c", GROWTH, dtype], capture_output=True, text=True, check=True)
    memory, used, grown = map(int, done.stdout.split())
    assert used > 0.99 * memory
    assert abs(grown / used - 1) < 0.1


def test_what_is_refused_changes_nothing():
    _, X, y = stream(60)
    fleet = made(9 * (140 + 32 + 4 * 56) - 100)
    need = 5 * (140 + 32) + 4 * (140 + 64) + 9 * 4 * 56
    message = (
        f"memory: 9 new keys with a floor of 4 examples would take {need:,} bytes, and beside the floors of 0 keys "
        f"only {fleet.memory:,} of {fleet.memory:,} bytes are free; the least memory that would do is {need:,}"
    )
    raises(InputError, f"^{re.escape(message)}$", fleet.partial_fit, KEYS, X[:9], y[:9])
    assert len(fleet) == 0
    fleet.partial_fit(KEYS[:4], X[:4], y[:4])
    used = fleet.memory_used
    for key, x, label, sentence in (
        (1.5, X[0], 1, "a key must be a whole number or text, got 1.5"),
        (True, X[0], 1, "a key must be a whole number or text, got True"),
        ("a", X[0], 0, "a label must be -1 or +1, or a bool, got 0"),
        ("a", X[0, :3], 1, "examples have 4 features, got 3"),
        ("a", X[:1], 1, "an example must have the shape (d,), got (1, 4)"),
        ("a", [1, np.nan, 0, 0], 1, "examples must be finite numbers, in the range of float64"),
        ("a", ["a", "b", "c", "d"], 1, "examples must be numbers, got the dtype <U1"),
    ):
        raises(ValueError, f"^{re.escape(sentence)}$", fleet.learn_one, key, x, label)
        raises(ValueError, r".+", fleet.partial_fit, [key], [x], [label])
    raises(ValueError, r"^each row has a key, got 2 keys and 1 rows$", fleet.partial_fit, [0, 1], X[:1], y[:1])
    raises(ValueError, r"need labels of shape \(1,\), got \(2,\)$", fleet.partial_fit, [0], X[:1], y[:2])
    raises(ValueError, r"^X must have the shape \(n, d\), got \(4,\)$", fleet.partial_fit, [0], X[0], y[:1])
    raises(ValueError, r"in the range of float32", Fleet(10_000).learn_one, 0, [1e200], 1)
    assert (len(fleet), fleet.memory_used) == (4, used)
    for options, sentence in (
        ({"policy": "best"}, "policy must be one of equal_split, .*, got 'best'"),
        ({"floor": -1}, "floor must be .*, got -1"),
        ({"kernel": "multitask"}, "kernel must be one of gaussian, linear, polynomial, got 'multitask'"),
        ({"dtype": "int8"}, "dtype must be one of float32, float64, bits, sparse, got 'int8'"),
        ({"memory": "lots"}, "'lots' is not a size; give a number with K, M or G, like 8G"),
        ({"memory": 0}, "memory must be .*, got 0"),
    ):
        raises(ValueError, f"^{sentence}", made, **options)
    raises(InputError, r"more than can be had here; give less", made(10**15).learn_one, 0, X[0], 1)


def test_rows_play_as_they_are_stored():
    keys, X, y = stream()
    fleets = [made(dtype="float32") for _ in range(3)]
    single = X.astype(np.float32)
    for fleet, rows in zip(fleets, (X, single, np.asfortranarray(single)), strict=True):
        fleet.partial_fit(keys, rows, y)
    scores = [[fleet.predict_one(key, row) for key, row in zip(keys, X, strict=True)] for fleet in fleets]
    assert scores[0] == scores[1] == scores[2]


def test_keys_are_numbers_or_text():
    fleet = made()
    fleet.learn_one(1, [1.0], 1)
    fleet.learn_one("1", [1.0], -1)
    assert (fleet.predict_one(np.int8(1), [1.0]), fleet.predict_one(np.str_("1"), [1.0])) == (1, -1)
    assert fleet.partial_fit(np.array(["1"]), [[1.0]], np.array([True])).tolist() == [-1]
    assert fleet.learn_one(2, [1.0], np.bool_(False)) == 0
    assert fleet.partial_fit([], np.zeros((0, 1)), []).shape == (0,)
    assert fleet.keys == [1, "1", 2]


def test_numbers_out_of_range_are_one_sentence():
    fleet = made(kernel="linear")
    raises(ValueError, r"^examples are too large for the kernel linear: scale them$", fleet.learn_one, 0, [1e160, 0], 1)
    fleet.learn_one(0, [1.2e154, 0], 1)
    fleet.learn_one(0, [0, 1.2e154], 1)
    calls = fleet.predict_one, lambda key, x: fleet.predict([key], [x]), lambda key, x: fleet.learn_one(key, x, 1)
    for call in calls:
        raises(InputError, r"^an example: the scores are not finite", call, 0, [9e153, 9e153])
    assert fleet.facts()["mistakes"].tolist() == [2]


def test_one_thread_at_a_time(monkeypatch):
    fleet, inside, goes_on = made(), threading.Event(), threading.Event()
    fleet.learn_one(0, [1.0], 1)

    def waiting(x):
        inside.set()
        assert goes_on.wait(60)
        return np.asarray(x, dtype=float)

    monkeypatch.setattr(fleet, "_row", waiting)
    thread = threading.Thread(target=fleet.predict_one, args=(0, [1.0]))
    thread.start()
    assert inside.wait(60)
    raises(RuntimeError, r"another thread uses this Fleet", fleet.learn_one, 0, [1.0], 1)
    goes_on.set()
    thread.join()


def test_a_killed_process_continues_from_its_file(tmp_path):
    program = """
        import os, signal, sys
        import numpy as np
        from budgetrun import Fleet
        fleet, rng = Fleet(6000, gamma=0.3), np.random.default_rng(0)
        for i in range(100):
            fleet.partial_fit(rng.integers(0, 5, 20), rng.normal(size=(20, 2)), rng.integers(0, 2, 20) * 2 - 1)
            fleet.save(sys.argv[1])
            if i == 7:
                os.kill(os.getpid(), signal.SIGKILL)
    """
    path = tmp_path / "fleet"
    assert subprocess.run([sys.executable, "-c", textwrap.dedent(program), path], check=False).returncode == -9
    found, expected, rng = budgetrun.load(path), Fleet(6000, gamma=0.3), np.random.default_rng(0)
    for _ in range(8):
        expected.partial_fit(rng.integers(0, 5, 20), rng.normal(size=(20, 2)), rng.integers(0, 2, 20) * 2 - 1)
    assert found.facts()["rounds"].sum() == 160
    X = rng.normal(size=(20, 2))
    assert found.predict(range(5), X[:5]).tolist() == expected.predict(range(5), X[:5]).tolist()


@pytest.mark.compiled
def test_compiled_examples_have_the_same_bits(monkeypatch):
    keys, X, y = stream(200)
    found = []
    for on in (False, True):
        monkeypatch.setattr(compiling, "on", lambda on=on: on)
        fleet = made()
        with compiling.first():
            scores = [fleet.learn_one(*example) for example in zip(keys, X, y, strict=True)]
        found.append([*scores, *(fleet.predict_one(key, X[0]) for key in KEYS)])
    assert found[0] == found[1]


@pytest.mark.committed(always=True)
def test_the_committed_growth_is_within_the_account():
    table = pd.read_csv(Path(__file__).parents[2] / "results" / "fleet" / "growth.csv").set_index("keys")
    assert table.index.max() == 1_000_000
    assert (table["accounted"] <= table["memory"]).all()
    # A process also grows by what does not depend on the memory, and by names of keys.
    beside = table["process_grew"] - table["accounted"]
    assert (beside < 30e6 + 20 * table.index).all()
    assert beside[1_000_000] < 0.1 * table["accounted"][1_000_000]
    assert (table["least_examples"] >= 4).all()


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("policy", ["oldest", "random"])
def test_a_file_that_names_what_is_not_there_is_refused(policy, shared, reloaded, refused):
    """Compiled code looks at no limits."""
    fleet = made(5000, policy=policy, shared_rows=shared)
    keys, X, y = stream(60)
    if shared:
        fleet.partial_fit(KEYS, X, np.outer(y, [1, -1] * 4 + [1]))
    else:
        fleet.partial_fit(keys, X, y)
    arrays = {"links": [4, 5][: 1 + shared], "ints": [0, 1, 2], "tree": [1, -1], "counts": [5, 6, 7, 8]}
    for name, columns in arrays.items():
        for column in columns:
            array = getattr(fleet._memory, name)
            place = (0, column) if array.ndim == 2 else column
            for wrong in (-1, 10**6):
                refused(fleet, array, place, wrong, r"damaged \(it names (entries|learners) that are not there")
    if policy == "random":
        leaves = fleet._memory.tree[len(fleet._memory.tree) // 2 :][:2]
        for change in ([-(10**6), 10**6], [10**6, -(10**6)]):
            leaves += change
            raises(InputError, "it names learners that are not there", reloaded, fleet)
            leaves -= change
    for number in (-1, 10**6):
        fleet._numbers["new"] = number
        raises(InputError, r"it names learners that are not there", reloaded, fleet)
    del fleet._numbers["new"]
    assert reloaded(fleet).predict(KEYS, X[:9]).tolist() == fleet.predict(KEYS, X[:9]).tolist()


@pytest.mark.parametrize("kernel", ["gaussian", "polynomial"])
@pytest.mark.parametrize("shared", [False, True], ids=["own rows", "shared rows"])
def test_bits_give_the_same_in_less_memory(kernel, shared, reloaded):
    """Zeros and ones are packed; sums of them are exact, so that nothing else changes."""
    rng = np.random.default_rng(0)
    X, keys = rng.integers(0, 2, (200, 21)), np.arange(3) if shared else rng.integers(0, 3, 200)
    Y = rng.choice([-1, 1], (200, 3) if shared else 200)
    options = {"kernel": kernel, "gamma": 0.1, "floor": 2, "shared_rows": shared, "policy": "oldest"}
    bits, plain = Fleet(10**5, dtype="bits", **options), Fleet(10**6, dtype="float64", **options)
    assert bits.example_bytes(21) == (24 + 3 + 12 if shared else 24 + 8)
    assert (bits.partial_fit(keys, X, Y) == plain.partial_fit(keys, X, Y)).all()
    assert (bits.predict([0] * 9, X[:9].astype(bool)) == plain.predict([0] * 9, X[:9])).all()
    np.testing.assert_allclose(bits.export(0).decision_function(X), bits.predict([0] * 200, X), atol=1e-9)
    assert (reloaded(bits).predict([1] * 9, X[:9]) == bits.predict([1] * 9, X[:9])).all()
    for dtype in ("bits", "float32", "sparse"):
        empty = Fleet(2_000, dtype=dtype, floor=0, gamma=0.1, shared_rows=shared, policy="equal_split")
        empty.partial_fit(keys, X, Y)
        assert not any(empty.facts()["held"])
        assert not empty.export(0).decision_function(X).any()
    with pytest.raises(ValueError, match=r"^with dtype='bits', examples must be zeros and ones$"):
        bits.predict([0], np.full((1, 21), 0.5))
    raises(ValueError, r"^examples have 21 features, got 24$", bits.predict, [0], np.zeros((1, 24)))
