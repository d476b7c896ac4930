"""Test errors, of the last hypothesis and of the mean of all: the online-to-batch conversion."""

from __future__ import annotations

from typing import Any

import numpy as np

from budgetrun.engine.group import Member
from budgetrun.kernels import Rows

# Raised whenever test errors change; part of the run ids of streams with a test set.
REVISION = 1
# Test examples whose kernel values with a support set are computed at a time.
_ROWS = 1024


def evaluate(member: Member, X: Rows, y: np.ndarray, tie: str) -> dict[str, float | None]:
    """Return the share of test examples that a learner gets wrong at the end of its stream.

    Parameters
    ----------
    member : Member
    X : ndarray or csr_array, shape (n, d), n >= 1
    y : ndarray, shape (n,)
        The labels: -1 and +1, or classes from 0.
    tie : {"mistake", "positive"}
        What a score of 0 is, and between several classes a tie with the true one is a mistake.

    Returns
    -------
    dict
        ``last_test_error`` of the last hypothesis; ``test_error`` of the mean of the hypotheses of all rounds
        (Cesa-Bianchi, Conconi & Gentile, 2004), or None for a learner whose mean needs more examples than it holds.
    """
    return {
        "test_error": _error(member.hypothesis, X, y, tie, averaged=True) if member.learner.averages() else None,
        "last_test_error": _error(member.hypothesis, X, y, tie, averaged=False),
    }


def _error(f: Any, X: Rows, y: np.ndarray, tie: str, averaged: bool) -> float:
    wrong = 0
    for start in range(0, len(y), _ROWS):
        part = slice(start, start + _ROWS)
        scores, true = f.score(X[part], averaged), y[part].astype(np.intp)
        if scores.ndim == 1:
            missed = true * scores < 0 if tie == "positive" else true * scores <= 0
            wrong += int(np.count_nonzero(missed | ((scores == 0) & (true < 0))))
        else:
            at = np.arange(len(true))
            own = scores[true, at]
            scores[true, at] = -np.inf
            wrong += int(np.count_nonzero(own <= scores.max(axis=0)))
    return wrong / len(y)
