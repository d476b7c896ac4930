"""Functions that the multiclass references share: weights alpha = {i: one weight per class}."""

import math

from reference.projection import TOLERANCE, negligible


def values(alpha, X, x, k, n_classes):
    """f(x, c) for every class c."""
    column = k.column(X, x)
    near = {i: column[i] for i in alpha}
    return [math.fsum(row[c] * near[i] for i, row in alpha.items()) for c in range(n_classes)]


def best_rival(scores, y, handicap=None, tolerance=TOLERANCE):
    """The class other than y with the largest score (the lowest if several tie), and f_y minus that score.

    ``handicap`` is added to each class's score. What differs by at most ``tolerance`` is equal.
    """
    scores = [s + h for s, h in zip(scores, handicap or [0.0] * len(scores), strict=True)]
    best = max(s for c, s in enumerate(scores) if c != y)
    rival = next(c for c, s in enumerate(scores) if c != y and s >= best - tolerance)
    lead = scores[y] - best
    return rival, 0.0 if abs(lead) <= tolerance else lead


def negligible_lead(alpha, X, x, k, n_classes):
    """How much scores may differ through rounding, for weights that solve linear systems."""
    column = k.column(X, x)
    terms = [[row[c] * column[i] for i, row in alpha.items()] for c in range(n_classes)]
    return max(map(negligible, terms))
