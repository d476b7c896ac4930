"""The online protocol, round by round; compiled with the form and the learner that it is given."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from budgetrun import compiling

NOT_FINITE = "the scores are not finite; scale the examples, or choose less extreme parameters"


def run(rounds: Callable[..., int], f: Any, learner: Any, y: np.ndarray, t: int, options: Any, *costs: Any) -> int:
    """Call `play` or `play_classes`, compiled if the learner's rule can be."""
    if not compiling.takes(learner):
        return rounds(f, learner, y, t, options, *costs)
    # By name, because it stands for functions of this file.
    compiled_form = import_module("budgetrun.engine.loops").compiled_form
    if learner.interpreted_when_full:
        if f.size == learner.budget:
            return rounds(f, learner, y, t, options._replace(single=True), *costs)
        options = options._replace(full=learner.budget)
    compiled = compiled_form(rounds)
    return int(compiled(compiling.prepared(f), compiling.prepared(learner), y, t, options, *costs))


def play(f: Any, learner: Any, y: np.ndarray, t: int, options: Any) -> int:
    """Let a binary learner act on its rounds from ``t`` on; see `Hypothesis.play`."""
    positive, full, single = options
    while t < len(y):
        if t == f.tile_end:
            f.begin_tile()
        margins = learner.margins(f, t)
        first, end = t, f.tile_end
        while t < end:
            score, label = f.score_at(t), int(y[t])
            margin = label * score
            mistake = margin < 0 or (margin == 0 and (label < 0 or not positive))
            if mistake or margin < of_round(margins, t - first):
                if f.size == full:
                    return t
                f.at(t, mistake)
                learner.update(f, label, score)
                f.largest_size = max(f.largest_size, f.size)
                t += 1
                if single:
                    return t
                break
            t += 1
    return t


def play_classes(f: Any, learner: Any, y: np.ndarray, t: int, options: Any, costs: Any) -> int:
    """Let a multiclass learner act on its rounds from ``t`` on; see `Hypothesis.play`."""
    _, _, single = options
    none = np.zeros(f.n_classes)
    while t < len(y):
        if t == f.tile_end:
            f.begin_tile()
        while t < f.tile_end:
            label = int(y[t])
            rival, lead = f.lead_at(t, label, none)
            mistake = lead <= 0
            if costs is not None and not mistake:
                rival, lead = f.lead_at(t, label, costs[label] - 1)
            margins = learner.margins(f, t, y[t : t + 1], np.array([rival]))
            t += 1
            if mistake or lead < of_round(margins, 0):
                f.at(t - 1, mistake)
                learner.update(f, label, rival, lead)
                f.largest_size = max(f.largest_size, f.size)
                if single:
                    return t
    return t


def of_round(margins: Any, k: int) -> float:
    """Return the margin of a round, from one per round or one for all; `loops` has the compiled form."""
    value: float = margins if isinstance(margins, float) else margins[k]
    return value
