"""CON-KONS: PROS-N-KONS without restarts."""

from reference.kernel_expansion import cases
from reference.pros_n_kons import GIVEN, kons

CASES = cases(kons, *GIVEN, restarts=False)
