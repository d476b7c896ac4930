"""The peak memory of this process."""

from __future__ import annotations

import contextlib
import resource
import sys
from pathlib import Path

_RESET, _STATUS = Path("/proc/self/clear_refs"), Path("/proc/self/status")


def reset_peak() -> None:
    """Restart the measurement; where the system cannot (all but Linux), the peak is that of the whole process."""
    with contextlib.suppress(OSError):
        _RESET.write_text("5")


def peak_mb() -> float:
    """Return the peak memory since `reset_peak`, in MB of 2^20 bytes."""
    try:
        lines = _STATUS.read_text().splitlines()
    except OSError:
        lines = []
    for line in lines:
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1024 * 1024 if sys.platform == "darwin" else 1024)
