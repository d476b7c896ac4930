"""Checks shared by the generators."""

from __future__ import annotations

from typing import Any

from budgetrun.base.errors import InputError


def completed(options: dict[str, Any], defaults: dict[str, Any], where: str) -> dict[str, Any]:
    """Return the options completed by their defaults; an option without a default is unknown, and an InputError."""
    for name in options:
        if name not in defaults:
            raise InputError(f"{where}: options: unknown '{name}'; allowed: {' '.join(defaults)}")
    return {**defaults, **options}


def check_number(name: str, value: Any, least: float, where: str, kind: type = float) -> None:
    """Raise an InputError unless a value is a finite number (of ``kind`` int: an integer) of at least ``least``."""
    allowed = int if kind is int else int | float
    if isinstance(value, bool) or not isinstance(value, allowed) or not least <= value < float("inf"):
        noun = "an integer" if kind is int else "a number"
        raise InputError(f"{where}: options.{name}: must be {noun} >= {least:g}, got {value!r}")
