"""Saved models whose numbers and texts were edited: they are used, or one sentence names the file."""

import functools
import io
import json
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from data import made_files
from hypothesis import given
from hypothesis import strategies as st
from sentences import one_sentence, or_one_sentence

import budgetrun
from budgetrun.base.errors import InputError
from budgetrun.estimators.predict import predict_stream
from budgetrun.runner.live import by
from budgetrun.runner.live.by import run_by
from budgetrun.runner.live.request import Request
from budgetrun.runner.live.run import STATE, run
from budgetrun.state import load_state, save_state, using

pytestmark = pytest.mark.faults

X = np.random.default_rng(0).normal(size=(120, 3))
WORDS = np.where(X[:, 0] * X[:, 1] > 0, "yes", "no")
FRAME = pd.DataFrame(X, columns=list("abc"))
MODELS = {
    "expansion": lambda: budgetrun.RBP(budget=20), "tracked": lambda: budgetrun.CKS(budget=20),
    "pairs": lambda: budgetrun.TighterPerceptron(budget=20), "projected": lambda: budgetrun.Projectron(eta=0.1),
    "points": lambda: budgetrun.BSGD(budget=20), "features": lambda: budgetrun.FOGD(features=10, step=0.1),
    "nystroem": lambda: budgetrun.NOGD(budget=20, step=0.1), "absorbing": lambda: budgetrun.DualSGD(budget=20),
    "drawn": lambda: budgetrun.OKS(), "embedded": lambda: budgetrun.PROSNKONS(), "framed": lambda: budgetrun.AONSOGS(),
}  # fmt: skip
SEEDS = st.integers(0, 2**32 - 1)
VALUES = (-1, 0, 1, 3, 10**3, 10**9, 2**63, -(2**40), 1.5, "x", "float64", "\x1b[31m", "", None, [], {}, True)


def edited(rng, path, to):
    """Write a copy of a state with up to three edits of numbers and texts."""
    parts = made_files.members_of(path)
    for _ in range(rng.integers(1, 4)):
        name = "state.json" if rng.random() < 0.6 else str(rng.choice(list(parts)))
        if name == "state.json":
            content = json.loads(parts[name])
            places = list(leaves(content["nodes"]))
            inside, key = places[rng.integers(len(places))]
            inside[key] = VALUES[rng.integers(len(VALUES))]
            parts[name] = json.dumps(content).encode()
        else:
            array = np.load(io.BytesIO(parts[name])).copy()
            if array.size and array.dtype.kind in "iuf" and rng.random() < 0.5:
                array.flat[rng.integers(array.size)] = rng.choice([-1, 0, 5, 2**30])
            else:
                array = array[: len(array) // 2] if array.ndim else array
            parts[name] = made_files.saved(np.save, array)
    to.write_bytes(made_files.zip_of(parts))


def leaves(value):
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in items:
        if isinstance(item, dict | list):
            yield from leaves(item)
        else:
            yield value, key


@functools.cache
def saved(name):
    """Return what a model of this name writes; ``POLICY shared``, ``own`` and ``sparse`` are fleets."""
    with tempfile.TemporaryDirectory() as folder:
        model = MODELS[name]().fit(FRAME, WORDS) if name in MODELS else trained(*name.split())
        model.save(Path(folder) / "model")
        return (Path(folder) / "model").read_bytes()


def trained(policy, rows):
    dtype = "sparse" if rows == "sparse" else "float32"
    fleet = budgetrun.Fleet(5000, policy=policy, shared_rows=rows == "shared", dtype=dtype)
    fleet.partial_fit(*examples(rows))
    return fleet


def examples(rows):
    """Return keys, rows and labels for a fleet."""
    y, keys = np.where(X[:, 0] > 0, 1, -1), [f"k{i % 5}" for i in range(len(X))]
    return (keys[:5], X, np.outer(y, [1, -1, 1, 1, -1])) if rows == "shared" else (keys, X, y)


@pytest.mark.parametrize("name", MODELS)
@given(seed=SEEDS)
def test_an_edited_model_predicts_or_is_refused_in_a_sentence(name, seed, tmp_path_factory):
    folder = tmp_path_factory.getbasetemp()
    FRAME.assign(y=WORDS).to_csv(folder / "rows.csv", index=False)
    edited(np.random.default_rng(seed), io.BytesIO(saved(name)), folder / "edited")
    with or_one_sentence(most=1000 + len(str(folder))):
        predict_stream(folder / "edited", str(folder / "rows.csv"), label="y", output=folder / "out.csv")


@pytest.fixture(scope="module", params=["interrupted", "with another file"])
def stream(tmp_path_factory, request):
    """The request of a stream, and the state that it begins with: before the results were written, or after it."""
    folder = tmp_path_factory.mktemp("stream")
    for name in ("rows", "more"):
        FRAME.assign(y=WORDS).to_csv(folder / f"{name}.csv", index=False)
    given = {"algorithms": ("rbp", "auto"), "budgets": (20,), "gamma": ("1",), "seeds": 1, "name": "one"}
    asked = Request(str(folder / "rows.csv"), label="y", results=folder, **given)
    assert run(asked, lambda folder: None) == 0
    state, _ = load_state(asked.folder / STATE)
    if request.param == "interrupted":
        state.ended = False
    else:
        asked = Request(str(folder / "more.csv"), continues=asked.folder)
    save_state(folder / "before", state)
    return asked, folder


@given(seed=SEEDS)
def test_an_edited_stream_continues_or_is_refused_in_a_sentence(stream, seed):
    request, folder = stream
    edited(np.random.default_rng(seed), folder / "before", folder / "one" / STATE)
    with or_one_sentence(most=1000 + 2 * len(str(folder))):
        run(request, lambda folder: None)


@pytest.fixture(scope="module")
def keyed(tmp_path_factory):
    """The request of a stream with a model per key, and its state with all rows still to come."""
    folder = tmp_path_factory.mktemp("keyed")
    FRAME.assign(y=WORDS, key=[f"k{i % 5}" for i in range(len(X))]).to_csv(folder / "rows.csv", index=False)
    request = Request(str(folder / "rows.csv"), label="y", gamma=("1",), results=folder)
    assert run_by(request, "key", "9K", budgetrun.Fleet) == 0
    played, meta = load_state(folder / "rows-by" / by.STATE)
    played.rounds = 0
    save_state(folder / "before", played, **meta)
    return request, folder / "before"


@given(seed=SEEDS)
def test_an_edited_stream_of_keys_continues_or_is_refused_in_a_sentence(keyed, seed):
    request, before = keyed
    edited(np.random.default_rng(seed), before, request.results / "rows-by" / by.STATE)
    with or_one_sentence(most=1000 + len(str(before))):
        run_by(request, "key", "9K", budgetrun.Fleet)


@pytest.mark.parametrize("rows", ["own", "shared", "sparse"])
@pytest.mark.parametrize("policy", ["younger_half", "random"])
@given(seed=SEEDS)
def test_an_edited_fleet_is_used_or_refused_in_a_sentence(policy, rows, seed, tmp_path_factory):
    path, given = tmp_path_factory.getbasetemp() / "edited", examples(rows)
    edited(np.random.default_rng(seed), io.BytesIO(saved(f"{policy} {rows}")), path)
    try:
        found = budgetrun.load(path)
    except InputError as error:
        one_sentence(error, most=1000 + len(str(path)))
        return
    with or_one_sentence(most=1000, kinds=(InputError, ValueError)):
        assert np.isfinite(found.partial_fit(*given)).all()
        assert np.isfinite(found.predict([given[0][0]] * 9, X[:9])).all()
        found.export(given[0][0])


@pytest.mark.parametrize("name", [*MODELS, "random own"])
def test_some_edits_are_refused(name, tmp_path):
    refused = 0
    for seed in range(6):
        edited(np.random.default_rng(seed), io.BytesIO(saved(name)), tmp_path / "edited")
        try:
            budgetrun.load(tmp_path / "edited")
        except InputError:
            refused += 1
    assert refused


def test_labels_are_written_without_control_characters_and_formulas(tmp_path):
    labels = np.where(WORDS == "yes", "=1+1", "\x1b[31mno\x9b")
    FRAME.assign(y=labels).to_csv(tmp_path / "rows.csv", index=False)
    budgetrun.RBP(budget=20).fit(FRAME, labels).save(tmp_path / "model")
    predict_stream(tmp_path / "model", str(tmp_path / "rows.csv"), label="y", output=tmp_path / "out.csv")
    found = pd.read_csv(tmp_path / "out.csv")
    assert set(found["label"]) == set(found["prediction"]) == {"'=1+1", r"\x1b[31mno\x9b"}


@pytest.mark.parametrize("error", [MemoryError(), InputError("no such file"), OSError(28, "No space left on device")])
def test_errors_that_say_nothing_about_the_file_stay_as_they_are(error):
    with pytest.raises(type(error)) as raised, using("model"):
        raise error
    assert raised.value is error
