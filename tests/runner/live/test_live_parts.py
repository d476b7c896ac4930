"""The parts of `budgetrun run`: curves of streams of unknown length, shuffling outside memory, requests."""

import numpy as np
import pytest
from faults import raises
from scipy.sparse import csr_array

from budgetrun.base.errors import InputError
from budgetrun.config.yaml import parse
from budgetrun.play.session import Counts, Curve, Stretch
from budgetrun.runner.live.request import Choices, Request, budgets_of, config_text
from budgetrun.runner.live.shuffle import shuffled
from budgetrun.runner.progress import RowsProgress


def test_curves_stay_short_and_reach_to_the_end():
    curve, done, total = Curve(1), 0, 3_000_000
    while done < total:
        after = curve.next(done)[0]
        assert after > done
        done = after
        curve.add(done, [done // 3], [7], {})
    rounds, found = curve.rounds, curve.of(0)
    assert (np.diff(rounds) > 0).all()
    assert len(rounds) < 200
    # At least 50 windows of equal length, and eight points per decade before them.
    step = np.diff(rounds)[-1]
    assert rounds[-1] / step >= 50
    assert np.isin(np.arange(step, rounds[-1], step), rounds).all()
    assert np.isin([1, 10, 100, 1000], rounds).all()
    assert (found["mistakes"] == rounds // 3).all()
    assert found["support_size"].shape == (len(rounds),)


def test_the_last_window_is_a_tenth_or_more():
    curve = Curve(2)
    assert curve.last_window() is None
    found = {}
    for done in (100, 200, 1000):
        curve.add(done, [done // 2, done // 4], [0, 0], {})
        found[done] = curve.last_window()
    assert found[100] is None
    found = [(length, mistakes.tolist()) for length, mistakes in (found[200], found[1000])]
    assert found == [(100, [50, 25]), (800, [400, 200])]


def test_the_time_left_is_that_of_the_rounds_so_far():
    progress, lines = RowsProgress(3000), []
    progress.line, progress.began = lines.append, progress.began - 1000
    progress.advance(1000, "no errors")
    progress.close()
    assert lines == ["1,000 of 3,000 rows, 1 rows/s, about 33 min left; no errors"]


@pytest.mark.parametrize("sizes", [[1] * 12, [5, 7], [12], [3, 4, 5]])
def test_the_longest_stretch_does_not_depend_on_the_pieces(sizes):
    labels = np.array([0, 0, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1])
    stretch, start = Stretch(), 0
    for size in sizes:
        stretch.extend(labels[start : start + size])
        start += size
    assert (stretch.longest, stretch.length, stretch.label) == (5, 5, 1)


def test_constant_features_are_those_of_all_pieces():
    counts = Counts()
    for rows in ([[1.0, 2.0, 3.0]], [[1.0, 2.0, 4.0], [1.0, 5.0, 3.0]]):
        counts.look(np.array(rows), np.zeros(len(rows)))
    assert counts.constant.tolist() == [True, False, False]


@pytest.mark.parametrize("form", [np.asarray, csr_array])
@pytest.mark.parametrize(("size", "bucket"), [(1, 640), (7, 640), (100, 640), (7, 10**6)])
def test_a_shuffled_stream_is_the_permuted_one(form, size, bucket, monkeypatch):
    rng = np.random.default_rng(0)
    X, codes = rng.integers(0, 3, (100, 4)).astype(float), rng.integers(0, 2, 100)
    permutation = rng.permutation(100)
    monkeypatch.setattr("budgetrun.runner.live.shuffle._BUCKET", bucket)
    chunks = ((form(X[i : i + size]), codes[i : i + size]) for i in range(0, 100, size))
    parts = list(shuffled(chunks, permutation))
    # Several temporary files, or one that is not full.
    assert len(parts) > 3 if bucket == 640 else len(parts) == 1
    assert form is csr_array or len(parts) == 3200 // bucket + 1
    found = np.concatenate([part if isinstance(part, np.ndarray) else part.toarray() for part, _ in parts])
    assert (found == X[permutation]).all()
    assert (np.concatenate([part for _, part in parts]) == codes[permutation]).all()


def test_budgets():
    assert budgets_of("300, 100,100") == (100, 300)
    for wrong in ("", "0", "1e3", "100,,200", "-5", "9" * 5000):
        raises(InputError, "whole number of at least 1", budgets_of, wrong)


def choices(task="binary", n_rows=1000):
    return Choices(task, "none", (0.5,), None, "last", n_rows)


def test_krls_is_only_for_short_streams():
    for source, n_rows, asked, there in (
        ("a.csv", 1000, (), True),
        ("a.csv", 10**6, (), False),
        ("-", None, (), False),
        ("-", None, ("krls",), True),
    ):
        text = config_text(Request(source, algorithms=asked), choices("regression", n_rows), [])
        assert ("name: krls" in text) == there


@pytest.mark.parametrize(("text", "entry"), [
    ("Forgetron", "name: forgetron"),
    ("PassiveAggressive", "name: passive_aggressive"),
    ("Forgetron(greedy)", "name: forgetron\n  variant: greedy"),
    ("ahpatron", "name: ahpatron\n  epsilon: 0.6"),
    ("ahpatron:epsilon=0.7", "name: ahpatron\n  epsilon: 0.7"),
    ("fogd:step=0.2", "{name: fogd, step: 0.2, features: 300"),
])  # fmt: skip
def test_names_of_classes_and_parameters_that_are_left_out(text, entry):
    assert entry in config_text(Request("a.csv", algorithms=(text,)), choices(), [])


@pytest.mark.parametrize("text", ["rbp:", "fogd:features", "a b", "rbp(", ""])
def test_an_algorithm_that_cannot_be_read(text):
    raises(InputError, "--algorithm", config_text, Request("a.csv", algorithms=(text,)), choices(), [])


@pytest.mark.parametrize("name", ["1e5", "-11e3", "007", "0x1f", "true", "null", "~", "1.5", "a"])
def test_names_that_look_like_other_values_stay_text(name):
    data = parse(config_text(Request("a.csv", name=name), choices(), [])).data
    assert [data["name"], data["datasets"][0]["name"], data["report"]["tables"][0]["name"]] == [name] * 3
