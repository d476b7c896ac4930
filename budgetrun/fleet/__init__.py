"""Many learners in one memory: a Forgetron per key, and policies that share the memory out among them."""

from budgetrun.fleet.memory import SharedMemory
from budgetrun.fleet.policies import Policy, make, registry

__all__ = ["Policy", "SharedMemory", "make", "registry"]
