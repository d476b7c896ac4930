"""How many examples a property is tried on: a few fixed ones in `make test`, fresh ones in `make fuzz`."""

from cases import EXHAUSTIVE
from hypothesis import HealthCheck, settings

_COMMON = {"deadline": None, "suppress_health_check": list(HealthCheck)}
settings.register_profile("bounded", max_examples=60 if EXHAUSTIVE else 8, derandomize=True, database=None, **_COMMON)
# The examples of one round of scripts/attack/fuzz.py; failures are kept in .hypothesis and tried first the next time.
settings.register_profile("fuzz", max_examples=300, **_COMMON)
settings.load_profile("bounded")
