"""Estimates of runs that have not started: their memory by counting, their time from rates measured on this machine.

An algorithm is known by what its class declares, never by its name.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np
from threadpoolctl import threadpool_limits

from budgetrun.base.problem import problem_of
from budgetrun.base.registry import parameters
from budgetrun.config import kinds
from budgetrun.engine.pool import Pool
from budgetrun.kernels import Gaussian, compiling, sums
from budgetrun.kernels.arithmetic import TILE
from budgetrun.kernels.kinds import held
from budgetrun.kernels.rows import BYTES, DENSE_FEATURES, Matrix
from budgetrun.learners import Learner
from budgetrun.learners.one_vs_rest import OneVsRest
from budgetrun.play.curve import BLOCK_SIZE
from budgetrun.runner.identity import algorithm_of, build
from budgetrun.runner.plan import make_jobs

if TYPE_CHECKING:
    from budgetrun.config.schema import Config, DatasetSpec, RunSpec
    from budgetrun.data import StreamInfo
    from budgetrun.engine.hypotheses import Hypothesis
    from budgetrun.runner.options import Options
    from budgetrun.runner.plan import Job, Plan, Run

# A guess of the Perceptron's mistakes as a share of the rounds, while they are unknown.
_ERROR_GUESS = 0.12
# The same for memory, where an underestimate is worse than an overestimate.
_MOST_ERRORS = 0.3
# Guesses of the support size as a share of the rounds, of learners that also act on margins and of those that project;
# and the largest guess for the latter.
_MARGIN_GUESS = 0.4
_PROJECTION_GUESS = 0.1
_MOST_PROJECTED = 6000
# With a budget, there are about this many times the Perceptron's mistakes.
_MORE_ERRORS = 1.3
# A budget to build learners with whose own is not known yet.
_SOME_BUDGET = 1000
# The time of an update, in calls of one loop.
_CALLS = 3
# The most features for which the time of a kernel value is measured.
_MEASURED_FEATURES = 512
# The memory of a worker apart from runs, in bytes: the interpreter, its libraries, small objects.
_BASE = 170e6
# The memory of compiling in addition.
_COMPILED = 250e6
# The memory of reading a table of columns: libraries, and blocks of 2 MB that a thread parses ahead.
_TABLE = 90e6
# Seconds of compiling, measured on one machine: of the loops that all learners share, and of one more learner.
_COMPILES_LOOPS, _COMPILES_LEARNER = 5.0, 2.0


@dataclass(frozen=True)
class Rates:
    """Rates of one core of this machine, per second."""

    products: float  # multiplications and additions of a matrix product
    gathers: float  # additions of weighted kernel values of scattered examples
    updates: float  # updates of a learner
    calls: float  # operations of numpy on small arrays


@cache
def machine_rates(dtype: str) -> Rates:
    """Measure this machine, which takes about a tenth of a second."""
    rng = np.random.default_rng(0)
    A = rng.random((1000, 400)).astype(dtype)
    tile, scores, slots, weights = A[:, :TILE].copy(), np.empty(TILE), np.arange(0, 1000, 2), rng.random(500)
    few = rng.random((1, 6))

    def update() -> None:
        for _ in range(100):
            sums.add_multiple(scores, 0.5, tile[7])

    def call() -> None:
        for _ in range(100):
            (np.abs(few) * few).sum(axis=1)

    with threadpool_limits(1):
        products = 2 * A.shape[0] * 256 * A.shape[1] / _fastest(lambda: A @ A[:256].T)
        gathers = len(slots) * TILE / _fastest(lambda: sums.add_up(weights, slots, tile, scores))
        return Rates(products, gathers, 100 / (_CALLS * _fastest(update)), 300 / _fastest(call))


@cache
def value_seconds(kind: str, n_features: int, nnz_per_row: float, dtype: str) -> float:
    """Measure the seconds of a kernel value of examples of a kind (`budgetrun.kernels.kinds.KINDS`)."""
    import scipy.sparse as sp

    # More features take proportionally longer.
    rng, d = np.random.default_rng(0), min(n_features, _MEASURED_FEATURES)
    X: Matrix
    if kind == "sparse":
        share = min(1.0, nnz_per_row / n_features)
        X, d = sp.csr_array(sp.random_array((TILE, n_features), density=share, rng=rng)), n_features
    else:
        drawn = rng.integers(0, 2 if kind == "bits" else 256, (4 * TILE, d))
        X = rng.random(drawn.shape) if kind == "floats" else drawn
    with threadpool_limits(1):
        rows = held(X)
        block = rows.encode(X)
        assert block is not None
        out = np.empty((X.shape[0] // TILE, X.shape[0], TILE), dtype=dtype)
        kernel = Gaussian(gamma=1e-6)
        return _fastest(lambda: rows.fill(kernel, block, out)) / out.size * max(1.0, n_features / d)


def jobs_within_memory(config: Config, plan: Plan, runs: Iterable[Run], options: Options) -> list[Job]:
    """Group runs into jobs that fit into the memory of one worker, if any grouping does."""
    available = options.memory / options.workers(config)

    def fits(dataset: DatasetSpec, together: Sequence[Run]) -> bool:
        return job_bytes(together, plan.infos[dataset.label], config.dtype) <= available

    return make_jobs(config, runs, fits)


def job_bytes(runs: Sequence[Run], info: StreamInfo, dtype: str) -> float:
    """Return the peak memory of a job of these runs, its stream included, in bytes.

    Budgets that are fractions of support sizes not known yet are guessed.
    """
    runs = [played for run in runs for played in run.played]
    if name := runs[0].spec.kind:
        return _base(info) + max(*(kinds.find(name).memory(run.spec, info) for run in runs), info.content_bytes)
    size = np.dtype(dtype).itemsize
    T, d = info.n_examples, info.n_features
    pool = min(T, sum(_stored(run, T, info.n_classes, _MOST_ERRORS) for run in runs)) + BLOCK_SIZE
    learners = [(run, _held(run, T, info.n_classes), _demands(run.spec, info.n_classes)) for run in runs]
    kind = _kind(info)
    in_pool = {"bits": d / 8 + 8, "integers": 2 * d + 2, "floats": 8 * d, "sparse": 24 * info.values_per_example}[kind]
    rows = 1.5 * pool * (in_pool + 32)
    # Without compiled loops, some more arrays of kernel values at a time.
    arrays = 2 if compiling.on() and kind != "sparse" else 5
    block = pool * BLOCK_SIZE * (1.5 * size + 8 * arrays)
    # A learner whose budget is never full shares what it holds to the end.
    hypotheses = sum(
        asks.form.memory(0 if asks.shares and _share_of_mistakes(run) >= 1 else held, BLOCK_SIZE)
        for run, held, asks in learners
    )
    working = (T + info.n_test) * _example_bytes(info) + rows + block + hypotheses
    return _base(info) + _COMPILED * compiling.on() + max(working, info.content_bytes)


def _base(info: StreamInfo) -> float:
    """Return the memory of a worker with data, apart from runs and what they copy."""
    is_table = any(reader.startswith("table ") for reader in info.readers)
    # All the data as read, of which a stream may take a part.
    data = max(info.data_bytes, (info.n_examples + info.n_test) * _example_bytes(info))
    return _BASE + _TABLE * is_table + data


def _kind(info: StreamInfo) -> str:
    """Return how kernels hold the examples, which earlier versions did not record."""
    wide = info.nnz_per_row is not None and info.n_features > DENSE_FEATURES
    return info.kind or ("sparse" if wide else "floats")


def _example_bytes(info: StreamInfo) -> float:
    """Return the memory of an example of a stream."""
    index = 0 if info.nnz_per_row is None else 4
    return info.values_per_example * (BYTES.get(info.kind, 8) + index) + 16


def job_seconds(runs: Sequence[Run], info: StreamInfo, dtype: str) -> float:
    """Return about how long a job of these runs takes on one core of this machine, in seconds."""
    runs = [played for run in runs for played in run.played]
    if name := runs[0].spec.kind:
        return sum(kinds.find(name).seconds(run.spec, info) for run in runs)
    rates = machine_rates(dtype)
    T, d = info.n_examples, info.n_features
    pool = 0.6 * min(T, sum(_stored(run, T, info.n_classes) for run in runs))
    kernel = (T + info.n_test) * pool * value_seconds(_kind(info), d, info.values_per_example, dtype)
    scores = updates = calls = 0.0
    for run in runs:
        held, asks, mistakes = _held(run, T, info.n_classes), _demands(run.spec, info.n_classes), _mistakes(run, T)
        if asks.shares and not asks.has_budget:
            updates += mistakes
            continue
        kernel += asks.form.solving(held) * T / rates.products
        # A learner that shares a hypothesis until its budget is full costs nothing of its own until then.
        alone = max(0.0, 1 - held / mistakes) if asks.shares else 0.8
        scores += alone * T * held * math.prod(problem_of(run.spec.task).scores_each(info.n_classes))
        acts = T if asks.learner.margin == math.inf else alone * _MORE_ERRORS * mistakes
        updates += acts * asks.form.upkeep
        calls += acts * asks.learner.calls
    return kernel + scores / rates.gathers + updates / rates.updates + calls / rates.calls


def compile_seconds(runs: Iterable[Run]) -> float:
    """Return about how many seconds it takes to compile the learners of these runs; 0 if that is done or off."""
    learners = {algorithm_of(run.spec) for run in runs if not run.spec.kind} if compiling.begins() else set()
    n = sum(cast("type[Learner]", one).compiled and cast("type[Learner]", one).form.compiled for one in learners)
    return _COMPILES_LOOPS + _COMPILES_LEARNER * n if n else 0.0


class _Demands(NamedTuple):
    """The properties of a learner that its memory and time depend on."""

    learner: type[Learner]
    has_budget: bool
    acts_on_margins: bool  # it also acts on rounds that are not mistakes
    shares: bool  # it shares a hypothesis with others until its budget is full
    copies: int  # that learn apart, each with a budget of its own: one per class, or 1
    form: Hypothesis  # the form that it starts with


_KNOWN: dict[tuple[type, int, str], _Demands] = {}


def _demands(spec: RunSpec, n_classes: int) -> _Demands:
    """Return the demands of a run's learner, which depend on its class, its parameters and the number of classes."""
    learner = cast("type[Learner]", algorithm_of(spec))
    key = learner, n_classes, repr(spec.parameters)
    if key not in _KNOWN:
        pool = Pool(Gaussian(gamma=1.0), np.dtype(np.float64))
        has_budget = "budget" in parameters(learner)
        # Any budget that the other parameters go with will do.
        started = build(replace(spec, budget=spec.budget or _SOME_BUDGET) if has_budget else spec)
        # Learners that act on margins override what all learners share.
        own = {name for cls in learner.__mro__ if cls.__module__ != Learner.__module__ for name in vars(cls)}
        _KNOWN[key] = _Demands(
            learner=learner,
            has_budget=has_budget,
            acts_on_margins=bool(learner.margin) or "margins" in own or not problem_of(learner.task).of_classes,
            shares=learner.alike_until_full is not None,
            copies=n_classes if issubclass(learner, OneVsRest) else 1,
            form=started.start(pool, *problem_of(spec.task).scores_each(n_classes)),
        )
    return _KNOWN[key]


def _mistakes(run: Run, n_rounds: int) -> float:
    """Return about how many mistakes the Perceptron makes; known if the budget is a fraction of their number."""
    share = _share_of_mistakes(run)
    return run.spec.budget / share if run.spec.budget is not None and share else _ERROR_GUESS * n_rounds


def _share_of_mistakes(run: Run) -> float:
    """Return the budget divided by the number of a Perceptron's mistakes; 0 if it does not follow from them."""
    if run.source is None:
        return 0.0
    source = _demands(run.source.spec, 2)
    grows_with_mistakes = source.learner.only_adds and not source.has_budget and not source.acts_on_margins
    return (run.spec.budget_fraction or 0.0) if grows_with_mistakes else 0.0


def _held(run: Run, n_rounds: int, n_classes: int, share: float = _ERROR_GUESS) -> int:
    """Return the budget, or a guess of the support size: ``share`` of the rounds, on which the Perceptron errs."""
    spec = run.spec
    if spec.budget is not None:
        return min(spec.budget, n_rounds)
    if spec.budget_fraction is not None:
        return int(share * n_rounds * spec.budget_fraction) + 1
    asks = _demands(spec, n_classes)
    if asks.learner.holds is not None:
        return int(asks.learner.holds * n_rounds) + 1
    if asks.form.solving(1):
        return min(int(_PROJECTION_GUESS * n_rounds), _MOST_PROJECTED) + 1
    if "features" in spec.parameters:
        # Frequencies and features take the place of examples.
        return 3 * int(spec.parameters["features"])
    return int(max(share, _MARGIN_GUESS if asks.acts_on_margins else 0.0) * n_rounds) + 1


def _stored(run: Run, n_rounds: int, n_classes: int, share: float = _ERROR_GUESS) -> int:
    """Return how many different examples a run may hold: those of one learner, or of one per class."""
    held = _held(run, n_rounds, n_classes, share)
    # Without a budget, the guess for one learner is used for all of them together.
    return held * _demands(run.spec, n_classes).copies if run.spec.budget is not None else held


def _fastest(function: Callable[[], object]) -> float:
    times = []
    for _ in range(4):
        began = time.process_time()
        function()
        times.append(time.process_time() - began)
    return min(times)
