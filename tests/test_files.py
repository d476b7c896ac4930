"""Files are replaced as a whole, planted links are not followed, and texts cannot harm what shows them."""

import errno
import os
import pickle
import resource
import stat

import pytest
from faults import raises, raising

from budgetrun.base.errors import CannotWriteError, InputError, printable
from budgetrun.base.files import explained, make_folder, write
from budgetrun.base.grid import cell


def test_a_file_is_replaced_with_the_permissions_of_a_new_one(tmp_path):
    path = tmp_path / "a.csv"
    before = os.umask(0o027)
    try:
        write(path, "x\n")
        write(path, "é\n")
    finally:
        os.umask(before)
    assert path.read_bytes() == "é\n".encode()
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert os.listdir(tmp_path) == ["a.csv"]


def test_a_planted_link_is_replaced_and_never_followed(tmp_path, monkeypatch):
    victim = tmp_path / "victim"
    victim.write_text("mine")
    (tmp_path / "a.csv").symlink_to(victim)
    write(tmp_path / "a.csv", "new")
    assert not (tmp_path / "a.csv").is_symlink()
    # Not even under the temporary name, if somebody could guess it.
    monkeypatch.setattr("os.urandom", lambda _: b"guessed")
    (tmp_path / f".{b'guessed'.hex()}.{os.getpid()}.tmp").symlink_to(victim)
    raises(CannotWriteError, "File exists", write, tmp_path / "b.csv", "new")
    assert victim.read_text() == "mine"
    assert not (tmp_path / "b.csv").exists()


def test_a_file_that_does_not_fit_is_not_written(tmp_path):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    write(tmp_path / "a", "old")
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        raises(CannotWriteError, "a: cannot be written \\(File too large\\)", write, tmp_path / "a", "0" * 100_001)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert ((tmp_path / "a").read_text(), os.listdir(tmp_path)) == ("old", ["a"])


@pytest.mark.parametrize("call", ["open", "fsync", "replace"])
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO])
def test_a_failure_is_one_sentence_and_leaves_a_whole_file(tmp_path, monkeypatch, call, number):
    path = tmp_path / "a"
    write(path, "old")
    monkeypatch.setattr(os, call, raising(OSError(number, os.strerror(number))))
    with pytest.raises(CannotWriteError) as raised:
        write(path, "new")
    monkeypatch.undo()
    assert str(raised.value) == f"{path}: cannot be written ({os.strerror(number)})"
    assert (path.read_text(), os.listdir(tmp_path)) == ("old", ["a"])
    again = pickle.loads(pickle.dumps(raised.value))
    assert (str(again), again.reason) == (str(raised.value), os.strerror(number))


def test_a_folder_that_is_gone_or_a_file_is_one_sentence(tmp_path):
    with pytest.raises(CannotWriteError, match="gone/a: cannot be written \\(No such file or directory\\)"):
        write(tmp_path / "gone" / "a", "")
    (tmp_path / "file").touch()
    raises(CannotWriteError, "file: cannot be written \\(File exists\\)", make_folder, tmp_path / "file")
    with pytest.raises(CannotWriteError, match="a: cannot be written \\(no words\\)"), explained(tmp_path / "a"):
        raise OSError("no words")


def test_control_characters_become_their_escapes():
    text = "a\x1b[31m\r\x00\x9b\u202eb\ud800\tc\nd é 中 −"
    assert printable(text) == "a\\x1b[31m\\r\\x00\\x9b\\u202eb\\ud800\tc\nd é 中 −"
    assert str(InputError("a\x07b")) == "a\\x07b"


@pytest.mark.parametrize("text", ["=1+1", "+cmd|' /C calc'!A0", "-1+1", "@SUM(A1)", "\t=1", "\r=1", "--"])
def test_what_a_spreadsheet_would_execute_gets_an_apostrophe(text):
    assert cell(text) == f"'{text}"


@pytest.mark.parametrize("text", ["", "-", "-1", "-1.5e-07", "+2", "-inf", "rbp", "a=1", "0123|4567"])
def test_other_cells_stay(text):
    assert cell(text) == text
