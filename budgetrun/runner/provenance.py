"""The origin of results: the manifest of a results folder, with its config, data, versions, machine and commit."""

import datetime
import hashlib
import importlib.metadata
import platform
import subprocess
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import MISSING, asdict, fields
from pathlib import Path
from typing import Any

from budgetrun import __version__
from budgetrun.base.files import checkout, is_file
from budgetrun.config.report import manifest_entries
from budgetrun.config.schema import Config
from budgetrun.data import StreamInfo
from budgetrun.kernels import compiling
from budgetrun.results.store.write import Store
from budgetrun.runner.identity import algorithm_of
from budgetrun.runner.job import Outcome
from budgetrun.runner.plan import Job, Options, Plan, Run, make_plan, with_paths
from budgetrun.runner.shards import of_shard, parse


def manifest(config: Config, plan: Plan, options: Options, store: Store | None) -> dict[str, Any]:
    """Return the manifest of a sweep that begins; if its store has results of the same code, it continues theirs."""
    old = store.manifest() if store and not plan.outdated(store.rows()) else None
    datasets = {label: asdict(info) for label, info in plan.infos.items()}
    whole = plan
    if old:
        # Datasets that this sweep does not look at (``--only``) are described, and planned, as before.
        recorded = recorded_streams(old) | plan.infos
        datasets = old.get("datasets", {}) | datasets
        if recorded.keys() > plan.infos.keys():
            whole = of_shard(make_plan(config, download=False, only=recorded, recorded=recorded), options.shard)
    # The optional packages that learners are from.
    learners = map(algorithm_of, {id(one.spec): one.spec for run in whole.runs for one in run.played}.values())
    packages = sorted({name for learner in learners for name in getattr(learner, "packages", ())})
    new = {
        "name": config.name,
        "source": config.source,
        "description": config.description,
        "config": config.resolved(),
        "config_text": config.text,
        "config_file": config.file,
        **manifest_entries(config.report),
        "profile": config.profile,
        **({"shard": str(options.shard)} if options.shard else {}),
        "seed": config.seed,
        "versions": versions(*([compiling.COMPILER] if config.kind or compiling.on() else []), *packages),
        "compiled": compiling.on(),
        "revisions": sorted(whole.revisions),
        "plan": summary(whole.runs),
        "git": commit(),
        "datasets": datasets,
        "start": now(),
        "end": None,
        "seconds": 0.0,
        "jobs": options.workers(config),
        "parts": [],
        "failures": [],
    }
    if store is None or old is None:
        return new
    kept = ["start", "seconds", "parts", "merged"]
    if not plan.remaining(store.ids("done"), options.only):
        kept += ["versions", "compiled", "git", "jobs", "end"]
    return new | {key: old[key] for key in kept if key in old}


def add_job(manifest: dict[str, Any], job: Job, outcome: Outcome) -> None:
    """Add a finished job to the entry of its dataset in a manifest."""
    seconds = {"wall_seconds": outcome.wall_seconds, "cpu_seconds": outcome.cpu_seconds}
    labels = [run.spec.label for run in job.runs]
    add_part(manifest["parts"], {"dataset": job.dataset.label, "runs": len(job.runs), **seconds, "algorithms": labels})


def add_part(parts: list[dict[str, Any]], part: dict[str, Any]) -> None:
    """Add runs on a dataset, with their times, to the entry of the dataset among the ``parts`` of a manifest."""
    entry = next((entry for entry in parts if entry["dataset"] == part["dataset"]), None)
    if entry is None:
        parts.append(entry := part | dict.fromkeys(_SUMS, 0) | {"algorithms": []})
    entry |= {key: round(entry[key] + part[key], 2) for key in _SUMS}
    entry["algorithms"] = sorted({*entry["algorithms"], *part["algorithms"]})


_SUMS = ("runs", "wall_seconds", "cpu_seconds")


def summary(runs: Iterable[Run]) -> dict[str, Any]:
    """Return the number of planned runs, and a hash over their sorted ids, one per line."""
    run_ids = sorted(run.run_id for run in runs)
    return {"runs": len(run_ids), "sha256": hashlib.sha256("\n".join(run_ids).encode()).hexdigest()}


def recorded_streams(manifest: dict[str, Any]) -> dict[str, StreamInfo]:
    """Return the streams that a manifest records, by label; earlier versions recorded too little."""
    known = fields(StreamInfo)
    needed = {f.name for f in known if f.default is MISSING and f.default_factory is MISSING}
    return {
        label: StreamInfo(**{f.name: facts[f.name] for f in known if f.name in facts})
        for label, facts in manifest.get("datasets", {}).items()
        if needed <= facts.keys()
    }


def replanned(manifest: dict[str, Any]) -> tuple[Config, Plan]:
    """Return the config of a manifest, and its plan by this version of the code, without any data.

    Raises InputError or ValueError: another version of budgetrun wrote it.
    """
    config = Config.from_resolved(manifest["config"]).model_copy(update={"file": manifest.get("config_file", "")})
    top = Path(config.file).parent

    def beside(path: Path) -> Path:
        """Return a file of the user, which may also be in the folder of the config's file."""
        return top / path if is_file(top / path) else path

    known = config.model_copy(update={"datasets": tuple(with_paths(one, beside) for one in config.datasets)})
    plan = make_plan(known, download=False, recorded=recorded_streams(manifest))
    return config, of_shard(plan, parse(manifest.get("shard")))


def now() -> str:
    """Return the time in UTC, to the second."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def versions(*more: str) -> dict[str, str]:
    """Return the versions of everything that can change a number, of further packages too, and the name of the CPU."""
    from threadpoolctl import threadpool_info

    names = ("numpy", "scipy", "scikit-learn", "pandas", "joblib", *more)
    found = {"budgetrun": __version__, "python": platform.python_version()}
    for name in names:
        with suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
    pools = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
    blas = {f"{pool['internal_api']} {pool['version']} ({pool.get('architecture')})" for pool in pools}
    cpu = platform.processor() or "unknown"
    with suppress(OSError, StopIteration), open("/proc/cpuinfo", encoding="utf-8") as file:
        cpu = next(line.partition(":")[2].strip() for line in file if line.startswith("model name"))
    system = f"{platform.system()} {platform.machine()}"
    return found | {"blas": ", ".join(sorted(blas)) or "unknown", "cpu": cpu, "system": system}


def commit() -> dict[str, Any]:
    """Return the checkout's commit, and whether files other than results differ from it; None outside a checkout."""
    top = checkout()
    head = _git(top, "rev-parse", "HEAD") if top else None
    if top is None or head is None:
        return {"commit": None, "dirty": None}
    return {"commit": head, "dirty": bool(_git(top, "status", "--porcelain", "--", ".", ":!results"))}


def _git(top: Path, *arguments: str) -> str | None:
    command = ["git", "-C", str(top), *arguments]
    with suppress(OSError, subprocess.SubprocessError):
        return subprocess.run(command, capture_output=True, text=True, timeout=20, check=True).stdout.strip()
    return None
