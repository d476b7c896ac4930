"""Linear functions of the examples themselves, with an intercept, whose sums have a stated order."""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from budgetrun.engine.hypotheses.features import WithoutSupport
from budgetrun.engine.pool import Pool
from budgetrun.engine.standardised import Standardised
from budgetrun.kernels import Rows, compiling
from budgetrun.kernels.arithmetic import LEAST_SUM
from budgetrun.kernels.kinds import as_held, floats
from budgetrun.kernels.sums import adapt, add_multiple_at, inner, inner_at, products

# Rows: their values one after the other, the columns of these, and where each row begins.
Terms = tuple[np.ndarray, np.ndarray, np.ndarray]


class Linear(WithoutSupport):
    """f(x) = w_0 + sum over j of w_j x_j, which may change in every round. The support set is empty.

    The verbs are `step`, `shift` and `adapt`; `squared_length` is what a rate can be divided by.

    Parameters:
    unit : float, >= 0
        The scale of scores: the learner's step. A score of at most ``unit`` times `rounding` counts as 0.
    squared : float, >= 0
        For `adapt`: what the sums of squared derivatives begin with.
    splines : bool
        Whether x are `hats` of the examples, so that f is a sum of piecewise linear functions of single features.
    pairs : int, >= 0
        x has the products of any two values of the first ``pairs`` features, too, and their squares (`products`).

    Attributes:
    w : ndarray of float64, shape (`n_weights`,)
        The weights; the first is the intercept.

    Notes: A round's score is computed when the round comes: the intercept, then one stored value after the other. So it
    has the same bits however a stream is cut, and for dense and sparse rows.
    """

    form = "linear"
    # Learners of a pool have the same rows of a block.
    _shares_rows: ClassVar[bool] = True

    def __init__(
        self, pool: Pool, unit: float, squared: float = 0.0, *shape: int, splines: bool = False, pairs: int = 0
    ) -> None:
        super().__init__(pool, *shape)
        self._unit = unit
        self._splines, self._pairs = splines, pairs
        self._least_squared = squared
        self.w = np.zeros(0)
        # For `adapt`: the sum of the squared derivatives so far, by weight.
        self._squared = np.zeros(0)
        # The block's examples: their values and the places of these in w, and where each row begins.
        self._values, self._places, self._starts = np.zeros(0), np.zeros(0, dtype=np.intp), np.zeros(1, dtype=np.intp)

    @property
    def current(self) -> Any:
        return self._sum(self._round)

    @property
    def _most_paired(self) -> int:
        """How many inputs are in products."""
        return _n_inputs(self._pairs, self._splines)

    @property
    def squared_length(self) -> float:
        """||(1, x_t)||^2 for the example x_t of the current round."""
        values = self._row(self._round)[1]
        return float(inner(values, values))

    def step(self, weight: float) -> None:
        """w += weight (1, x_t), for the example x_t of the current round."""
        places, values = self._row(self._round)
        add_multiple_at(self.w, places, weight, values)

    def shift(self, weight: float) -> None:
        """w_0 += weight."""
        self.w[0] += weight

    def adapt(self, slope: float, step: float) -> None:
        """w_j += step g_j / sqrt(sum of all g_j^2 so far), where g = slope (1, x_t)."""
        places, values = self._row(self._round)
        adapt(self.w, self._squared, places, slope, values, step)

    def begin_block(self) -> None:
        super().begin_block()
        known: dict[Any, Terms] = self._pool.of_block if self._shares_rows else {}
        if self._splines not in known:
            known[self._splines] = self._read(self._pool.examples(self._block_slots), True)
        self._values, self._places, self._starts = known[self._splines]
        if not len(self.w):
            self.rearrange((), self._pool.n_features)

    def score_at(self, t: int) -> float:
        return self._set_score(t, self._sum(t), self.rounding * self._unit)

    def _sum(self, t: int) -> float:
        places, values = self._row(t)
        return float(inner_at(self.w, places, values))

    def _row(self, t: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the places in w and the values of a round of the block."""
        return row_of(self._values, self._places, self._starts, t, self._most_paired)

    def score(self, X: Rows, averaged: bool = False) -> np.ndarray:
        if not len(self.w):
            return np.zeros(X.shape[0])
        terms, most = self._read(X), self._most_paired
        scores: np.ndarray = (
            compiling.call(_scores, self.w, *terms, most)
            if most
            else sp.csr_array(terms, shape=(X.shape[0], len(self.w))) @ self.w
        )
        return scores

    def bytes_kept(self, size: int, row: float, n_features: int) -> float:
        return float(self.w.nbytes + self._squared.nbytes)

    def _read(self, X: Rows, learn: bool = False) -> Terms:
        """Return rows, without products; with ``learn``, the examples are those of the block."""
        terms = with_ones(X)
        return hats(terms) if self._splines else terms

    def rearrange(self, features: Sequence[int], n_features: int) -> None:
        self._widen(n_weights(n_features, self._splines, self._pairs))

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Set the state; models of earlier versions have no products, or those of 24 features as splines, or of 64."""
        pairs = state.get("_pairs", 0)
        self.__dict__.update(state | {"_pairs": (24 if state["_splines"] else 64) if pairs is True else int(pairs)})

    def _widen(self, n: int) -> None:
        """Let f have n weights; the new ones are 0."""
        self.w = np.append(self.w, np.zeros(n))[:n]
        self._squared = np.append(self._squared, np.full(n, self._least_squared))[:n]


def _scores(w: np.ndarray, values: np.ndarray, places: np.ndarray, starts: np.ndarray, most: int) -> np.ndarray:
    scores = np.zeros(len(starts) - 1)
    for t in range(len(scores)):
        scores[t] = inner_at(w, *row_of(values, places, starts, t, most))
    return scores


def play_together(learner: Any, forms: Sequence[Linear], Y: np.ndarray, positive: bool) -> bool:
    """Begin a block and play it for functions of the same rows, one per row of labels; False if that is not compiled.

    ``learner`` is that of any of them (see `Learner.alike_but_for_labels`). If ``positive``, a score of 0 predicts +1.
    """
    if not compiling.takes(learner):
        return False
    for f in forms:
        f.begin_block()
    one, b = forms[0], Y.shape[1]
    w, squared = (np.stack([getattr(f, name) for f in forms], axis=1) for name in ("w", "_squared"))
    scores, wrong = np.zeros((b, len(forms))), np.zeros(len(forms), dtype=np.intp)
    rows = one._values, one._places, one._starts, one._most_paired
    found = learner, *rows, Y, w, squared, scores, wrong, one.rounding * one._unit, positive
    if not (play := compiling.compiled(_play_together, *found)):
        return False
    play()
    for c, f in enumerate(forms):
        f.w[:], f._squared[:], f.scores[:], f.acted[:] = w[:, c], squared[:, c], scores[:, c], True
        f._round, f.updates, f.mistakes = b - 1, f.updates + b, f.mistakes + int(wrong[c])
    return True


def _play_together(
    learner: Any,
    values: np.ndarray,
    places: np.ndarray,
    starts: np.ndarray,
    most: int,
    Y: np.ndarray,
    w: np.ndarray,
    squared: np.ndarray,
    scores: np.ndarray,
    wrong: np.ndarray,
    least: float,
    positive: bool,
) -> None:
    n, step, adapts, slopes = len(wrong), learner.step, learner.adapts, np.zeros(len(wrong))
    for t in range(len(starts) - 1):
        row, x = row_of(values, places, starts, t, most)
        for i in range(len(row)):
            for c in range(n):
                scores[t, c] += w[row[i], c] * x[i]
        for c in range(n):
            if abs(scores[t, c]) <= least:
                scores[t, c] = 0.0
            y, score = Y[c, t], scores[t, c]
            wrong[c] += y * score < 0 or (score == 0 and (y < 0 or not positive))
            slopes[c] = learner.slope(y, score)
        for i in range(len(row)):
            at, value = row[i], x[i]
            for c in range(n):
                if adapts:
                    g = slopes[c] * value
                    squared[at, c] += g * g
                    w[at, c] += step * g / np.sqrt(max(squared[at, c], LEAST_SUM))
                else:
                    w[at, c] += step * slopes[c] * value


class StandardisedLinear(Linear):
    """As `Linear`, with inputs standardised by the rows before (`Standardised`)."""

    _shares_rows = False
    _scale: Standardised | None = None

    def _read(self, X: Rows, learn: bool = False) -> Terms:
        if self._scale is None:
            self._scale = Standardised(X.shape[1])
        return super()._read(self._scale.scaled(as_held(X), learn))

    def bytes_kept(self, size: int, row: float, n_features: int) -> float:
        # Of each feature: mean, squares, values stored, and the one value.
        return super().bytes_kept(size, row, n_features) + 32.0 * n_features

    def rearrange(self, features: Sequence[int], n_features: int) -> None:
        super().rearrange(features, n_features)
        if self._scale is not None:
            self._scale.rearrange(features, n_features)


def hats(terms: Terms) -> Terms:
    """Return rows, as `with_ones` does, of hat functions: for each feature 17, one per knot, 1 there and 0 at others.

    Between two knots, theirs add up to 1; beyond the last ones, they stay as they are there. The function of the knot 0
    is left out, so that zeros remain zeros.
    """
    found: Terms = compiling.call(_hats, *terms, interpreted=_hats_at_once)
    return found


def _hats(values: np.ndarray, columns: np.ndarray, starts: np.ndarray) -> Terms:
    n, heights, places = 0, np.empty(2 * len(values)), np.empty(2 * len(values), columns.dtype)
    ends = np.zeros(len(starts), starts.dtype)
    for t in range(len(starts) - 1):
        heights[n], places[n] = 1.0, 0
        n += 1
        for k in range(starts[t] + 1, starts[t + 1]):
            x = min(max(values[k], KNOTS[0]), KNOTS[-1])
            left = min(np.searchsorted(KNOTS, x, side="right"), len(KNOTS) - 1) - 1
            share = (x - KNOTS[left]) / (KNOTS[left + 1] - KNOTS[left])
            for knot, height in ((left, 1 - share), (left + 1, share)):
                if KNOTS[knot] != 0 and height >= LEAST_HEIGHT:
                    heights[n], places[n] = height, 1 + (columns[k] - 1) * len(KNOTS) + knot
                    n += 1
        ends[t + 1] = n
    return heights[:n], places[:n], ends


def _hats_at_once(values: np.ndarray, columns: np.ndarray, starts: np.ndarray) -> Terms:
    x, ones = np.clip(values, KNOTS[0], KNOTS[-1]), starts[:-1]
    left = np.clip(np.searchsorted(KNOTS, x, side="right") - 1, 0, len(KNOTS) - 2)
    share = (x - KNOTS[left]) / (KNOTS[left + 1] - KNOTS[left])
    knots, heights = np.stack((left, left + 1), axis=1), np.stack((1 - share, share), axis=1)
    places = 1 + (columns[:, None] - 1) * len(KNOTS) + knots
    stays = (KNOTS[knots] != 0) & (heights >= LEAST_HEIGHT)
    heights[ones, 0], places[ones, 0], stays[ones] = 1.0, 0, (True, False)
    return heights[stays], places[stays], np.concatenate(([0], np.cumsum(stays)))[2 * starts]


def row_of(
    values: np.ndarray, places: np.ndarray, starts: np.ndarray, t: int, most: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the places in w and the values of a row; if ``most``, with the `products` of places up to that."""
    row, x = places[starts[t] : starts[t + 1]], values[starts[t] : starts[t + 1]]
    return products(row, x, most) if most else (row, x)


def _n_inputs(n_features: int, splines: bool) -> int:
    """Return how many inputs so many features make: with splines, a function for each knot."""
    return n_features * (len(KNOTS) if splines else 1)


def n_weights(n_features: int, splines: bool, pairs: int) -> int:
    """Return how many weights a function of so many features has."""
    n, most = (_n_inputs(m, splines) for m in (n_features, min(n_features, pairs)))
    return (most + 1) * (most + 2) // 2 + n - most


def with_ones(X: Rows) -> Terms:
    """Return the values of rows, their columns and the starts of rows, where every row begins with a 1 in column 0."""
    found = floats(X)
    if isinstance(found, np.ndarray):
        n, d = found.shape
        values = np.column_stack((np.ones(n), found))
        return values.ravel(), np.tile(np.arange(d + 1), n), np.arange(0, n * (d + 1) + 1, d + 1)
    starts = found.indptr.astype(np.intp)
    values = np.insert(found.data.astype(np.float64, copy=False), starts[:-1], 1.0)
    return values, np.insert(found.indices.astype(np.intp) + 1, starts[:-1], 0), starts + np.arange(len(starts))


# Where the slopes of splines change, for inputs in standard units.
_HALF = np.array([0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0])
KNOTS = np.concatenate((-_HALF[::-1], [0.0], _HALF))
# A smaller value of a hat function is 0: AdaGrad's first step is of full length however small the value is, so that
# rounding must not decide whether it is taken.
LEAST_HEIGHT = 1e-9
