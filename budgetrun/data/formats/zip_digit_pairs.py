"""The zip-code digits as five tasks, for the multitask kernel: which of 0 and 1 is it, which of 2 and 3, and so on."""

from collections.abc import Sequence

import numpy as np

from budgetrun.base.errors import InputError
from budgetrun.data.formats import Content, Examples, Layout, zip_digits
from budgetrun.kernels.kinds import floats

REVISION = 1
SUFFIXES = ()


def read(files: Sequence[Content], layout: Layout) -> Examples:
    """Read `zip_digits`; half of the digit, rounded down, becomes the last feature, and whether it is odd the label."""
    examples = zip_digits.read(files, layout._replace(n_features=layout.n_features and layout.n_features - 1))
    if not np.isin(examples.y, np.arange(10)).all():
        raise InputError(f"{files[0].where}: a label is not a digit from 0 to 9; the tasks are pairs of digits")
    tasks, labels = np.divmod(examples.y, 2)
    X = np.column_stack([np.asarray(floats(examples.X)), tasks])
    return Examples(X, labels, reading_bytes=examples.reading_bytes + X.nbytes)
