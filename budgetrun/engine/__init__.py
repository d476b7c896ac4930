"""The engine: learners over streams, a block at a time. It knows no algorithm by name."""

from budgetrun.engine.group import REVISION, Count, Group, run

__all__ = ["REVISION", "Count", "Group", "run"]
