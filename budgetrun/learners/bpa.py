"""BPA: the Passive-Aggressive algorithm on a budget; other examples take the part of f of the one that leaves."""

from typing import Any

import numpy as np

from budgetrun.base.params import Budget, Positive
from budgetrun.engine.hypotheses import Expansion
from budgetrun.engine.hypotheses.inverse import Inverse, keep_and_add
from budgetrun.engine.hypotheses.pairs import Pairs, first_smallest
from budgetrun.engine.hypotheses.points import MulticlassPoints
from budgetrun.engine.pool import Pool
from budgetrun.kernels.compiling.objects import compiled_as
from budgetrun.kernels.sums import close_gap, put
from budgetrun.learners.base import BinaryLearner, Budgeted, MulticlassLearner, as_fields
from budgetrun.learners.passive_aggressive import step


@as_fields
class _BPA(Budgeted, BinaryLearner):
    """PA-I on a budget: the parameters of all three rules, and when they act.

    Parameters:
    C : float, > 0
        The largest step.
    keep : bool
        Leave f unchanged if no removal lowers the objective Q below its value for the unchanged f, C times the loss.

    References: Wang & Vucetic (2010), "Online passive-aggressive algorithms on a budget", AISTATS.
    """

    name = "bpa"
    revision = 2
    margin = 1.0

    C: Positive = 1.0
    keep: bool = False


class SimpleBPA(_BPA):
    """PA-I; when the budget is full, an example leaves and the new one takes what it can of its part of f.

    Notes: O(B d) per round. With V = {t}, the update minimizes Q(w) = ||w - w_t||^2 / 2 + C loss(w) over the example r
    that leaves and over the weights of the examples in V. The best step is tau = min(C, loss / k(x_t, x_t)) for every
    r, as in PA-I, so that r is the example whose part of f is nearest to the span of V: it minimizes coef_r^2 ||k(x_r,
    .) - P_V k(x_r, .)||^2. The projection of that part is added to V. Of equal ones, up to rounding, the oldest leaves.

    The source was not at hand: the rule is that of three programs that agree. Two of them always replace an example;
    the third has the test of ``keep``. Which of the two the source has is not known. An example with k(x, x) = 0 is
    added with weight C, which changes no prediction. No mistake bound is known.

    >>> breast_cancer(SimpleBPA(budget=20), gamma=0.03).mistakes
    30
    """

    variant = "simple"
    title = "BPA-S"
    default_variant = True

    def update(self, f: Expansion, y: int, score: float) -> None:
        tau = step(1 - y * score, f.square, self.C)
        if f.size < self.budget:
            f.add(y * tau)
            return
        row = f.kernel_row()
        shares = row / f.square if f.square > 0 else 0 * row
        r, lost = cheapest(f, f.squares - shares * row)
        if self.keep and too_much(lost, tau, f.square, self.C, f.rounding):
            return
        weight = f.coef[r] * shares[r]
        f.evict(r)
        f.add(y * tau + weight)


@as_fields
class MulticlassSimpleBPA(Budgeted, MulticlassLearner):
    """PA-I; when the budget is full, an example leaves and the new one takes what it can of its part of every f_c.

    Parameters:
    C : float, > 0
        The largest step.

    Notes: O(B (d + m)) per round for m classes. The rule is that of the binary ``bpa(simple)`` with one weight per
    class: the true class and its rival change by tau = min(C, loss / (2 k(x_t, x_t))), as in PA-I, and sizes are sums
    of squares over the classes. The projection of the example that leaves does not change the scores of x_t: the loss
    after the update is the same for all of them.

    The source was not at hand: the rule is that of a program. It always replaces an example.

    References: Wang & Vucetic (2010), "Online passive-aggressive algorithms on a budget", AISTATS: BPA-S; several
    classes as in the program of Lu, Hoi, Wang, Zhao & Liu (2016).

    >>> digits(MulticlassSimpleBPA(budget=20), gamma=0.05).mistakes
    74
    """

    name = "bpa"
    revision = 2
    margin = 1.0
    variant = "simple"
    title = "BPA-S"
    default_variant = True
    form = MulticlassPoints

    C: Positive = 1.0

    def start(self, pool: Pool, n_classes: int) -> MulticlassPoints:
        return MulticlassPoints(pool, self.budget + 1, n_classes)

    def update(self, f: Any, y: int, rival: int, lead: float) -> None:
        tau, n = step(1 - lead, 2 * f.square, self.C), f.size
        row, weights, squares = f.kernel_row(), f.weights, f.squares
        f.append()
        f.shift(n, tau, y)
        f.shift(n, -tau, rival)
        if n < self.budget:
            return
        shares = row / f.square if f.square > 0 else 0 * row
        sizes = np.zeros(n)
        for c in range(f.n_classes):
            sizes += weights[c] * weights[c]
        r = first_smallest(sizes * (squares - shares * row), f.rounding * sizes * squares)
        for c in range(f.n_classes):
            f.shift(n, weights[c, r] * shares[r], c)
        f.evict(r)


class NearestBPA(_BPA):
    """PA-I; when the budget is full, an example leaves, and the new one and its nearest one take its part of f.

    Notes: O(B d) per round, with the nearest example of each support example, and memory for B^2 kernel values. The
    rule is that of ``bpa(simple)`` with V = {t, n}, where n is the support example nearest to r, by ||k(x_r, .) -
    k(x_n, .)||; the oldest of several. If k(x_n, .) is a multiple of k(x_t, .) except for rounding, V = {t}.

    The source was not at hand: the rule is that of two programs that agree. No mistake bound is known.

    >>> breast_cancer(NearestBPA(budget=20), gamma=0.03).mistakes
    24
    """

    variant = "nearest"
    title = "BPA-NN"
    # The kernel values between support examples, and, by place, the place of the nearest one; -1 if there is no other.
    _pairs: Pairs
    _nearest: np.ndarray

    def bytes_kept(self, size: int, row: float, n_features: int) -> float:
        return 8.0 * size

    def start(self, pool: Pool) -> Expansion:
        self._pairs = Pairs(self.budget)
        self._nearest = np.full(self.budget, -1)
        return Expansion(pool)

    def update(self, f: Expansion, y: int, score: float) -> None:
        tau = step(1 - y * score, f.square, self.C)
        weight, n, row, squares, pairs, gone = y * tau, f.size, f.kernel_row(), f.squares, self._pairs, -1
        s, q, k_nn = self.with_nearest(row, squares)
        if n == self.budget:
            r, lost = _cheapest(f.coef, projected(f, row, squares, s, q, k_nn), squares, f.rounding)
            if self.keep and too_much(lost, tau, f.square, self.C, f.rounding):
                return
            share, to_nearest = onto_two(row[r], s[r], q[r], f.square, k_nn[r], f.rounding)
            weight += f.coef[r] * share
            gone = pairs.places[r]
            if to_nearest != 0:
                f.shift(int(np.argmax(pairs.places == self._nearest[gone])), f.coef[r] * to_nearest)
            f.evict(r)
            pairs.remove(r)
            for values in (row, squares, s, k_nn):
                close_gap(values, r, n)
            n -= 1
        f.add(weight)
        new, square, rounding, nearest = pairs.add(row[:n], f.square), f.square, f.rounding, self._nearest
        for i in range(n):
            place = pairs.places[i]
            # Squared distances without the square of the example itself.
            least = k_nn[i] - 2 * s[i]
            if nearest[place] == gone:
                least = self.find_nearest(i, squares[:n], rounding)
            # The new one is the nearest of those that have no other as near.
            if nearest[place] < 0 or square - 2 * row[i] < least - rounding * square:
                nearest[place] = new
        self.find_nearest(n, squares[:n], rounding)

    def with_nearest(self, row: np.ndarray, squares: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return what `onto_two` calls s, q and k_nn, for every support example; 0 if there is no other."""
        places, values, n = self._pairs.places, self._pairs.values, len(row)
        by_place, found = np.zeros((2, self.budget)), np.zeros((3, n))
        put(row, places[:n], by_place[0])
        put(squares, places[:n], by_place[1])
        s, q, k_nn = found[0], found[1], found[2]
        for i in range(n):
            nearest = self._nearest[places[i]]
            if nearest >= 0:
                s[i], q[i], k_nn[i] = values[places[i], nearest], by_place[0, nearest], by_place[1, nearest]
        return s, q, k_nn

    def find_nearest(self, i: int, squares: np.ndarray, rounding: float) -> float:
        """Find the nearest one of support example ``i`` among the first ones, whose ``squares`` these are.

        Returns the squared distance without the square of the example itself.
        """
        places, nearest, least = self._pairs.places, -1, np.inf
        values = self._pairs.values[places[i]]
        for j in range(len(squares)):
            if j != i:
                distance = squares[j] - 2 * values[places[j]]
                if distance < least - rounding * squares[j]:
                    nearest, least = places[j], distance
        self._nearest[places[i]] = nearest
        return least


class ProjectingBPA(_BPA):
    """PA-I; when the budget is full, an example leaves, and all others with the new one take its part of f.

    Parameters:
    ridge : float, > 0
        Is added to the diagonal of the kernel matrix in projections. With 1e-8 B max k(x, x) or less, rounding can make
        projections wrong, and a run whose scores are not finite fails: a larger ridge helps.

    Notes: O(B d + B^2) per round, and memory for B^2 numbers; every B removals, the inverse of the kernel matrix is
    computed from kernel values, in O(B^2 d + B^3). The rule is that of ``bpa(simple)`` with V = all examples but r.

    The source was not at hand: the rule is that of ``bpa(simple)`` and ``bpa(nearest)``, for the V that the source's
    abstract names; it was not compared with a program. The ridge is not in the source: without it, the weights of a
    projection on examples that are equal, or nearly dependent, are not determined. No mistake bound is known.

    >>> breast_cancer(ProjectingBPA(budget=20), gamma=0.03).mistakes
    23
    """

    variant = "projecting"
    title = "BPA-P"
    revision = 3
    continues = (2,)

    def __init__(self, *, budget: Budget, C: Positive = 1.0, keep: bool = False, ridge: Positive = 0.001) -> None:
        super().__init__(budget=budget, C=C, keep=keep)
        self.ridge = ridge
        self._inverse = Inverse(ridge)

    def uncompiled(self, f: Expansion) -> bool:
        return f.size == self.budget and self._inverse.is_due(f.size)

    def update(self, f: Expansion, y: int, score: float) -> None:
        tau = step(1 - y * score, f.square, self.C)
        if f.size < self.budget:
            f.add(y * tau)
            return
        inverse = self._inverse
        inverse.add_current(f)
        r, lost = cheapest(f, 1 / inverse.diagonal()[: f.size])
        if self.keep and too_much(lost, tau, f.square, self.C, f.rounding):
            inverse.remove(f.size)
            return
        weights = np.append(f.coef, y * tau)
        weights += weights[r] * inverse.remove(r)
        keep_and_add(f, r, weights)


def onto_two(e: float, s: float, q: float, k_tt: float, k_nn: float, rounding: float) -> tuple[float, float]:
    """Return the weights of k(x_t, .) and k(x_n, .) in the projection of k(x_r, .) on their span.

    e, s and q are k(x_r, x_t), k(x_r, x_n) and k(x_n, x_t). If the two are dependent up to ``rounding``, only the first
    has a weight, unless it is 0.
    """
    determinant = k_nn * k_tt - q * q
    if determinant > rounding * k_nn * k_tt:
        return (e * k_nn - q * s) / determinant, (s * k_tt - q * e) / determinant
    if k_tt > 0:
        return e / k_tt, 0.0
    return 0.0, s / k_nn if k_nn > 0 else 0.0


def projected(
    f: Expansion, row: np.ndarray, squares: np.ndarray, s: np.ndarray, q: np.ndarray, k_nn: np.ndarray
) -> np.ndarray:
    """Return the squared errors of the projections of the support examples that `onto_two` describes, shape (size,)."""
    square, rounding, out = f.square, f.rounding, np.zeros(len(row))
    for i in range(len(row)):
        share, to_nearest = onto_two(row[i], s[i], q[i], square, k_nn[i], rounding)
        out[i] = squares[i] - share * row[i] - to_nearest * s[i]
    return out


def cheapest(f: Expansion, distances: np.ndarray) -> tuple[int, float]:
    """Return the support example r for which coef_r^2 times a squared distance is smallest, and that product."""
    return _cheapest(f.coef, distances, f.squares, f.rounding)


@compiled_as("cheapest")
def _cheapest(weights: np.ndarray, distances: np.ndarray, squares: np.ndarray, rounding: float) -> tuple[int, float]:
    sizes = weights * weights
    lost = sizes * distances
    r = first_smallest(lost, rounding * sizes * squares)
    return r, lost[r]


def too_much(lost: float, tau: float, square: float, C: float, rounding: float) -> bool:
    """Return whether the best Q is not below C times the loss, its value for the unchanged f."""
    # (lost + tau^2 k(x, x)) / 2 + C (loss - tau k(x, x)) >= C loss
    return lost >= (1 - rounding) * (2 * C - tau) * tau * square
