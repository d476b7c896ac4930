"""Tables as text."""

import pytest
from faults import message

from budgetrun.data.formats.csv import parse_table


@pytest.mark.parametrize("separator", [",", ";", "\t", " ", ", ", "   "])
@pytest.mark.parametrize("header", ["", "label,a,b\n", '"label","a, b","c"\n', "y,0,1\n", "y,1,2\n"])
def test_table_detects_separator_and_header(separator, header):
    if '"' in header and separator.strip() not in (",", ";", "\t"):
        header = "label,a,b\n"
    head = header.replace('","', f'"{separator}"') if '"' in header else header.replace(",", separator)
    rows = separator.join(["1", "0.5", "-2"]) + "\n" + separator.join(["-1", "1e-3", ".5"])
    X, y = parse_table((head + rows).encode(), "s.csv")
    assert X.tolist() == [[0.5, -2], [0.001, 0.5]]
    assert y.tolist() == [1, -1]
    assert X.flags.c_contiguous


def test_table_label_last():
    X, y = parse_table(b"a,b,class\n1,2,3\n4,5,6\n", "f", "last")
    assert X.tolist() == [[1, 2], [4, 5]]
    assert y.tolist() == [3, 6]


FEATURE = "; a feature is a finite number"
LABEL = "; a label is a number too"


MISSING = "; set missing to skip to leave such rows out, or to zero to read 0"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("1,2\n1,nan\n", f"2:2: missing value in column 2{MISSING}"),
        ("1,2\n1,-Infinity\n", f"2:2: -Infinity is not a finite number{FEATURE}"),
        ("1,2\n1,1e400\n", f"2:2: 1e400 is too large for a float64{FEATURE}"),
        ("nan,2\n1,3\n", "1:1: the label is missing; set missing to skip to leave such rows out"),
        ("1,2\n1,?\n", f"2:2: missing value in column 2{MISSING}"),
        ("1,2\nspam,3\n", f"2:1: 'spam' is not a number{LABEL}"),
        ("spam,2.5\nham,3.5\n", " column 1 does not hold numbers"),
        ("y,a\n1,2\n1,0x1\n", f"3:2: '0x1' is not a number{FEATURE}"),
        ('1,2\n1,"3x"\n', f"2:2: '3x' is not a number{FEATURE}"),
        ("1;2\n1;0,5\n", f"2:2: '0,5' is not a number{FEATURE}"),
        ("1,2,3\n1,2 3,4\n", f"2:2: '2 3' is not a number{FEATURE}"),
        ("1 2\n1\t2\n", " column 1 does not hold numbers"),
        ("1 2\n1 3\n1\t2\n", "3:2: 1 columns where the first row has 2; all rows have the same length"),
        ("1,,2\n", f"1:2: missing value in column 2{MISSING}"),
        ("1,2\n1,\n", f"2:2: missing value in column 2{MISSING}"),
        ("1,2,3\n1,  ,4 5\n", f"2:2: missing value in column 2{MISSING}"),
        ("1,2\n , \n", "2:1: the label is missing; set missing to skip to leave such rows out"),
        ("1,2,3\n1,2\n", "2:3: 2 columns where the first row has 3; all rows have the same length"),
        ("1,2\n1,2,3\n", "2:3: 3 columns where the first row has 2; all rows have the same length"),
        ("1 2\n1 2 3\n", "2:3: 3 columns where the first row has 2; all rows have the same length"),
        ("y,a,b\n1,2\n1,2\n", "2:3: 2 columns where the header has 3; all rows have the same length"),
    ],
)
def test_table_faults_name_file_line_and_column(text, fault):
    assert message(parse_table, text.encode(), "s.csv") == f"s.csv:{fault}"


@pytest.mark.parametrize(
    "text", ["1,2\n\n-1,3\n", "1,2\n-1,3\n\n", "1 2\n\n-1 3\n", "\n1,2\n-1,3\n", '"1",2\n-1,"3"\n']
)
def test_blank_lines_and_quotes(text):
    X, y = parse_table(text.encode(), "f")
    assert (X.tolist(), y.tolist()) == ([[2], [3]], [1, -1])


def test_table_without_rows_or_features():
    assert message(parse_table, b"label,a\n", "f") == "f: no rows below the header line"
    assert message(parse_table, b"1\n2\n", "f") == "f: only one column; a row is a label and at least one feature"
