"""What runs will cost, before they are made: memory by counting, time by this machine's own rates."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, cast

import numpy as np
from threadpoolctl import threadpool_limits

from budgetrun.learners import Learner
from budgetrun.runner.identity import algorithm_of
from budgetrun.runner.job import BLOCK_SIZE

if TYPE_CHECKING:
    from budgetrun.data import StreamInfo
    from budgetrun.runner.plan import Run

# A guess for the Perceptron's mistakes where they are not known yet, as a share of the rounds.
_ERROR_GUESS = 0.12
# The same for the memory of what it holds, where too little is worse than too much.
_MOST_ERRORS = 0.3
# What a learner holds that acts on margins, too, as a share of the rounds; and one that projects, and at most.
_MARGIN_GUESS = 0.4
_PROJECTION_GUESS = 0.1
_MOST_PROJECTED = 6000
# With a budget, mistakes are about so many times the Perceptron's.
_MORE_ERRORS = 1.3
# Passes over all non-zero values that solvers make for an accuracy of 1e-4, traces included, to an order of magnitude;
# those of another solver; which need as many times more as the accuracy is smaller; and non-zero values a second.
_PASSES = {"mpu": 30, "dcd": 200, "svm_perf": 500, "pegasos": 30_000}
_SOME_PASSES = 500
_ACCURACY = 1e-4
_INVERSE = ("pegasos",)
_VALUES_A_SECOND = 2e8
# Interpreter, libraries and the odds and ends of a worker, in bytes.
_BASE = 150e6


@dataclass(frozen=True)
class Rates:
    """What one core of this machine does in a second.

    Attributes
    ----------
    products : float
        Multiplications and additions of a matrix product.
    exponentials : float
    gathers : float
        Weighted kernel values added up over scattered examples.
    updates : float
        Updates of a learner.
    """

    products: float
    exponentials: float
    gathers: float
    updates: float


@cache
def machine_rates(dtype: str) -> Rates:
    """Measure this machine, in about a tenth of a second."""
    import scipy.sparse as sp

    rng = np.random.default_rng(0)
    A = rng.random((2000, 400)).astype(dtype)
    K = A[:, :256] * -1
    held = sp.csr_array(sp.random_array((50, 2000), density=0.2, rng=rng, dtype=np.dtype(dtype)))
    row = K[0].copy()

    def update() -> None:
        for _ in range(100):
            (row[1:] * row[1:] <= -1.0).argmax()
            row[5:] += 0.5 * K[7, 5:]

    with threadpool_limits(1):
        products = 2 * A.shape[0] * 256 * A.shape[1] / _fastest(lambda: A @ A[:256].T)
        exponentials = K.size / _fastest(lambda: np.exp(K))
        gathers = held.nnz * 256 / _fastest(lambda: held @ K)
    # An update is about three such visits to a row: finding the round, adding, evicting.
    return Rates(products, exponentials, gathers, 100 / (3 * _fastest(update)))


def job_bytes(runs: Sequence[Run], info: StreamInfo, dtype: str, kernel: str = "") -> float:
    """Return the most memory, in bytes, that a job of these runs takes, its stream included.

    Solvers keep the whole Gram matrix of a kernel that is not ``linear``.

    Budgets that are fractions of support sizes not yet known are guessed.
    """
    if any(run.spec.solver for run in runs):
        gram = 0 if kernel == "linear" else 8 * info.n_examples**2
        return _solver_bytes(info) + gram
    size = np.dtype(dtype).itemsize
    T, d = info.n_examples, info.n_features
    values = d if info.nnz_per_row is None else 1.5 * info.nnz_per_row
    budgets = [_budget(run, T) for run in runs]
    pool = min(T, sum(_budget(run, T, _MOST_ERRORS) for run in runs)) + BLOCK_SIZE
    learners = [_learner(run) for run in runs]
    by_round = any(a.needs_oldest_score or a.needs_self_scores for a in learners)
    rows = 1.5 * pool * (values + 2) * size
    block = (1.5 + by_round) * pool * BLOCK_SIZE * size
    pairs = sum(
        # They are copied as they grow.
        1.5 * (B + 1) ** 2 * size
        for run, B, a in zip(runs, budgets, learners, strict=True)
        if a.needs_self_scores and not (a.perceptron_until_full and _never_evicts(run))
    )
    # The triangular factor of the kernel matrix, and three blocks of coordinates beside it.
    factors = sum(
        n**2 / 2 * 8 + 3 * n * BLOCK_SIZE * 8 for n, a in zip(budgets, learners, strict=True) if a.needs_projection
    )
    scores = sum(a.multiclass for a in learners) * info.n_classes * BLOCK_SIZE * 8
    held = sum(B * (48 + 8 * info.n_classes * a.multiclass) for B, a in zip(budgets, learners, strict=True))
    return _BASE + 2 * (T + info.n_test) * values * 8 + rows + block + pairs + factors + scores + held


def job_seconds(runs: Sequence[Run], info: StreamInfo, dtype: str) -> float:
    """Return about how long a job of these runs takes on one core of this machine, in seconds.

    Of solvers little more than the size of the data can be told beforehand.
    """
    if any(run.spec.solver for run in runs):
        return sum(_passes(run, info) for run in runs) * info.n_examples * _values(info) / _VALUES_A_SECOND
    rates = machine_rates(dtype)
    T, d = info.n_examples, info.n_features
    budgets = [_budget(run, T) for run in runs]
    pool = 0.6 * min(T, sum(budgets))
    values = d if info.nnz_per_row is None else 3 * info.nnz_per_row
    kernel = (T + info.n_test) * pool * (2 * values / rates.products + 1 / rates.exponentials)
    scores = updates = 0.0
    for run, budget in zip(runs, budgets, strict=True):
        learner = _learner(run)
        mistakes = _mistakes(run, T)
        if run.spec.name == "perceptron" and not learner.multiclass:
            updates += mistakes
            continue
        if learner.needs_projection:
            # A triangular system for every round.
            kernel += budget**2 * T / rates.products
        # A learner that begins as the Perceptron costs nothing of its own until its budget is spent.
        alone = max(0.0, 1 - budget / mistakes) if learner.perceptron_until_full else 0.8
        scores += alone * T * budget * (info.n_classes if learner.multiclass else 1)
        # Keeping the scores of what is held up to date costs about as much again, or twice.
        upkeep = 1 + learner.needs_oldest_score + 2 * learner.needs_self_scores
        updates += alone * _MORE_ERRORS * mistakes * upkeep
    return kernel + scores / rates.gathers + updates / rates.updates


def _passes(run: Run, info: StreamInfo) -> float:
    """Return about how often a solver looks at all its data."""
    given = run.spec.parameters
    more = _ACCURACY / given["accuracy"] if run.spec.name in _INVERSE else 1.0
    passes = more * _PASSES.get(run.spec.name, _SOME_PASSES)
    if given.get("iterations"):
        # Each looks at k examples.
        passes = min(passes, given["iterations"] * given["k"] / info.n_examples)
    return passes


def _values(info: StreamInfo) -> float:
    """Return the stored values of an example."""
    return info.n_features if info.nnz_per_row is None else info.nnz_per_row


def _solver_bytes(info: StreamInfo) -> float:
    """Return the same of solvers: the data as read, their stream, a solver's own copy, and a few vectors."""
    of_values = 8 if info.nnz_per_row is None else 12
    examples = 3 * (info.n_examples + info.n_test) * (_values(info) * of_values + 8)
    return _BASE + examples + 8 * 8 * (info.n_examples + info.n_features)


def _learner(run: Run) -> type[Learner]:
    return cast("type[Learner]", algorithm_of(run.spec))


def _mistakes(run: Run, n_rounds: int) -> float:
    """Return about how many mistakes the Perceptron makes: known once the budget that is a fraction of them is."""
    if run.spec.budget is not None and run.spec.budget_fraction is not None and run.spec.budget_of == "perceptron":
        return run.spec.budget / run.spec.budget_fraction
    return _ERROR_GUESS * n_rounds


def _never_evicts(run: Run) -> bool:
    """Return whether a Perceptron has room for all its own mistakes."""
    return run.spec.budget_of == "perceptron" and run.spec.budget_fraction is not None and run.spec.budget_fraction >= 1


def _budget(run: Run, n_rounds: int, share: float = _ERROR_GUESS) -> int:
    """Return the budget, or a guess of what is held: ``share`` of the rounds on which the Perceptron errs."""
    if run.spec.budget is not None:
        return min(run.spec.budget, n_rounds)
    if run.spec.budget_fraction is not None:
        return int(share * n_rounds * run.spec.budget_fraction) + 1
    learner = _learner(run)
    if learner.needs_projection:
        return min(int(_PROJECTION_GUESS * n_rounds), _MOST_PROJECTED) + 1
    if "features" in run.spec.parameters:
        # Frequencies and features take the place of examples.
        return 3 * int(run.spec.parameters["features"])
    on_margins = learner.margin or learner.margins is not Learner.margins
    return int(max(share, _MARGIN_GUESS if on_margins else 0.0) * n_rounds) + 1


def _fastest(function: Callable[[], object]) -> float:
    times = []
    for _ in range(5):
        began = time.perf_counter()
        function()
        times.append(time.perf_counter() - began)
    return min(times)
