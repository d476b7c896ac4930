"""Checks shared by the generators."""

from __future__ import annotations

from typing import Any

from budgetrun.errors import InputError


def completed(options: dict[str, Any], defaults: dict[str, Any], where: str) -> dict[str, Any]:
    """Return the options completed by their defaults.

    Raises
    ------
    InputError
        An option is unknown: it has no default.
    """
    for name in options:
        if name not in defaults:
            raise InputError(f"{where}: options: unknown '{name}'; allowed: {' '.join(defaults)}")
    return {**defaults, **options}


def check_integer(name: str, value: Any, least: int, where: str) -> None:
    """Raise an InputError unless a value is an integer of at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise InputError(f"{where}: options.{name}: must be an integer >= {least}, got {value!r}")


def check_number(name: str, value: Any, least: float, where: str) -> None:
    """Raise an InputError unless a value is a finite number of at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value < float("inf"):
        raise InputError(f"{where}: options.{name}: must be a number >= {least:g}, got {value!r}")
