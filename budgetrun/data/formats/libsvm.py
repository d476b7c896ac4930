"""LIBSVM text: ``label index:value index:value ...``, one example per line."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from budgetrun.base import limits
from budgetrun.base.errors import InputError, clipped
from budgetrun.data.content import Held, Lines, Origin, count_lines, head_lines, line_blocks, number_fault, shown
from budgetrun.data.formats import Content, Examples, Layout, check_width, joined, matrix_bytes
from budgetrun.data.tables.columns import LABEL, Batch, Column, Reader, Vectors, check_distinct
from budgetrun.data.tables.encode import is_sparse

REVISION = 1
_LINE = re.compile(rb"^[ \t]*[-+.\deE]+[ \t]+\d+:", re.MULTILINE)
SUFFIXES = (".libsvm", ".svm")
_INDEX_0 = re.compile(rb"[ \t]0+:")
_DIGIT, _SIGN, _COLON, _BLANK, _NEWLINE, _ALIEN = range(6)
_KIND = np.full(256, _ALIEN, dtype=np.uint8)
_KIND[list(b"+-.eE")] = _SIGN
_KIND[list(b"0123456789")] = _DIGIT
_KIND[list(b" \t")] = _BLANK
_KIND[ord(":")] = _COLON
_KIND[ord("\n")] = _NEWLINE
_MAX_INDEX = 2**31 - 1


def read(files: Sequence[Content], layout: Layout) -> Examples:
    """Read LIBSVM text; without a card, the number of features follows from the largest index found."""
    first_index = layout.first_index
    if first_index is None:
        first_index = int(not any(_INDEX_0.search(file.content) for file in files))
    examples = joined([parse_libsvm(*file, layout.n_features, first_index) for file in files], files[0].where)
    examples = examples._replace(open_ended=layout.n_features is None, first_index=first_index)
    X = cast(csr_array, examples.X)
    n, d = X.shape
    if is_sparse(d, X.nnz, n):
        return examples
    limits.check(12 * X.nnz + 8 * n * d, files[0].where, f"a dense matrix of {n:,} x {d:,} numbers")
    return examples._replace(X=X.toarray(), reading_bytes=matrix_bytes(X))


def sniff(head: bytes) -> bool:
    """Tell LIBSVM text from a table by a line of it."""
    return _LINE.search(head) is not None


class Libsvm(Vectors):
    """LIBSVM text; the number of features and the first index are those of the whole file, or a pipe's first lines."""

    format, label = f"libsvm {REVISION}", LABEL
    label_found = "the label is the first number of each line"

    def __init__(self, origin: Origin) -> None:
        Reader.__init__(self, origin)
        self._seen: set[float] = set()

    def fit(self, encoding: dict[str, Any] | None, numbers: bool) -> None:
        if encoding is None:
            self._look_through(numbers)
        elif "n_features" not in encoding:
            raise InputError(f"{self.where}: LIBSVM text, where a table of columns was learned; give the same format")
        else:
            self.n_features = encoding["n_features"]
            self.fitting = {"first_index": encoding.get("first_index", 1), "sparse": encoding.get("sparse", False)}
        check_width(self.n_features, self.where)
        self.sparse = self.fitting["sparse"]

    def _look_through(self, numbers: bool) -> None:
        blocks = line_blocks(self.origin) if self.again else iter([Lines(head_lines(self.origin), 1)])
        lowest, highest, n_rows, n_values = 1, 0, 0, 0
        for lines in filter(None, blocks):
            parsed = parse_lines(*lines, self.where, 0, None)
            lowest = min(lowest, int(parsed.indices.min(initial=1)))
            highest = max(highest, int(parsed.indices.max(initial=0)))
            n_rows, n_values = n_rows + len(parsed.labels), n_values + int(np.count_nonzero(parsed.values))
            self._seen.update(() if numbers else np.unique(parsed.labels).tolist())
            check_distinct(self._seen, self.where, self.label)
        first_index = int(lowest > 0)
        self.n_rows = n_rows if self.again else None
        self.n_features = max(highest + 1 - first_index, 1)
        self.fitting = {"first_index": first_index, "sparse": is_sparse(self.n_features, n_values, n_rows)}

    def labels(self) -> set[Any]:
        return self._seen

    def batches(self, wanted: Sequence[Column]) -> Iterator[Batch | None]:
        first, first_index = 0, self.fitting["first_index"]
        for lines in line_blocks(self.origin):
            if lines is None:
                yield None
                continue
            parsed = parse_lines(*lines, self.where, first_index, self.n_features)
            X, y = assembled([parsed], len(parsed.labels), len(parsed.values), first_index, self.n_features)
            yield self._batch(X, y, first)
            first += len(y)


def parse_libsvm(
    content: bytes, where: str, n_features: int | None = None, first_index: int = 1
) -> tuple[csr_array, NDArray[np.float64]]:
    """Return the examples, a CSR matrix with sorted int32 indices, and labels of LIBSVM text, as float64.

    Indices start at ``first_index`` and ascend, no index comes twice on a line, all numbers are finite. A line with
    nothing but a label is an all-zero example. Values written as 0 are not stored. The number of features, if it is
    None, follows from the largest index. An InputError names the file and the line of the first fault.
    """
    n_rows, n_pairs = count_lines(content), content.count(b":")
    limits.check(len(content) + 12 * n_pairs + 12 * n_rows, where, f"{n_pairs:,} values in {n_rows:,} lines")
    if n_pairs > _MAX_INDEX:
        raise InputError(f"{where}: {n_pairs:,} values; a file may have up to {_MAX_INDEX:,}: split it")
    blocks = filter(None, line_blocks(Held(content, where)))
    parsed = (parse_lines(*lines, where, first_index, n_features) for lines in blocks)
    return assembled(parsed, n_rows, n_pairs, first_index, n_features, where)


class Parsed(NamedTuple):
    """Lines of LIBSVM text: for each, its label and the number of pairs up to its end; and all indices and values."""

    labels: NDArray[np.float64]
    ends: NDArray[np.int64]
    indices: NDArray[np.int32]
    values: NDArray[np.float64]


def assembled(
    blocks: Iterable[Parsed], n_rows: int, n_pairs: int, first_index: int, n_features: int | None, where: str = ""
) -> tuple[csr_array, NDArray[np.float64]]:
    """Return lines that were parsed in blocks as a matrix and labels; see `parse_libsvm`."""
    indptr, labels = np.zeros(n_rows + 1, dtype=np.int32), np.empty(n_rows)
    indices, values = np.empty(n_pairs, dtype=np.int32), np.empty(n_pairs)
    row = pair = 0
    for parsed in blocks:
        ends, of_block = slice(row + 1, row + 1 + len(parsed.labels)), slice(pair, pair + len(parsed.values))
        indptr[ends], labels[row : ends.stop - 1] = pair + parsed.ends, parsed.labels
        indices[of_block], values[of_block] = parsed.indices - first_index, parsed.values
        row, pair = ends.stop - 1, of_block.stop
    width = n_features or int(indices.max(initial=0)) + 1
    check_width(width, where)
    X = csr_array((values, indices, indptr), shape=(n_rows, width))
    X.eliminate_zeros()
    return X, labels


def parse_lines(block: bytes, number: int, where: str, first_index: int, n_features: int | None) -> Parsed:
    """Return the content of whole lines, of which the first has a number; indices as written. See `parse_libsvm`."""
    last = _MAX_INDEX if n_features is None else n_features - 1 + first_index
    if (parsed := _parse(block, first_index, last)) is not None:
        return parsed
    for at, line in enumerate(block[:-1].split(b"\n"), start=number):
        if fault := _line_fault(line.decode("utf-8", errors="replace"), first_index, last):
            raise InputError(f"{where}:{at}: {fault}")
    raise AssertionError(f"{where}: the fast and the slow LIBSVM reader disagree")


def _parse(content: bytes, first_index: int, last_index: int) -> Parsed | None:
    """Return what some lines hold; None if they have any fault."""
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
    if (numbers := _numbers(content, (ends - starts)[~empty])) is None:
        return None
    at_label = np.arange(n_rows) + 2 * indptr[:-1]
    labels = numbers[at_label]
    pairs = np.delete(numbers, at_label).reshape(n_pairs, 2)
    indices = pairs[:, 0]
    ascending = np.diff(indices, prepend=-1) > 0
    row_starts = indptr[:-1][np.diff(indptr) > 0]
    ascending[row_starts] = True
    if n_pairs and not (ascending.all() and indices.min() >= first_index and indices.max() <= last_index):
        return None
    return Parsed(labels, indptr[1:], indices.astype(np.int32), pairs[:, 1])


def _numbers(content: bytes, lengths: NDArray[np.int64]) -> NDArray[np.float64] | None:
    """Return the numbers of tokens, correctly rounded; None if one is not a finite number."""
    import pyarrow as pa

    offsets = np.zeros(len(lengths) + 1, dtype=np.int32)
    np.cumsum(lengths, out=offsets[1:])
    text = content.translate(None, b": \t\n")
    tokens = pa.StringArray.from_buffers(len(lengths), pa.py_buffer(offsets), pa.py_buffer(text))
    try:
        numbers = tokens.cast(pa.float64()).to_numpy()
    except pa.ArrowInvalid:
        return None
    return numbers if np.isfinite(numbers).all() else None


def _line_fault(line: str, first_index: int, last_index: int) -> str | None:
    tokens = line.replace("\t", " ").split(" ")
    if not line.strip(" \t"):
        return "empty line; a line is 'label index:value ...', and an all-zero example is its label alone"
    if not tokens[0]:
        return "the line starts with a blank; a line is 'label index:value ...'"
    if fault := number_fault(tokens[0]):
        return f"label: {fault}; a line is 'label index:value ...' with a number as label"
    last = -1
    for token in filter(None, tokens[1:]):
        index, colon, value = token.partition(":")
        if not colon or not (index.isascii() and index.isdigit()):
            return f"{shown(token)} is not index:value with a whole number as index"
        index = index.lstrip("0") or "0"
        if fault := number_fault(value):
            return f"feature {clipped(index)}: {fault if value else 'the value is missing'}"
        if index == "0" and first_index:
            return "feature 0: indices start at 1"
        # int() refuses thousands of digits.
        if len(index) > len(str(_MAX_INDEX)) or int(index) > last_index:
            return f"feature {clipped(index)}: indices go up to {last_index}"
        if int(index) == last:
            return f"feature {index} appears twice; each index may appear once per line"
        if int(index) < last:
            return f"feature {index} comes after {last}; indices must ascend"
        last = int(index)
    return None


READER = Libsvm
