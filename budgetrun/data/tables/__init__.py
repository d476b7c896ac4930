"""Users' own data: any common format, data frames and arrays, as blocks of examples in bounded memory."""

import hashlib
import os
import re
import shutil
import sys
import tempfile
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from budgetrun.base.errors import InputError, clipped, say
from budgetrun.base.files import PARQUET, is_file, is_url
from budgetrun.config.schema import Label
from budgetrun.data import formats
from budgetrun.data.content import File, Memory, Origin, Parts, Pipe, Stamp, bare_name, read_content, reason, shown_path
from budgetrun.data.formats import Content, Layout
from budgetrun.data.tables.arrow import Frame, Ipc, Parquet
from budgetrun.data.tables.columns import Reader, Vectors, labels_of
from budgetrun.data.tables.encode import Missing
from budgetrun.data.tables.jsonlines import JsonLines
from budgetrun.data.tables.table import Chunk, Scan, Table
from budgetrun.kernels.kinds import floats

__all__ = ["Chunk", "Scan", "Table", "open_table"]
SUFFIXES = {
    **dict.fromkeys(PARQUET, "parquet"), ".feather": "ipc", ".arrow": "ipc",
    ".ipc": "ipc", ".arrows": "ipc", ".jsonl": "jsonl", ".ndjson": "jsonl", ".npy": "npy", ".xlsx": "excel",
}  # fmt: skip
# First bytes of formats.
_MAGIC = {
    b"PAR1": "parquet", b"ARROW1": "ipc", b"\xff\xff\xff\xff": "ipc", b"\x93NUMPY": "npy", b"PK\x03\x04": "npz",
    b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\xfd7zXZ\x00": "xz", b"\x89HDF": "HDF5", b"SQLite format 3": "SQLite",
    b"FEA1": "Feather of version 1", b"ORC": "ORC", b"Obj\x01": "Avro", b"\x80\x04": "pickle", b"\x80\x05": "pickle",
    b"%PDF": "PDF", b"MATLAB": "MATLAB", b"[": "JSON", b"@relation": "ARFF", b"@RELATION": "ARFF",
}  # fmt: skip
_OTHERS = {
    ".xls", ".ods", ".json", ".pkl", ".pickle", ".h5", ".hdf5", ".mat", ".arff", ".orc", ".avro",
    ".sqlite", ".db", ".dta", ".sav", ".sas7bdat", ".rds", ".rdata", ".xml", ".html", ".yaml", ".yml", ".pdf", ".png",
    ".jpg", ".zst", ".7z", ".tar", ".tgz", ".joblib", ".pt", ".py", ".ipynb",
}  # fmt: skip
SUPPORTED = (
    "supported are CSV and TSV, Parquet, Feather and Arrow IPC, JSON lines, LIBSVM text, Excel (.xlsx), .npy and .npz, "
    "each also as .gz, .bz2, .xz or .zip"
)
_LIBSVM = re.compile(rb"\s*[-+.\deE]+([ \t]+\d+:\S+)+[ \t]*\r?(\n|$)")


def open_table(
    source: Any,
    *,
    label: str | int | None = None,
    missing: Missing = "refuse",
    name: str | None = None,
    classes: Sequence[Label] | None = None,
    encoding: dict[str, Any] | None = None,
    continued: bool = False,
    key: str | None = None,
) -> Table:
    """Open a user's own data as a table of examples and labels.

    Parameters:
    source : path, '-', binary file, data frame, array, sparse matrix, or pair of examples and labels
        A file's format follows from its suffix, otherwise from its content; ``-`` is standard input. A folder holds
        the parts of one Parquet table; URLs are those of fsspec. Data frames are those of pandas, polars, Arrow and
        others that narwhals knows. In an array alone, the labels are a column.
    label : str, int or None
        The column of the labels: a name, a number from 1 (or from -1 for the last), ``first`` or ``last``. None finds
        it: by a usual name, else the only column of text, else the last or first one if exactly one of them has few
        different values. LIBSVM text, and pairs, need none. A column of a name such as ``id`` or ``index`` whose
        numbers count is left out.
    missing : 'refuse', 'skip', 'zero' or 'fill'
        Treatment of missing values: an error, leave the row out, read 0, or fill: a category of its own in columns of
        text; in columns of numbers the mean of the values before it, with one more feature per column that tells
        whether the value is missing. From a pipe, columns whose first rows have no gap lack that feature. A missing
        label is never read as 0; with fill, its row is left out.
    name : str or None
        The name of the source in messages; None for its path.
    classes : sequence of labels or None
        All labels in advance; empty, if labels are measured numbers instead. Without it, the labels of a pipe are
        those of its first rows.
    encoding : dict or None
        `Table.encoding` of another table: this one gets the same features in the same order, and the same classes.
        Missing values are filled with the means of that table.
    continued : bool
        The source goes on with the stream of the encoding: its values count for the means.
    key : str or None
        A column that is left out, and whose texts come with the examples.

    Raises InputError: it cannot be read, its format is not supported, or not exactly one column could be the label.
    """
    if missing not in ("refuse", "skip", "zero", "fill"):
        raise InputError(f"missing: must be refuse, skip, zero or fill, got {missing!r}")
    if isinstance(source, str | os.PathLike) or hasattr(source, "read"):
        opened = _file(source, name)
    else:
        opened, label = _memory(source, label, name or "the data", encoding is not None and "n_features" in encoding)
    return Table(opened, label, missing, classes, encoding, continued, key)


def _file(source: Any, name: str | None) -> Reader:
    origin: Origin
    if hasattr(source, "read"):
        origin = Pipe(source, name or "the data")
    elif str(source) == "-":
        origin = Pipe(sys.stdin.buffer, name or "standard input")
    elif is_url(str(source)):
        origin = Fetched(str(source), name)
    elif is_table(Path(source)):
        origin = origin_of(Path(source), name)
    else:
        raise InputError(f"{source}: no such file")
    kind = format_of(origin)
    if reader := reader_of(kind):
        return reader(origin)
    assert isinstance(origin, File)
    content = read_content(origin.path)
    examples = formats.all_formats()[kind].read([Content(content, origin.name)], Layout())
    origin.sha256 = hashlib.sha256(content).hexdigest()
    return Vectors(floats(examples.X), examples.y, origin, formats.revision(kind))


class Fetched(File):
    """A temporary copy of what is at a URL."""

    def __init__(self, url: str, name: str | None = None) -> None:
        folder = tempfile.mkdtemp(prefix="budgetrun-")
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        try:
            from fsspec.core import url_to_fs

            files, place = url_to_fs(url)
            copy = Path(folder, Path(urlsplit(place).path).name or "data")
            files.get_file(place, str(copy))
        except ImportError as error:
            raise InputError(
                f"{url}: reading URLs needs more packages ({error}); type pip install 'budgetrun[remote]', or "
                "download the file first"
            ) from None
        except FileNotFoundError as error:
            raise InputError(f"{url}: no such file") from error
        except Exception as error:
            told = " ".join(f"{type(error).__name__}: {error}".split())[:200]
            raise InputError(f"{url}: cannot be read ({told}); download the file first") from error
        super().__init__(copy, name or url)
        if self.head(1 << 10).lstrip().lower().startswith((b"<!doctype html", b"<html")):
            raise InputError(f"{url}: a web page; give the address of the file itself")


def is_table(path: Path) -> bool:
    """Return whether there is a file or a folder, whose files are parts of one table."""
    return os.path.isdir(path) or is_file(path)  # false for names that no file can have


def origin_of(path: Path, name: str | None = None) -> File | Parts:
    """Return the bytes of a file, or of the parts in a folder."""
    return Parts(_parts_of(path), name or shown_path(path)) if path.is_dir() else File(path, name)


def stamp_of(path: Path) -> Stamp:
    """Return the stamp of a file, or of all parts in a folder."""
    return Stamp(path, path.name, tuple(number for file in origin_of(path).files for number in file.stamp.state))


def _parts_of(folder: Path) -> list[Path]:
    """Return the Parquet files of a folder in the order of their names; those that begin with . or _ do not count."""
    paths = [path for path in sorted(folder.rglob("*")) if path.name[0] not in "._" and is_file(path)]
    others = [path for path in paths if path.suffix not in PARQUET]
    if not paths or others:
        what = f"not {shown_path(others[0])}" if others else "and this one has none"
        raise InputError(f"{shown_path(folder)}: a folder; it may hold Parquet files, {what}; give the path of a file")
    return paths


def _excel(origin: Any) -> Frame:
    import pandas as pd

    try:
        with pd.ExcelFile(origin.file()) as book:
            frame, sheets = pd.read_excel(book), book.sheet_names
    except ImportError as error:
        raise InputError(
            f"{origin.name}: Excel files need openpyxl; type pip install 'budgetrun[excel]', or save the sheet as CSV"
        ) from error
    except Exception as error:
        told = reason(error)
        raise InputError(f"{origin.name}: not a readable Excel file ({told}); save the sheet as CSV") from error
    frame.columns = frame.columns.map(str)
    for name in frame.columns:
        if frame[name].dtype.kind == "O" and frame[name].dropna().map(type).nunique() > 1:
            # A word among numbers makes all cells of its column text, as in a CSV file.
            frame[name] = frame[name].map(str, na_action="ignore")
    if not len(frame):
        raise InputError(f"{origin.name}: no rows in the first sheet")
    if len(sheets) > 1:
        say(f"{origin.name}: only the first of its {len(sheets)} sheets is read, {clipped(str(sheets[0]))}")
    return Frame(frame, origin)


def _memory(source: Any, label: Any, where: str, as_vectors: bool) -> tuple[Reader, Any]:
    """Return the reader of data in memory, and the column of the labels."""
    X, y = source if isinstance(source, tuple) and len(source) == 2 else (source, None)
    if isinstance(X, list):
        X = np.asarray(X)
    is_sparse = hasattr(X, "tocsr")
    if isinstance(X, np.ndarray) or is_sparse:
        are_numbers = X.dtype.kind in "biuf"
        if X.ndim != 2 or not (are_numbers or (X.dtype.kind in "OUT" and not is_sparse)):
            found = f"an array of shape {X.shape} and type {X.dtype}"
            raise InputError(f"{where}: {found}; rows of numbers or text are needed")
        if are_numbers and (is_sparse or y is not None or as_vectors):
            return Vectors(X.tocsr() if is_sparse else X, y, Memory(where)), label
    elif not any(hasattr(type(X), name) for name in ("columns", "__dataframe__", "__narwhals_dataframe__")):
        raise InputError(
            f"{where}: {type(X).__name__} is not a table; pass a path, a data frame, an array, a sparse matrix, or a "
            "pair of examples and labels"
        )
    origin = Memory(where)
    return (Frame(X, origin), label) if y is None else (Frame(X, origin, labels_of(y, where)), "last")


def _npy(origin: Origin) -> Frame:
    from budgetrun.data.formats.npz import array_of

    try:
        file = origin.file()
        array = np.load(file, mmap_mode="r") if isinstance(file, Path) else array_of(file.getvalue())
    except (OSError, ValueError, EOFError, KeyError, OverflowError) as error:
        raise InputError(f"{origin.name}: not a complete .npy array of numbers ({reason(error)})") from error
    if array.ndim != 2 or array.dtype.kind not in "biuf":
        raise InputError(
            f"{origin.name}: an array of shape {array.shape} and type {array.dtype}; rows of numbers are needed, of "
            "which one is the label (or an .npz archive with X and y)"
        )
    return Frame(array, origin)


READERS: dict[str, Callable[[Any], Reader]] = {
    "jsonl": JsonLines, "parquet": Parquet, "ipc": Ipc, "npy": _npy, "excel": _excel,
}  # fmt: skip


def reader_of(kind: str) -> Callable[[Any], Reader] | None:
    """Return what reads a format in batches; None if it reads a file as a whole."""
    return READERS.get(kind) or getattr(formats.all_formats()[kind], "READER", None)


def format_of(origin: Origin) -> str:
    """Return the format of a source: a key of `READERS`, or a module of `budgetrun.data.formats`."""
    if isinstance(origin, Parts):
        return "parquet"
    suffix = Path(bare_name(origin.path.name)).suffix.lower() if isinstance(origin, File) else ""
    head = origin.head(1 << 16)
    whole = formats.all_formats()
    claiming = [kind for kind, module in whole.items() if suffix in module.SUFFIXES]
    if suffix in SUFFIXES or claiming:
        return SUFFIXES.get(suffix) or claiming[0]
    text = head.removeprefix(b"\xef\xbb\xbf")
    magic = next((kind for begin, kind in _MAGIC.items() if text.lstrip().startswith(begin)), None)
    if suffix in _OTHERS or (magic is not None and magic not in READERS and magic not in whole):
        told = suffix if suffix in _OTHERS else magic
        if isinstance(origin, Pipe) and magic in ("gzip", "bzip2", "xz"):
            advice = f"give the path of the file, or pipe it through {magic} -dc"
            raise InputError(f"{origin.name}: compressed ({magic}); {advice}")
        raise InputError(f"{origin.name}: format not supported ({told}); {SUPPORTED}")
    if magic is not None:
        if isinstance(origin, File) or (magic == "ipc" and not text.startswith(b"ARROW1")):
            return magic
        given = "a pipe gives CSV, an Arrow IPC stream, JSON lines or LIBSVM text"
        what = "npz, Excel or zip" if magic == "npz" else magic
        raise InputError(f"{origin.name}: {given}, not {what}; give the path of the file")
    if text.lstrip().startswith(b"{"):
        return "jsonl"
    if _LIBSVM.match(text):
        return "libsvm"
    sniffing = (kind for kind, module in whole.items() if hasattr(module, "sniff") and module.sniff(text))
    if isinstance(origin, File) and (found := next(sniffing, None)):
        return found
    if b"\0" in text:
        raise InputError(f"{origin.name}: format not supported (not text); {SUPPORTED}")
    return "csv"
