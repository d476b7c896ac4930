"""The formats as a whole: adding one is adding a file."""

import gzip
import sys

import pytest
from faults import message

from budgetrun.config.schema import DatasetSpec
from budgetrun.data import card, formats, open_stream, stream_info
from budgetrun.data.dataset import load_own
from budgetrun.kernels.kinds import floats

PAIRS = '''
import numpy as np

from budgetrun.data.formats import Examples

REVISION = 3
SUFFIXES = (".pairs",)


def read(files, layout):
    """Read lines such as ``7=2``, the label last."""
    values = np.array([line.split(b"=") for file in files for line in file.content.split()], dtype=float)
    return Examples(values[:, :1], values[:, 1])


def sniff(head):
    return b"=" in head
'''


@pytest.fixture
def pairs(tmp_path, monkeypatch):
    """A format that is nothing but a new file in the folder of formats."""
    folder = tmp_path / "formats"
    folder.mkdir()
    (folder / "pairs.py").write_text(PAIRS)
    monkeypatch.setattr(formats, "__path__", [*formats.__path__, str(folder)])
    yield
    sys.modules.pop("budgetrun.data.formats.pairs", None)


@pytest.mark.usefixtures("pairs")
@pytest.mark.parametrize("name", ["own.pairs", "own.pairs.gz", "own", "own.txt"])
def test_a_new_file_reads_users_own_files(tmp_path, name):
    path = tmp_path / name
    path.write_bytes((gzip.compress if name.endswith(".gz") else bytes)(b"7=2\n9=1\n"))
    dataset = load_own(path, "")
    assert floats(dataset.X).tolist() == [[7], [9]]
    assert dataset.classes == (1, 2)
    assert stream_info(DatasetSpec(name="own", path=path)).readers == ["pairs 3"]


@pytest.mark.usefixtures("pairs")
def test_a_new_file_reads_the_files_of_cards(made):
    contents = {"train": {"a": b"7=2\n", "b": b"9=1\n"}}
    made.place(made.add("new", contents, {"train": {1: 1, 2: 1}}, format="pairs", n_features=1))
    stream = open_stream(DatasetSpec(name="new", order="file"), 0, 0, made.data)
    assert floats(stream.X).tolist() == [[7], [9]]
    assert stream.tasks["-"].tolist() == [1, -1]
    assert stream_info(DatasetSpec(name="new"), made.data).readers == ["pairs 3"]


def test_a_card_in_an_unknown_format(made):
    made.add("new", {"train": {"a": b"7=2\n"}}, {"train": {2: 1}}, format="pairs", n_features=1)
    assert message(card, "new") == (
        f"{made.cards / 'new.yaml'}: not a dataset card: format: unknown 'pairs'; "
        "known: census_income csv idx libsvm npz zip_digit_pairs zip_digits generated"
    )


def test_every_format_has_its_revision():
    names = ["census_income", "csv", "idx", "libsvm", "npz", "zip_digit_pairs", "zip_digits"]
    assert [formats.revision(name) for name in formats.all_formats()] == [f"{name} 1" for name in names]


def test_no_two_formats_claim_one_suffix():
    claimed = [suffix for module in formats.all_formats().values() for suffix in module.SUFFIXES]
    assert sorted(claimed) == [".csv", ".libsvm", ".npz", ".svm", ".tsv"]


def test_pairs_of_digits_are_tasks():
    files = [formats.Content(b"6 -1 0.5\n5 0.25 1\n0 1 1\n", "digits")]
    read = formats.all_formats()["zip_digit_pairs"].read(files, formats.Layout(n_features=3))
    assert read.X.tolist() == [[0, 0.75, 3], [0.625, 1, 2], [1, 1, 0]]
    assert read.y.tolist() == [0, 1, 0]
