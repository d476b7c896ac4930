"""The engine: runs learners on a stream, one block of rounds at a time."""

from budgetrun.engine.group import REVISION, Count, Group, run, score

__all__ = ["REVISION", "Count", "Group", "run", "score"]
