"""FORKS: SkeGD with Newton steps."""

from functools import partial

from reference.skegd import GIVEN, skegd

CASES = [
    (None, given, partial(skegd, second_order=True, **given))
    for given in (*GIVEN[:2], GIVEN[1] | {"C": 1.5, "alpha": 0.3, "curvature": 0.05})
]
