"""The engine runs learners over streams, one block of rounds at a time. It knows no algorithm by name."""

from budgetrun.engine.group import REVISION, Count, Group, run, score

__all__ = ["REVISION", "Count", "Group", "run", "score"]
