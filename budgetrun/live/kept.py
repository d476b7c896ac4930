"""What is kept of a stream between two calls of `budgetrun run`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from budgetrun.live.play import Player
from budgetrun.live.scaling import Scaler


@dataclass
class Progressed:
    """What was chosen, and how far the learners are."""

    request: dict[str, Any]
    config: str
    said: list[str]
    classes: list[Any]
    encoding: Any
    scaler: Scaler
    player: Player
    # Of the parts of a pipe that earlier calls have read.
    sha256s: list[str] = field(default_factory=list)
    # What ``gamma: auto`` stands for.
    median_gamma: float | None = None
    stamp: list[int] = field(default_factory=list)
    seconds: float = 0.0
    ended: bool = False
