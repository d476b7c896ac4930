"""The online protocol, round by round; compiled with the form and the learner that it is given."""

from typing import Any, NamedTuple

import numpy as np

from budgetrun.kernels import compiling
from budgetrun.kernels.arithmetic import of_round

NOT_FINITE = "the scores are not finite; scale the examples, or choose less extreme parameters"


class Options(NamedTuple):
    """Options of playing rounds."""

    # A score of 0 predicts +1; otherwise it is a mistake.
    positive: bool = False
    # Stop before the learner acts with this many support examples; -1 for never.
    full: int = -1
    # Stop after each round on which the learner acts.
    single: bool = False


def run(f: Any, learner: Any, y: np.ndarray, t: int, options: Options) -> int:
    """Do what `Hypothesis.play` says, in compiled code if the form and the rule can be compiled."""
    rounds, costs = (play_classes, (learner.costs,)) if f.scores.ndim > 1 else (_LOOPS[y.dtype.kind], ())
    if not (f.compiled and learner.compiled):
        return rounds(f, learner, y, t, options, *costs)
    # The interpreter goes on with numbers that are not finite, as compiled code does; `Group` looks at the scores.
    with np.errstate(all="ignore"):
        if not compiling.takes(learner):
            return rounds(f, learner, y, t, options, *costs)
        if learner.uncompiled(f):
            return rounds(f, learner, y, t, options._replace(single=True), *costs)
        return int(compiling.call(rounds, f, learner, y, t, options, *costs))


def ready(f: Any, learner: Any, y: np.ndarray) -> bool:
    """Return whether the rounds of a learner with such labels are compiled already; if not, request that."""
    kinds = map(compiling.kind_of, (f, learner, y, 0, Options()))
    return compiling.ready(_LOOPS[y.dtype.kind], *kinds) is not None


def play(f: Any, learner: Any, y: np.ndarray, t: int, options: Options) -> int:
    """Play the rounds of a binary learner."""
    positive, full, single = options
    while t < len(y):
        if t == f.tile_end:
            f.begin_tile()
        margins, doubt, scores, lengths = learner.margins(f, t), f.doubt, f.scores, f.lengths
        first, end = t, f.tile_end
        while t < end:
            label, least = int(y[t]), of_round(margins, t - first)
            # A score is settled if the learner may act.
            if doubt < 0 or not label * scores[t] > max(least, 0.0) + doubt * lengths[t]:
                score = float(f.score_at(t))
                margin = label * score
                mistake = margin < 0 or (margin == 0 and (label < 0 or not positive))
                if mistake or margin < least:
                    if f.size == full:
                        return t
                    f.at(t, mistake)
                    learner.update(f, label, score)
                    f.largest_size = max(f.largest_size, f.size)
                    t += 1
                    if single or learner.uncompiled(f):
                        return t
                    break
            t += 1
    return t


def play_classes(f: Any, learner: Any, y: np.ndarray, t: int, options: Options, costs: Any) -> int:
    """Play the rounds of a multiclass learner."""
    _, full, single = options
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
            if mistake or lead < learner.margins(f, t, label, rival):
                if f.size == full:
                    return t
                f.at(t, mistake)
                learner.update(f, label, rival, lead)
                f.largest_size = max(f.largest_size, f.size)
                if single or learner.uncompiled(f):
                    return t + 1
            t += 1
    return t


def play_targets(f: Any, learner: Any, y: np.ndarray, t: int, options: Options) -> int:
    """Play the rounds of a regression learner."""
    _, _, single = options
    while t < len(y):
        if t == f.tile_end:
            f.begin_tile()
        while t < f.tile_end:
            target, score = float(y[t]), float(f.score_at(t))
            if abs(target - score) > learner.tolerance(f):
                f.at(t, False)
                learner.update(f, target, score)
                f.largest_size = max(f.largest_size, f.size)
                if single or learner.uncompiled(f):
                    return t + 1
            t += 1
    return t


# By the kind of the labels: integers, or real numbers.
_LOOPS = {"i": play, "f": play_targets}
