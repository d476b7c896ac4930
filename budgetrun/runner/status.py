"""Finished and remaining runs of a results folder, and of a sweep before it starts."""

from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

from budgetrun.base.errors import AlteredError, InputError, counted
from budgetrun.config.schema import Config
from budgetrun.results.store.write import Store
from budgetrun.runner.estimate import compile_seconds, job_bytes, job_seconds, jobs_within_memory
from budgetrun.runner.plan import Options, Plan, Rows, in_phases, select
from budgetrun.runner.progress import duration
from budgetrun.runner.provenance import replanned
from budgetrun.runner.shards import parse, planned


def status(folder: Path) -> str:
    """Return a line on how many runs of a results folder are finished, and the command that completes it.

    Nothing is written, and data are not needed: the manifest records their sizes.

    Raises InputError: the folder's manifest cannot be read.
    Raises AlteredError: the table is not as the sweep wrote it; the message begins with the line.
    """
    store = Store(folder)
    manifest = store.manifest()
    if manifest is None:
        raise InputError(f"{folder / 'manifest.json'}: cannot be read; repeat the sweep: budgetrun sweep CONFIG")
    rows = store.rows()
    try:
        told = line(folder, manifest, replanned(manifest), rows)
    # A ValueError is raised if another version of budgetrun wrote the manifest.
    except (InputError, ValueError) as error:
        states, n_planned = Counter(row["status"] for row in rows.values()), manifest.get("plan", {}).get("runs")
        total = counted(states["done"], "run")
        if isinstance(n_planned, int):
            total = f"{states['done']:,} of {counted(n_planned, 'run')}"
        why = f"whether they are up to date is unknown: {error}"
        told = f"{folder}: {total} finished, {states['failed']:,} failed; {why}"
    try:
        store.check()
    except AlteredError as error:
        raise AlteredError(f"{told}; but {error}") from None
    return told


def line(folder: Path, manifest: dict[str, Any], planned: tuple[Config, Plan], rows: Rows) -> str:
    """Return a line on the finished runs of a folder, given its config and plan (`provenance.replanned`)."""
    config, plan = planned
    states = Counter(rows[run.run_id]["status"] for run in plan.runs if run.run_id in rows)
    n_finished, n_failed = states["done"], states["failed"]
    n_outdated = 0 if plan.missing or plan.left_out else len(plan.outdated(rows))
    told = f"{folder}: {n_finished:,} of {counted(len(plan.runs), 'run')} finished"
    told += f", {n_failed:,} failed" if n_failed else ""
    told += f", {n_outdated:,} of earlier code or data" if n_outdated else ""
    told += f", data missing for {', '.join(plan.missing)}" if plan.missing else ""
    if n_finished < len(plan.runs) or plan.missing:
        results = folder.parent if config.profile == "full" else folder.parent.parent
        options = Options(results, shard=parse(manifest.get("shard")))
        place = options.folder(config)
        moved = "" if place.resolve() == folder.resolve() else f", move it to {place}, and type"
        told += f"; to complete it{moved}: {options.command(config)}"
    return told


def describe(config: Config, options: Options) -> str:
    """Return what a sweep would do: its runs, how many are finished, and their estimated time and memory.

    Nothing is written or downloaded.

    Raises InputError: as `budgetrun.runner.sweep.sweep`.
    """
    _, plan = planned(config, options, download=False)
    selected = select(plan.runs, options.only)
    done: set[str] = set()
    if not options.force:
        store = Store(options.folder(config))
        store.check()
        done = store.ids("done").intersection(run.run_id for run in plan.runs)
    remaining = plan.remaining(done, options.only)
    n_finished = sum(run.run_id in done for run in selected)
    name = f"{config.name}, shard {options.shard}" if options.shard else config.name
    lines = [f"{name}: {counted(len(selected), 'run')}, {n_finished:,} finished, {len(remaining):,} to do"]
    jobs = [job for runs in in_phases(remaining) for job in jobs_within_memory(config, plan, runs, options)]
    seconds: dict[str, float] = defaultdict(float)
    largest: dict[str, float] = defaultdict(float)
    for job in jobs:
        label, info = job.dataset.label, plan.infos[job.dataset.label]
        seconds[label] += job_seconds(job.runs, info)
        largest[label] = max(largest[label], job_bytes(job.runs, info, config.dtype))
    n_selected, n_remaining = Counter(run.dataset for run in selected), Counter(run.dataset for run in remaining)
    for label, info in plan.infos.items():
        line = f"  {label}: {counted(info.n_examples, 'round')} x {counted(info.n_features, 'feature')}, "
        line += f"{counted(n_selected[label], 'run')}, {n_remaining[label]:,} to do"
        if n_remaining[label]:
            line += f", about {duration(seconds[label])} on one core, {largest[label] / 1e9:.1f} GB per worker"
        lines.append(line)
    lines += [f"  {label}: its runs are not counted. {why}" for label, why in (plan.missing | plan.left_out).items()]
    lines += [f"  {why}" for why in plan.too_little]
    if remaining:
        workers = options.workers(config)
        once = compile_seconds(remaining)
        total = sum(seconds.values()) / workers + once
        at_once = min(workers, len(jobs)) * max(largest.values())
        compiles = f", {duration(once)} of it to compile learners, only this time" if once else ""
        lines.append(
            f"  estimate: about {duration(total)} with --jobs {workers}{compiles}, at most {at_once / 1e9:.1f} GB"
        )
    return "\n".join(lines)
