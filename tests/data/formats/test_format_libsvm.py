"""LIBSVM text."""

import numpy as np
import pytest
from faults import message

from budgetrun.data.formats.libsvm import parse_libsvm

LIBSVM_SHAPE = "a line is 'label index:value ...'"


def test_libsvm_reads_labels_indices_values_and_all_zero_rows():
    X, y = parse_libsvm(b"+1 1:0.5 3:-2e-1 \n-1\n1.0\t2:.25  3:0\n-1 4:7.", "f")
    assert X.toarray().tolist() == [[0.5, 0, -0.2, 0], [0] * 4, [0, 0.25, 0, 0], [0, 0, 0, 7]]
    assert y.tolist() == [1, -1, 1, -1]
    assert X.indices.dtype == X.indptr.dtype == np.int32
    assert X.has_sorted_indices
    assert X.nnz == 4  # the value written as 0 is not stored


def test_libsvm_takes_the_number_of_features_from_the_card_and_windows_line_ends():
    X, _ = parse_libsvm(b"\xef\xbb\xbf1 1:1\r\n0 2:1\r\n", "f", 9)
    assert X.shape == (2, 9)


def test_libsvm_of_labels_alone_has_one_feature():
    X, _ = parse_libsvm(b"1\n-1\n", "f")
    assert X.shape == (2, 1)
    assert X.nnz == 0


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("1 1:2\n\n1 1:2\n", f"2: empty line; {LIBSVM_SHAPE[:-1]}', and an all-zero example is its label alone"),
        ("\n", f"1: empty line; {LIBSVM_SHAPE[:-1]}', and an all-zero example is its label alone"),
        (" 1 1:2\n", f"1: the line starts with a blank; {LIBSVM_SHAPE}"),
        ("1 1:2\nspam 1:2\n", f"2: label: 'spam' is not a number; {LIBSVM_SHAPE} with a number as label"),
        ("1:2 2:3\n", f"1: label: '1:2' is not a number; {LIBSVM_SHAPE} with a number as label"),
        ("nan 2:3\n", f"1: label: nan is not a finite number; {LIBSVM_SHAPE} with a number as label"),
        ("1 1:NaN\n", "1: feature 1: NaN is not a finite number"),
        ("1 1:-inf\n", "1: feature 1: -inf is not a finite number"),
        ("1 1:1e999\n", "1: feature 1: 1e999 is too large for a float64"),
        ("1 1:x\n", "1: feature 1: 'x' is not a number"),
        ("1 1:1-2\n", "1: feature 1: '1-2' is not a number"),
        ("1 1:\n", "1: feature 1: the value is missing"),
        ("1 1:2:3\n", "1: feature 1: '2:3' is not a number"),
        ("1 :3\n", "1: ':3' is not index:value with a whole number as index"),
        ("1 1.0:3\n", "1: '1.0:3' is not index:value with a whole number as index"),
        ("1 +1:3\n", "1: '+1:3' is not index:value with a whole number as index"),
        ("1 qid:3\n", "1: 'qid:3' is not index:value with a whole number as index"),
        ("1 7\n", "1: '7' is not index:value with a whole number as index"),
        ("1 1:2 # note\n", "1: '#' is not index:value with a whole number as index"),
        ("1 0:3\n", "1: feature 0: indices start at 1"),
        ("1 2:3 2:4\n", "1: feature 2 appears twice; each index may appear once per line"),
        ("1 1:1\n1 3:3 2:4\n", "2: feature 2 comes after 3; indices must ascend"),
        ("1 3000000000:1\n", "1: feature 3000000000: indices go up to 2147483647"),
        ("1 " + "x" * 50 + "\n", f"1: '{'x' * 37}...' is not index:value with a whole number as index"),
    ],
)
def test_libsvm_faults_name_file_and_line(text, fault):
    assert message(parse_libsvm, text.encode(), "s.libsvm") == f"s.libsvm:{fault}"


def test_libsvm_refuses_an_index_beyond_the_card():
    assert message(parse_libsvm, b"1 5:1\n", "f", 4) == "f:1: feature 5: indices go up to 4"
