"""One table, printed in each format."""

from budgetrun.base import grid
from budgetrun.base.grid import Cell, Grid, Raw

TABLE = Grid(["data\nset", "error"], [["a|b", Cell("1.5", 1.5, ("of 2",), "hint", "best")], ["c", "10.25"]], "B = p/2")


def test_text_is_aligned_and_continued():
    assert grid.text(TABLE).splitlines() == ["", "B = p/2", "data", "set   error", "a|b     1.5", "c     10.25"]
    wide = Grid(["x", "first", "second"], [["a", "1", "2"]], "t")
    assert grid.text(wide, width=9).splitlines() == [
        *("", "t", "x  first", "a      1"),
        *("", "t (continued)", "x  second", "a       2"),
    ]
    untitled = Grid(["x", "first", "second"], [["a", "1", "2"]])
    assert grid.text(untitled, width=16).splitlines() == ["x  first  second", "a      1       2"]
    assert grid.text(untitled, width=15).splitlines() == ["x  first", "a      1", "", "x  second", "a       2"]


def test_markdown_escapes_all_but_raw_text():
    table = Grid(["name", "n"], [["a|b", "1"], [Raw("[c](d)"), "23"]])
    lines = ["| name   |  n |", "|--------|---:|", r"| a\|b   |  1 |", "| [c](d) | 23 |"]
    assert grid.markdown(table) == "\n".join(lines)


def test_csv_has_exact_numbers_and_no_formulas():
    assert grid.csv([["a", "b"], [0.1 + 0.2, None], ["=1", float("nan")]]) == "a,b\n0.3,\n'=1,\n"
