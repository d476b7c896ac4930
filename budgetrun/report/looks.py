"""How figures look: one style, and per label one colour, marker and dash throughout a report."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

# Okabe and Ito's palette without yellow (too faint on white), then two of Tol's; black and the circle are the
# reference point's.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#666666", "#882255", "#999933")
MARKERS = ("s", "^", "D", "v", "P", "X", "<", ">", "p", "h")
# Where two curves lie on one another, the lower one shows through the gaps.
DASHES: tuple[Any, ...] = ("-", (0, (5, 1.8)), (0, (7, 1.8, 1.5, 1.8)), (0, (2.5, 1.5)))
HOLLOW: Any = {"linestyle": "", "markerfacecolor": "none", "markeredgewidth": 1.3, "markersize": 10.5}
DOTS_PER_INCH = 160
BAND_ALPHA = 0.22
# A spread below this is of rounding.
NO_SPREAD = 1e-9

STYLE: Any = {
    "font.family": "sans-serif",
    "font.size": 11,
    "axes.labelsize": 12,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#444444",
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#d9d9d9",
    "grid.linewidth": 0.7,
    "lines.linewidth": 1.7,
    "lines.markersize": 6,
    "legend.frameon": False,
    # Labels are names, never formulas: a dollar sign in one must not start mathematics.
    "text.parse_math": False,
    "svg.fonttype": "none",
    # Without it the ids within an SVG differ from run to run.
    "svg.hashsalt": "budgetrun",
}


class Look(NamedTuple):
    """How a label is drawn, the same in every figure of a report."""

    colour: str
    marker: str
    dashes: Any

    @property
    def line(self) -> dict[str, Any]:
        """The same as matplotlib's keywords."""
        return {"color": self.colour, "marker": self.marker, "linestyle": self.dashes}


CIRCLE = Look("black", "o", "-")


def hand_out(names: Iterable[str]) -> dict[str, Look]:
    """Return a look for each name, in this order."""
    return {
        name: Look(COLOURS[i % len(COLOURS)], MARKERS[i % len(MARKERS)], DASHES[i % len(DASHES)])
        for i, name in enumerate(dict.fromkeys(names))
    }
