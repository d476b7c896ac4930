"""IOKS; see `reference.oks`."""

from reference.kernel_expansion import cases
from reference.oks import ioks

CASES = cases(
    ioks,
    {"horizon": 220},
    {"horizon": 40, "factors": [8.0, 1.0, 0.1], "U": 1.5, "seed": 3},
    {"horizon": 2, "factors": [1.0], "U": 4.0},
)
