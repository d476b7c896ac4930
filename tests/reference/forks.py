"""FORKS: SkeGD with Newton steps."""

from reference.kernel_expansion import cases
from reference.skegd import GIVEN, skegd

CASES = cases(skegd, *GIVEN[:2], GIVEN[1] | {"C": 1.5, "alpha": 0.3, "curvature": 0.05}, second_order=True)
