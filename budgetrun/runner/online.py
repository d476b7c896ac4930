"""One job of learners: all of them read one stream together, and are then tested on its test set, if it has one."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

from budgetrun.data import open_stream
from budgetrun.engine import Group
from budgetrun.engine.group import Member
from budgetrun.kernels import Rows
from budgetrun.runner import identity
from budgetrun.runner.job import Measured, Settings, failed, row_of
from budgetrun.runner.plan import Job

# Rounds per block.
BLOCK_SIZE = 256
# Test examples whose kernel values with a support set are computed at a time.
_TEST_ROWS = 1024


def measure(job: Job, settings: Settings) -> Measured:
    """Feed a job's learners with their stream; return their rows, of status ``failed`` where one raises, and curves."""
    tasks = list(dict.fromkeys(run.task for run in job.runs))
    stream = open_stream(
        job.dataset, settings.seed, job.repetition, settings.data_dir, tasks, settings.sha256s.get(job.dataset.label)
    )
    Y = np.stack([stream.tasks[task] for task in tasks])
    group = Group(
        identity.kernel_of(job.dataset),
        [identity.build(run.spec) for run in job.runs],
        [tasks.index(run.task) for run in job.runs],
        n_classes=len(stream.classes) if job.dataset.task == "multiclass" else None,
        tie=settings.tie,
        dtype=settings.dtype,
        isolate=True,
    )
    T = stream.n_examples
    rounds, prefix = checkpoints(T), prefix_of(T)
    ends = np.unique(np.concatenate([np.arange(BLOCK_SIZE, T, BLOCK_SIZE), rounds, [prefix]]))
    mistakes = np.zeros((len(job.runs), len(rounds)), dtype=np.int32)
    support = np.zeros_like(mistakes)
    prefix_mistakes: list[int] = []
    start = 0
    for end in ends.tolist():
        group.feed(stream.X[start:end], Y[:, start:end])
        start = end
        if end == prefix:
            prefix_mistakes = [member.count.mistakes for member in group.members]
        at = int(np.searchsorted(rounds, end))
        if rounds[at] == end:
            mistakes[:, at] = [member.count.mistakes for member in group.members]
            support[:, at] = [member.hypothesis.size for member in group.members]
    rows = []
    for run, member, n_early in zip(job.runs, group.members, prefix_mistakes, strict=True):
        if member.error is not None:
            rows.append(failed(run, job, member.error, T))
            continue
        tested: dict[str, Any] = {}
        if stream.test is not None:
            tested = evaluate(member, stream.test.X, stream.test.tasks[run.task], settings.tie)
        count = member.count
        row = row_of(
            run,
            job,
            n_examples=T,
            mistakes=count.mistakes,
            online_error=count.mistakes / T,
            updates=count.updates,
            margin_updates=count.margin_updates,
            support_size=member.hypothesis.size,
            max_support_size=count.max_support,
            seconds=round(count.seconds, 6),
            prefix_examples=prefix,
            prefix_mistakes=n_early,
            facts=json.dumps(member.learner.facts(member.hypothesis)),
            **tested,
        )
        rows.append(row)
    run_ids = np.array([run.run_id for run in job.runs])
    return rows, {"run_id": run_ids, "rounds": rounds, "mistakes": mistakes, "support_size": support}


def checkpoints(n_rounds: int) -> np.ndarray:
    """Return the rounds at which curves are recorded: eight per decade, about fifty equally spaced, and the last."""
    grid = np.logspace(0, np.log10(n_rounds), int(8 * np.log10(n_rounds)) + 2)
    # Multiples of the block size, where blocks end anyway.
    step = BLOCK_SIZE * max(1, round(n_rounds / (50 * BLOCK_SIZE)))
    return np.unique(np.concatenate([np.rint(grid).astype(int), np.arange(step, n_rounds, step)]))


def prefix_of(n_rounds: int) -> int:
    """Return the length of the prefix on which settings may be chosen: a tenth of the rounds, at least 1."""
    return max(1, math.floor(n_rounds / 10 + 0.5))


def evaluate(member: Member, X: Rows, y: np.ndarray, tie: str) -> dict[str, float | None]:
    """Return the test errors of a learner at the end of its stream, as shares of the test examples.

    Whoever changes them raises `identity.EVALUATION_REVISION`.

    Parameters
    ----------
    member : Member
    X : ndarray or csr_array, shape (n, d), n >= 1
    y : ndarray, shape (n,), of -1 and +1, or of classes from 0
    tie : {"mistake", "positive"}
        What a score of 0 is. Between several classes, a tie with the true one is a mistake.

    Returns
    -------
    dict
        ``last_test_error`` of the last hypothesis; ``test_error`` of the mean of the hypotheses of all rounds (the
        online-to-batch conversion of Cesa-Bianchi, Conconi & Gentile, 2004), or None for a learner whose mean needs
        more examples than it holds.
    """
    return {
        "test_error": _error(member.hypothesis, X, y, tie, averaged=True) if member.learner.averages() else None,
        "last_test_error": _error(member.hypothesis, X, y, tie, averaged=False),
    }


def _error(f: Any, X: Rows, y: np.ndarray, tie: str, averaged: bool) -> float:
    n_wrong = 0
    for start in range(0, len(y), _TEST_ROWS):
        block = slice(start, start + _TEST_ROWS)
        scores, true = f.score(X[block], averaged), y[block].astype(np.intp)
        if scores.ndim == 1:
            wrong = true * scores < 0 if tie == "positive" else true * scores <= 0
            n_wrong += int(np.count_nonzero(wrong | ((scores == 0) & (true < 0))))
        else:
            at = np.arange(len(true))
            own = scores[true, at]
            scores[true, at] = -np.inf
            n_wrong += int(np.count_nonzero(own <= scores.max(axis=0)))
    return n_wrong / len(y)
