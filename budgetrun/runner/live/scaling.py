"""Scaling a stream chunk by chunk, with the result of scaling all of it at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from budgetrun.base.errors import InputError
from budgetrun.data.running import Running
from budgetrun.data.scaling import scale_in_place

if TYPE_CHECKING:
    from budgetrun.kernels.rows import Matrix

# The scales of a stream that is read once.
SCALES = ("none", "unit_norm", "running")


class Scaler(Protocol):
    """Scales the chunks of a stream, in order."""

    def scaled(self, X: Matrix) -> Matrix:
        """Return the next examples scaled, shape (b, d); ``X`` may be changed."""
        ...


class ByRow:
    """Leaves examples as they are, or scales each to Euclidean norm 1."""

    def __init__(self, scale: str) -> None:
        self.scale = scale

    def scaled(self, X: Matrix) -> Matrix:
        """Return the next examples scaled, shape (b, d)."""
        scale_in_place(X, self.scale, "the stream")
        return X


def scaler(scale: str, n_features: int) -> Scaler:
    """Return what scales the chunks of a stream.

    Raises
    ------
    InputError
        The scale needs the whole stream at once.
    """
    if scale not in SCALES:
        raise InputError(f"--scale {scale}: must be one of auto, {', '.join(SCALES)} for a stream that is read once")
    return Running(n_features) if scale == "running" else ByRow(scale)
