"""What makes the numbers of a stream misleading, in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from budgetrun.play.counts import Counts
    from budgetrun.play.session import Session

# Rounds before anything is said, and the shares of the rounds from which on it is.
_EARLIEST = 1000
_MOST_ZEROS, _LONG_STRETCH = 0.5, 0.1
_MOST_NAMED = 5


def warnings(session: Session, names: Sequence[str], features: Sequence[str], at_end: bool = False) -> dict[str, str]:
    """Return a sentence for each reason to distrust the numbers so far, under a key that stays the same.

    Parameters
    ----------
    session : Session
    names : sequence of str
        Of the learners.
    features : sequence of str
        Their names, shape (d,).
    at_end : bool
        Whether the stream has ended: then the budgets that were never full are named.
    """
    counts = session.counts
    if counts.rounds < _EARLIEST and not at_end:
        return {}
    return {
        **_zeros(counts, names),
        **_constant(counts, features),
        **(_one_class(counts) if len(counts.labels) else {}),
        **(_unused_budgets(session, names) if at_end else {}),
    }


def _zeros(counts: Counts, names: Sequence[str]) -> dict[str, str]:
    share = counts.zeros / max(1, counts.rounds)
    affected = [name for name, zeros in zip(names, share.tolist(), strict=True) if zeros > _MOST_ZEROS]
    if not affected:
        return {}
    return {
        "zeros": f"The score of {_few(affected)} was exactly 0 on up to {share.max():.0%} of the rounds: the "
        "kernel values of these examples underflow, so nothing is learned from them. Scale the features (--scale "
        "running) or take a smaller --gamma."
    }


def _constant(counts: Counts, features: Sequence[str]) -> dict[str, str]:
    if counts.constant is None or not counts.constant.any() or counts.rounds < 2:
        return {}
    constant = [features[i] for i in np.flatnonzero(counts.constant).tolist()]
    noun = "Feature" if len(constant) == 1 else f"{len(constant):,} features"
    return {"constant": f"{noun} never changed so far: {_few(constant)}."}


def _one_class(counts: Counts) -> dict[str, str]:
    share = counts.labels / max(1, counts.rounds)
    expected = np.log(max(2, counts.rounds)) / -np.log(min(share.max(), 1 - 1e-9))
    longest = counts.stretch.longest
    if longest < max(_LONG_STRETCH * counts.rounds, 3 * expected, _EARLIEST / 10):
        return {}
    return {
        "stretch": f"A stretch of {longest:,} rounds has only one class: the file seems to be sorted by label, which "
        "makes online errors meaningless. To shuffle it: --shuffle SEED."
    }


def _unused_budgets(session: Session, names: Sequence[str]) -> dict[str, str]:
    unused = [
        name
        for name, member in zip(names, session.members, strict=True)
        if member.learner.budget is not None and member.count.max_support < member.learner.budget
    ]
    if not unused:
        return {}
    return {"budget": f"The budget was never full: {_few(unused)}. A larger budget changes nothing."}


def _few(names: Sequence[str]) -> str:
    more = [f"{len(names) - _MOST_NAMED:,} others"] if len(names) > _MOST_NAMED else []
    return "; ".join([*names[:_MOST_NAMED], *more])
