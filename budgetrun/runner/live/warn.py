"""Warnings that the numbers of a stream may mislead."""

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
    names, features : sequence of str
        The names of the learners, and of the features.
    at_end : bool
        True after the last round: then budgets that no learner has filled are named, too.
    """
    counts = session.counts
    if counts.rounds < _EARLIEST and not at_end:
        return {}
    return {
        **_zeros(counts, names),
        **_constant(counts, features),
        **(_one_class(counts) if len(counts.labels) else {}),
        **(_unused_budgets(session) if at_end else {}),
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


def _unused_budgets(session: Session) -> dict[str, str]:
    largest: dict[int, int] = {}
    for member in session.members:
        if (budget := member.learner.budget) is not None:
            largest[budget] = max(largest.get(budget, 0), member.count.max_support)
    unused = sorted(budget for budget, use in largest.items() if use < budget)
    if not unused:
        return {}
    which = "this budget" if len(unused) == 1 else "these budgets"
    listed, use = _few([f"{budget:,}" for budget in unused]), max(largest[budget] for budget in unused)
    return {"budget": f"No learner filled {which}: {listed} (largest use: {use:,}). Try smaller ones."}


def _few(names: Sequence[str]) -> str:
    more = [f"{len(names) - _MOST_NAMED:,} others"] if len(names) > _MOST_NAMED else []
    return "; ".join([*names[:_MOST_NAMED], *more])
