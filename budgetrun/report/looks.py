"""How the figures of a report look, beside what all figures share."""

from __future__ import annotations

from typing import Any

from budgetrun.plotting import STYLE, Look, hand_out

__all__ = ["BAND_ALPHA", "CIRCLE", "HOLLOW", "NO_SPREAD", "STYLE", "Look", "hand_out"]

HOLLOW: Any = {"linestyle": "", "markerfacecolor": "none", "markeredgewidth": 1.3, "markersize": 10.5}
BAND_ALPHA = 0.22
# A spread below this is of rounding.
NO_SPREAD = 1e-9
CIRCLE = Look("black", "o", "-")
