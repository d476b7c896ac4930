"""Estimates of runs that have not started: their memory by counting, their time from rates of a usual machine.

A sweep corrects the time by what its first jobs take. An algorithm is known by what its class declares, never by its
name.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from budgetrun.base import limits
from budgetrun.base.problem import problem_of
from budgetrun.base.registry import parameters
from budgetrun.config import kinds
from budgetrun.config.schema import Config, DatasetSpec, RunSpec
from budgetrun.data import StreamInfo
from budgetrun.data.dataset import KEPT_BYTES
from budgetrun.engine.group import trial
from budgetrun.engine.hypotheses import Hypothesis
from budgetrun.engine.hypotheses.base import Table, bytes_needed
from budgetrun.kernels import Gaussian, compiling
from budgetrun.kernels.kinds import BYTES
from budgetrun.learners import Learner
from budgetrun.learners.one_vs_rest import OneVsRest
from budgetrun.play.session import BLOCK_SIZE
from budgetrun.runner.identity import algorithm_of, build
from budgetrun.runner.plan import Job, Options, Plan, Run, make_jobs

# Of one core per second: multiplications and additions of a matrix product, additions of weighted kernel values,
# updates of a learner, operations of numpy on small arrays.
PRODUCTS, GATHERS, UPDATES, CALLS = 2e10, 4e9, 3e5, 1.5e6
# The seconds of a kernel value, and those of each number of an example in addition, by how examples are held
# (`budgetrun.kernels.kinds.KINDS`).
VALUE_SECONDS = {
    "bits": (5e-10, 1e-12),
    "integers": (1.5e-9, 5e-12),
    "floats": (1.5e-9, 5e-11),
    "sparse": (3e-8, 4e-10),
}


class _Guess(NamedTuple):
    """Support sizes without a budget as shares of the rounds."""

    mistakes: float
    margins: float
    projected: float


# Of learners that act on mistakes, of those that also act on margins, and of those that project: for time; for the
# memory of each, where tables that grow with the square count most; and for the examples that all hold together, where
# an underestimate is worse than an overestimate. The largest guess for those that project.
_TIME, _EACH, _TOGETHER = _Guess(0.12, 0.4, 0.1), _Guess(0.12, 0.4, 0.3), _Guess(0.3, 0.4, 0.3)
_MOST_PROJECTED = 6000
# Operations of numpy in a round on which an interpreted learner acts, if its class does not say how many.
_CALLS = 120
# A budget to build learners with whose own is not known yet.
_SOME_BUDGET = 1000
# The memory of a worker apart from runs, in bytes: the interpreter, its libraries, small objects; that of compiling in
# addition; and that of reading a table of columns: libraries, and blocks of 2 MB that a thread parses ahead.
_BASE, _COMPILED, _TABLE = 170e6, 250e6, 90e6
# Seconds of compiling, measured on one machine: of the loops that all learners share, and of one more learner.
_COMPILES_LOOPS, _COMPILES_LEARNER = 5.0, 2.0


def jobs_within_memory(config: Config, plan: Plan, runs: Iterable[Run], options: Options) -> list[Job]:
    """Group runs into jobs that fit into the memory of one worker, if any grouping does."""
    available = options.memory / options.workers(config)

    def fits(dataset: DatasetSpec, together: Sequence[Run]) -> bool:
        return job_bytes(together, plan.infos[dataset.label], config.dtype) <= available

    return make_jobs(config, runs, fits)


def job_bytes(runs: Sequence[Run], info: StreamInfo, dtype: str = "float64") -> float:
    """Return the peak memory of a job of these runs, its stream included, in bytes.

    Budgets that are fractions of support sizes not known yet are guessed.
    """
    runs = [played for run in runs for played in run.played]
    T, bytes_each = info.n_examples, BYTES.get(info.kind, 8) + (0 if info.nnz_per_row is None else 4)
    stream = (T + info.n_test) * (info.values_per_example * bytes_each + 16)
    # All the data as read, of which a stream may take a part, and the datasets read before.
    data = max(info.data_bytes, stream) + KEPT_BYTES
    base = _BASE + _TABLE * any(reader.startswith("table ") for reader in info.readers) + data
    if name := runs[0].spec.kind:
        return base + max(*(kinds.find(name).memory(run.spec, info) for run in runs), info.content_bytes)
    pool = min(T, sum(_stored(run.spec, info, _TOGETHER) for run in runs)) + BLOCK_SIZE
    kind, d = info.held_as, info.n_features
    in_pool = {"bits": d / 8 + 8, "integers": 2 * d + 2, "floats": 8 * d, "sparse": 24 * info.values_per_example}[kind]
    rows = 1.5 * pool * (in_pool + 32)
    # Without compiled loops, some more arrays of kernel values at a time.
    arrays = 2 if compiling.on() and kind != "sparse" else 5
    block = pool * BLOCK_SIZE * (1.5 * np.dtype(dtype).itemsize + 8 * arrays)
    hypotheses = 0.0
    for run in runs:
        rule, form = _started(run.spec, info.n_classes)
        held = _held(run.spec, info, _EACH)
        hypotheses += form.memory(held, BLOCK_SIZE) + bytes_needed(rule, form, held) - form.bytes_needed(held)
    return base + _COMPILED * compiling.on() + max(stream + rows + block + hypotheses, info.content_bytes)


def check_budgets(plan: Plan) -> None:
    """Raise the error of `budgetrun.engine.Group` for a run whose full budget takes more memory than the limit."""
    for run in {(run.dataset, id(run.spec)): run for whole in plan.runs for run in whole.played}.values():
        if run.spec.budget is not None and not run.spec.kind:
            rule, form = _started(run.spec, plan.infos[run.dataset].n_classes)
            limits.check_learner(bytes_needed(rule, form, run.spec.budget), str(run), run.spec.budget)


def job_seconds(runs: Sequence[Run], info: StreamInfo) -> float:
    """Return about how long a job of these runs takes on one core, in seconds."""
    runs = [played for run in runs for played in run.played]
    if name := runs[0].spec.kind:
        return sum(kinds.find(name).seconds(run.spec, info) for run in runs)
    T, kind = info.n_examples, info.held_as
    pool = 0.6 * min(T, sum(_stored(run.spec, info, _TIME) for run in runs))
    once, per_number = VALUE_SECONDS[kind]
    numbers = info.values_per_example if kind == "sparse" else info.n_features
    seconds = (T + info.n_test) * pool * (once + per_number * numbers)
    for run in runs:
        held, (rule, form) = _held(run.spec, info, _TIME), _started(run.spec, info.n_classes)
        scores = T * held * math.prod(problem_of(run.spec.task).scores_each(info.n_classes))
        acts = T if rule.margin == math.inf else _share(type(rule), _TIME) * T
        seconds += form.solving(held) * T / PRODUCTS + scores / GATHERS
        calls = rule.calls or (0 if rule.compiled and form.compiled else _CALLS)
        pairs = sum(part.work for part in vars(rule).values() if isinstance(part, Table))
        seconds += acts * (form.upkeep / UPDATES + calls / CALLS + (rule.work + pairs * held) * held / PRODUCTS)
    return seconds


def compile_seconds(runs: Iterable[Run]) -> float:
    """Return about how many seconds it takes to compile the learners of these runs; 0 if that is done or off."""
    if not compiling.begins():
        return 0.0
    learners = {algorithm_of(played.spec) for run in runs for played in run.played if not played.spec.kind}
    n = sum(learner.compiled and learner.form.compiled for learner in learners)
    return _COMPILES_LOOPS + _COMPILES_LEARNER * n if n else 0.0


_STARTED: dict[tuple[type, int, str], tuple[Learner, Hypothesis]] = {}


def _started(spec: RunSpec, n_classes: int) -> tuple[Learner, Hypothesis]:
    """Return a run's learner, before its first round, and the form that it starts with."""
    learner: Any = algorithm_of(spec)
    key = learner, n_classes, repr(spec.parameters)
    if key not in _STARTED:
        # Any budget that the other parameters go with will do.
        has_budget = "budget" in parameters(learner)
        built = build(replace(spec, budget=spec.budget or _SOME_BUDGET) if has_budget else spec)
        _STARTED[key] = trial(built, Gaussian(gamma=1.0), *problem_of(spec.task).scores_each(n_classes))
    return _STARTED[key]


def _held(spec: RunSpec, info: StreamInfo, guess: _Guess) -> int:
    """Return the budget, or a guess of the support size."""
    n_rounds = info.n_examples
    if spec.budget is not None:
        return min(spec.budget, n_rounds)
    if spec.budget_fraction is not None:
        return int(guess.mistakes * n_rounds * spec.budget_fraction) + 1
    rule, form = _started(spec, info.n_classes)
    if rule.holds is not None:
        return int(rule.holds * n_rounds) + 1
    if form.solving(1):
        return min(int(guess.projected * n_rounds), _MOST_PROJECTED) + 1
    if "features" in spec.parameters:
        # Frequencies and features take the place of examples.
        return 3 * int(spec.parameters["features"])
    return int(_share(type(rule), guess) * n_rounds) + 1


def _share(learner: type[Learner], guess: _Guess) -> float:
    """Return a guess of the share of the rounds on which a learner acts.

    One that also acts on rounds that are not mistakes overrides what all share.
    """
    own = {name for cls in learner.__mro__ if cls.__module__ != Learner.__module__ for name in vars(cls)}
    on_margins = learner.margin or "margins" in own or not problem_of(learner.task).of_classes
    return guess.margins if on_margins else guess.mistakes


def _stored(spec: RunSpec, info: StreamInfo, guess: _Guess) -> int:
    """Return how many different examples a run may hold: those of one learner, or of one per class."""
    # Without a budget, the guess for one learner is used for all of them together.
    per_class = spec.budget is not None and issubclass(algorithm_of(spec), OneVsRest)
    return _held(spec, info, guess) * (info.n_classes if per_class else 1)
