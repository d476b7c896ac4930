"""CON-KONS: PROS-N-KONS without restarts."""

from functools import partial

from reference.pros_n_kons import GIVEN, kons

CASES = [(None, given, partial(kons, restarts=False, **given)) for given in GIVEN]
