"""Where results come from: versions, machine, commit."""

from __future__ import annotations

import importlib.metadata
import platform
import subprocess
from typing import Any

from budgetrun import __version__
from budgetrun.paths import checkout


def versions(*more: str) -> dict[str, str]:
    """Return the versions of whatever can change a number, further packages included, and the CPU's name."""
    from threadpoolctl import threadpool_info

    names = ("numpy", "scipy", "scikit-learn", "pandas", "joblib", *more)
    found = {"budgetrun": __version__, "python": platform.python_version()}
    found |= {name: importlib.metadata.version(name) for name in names}
    pools = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
    blas = {f"{pool['internal_api']} {pool['version']} ({pool.get('architecture')})" for pool in pools}
    found["blas"] = ", ".join(sorted(blas)) or "unknown"
    found["cpu"] = _cpu()
    found["system"] = f"{platform.system()} {platform.machine()}"
    return found


def commit() -> dict[str, Any]:
    """Return the checkout's commit, and whether anything but results differs from it; None outside a checkout."""
    top = checkout()
    head = _git(top, "rev-parse", "HEAD") if top else None
    if head is None:
        return {"commit": None, "dirty": None}
    changes = _git(top, "status", "--porcelain", "--", ".", ":!results")
    return {"commit": head, "dirty": bool(changes)}


def _git(top: Any, *arguments: str) -> str | None:
    command = ["git", "-C", str(top), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


def _cpu() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return next(line.partition(":")[2].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or "unknown"
