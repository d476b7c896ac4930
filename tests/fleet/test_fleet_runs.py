"""Fleets in configs: rows as the reference gives them, the equal split of bytes, bounds, and messages."""

import json

import numpy as np
import pytest
from reference import fleet as slow
from reference.forgetron import self_tuned
from reference.kernel_expansion import gaussian
from sweeping import printed, rows, run, swept_folder, written

from budgetrun.config.schema import DatasetSpec
from budgetrun.data import open_stream
from budgetrun.fleet import memory, registry
from budgetrun.papers.fleets import measure
from budgetrun.papers.fleets.algorithm import SharedMemory

# Four classes make three equal splits.
T, D, CLASSES = 240, 3, 4
K = gaussian(0.5)
POLICIES = [name for name in slow.POLICIES if name != "equal_split"]


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    random = np.random.default_rng(0)
    codes = random.integers(0, CLASSES, T)
    centres = 0.9 * random.normal(size=(CLASSES, D))
    path = tmp_path_factory.mktemp("data") / "four.csv"
    np.savetxt(path, np.column_stack([codes, np.round(centres[codes] + random.normal(size=(T, D)), 3)]), "%g", ",")
    return path


def config_of(folder, table, algorithms, task="equal_splits", **more):
    given = {"name": "fleets", "datasets": [{"name": "four", "path": str(table), "task": task}], "repetitions": 1}
    kernel = {"name": "gaussian", "gamma": 0.5}
    entries = [{"name": "shared_memory", **one} for one in algorithms]
    return written(folder, given | {"kernel": kernel, "algorithms": entries} | more)


def stream_of(table, task):
    return open_stream(DatasetSpec(name="four", path=table, task=task), 0, 0)


def sizes_of(policy, shares):
    return memory.bytes_of(registry()[policy](), D, "float64", shares)


def swept(folder, path):
    found = rows(swept_folder(path, folder, jobs=1))
    return {(row["label"], json.loads(row["parameters"])["shared_memory"]): row for row in found}


def test_splits_of_one_stream_are_those_of_the_reference(tmp_path, table):
    algorithms = [{"policy": policy, "label": policy, "shared_memory": [1500, 4000]} for policy in POLICIES]
    found = swept(tmp_path, config_of(tmp_path, table, algorithms))
    stream = stream_of(table, "equal_splits")
    rounds = slow.labellings(stream.X, np.stack(list(stream.tasks.values()), axis=1))
    for (policy, limit), row in found.items():
        entry, size = sizes_of(policy, True)
        made = slow.fleet(rounds, K, limit, policy, entry=entry, row=size)
        facts = json.loads(row["facts"])
        assert row["task"] == "-"
        assert int(row["n_examples"]) == 3 * T
        assert int(row["mistakes"]) == made.M
        assert facts["mistakes"] == [f.M for f in made.learners.values()]
        assert facts["sizes"] == [len(f.held) for f in made.learners.values()]
        assert facts["damage"] == pytest.approx([f.Q for f in made.learners.values()], abs=1e-6)
        assert facts["bytes"] <= limit
        assert facts["invariant"] <= 1e-9


def test_keys_are_those_of_the_reference(tmp_path, table):
    common = {"keys": 6, "passes": 2, "noise": 0.2, "shared_memory": 3000}
    algorithms = [{"policy": policy, "label": policy, **common} for policy in POLICIES]
    found = swept(tmp_path, config_of(tmp_path, table, algorithms, "multiclass"))
    algorithm = SharedMemory(policy="oldest", **common)
    events = measure.events_of(stream_of(table, "multiclass"), algorithm, "float64", [0, 0])
    assert len(events.keys) <= 2 * T
    rounds = slow.events(events.keys.tolist(), events.X[events.rows], events.labels)
    # Learners are in the order of their numbers, also before their first round.
    for (policy, limit), row in found.items():
        made = slow.Fleet(K, limit, slow.POLICIES[policy](), entry=sum(sizes_of(policy, False)))
        for key in range(6):
            made.learner(key)
        for one in rounds:
            made.play(*one)
        assert json.loads(row["facts"])["mistakes"] == [f.M for f in made.learners.values()]
        assert int(row["mistakes"]) == made.M


@pytest.mark.parametrize("n", [2, 3, 10])
def test_pairs_are_those_of_single_draws(n):
    random, single = np.random.default_rng(n), np.random.default_rng(n)
    assert (measure._pairs(random, n, 300) == [single.choice(n, 2, replace=False) for _ in range(300)]).all()
    assert random.random() == single.random()


def test_one_multitask_forgetron_is_that_of_the_reference(table):
    algorithm = SharedMemory(policy="multitask", keys=3, shared_memory=1500, share=2.0)
    events = measure.events_of(stream_of(table, "multiclass"), algorithm, "float64", [0, 0])
    from budgetrun.kernels import Gaussian

    played = measure.play(events, algorithm, Gaussian(gamma=0.5))
    rounds = slow.events(events.keys.tolist(), events.X[events.rows], events.labels)
    budget = 1500 // sum(sizes_of("equal_split", False))
    expected = self_tuned(*slow.multitask(rounds, gaussian(0.5), 3, 2.0), budget)
    assert played.mistakes.sum() == sum(expected.mistakes)
    assert played.sizes.sum() == budget


@pytest.mark.parametrize("own_rows", [False, True])
def test_the_equal_split_takes_what_fits(tmp_path, table, own_rows):
    split = {"policy": "equal_split", "label": "split", "own_rows": own_rows, "shared_memory": 3000}
    (row,) = swept(tmp_path, config_of(tmp_path, table, [split])).values()
    facts, (entry, size) = json.loads(row["facts"]), sizes_of("equal_split", True)
    stream = stream_of(table, "equal_splits")
    rounds = slow.labellings(stream.X, np.stack(list(stream.tasks.values()), axis=1))

    def played(floors):
        made, peak = slow.Fleet(gaussian(0.5), 0, slow.EqualSplit(), floors, entry=entry, row=size), 0
        for one in rounds:
            made.play(*one)
            held = sum(len(f.held) for f in made.learners.values())
            peak = max(peak, held * (entry + size) if own_rows else made.size())
        return made.M, peak

    floors = dict(enumerate(facts["floor"]))
    assert played(floors) == (int(row["mistakes"]), facts["bytes"])
    assert facts["bytes"] <= 3000
    if own_rows:
        assert sum(floors.values()) == 3000 // (entry + size)
    else:
        assert len(set(floors.values())) == 1
        assert played({key: b + 1 for key, b in floors.items()})[1] > 3000


def test_bounds_are_checked_and_violations_found(tmp_path, table, capsys):
    algorithms = [
        {"policy": "sum_bound", "label": "sum bound", "shared_memory": 9000},
        {"policy": "oldest", "label": "oldest", "shared_memory": 2000},
        {"policy": "equal_split", "label": "split", "shared_memory": 12000},
    ]
    swept(tmp_path, config_of(tmp_path, table, algorithms))
    code, out, err = run(capsys, "bounds", tmp_path / "fleets")
    assert (code, err) == (0, "")
    checked = [row for row in rows(tmp_path / "fleets", "bounds.csv") if row["applies"] == "yes"]
    names = ("Q <= A", "step 3", "measured", "Theorem 1", "sizes held", "sum")
    assert {row["theorem"] for row in checked} <= {f"Shared memory, {name}" for name in names}
    assert {("sum bound", "sum"), ("oldest", "Q <= A"), ("oldest", "measured")} <= {
        (row["label"], row["theorem"].removeprefix("Shared memory, ")) for row in checked
    }
    assert ", 0 are violated" in out
    # Facts of a run that took too much.
    text = (tmp_path / "fleets" / "runs.csv").read_text()
    (tmp_path / "fleets" / "runs.csv.sha256").unlink()
    part = text.index('""invariant"": ')
    (tmp_path / "fleets" / "runs.csv").write_text(text[:part] + '""invariant"": 2.5, ""was' + text[part + 2 :])
    out, err = printed(1, run(capsys, "bounds", tmp_path / "fleets"))
    assert "2.5 damage, but Shared memory, Q <= A allows 0" in err


@pytest.mark.parametrize(("given", "task", "message"), [
    ({"policy": "multitask"}, "equal_splits", "policy: multitask needs keys, which have examples of their own"),
    ({"policy": "oldest", "own_rows": True}, "equal_splits", "own_rows: true goes with policy: equal_split"),
    ({"policy": "oldest", "noise": 0.6}, "equal_splits", "noise must be at most 0.5, got 0.6"),
    ({"policy": "eldest"}, "equal_splits", "must be one of equal_split, harmless, least_damage, mistakes,"),
    ({"policy": "oldest", "budget": 5}, "equal_splits", "shared_memory is a fleet, and holds what fits into"),
    ({"policy": "oldest"}, "regression", "must be one of binary, equal_splits, multiclass with a shared memory"),
])  # fmt: skip
def test_wrong_configs_have_words(tmp_path, table, capsys, given, task, message):
    _, err = printed(2, run(capsys, "check", config_of(tmp_path, table, [{"shared_memory": 1000, **given}], task)))
    assert message in err


@pytest.mark.parametrize(("given", "task", "message"), [
    ({"policy": "oldest", "floor": 20}, "equal_splits", "3 floors of 20 entries need shared_memory: 3,600, got 1,000"),
    ({"policy": "oldest"}, "multiclass", "a data set of several classes needs keys, or task: equal_splits"),
    ({"policy": "equal_split", "label": "s", "shared_memory": 20}, "equal_splits", "20 bytes do not hold one entry"),
])  # fmt: skip
def test_runs_that_cannot_start_say_why(tmp_path, table, capsys, given, task, message):
    path = config_of(tmp_path, table, [{"shared_memory": 1000, **given}], task)
    _, err = printed(1, run(capsys, "sweep", path, "--results", tmp_path))
    assert message in err
