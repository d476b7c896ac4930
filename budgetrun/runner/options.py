"""The options of a sweep, and what follows from them: the number of workers, the results folder, the command."""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from budgetrun.config.schema import Config


@dataclass(frozen=True)
class Options:
    """Options of a sweep; ``budgetrun sweep --help`` describes each."""

    results: Path  # the folder that holds one results folder per config
    jobs: int | None = 1  # None: one per core, or a single one if run times are compared (`Config.timed`)
    data_dir: Path | None = None
    only: dict[str, list[str]] = field(default_factory=dict)
    memory: float = 8e9  # bytes, for all workers together
    backend: str = "local"  # local, loky, dask, or another backend of joblib
    scheduler: str | None = None  # the address of a dask scheduler
    force: bool = False

    def workers(self, config: Config) -> int:
        """Return how many workers the sweep of a config uses, by default one per core that this process may use."""
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        return self.jobs or (1 if config.timed else cores)

    def folder(self, config: Config) -> Path:
        """Return the results folder of a config; a profile's runs never mix with those of the whole config."""
        return self.results / config.name if config.profile == "full" else self.results / config.profile / config.name

    def command(self, config: Config) -> str:
        """Return the command that runs what a config's results folder lacks."""
        words = ["budgetrun", "sweep", config.file or config.name]
        if config.profile != "full":
            words += ["--profile", config.profile]
        if self.data_dir is not None:
            words += ["--data", str(self.data_dir)]
        if self.results != Path("results"):
            words += ["--results", str(self.results)]
        return shlex.join(words)
