"""The online protocol, round by round. These functions are compiled with the form and the learner that they are given."""

from __future__ import annotations

from typing import Any

import numpy as np

NOT_FINITE = "the scores are not finite; scale the examples, or choose less extreme parameters"


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


def of_round(margins: Any, k: int) -> float:
    """Return the margin of a round, from one per round or one for all; `loops` has the compiled form."""
    value: float = margins if isinstance(margins, float) else margins[k]
    return value
