"""The results folder of a stream that was played, like that of a sweep."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from budgetrun.data import StreamInfo
from budgetrun.data.cards import combined_sha256
from budgetrun.results.store.write import Store
from budgetrun.runner import provenance
from budgetrun.runner.job import Outcome, row_of
from budgetrun.runner.options import Options
from budgetrun.runner.plan import make_jobs, make_plan

if TYPE_CHECKING:
    from budgetrun.config.schema import Config, RunSpec
    from budgetrun.data.tables import Table
    from budgetrun.runner.live.kept import Progressed
    from budgetrun.runner.live.request import Request


def name_of(spec: RunSpec, specs: Sequence[RunSpec]) -> str:
    """Return the name of a learner in messages: its label, with what distinguishes it from others of that label."""
    alike = [other for other in specs if other.label == spec.label]
    parts = [f"B = {spec.budget:,}"] if spec.budget is not None and len({s.budget for s in alike}) > 1 else []
    parts += [f"{key} = {value}" for key, value in spec.setting.items()]
    parts += [f"seed {spec.seed}"] if len({s.seed for s in alike}) > 1 else []
    return f"{spec.label} ({', '.join(parts)})" if parts else spec.label


def write_results(
    request: Request, config: Config, table: Table, state: Progressed, sha256s: Sequence[str], warnings: Sequence[str]
) -> None:
    """Write the rows, curves and manifest of a stream after the rounds so far."""
    session, counts = state.session, state.session.counts
    label = config.datasets[0].label
    sha256 = sha256s[0] if len(sha256s) == 1 else hashlib.sha256("\n".join(sha256s).encode()).hexdigest()
    info = StreamInfo(
        n_examples=counts.rounds,
        n_features=len(table.features),
        nnz_per_row=counts.stored / max(1, counts.rounds) if counts.is_sparse else None,
        task_names=["-"],
        sha256=combined_sha256([sha256]),
        files={table.where: sha256},
        notes=[*dict.fromkeys([*state.said, *table.notes()]), *(f"Warning: {sentence}" for sentence in warnings)],
        classes=state.classes,
        n_classes=session.problem.n_classes(len(state.classes)) or 2,
        readers=[table.reader],
        median_gamma=state.median_gamma,
    )
    plan = make_plan(config, played={label: info})
    options = Options(results=request.results)
    store = Store(options.folder(config))
    manifest = provenance.manifest(config, plan, options, None)
    store.open(manifest)
    store.prune(lambda row: False)
    # Selections come after the learners, here and there.
    at = {run.run_id: i for i, run in enumerate(plan.runs)}
    for job in make_jobs(config, plan.runs, lambda *_: True):
        ids = [run.run_id for run in job.runs]
        rows = [row_of(run, job, n_examples=counts.rounds, **session.columns(at[run.run_id])) for run in job.runs]
        curves = [session.curves(at[run_id]) for run_id in ids]
        stacked = {name: np.stack([one[name] for one in curves]) for name in curves[0]}
        store.save_curves(job.job_id, {"run_id": np.array(ids), "rounds": session.curve.rounds, **stacked})
        store.save(job.job_id, rows)
        share = state.seconds * len(ids) / len(at)
        provenance.add_job(manifest, job, Outcome(job.job_id, rows, share, share, stored=True))
    manifest |= {"seconds": round(state.seconds, 1), "end": provenance.now()}
    store.write_table()
    store.write_manifest(manifest)
