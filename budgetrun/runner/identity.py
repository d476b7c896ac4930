"""The identity of a run: its parameters, its data, and the revisions of the code that it executes.

Every part of the code that can change an outcome declares a revision. Run ids depend on these rather than on source
files, so code can be moved, renamed and documented without making finished runs outdated. The tests in `tests/identity`
fail if an outcome changes and its revision does not.
"""

import hashlib
import json
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from budgetrun import engine
from budgetrun.base.errors import InputError
from budgetrun.base.problem import PREFIX_LOG_LOSS
from budgetrun.config import kinds
from budgetrun.config.schema import Config, DatasetSpec, RunSpec, SelectSpec
from budgetrun.data.streams import STREAM_REVISION, StreamInfo
from budgetrun.kernels import Kernel
from budgetrun.play import selection

# Raised whenever jobs feed their learners or fill rows differently; part of every run id.
JOB_REVISION = 1
# Raised whenever test errors (`runner.job.evaluate`) change; part of the run ids of streams with a test set.
EVALUATION_REVISION = 1
# Raised whenever `play.metrics` changes a number; part of the run ids of configs that ask for metrics.
METRICS_REVISION = 1
# That of prefixes of several splits, and of selections, with the metric `PREFIX_LOG_LOSS`.
PREFIX_REVISION = 3
# The keys of a dataset's entry that determine the rounds, in addition to its data.
_STREAM_KEYS = {"name", "task", "scale", "order", "balanced", "noise", "positive", "n_examples"}
# And those of a user's own file.
_OWN_KEYS = {"label_column", "missing"}


def algorithm_of(spec: RunSpec) -> type[Any]:
    """Return the class of a run's algorithm: that of a learner, or one of the run's kind, if a plug-in provides it.

    Raises InputError: there is none, as in results of another version.
    """
    if spec.kind:
        kinds.find(spec.kind)
    try:
        found: type[Any] = kinds.class_of(spec.name, spec.variant, spec.task)
    except KeyError:
        raise InputError(f"{spec.label}: this version has no {spec.name!r}  (budgetrun list algorithms)") from None
    return found


def standardises(spec: RunSpec) -> bool:
    """Return `Learner.standardises` of a run's algorithm; False for what is no learner."""
    return getattr(algorithm_of(spec), "standardises", False)


def build(spec: RunSpec) -> Any:
    """Return the algorithm of a run, ready for its first round."""
    return spec.build(algorithm_of(spec))


def kernel_of(spec: RunSpec) -> Kernel:
    """Return the kernel of a run, whose dataset is known."""
    assert spec.kernel is not None
    return spec.kernel.build()


def revisions(spec: RunSpec, dataset: DatasetSpec, info: StreamInfo) -> list[str]:
    """Return the parts of the code that a run executes, each with its revision, for example ``gaussian 1``."""
    algorithm: Any = algorithm_of(spec)
    kernel = kernel_of(spec)
    name = f"{spec.name}({spec.variant})" if spec.variant else spec.name
    parts = [f"{name} {algorithm.revision}", f"{kernel.name} {kernel.revision}"]
    if not spec.kind:
        parts += [f"engine {engine.REVISION}", f"{algorithm.form.form} {algorithm.form.revision}"]
        values, revised = {**spec.parameters, "kernel": kernel.name}, algorithm.revised.items()
        parts += [f"{name} {key}={value} {n}" for (key, value), n in revised if values.get(key) == value]
        if dataset.has_test:
            parts.append(f"evaluation {EVALUATION_REVISION}")
    return [*parts, f"job {JOB_REVISION}", f"stream {STREAM_REVISION}", *info.readers]


def run_ids(
    config: Config, dataset: DatasetSpec, info: StreamInfo, spec: RunSpec
) -> Callable[[int, str, int, str | None], str]:
    """Return the function that gives the ids of runs of a spec, given their repetition, split, seed and source.

    An id is a hash of everything that determines a run's outcome, and of the labels that distinguish equal runs. The
    source is the id of the run whose support size the budget is a fraction of; None for other budgets.
    """
    added = algorithm_of(spec).added
    # A parameter that came later leaves older runs valid at the value that means what they did.
    parameters = {key: value for key, value in spec.parameters.items() if key not in added or value != added[key]}
    what: dict[str, Any] = {
        "revisions": sorted(revisions(spec, dataset, info)),
        "data": info.sha256,
        "stream": dataset.model_dump(mode="json", include=_STREAM_KEYS | (_OWN_KEYS if dataset.path else set())),
        "dataset": dataset.label,
        "seed": config.seed,
        "repetition": _HOLE,
        "split": _HOLE,
        "kernel": str(kernel_of(spec)),
        "tie": config.tie,
        "dtype": config.dtype,
        "label": spec.label,
        "algorithm": [spec.name, spec.variant, parameters, _HOLE, spec.budget, spec.budget_fraction],
        "source": _HOLE,
    }
    if spec.learner_memory is not None:
        what["learner_memory"] = spec.learner_memory
    if spec.typed:
        what["typed"] = spec.typed
    if config.metrics:
        what["metrics"] = [METRICS_REVISION, *sorted(config.metrics)]
    if PREFIX_LOG_LOSS in config.metrics and (len(info.task_names) > 1 or len(info.classes) > info.n_classes):
        what["prefix"] = PREFIX_REVISION
    # A plan may have a million runs, and few specs: the text is made once for each spec.
    a, b, c, d, e = json.dumps(what, sort_keys=True).split(f'"{_HOLE}"')

    def run_id(repetition: int, split: str, seed: int, source: str | None) -> str:
        filled = f"{a}{seed}{b}{repetition}{c}{_quoted(source)}{d}{_quoted(split)}{e}"
        return hashlib.sha256(filled.encode()).hexdigest()[:16]

    return run_id


_quoted = lru_cache(json.dumps)
# What stands for a seed, a repetition, a source and a split, in the order of their keys, and in no config.
_HOLE = "8c1de9d0b4f34a0c"


def revision_of_rule(spec: SelectSpec) -> str:
    """Return the rule of a selection with its revision."""
    return f"{spec.rule} {selection.registry()[spec.rule].revision}"


def selection_id(config: Config, spec: SelectSpec, candidates: Sequence[str]) -> str:
    """Return a hash of everything that determines the outcome of a selection, given the run ids of its candidates."""
    what: list[Any] = [spec.label, revision_of_rule(spec), spec.parameters, list(candidates)]
    what += [PREFIX_REVISION] if PREFIX_LOG_LOSS in config.metrics else []
    return hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()[:16]
