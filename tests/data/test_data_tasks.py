"""Which labels become +1."""

import numpy as np
import pytest
from faults import message

from budgetrun.data.streams import task_signs

WHERE = "dataset 'd'"
TWO, EVEN = "exactly two labels, found", "an even number of labels, 2 to 12, found"
FEW = "2 to 1,000 labels, found"
FIRST = " ".join(map(str, range(20)))


def binary(classes, positive=None, default=None):
    return task_signs(classes, "binary", positive, default, WHERE)


def codes(classes):
    return task_signs(classes, "multiclass", None, None, WHERE)


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
    tasks = codes(classes)
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


@pytest.mark.parametrize(
    ("task", "classes", "positive", "fault"),
    [
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
    ],
)  # fmt: skip
def test_task_faults(task, classes, positive, fault):
    begin = "" if fault.startswith("'") else f"'task: {task}' needs " if positive is None else "positive: "
    told = message(task_signs, classes, task, positive, None, WHERE)
    assert told == f"{WHERE}: {begin}{fault}"
