"""Panagiotakopoulos & Tsampouka (2010), Algorithm 1: the Margin Perceptron with Unlearning, one update at a time.

Everything follows from the examples and the parameters of the paper. Examples are whole numbers and parameters
fractions, so every step is exact.
"""

from fractions import Fraction
from math import floor, isqrt
from typing import NamedTuple


def dot(u, v):
    return sum(p * q for p, q in zip(u, v, strict=True))


def signed(X, y):
    """y_k: the examples multiplied by their labels."""
    assert (X.astype(int) == X).all()
    return [[int(label) * int(value) for value in row] for row, label in zip(X, y, strict=True)]


class Thresholds(NamedTuple):
    """I (None for infinity), b and delta_b."""

    limit: int | None
    b: Fraction
    delta_b: Fraction


def longest_square(ys):
    """R^2."""
    return max(dot(row, row) for row in ys)


def soft_thresholds(ys, C, delta, ratio):
    """Remark 4: what guarantees the accuracy delta, eq. (23), with delta_b = ratio R^2."""
    C, delta = Fraction(C), Fraction(delta)
    delta_b = Fraction(ratio) * longest_square(ys)
    limit = floor(C * delta_b * (2 + delta) / delta) + 1
    return Thresholds(limit, limit / C, delta_b)


def root(square):
    """The square root of a fraction whose root is a fraction."""
    found = Fraction(isqrt(square.numerator), isqrt(square.denominator))
    assert found**2 == square
    return found


def hard_thresholds(ys, delta, ratio):
    """The b at which delta_b in eq. (11) guarantees the fraction f = (1 + delta)^(-1/2) of the largest margin.

    1 / f^2 bounds how far ||w||^2 is above its minimum, so delta means the same as in eq. (23).
    """
    delta_b = Fraction(ratio) * longest_square(ys)
    # (1 + delta_b / b)^(-1) = f.
    one_over_f = root(1 + Fraction(delta))
    return Thresholds(None, delta_b / (one_over_f - 1), delta_b)


class State:
    """a_t, the I_k^t, and the counts t+ and t- of either kind of update."""

    def __init__(self, ys):
        self.a = [0] * len(ys[0])
        self.I = [0] * len(ys)
        self.t_plus = 0
        self.t_minus = 0

    @property
    def t(self):
        return self.t_plus + self.t_minus


def present(state, ys, k, thresholds):
    """Show pattern k once. Return eta_t, or 0 if there was no update."""
    limit, b, delta_b = thresholds
    p = dot(state.a, ys[k])
    if p <= b and (limit is None or state.I[k] < limit):
        eta = 1
    elif state.I[k] == 0:
        return 0
    elif p >= b + delta_b:
        eta = -1
    else:
        return 0
    state.a = [a + eta * v for a, v in zip(state.a, ys[k], strict=True)]  # eq. (2)
    state.I[k] += eta
    if eta == 1:
        state.t_plus += 1
    else:
        state.t_minus += 1
    return eta


def present_repeatedly(state, ys, k, thresholds):
    """Show pattern k as often as it is updated the same way: what a multiple update stands for (section 4)."""
    limit, b, delta_b = thresholds
    first = present(state, ys, k, thresholds)
    total = first
    while first:
        # Once more, unless the next update would be of the other kind, or none.
        p = dot(state.a, ys[k])
        again = p <= b and (limit is None or state.I[k] < limit) if first == 1 else p >= b + delta_b and state.I[k] > 0
        if not again:
            break
        total += present(state, ys, k, thresholds)
    return total


def mpu(X, y, thresholds):
    """Algorithm 1: pass over the data until no update is made. Return the final state."""
    ys = signed(X, y)
    assert thresholds.delta_b > longest_square(ys)  # Require: delta_b > R^2
    state = State(ys)
    updated = True
    while updated:
        updated = False
        for k in range(len(ys)):
            if present(state, ys, k, thresholds):
                updated = True
    return state


def objective(a, ys, thresholds):
    """J(a / b, I / b)."""
    w = [value / thresholds.b for value in a]
    losses = sum(max(1 - dot(w, row), 0) for row in ys)
    return dot(w, w) / 2 + thresholds.limit / thresholds.b * losses


def delta_aft(state, ys, thresholds):
    """Eq. (24)."""
    limit, b, _ = thresholds
    half = Fraction(dot(state.a, state.a), 2)
    losses = sum(max(b - dot(state.a, row), 0) for row in ys)
    return (half + limit * losses) / (b * (state.t_plus - state.t_minus) - half) - 1


def squared_fraction(state, ys):
    """The square of the lower bound (12) on the fraction of the largest margin; gamma' = min <a, y_k> / ||a||."""
    least = min(dot(state.a, row) for row in ys)
    return Fraction(least * (state.t_plus - state.t_minus), dot(state.a, state.a)) ** 2
