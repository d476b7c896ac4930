"""The zip-code digits (USPS) of The Elements of Statistical Learning: a table of grey values from -1 to 1."""

from collections.abc import Sequence

import numpy as np

from budgetrun.data.formats import Content, Examples, Layout, csv
from budgetrun.kernels.kinds import IntegerRows, Rows, as_whole

REVISION = 1
SUFFIXES = ()
_MOST = 7.0  # larger values are not grey values


def read(files: Sequence[Content], layout: Layout) -> Examples:
    """Read tables of a digit and grey values, mapped to [0, 1]; those of up to three decimals as steps of 1/2000."""
    examples = csv.read(files, layout)
    grey = np.asarray(examples.X)
    thousandths = np.rint(1000.0 * np.clip(grey, -_MOST, _MOST))
    steps = as_whole(thousandths + 1000.0)
    if isinstance(steps, IntegerRows) and (thousandths / 1000.0 == grey).all():
        X: Rows = IntegerRows(steps.integers, steps.factors / 2000.0)
    else:
        X = (grey + 1.0) / 2.0
    return Examples(X, examples.y, reading_bytes=2 * grey.nbytes)
