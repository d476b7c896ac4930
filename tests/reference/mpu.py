"""Panagiotakopoulos & Tsampouka (2010), Algorithm 1: the Margin Perceptron with Unlearning, one update at a time.

Examples and thresholds are whole numbers, so every step is exact.
"""

from fractions import Fraction


def dot(u, v):
    return sum(p * q for p, q in zip(u, v, strict=True))


def signed(X, y):
    """y_k: the examples multiplied by their labels."""
    assert (X.astype(int) == X).all()
    return [[int(label) * int(value) for value in row] for row, label in zip(X, y, strict=True)]


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


def present(state, ys, k, limit, b, delta_b):
    """Show pattern k once; `limit` is I, or None for infinity. Return eta_t, or 0 if there was no update."""
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


def present_repeatedly(state, ys, k, limit, b, delta_b):
    """Show pattern k as often as it is updated the same way: what a multiple update stands for (section 4)."""
    first = present(state, ys, k, limit, b, delta_b)
    total = first
    while first:
        # Once more, unless the next update would be of the other kind, or none.
        p = dot(state.a, ys[k])
        again = p <= b and (limit is None or state.I[k] < limit) if first == 1 else p >= b + delta_b and state.I[k] > 0
        if not again:
            break
        total += present(state, ys, k, limit, b, delta_b)
    return total


def mpu(X, y, limit, b, delta_b):
    """Algorithm 1: pass over the data until no update is made. Return the final state."""
    ys = signed(X, y)
    assert delta_b > max(dot(row, row) for row in ys)  # Require: delta_b > R^2
    state = State(ys)
    updated = True
    while updated:
        updated = False
        for k in range(len(ys)):
            if present(state, ys, k, limit, b, delta_b):
                updated = True
    return state


def objective(a, ys, limit, b):
    """J(a / b, I / b)."""
    w = [Fraction(value, b) for value in a]
    return dot(w, w) / 2 + Fraction(limit, b) * sum(max(1 - dot(w, row), 0) for row in ys)


def delta_aft(state, ys, limit, b):
    """Eq. (24)."""
    half = Fraction(dot(state.a, state.a), 2)
    losses = sum(max(b - dot(state.a, row), 0) for row in ys)
    return (half + limit * losses) / (b * (state.t_plus - state.t_minus) - half) - 1
