"""Census-Income."""

import numpy as np

from budgetrun.data.formats.census_income import COLUMNS, NUMERIC, parse_census


def census_row(**fields):
    return ", ".join(str(fields.get(name, "0" if name in NUMERIC else "a")) for name in COLUMNS)


def test_census_scales_numbers_and_makes_every_other_column_indicators():
    rows = [
        census_row(age=20, race="?", year=94, label=" - 50000.", **{"instance weight": 1700.09}),
        census_row(age=70, race="White", year=95, label=" 50000+.", **{"instance weight": 3.5}),
        census_row(age=45, race="?", year=94, label=" - 50000.", **{"instance weight": 7}),
    ]
    X, y = parse_census("\n".join(rows).encode())
    assert len(COLUMNS) == 42
    # 7 numbers, 31 columns of one category, race and year of two.
    assert X.shape == (3, 7 + 31 + 4)
    assert X.dtype == np.float64
    assert X[:, [0]].toarray().ravel().tolist() == [0, 1, 0.5]
    assert X[:, [-2, -1]].toarray().tolist() == [[1, 0], [0, 1], [1, 0]]
    assert np.diff(X.indptr).tolist() == [33, 34, 34]
    assert y.tolist() == ["- 50000.", "50000+.", "- 50000."]
