"""The arrays that a sweep left in ``curves/``: a file a job."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

# What a file that was not written to its end, was damaged, or has other arrays raises.
_TORN = (OSError, EOFError, KeyError, ValueError, zipfile.BadZipFile, zlib.error)


def read_parts(folder: Path, names: Sequence[str]) -> Iterator[tuple[Path, dict[str, np.ndarray]]]:
    """Yield the path and the named arrays of each file that has them all; a torn file counts as none.

    Parameters
    ----------
    folder : Path
        Of the files; it need not exist.
    names : sequence of str
        E.g. ``run_id``, shape (runs,), and ``mistakes``, shape (runs, n).
    """
    for path in sorted(folder.glob("*.npz")):
        try:
            # numpy leaves a file open that it takes for torn.
            with path.open("rb") as file, np.load(file) as data:
                arrays = {name: data[name] for name in names}
        except _TORN:
            continue
        yield path, arrays
