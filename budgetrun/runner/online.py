"""One job of learners: all of them read one stream together, and are then tested on its test set, if it has one."""

from __future__ import annotations

import copy
import json
import math
from collections import Counter
from collections.abc import Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from budgetrun.base.problem import METRICS_IN_CURVES, SQUARED_ERROR
from budgetrun.engine import Group, score
from budgetrun.engine.group import Member
from budgetrun.kernels import Kernel, Rows, compiling
from budgetrun.play.metrics import Tally
from budgetrun.play.targets import Errors
from budgetrun.runner import identity
from budgetrun.runner.job import Limit, Measured, Settings, Share, errors_of_runs, failed, row_of, stream_of
from budgetrun.runner.plan import Job, Run

if TYPE_CHECKING:
    from budgetrun.data import Stream

# Rounds per block.
BLOCK_SIZE = 256
# Test examples whose kernel values with a support set are computed at a time.
_TEST_ROWS = 1024
_CURVES = ("mistakes", "support_size")


@dataclass(eq=False)
class _Played:
    """What a run has measured: counts at the checkpoints, and columns of its row; ``error`` if it has failed."""

    mistakes: np.ndarray
    support_size: np.ndarray
    values: dict[str, Any] = field(default_factory=dict)
    # Further curves, by name.
    more: dict[str, np.ndarray] = field(default_factory=dict)
    error: BaseException | None = None


def measure(job: Job, settings: Settings) -> Measured:
    """Feed a job's learners with their stream; return their rows, of status ``failed`` where one raises, and curves."""
    stream = stream_of(job, settings)
    limit = Limit(job, settings)
    played = _play(job.runs, job, stream, settings, limit)
    # An error of several runs may be that of one learner, while they shared a hypothesis or kernel values.
    failures = Counter(id(one.error) for one in played if one.error is not None)
    for i, run in enumerate(job.runs):
        if failures[id(played[i].error)] > 1:
            (played[i],) = _play([run], job, stream, settings, limit)
    T = stream.n_examples
    rows = [
        failed(run, job, one.error, T) if one.error is not None else row_of(run, job, n_examples=T, **one.values)
        for run, one in zip(job.runs, played, strict=True)
    ]
    curves = {"run_id": np.array([run.run_id for run in job.runs]), "rounds": checkpoints(T)}
    curves |= {name: np.stack([getattr(one, name) for one in played]) for name in _CURVES}
    return rows, curves | {name: np.stack([one.more[name] for one in played]) for name in played[0].more}


def _play(runs: Sequence[Run], job: Job, stream: Stream, settings: Settings, limit: Limit) -> list[_Played]:
    """Feed the learners of some of a job's runs together; an error that cannot be attributed fails them all."""
    n_curve = len(checkpoints(stream.n_examples))
    counts = np.zeros((len(runs), 2, n_curve), dtype=np.int32)
    played = [_Played(mistakes, sizes) for mistakes, sizes in counts]
    more = [name for name in METRICS_IN_CURVES if name in settings.metrics]
    more += [SQUARED_ERROR] * (job.dataset.task == "regression")
    for one in played:
        one.more |= {name: np.zeros(n_curve) for name in more}
    isolated = errors_of_runs(settings)
    built = []
    for run, one in zip(runs, played, strict=True):
        try:
            with limit.of(run.run_id):
                built.append((run, one, identity.build(run.spec)))
        except isolated as error:
            one.error = error
    try:
        if built:
            _play_built(built, job, stream, settings, limit)
    except isolated as error:
        for _, one, _ in built:
            one.error = error
    return played


def _play_built(
    built: Sequence[tuple[Run, _Played, Any]], job: Job, stream: Stream, settings: Settings, limit: Limit
) -> None:
    tasks = list(stream.tasks)
    Y = np.stack([stream.tasks[task] for task in tasks])

    def limited(member: Member) -> AbstractContextManager[None]:
        return limit.of(built[member.index][0].run_id, member.count.seconds)

    given: dict[str, Any] = {
        "n_classes": len(stream.classes) if job.dataset.task == "multiclass" else None,
        "tie": settings.tie,
        "dtype": settings.dtype,
    }
    kernel, learners = identity.kernel_of(job.runs[0].spec), [learner for *_, learner in built]
    compile_first(kernel, learners, given, stream.X, Y)
    group = Group(
        kernel,
        learners,
        [tasks.index(run.task) for run, *_ in built],
        **given,
        isolate=errors_of_runs(settings),
        guard=limited if settings.timeout_seconds else None,
    )
    T = stream.n_examples
    rounds, prefix = checkpoints(T), prefix_of(T)
    ends = np.unique(np.concatenate([np.arange(BLOCK_SIZE, T, BLOCK_SIZE), rounds, [prefix]]))
    measured = [(member, one) for member, (_, one, _) in zip(group.members, built, strict=True)]
    tallies = [Tally(settings.metrics, given["n_classes"], settings.tie) for _ in built] if settings.metrics else []
    start, zeros, share = 0, np.zeros(len(built), dtype=np.int64), Share()
    errors = Errors(len(built)) if job.dataset.task == "regression" else None
    for end in ends.tolist():
        share.done(start / T)
        scores = group.feed(stream.X[start:end], Y[:, start:end])
        zeros += zero_scores(scores)
        add_to(tallies, group.members, scores, Y[:, start:end])
        if errors is not None:
            errors.add(scores, Y[0, start:end])
        start = end
        if end == prefix:
            for member, one in measured:
                one.values |= {"prefix_examples": prefix, "prefix_mistakes": member.count.mistakes}
                if errors is not None:
                    one.values["prefix_rmse"] = errors.rmse(member.index)
        at = int(np.searchsorted(rounds, end))
        if rounds[at] == end:
            for member, one in measured:
                one.mistakes[at] = member.count.mistakes
                one.support_size[at] = 0 if member.hypothesis is None else member.hypothesis.size
                if errors is not None:
                    one.more[SQUARED_ERROR][at] = errors.squared[member.index]
            for (member, one), tally in zip(measured, tallies, strict=bool(tallies)):
                for name, value in tally.now().items() if member.error is None else ():
                    one.more[name][at] = value
    for (run, *_), (member, one) in zip(built, measured, strict=True):
        one.error = member.error
        if one.error is not None:
            continue
        try:
            with limit.of(run.run_id):
                one.values |= counts_of(member, T, int(zeros[member.index]))
                one.values |= tallies[member.index].columns() if tallies else {}
                if errors is not None:
                    one.values |= errors.columns(member.index)
                if stream.test is not None:
                    one.values |= evaluate(member, stream.test.X, stream.test.tasks[run.task], settings.tie)
        except errors_of_runs(settings) as error:
            one.error = error


def compile_first(kernel: Kernel, learners: Sequence[Any], given: dict[str, Any], X: Rows, Y: np.ndarray) -> None:
    """Let copies of the learners play a few rounds: compiling is part of no run's time, nor limited."""
    rules = {
        type(rule): learner for learner in learners if compiling.takes(rule := getattr(learner, "binary", learner))
    }
    for learner in rules.values():
        with suppress(Exception):
            Group(kernel, [copy.deepcopy(learner)], **given).feed(X[:64], Y[:1, :64])


def add_to(tallies: Sequence[Tally], members: Sequence[Member], scores: np.ndarray, Y: np.ndarray) -> None:
    """Add a block of rounds to the metrics of the learners that have not failed; there may be no metrics."""
    for member, tally in zip(members, tallies, strict=bool(tallies)):
        if member.error is None:
            tally.add(scores[member.index], Y[member.task])


def zero_scores(scores: np.ndarray) -> np.ndarray:
    """Return on how many rounds the scores that `Group.feed` returned were all 0, for each learner."""
    zero = scores == 0
    counts: np.ndarray = np.count_nonzero(zero if zero.ndim == 2 else zero.all(axis=1), axis=1)
    return counts


def counts_of(member: Member, n_rounds: int, n_zeros: int) -> dict[str, Any]:
    """Return the columns of a row for a learner after ``n_rounds`` rounds, in ``n_zeros`` of which its score was 0."""
    count = member.count
    return {
        "mistakes": count.mistakes,
        "online_error": count.mistakes / n_rounds,
        "updates": count.updates,
        "margin_updates": count.margin_updates,
        "support_size": member.hypothesis.size,
        "max_support_size": count.max_support,
        "seconds": round(count.seconds, 6),
        "facts": json.dumps(member.learner.facts(member.hypothesis)),
        "zero_scores": n_zeros,
    }


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
    X : ndarray, csr_array or IntegerRows, shape (n, d), n >= 1
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
        "test_error": _error(member, X, y, tie, averaged=True) if member.learner.averages() else None,
        "last_test_error": _error(member, X, y, tie, averaged=False),
    }


def _error(member: Member, X: Rows, y: np.ndarray, tie: str, averaged: bool) -> float:
    n_wrong = 0
    for start in range(0, len(y), _TEST_ROWS):
        block = slice(start, start + _TEST_ROWS)
        scores, true = score(member, X[block], averaged), y[block].astype(np.intp)
        if scores.ndim == 1:
            wrong = true * scores < 0 if tie == "positive" else true * scores <= 0
            n_wrong += int(np.count_nonzero(wrong | ((scores == 0) & (true < 0))))
        else:
            at = np.arange(len(true))
            own = scores[true, at]
            scores[true, at] = -np.inf
            n_wrong += int(np.count_nonzero(own <= scores.max(axis=0)))
    return n_wrong / len(y)
