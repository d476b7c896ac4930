"""Every reader on damaged files: it refuses with one sentence, or reads what a slow strict reader reads."""

import bz2
import gzip
import io
import lzma
import zipfile
import zlib

import numpy as np
import pytest
import strict
from damage import TOKENS, damaged
from data import made_files
from hypothesis import given
from hypothesis import strategies as st
from sentences import one_sentence, or_one_sentence

from budgetrun.base.errors import InputError
from budgetrun.config.schema import DatasetSpec
from budgetrun.data import dataset, formats
from budgetrun.data.content import read_content
from budgetrun.kernels.kinds import floats

pytestmark = pytest.mark.faults

COMPRESS = {suffix: compress for suffix, compress in made_files.COMPRESS.items() if suffix}
DECOMPRESS = {".gz": gzip.decompress, ".bz2": bz2.decompress, ".xz": lzma.decompress}


def read(name, contents):
    """Return the examples that a format reads, or None if it refuses them with one sentence."""
    files = [formats.Content(content, f"file{at}") for at, content in enumerate(contents)]
    with or_one_sentence():
        return formats.all_formats()[name].read(files, formats.Layout())


def agree(examples, expected):
    """Check that examples are those of a strict reader."""
    rows, labels = expected
    assert examples.y.tolist() == labels
    X = given = floats(examples.X)
    if isinstance(rows, dict):
        assert X.shape == (len(labels), rows["width"])
        X = np.asarray(X[:, rows["used"]] if isinstance(X, np.ndarray) else X.tocsc()[:, rows["used"]].toarray())
        nnz = np.count_nonzero(given) if isinstance(given, np.ndarray) else given.nnz
        assert given.size == 0 or np.count_nonzero(rows["rows"]) == nnz
        rows = rows["rows"]
    X = X if isinstance(X, np.ndarray) else X.toarray()
    assert np.isfinite(X).all()
    assert X.tolist() == rows


def test_every_format_of_users_has_valid_files_and_a_strict_reader_here():
    of_users = {name for name, module in formats.all_formats().items() if module.SUFFIXES}
    assert strict.VALID.keys() == strict.READERS.keys() == of_users
    for name, cases in strict.VALID.items():
        for contents in cases:
            agree(read(name, contents), strict.READERS[name](contents))


@pytest.mark.parametrize("name", sorted(formats.all_formats()))
@given(data=st.data())
def test_a_damaged_file_is_refused_or_read_strictly(name, data):
    # Those of catalogued datasets, whose files have checksums, are tried on the files of the others.
    cases = strict.VALID.get(name) or [contents for cases in strict.VALID.values() for contents in cases]
    contents = list(data.draw(st.sampled_from(cases)))
    at = data.draw(st.integers(0, len(contents) - 1))
    contents[at] = data.draw(damaged(contents[at]))
    examples = read(name, contents)
    if examples is not None and name in strict.READERS:
        agree(examples, strict.READERS[name](contents))


DTYPES = ("<f8", ">f8", "<f4", "<f2", "<i8", ">i4", "u1", "?", "<U2", "S3", "<c16", "<M8[s]", "<f16", "V4")


@st.composite
def archives(draw):
    """Draw an .npz archive whose arrays are of any kind and whose members may be damaged, with right checksums."""
    (content,) = draw(st.sampled_from(strict.VALID["npz"]))
    members = made_files.members_of(io.BytesIO(content))
    for name in draw(st.lists(st.sampled_from(("X", "y", "data", "indices", "indptr", "shape", "format")), max_size=3)):
        other = draw(st.sampled_from(("array", "damage", "drop")))
        if other == "array":
            shape = draw(st.lists(st.integers(0, 3), max_size=3))
            values = np.array(draw(st.lists(st.integers(0, 4), min_size=27, max_size=27)))[: int(np.prod(shape))]
            array = np.resize(values, shape).astype("i8").astype(draw(st.sampled_from(DTYPES[:-1])))
            members[f"{name}.npy"] = made_files.saved(np.save, array)
        elif other == "damage" and f"{name}.npy" in members:
            members[f"{name}.npy"] = draw(damaged(members[f"{name}.npy"]))
        else:
            members.pop(f"{name}.npy", None)
    return made_files.zip_of(members, draw(st.sampled_from((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))))


@given(content=archives())
def test_an_archive_of_strange_arrays_is_refused_or_read_strictly(content):
    examples = read("npz", [content])
    if examples is not None:
        agree(examples, strict.npz([content]))


@pytest.mark.parametrize("suffix", COMPRESS)
@given(data=st.data())
def test_a_damaged_compressed_file_is_refused_or_read_to_its_last_byte(suffix, data, tmp_path_factory):
    pieces = data.draw(st.lists(st.binary(max_size=200), min_size=1, max_size=3))
    streams = [COMPRESS[suffix](piece) for piece in pieces]
    stored = data.draw(damaged(b"".join(streams), most=2))
    path = tmp_path_factory.getbasetemp() / f"damaged{suffix}"
    path.write_bytes(stored)
    try:
        content = read_content(path)
    except InputError as error:
        one_sentence(error)
        return
    # Every stream has a checksum, so what is read are whole streams of those above, up to the last byte.
    expected, rest = b"", stored
    whole = list(zip(streams, pieces, strict=True))
    while found := [pair for pair in whole if rest and _is_stream(suffix, rest[: len(pair[0])], pair[1])]:
        stream, piece = found[0]
        expected += piece
        padded = rest[len(stream) :]
        rest = padded if suffix == ".bz2" else padded.lstrip(b"\0")
        assert suffix != ".xz" or (len(padded) - len(rest)) % 4 == 0
    assert content == expected
    assert not rest


def _is_stream(suffix, stored, piece):
    """Return True if a stream decompresses to a piece; a few bits of a header, or of the last byte, mean nothing."""
    try:
        return DECOMPRESS[suffix](stored) == piece
    except (EOFError, OSError, ValueError, lzma.LZMAError, zlib.error):
        return False


@given(data=st.data())
def test_a_users_own_file_is_refused_or_read(data, tmp_path_factory):
    name = data.draw(st.sampled_from(sorted(strict.VALID)))
    content = data.draw(st.sampled_from([*strict.VALID[name][0], *TOKENS, b""]))
    stored = data.draw(st.one_of(st.just(content), damaged(content), st.binary(max_size=64)))
    suffix = data.draw(st.sampled_from(["", ".txt", ".csv", ".tsv", ".svm", ".libsvm", ".npz", ".idx"]))
    compression = data.draw(st.sampled_from(["", "", *COMPRESS]))
    path = tmp_path_factory.getbasetemp() / f"own{suffix}{compression}"
    path.write_bytes(COMPRESS[compression](stored) if compression else stored)
    try:
        loaded = dataset.Source(DatasetSpec(name="own", path=path)).load()
    except InputError as error:
        one_sentence(error)
        return
    n, d = loaded.X.shape
    assert n == len(loaded.codes) > 0
    assert d > 0
    X = floats(loaded.X)
    assert np.isfinite(X if isinstance(X, np.ndarray) else X.data).all()
    assert sum(loaded.counts.values()) == n
