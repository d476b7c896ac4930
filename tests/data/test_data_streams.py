"""Streams: order, labels, balance, noise, caps, scaling, and what is told of them beforehand."""

import hashlib

import numpy as np
import pytest
import scipy.sparse
import yaml
from faults import message

from budgetrun.base.errors import DataMissingError
from budgetrun.config.schema import DatasetSpec
from budgetrun.data import generators, open_stream, stream_info
from budgetrun.data.formats import csv, idx
from budgetrun.data.generators import GENERATORS
from budgetrun.data.streams import StreamInfo, inspect, task_signs
from budgetrun.kernels.kinds import floats, stored


def spec(name, **fields):
    return DatasetSpec(name=name, **{"order": "permuted"} | fields)


@pytest.fixture
def own(tmp_path):
    """A user's table of 200 rows: feature 1 is the row's number, labels are 1 for every fifth row and 2 else."""
    path = tmp_path / "own.csv"
    path.write_text("".join(f"{1 if i % 5 == 0 else 2},{i},{i % 7}\n" for i in range(200)))
    return path


def test_file_order_is_the_files(own):
    stream = open_stream(spec("own", path=own, order="file"), 0, 0)
    assert floats(stream.X)[:, 0].tolist() == list(range(200))
    assert stream.tasks["-"].tolist() == [-1 if i % 5 == 0 else 1 for i in range(200)]
    assert stream.tasks["-"].dtype == np.int8
    assert (stream.n_examples, stream.n_features) == (200, 2)


def test_a_repetition_depends_on_seed_name_and_number_alone(own):
    def order(seed=0, repetition=0, name="own", **fields):
        return floats(open_stream(spec(name, path=own, **fields), seed, repetition).X)[:, 0].tolist()

    assert order() == order()
    assert order() == order(label="another", noise=0.2)
    assert order(n_examples=50) == order()[:50]
    assert len({tuple(o) for o in (order(), order(seed=1), order(repetition=1), order(name="o2"))}) == 4
    scaled = floats(open_stream(spec("own", path=own, label="scaled", scale="minmax"), 0, 0).X)[:, 0] * 199
    np.testing.assert_allclose(scaled, order())


def test_the_randomness_is_pinned(own):
    """A change here changes every published number."""
    stream = open_stream(spec("own", path=own, balanced=True, noise=0.3), 7, 2)
    assert floats(stream.X)[:6, 0].tolist() == [23, 145, 20, 98, 75, 110]
    assert stream.tasks["-"][:6].tolist() == [1, -1, -1, 1, -1, -1]
    points = open_stream(spec("noisy_gaussians"), 0, 0)
    np.testing.assert_allclose(floats(points.X)[0], [1.4573317652442292, -0.06442173427292386], rtol=1e-14)


def test_balanced_takes_as_many_of_the_larger_class(own):
    stream = open_stream(spec("own", path=own, balanced=True), 0, 0)
    assert np.unique(stream.tasks["-"], return_counts=True)[1].tolist() == [40, 40]
    rows = floats(stream.X)[:, 0]
    assert set(rows[stream.tasks["-"] == -1]) == set(range(0, 200, 5))
    assert len(set(rows)) == 80
    assert set(rows) != set(floats(open_stream(spec("own", path=own, balanced=True), 0, 1).X)[:, 0])
    in_order = open_stream(spec("own", path=own, balanced=True, order="file"), 0, 0)
    assert floats(in_order.X)[:, 0].tolist() == sorted(rows)
    assert stream_info(spec("own", path=own, balanced=True)).n_examples == 80


def test_noise_flips_at_its_rate_and_grows_by_inclusion():
    clean = open_stream(spec("noisy_gaussians"), 0, 0).tasks["-"]
    flipped = {p: open_stream(spec("noisy_gaussians", noise=p), 0, 0).tasks["-"] != clean for p in (0.05, 0.1)}
    for rate, flips in flipped.items():
        assert abs(flips.mean() - rate) < 4 * np.sqrt(rate * (1 - rate) / 10_000)
    assert (flipped[0.1] | ~flipped[0.05]).all()


def test_equal_splits_share_examples_and_flips(digits):
    stream = open_stream(spec("digits", task="equal_splits", noise=0.3), 0, 0, digits.data)
    assert len(stream.tasks) == 126
    rows = (floats(stream.X)[:, 0] / 6).astype(int)
    digit = rows % 10
    clean = {name: np.isin(digit, [int(c) for c in name.split("|")[0]]) * 2 - 1 for name in stream.tasks}
    assert len({(stream.tasks[name] * clean[name]).tobytes() for name in stream.tasks}) == 1
    assert floats(stream.X).dtype == np.float64
    assert floats(stream.X)[:, 5].tolist() == (rows * 6 + 5).tolist()
    some = open_stream(spec("digits", task="equal_splits", noise=0.3), 0, 0, digits.data, tasks=["02468|13579"])
    assert list(some.tasks) == ["02468|13579"]
    assert (some.tasks["02468|13579"] == stream.tasks["02468|13579"]).all()


def test_scale_statistics_are_of_the_rows_used(own):
    stream = open_stream(spec("own", path=own, order="file", n_examples=11, scale="minmax"), 0, 0)
    assert floats(stream.X)[:, 0].tolist() == [i / 10 for i in range(11)]


def test_sparse_streams(pair):
    X = floats(open_stream(spec("pair", parts=("train", "test"), scale="unit_norm"), 0, 0, pair.data).X)
    assert scipy.sparse.issparse(X)
    assert X.shape == (42, 100)
    assert X.indices.dtype == X.indptr.dtype == np.int32
    assert X.has_sorted_indices
    norms = np.sqrt((X.toarray() ** 2).sum(axis=1))
    np.testing.assert_allclose(np.sort(norms), [0] + [1] * 41)
    dense = open_stream(spec("pair", order="file", n_examples=3), 0, 0, pair.data)
    assert floats(dense.X).toarray()[:, [0, 1, 2, 79]].tolist() == [[1, 0, 0, 0.5], [0, 1, 0, 0.5], [0, 0, 1, 0.5]]
    assert dense.tasks["-"].tolist() == [1, -1, -1]


def test_a_stream_is_the_callers_own(own):
    for order in ("file", "permuted"):
        first = open_stream(spec("own", path=own, order=order), 0, 0)
        before = floats(first.X).copy()
        stored(first.X)[:] = 0
        assert (before == floats(open_stream(spec("own", path=own, order=order), 0, 0).X)).all()


def test_a_file_is_parsed_once(own, monkeypatch):
    calls = []
    parse = csv.parse_table
    monkeypatch.setattr(csv, "parse_table", lambda *args: calls.append(1) or parse(*args))
    for repetition in range(3):
        open_stream(spec("own", path=own), 0, repetition)
    assert len(calls) <= 1
    own.write_text(own.read_text() + "1,2,3\n")
    assert open_stream(spec("own", path=own), 0, 0).n_examples == 201


# Generated points


@pytest.mark.parametrize(("spread", "deviation"), [("variance", np.sqrt([0.2, 2])), ("standard_deviation", [0.2, 2])])
def test_gaussians_have_the_means_and_spreads_asked_for(spread, deviation):
    stream = open_stream(spec("noisy_gaussians", options={"spread": spread, "n_per_class": 20_000}), 0, 0)
    for sign in (1, -1):
        points = floats(stream.X)[stream.tasks["-"] == sign]
        assert len(points) == 20_000
        np.testing.assert_allclose(points.mean(axis=0), [sign, sign], atol=0.05)
        np.testing.assert_allclose(points.std(axis=0), deviation, rtol=0.03)


def test_gaussians_default_to_the_papers_words():
    default = stream_info(spec("noisy_gaussians"))
    literal = stream_info(spec("noisy_gaussians", options={"spread": "variance", "n_per_class": 5000}))
    other = stream_info(spec("noisy_gaussians", options={"spread": "standard_deviation"}))
    assert default == literal
    assert default.sha256 != other.sha256
    assert (default.n_examples, default.n_features, default.task_names) == (10_000, 2, ["-"])
    text = b"noisy_gaussians version=1 n_per_class=5000 spread=variance"
    assert default.sha256 == hashlib.sha256(text).hexdigest()


# What is told beforehand


@pytest.mark.parametrize(
    "fields",
    [{}, {"balanced": True}, {"balanced": True, "n_examples": 7}, {"parts": ("test", "train")}, {"n_examples": 1000}],
)
def test_info_agrees_with_the_stream(pair, fields):
    info = stream_info(spec("pair", **fields), pair.data)
    stream = open_stream(spec("pair", **fields), 0, 0, pair.data)
    assert (info.n_examples, info.n_features) == (stream.n_examples, stream.n_features)
    assert info.task_names == list(stream.tasks)


def test_info_of_a_card(pair, digits, monkeypatch):
    info = stream_info(spec("pair"), pair.data)
    assert [info.sha256] == list(info.files.values())
    assert info.nnz_per_row == 2.0
    both = stream_info(spec("pair", parts=("train", "test")), pair.data)
    assert both.sha256 == hashlib.sha256("\n".join(both.files.values()).encode()).hexdigest()
    assert both.nnz_per_row == 81 / 42
    monkeypatch.setattr(idx, "parse_idx", None)  # nothing is parsed
    splits = stream_info(spec("digits", task="equal_splits"), digits.data)
    assert (splits.n_examples, splits.n_features, splits.nnz_per_row) == (30, 6, None)
    assert (splits.task_names[0], len(splits.task_names)) == ("01234|56789", 126)


def test_info_of_an_own_file(own, tmp_path):
    info = stream_info(spec("own", path=own, n_examples=90))
    assert (info.n_examples, info.n_features, info.nnz_per_row, info.task_names) == (90, 2, None, ["-"])
    # Manifests of earlier versions do not say it.
    assert info.n_classes == StreamInfo(1, 1, None, ["-"], "").n_classes == 2
    assert info.files == {"own.csv": info.sha256} == {"own.csv": hashlib.sha256(own.read_bytes()).hexdigest()}
    (tmp_path / "s.libsvm").write_text("1 1:1 99:2\n-1\n")
    assert stream_info(spec("s", path=tmp_path / "s.libsvm")).nnz_per_row == 1.0
    told = message(open_stream, spec("own", path=own), 0, 0, tasks=["01|23"])
    assert told == "dataset 'own': no task '01|23'; tasks are named like '-'"


def test_settings_that_do_not_go_together_are_found_without_playing(tmp_path):
    path = tmp_path / "own.csv"
    path.write_text("a,1\nb,2\nc,3\n")
    assert inspect(spec("own", path=path, task="multiclass"))[1] == []
    _, (told,) = inspect(spec("own", path=path, positive=9))
    assert "positive: no example is labelled 9" in told


def test_the_memory_of_data_is_that_of_rows_labels_and_order(tmp_path):
    path = tmp_path / "own.csv"
    path.write_text("".join(f"{i % 2},{i / 3},{i / 7}\n" for i in range(10)))
    assert stream_info(spec("own", path=path)).data_bytes == 10 * (2 * 8 + 72)


@pytest.mark.parametrize(("n", "more"), [(20, ""), (21, ", and 1 more")])
def test_twenty_classes_are_named(tmp_path, n, more):
    path = tmp_path / "own.csv"
    path.write_text("".join(f"{i % n},{i}\n" for i in range(2 * n)))
    told, _ = inspect(spec("own", path=path, task="multiclass"))
    named = ", ".join(f"{label} (2)" for label in range(20))
    assert told[0].partition(": ")[2] == f"{2 * n} rows x 1 feature; {n} classes: {named}{more}"


# Without the files


def test_info_from_the_card_alone(pair, digits):
    specs = [spec("pair"), spec("pair", test=("test",), n_examples=9), spec("digits", task="equal_splits")]
    verified = [stream_info(one, pair.data) for one in specs]
    for path in [path for path in pair.data.rglob("*") if path.is_file()]:
        path.unlink()
    for one, info in zip(specs, verified, strict=True):
        assert stream_info(one, verify=False) == info
        message(stream_info, one, None, False, kind=DataMissingError)


def test_without_known_checksums_files_are_needed_all_the_same(own, pair, empty_cache):
    known = yaml.safe_load((pair.cards / "pair.yaml").read_text())
    for file in known["files"]["train"]:
        file["sha256"] = None
    pair.write({**known, "name": "unverified"})
    assert stream_info(spec("own", path=own), verify=False) == stream_info(spec("own", path=own))
    found = stream_info(spec("unverified"), pair.data, verify=False)
    assert found == stream_info(spec("unverified"), pair.data)
    message(stream_info, spec("unverified"), None, False, verify=False, kind=DataMissingError)


# What does not go together

NOT_OWN = "belongs to a dataset with a card, not to one with 'path'"
LEARNED = "is also in the stream; a test set has examples that are not learned: name another part, or fewer 'parts'"
SPREADS = "variance standard_deviation"
BINARY = "with 'task: binary'; remove it or the 'task: equal_splits'"


def options(**given):
    return {"options": given}


@pytest.mark.parametrize(("name", "fields", "told"), [
    ("own", {"parts": ("train",)}, f"'parts' {NOT_OWN}; remove it"),
    ("own", options(a=1), "'options' belongs to a generated dataset such as noisy_gaussians; remove it"),
    ("a9a", options(a=1), "'options' belongs to a generated dataset such as noisy_gaussians; remove it"),
    ("noisy_gaussians", {"parts": ("train",)}, "a generated dataset has no parts; remove 'parts'"),
    ("noisy_gaussians", options(n=1), "options: unknown 'n'; allowed: n_per_class spread"),
    ("noisy_gaussians", options(n_per_class=0), "options.n_per_class: must be an integer >= 1, got 0"),
    ("noisy_gaussians", options(spread="std"), f"options.spread: must be one of {SPREADS}, got 'std'"),
    ("rotating_gaussians", options(deviation=0), "options.deviation: must be a number >= 1e-06, got 0"),
    ("rotating_gaussians", options(n_examples=3), "options.n_examples: must be even, half for each label, got 3"),
    ("unit_vectors", options(n_examples=1), "options.n_examples: must be an integer >= 2, got 1"),
    ("noisy_gaussians", options(n_per_class=True), "options.n_per_class: must be an integer >= 1, got True"),
    ("noisy_gaussians", options(n_per_class="5"), "options.n_per_class: must be an integer >= 1, got '5'"),
    ("own", {"task": "equal_splits", "balanced": True}, f"'balanced' goes {BINARY}"),
    ("own", {"positive": 3}, "positive: no example is labelled 3; the labels are: 1 2"),
    ("a9a", {"test": ("train",)}, f"test: part 'train' {LEARNED}"),
    ("a9a", {"parts": ("train", "test"), "test": ("test",)}, f"test: part 'test' {LEARNED}"),
])  # fmt: skip
def test_faults_are_told_before_and_by_the_stream(own, name, fields, told):
    wrong = spec(name, path=own if name == "own" else None, label="x", **fields)
    assert message(stream_info, wrong) == f"dataset 'x': {told}"
    assert message(open_stream, wrong, 0, 0) == f"dataset 'x': {told}"


def test_rotating_gaussians_turn():
    options = {"n_examples": 4000, "turns": 0.5, "deviation": 0.1}
    spec = DatasetSpec(name="rotating_gaussians", order="file", options=options)
    stream = open_stream(spec, seed=0, repetition=0)
    y = stream.tasks["-"]
    assert stream_info(spec).n_examples == stream.n_examples == 4000
    assert y.sum() == 0
    centres = [(y[part, None] * floats(stream.X)[part]).mean(axis=0) for part in (slice(0, 100), slice(-100, None))]
    np.testing.assert_allclose(centres[0], [1, 1], atol=0.1)
    np.testing.assert_allclose(centres[1], [-1, -1], atol=0.1)


def test_unit_vectors_come_in_turn():
    spec = DatasetSpec(name="unit_vectors", order="file", options={"n_examples": 50})
    stream = open_stream(spec, seed=0, repetition=0)
    X, y = floats(stream.X), stream.tasks["-"]
    assert stream_info(spec).n_examples == len(X) == 50
    np.testing.assert_array_equal(X, np.eye(21)[np.arange(50) % 21])
    np.testing.assert_array_equal(y[:22], [1, -1] * 10 + [1, 1])
    # Every vector keeps its label, so their sum, each with its own, is right by 1.
    np.testing.assert_array_equal(y * (X @ np.resize([1, -1], 21)), 1)


def test_the_friedman_function():
    X, y = GENERATORS["friedman"].draw(np.random.default_rng(0), 50, 0.0)
    x = X[7]
    assert y[7] == pytest.approx(10 * np.sin(np.pi * x[0] * x[1]) + 20 * (x[2] - 0.5) ** 2 + 10 * x[3] + 5 * x[4])


def test_the_mackey_glass_series_solves_its_equation(monkeypatch):
    """Windows overlap, the series stays in its known range, and smaller steps give the same at first."""
    X, y = GENERATORS["mackey_glass"].draw(np.random.default_rng(3), 400, 17, 7, 1, 0.0)
    np.testing.assert_array_equal(X[1:, -1], y[:-1])
    np.testing.assert_array_equal(X[1:, :-1], X[:-1, 1:])
    assert 0.2 < y.min() < 0.6
    assert 1.2 < y.max() < 1.5
    monkeypatch.setattr(generators, "_TRANSIENT", 0)
    whole, _ = GENERATORS["mackey_glass"].draw(np.random.default_rng(3), 900, 17, 7, 1, 0.0)
    assert whole[500:].tobytes() == X.tobytes()
    series = np.concatenate([X[0], y])
    # The integral of the right-hand side over a unit of time, by Simpson's rule on the samples, is the change.
    t = np.arange(40, 380)

    def slope(i):
        delayed = series[i - 17]
        return 0.2 * delayed / (1 + delayed**10) - 0.1 * series[i]

    change = (slope(t) + 4 * slope(t + 1) + slope(t + 2)) / 3
    np.testing.assert_allclose(series[t + 2] - series[t], change, atol=5e-3)


WHERE = "dataset 'd'"
TWO, EVEN = "exactly two labels, found", "an even number of labels, 2 to 12, found"
FEW = "2 to 1,000 labels, found"
FIRST = " ".join(map(str, range(20)))


def binary(classes, positive=None, default=None):
    return task_signs(classes, "binary", positive, default, WHERE)


def splits(classes):
    return task_signs(classes, "equal_splits", None, None, WHERE)


def test_ten_labels_have_126_complementary_splits():
    tasks = splits(range(10))
    assert len(tasks) == len({signs.tobytes() for signs in tasks.values()}) == 126
    assert list(tasks) == sorted(tasks)
    assert next(iter(tasks)) == "01234|56789"
    assert list(tasks)[-1] == "06789|12345"
    for name, signs in tasks.items():
        first, second = name.split("|")
        assert signs.dtype == np.int8
        assert signs[0] == 1
        assert sorted(first + second) == list("0123456789")
        assert [int(digit) for digit in first] == np.flatnonzero(signs == 1).tolist()
        assert [int(digit) for digit in second] == np.flatnonzero(signs == -1).tolist()


def test_splits_of_longer_labels_are_separated():
    assert list(splits([1, 2, 10, 11])) == ["1,2|10,11", "1,10|2,11", "1,11|2,10"]


@pytest.mark.parametrize("classes", [(0, 1), (1, 2), (-1, 1), (-3, 0.5)])
def test_of_two_labels_the_larger_is_positive(classes):
    assert {name: signs.tolist() for name, signs in binary(classes).items()} == {"-": [-1, 1]}


@pytest.mark.parametrize("classes", [(0, 1), ("aa", "b", "sil"), range(1000)])
def test_every_label_is_a_class_of_its_own(classes):
    tasks = task_signs(classes, "multiclass", None, None, WHERE)
    assert list(tasks) == ["-"]
    assert tasks["-"].dtype == np.int16
    assert tasks["-"].tolist() == list(range(len(classes)))
    # A card's choice of positive labels is for binary tasks.
    assert (task_signs(classes, "multiclass", None, [1], WHERE)["-"] == tasks["-"]).all()


@pytest.mark.parametrize("positive", [2, [2], (2,), "2", 2.0])
def test_positive_names_the_labels_that_become_plus_one(positive):
    assert binary((1, 2, 3), positive)["-"].tolist() == [-1, 1, -1]
    assert binary((1, 2, 3), None, [2])["-"].tolist() == [-1, 1, -1]
    assert binary((1, 2, 3), [1, 3], [2])["-"].tolist() == [1, -1, 1]


@pytest.mark.parametrize(("task", "classes", "positive", "fault"), [
    ("binary", (1, 2, 3), None, f"{TWO} 3: 1 2 3; name those that become +1, e.g. 'positive: 3'"),
    (
        "binary", range(6), None,
        f"{TWO} 6: 0 1 2 3 4 5; name those that become +1, e.g. 'positive: 5', or use 'task: equal_splits'",
    ),
    ("binary", (1,), None, f"{TWO} 1: 1; nothing can be learned from a single label"),
    ("binary", (1, 2), 3, "no example is labelled 3; the labels are: 1 2"),
    ("binary", (1, 2), "x", "no example is labelled 'x'; the labels are: 1 2"),
    ("binary", ("a", "b"), 3, "no example is labelled 3; the labels are: a b"),
    ("binary", (1, 2), [1, 2], "leaves no label for -1; the labels are: 1 2"),
    ("equal_splits", range(3), None, f"{EVEN} 3: 0 1 2; use 'task: binary' with 'positive'"),
    ("equal_splits", range(30), None, f"{EVEN} 30: {FIRST} ...; use 'task: binary' with 'positive'"),
    ("equal_splits", (1, 2), 1, "'positive' belongs to 'task: binary'; remove it or the 'task: equal_splits'"),
    ("multiclass", (1, 2), [1], "'positive' belongs to 'task: binary'; remove it or the 'task: multiclass'"),
    ("multiclass", ("a",), None, f"{FEW} 1: a; nothing can be learned from a single label"),
    ("multiclass", range(1001), None, f"{FEW} 1,001: {FIRST} ...; is the label a measured number?"),
])  # fmt: skip
def test_task_faults(task, classes, positive, fault):
    begin = "" if fault.startswith("'") else f"'task: {task}' needs " if positive is None else "positive: "
    assert message(task_signs, classes, task, positive, None, WHERE) == f"{WHERE}: {begin}{fault}"
