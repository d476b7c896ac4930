"""Stacks: members on standardised inputs, with kernels of several widths, and a linear function of their scores."""

import copy
import math
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp

from budgetrun.base.problem import problem_of
from budgetrun.engine import group, play
from budgetrun.engine.hypotheses.base import Hypothesis
from budgetrun.engine.hypotheses.linear import Linear, with_ones
from budgetrun.engine.hypotheses.multiclass import rival_of
from budgetrun.engine.play import Options
from budgetrun.engine.pool import Pool
from budgetrun.engine.standardised import Guarded, NormalScores, Standardised
from budgetrun.kernels import Gaussian, Kernel, Rows
from budgetrun.kernels import Linear as LinearKernel
from budgetrun.kernels.kinds import Matrix, as_held
from budgetrun.kernels.sums import adapt, inner_at, put, sum_of_rows, taken
from budgetrun.kernels.width import median_gamma

# After so many rounds, the members begin again with the width of the rows so far, and play these first.
BEGINNINGS = (1, 4, 16, 64, 256, 1024)
# After so many rounds, so many members with kernels or products are left: of two classes, of several, and of numbers.
LEFT = {2048: (9, 7, 4), 8192: (7, 5, 3)}
# From so many first rows on, it is seen whether a column has long tails.
SEEN = 256
# What inputs, and scores that have a weight for each class, are multiplied with: the members' weights learn first.
SHARE = 0.2
# The scores of members are cut to [-LARGEST, LARGEST], those of regression, in standard units, to ten.
LARGEST, LARGEST_NUMBER = 3.0, 10.0
# In deviations from the mean: labels that are numbers are cut to this for members.
LARGEST_LABEL = 30.0


class Part(NamedTuple):
    """A member of a stack: a learner, and the rate of its kernel times the median of ||a - b||^2; 0 for no kernel."""

    rate: float
    learner: Any

    @property
    def raced(self) -> bool:
        """Whether it is dropped if others help more: it has a kernel, or products of inputs."""
        return bool(self.rate or self.learner.pairs)


class Stacked(Linear):
    """f(x) = centre + unit (w_0 + sum over k of w_k m_k(x) + v . z): m_k are scores of members, and z the inputs.

    The inputs are standardised by the rows before (`Standardised`), and a fifth of that in the sum. Each member plays
    every round on them, whatever f predicts; its scores are cut to [-3, 3], those of numbers to [-10, 10]. The verbs
    are those of `Linear`, and `balance`.

    Parameters:
    unit : float, > 0
        The scale of changes of the score: the learner's step.

    Attributes:
    w : ndarray of float64, shape (1 + n_members + d,)
        The weights: w_0, those of the members, which begin as 1 / n_members, and v.
    centre, unit : float
        Mean and deviation of the labels that the members know (see `_near`), if they are numbers; otherwise 0 and 1.
    threshold : float, or ndarray of shape (n_classes,)
        Subtracted from f(x): 0 until `balance` is called.
    parts : list of Part
        The members, dropped ones included.

    Notes: After the rounds of `BEGINNINGS`, the members begin again, with kernels whose rates are multiples of 1 / the
    median of ||a - b||^2 over the rows so far, and play these rows first. If then, from 256 rounds on, a column of
    dense rows has long tails, each member gets a twin, which has inputs by rank (`NormalScores`) and half of its
    weight. After the rounds of `LEFT`, those with kernels or products that have helped least are dropped: those whose
    w_k times the sum of |m_k| is smallest. Before that, of all twins those of the inputs that have helped less in sum
    are dropped, and leave their weights to the others.
    """

    form: ClassVar[str] = "stacked"
    in_pool = False
    # The weights of members, and the sums of their squared derivatives.
    _weights: ClassVar[dict[str, str]] = {"w": "_squared"}

    def __init__(self, pool: Pool, unit: float, *shape: int) -> None:
        super().__init__(pool, unit, 1.0, *shape)
        self.centre, self.unit, self.share = 0.0, 1.0, SHARE
        self.threshold: Any = 0.0
        # One more than the labels of each class that `balance` has counted.
        self._counts = np.ones(max([2, *shape]))
        self.parts: list[Part] = []
        # By member: whether it plays on, and the place of its inputs: 1 if they are by rank.
        self._live, self._by_rank = np.zeros(0, dtype=bool), np.zeros(0, dtype=np.intp)
        # By weight: the sum of the absolute values that it was multiplied with, since twins came.
        self._used = np.zeros(0)
        # What standardises inputs; and what does so by rank, if there are such members.
        self._inputs: list[Standardised] = []
        # The places of members among `parts`, and the group that plays them.
        self._groups: list[tuple[list[int], group.Group]] = []
        # The rows so far, and their labels, until the members begin for the last time.
        self._first: list[tuple[Matrix, np.ndarray]] | None = []

    @property
    def current(self) -> Any:
        return self.centre + self.unit * self._sum(self._round)

    def balance(self, code: int) -> None:
        """Count a label, 0 or 1: where f exceeds the threshold, +1 is likelier than it is among all labels."""
        self._counts[code] += 1.0
        self.threshold = math.log(self._counts[1] / self._counts[0])

    @property
    def members(self) -> list[dict[str, Any]]:
        """The members: learner, rate of its kernel (0: none), inputs, weight, whether it is live, seconds per round."""
        seconds = [0.0] * len(self.parts)
        for places, one in self._groups:
            for member, (k, _) in zip(one.members, self._of(places), strict=True):
                seconds[k] += member.seconds / one.rounds
        return [
            part._asdict() | {"by_rank": bool(ranked), "weight": float(w), "live": bool(live), "seconds": seconds[k]}
            for k, (part, ranked, w, live) in enumerate(
                zip(self.parts, self._by_rank, self.w[1:], self._live, strict=False)
            )
        ]

    def begin_block(self) -> None:
        Hypothesis.begin_block(self)
        self._rows = self._pool.examples(self._block_slots)
        self._starts = np.zeros(len(self._block_slots) + 1, dtype=np.intp)

    def end_block(self) -> None:
        self._rows = self._rows[:0]

    def play(self, learner: Any, y: np.ndarray, t: int, options: Options) -> int:
        if t == self.tile_end:
            self._begin_piece(learner, y)
        t = play.run(self, learner, y[: self.tile_end], t, options)
        if t == self.tile_end:
            self._end_piece(learner)
        return t

    def score_at(self, t: int) -> float:
        places, values = self._row(t)
        put(taken(self._used, places) + np.abs(values), places, self._used)
        score = self._sum(t)
        if abs(score) <= self.rounding * self._unit:
            score = 0.0
        score = self.centre + self.unit * score - self.threshold
        self.scores[t] = score
        return score

    def score(self, X: Rows, averaged: bool = False) -> np.ndarray:
        if not self.parts:
            return np.zeros((*self.scores.shape[:-1], X.shape[0]))
        Z = self._scaled(as_held(X), learn=False)
        played = np.zeros((len(self.parts), self._copies, X.shape[0]))
        for places, one in self._groups:
            for member, at in zip(one.members, self._of(places), strict=True):
                if self._live[at[0]]:
                    played[at] = group.score(member, Z[self._by_rank[at[0]]])
        return self._combined(self._cut(played), Z[0])

    def rearrange(self, features: Sequence[int], n_features: int) -> None:
        if not self.parts:
            return
        self._widen(1 + len(self.parts) + n_features)
        for inputs in self._inputs:
            inputs.rearrange(features, n_features)
        for _, one in self._groups:
            one.rearrange(features, n_features)
        self._first = self._first and [(_widened(rows[:, list(features)], n_features), y) for rows, y in self._first]

    def memory(self, size: int, block: int) -> float:
        return 8.0 * 16 * block * size

    def bytes_kept(self, size: int, row: float, n_features: int) -> float:
        # Those of the members are the learner's.
        return 8.0 * 8 * n_features

    def solving(self, size: int) -> float:
        # Some 60 microseconds for a budget of 300.
        return 1e4 * size

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Set the state; what models of earlier versions lack makes them predict as before."""
        self.__dict__.update(self._lacked(state) | state)
        if not isinstance(self._inputs, list):
            self._inputs = [self._inputs]

    def _lacked(self, state: dict[str, Any]) -> dict[str, Any]:
        return {"share": 1.0, "threshold": 0.0, "_counts": np.ones(2), "_by_rank": 0 * state["_live"].astype(int)}

    def _begin_piece(self, learner: Any, y: np.ndarray) -> None:
        """Let the members play the next rounds of the block, whose labels are ``y``."""
        t, rounds = self.tile_end, self._before + self.tile_end
        apart = min((n - rounds for n in (*BEGINNINGS, *LEFT) if n > rounds), default=len(y))
        self.tile_start, self.tile_end = t, min(len(y), t + apart)
        X, labels = self._rows[t : self.tile_end], y[t : self.tile_end]
        if not self.parts:
            self.parts = learner.members(X.shape[1])
            self._live, self._by_rank = np.ones(len(self.parts), dtype=bool), np.zeros(len(self.parts), dtype=np.intp)
            self._inputs = [Guarded(X.shape[1], bits=False)]
            self._widen(1 + len(self.parts) + X.shape[1])
            self.w[1 : 1 + len(self.parts)] = 1 / len(self.parts)
        if self._first is not None:
            self._first.append((X, labels))
        Z = self._scaled(X)
        self._take(self._members_play(Z, self._targets(learner, labels)), Z[0])

    def _end_piece(self, learner: Any) -> None:
        rounds = self._before + self.tile_end
        if rounds in BEGINNINGS:
            self._begin_again(learner)
        if rounds in LEFT:
            self._choose_inputs()
            of_classes = problem_of(learner.task).of_classes
            self._drop(LEFT[rounds][(self._copies > 1) if of_classes else 2])

    def _take(self, played: np.ndarray, Z: Matrix) -> None:
        """Take the scores of the live members, shape (n_live, copies, rounds), and the inputs of the piece."""
        self._values, self._places, starts = self._terms(played, Z)
        self._starts[self.tile_start : self.tile_end + 1] = starts

    def _terms(self, played: np.ndarray, Z: Matrix) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return what w is multiplied with, as `with_ones` does; the columns are places in w."""
        scores, inputs = played[:, 0].T, self.share * Z
        dense = isinstance(inputs, np.ndarray)
        values, columns, starts = with_ones(
            np.hstack((scores, inputs)) if dense else sp.csr_array(sp.hstack((sp.csr_array(scores), inputs)))
        )
        n = 1 + len(self.parts)
        places = np.concatenate(([0], 1 + np.flatnonzero(self._live), np.arange(n, n + Z.shape[1])))
        return values, places[columns], starts

    def _combined(self, played: np.ndarray, Z: Matrix) -> np.ndarray:
        """Return f for members' scores and inputs, as `_take` has them."""
        rows = sp.csr_array(self._terms(played, Z), shape=(Z.shape[0], len(self.w)))
        return self.centre + self.unit * (rows @ self.w) - self.threshold

    @property
    def _copies(self) -> int:
        """The number of copies of each member: one for each class, if there are several."""
        return self.scores.shape[0] if self.scores.ndim > 1 else 1

    def _of(self, places: list[int]) -> Iterator[tuple[int, int]]:
        """Yield the place among the parts and the class of each learner of a group."""
        return ((k, c) for k in places for c in range(self._copies))

    def _targets(self, learner: Any, y: np.ndarray) -> np.ndarray:
        """Return the labels of each copy of a member, shape (copies, rounds)."""
        if self._copies > 1:
            return np.where(y == np.arange(self._copies)[:, None], 1, -1)
        if problem_of(learner.task).of_classes:
            return y[None]
        return np.clip((y - self.centre) / self.unit, -LARGEST_LABEL, LARGEST_LABEL)[None]

    def _scaled(self, X: Rows, learn: bool = True) -> list[Matrix]:
        """Return the inputs of the members: standardised, and by rank if there are such members."""
        return [inputs.scaled(X, learn) for inputs in self._inputs]

    def _members_play(self, Z: list[Matrix], Y: np.ndarray) -> np.ndarray:
        """Let the members play rounds; return the scores of the live ones, shape (n_live, copies, rounds)."""
        played = np.zeros((len(self.parts), self._copies, Y.shape[1]))
        for places, one in self._groups:
            rows = Z[self._by_rank[places[0]]]
            played[places] = one.feed(rows, Y).reshape(len(places), self._copies, -1)
        return self._cut(played)

    def _cut(self, played: np.ndarray) -> np.ndarray:
        most = LARGEST if problem_of(self.parts[0].learner.task).of_classes else LARGEST_NUMBER
        return np.clip(played[self._live], -most, most)

    def _begin_again(self, learner: Any) -> None:
        """Let the members begin with the rows so far."""
        assert self._first is not None
        X, y = (_joined(pieces) for pieces in zip(*self._first, strict=True))
        if not problem_of(learner.task).of_classes:
            near = _near(y)
            self.centre, self.unit = float(near.mean()), float(near.std()) or 1.0
        if len(y) >= SEEN and isinstance(X, np.ndarray):
            if len(self._inputs) == 1 and self._inputs[0].long_tails(X) and learner.twins_fit(X.shape[1]):
                self._double(X)
            elif len(self._inputs) == 2:
                self._inputs[1] = NormalScores(X)
        Z = self._scaled(X, learn=False)
        gammas = [_gamma(rows) for rows in Z]
        self._groups = []
        kinds = [(part.rate, by_rank) for part, by_rank in zip(self.parts, self._by_rank, strict=True)]
        for rate, by_rank in dict.fromkeys(kinds):
            places = [k for k, kind in enumerate(kinds) if kind == (rate, by_rank)]
            kernel: Kernel = Gaussian(gamma=rate * gammas[by_rank]) if rate else LinearKernel()
            learners = [copy.deepcopy(self.parts[k].learner) for k, _ in self._of(places)]
            classes = [c for _, c in self._of(places)]
            self._groups.append((places, group.Group(kernel, learners, classes)))
        self._members_play(Z, self._targets(learner, y))
        self._first = None if len(y) == BEGINNINGS[-1] else [(X, y)]

    def _double(self, X: np.ndarray) -> None:
        """Give each member a twin, with inputs by rank."""
        n = 1 + len(self.parts)
        self._inputs.append(NormalScores(X))
        self.parts *= 2
        self._live, self._by_rank = np.tile(self._live, 2), np.repeat([0, 1], n - 1)
        self._used[:] = 0.0
        for weights in self._weights:
            getattr(self, weights)[..., 1:n] /= 2
        for name in (*self._weights, *self._weights.values(), "_used"):
            each = getattr(self, name)
            setattr(self, name, np.concatenate((each[..., :n], each[..., 1:]), axis=-1))

    def _choose_inputs(self) -> None:
        """If members have twins, drop those on the inputs that have helped less."""
        n = len(self.parts) // 2
        if not (len(self._inputs) == 2 and self._live[[0, n]].all()):
            return
        plain, by_rank = ([*range(first, first + n)] for first in (0, n))
        helped = self._helped
        out, left = (plain, by_rank) if sum(helped[plain]) < sum(helped[by_rank]) else (by_rank, plain)
        for name in self._weights:
            weights = getattr(self, name)[..., 1:]
            weights[..., left] += weights[..., out]
            weights[..., out] = 0.0
        self._remove(out)
        self._inputs = self._inputs[: 1 + (left is by_rank)]

    def _drop(self, n: int) -> None:
        """Drop all members that are raced but the n that have helped most."""
        raced = [k for k in np.argsort(-self._helped, kind="stable") if self._live[k] and self.parts[k].raced]
        self._remove(raced[n:])

    @property
    def _helped(self) -> np.ndarray:
        return (self.w * self._used)[1 : 1 + len(self.parts)]

    def _remove(self, out: list[int]) -> None:
        self._live[out] = False
        for places, one in self._groups:
            one.drop({i for i, (k, _) in enumerate(self._of(places)) if k in out})
        self._groups = [(places, one) for places, one in self._groups if self._live[places].any()]

    def _widen(self, n: int) -> None:
        super()._widen(n)
        self._used = np.append(self._used, np.zeros(n))[:n]


class StackedClasses(Stacked):
    """f_c(x) = sum over k of (w_k + u_ck / 5) m_kc(x) + v_c . (1, z): most of a member's weight is that of all classes.

    The verbs are `adapt_each` and `balance`.

    Attributes:
    w : ndarray of float64, shape (1 + n_members,)
        The weights of the members; the first number is not used.
    u : ndarray of float64, shape (n_classes, 1 + n_members)
        What a class adds to them, which begins as 0.
    v : ndarray of float64, shape (n_classes, 1 + d)
    predicted : ndarray of float64, shape (n_classes,)
        The scores of the current round at prediction time, before thresholds are subtracted.
    """

    form: ClassVar[str] = "stacked_classes"
    _weights: ClassVar[dict[str, str]] = Stacked._weights | {"u": "_u_squared"}

    def __init__(self, pool: Pool, unit: float, n_classes: int) -> None:
        super().__init__(pool, unit, n_classes)
        self.u, self._u_squared, self.v, self._v_squared = (np.zeros((n_classes, 0)) for _ in range(4))
        self.threshold = np.zeros(n_classes)
        # The scores of the live members in the piece, shape (rounds, classes, n_live), and their places in w.
        self._played, self._played_at = np.zeros((0, n_classes, 0)), np.zeros(0, dtype=np.intp)
        self.predicted = np.zeros(n_classes)

    @property
    def current(self) -> np.ndarray:
        return np.array([self._sum_of(c, self._round) for c in range(self.n_classes)])

    @property
    def coef(self) -> np.ndarray:
        return np.zeros((self.n_classes, 0))

    def balance(self, code: int) -> None:
        """Count a label: a class is predicted by how much likelier it is than among all labels."""
        self._counts[code] += 1.0
        self.threshold[code] = math.log(self._counts[code])

    def _begin_round(self) -> None:
        self._moved[:] = 0.0

    def lead_at(self, t: int, y: int, handicaps: np.ndarray) -> tuple[int, float]:
        least = self.rounding * self._unit
        for c in range(self.n_classes):
            self.predicted[c] = self._sum_of(c, t)
            self.scores[c, t] = self.predicted[c] - self.threshold[c]
        rival, lead, _ = rival_of(self.scores[:, t] + handicaps, y, self.scores[y, t], least)
        return rival, 0.0 if abs(lead) <= least else lead

    def adapt_each(self, slopes: np.ndarray, step: float) -> None:
        """Take a step as `adapt` does, where each class has a slope of its own."""
        places, values = self._row(self._round)
        g = np.zeros(len(self._played_at))
        for c in range(self.n_classes):
            own = slopes[c] * self._played[self._round - self.tile_start, c]
            g += own
            adapt(self.u[c], self._u_squared[c], self._played_at, SHARE, own, step)
            adapt(self.v[c], self._v_squared[c], places, slopes[c], values, step)
        adapt(self.w, self._squared, self._played_at, 1.0, g, step)

    def _sum_of(self, c: int, t: int) -> float:
        places, values = self._row(t)
        w, u, at, played, own = self.w, self.u[c], self._played_at, self._played[t - self.tile_start, c], 0.0
        for k in range(len(at)):
            own += (w[at[k]] + SHARE * u[at[k]]) * played[k]
        return float(inner_at(self.v[c], places, values) + own)

    def _take(self, played: np.ndarray, Z: Matrix) -> None:
        self._values, self._places, starts = with_ones(self.share * Z)
        self._starts[self.tile_start : self.tile_end + 1] = starts
        self._played, self._played_at = np.ascontiguousarray(played.T), 1 + np.flatnonzero(self._live)
        sizes = np.abs(self._played).reshape(-1, len(self._played_at))
        sizes[0] += self._used[self._played_at]
        self._used[self._played_at] = sum_of_rows(sizes)

    def _combined(self, played: np.ndarray, Z: Matrix) -> np.ndarray:
        weights = (self.w + SHARE * self.u)[:, 1 + np.flatnonzero(self._live)]
        rows = sp.csr_array(with_ones(self.share * Z), shape=(Z.shape[0], self.v.shape[1]))
        return np.einsum("ck,kct->ct", weights, played) + (rows @ self.v.T).T - self.threshold[:, None]

    def _widen(self, n: int) -> None:
        n_weights = 1 + len(self.parts)
        super()._widen(n_weights)
        for name, width in (("u", n_weights), ("v", n - n_weights + 1)):
            for one, first in ((name, 0.0), (f"_{name}_squared", self._least_squared)):
                more = np.full((self.n_classes, width), first)
                setattr(self, one, np.hstack((getattr(self, one), more))[:, :width].copy())

    def _lacked(self, state: dict[str, Any]) -> dict[str, Any]:
        n, u = state["n_classes"], np.zeros((state["n_classes"], len(state["w"])))
        own = {"u": u, "_u_squared": u + state["_least_squared"], "threshold": np.zeros(n), "_counts": np.ones(n)}
        own["predicted"] = np.zeros(n)
        return super()._lacked(state) | own


def _gamma(Z: Matrix) -> float:
    """Return 1 / the median of ||a - b||^2; if all rows are equal, 1 / their number of features."""
    try:
        return median_gamma(Z)
    except ValueError:
        return 1 / max(1, Z.shape[1])


def _near(y: np.ndarray) -> np.ndarray:
    """Return numbers cut to 45 median absolute deviations from their median, if that is not 0: 30 normal deviations."""
    centre = np.median(y)
    most = LARGEST_LABEL * 1.5 * np.median(np.abs(y - centre))
    return np.clip(y, centre - most, centre + most) if most else y


def _joined(pieces: Sequence[Any]) -> Any:
    """Return rows, dense or sparse, or labels one after the other."""
    return sp.csr_array(sp.vstack(pieces)) if sp.issparse(pieces[0]) else np.concatenate(pieces)


def _widened(rows: Any, n_features: int) -> Any:
    """Return rows with further columns of zeros."""
    if isinstance(rows, np.ndarray):
        return np.pad(rows, ((0, 0), (0, n_features - rows.shape[1])))
    return sp.csr_array((rows.data, rows.indices, rows.indptr), shape=(rows.shape[0], n_features))
