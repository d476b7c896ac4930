"""The quantities that a table or a figure may show: where they stand in ``runs.csv``, their units and their words."""

from __future__ import annotations

import math
from typing import NamedTuple

PERCENT = 100.0


class Quantity(NamedTuple):
    """What is measured of a run.

    Attributes
    ----------
    name : str
        Its column of ``runs.csv``.
    factor : float
        From that column's unit to the one that is shown.
    column : str
        Its column in tables as CSV and in files of printed numbers.
    noun : str
        In running text.
    axis : str
        At the axis of a figure.
    unit, difference_unit : str
        Behind a number, and behind a difference of two.
    """

    name: str
    factor: float
    column: str
    noun: str
    axis: str
    unit: str
    difference_unit: str

    @property
    def frame(self) -> str:
        """Its column among the runs as `load` gives them; a solver's own ``gap`` is not the one to the best known."""
        return "gap_to_best" if self.name == "gap" else self.name

    @property
    def percent_digits(self) -> int:
        """Digits after the point of a difference in percent of the print: objectives agree to several figures."""
        return 4 if self.name == "objective" else 1

    @property
    def is_percent(self) -> bool:
        """Whether it is a ratio shown in percent."""
        return self.factor == PERCENT

    def text(self, value: float) -> str:
        """Return a number without its unit: errors with two digits, sizes with one, seconds with two figures.

        Objectives have seven figures, gaps two and an exponent.
        """
        if self.is_percent:
            return f"{value:.2f}"
        if self.name == "objective":
            return figures(value, 7)
        if self.name == "gap":
            return f"{value:.1e}"
        return two_figures(value) if self.name.startswith("seconds") else f"{value:,.1f}"

    def printed_text(self, value: float) -> str:
        """Return a printed number as the print has it; errors always with two digits."""
        if self.name == "seconds_ratio":
            return two_figures(value)
        return f"{value:.2f}" if self.is_percent else f"{value:,.10g}"

    def difference(self, value: float) -> str:
        """Return a difference with its sign and unit; what rounds to zero is positive."""
        text = self.text(abs(value))
        sign = "-" if value < 0 and text.strip("0.") else "+"
        return sign + text + self.difference_unit

    @property
    def in_words(self) -> str:
        """The noun with its unit, for captions."""
        return f"{self.noun} in percent" if self.is_percent else self.noun


def _error(name: str, noun: str, axis: str) -> Quantity:
    return Quantity(name, PERCENT, f"{name}_percent", noun, axis, "%", " points")


ONLINE_ERROR = _error("online_error", "online error", "online error (%)")
TEST_ERROR = _error("test_error", "test error of the averaged hypothesis", "test error (%), averaged hypothesis")
LAST_TEST_ERROR = _error("last_test_error", "test error of the last hypothesis", "test error (%), last hypothesis")
SUPPORT_SIZE = Quantity(
    "support_size", 1.0, "support_size", "size of the support set", "size of the support set", "", ""
)
MARGIN_UPDATES = Quantity("margin_updates", 1.0, "margin_updates", "number of margin updates", "margin updates", "", "")
SECONDS = Quantity("seconds", 1.0, "seconds", "seconds of a run", "seconds", " s", " s")

OBJECTIVE = Quantity("objective", 1.0, "objective", "objective at the end", "objective", "", "")
GAP = Quantity("gap", 1.0, "gap", "relative gap to the optimum, at most", "objective / best lower bound - 1", "", "")
SECONDS_RATIO = Quantity("seconds_ratio", 1.0, "seconds_ratio", "ratio of seconds", "ratio of seconds", "", "")

# What choices among settings go by, and are scored on: no config asks for these.
PREFIX_MISTAKES = Quantity(
    "prefix_mistakes", 1.0, "prefix_mistakes", "mistakes in the first tenth", "mistakes in the first tenth", "", ""
)
REST_ERROR = Quantity(
    "rest_error",
    PERCENT,
    "online_error_percent",
    "online error after the first tenth",
    "online error (%) after the first tenth",
    "%",
    " points",
)

QUANTITIES = {
    q.name: q
    for q in (
        ONLINE_ERROR,
        SUPPORT_SIZE,
        MARGIN_UPDATES,
        TEST_ERROR,
        LAST_TEST_ERROR,
        SECONDS,
        OBJECTIVE,
        GAP,
        SECONDS_RATIO,
    )
}


def two_figures(value: float) -> str:
    """Return a number rounded to two significant figures, without an exponent."""
    return figures(value, 2)


def figures(value: float, n: int) -> str:
    """Return a number rounded to n significant figures, without an exponent."""
    rounded = float(f"{value:.{n - 1}e}")
    if not rounded or not math.isfinite(rounded):
        return f"{rounded:g}"
    return f"{rounded:,.{max(0, n - 1 - math.floor(math.log10(abs(rounded))))}f}"
