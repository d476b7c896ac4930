"""A job of a selection: its candidates read the stream together, and its rule predicts from their predictions."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from budgetrun.data import Stream
from budgetrun.play import selection
from budgetrun.play.selection import Rule, Selection
from budgetrun.runner import identity
from budgetrun.runner.job import Limit, Measured, Settings, Share, errors_of_runs, failed, row_of, stream_of
from budgetrun.runner.online import BLOCK_SIZE, checkpoints, compile_first, prefix_of
from budgetrun.runner.plan import Job, Run


def measure(job: Job, settings: Settings) -> Measured:
    """Let the rule of a job's only run follow its candidates; return the row, ``failed`` if one raises, and curves."""
    (run,) = job.runs
    stream = stream_of(job, settings)
    try:
        with Limit(job, settings).of(run.run_id):
            values, curves = _play(run, job, stream, settings)
    except errors_of_runs(settings) as error:
        return [failed(run, job, error, stream.n_examples)], {}
    return [row_of(run, job, n_examples=stream.n_examples, **values)], {"run_id": np.array([run.run_id]), **curves}


def _play(run: Run, job: Job, stream: Stream, settings: Settings) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return the columns of the row, and the curves."""
    y, T = stream.tasks[run.task], stream.n_examples
    candidates = [(identity.kernel_of(one.spec), identity.build(one.spec)) for one in run.candidates]
    given: dict[str, Any] = {"tie": settings.tie, "dtype": settings.dtype}
    n_classes = len(stream.classes) if job.dataset.task == "multiclass" else None
    for kernel in {str(kernel): kernel for kernel, _ in candidates}.values():
        of_group = {**given, "n_classes": n_classes}
        compile_first(kernel, [learner for _, learner in candidates], of_group, stream.X, y[None])
    played = Selection(rule_of(run.spec.name, run.spec.parameters), candidates, n_classes=n_classes or 2, **given)
    rounds, prefix = checkpoints(T), prefix_of(T)
    curves = {name: np.zeros((1, len(rounds)), dtype=np.int32) for name in ("mistakes", "support_size")}
    values: dict[str, Any] = {}
    start, share = 0, Share()
    for end in np.unique(np.concatenate([np.arange(BLOCK_SIZE, T, BLOCK_SIZE), rounds, [prefix]])).tolist():
        share.done(start / T)
        played.feed(stream.X[start:end], y[None, start:end])
        start = end
        if end == prefix:
            values |= {"prefix_examples": prefix, "prefix_mistakes": played.mistakes}
        at = int(np.searchsorted(rounds, end))
        if rounds[at] == end:
            curves["mistakes"][0, at], curves["support_size"][0, at] = played.mistakes, played.support_size
    return values | columns_of(played), {"rounds": rounds, **curves}


def rule_of(name: str, parameters: Mapping[str, Any]) -> Rule:
    """Return a rule at its start."""
    return selection.registry()[name](**parameters)


def columns_of(played: Selection) -> dict[str, Any]:
    """Return the columns of a row for a selection after some rounds."""
    return {
        "mistakes": played.mistakes,
        "online_error": played.mistakes / played.rounds,
        "updates": played.total("updates"),
        "margin_updates": played.total("margin_updates"),
        "support_size": played.support_size,
        "max_support_size": max(played.max_support, played.support_size),
        "seconds": round(played.seconds, 6),
        "facts": json.dumps(played.rule.facts()),
        "zero_scores": played.ties,
    }
