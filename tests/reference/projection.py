"""Functions that the projecting references share: Orabona, Keshet & Caputo (2009), section 3.2; tolerances."""

import math
from dataclasses import dataclass, field

import numpy as np

from reference.kernel_expansion import Trace

# What is zero or one on paper must not depend on rounding: duplicates have a residual of 0, projected ones margins
# of exactly 0 or 1.
TOLERANCE = 1e-9
# Between several classes, a function of which less than this remains is projected rather than added.
LEAST = 1e-6


@dataclass
class ProjectionTrace(Trace):
    """With ||delta_t||^2 where it was calculated (else None), and whether the round took a step.

    A mistake always takes one, be it the zero step of a projection onto nothing; a margin error only if f changed.
    """

    residuals: list = field(default_factory=list)
    updates: list = field(default_factory=list)


class Basis:
    """Linearly independent functions with the inverse of their Gram matrix, kept recursively as Fig. 4 does.

    A function to project is known by ``k_t``, its inner products with the members in order, and ``k_tt``, its
    squared norm.
    """

    def __init__(self):
        self.members = []
        # The inverse is kept with some digits to spare, as its condition number reaches 1 / TOLERANCE.
        self.inverse = np.zeros((0, 0), dtype=np.longdouble)

    def project(self, k_t, k_tt):
        """Return d*, the squared norm of the projection, and ||delta_t||^2: eqs. (7) and (8)."""
        k_t = np.array(k_t, dtype=np.longdouble)
        d = self.inverse @ k_t  # d* = K_{t-1}^{-1} k_t
        square = k_t @ d  # ||P_{t-1} k(x_t, .)||^2 = k_t^T d*
        residual = k_tt - square  # ||delta_t||^2 = k(x_t, x_t) - k_t^T d*
        return [float(d_i) for d_i in d], float(square), max(0.0, float(residual))

    def add(self, member, k_t, k_tt):
        k_t = np.array(k_t, dtype=np.longdouble)
        d = self.inverse @ k_t
        residual = k_tt - k_t @ d
        n = len(self.members)
        inverse = np.zeros((n + 1, n + 1), dtype=np.longdouble)
        inverse[:n, :n] = self.inverse
        column = np.append(d, np.longdouble(-1))
        self.inverse = inverse + np.outer(column, column) / residual
        self.members.append(member)


def projected_value(alpha, X, x, k):
    """f(x) for weights that solve linear systems: a sum that is 0 except for rounding is 0."""
    column = k.column(X, x)
    terms = [a * column[i] for i, a in alpha.items()]
    total = math.fsum(terms)
    return 0.0 if abs(total) <= negligible(terms) else total


def negligible(terms):
    """The possible rounding error of a sum of these terms."""
    return TOLERANCE * math.fsum(map(abs, terms)) + 1e-3 * TOLERANCE


def gram(X, k):
    return k.gram(np.asarray(X, dtype=float))


def norm(alpha, K):
    """||f||, where K is the Gram matrix of all examples."""
    weights, rounds = np.array(list(alpha.values())), list(alpha)
    return math.sqrt(max(0.0, float(weights @ K[np.ix_(rounds, rounds)] @ weights))) if alpha else 0.0


def allowed(eta, threshold):
    """The largest ||delta_t||^2 that is projected."""
    return eta if threshold == "squared_distance" else eta**2


def cost_of_projecting(residual, k_tt, eta, threshold):
    """||delta_t|| / eta, what the margin rule takes off the loss."""
    if residual <= TOLERANCE * k_tt:
        return 0.0
    return (residual if threshold == "squared_distance" else math.sqrt(residual)) / eta


def margin_step(loss, square, cost):
    """tau_t of a margin error, below Theorem 4; 0 if the example is not projected, or its projection is 0."""
    if loss > cost + TOLERANCE and square > 0:
        return min(loss / square, 2 * (loss - cost) / square, 1.0)
    return 0.0
