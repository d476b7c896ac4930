"""Jobs of learners, or of a selection among learners, on one stream, and their test errors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from budgetrun.base.problem import Problem, problem_of
from budgetrun.engine import score
from budgetrun.play import selection
from budgetrun.play.curve import Planned, checkpoints, prefix_of
from budgetrun.play.session import Session, compile_first, group_options
from budgetrun.runner import identity
from budgetrun.runner.job import Limit, Measured, Settings, Share, errors_of_runs, failed, row_of, stream_of
from budgetrun.runner.plan import Job, Run

if TYPE_CHECKING:
    from budgetrun.data import Stream
    from budgetrun.engine.group import Member
    from budgetrun.kernels import Rows

# Test examples whose kernel values with a support set are computed at a time.
_TEST_ROWS = 1024


@dataclass(eq=False)
class _Played:
    """The curves of a run and the columns of its row; ``error`` if it has failed."""

    curves: dict[str, np.ndarray]
    values: dict[str, Any] = field(default_factory=dict)
    error: BaseException | None = None


# A run with the learners that play it: its own, or its candidates.
_Built = tuple[Run, _Played, list[Any]]


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
    return rows, curves | {name: np.stack([one.curves[name] for one in played]) for name in played[0].curves}


def rule_of(name: str, parameters: Mapping[str, Any]) -> selection.Rule:
    """Return a rule at its start."""
    return selection.registry()[name](**parameters)


def _play(runs: Sequence[Run], job: Job, stream: Stream, settings: Settings, limit: Limit) -> list[_Played]:
    """Feed the learners of some of a job's runs together; an error that cannot be attributed fails them all."""
    problem, selects = problem_of(job.dataset.task), bool(job.runs[0].candidates)
    recorded = () if selects else problem.curves(settings.metrics)
    played = [_Played(Planned(stream.n_examples, 1, recorded).of(0)) for _ in runs]
    isolated = errors_of_runs(settings)
    built: list[_Built] = []
    for run, one in zip(runs, played, strict=True):
        try:
            with limit.of(run.run_id):
                learners = [(identity.kernel_of(of.spec), identity.build(of.spec)) for of in run.played]
                built.append((run, one, learners))
        except isolated as error:
            one.error = error
    try:
        if built:
            _play_built(built, problem, stream, settings, limit)
    except isolated as error:
        for _, one, _ in built:
            one.error = error
    return played


def _play_built(built: list[_Built], problem: Problem, stream: Stream, settings: Settings, limit: Limit) -> None:
    tasks, isolated, n_classes = list(stream.tasks), errors_of_runs(settings), len(stream.classes)
    Y = np.stack([stream.tasks[task] for task in tasks])
    ids = [run.run_id for run, *_ in built]
    every = [pair for *_, learners in built for pair in learners]
    options: dict[str, Any] = {"tie": settings.tie, "dtype": settings.dtype}
    compile_first(every, group_options(problem.name, n_classes, **options), stream.X, Y)
    # The only run of its job.
    rule = built[0][0].spec if built[0][0].candidates else None
    with nullcontext() if rule is None else limit.of(ids[0]):
        selections = []
        if rule is not None:
            follows = rule_of(rule.name, rule.parameters)
            selections = [selection.Selection(follows, every, n_classes=problem.n_classes(n_classes) or 2, **options)]
        session = Session(
            [] if selections else every,
            selections,
            task=problem.name,
            n_classes=n_classes,
            **options,
            rows=[tasks.index(run.task) for run, *_ in built],
            metrics=settings.metrics,
            curve=partial(Planned, stream.n_examples),
            prefix=prefix_of(stream.n_examples),
            isolate=isolated,
            guard=(lambda i, seconds: limit.of(ids[i], seconds)) if settings.timeout_seconds else None,
        )
        share = Share()
        try:
            session.run([(stream.X, Y)], after=lambda rounds: share.done(rounds / stream.n_examples))
        finally:
            for i, (_, one, _) in enumerate(built):
                one.curves = session.curves(i)
    members: Sequence[Any] = session.members or [None]
    for i, ((run, one, _), member) in enumerate(zip(built, members, strict=True)):
        one.error = None if member is None else member.error
        if one.error is not None:
            continue
        try:
            with limit.of(run.run_id):
                one.values |= session.columns(i)
                if member is not None and stream.test is not None:
                    one.values |= evaluate(member, stream.test.X, stream.test.tasks[run.task], settings.tie)
        except isolated as error:
            one.error = error


def evaluate(member: Member, X: Rows, y: np.ndarray, tie: str) -> dict[str, float | None]:
    """Return the test errors of a learner at the end of its stream, as shares of the test examples.

    Any change of the numbers needs a higher `identity.EVALUATION_REVISION`.

    Parameters
    ----------
    member : Member
    X : ndarray, csr_array or IntegerRows, shape (n, d), n >= 1
    y : ndarray, shape (n,), of -1 and +1, or of classes from 0
    tie : {"mistake", "positive"}
        As in `Group`.

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
    mistakes, n_wrong = problem_of(member.learner.task).mistakes, 0
    for start in range(0, len(y), _TEST_ROWS):
        block = slice(start, start + _TEST_ROWS)
        wrong = mistakes(score(member, X[block], averaged), y[block].astype(np.intp), tie)
        n_wrong += int(np.count_nonzero(wrong))
    return n_wrong / len(y)
