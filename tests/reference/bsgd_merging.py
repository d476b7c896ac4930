"""Wang, Crammer & Vucetic (2012): BSGD with merging, and multiclass BSGD; searches as in their program, BudgetedSVM.

Qaadan & Glasmachers (2018): lookup tables. The traces have f times lambda t, after t rounds, as the engine has it.
"""

import math
from functools import partial

import numpy as np

from reference.bsgd import is_gaussian
from reference.kernel_expansion import Trace, cases, is_mistake
from reference.multiclass import best_rival, negligible_each

NAME = "bsgd"
GOLDEN = (math.sqrt(5) - 1) / 2
GRID = 400


class Point:
    """A point z with its weights, one per class, and the round of the example in whose place it is."""

    def __init__(self, z, weights, t):
        self.z, self.weights, self.t = z, weights, t


def rate_of(k):
    return -math.log(k(np.zeros(1), np.ones(1)))


def power(rate, a, b, s):
    """k(a, b)^s, which does not underflow before its time."""
    return math.exp(-rate * float(((a - b) ** 2).sum()) * s)


def search(objective, low, high, width):
    """The minimum of a function; of two equal values, the lower part is kept."""
    p, q = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    at_p, at_q = objective(p), objective(q)
    while high - low >= width:
        if at_p <= at_q + 1e-12 * abs(at_q):
            high, q, at_q = q, p, at_p
            p = high - GOLDEN * (high - low)
            at_p = objective(p)
        else:
            low, p, at_p = p, q, at_q
            q = low + GOLDEN * (high - low)
            at_q = objective(q)
    return (low + high) / 2


def place(m, n, rate, zero):
    """h, for z = h x_m + (1 - h) x_n."""
    of_m = of_n = 0.0
    for a, b in zip(m.weights, n.weights, strict=True):
        total = a + b
        if abs(total) <= 1e-9 * abs(a):
            # With two classes and opposite weights, the terms of the two classes cancel.
            total = zero
        of_m += a / total
        of_n += b / total
    if of_m * of_n > 0:
        low, high = 0.0, 1.0
    elif of_m > 0:
        low, high = 1.0, 6.0
    else:
        low, high = -5.0, 0.0

    def objective(h):
        return -(of_m * power(rate, m.z, n.z, (1 - h) ** 2) + of_n * power(rate, m.z, n.z, h**2))

    return search(objective, low, high, 2e-4)


def added(a, b):
    """a + b; weights that cancel except for rounding are 0."""
    return 0.0 if abs(a + b) <= 1e-9 * abs(a) else a + b


def change(m, n, h, rate):
    """||a_m phi(x_m) + a_n phi(x_n) - a_z phi(z)||^2, and a_z of every class."""
    k_mz, k_nz, k_mn = (power(rate, m.z, n.z, s) for s in ((1 - h) ** 2, h**2, 1.0))
    merged = [added(a * k_mz, b * k_nz) for a, b in zip(m.weights, n.weights, strict=True)]
    terms = zip(m.weights, n.weights, merged, strict=True)
    return sum(a * a + b * b + 2 * k_mn * a * b - z * z for a, b, z in terms), merged


_TABLE = {}


def table_entry(i, j):
    """h and the change, over (a_m + a_n)^2, for m = i / 399 and k = j / 399."""
    if (i, j) not in _TABLE:
        m, k = i / (GRID - 1), j / (GRID - 1)

        def u(h):
            return m * k ** ((1 - h) ** 2) + (1 - m) * k ** (h**2)

        if j == GRID - 1:
            # the points are equal; this is the limit
            h, lost = m, 0.0
        elif j == 0 or i in (0, GRID - 1):
            # the heavier point stays as it is
            h = 1.0 if m > 0.5 else 0.0
            lost = m * m + (1 - m) ** 2 + 2 * k * m * (1 - m) - max(m, 1 - m) ** 2
        else:
            h = search(lambda h: -u(h), 0.0, 1.0, 1e-10)
            lost = m * m + (1 - m) ** 2 + 2 * k * m * (1 - m) - u(h) ** 2
        _TABLE[i, j] = h, lost
    return _TABLE[i, j]


def looked_up(what, m, k):
    row, column = m * (GRID - 1), k * (GRID - 1)
    i, j = min(int(row), GRID - 2), min(int(column), GRID - 2)
    u, v = row - i, column - j
    corners = (((1 - u) * (1 - v), i, j), ((1 - u) * v, i, j + 1), (u * (1 - v), i + 1, j), (u * v, i + 1, j + 1))
    return sum(share * table_entry(r, c)[what] for share, r, c in corners)


def merge(points, rate, zero, partners="all", lookup=None):
    """Merge two points of a list; z takes the place of the one with the smallest weight."""

    def same_sign(m, n):
        return m.weights[0] * n.weights[0] > 0

    def size(point):
        return sum(a * a for a in point.weights)

    # p = argmin |alpha_p|; smaller means by more than 1e-9
    candidates = [p for p in points if partners == "all" or any(q is not p and same_sign(p, q) for q in points)]
    # (without a pair, weights have underflowed: remove the smallest)
    m = (candidates or points)[0]
    for p in candidates or points:
        if size(p) < size(m) - 1e-9 * size(p):
            m = p
    if not candidates:
        points[:] = [p for p in points if p is not m]
        return
    best = None
    for n in points:
        if n is m or (partners == "same_sign" and not same_sign(m, n)):
            continue
        share, k_mn = m.weights[0] / (m.weights[0] + n.weights[0] or 1.0), power(rate, m.z, n.z, 1.0)
        if lookup is None:
            h = place(m, n, rate, zero)
            lost, _ = change(m, n, h, rate)
        elif lookup == "h":
            h = looked_up(0, share, k_mn)
            lost, _ = change(m, n, h, rate)
        else:
            h, lost = None, looked_up(1, share, k_mn) * (m.weights[0] + n.weights[0]) ** 2
        if best is None or lost < best[0] - 1e-12 * (size(m) + size(n)):
            best = lost, n, h, share, k_mn
    _, n, h, share, k_mn = best
    if lookup == "wd":
        h = looked_up(0, share, k_mn)
    _, merged = change(m, n, h, rate)
    # (the program cuts h only here)
    h = max(h, 0.0)
    points[points.index(m)] = Point(h * m.z + (1 - h) * n.z, merged, m.t)
    points.remove(n)


def last_equal(points, x, k):
    """The last point that the program finds equal to x."""
    found = None
    if not is_gaussian(k):
        return None
    for c in range(len(points[0].weights)):
        for p in points:
            first = next((i for i, a in enumerate(p.weights) if a != 0), None)
            if first == c and int(k.k(p.z, x) * 1e8 + 0.5) == 10**8:
                found = p
    return found


def scores_of(points, x, k, n_classes):
    """The scores of all classes, and the sums of their absolute terms."""
    values = [k.k(p.z, x) for p in points]
    terms = [[p.weights[c] * v for p, v in zip(points, values, strict=True)] for c in range(n_classes)]
    return [math.fsum(row) for row in terms], [math.fsum(map(abs, row)) for row in terms]


def record(trace, scores, mistake, points, scale, update):
    trace.scores.append(scores)
    trace.mistakes.append(mistake)
    trace.active.append([p.t for p in points])
    weights = [[a * scale for a in p.weights] for p in points]
    trace.alpha.append([row[0] if len(row) == 1 else row for row in weights])
    trace.updates.append(update)


def binary(X, y, k, budget, regulariser, partners="all", first="paper", lookup=None, tie="mistake"):
    X, rate, trace, points = np.asarray(X, dtype=float), rate_of(k), Trace(), []
    trace.updates = []
    for t, (x, y_t) in enumerate(zip(X, y, strict=True), start=1):
        (score,), (size,) = scores_of(points, x, k, 1)
        score = 0.0 if abs(score) <= 1e-9 * size else score
        update = y_t * score < 1 - 1e-9
        eta = 1 / (regulariser * t)
        for p in points:
            p.weights[0] *= 1 - 1 / t
        if update:
            weight = float(2 * y_t if first == "program" and t == 1 else eta * y_t)
            same = last_equal(points, x, k) if first == "program" and len(points) == budget else None
            if same:
                same.weights[0] = added(same.weights[0], weight)
            else:
                points.append(Point(x, [weight], t - 1))
                if len(points) > budget:
                    merge(points, rate, math.inf, partners, lookup)
        scale = regulariser * t
        record(trace, score * regulariser * (t - 1), is_mistake(y_t, score, tie), points, scale, update)
    return trace


def several(X, codes, k, n_classes, budget, regulariser, merges, first="paper"):
    X, rate, trace, points = np.asarray(X, dtype=float), rate_of(k) if merges else None, Trace(), []
    trace.updates = []
    for t, (x, y_t) in enumerate(zip(X, map(int, codes), strict=True), start=1):
        scores, sizes = scores_of(points, x, k, n_classes)
        rival, lead = best_rival(scores, y_t, tolerance=negligible_each(sizes))
        # 1 + f_r - f_y > 0
        update = lead < 1 - 1e-9
        eta = 1 / (regulariser * t)
        for p in points:
            p.weights = [a * (1 - 1 / t) for a in p.weights]
        if update:
            weight = eta
            if first == "program" and t == 1:
                weight, rival = 1.0, (y_t + 1) % n_classes
            new = [0.0] * n_classes
            new[y_t], new[rival] = weight, -weight
            same = last_equal(points, x, k) if first == "program" and len(points) == budget else None
            if same:
                # merging adds the weights; removal drops the new example
                if merges:
                    same.weights = [added(a, b) for a, b in zip(same.weights, new, strict=True)]
            else:
                points.append(Point(x, new, t - 1))
            if len(points) > budget and merges:
                merge(points, rate, 1e-4)
            elif len(points) > budget:
                sizes = [sum(a * a for a in p.weights) for p in points]
                del points[next(i for i, s in enumerate(sizes) if s <= min(sizes) * (1 + 1e-9))]
        scale = regulariser * t
        record(trace, [s * regulariser * (t - 1) for s in scores], lead <= 0, points, scale, update)
    return trace


CASES = cases(
    binary, {"budget": 2, "regulariser": 0.1}, {"budget": 12, "regulariser": 0.02},
    {"budget": 20, "regulariser": 0.05, "partners": "same_sign"},
    {"budget": 12, "regulariser": 0.02, "first": "program"}, variant="merging",
)  # fmt: skip
CASES += [
    (f"lookup_{table}", given, partial(binary, **given, partners="same_sign", lookup=table))
    for table in ("h", "wd")
    for given in ({"budget": 2, "regulariser": 0.1}, {"budget": 12, "regulariser": 0.02})
]
MULTICLASS_CASES = [
    (variant, given, partial(several, **given, merges=variant == "merging"))
    for variant in ("removal", "merging")
    for given in ({"budget": 12, "regulariser": 0.02}, {"budget": 20, "regulariser": 0.05, "first": "program"})
]
