"""What identifies a run: its parameters, its data, and the revisions of the code that it executes.

Every part of the code that can change an outcome declares a revision: the learner or solver, the form of its
hypothesis, the engine, the kernel, the readers of the data, the stream, and the evaluation on a test set. Run ids
depend on these revisions rather than on source files, so modules can be moved, renamed, typed and documented without
making finished runs outdated. The tests in `tests/identity` fail if an outcome changes and its revision does not.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import pkgutil
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from types import CodeType
from typing import TYPE_CHECKING, Any

import budgetrun
from budgetrun import engine, loaded_code
from budgetrun.base import registry
from budgetrun.data import STREAM_REVISION
from budgetrun.learners import Learner, find
from budgetrun.play import selection

if TYPE_CHECKING:
    from budgetrun.config.schema import Config, DatasetSpec, RunSpec, SelectSpec
    from budgetrun.data import StreamInfo
    from budgetrun.kernels import Kernel
    from budgetrun.papers.solvers import Solver

# Raised whenever jobs feed their learners or fill rows differently; part of every run id.
JOB_REVISION = 1
# Raised whenever test errors (`online.evaluate`) change; part of the run ids of streams with a test set.
EVALUATION_REVISION = 1
# Raised whenever `runner.metrics` changes a number; part of the run ids of configs that ask for metrics.
METRICS_REVISION = 1
# The modules that measure runs, and packages whose modules are found by their names.
_RUNS_LEARNERS, _RUNS_SOLVERS = "budgetrun.runner.online", "budgetrun.runner.batch"
_FOUND_BY_NAME = ("budgetrun.data.formats", "budgetrun.data.generators")
# The modules, of those that these and an algorithm import, whose code can change an outcome.
_ROOMS = (
    *("engine", "data", "learners", "papers.solvers", "kernels", "play", "base.registry", "base.problem"),
    "results.store.write",
)
_EXECUTED = tuple(f"budgetrun.{name}" for name in _ROOMS)
# The keys of a dataset's entry that determine the rounds, in addition to its data.
_STREAM_KEYS = {"name", "task", "scale", "order", "balanced", "noise", "positive", "n_examples"}
# And those of a user's own file.
_OWN_KEYS = {"label_column", "missing"}


def algorithm_of(spec: RunSpec) -> type[Learner] | type[Solver]:
    """Return the class of a run's learner or solver."""
    if spec.solver:
        from budgetrun.papers import solvers

        return solvers.find(spec.name)
    return find(spec.name, spec.variant, spec.task)


def build(spec: RunSpec) -> Any:
    """Return the learner or solver of a run, ready for its first round."""
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
    if not spec.solver:
        parts += [f"engine {engine.REVISION}", f"{algorithm.form.form} {algorithm.form.revision}"]
        revised = algorithm.revised.items()
        parts += [f"{name} {key}={value} {n}" for (key, value), n in revised if spec.parameters.get(key) == value]
        if dataset.has_test:
            parts.append(f"evaluation {EVALUATION_REVISION}")
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
    """Return a hash of everything that determines a run's outcome, and of the labels that distinguish equal runs.

    ``source`` is the id of the run whose support size the budget is a fraction of; None for other budgets.
    """
    added = algorithm_of(spec).added
    # A parameter that came later, at the value that stands for the time before it, leaves older runs valid.
    parameters = {key: value for key, value in spec.parameters.items() if key not in added or value != added[key]}
    what: dict[str, Any] = {
        "revisions": sorted(revisions(spec, dataset, info)),
        "data": info.sha256,
        "stream": dataset.model_dump(mode="json", include=_STREAM_KEYS | (_OWN_KEYS if dataset.path else set())),
        "dataset": dataset.label,
        "seed": config.seed,
        "repetition": repetition,
        "split": task,
        "kernel": str(kernel_of(spec)),
        "tie": config.tie,
        "dtype": config.dtype,
        "label": spec.label,
        "algorithm": [spec.name, spec.variant, parameters, spec.seed, spec.budget, spec.budget_fraction],
        "source": source,
    }
    if spec.typed:
        what["typed"] = spec.typed
    if config.metrics:
        what["metrics"] = [METRICS_REVISION, *sorted(config.metrics)]
    return hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()[:16]


def revision_of_rule(spec: SelectSpec) -> str:
    """Return the rule of a selection with its revision."""
    return f"{spec.rule} {selection.registry()[spec.rule].revision}"


def selection_id(spec: SelectSpec, candidates: Sequence[str]) -> str:
    """Return a hash of everything that determines the outcome of a selection, given the run ids of its candidates."""
    what = [spec.label, revision_of_rule(spec), spec.parameters, list(candidates)]
    return hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()[:16]


def source_digest(specs: Sequence[RunSpec]) -> str:
    """Return a hash of the code that some runs execute, as this process loaded it.

    A worker compares it with the planning process's: a worker that starts after a file was edited runs different code.
    The code is that of the learners or solvers and of all that they import, of the engine, of everything that reads or
    generates data, and of what runs a job. Comments and positions in a file do not count.
    """
    algorithms = {algorithm_of(spec) for spec in specs}
    return _digest_of(frozenset(algorithms))


@cache
def _digest_of(algorithms: frozenset[type[Learner] | type[Solver]]) -> str:
    forms = {algorithm.form for algorithm in algorithms if issubclass(algorithm, Learner)}
    modules = {base.__module__ for cls in algorithms | forms for base in cls.__mro__}
    for name in (_RUNS_LEARNERS if forms else _RUNS_SOLVERS, "budgetrun.runner.job"):
        modules.add(importlib.import_module(name).__name__)
    modules |= {module.__name__ for package in _FOUND_BY_NAME for module in registry.modules(package)}
    modules &= loaded_code.keys()
    digests = (f"{name} {_digest_of_code(loaded_code[name])}" for name in sorted(_with_imports(modules)))
    return hashlib.sha256("\n".join(digests).encode()).hexdigest()[:16]


@cache
def _digest_of_code(code: CodeType) -> str:
    return hashlib.sha256(repr(_stable(code)).encode()).hexdigest()


def _with_imports(names: set[str]) -> set[str]:
    """Return modules together with all modules of `_EXECUTED` that they import, anywhere in their code."""
    found, new = set(names), set(names)
    while new:
        imported = {name for module in new for name in _imports(loaded_code[module])}
        new = {name for name in imported if name.startswith(_EXECUTED)} - found
        found |= new
    return found


def _imports(code: CodeType) -> set[str]:
    """Return the modules of the package that code imports or names, functions and classes included."""
    packages = [name for name in code.co_names if name.startswith("budgetrun.")]
    texts = [const for const in code.co_consts if isinstance(const, str) and const.startswith("budgetrun.")]
    members = [f"{package}.{name}" for package in packages for name in code.co_names]
    inner = (_imports(const) for const in code.co_consts if isinstance(const, CodeType))
    return {module for text in (*packages, *texts, *members) for module in _modules(text)}.union(*inner)


@cache
def _modules(text: str) -> list[str]:
    """Return the module of this name, or those of the package before a final dot; none if there are none.

    They are read if they are not imported yet: some import numba, and only compiled code needs them.
    """
    package, _, name = text.rpartition(".")
    folder = str(Path(*budgetrun.__path__, *package.split(".")[1:]))
    if not name:
        return [module for found in pkgutil.iter_modules([folder]) for module in _modules(text + found.name)]
    finder: Any = pkgutil.get_importer(folder)
    spec = finder.find_spec(text)
    if spec is None or spec.loader is None:
        return []
    if text not in loaded_code:
        # The loader records the code.
        spec.loader.get_code(text)
    return [text]


def _stable(value: Any) -> Any:
    """Return what code, or a constant of code, does, as something with the same ``repr`` in every process."""
    if isinstance(value, CodeType):
        names = value.co_names, value.co_varnames, value.co_freevars, value.co_cellvars
        arguments = value.co_argcount, value.co_posonlyargcount, value.co_kwonlyargcount, value.co_flags
        return value.co_code, value.co_exceptiontable, *names, *arguments, [_stable(const) for const in value.co_consts]
    if isinstance(value, tuple):
        return [_stable(one) for one in value]
    # The order of a set differs between processes.
    return sorted(map(repr, value)) if isinstance(value, frozenset) else repr(value)
