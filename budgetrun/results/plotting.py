"""The style of all figures, a color, marker and dash pattern per label, and saving a figure."""

from __future__ import annotations

import io
import re
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from budgetrun.base.files import write

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

# Okabe and Ito's palette without yellow (too faint on white), then two of Tol's; black and the circle are reserved for
# the reference point.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#666666", "#882255", "#999933")
MARKERS = ("s", "^", "D", "v", "P", "X", "<", ">", "p", "h")
# Where two curves coincide, the lower one shows through the gaps.
DASHES: tuple[Any, ...] = ("-", (0, (5, 1.8)), (0, (7, 1.8, 1.5, 1.8)), (0, (2.5, 1.5)))
HOLLOW: Any = {"linestyle": "", "markerfacecolor": "none", "markeredgewidth": 1.3, "markersize": 10.5}
DOTS_PER_INCH = 160
COLOURS_IN_PNG = 64
BAND_ALPHA = 0.22
# A spread below this is due to rounding.
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
    # Labels are names, not formulas: a dollar sign must not start mathematics.
    "text.parse_math": False,
    "svg.fonttype": "none",
    # Without it the ids in an SVG differ from run to run.
    "svg.hashsalt": "budgetrun",
}


class Look(NamedTuple):
    """The color, marker and dashes of a label, the same in all figures of a report."""

    colour: str
    marker: str
    dashes: Any

    @property
    def line(self) -> dict[str, Any]:
        """What matplotlib draws a line with."""
        return {"color": self.colour, "marker": self.marker, "linestyle": self.dashes}


# The reference point.
CIRCLE = Look("black", "o", "-")


@contextmanager
def styled(width: float, height: float) -> Iterator[Figure]:
    """Yield an empty figure of so many inches, to be drawn and saved in the style of all within the block."""
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(STYLE):
        yield Figure(figsize=(width, height), layout="constrained")


def hand_out(names: Iterable[str]) -> dict[str, Look]:
    """Return a look for each name, in this order."""
    looks = zip(cycle(COLOURS), cycle(MARKERS), cycle(DASHES), strict=True)
    return {name: Look(*look) for name, look in zip(dict.fromkeys(names), looks, strict=False)}


def slug(name: str) -> str:
    """Return a name that is safe in file names: only letters, digits and ``. _ -``, and never hidden.

    Different names stay different: one that had to be changed ends in a checksum of the original.
    """
    safe = re.sub(r"[^A-Za-z0-9._-]+", "_", name).strip("._")
    return safe if safe == name else f"{safe}-{zlib.crc32(name.encode()):08x}"


def save(figure: Figure, *paths: Path) -> None:
    """Write a figure as PNG or SVG, by suffix, without anything that differs from run to run."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from PIL import Image

    # The canvases draw once, where Figure.savefig draws twice.
    figure.set_dpi(DOTS_PER_INCH)
    for path in paths:
        found = io.BytesIO()
        if path.suffix == ".png":
            canvas: Any = FigureCanvasAgg(figure)
            canvas.draw()
            # A palette takes a third of the room.
            image = Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB")
            image.quantize(COLOURS_IN_PNG, dither=Image.Dither.NONE).save(found, "png", optimize=True)
        else:
            canvas = FigureCanvasSVG(figure)
            canvas.print_svg(found, metadata={"Date": None, "Creator": None})
        write(path, found.getvalue())


def mark_changes(axes: Axes, changes: dict[int, str]) -> None:
    """Draw a vertical line where a stream changes, given what changes after how many rounds; the legend says what."""
    style: Any = {"color": "#777777", "linewidth": 0.7, "linestyle": ":", "zorder": 1}
    for what in dict.fromkeys(changes.values()):
        for i, rounds in enumerate(r for r, other in changes.items() if other == what):
            axes.axvline(rounds, label="_" if i else what, **style)


def plain_number(value: float, _: float) -> str:
    """Return the label of a tick: its number without an exponent."""
    return f"{value:,.10g}"


def number_log_axis(axis: Axis, subs: tuple[float, ...] = (1.0, 2.0, 5.0)) -> None:
    """Label the ticks of a logarithmic axis with plain numbers, at ``subs`` times the powers of ten."""
    from matplotlib.ticker import LogLocator, NullFormatter

    axis.set_major_locator(LogLocator(subs=subs))
    axis.set_minor_formatter(NullFormatter())
    axis.set_major_formatter(plain_number)
