"""BSGD maintained by merging: past the budget, two points become one."""

from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from budgetrun.base.params import Countable, Positive
from budgetrun.engine.hypotheses.merging import (
    best_partner,
    degradations,
    last_equal,
    lightest,
    looked_up,
    nearest,
    shares,
    tables,
)
from budgetrun.engine.hypotheses.points import MulticlassPoints, Points
from budgetrun.engine.pool import Pool
from budgetrun.kernels import Gaussian
from budgetrun.kernels.arithmetic import exp
from budgetrun.kernels.compiling import call
from budgetrun.kernels.compiling.objects import apart
from budgetrun.learners.base import MulticlassLearner, gaussian_rate
from budgetrun.learners.bsgd import BSGD, RemovingBSGD

# Two points are merged with a third one in the support set.
AtLeastTwo = Annotated[int, Field(ge=2, strict=True), Countable]
# What another kernel is answered.
_GAUSSIAN = "bsgd", "merging is for the gaussian kernel", "variant removal or projection"


class _Merging:
    """Merging, for one function or several.

    Parameters:
    budget : int, >= 2
        B, the most points between rounds.
    first : {"paper", "program"}
        The weight of the first example, as in ``bsgd(removal)``; with the program, an example that is equal to a point,
        up to 8 digits of the kernel value, is not left out when the budget is full, but added to its weight.
    """

    # A search of some twenty steps, of two kernel values each.
    work = 9e3
    rate: float
    # Set per instance: a default of the class would be a constant in compiled code.
    same_sign: bool

    @apart
    def merge(self, f: Any, zero: float) -> None:
        """Merge the point of the smallest weight with the one with which that changes f least.

        ``zero`` is what a sum of weights that is 0 up to rounding counts as.
        """
        weights = f.weights
        p = lightest(weights, self.same_sign)
        if p < 0:
            # Weights that underflowed.
            f.evict(lightest(weights, False))
            return
        logs = np.maximum(-self.rate * f.distances(p), -1e300)
        i, h = self.partner(logs, weights, p, zero)
        # As in the authors' program, which keeps the weight of the place that was found.
        f.merge(p, i, max(h, 0.0), exp(logs[i] * ((1 - h) * (1 - h))), exp(logs[i] * (h * h)))

    def partner(self, logs: np.ndarray, weights: np.ndarray, p: int, zero: float) -> tuple[int, float]:
        """Return the point to merge point ``p`` with, and h."""
        # In the interpreter, this takes most of the time.
        i, h = call(best_partner, logs, weights, p, zero, self.same_sign)
        return i, h


class MergingBSGD(_Merging, RemovingBSGD):
    """Stochastic gradient descent on the regularised hinge loss; past the budget, merge two points into one.

    Parameters:
    partners : {"all", "same_sign"}
        Points of any weight may be merged, or only those of the same sign (Qaadan & Glasmachers, 2018).

    Notes: O(B d) per round, and B searches if it merges. Only for the Gaussian kernel. Past the budget, the point m of
    the smallest weight is merged with a point n: z = h x_m + (1 - h) x_n takes the place of m, with the weight a_z =
    a_m k^((1-h)^2) + a_n k^(h^2), where k = k(x_m, x_n) and h maximizes a_z / (a_m + a_n). n is the point for which the
    squared norm of the change, a_m^2 + a_n^2 + 2 k a_m a_n - a_z^2, is smallest. Weights are equal up to 1e-9 of their
    squares, changes up to 1e-12 of a_m^2 + a_n^2; then the first point counts, m or n. Terms of a_z that cancel except
    for rounding give 0. As in ``bsgd(removal)``, f is stored times lambda t, after t rounds.

    Where the source leaves it open, this is the program of its authors: golden section search to 2e-4; for weights of
    different signs, h is sought in [1, 6] or [-5, 0]. A negative h becomes 0 for z, but not for its weight. If a_m and
    a_n cancel, h is -5.

    >>> breast_cancer(MergingBSGD(budget=20, regulariser=0.01), gamma=0.03).mistakes
    30
    """

    variant = "merging"
    title = "BSGD, merging"
    default_variant = False
    form = Points
    added = {}

    def __init__(
        self,
        *,
        budget: AtLeastTwo,
        regulariser: Positive = 1e-4,
        partners: Literal["all", "same_sign"] = "all",
        first: Literal["paper", "program"] = "paper",
    ) -> None:
        super().__init__(budget=budget, regulariser=regulariser, first=first)
        self.same_sign = partners == "same_sign"

    def start(self, pool: Pool) -> Points:  # type: ignore[override]
        self.rate = gaussian_rate(pool, *_GAUSSIAN)
        return Points(pool, self.budget + 1)

    def update(self, f: Any, y: int, score: float) -> None:
        weight = self.first_weight(f.now) * y
        if self.as_program and f.size == self.budget:
            same = last_equal(f.kernel_row(), f.weights)
            if same >= 0:
                f.shift(same, weight)
                return
        f.append()
        f.shift(f.size - 1, weight)
        if f.size > self.budget:
            # The program searches nothing if weights cancel.
            self.merge(f, np.inf)


class LookupHBSGD(MergingBSGD):
    """BSGD with merging, with h from a table instead of a search.

    Notes: O(B d) per round. The rule is that of ``bsgd(merging)`` with partners of the same sign. h depends on m = a_m
    / (a_m + a_n) and k only: it is interpolated from a table over 400 x 400 values of both in [0, 1], computed by
    golden section search to 1e-10 in a fraction of a second.

    The source was not at hand: the size of the table is from memory.

    References: Qaadan & Glasmachers (2018), "Speeding up budgeted stochastic gradient descent SVM training with
    precomputed golden section search": Lookup-h and Lookup-WD.

    >>> breast_cancer(LookupHBSGD(budget=20, regulariser=0.01), gamma=0.03).mistakes
    27
    """

    variant = "lookup_h"
    title = "BSGD, Lookup-h"

    def __init__(
        self, *, budget: AtLeastTwo, regulariser: Positive = 1e-4, first: Literal["paper", "program"] = "paper"
    ) -> None:
        super().__init__(budget=budget, regulariser=regulariser, partners="same_sign", first=first)
        self.places = self.losses = np.zeros((0, 0))

    def bytes_kept(self, size: int, row: float, n_features: int) -> float:
        return float(self.places.nbytes + self.losses.nbytes)

    def start(self, pool: Pool) -> Points:  # type: ignore[override]
        self.places, self.losses = tables()
        return super().start(pool)

    def partner(self, logs: np.ndarray, weights: np.ndarray, p: int, zero: float) -> tuple[int, float]:
        share = np.minimum(np.maximum(shares(weights, p, zero)[0], 0.0), 1.0)
        h = looked_up(self.places, share, exp(logs))
        i = nearest(degradations(logs, weights, p, h), weights, p, True)
        return i, h[i]


class LookupWDBSGD(LookupHBSGD):
    """BSGD with merging, with the change of f, and then h, from tables instead of searches.

    Notes: O(B d) per round. The rule is that of ``bsgd(lookup_h)``; the change of f, over (a_m + a_n)^2, is
    interpolated from a table, too, and h only for the point with which it is smallest.

    The source was not at hand: the size of the table, and that h is from that of ``bsgd(lookup_h)``, are from memory.

    >>> breast_cancer(LookupWDBSGD(budget=20, regulariser=0.01), gamma=0.03).mistakes
    31
    """

    variant = "lookup_wd"
    title = "BSGD, Lookup-WD"

    def partner(self, logs: np.ndarray, weights: np.ndarray, p: int, zero: float) -> tuple[int, float]:
        share = np.minimum(np.maximum(shares(weights, p, zero)[0], 0.0), 1.0)
        kernel, total = exp(logs), weights[0, p] + weights[0]
        i = nearest(looked_up(self.losses, share, kernel) * total * total, weights, p, True)
        return i, looked_up(self.places, share[i : i + 1], kernel[i : i + 1])[0]


class MulticlassRemovingBSGD(BSGD, MulticlassLearner):
    """Stochastic gradient descent on the regularised hinge loss of several classes; past the budget, remove an example.

    Parameters:
    regulariser : float, > 0
        lambda. Round t multiplies all weights by 1 - 1 / t. If the true class leads its rival by less than 1, the
        example is added with weight 1 / (lambda t) for its class, and minus that for the rival.
    first : {"paper", "program"}
        The first example has the weight 1 / lambda, and its rival is the first other class; or, as in the program of
        the authors, 1, and the class that follows. Then an example that is equal to one that is held, up to 8 digits of
        the Gaussian kernel's value, is left out when the budget is full.

    Notes: O(B (d + m)) per round. The size of a weight is the sum of its squares over the classes; apart from the first
    one, all are equal, and the oldest example leaves. As with two classes, f is stored times lambda t.

    With two classes and a binary learner that has twice the regulariser, both predict the same.

    >>> digits(MulticlassRemovingBSGD(budget=20, regulariser=0.01), gamma=0.05).mistakes
    281
    """

    variant = "removal"
    title = "BSGD, removal"
    default_variant = True
    form = MulticlassPoints
    # True if an example that is equal to one that is held adds to its weight, and is not left out.
    adds_equal = False

    def start(self, pool: Pool, n_classes: int) -> MulticlassPoints:
        self.by_equality = self.as_program and isinstance(pool.kernel, Gaussian)
        return MulticlassPoints(pool, self.budget + 1, n_classes)

    def margins(self, f: Any, t: int, y: int, rival: int) -> float:
        # f = 0 in the first round: any limit above 0 will do.
        return (1 - f.rounding) * self.regulariser * max(f.rounds_before(t), 1)

    def update(self, f: Any, y: int, rival: int, lead: float) -> None:
        weight = 1.0
        if self.as_program and f.now == 1:
            weight, rival = self.regulariser, (y + 1) % f.n_classes
        i = last_equal(f.kernel_row(), f.weights) if self.by_equality and f.size == self.budget else -1
        if i < 0:
            f.append()
            i = f.size - 1
        elif not self.adds_equal:
            return
        f.shift(i, weight, y)
        f.shift(i, -weight, rival)
        if f.size > self.budget:
            self.shrink(f)

    def shrink(self, f: Any) -> None:
        """Remove the example of the smallest weight."""
        f.evict(lightest(f.weights, False))


class MulticlassMergingBSGD(_Merging, MulticlassRemovingBSGD):
    """Stochastic gradient descent on the regularised hinge loss of several classes; past the budget, merge two points.

    Notes: O(B (d + m)) per round, and B searches if it merges. Only for the Gaussian kernel. The rule is that of
    ``bsgd(merging)`` with one weight per class: sizes and changes are sums over the classes, and h maximizes the sum
    over the classes of a_z / (a_m + a_n). As in the authors' program, 1e-4 takes the place of an a_m + a_n of 0.

    >>> digits(MulticlassMergingBSGD(budget=20, regulariser=0.01), gamma=0.05).mistakes
    37
    """

    variant = "merging"
    title = "BSGD, merging"
    default_variant = False
    adds_equal = True

    def __init__(
        self, *, budget: AtLeastTwo, regulariser: Positive = 1e-4, first: Literal["paper", "program"] = "paper"
    ) -> None:
        super().__init__(budget=budget, regulariser=regulariser, first=first)
        self.same_sign = False

    def start(self, pool: Pool, n_classes: int) -> MulticlassPoints:
        self.rate = gaussian_rate(pool, *_GAUSSIAN)
        return super().start(pool, n_classes)

    def shrink(self, f: Any) -> None:
        self.merge(f, 1e-4 * self.regulariser * f.now)
