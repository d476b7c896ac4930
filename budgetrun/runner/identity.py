"""What identifies a run: its parameters, its data, and the revisions of the code that it executes.

Every part that can change an outcome declares a revision: the rule (a learner or solver), the form of its hypothesis,
the engine, the kernel, the readers of its data, the stream, and the evaluation on a test set. Nothing else of the code
counts, so that modules can move and be renamed, typed and documented without making finished runs stale. Recorded
outcomes of short runs (`tests/identity`) fail whenever behaviour changes and the revision does not.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from budgetrun import engine
from budgetrun.data import STREAM_REVISION
from budgetrun.learners import Learner, find
from budgetrun.runner import evaluation

if TYPE_CHECKING:
    from budgetrun.config.schema import Config, DatasetSpec, RunSpec
    from budgetrun.data import StreamInfo
    from budgetrun.solvers import Solver

# Raised whenever a job plays its runs, or fills their rows, in another way; part of every run id.
JOB_REVISION = 1
# The modules that every run goes through.
_EVERY_RUN = ("budgetrun.engine.group", "budgetrun.engine.pool", "budgetrun.kernels", "budgetrun.data.streams")
# What of a dataset's entry determines the rounds, beside its data.
_STREAM_KEYS = {"name", "task", "scale", "order", "balanced", "noise", "positive", "n_examples"}


def algorithm_of(spec: RunSpec) -> type[Learner] | type[Solver]:
    """Return the class of a run's learner or solver."""
    if spec.solver:
        from budgetrun import solvers

        return solvers.find(spec.name)
    return find(spec.name, spec.variant, multiclass=spec.multiclass)


def build(spec: RunSpec) -> Any:
    """Return the learner or solver of a run, ready for its first round."""
    return spec.build(algorithm_of(spec))


def revisions(spec: RunSpec, dataset: DatasetSpec, info: StreamInfo) -> list[str]:
    """Return the parts of the code that a run executes, each with its revision, such as ``gaussian 1``."""
    assert dataset.kernel is not None
    kernel = dataset.kernel.build()
    algorithm: Any = algorithm_of(spec)
    name = f"{spec.name}({spec.variant})" if spec.variant else spec.name
    parts = [f"{name} {algorithm.revision}", f"{kernel.name} {kernel.revision}"]
    if not spec.solver:
        parts += [f"engine {engine.REVISION}", f"{algorithm.form.form} {algorithm.form.revision}"]
        if dataset.has_test:
            parts.append(f"evaluation {evaluation.REVISION}")
    return [*parts, f"job {JOB_REVISION}", f"stream {STREAM_REVISION}", *info.readers]


def run_id(
    config: Config,
    dataset: DatasetSpec,
    info: StreamInfo,
    repetition: int,
    task: str,
    spec: RunSpec,
    source: str | None,
) -> str:
    """Return a hash of all that determines a run's outcome, and of the labels that tell it from its equals.

    ``source`` is the id of the run whose support size the budget is a fraction of, if it is one.
    """
    assert dataset.kernel is not None
    what: dict[str, Any] = {
        "revisions": sorted(revisions(spec, dataset, info)),
        "data": info.sha256,
        "stream": dataset.model_dump(mode="json", include=_STREAM_KEYS),
        "dataset": dataset.label,
        "seed": config.seed,
        "repetition": repetition,
        "split": task,
        "kernel": str(dataset.kernel.build()),
        "tie": config.tie,
        "dtype": config.dtype,
        "label": spec.label,
        "algorithm": [spec.name, spec.variant, spec.parameters, spec.seed, spec.budget, spec.budget_fraction],
        "source": source,
    }
    if spec.typed:
        what["typed"] = spec.typed
    return hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()[:16]


def source_digest(specs: Sequence[RunSpec]) -> str:
    """Return a hash of the files that the learners or solvers of some runs execute, as this process first saw them.

    Within one sweep it is compared between processes: one that starts after a file was edited runs other code.
    """
    algorithms = {algorithm_of(spec) for spec in specs}
    forms = {algorithm.form for algorithm in algorithms if issubclass(algorithm, Learner)}
    return _digest_of(frozenset(base.__module__ for cls in algorithms | forms for base in cls.__mro__))


@cache
def _digest_of(modules: frozenset[str]) -> str:
    digest = hashlib.sha256()
    for name in sorted({*modules, *_EVERY_RUN}):
        file = getattr(sys.modules.get(name), "__file__", None)
        if file is not None and name.startswith("budgetrun."):
            digest.update(Path(file).read_bytes())
    return digest.hexdigest()[:16]
