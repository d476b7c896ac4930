"""The cards held against the real files."""

import os

import numpy as np
import pytest
import scipy.sparse

from budgetrun.config import DatasetSpec
from budgetrun.data import list_cards, open_stream, stream_info, verify
from budgetrun.data.dataset import load_card

pytestmark = [
    pytest.mark.realdata,
    pytest.mark.skipif("BUDGETRUN_DATA" not in os.environ, reason="BUDGETRUN_DATA names no folder of real data"),
]
REAL = [card for card in list_cards() if card.files]


@pytest.mark.parametrize("card", REAL, ids=lambda card: card.name)
def test_every_file_has_its_checksum(card):
    assert {state for _, _, state in verify(card)} == {"ok"}


@pytest.mark.parametrize(
    ("card", "part"), [(card, part) for card in REAL for part in card.files], ids=lambda v: getattr(v, "name", v)
)
def test_every_part_has_the_counts_of_its_card(card, part):
    dataset = load_card(card, (part,))
    assert dataset.X.shape == (card.n_examples[part], card.n_features)
    assert dict(zip(dataset.classes, np.bincount(dataset.codes), strict=True)) == card.labels[part]
    if scipy.sparse.issparse(dataset.X):
        assert dataset.X.nnz == card.nnz[part]
        assert dataset.X.indices.dtype == np.int32
    else:
        assert not card.nnz


def test_usps_is_9298_images_in_zero_to_one():
    stream = open_stream(DatasetSpec(name="usps", task="equal_splits", scale="unit_norm"), 0, 0)
    assert stream.X.shape == (9298, 256)
    assert stream.X.min() == 0
    np.testing.assert_allclose(np.linalg.norm(stream.X, axis=1), 1)
    assert len(stream.tasks) == 126
    raw = open_stream(DatasetSpec(name="usps", task="equal_splits"), 0, 0).X
    assert (raw.min(), raw.max()) == (0, 1)


def test_census_income_balances_to_all_of_the_smaller_class():
    spec = DatasetSpec(name="census_income", balanced=True, scale="unit_norm")
    stream = open_stream(spec, 0, 0)
    assert stream.X.shape == (2 * 12_382, 510)
    assert stream.tasks["-"].sum() == 0
    info = stream_info(spec)
    assert (info.n_examples, info.n_features) == stream.X.shape
    # 33 ones a row, and the 7 numbers in [0, 1] that are not 0.
    raw = open_stream(DatasetSpec(name="census_income", n_examples=5000), 0, 0).X
    assert np.diff(raw.indptr).min() >= 33
    assert np.bincount(np.repeat(np.arange(5000), np.diff(raw.indptr))[raw.data == 1]).min() >= 33
    assert (raw.data.min() > 0) & (raw.data.max() == 1)


def test_train_followed_by_test_in_file_order():
    both = open_stream(DatasetSpec(name="a9a", parts=("train", "test"), order="file"), 0, 0)
    train = open_stream(DatasetSpec(name="a9a", order="file"), 0, 0)
    assert both.X.shape == (48_842, 123)
    assert (both.X[:32_561] != train.X).nnz == 0
    assert (both.tasks["-"][:32_561] == train.tasks["-"]).all()


def test_w8a_keeps_its_zero_rows():
    stream = open_stream(DatasetSpec(name="w8a", scale="unit_norm"), 0, 0)
    assert (np.diff(stream.X.indptr) == 0).sum() == 4203
    assert np.isfinite(stream.X.data).all()


def test_covtype_is_class_two_against_the_rest():
    stream = open_stream(DatasetSpec(name="covtype_92962"), 0, 0)
    assert (stream.tasks["-"] == 1).sum() == 45_328
