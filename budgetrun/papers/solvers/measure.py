"""A job of a batch solver, which solves the problem of all examples that a stream of learners would read."""

import math

import numpy as np

from budgetrun.data import Stream
from budgetrun.kernels import Kernel
from budgetrun.kernels.kinds import floats
from budgetrun.papers.solvers import Progress, Solution
from budgetrun.results.store.write import Record
from budgetrun.runner import identity
from budgetrun.runner.job import Limit, Measured, Settings, errors_of_runs, failed, row_of, stream_of
from budgetrun.runner.plan import Job, Run

# The most kernel values between test examples and stream examples that are in memory at a time.
_KERNEL_VALUES = 4_000_000
_TRACED = ("seconds", "objective", "gap")


def measure(job: Job, settings: Settings) -> Measured:
    """Run the solver of a job; return its row, of status ``failed`` if it raises, and its trace as arrays (1, n)."""
    (run,) = job.runs
    stream, kernel = stream_of(job, settings), identity.kernel_of(run.spec)
    trace: list[Progress] = []
    try:
        with Limit(job, settings).of(run.run_id):
            solution = identity.build(run.spec).solve(stream.X, stream.tasks[run.task], kernel, trace.append)
            row = _row(run, job, stream, kernel, solution)
    except errors_of_runs(settings) as error:
        row = failed(run, job, error, stream.n_examples)
    traced = {name: np.array([[getattr(progress, name) for progress in trace]], dtype=float) for name in _TRACED}
    return [row], {"run_id": np.array([run.run_id])} | traced


def _row(run: Run, job: Job, stream: Stream, kernel: Kernel, solution: Solution) -> Record:
    """Return a finished run's row; if the solver stopped before convergence, ``error`` says why."""
    if not math.isfinite(solution.objective):
        raise ArithmeticError(f"the objective is {solution.objective}")
    return row_of(
        run,
        job,
        n_examples=stream.n_examples,
        updates=solution.steps,
        support_size=None if solution.dual is None else int(np.count_nonzero(solution.dual)),
        seconds=round(solution.seconds, 6),
        error=solution.note,
        last_test_error=_test_error(run, stream, kernel, solution),
        objective=solution.objective,
        lower_bound=_finite(solution.lower_bound),
        gap=_finite(solution.gap),
        steps=solution.steps,
        unlearning_steps=solution.unlearning_steps,
        epochs=solution.epochs,
        compile_seconds=round(solution.compile_seconds, 6),
    )


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _test_error(run: Run, stream: Stream, kernel: Kernel, solution: Solution) -> float | None:
    """Return the share of test examples with a wrong or zero score; None without a test set or a hypothesis."""
    if stream.test is None:
        return None
    X, y = stream.test.X, stream.test.tasks[run.task]
    if solution.weights is not None:
        scores = floats(X) @ solution.weights
    elif solution.dual is not None:
        weights = solution.dual * stream.tasks[run.task]
        step = max(1, _KERNEL_VALUES // stream.n_examples)
        blocks = (X[start : start + step] for start in range(0, len(y), step))
        scores = np.concatenate([kernel.between(block, stream.X) @ weights for block in blocks])
    else:
        return None
    return int(np.count_nonzero(y * (scores + solution.bias) <= 0)) / len(y)
