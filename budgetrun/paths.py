"""Where configs and dataset cards are: at the top of a checkout, inside the package once installed."""

from __future__ import annotations

from pathlib import Path

PACKAGE = Path(__file__).resolve().parent


def own_folder(name: str) -> Path:
    """Return the folder ``configs`` or ``datasets`` that belongs to this copy of budgetrun.

    Raises
    ------
    FileNotFoundError
        The installation carries no such folder.
    """
    for parent in (PACKAGE, PACKAGE.parent):
        candidate = parent / name
        if candidate.is_dir():
            return candidate
    raise FileNotFoundError(f"budgetrun's own folder {name!r} is missing from {PACKAGE}")


def checkout() -> Path | None:
    """Return the top of the source checkout this code runs from, or None for an installed wheel."""
    top = PACKAGE.parent
    return top if (top / "pyproject.toml").is_file() and (top / "datasets").is_dir() else None


def is_file(path: Path) -> bool:
    """Return whether something that may be read is at a path: anything but a folder, and no error of any kind."""
    try:
        return path.exists() and not path.is_dir()
    except (OSError, ValueError):
        return False


def expanded(path: Path) -> Path:
    """Return a path with ``~`` replaced by a home folder, or unchanged if there is no such user."""
    try:
        return path.expanduser()
    except RuntimeError:
        return path
