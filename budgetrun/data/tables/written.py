"""Numbers, dates and times as people write them: the form of a column, by its first values, and their values."""

import re
from collections.abc import Iterable
from datetime import date, time
from functools import lru_cache

from budgetrun.data.content import is_text

BOOLEANS = ({"true": 1.0, "false": 0.0}, {"yes": 1.0, "no": 0.0})
_TRUTH = BOOLEANS[0] | BOOLEANS[1]
# Decimal commas, with or without points between thousands; and commas between thousands. By form.
MARKS = {
    "1.234,5": re.compile(r"[+-]?(\d+|\d{1,3}(\.\d{3})+)(,\d+)?"),
    "1,234.5": re.compile(r"[+-]?(\d+|[1-9]\d{0,2}(,\d{3})+)(\.\d+)?"),
}
_DATE = re.compile(r"(\d{1,4})([-/.])(\d{1,2})\2(\d{1,4})(?:[ T]+(\S.*))?")
_TIME = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2}(?:\.\d+)?))?")
# Forms of dates, by the order of their parts; and of values whose type says what they are.
ORDERS, DAYS, BOOLEAN = ("ymd", "dmy", "mdy", "time"), "days", "boolean"
TOLD = {
    "ymd": "days since 1970-01-01, from year, month and day", "dmy": "days since 1970-01-01, from day, month and year",
    "mdy": "days since 1970-01-01, from month, day and year", "time": "days since midnight",
    DAYS: "days (dates: since 1970-01-01)", "1.234,5": "numbers with a decimal comma",
    "1,234.5": "numbers with commas between thousands",
}  # fmt: skip
_EPOCH = date(1970, 1, 1).toordinal()


def form_of(values: Iterable[str]) -> str:
    """Return the form that all values have; of several, commas between thousands and the day before the month last.

    Empty, if they have none.
    """
    distinct = list(values)
    if any("," in value for value in distinct):
        return next((form for form in ("1,234.5", "1.234,5") if all(map(MARKS[form].fullmatch, distinct))), "")
    # American dates have slashes.
    orders = ("ymd", "mdy", "dmy", "time") if any("/" in value for value in distinct) else ORDERS
    return next((form for form in orders if all(number(value, form) is not None for value in distinct)), "")


@lru_cache(maxsize=10_000)
def number(text: str, form: str) -> float | None:
    """Return the number of a text in a form, empty for plain numbers; None in another form.

    Of a date or time, it is the days since 1970-01-01 or midnight in UTC.
    """
    if not form:
        return None if is_text(text) else float(text)
    if form == BOOLEAN:
        return _TRUTH.get(text.lower())
    if form in MARKS:
        plain = text.replace(".", "").replace(",", ".") if form == "1.234,5" else text.replace(",", "")
        return float(plain) if MARKS[form].fullmatch(text) else None
    try:
        if form == DAYS:
            day = number(text, "ymd")
            return number(text, "time") if day is None else day
        if form == "time":
            return _days(text) if _TIME.fullmatch(text) else None
        found = _DATE.fullmatch(text)
        if found is None:
            return None
        parts = dict(zip(form, (found[1], found[3], found[4]), strict=True))
        if len(parts["y"]) != 4:
            return None
        day = date(int(parts["y"]), int(parts["m"]), int(parts["d"])).toordinal() - _EPOCH
        return day + (_days(found[5]) if found[5] else 0.0)
    except (ValueError, OverflowError):
        return None


def _days(text: str) -> float:
    """Return a time of the day, perhaps with its zone, in days."""
    clock = time.fromisoformat(text if text[1] != ":" else f"0{text}")
    offset = clock.utcoffset()
    seconds = 3600 * clock.hour + 60 * clock.minute + clock.second - (int(offset.total_seconds()) if offset else 0)
    return (10**6 * seconds + clock.microsecond) / 10**6 / 86400
