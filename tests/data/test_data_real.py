"""The cards held against the real files."""

import os

import numpy as np
import pytest
import scipy.sparse
from cases import EXHAUSTIVE

from budgetrun.config.schema import DatasetSpec
from budgetrun.data import card, list_cards, open_stream, stream_info, verify
from budgetrun.data.dataset import Source
from budgetrun.kernels.kinds import floats

pytestmark = [
    pytest.mark.realdata,
    pytest.mark.usefixtures("read_once"),
    pytest.mark.skipif("BUDGETRUN_DATA" not in os.environ, reason="BUDGETRUN_DATA names no folder of real data"),
]
REAL = [card for card in list_cards() if card.files and card.has_checksums(tuple(card.files))]
UNVERIFIED = [card for card in list_cards() if not card.has_checksums(tuple(card.files))]


# Those that other tests read are verified there.
@pytest.mark.parametrize("card", [c for c in REAL if EXHAUSTIVE or c.name == "cod_rna"], ids=lambda card: card.name)
def test_every_file_has_its_checksum(card):
    assert {state for _, _, state in verify(card)} == {"ok"}


@pytest.mark.parametrize(
    ("card", "part"),
    # Reading all of them takes long.
    [(card, part) for card in REAL for part in card.files if EXHAUSTIVE or card.name == "phishing"],
    ids=lambda v: getattr(v, "name", v),
)
def test_every_part_has_the_counts_of_its_card(card, part):
    found = Source(DatasetSpec(name=card.name), card, (part,)).load()
    assert found.X.shape == (card.n_examples[part], card.n_features)
    assert dict(zip(found.classes, np.bincount(found.codes), strict=True)) == card.labels[part]
    if scipy.sparse.issparse(floats(found.X)):
        assert floats(found.X).nnz == card.nnz[part]
        assert floats(found.X).indices.dtype == np.int32
    else:
        assert not card.nnz


@pytest.mark.parametrize("card", UNVERIFIED, ids=lambda card: card.name)
def test_what_has_no_checksum_is_what_its_card_says(card):
    parts = tuple(card.files)
    if {state for _, _, state in verify(card)} != {"unverified"}:
        pytest.skip("not here")
    found = Source(DatasetSpec(name=card.name), card, parts).load()
    assert found.X.shape == (sum(card.n_examples.values()), card.n_features)


def test_usps_is_9298_images_in_zero_to_one():
    stream = open_stream(DatasetSpec(name="usps", task="equal_splits", scale="unit_norm"), 0, 0)
    assert stream.X.shape == (9298, 256)
    assert floats(stream.X).min() == 0
    np.testing.assert_allclose(np.linalg.norm(floats(stream.X), axis=1), 1)
    assert len(stream.tasks) == 126
    raw = floats(open_stream(DatasetSpec(name="usps", task="equal_splits"), 0, 0).X)
    assert (raw.min(), raw.max()) == (0, 1)


def test_census_income_balances_to_all_of_the_smaller_class():
    stream = open_stream(DatasetSpec(name="census_income", balanced=True, scale="unit_norm"), 0, 0)
    assert stream.X.shape == (2 * 12_382, 510)
    assert stream.tasks["-"].sum() == 0
    # 33 ones a row, and the 7 numbers in [0, 1] that are not 0.
    raw = floats(open_stream(DatasetSpec(name="census_income", n_examples=5000), 0, 0).X)
    assert np.diff(raw.indptr).min() >= 33
    assert np.bincount(np.repeat(np.arange(5000), np.diff(raw.indptr))[raw.data == 1]).min() >= 33
    assert (raw.data.min() > 0) & (raw.data.max() == 1)


def test_w8a_keeps_its_zero_rows():
    stream = open_stream(DatasetSpec(name="w8a", scale="unit_norm"), 0, 0)
    assert (np.diff(floats(stream.X).indptr) == 0).sum() == 4203
    assert np.isfinite(floats(stream.X).data).all()


DIGITS = [("usps", (7291, 2007)), ("mnist", (60_000, 10_000))]


@pytest.mark.parametrize(("name", "sizes"), DIGITS if EXHAUSTIVE else DIGITS[:1])
def test_digits_as_ten_classes_with_a_test_part(name, sizes):
    spec = DatasetSpec(name=name, task="multiclass", parts=("train",), test=("test",), scale="unit_norm")
    info = stream_info(spec)
    assert (info.n_examples, info.n_test) == sizes
    assert (info.n_classes, info.classes) == (10, list(range(10)))
    stream = open_stream(spec, 0, 0)
    known = card(name)
    for part, opened in (("train", stream), ("test", stream.test)):
        X, codes = floats(opened.X), opened.tasks["-"]
        assert len(X) == len(codes) == known.n_examples[part]
        assert codes.dtype == np.int16
        assert np.bincount(codes).tolist() == list(known.labels[part].values())
        np.testing.assert_allclose(np.linalg.norm(X, axis=1), 1)
