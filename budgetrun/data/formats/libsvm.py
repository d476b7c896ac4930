"""LIBSVM text: ``label index:value index:value ...``, one example per line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from budgetrun.data.formats import Content, Examples, Layout, Matrix, joined
from budgetrun.data.text import NUMERIC_BYTES, number_fault, parse_numbers, shown, uniform
from budgetrun.errors import InputError

if TYPE_CHECKING:
    from scipy.sparse import csr_array

REVISION = 1
SUFFIXES = (".libsvm", ".svm")
# With at most so many features, or so large a share of non-zero values, products are cheaper with a dense matrix.
DENSE_FEATURES = 64
DENSE_SHARE = 0.5

_DIGIT, _SIGN, _COLON, _BLANK, _NEWLINE, _ALIEN = range(6)
_KIND = np.full(256, _ALIEN, dtype=np.uint8)
_KIND[list(NUMERIC_BYTES)] = _SIGN
_KIND[list(b"0123456789")] = _DIGIT
_KIND[list(b" \t")] = _BLANK
_KIND[ord(":")] = _COLON
_KIND[ord("\n")] = _NEWLINE
_MAX_INDEX = 2**31 - 1


def read(files: Sequence[Content], layout: Layout) -> Examples:
    """Read LIBSVM text; without a card, the number of features is the largest index found."""
    X, y, _ = joined([parse_libsvm(*file, layout.n_features) for file in files])
    return Examples(_dense_if_cheaper(X), y, open_ended=layout.n_features is None)


def sniff(head: bytes) -> bool:
    """Tell LIBSVM text from a table by its colons."""
    return b":" in head


def _dense_if_cheaper(X: csr_array) -> Matrix:
    n, d = X.shape
    return X.toarray() if d <= DENSE_FEATURES or X.nnz >= DENSE_SHARE * n * d else X


def parse_libsvm(content: bytes, where: str, n_features: int | None = None) -> tuple[csr_array, NDArray[np.float64]]:
    """Parse LIBSVM text: indices from 1, ascending, no index twice on a line, all numbers finite.

    A line with nothing but a label is an all-zero example. Values written as 0 are not stored.

    Parameters
    ----------
    content : bytes
        The decompressed text.
    where : str
        The file's name, for messages.
    n_features : int or None
        The number of features d; None takes the largest index of the file.

    Returns
    -------
    X : csr_array, shape (n, d), float64, int32 indices, sorted
    y : ndarray, shape (n,), float64
        The labels as written.

    Raises
    ------
    InputError
        Names the file and the line of the first fault.
    """
    content = uniform(content)
    parsed = _parse(content, n_features or _MAX_INDEX)
    if parsed is None:
        raise InputError(_first_fault(content, where, n_features))
    indptr, indices, values, labels = parsed

    from scipy.sparse import csr_array

    width = n_features or int(indices.max(initial=1))
    X = csr_array((values, indices - np.int32(1), indptr), shape=(len(labels), width))
    X.eliminate_zeros()
    return X, labels


def _parse(
    content: bytes, max_index: int
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64], NDArray[np.float64]] | None:
    """Return indptr, indices from 1, values and labels; None if the text has any fault."""
    kinds = _KIND[np.frombuffer(content, dtype=np.uint8)]
    if kinds.max() == _ALIEN:
        return None
    # A token is the text between two delimiters: colons, blanks and newlines.
    ends = np.flatnonzero(kinds >= _COLON)
    end = kinds[ends]
    before = np.concatenate([[_NEWLINE], end[:-1]])
    empty = np.diff(ends, prepend=-1) == 1
    starts = np.concatenate([[0], ends[:-1] + 1])
    digits_only = ~np.logical_or.reduceat(kinds == _SIGN, starts)
    after_blank = before == _BLANK
    is_index = after_blank & (end == _COLON)
    good = np.where(is_index, ~empty & digits_only, np.where(after_blank, empty, ~empty & (end != _COLON)))
    if not good.all():
        return None

    colon = end == _COLON
    newline = end == _NEWLINE
    indptr = np.concatenate([[0], np.cumsum(colon)[newline]])
    n_rows, n_pairs = len(indptr) - 1, int(indptr[-1])
    numbers = parse_numbers(content.replace(b":", b" "), n_rows + 2 * n_pairs)
    if numbers is None:
        return None
    at_label = np.arange(n_rows) + 2 * indptr[:-1]
    labels = numbers[at_label]
    pairs = np.delete(numbers, at_label).reshape(n_pairs, 2)
    indices = pairs[:, 0]
    ascending = np.diff(indices, prepend=0) > 0
    row_starts = indptr[:-1][np.diff(indptr) > 0]
    ascending[row_starts] = True
    if n_pairs and not (ascending.all() and indices.min() >= 1 and indices.max() <= max_index):
        return None
    return indptr.astype(np.int32), indices.astype(np.int32), np.ascontiguousarray(pairs[:, 1]), labels


def _first_fault(content: bytes, where: str, n_features: int | None) -> str:
    for number, line in enumerate(content[:-1].split(b"\n"), start=1):
        if fault := _line_fault(line.decode("utf-8", errors="replace"), n_features):
            return f"{where}:{number}: {fault}"
    raise AssertionError(f"{where}: the fast and the slow LIBSVM reader disagree")


def _line_fault(line: str, n_features: int | None) -> str | None:
    tokens = line.replace("\t", " ").split(" ")
    if not line.strip(" \t"):
        return "empty line; a line is 'label index:value ...', and an all-zero example is its label alone"
    if not tokens[0]:
        return "the line starts with a blank; a line is 'label index:value ...'"
    if fault := number_fault(tokens[0]):
        return f"label: {fault}; a line is 'label index:value ...' with a number as label"
    last = 0
    for token in filter(None, tokens[1:]):
        index, colon, value = token.partition(":")
        if not colon or not (index.isascii() and index.isdigit()):
            return f"{shown(token)} is not index:value with a whole number as index"
        if fault := number_fault(value):
            return f"feature {index}: {fault}" if value else f"feature {index}: the value is missing"
        if int(index) < 1:
            return f"feature {index}: indices start at 1"
        if int(index) > (n_features or _MAX_INDEX):
            return f"feature {index}: indices go up to {n_features or _MAX_INDEX}"
        if int(index) == last:
            return f"feature {index} appears twice; each index may appear once per line"
        if int(index) < last:
            return f"feature {index} comes after {last}; indices must ascend"
        last = int(index)
    return None
