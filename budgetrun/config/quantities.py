"""The quantities that tables and figures show, each declared once."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Literal

from budgetrun.base.problem import FADING, KEPT_BYTES, PREFIX_LOG_LOSS, WINDOW


def figures(value: float, n: int) -> str:
    """Return a number rounded to n significant figures, without an exponent."""
    rounded = float(f"{value:.{n - 1}e}")
    if not rounded or not math.isfinite(rounded):
        return f"{rounded:g}"
    return f"{rounded:,.{max(0, n - 1 - math.floor(math.log10(abs(rounded))))}f}"


_two_figures = partial(figures, n=2)


@dataclass(frozen=True)
class Quantity:
    """A number of a run that a table or a figure shows."""

    name: str  # as in configs
    noun: str  # its name in running text
    axis: str  # its name at the axis of a figure
    write: Callable[[float], str] = "{:,.1f}".format  # from a number to its text without the unit
    write_published: Callable[[float], str] = "{:,.10g}".format  # the same for a published number
    unit: str = ""  # follows a number
    column: str = ""  # of the runs as `budgetrun.results.store.read` returns them; the name by default
    csv_column: str = ""  # in tables as CSV and in files of published numbers; the name by default
    factor: float = 1.0  # from the unit of `column` to the one that is shown
    difference_unit: str = ""  # follows a difference of two numbers; the unit by default
    percent_digits: int = 1  # digits after the point of a difference in percent
    is_tiny: bool = False  # far below 1, so that CSV keeps significant digits instead of digits after the point
    lower_is_better: bool = True

    def __post_init__(self) -> None:
        for name, default in (("column", self.name), ("csv_column", self.name), ("difference_unit", self.unit)):
            object.__setattr__(self, name, getattr(self, name) or default)

    @property
    def is_percent(self) -> bool:
        """True for a ratio shown in percent."""
        return self.unit == "%"

    @property
    def in_words(self) -> str:
        """The noun with its unit, for captions."""
        return f"{self.noun} in percent" if self.is_percent else self.noun

    def difference(self, value: float) -> str:
        """Return a difference with its sign and unit; what rounds to zero is positive."""
        text = self.write(abs(value))
        sign = "-" if value < 0 and text.strip("0.") else "+"
        return sign + text + self.difference_unit


def _error(name: str, noun: str, axis: str, csv_column: str = "") -> Quantity:
    two: Callable[[float], str] = "{:.2f}".format
    column = csv_column or f"{name}_percent"
    return Quantity(name, noun, axis, two, two, "%", csv_column=column, factor=100.0, difference_unit=" points")


_four_figures = partial(figures, n=4)
_RMSE = "root mean squared error"

ONLINE_ERROR = _error("online_error", "online error", "online error (%)")
# The error in each of about fifty equal parts of the stream; runs have only the mean over all of them.
WINDOWED_ERROR = replace(
    _error("windowed_error", "online error in each part of the stream", "error in each part (%)"), column="online_error"
)
SUPPORT_SIZE = Quantity("support_size", "size of the support set", "size of the support set", lower_is_better=False)
TEST_ERROR = _error("test_error", "test error of the averaged hypothesis", "test error (%), averaged hypothesis")
SECONDS = Quantity("seconds", "seconds of a run", "seconds", _two_figures, unit=" s")
OBJECTIVE = Quantity("objective", "objective at the end", "objective", partial(figures, n=7), percent_digits=4)
# The gap to the best known lower bound of the problem; a run's own is the column `gap`.
GAP = Quantity(
    "gap", "relative gap to the optimum, at most", "objective / best lower bound - 1", "{:.1e}".format,
    column="gap_to_best", is_tiny=True,
)  # fmt: skip
SECONDS_RATIO = Quantity("seconds_ratio", "ratio of seconds", "ratio of seconds", _two_figures, _two_figures)


def _ratio(name: str, noun: str, axis: str, lower_is_better: bool = False) -> Quantity:
    three: Callable[[float], str] = "{:.3f}".format
    return Quantity(name, noun, axis, three, three, lower_is_better=lower_is_better)


def _by_name(*quantities: Quantity) -> dict[str, Quantity]:
    return {quantity.name: quantity for quantity in quantities}


# Choices of the config key `metrics`; `budgetrun.play.metrics` computes them, in columns of these names.
METRICS = _by_name(
    _error("sliding_error", f"online error in the last {WINDOW:,} rounds", f"error (%), last {WINDOW:,} rounds"),
    _error("fading_error", f"fading online error ({FADING} per round)", f"fading error (%), {FADING} per round"),
    _ratio("f1", "F1 of the positive class, or the mean F1 of several classes", "F1"),
    _ratio("kappa", "Cohen's kappa", "Cohen's kappa"),
    _ratio("auc", f"AUC, the mean over windows of {WINDOW:,} rounds", f"AUC, windows of {WINDOW:,} rounds"),
    _ratio("brier", "Brier score of the online probabilities", "Brier score", lower_is_better=True),
    _ratio("log_loss", "log loss of the online probabilities", "log loss", lower_is_better=True),
    Quantity(KEPT_BYTES, "bytes that a learner keeps", "bytes kept", "{:,.0f}".format, unit=" bytes"),
)
# For regression learners.
RMSE = Quantity("rmse", _RMSE, _RMSE, _four_figures)
WINDOWED_RMSE = Quantity(
    "windowed_rmse", f"{_RMSE} in each part of the stream", f"{_RMSE} of each part", _four_figures, column="rmse"
)

# Errors in each part of the stream, by the quantity that is the error of the whole.
WINDOWED = {quantity.column: quantity for quantity in (WINDOWED_ERROR, WINDOWED_RMSE)}

# The quantities that tables and figures of a config may show.
QUANTITIES = _by_name(
    ONLINE_ERROR,
    SUPPORT_SIZE,
    Quantity("margin_updates", "number of margin updates", "margin updates", lower_is_better=False),
    TEST_ERROR,
    _error("last_test_error", "test error of the last hypothesis", "test error (%), last hypothesis"),
    SECONDS,
    OBJECTIVE,
    GAP,
    SECONDS_RATIO,
    *METRICS.values(),
    RMSE,
    Quantity("mae", "mean absolute error", "mean absolute error", _four_figures),
    Quantity("r2", "coefficient of determination, R2", "R2", "{:.3f}".format, lower_is_better=False),
)

# The quantities that figures may show.
IN_FIGURES = QUANTITIES | _by_name(*WINDOWED.values())

# The types of names in configs: `Literal`s for pydantic, so that the names are listed above alone.
if TYPE_CHECKING:
    QuantityName = str
    MetricName = str
else:
    QuantityName = Literal[tuple(QUANTITIES)]
    MetricName = Literal[(*METRICS, PREFIX_LOG_LOSS)]

# Choices among settings depend on the first, and are scored on the second; no config asks for them.
EARLY_LOG_LOSS = _ratio(PREFIX_LOG_LOSS, "log loss in the first tenth", "log loss in the first tenth", True)
PREFIX_MISTAKES = Quantity("prefix_mistakes", "mistakes in the first tenth", "mistakes in the first tenth")
REST_ERROR = _error(
    "rest_error", "online error after the first tenth", "online error (%) after the first tenth", "online_error_percent"
)
PREFIX_RMSE = replace(RMSE, name="prefix_rmse", noun=f"{_RMSE} in the first tenth", column="prefix_rmse")
REST_RMSE = replace(
    RMSE, name="rest_rmse", noun=f"{_RMSE} after the first tenth", column="rest_rmse", csv_column="rmse"
)
