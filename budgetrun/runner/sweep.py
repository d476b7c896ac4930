"""A sweep: it makes the missing runs of a results folder, and survives failures of workers, disk and terminal."""

import os
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from budgetrun.base.errors import CannotWriteError, InputError, counted, say
from budgetrun.base.files import CANNOT_WRITE
from budgetrun.config.schema import Config
from budgetrun.kernels import compiling
from budgetrun.results.store.write import Store
from budgetrun.runner import interrupts, provenance
from budgetrun.runner.backends import Workers, opened
from budgetrun.runner.estimate import job_seconds, jobs_within_memory
from budgetrun.runner.job import Outcome, Settings, failure, timed_out, too_long
from budgetrun.runner.plan import Job, Options, Plan, Run, in_phases, part_of, select, sources, with_budgets
from budgetrun.runner.progress import Progress
from budgetrun.runner.shards import planned

# The most failed runs that are named at the end.
_FAILURES_SHOWN = 10
# The largest share of a sweep's time that goes into rewriting its table and manifest before the end.
_SHARE_OF_REWRITING = 0.03


def sweep(config: Config, options: Options, report: Callable[[Path], Any] | None = None) -> int:
    """Run every run of a config that its results folder lacks; return the exit code.

    It is 0; 1 if a run failed or a dataset is missing; 130 if interrupted. The folder is consistent in any case.
    ``report`` is called with the folder at the end, if it has finished runs and the sweep was not interrupted.

    Raises InputError: the config or ``only`` does not fit the data, or the results folder cannot be used.
    """
    whole, plan = planned(config, options)
    if shard := options.shard:
        what = f"shard {shard.part} of {shard.of}, {len(plan.runs):,} of {counted(len(whole.runs), 'run')}"
        say(f"{config.name}: {what}; each dataset is divided by estimated time, in the same way on every machine")
    select(plan.runs, options.only)
    for why in plan.missing.values():
        say(why)
    for label, why in plan.left_out.items():
        say(f"{label} is optional and left out: {why}")
    for why in plan.too_little:
        say(why)
    if not plan.runs and not plan.missing:
        say(f"{config.name}: {'this shard has no run' if whole.runs else 'nothing can be run without its data'}")
        return 0
    with opened(options, options.workers(config)) as workers:
        running = _Sweep(config, plan, options, workers)
        code = running.run()
    if report is not None and code != 130 and running.store.ids("done"):
        report(running.store.folder)
    return code


class _Sweep:
    """One sweep of one config: its store and its manifest, and the workers that run its jobs."""

    def __init__(self, config: Config, plan: Plan, options: Options, workers: Workers) -> None:
        self.config, self.plan, self.options, self.workers = config, plan, options, workers
        self.store = Store(options.folder(config))
        self.settings = Settings(
            seed=config.seed,
            tie=config.tie,
            dtype=config.dtype,
            data_dir=options.data_dir.resolve() if options.data_dir else None,
            folder=self.store.folder.resolve(),
            parent=os.getpid(),
            timeout_seconds=config.timeout_seconds,
            sha256s={label: info.sha256 for label, info in plan.infos.items()},
            memory=options.memory,
            metrics=config.metrics,
        )
        self.manifest: dict[str, Any] = {}
        # When the table and the manifest may be rewritten again.
        self._next_rewrite = 0.0

    def run(self) -> int:
        """Run what remains, and return the exit code."""
        plan, store, config = self.plan, self.store, self.config
        self.manifest = provenance.manifest(config, plan, self.options, None if self.options.force else store)
        store.open(self.manifest, self.options.force)
        if store.rebuilt:
            say(f"{store.rebuilt}; its runs are taken from {store.parts} instead")
        outdated = plan.outdated(store.rows())
        if outdated:
            are, they = ("is", "it is") if len(outdated) == 1 else ("are", "they are")
            then = "removed; those that --only asks for are run again" if self.options.only else "run again"
            say(f"{counted(len(outdated), 'run')} in {store.folder} {are} of earlier code or data; {they} {then}")
            store.prune(lambda row: row["run_id"] not in outdated)
        done = store.ids("done").intersection(run.run_id for run in plan.runs)
        remaining = plan.remaining(done, self.options.only)
        how = ""
        if config.timed and self.options.jobs is None:
            how = ", one at a time, so that run times can be compared (--jobs N runs N at once)"
        if not all(run.spec.kind for run in remaining) and compiling.begins():
            how += "; each learner is compiled once for this version, which takes some seconds"
        say(f"{config.name}: {counted(len(remaining), 'run')} to do, {len(done):,} finished, in {store.folder}{how}")
        interrupted = self._run_safely(remaining)
        again = self.options.command(config)
        if interrupted:
            say(f"interrupted; every finished run is kept in {store.folder}; to run the remaining ones: {again}")
            return 130
        rows = store.rows()
        ids = set(self.manifest["failures"])
        failed = [run for run in plan.runs if run.run_id in ids]
        for run in failed[:_FAILURES_SHOWN]:
            say(f"failed: {run}: {rows[run.run_id]['error']}")
        if failed:
            n_more, them = len(failed) - _FAILURES_SHOWN, "it" if len(failed) == 1 else "them"
            more = f" ({n_more:,} more than these)" if n_more > 0 else ""
            say(f"{counted(len(failed), 'run')} failed{more}; to repeat {them}: {again}")
        return 1 if failed or plan.missing else 0

    def _run_safely(self, remaining: Sequence[Run]) -> bool:
        """Run what remains and leave the folder consistent in any case; return whether it was interrupted."""
        began, interrupted = time.monotonic(), False
        with interrupts.raising(), _write_errors_explained(self.store.folder):
            try:
                self._run_phases(remaining)
            except KeyboardInterrupt:
                interrupted = True
            finally:
                # A second Ctrl-C must not leave workers running, or runs.csv without the last runs.
                with interrupts.ignored():
                    self.workers.stop()
                    if remaining:
                        self.manifest["seconds"] = round(self.manifest["seconds"] + time.monotonic() - began, 1)
                        self.manifest["end"] = provenance.now()
                    for mark in self.store.parts.glob("*.running"):
                        mark.unlink(missing_ok=True)
                    self.store.drop_unfinished_writes()
                    self.store.write_table()
                    self.manifest["failures"] = sorted(self.store.ids("failed"))
                    self.store.write_manifest(self.manifest)
        return interrupted

    def _run_phases(self, remaining: Sequence[Run]) -> None:
        """Run the runs whose support sizes are the budgets of others, then the others."""
        first, others = in_phases(remaining)
        estimate = sum(self._seconds(job) for runs in (first, others) for job in self._jobs(runs))
        with closing(Progress(len(remaining), estimate, self.options.workers(self.config))) as progress:
            self._run_jobs(self._jobs(first), progress)
            rows, done = self.store.rows(), self.store.ids("done") if others else set[str]()
            known_sizes = done.intersection(run.run_id for run in sources(others))
            sizes = {run_id: int(rows[run_id]["support_size"]) for run_id in known_sizes}
            ready = with_budgets(others, sizes)
            progress.left = sum(self._seconds(job) for job in self._jobs(ready))
            self._run_jobs(self._jobs(ready), progress)
            known = {run.run_id for run in ready}
            why = "its budget is a fraction of the support size of a {} run{} that failed"
            for job in self._jobs([run for run in others if run.run_id not in known]):
                self._fail(job, [why.format(run.spec.budget_of, run.source_setting) for run in job.runs], progress)

    def _run_jobs(self, jobs: list[Job], progress: Progress) -> None:
        """Run jobs; those that were running when a worker died are divided until the runs to blame are found."""
        # Jobs on the same data follow one another where run times are compared, and with one worker, which then reads
        # the data once. Several workers end at about the same time if the longest jobs come first.
        in_order = self.config.timed or self.options.workers(self.config) == 1
        left = jobs if in_order else sorted(jobs, key=self._seconds, reverse=True)
        # Jobs that are retried, each alone.
        suspects: deque[Job] = deque()
        while left or suspects:
            alone = not left
            unfinished = self._attempt([suspects.popleft()] if alone else left, progress)
            left, died = [], []
            running = self._running(unfinished)
            for job in unfinished:
                late = [run for run in job.runs if run.run_id == running.get(job.job_id)]
                others = [run for run in job.runs if run.run_id != running.get(job.job_id)]
                if job.job_id not in running:
                    left.append(job)
                elif late:
                    self._fail(part_of(job, late), [too_long(self.config.timeout_seconds or 0)], progress)
                    left += [part_of(job, others)] if others else []
                elif not alone:
                    died.append(job)
                elif len(job.runs) > 1:
                    died += [part_of(job, half) for half in (job.runs[::2], job.runs[1::2])]
                else:
                    self._fail(job, ["its worker process died twice (killed, or out of memory)"], progress)
            suspects += died
            if died and not alone:
                say("a worker process died (killed, or out of memory); the jobs that were running are retried")

    def _attempt(self, jobs: list[Job], progress: Progress) -> list[Job]:
        """Run jobs until all are finished or a worker dies; return those that are not finished."""
        left = {job.job_id: job for job in jobs}
        estimated = {job_id: self._seconds(job) for job_id, job in left.items()}

        def partly(shares: Mapping[str, float]) -> None:
            progress.partly(sum(share * estimated[job_id] for job_id, share in shares.items()), len(shares))

        try:
            with closing(self.workers.outcomes(jobs, self.settings, partly)) as outcomes:
                for outcome in outcomes:
                    self._keep(left.pop(outcome.job_id), outcome, progress)
        except BrokenProcessPool:
            # Jobs may have finished although their outcome was never received.
            rows, done = self.store.rows(), self.store.ids("done")
            for job in list(left.values()):
                if done.issuperset(run.run_id for run in job.runs):
                    seconds = sum(float(rows[run.run_id]["seconds"]) for run in job.runs)
                    self._keep(left.pop(job.job_id), Outcome(job.job_id, [], seconds, seconds, stored=True), progress)
        return list(left.values())

    def _running(self, jobs: list[Job]) -> dict[str, str]:
        """Return the jobs that had started when their workers died; all of them if none is marked.

        Each has the id of the run that took longer than ``timeout_seconds``; empty if its worker died otherwise.
        """
        found = {}
        for job in jobs:
            mark = self.store.parts / f"{job.job_id}.running"
            if mark.is_file():
                found[job.job_id] = timed_out(mark)
                mark.unlink(missing_ok=True)
        return found or dict.fromkeys((job.job_id for job in jobs), "")

    @interrupts.deferred()
    def _keep(self, job: Job, outcome: Outcome, progress: Progress) -> None:
        if not outcome.stored:
            self.store.save(job.job_id, outcome.rows)
        provenance.add_job(self.manifest, job, outcome)
        # The rows are safe in their parts; the table grows with the sweep, so it is not rewritten after every job.
        if (began := time.monotonic()) >= self._next_rewrite:
            self.store.write_table()
            self.store.write_manifest(self.manifest)
            now = time.monotonic()
            self._next_rewrite = now + (now - began) / _SHARE_OF_REWRITING
        progress.advance(len(job.runs), self._seconds(job), outcome.wall_seconds, job.dataset.label)

    def _fail(self, job: Job, reasons: Sequence[str], progress: Progress) -> None:
        """Record the runs of a job as failed, each for its reason."""
        self._keep(job, failure(job, reasons), progress)

    def _jobs(self, runs: Sequence[Run]) -> list[Job]:
        return jobs_within_memory(self.config, self.plan, runs, self.options)

    def _seconds(self, job: Job) -> float:
        return job_seconds(job.runs, self.plan.infos[job.dataset.label])


@contextmanager
def _write_errors_explained(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        # Marks of running jobs raise plain errors.
        if not isinstance(error, CannotWriteError) and error.errno not in CANNOT_WRITE:
            raise
        reason = error.reason if isinstance(error, CannotWriteError) else error.strerror
        kept = "finished runs are kept" if folder.is_dir() else "the folder has been removed"
        raise InputError(
            f"{folder}: results cannot be written any more ({reason}); {kept}; "
            f"make sure that it can be written, then repeat the command"
        ) from None
