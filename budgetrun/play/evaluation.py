"""The errors of learners on a test set, at the end of their stream."""

from __future__ import annotations

import numpy as np

from budgetrun.base.problem import problem_of
from budgetrun.engine import score
from budgetrun.engine.group import Member
from budgetrun.kernels import Rows

# Test examples whose kernel values with a support set are computed at a time.
_TEST_ROWS = 1024


def evaluate(member: Member, X: Rows, y: np.ndarray, tie: str) -> dict[str, float | None]:
    """Return the test errors of a learner at the end of its stream, as shares of the test examples.

    Whoever changes them raises `identity.EVALUATION_REVISION`.

    Parameters
    ----------
    member : Member
    X : ndarray, csr_array or IntegerRows, shape (n, d), n >= 1
    y : ndarray, shape (n,), of -1 and +1, or of classes from 0
    tie : {"mistake", "positive"}
        How a score of 0 counts. Between several classes, a tie with the true one is a mistake.

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
