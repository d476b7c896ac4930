"""Rules of selection, which follow several candidates on the stream, without hindsight.

A rule is one file in this folder, which is found automatically.
"""

from functools import cache

from budgetrun.base.registry import classes
from budgetrun.play.selection.base import Guarantee, Rule, Selection

__all__ = ["Guarantee", "Rule", "Selection", "registry"]


@cache
def registry() -> dict[str, type[Rule]]:
    """Return the rules by name."""
    found = classes(__name__, Rule)  # type: ignore[type-abstract]
    return {rule.name: rule for rule in sorted(found, key=lambda rule: rule.name)}
