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

    ``handicap`` is added to each class's score. What differs by at most ``tolerance`` is equal: a number, or one for
    each class, of which the larger counts. The lead is 0 if y is equal to a class, and no class is larger.
    """
    scores = [s + h for s, h in zip(scores, handicap or [0.0] * len(scores), strict=True)]
    limits = tolerance if isinstance(tolerance, list) else [tolerance] * len(scores)
    others = [c for c in range(len(scores)) if c != y]
    best = max(others, key=scores.__getitem__)
    rival = next(c for c in others if scores[c] >= scores[best] - max(limits[c], limits[best]))
    lead = scores[y] - scores[best]
    tied = any(abs(scores[y] - scores[c]) <= max(limits[c], limits[y]) for c in others)
    return rival, 0.0 if tied and lead >= -max(limits[y], limits[best]) else lead


def negligible_each(sizes):
    """How much each score may be wrong through rounding, of the sums of its absolute terms."""
    return [TOLERANCE * size for size in sizes]


def negligible_solved(alpha, X, x, k, n_classes):
    """The same for weights that solve linear systems."""
    column = k.column(X, x)
    return [negligible([row[c] * column[i] for i, row in alpha.items()]) for c in range(n_classes)]
