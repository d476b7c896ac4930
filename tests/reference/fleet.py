"""One memory for many Forgetrons: a learner per key, whose entries share a limit; a policy names the learner that pays.

Entries are pairs (key, row). ``entry`` and ``row`` are their sizes: 1 and 0 count entries, 0 and 1 count rows, which
are stored once; ``row`` may also be a function of x. A round is (row, x, labels): one example, and the label of each
learner that plays it.
"""

import math
from dataclasses import dataclass, field

import numpy as np

from reference.forgetron import Phi_of, psi
from reference.kernel_expansion import Known, first_smallest

KAPPA = 15 / 32


def U_of(b):
    """Eq. (26), for the floor b or another size; at least that of 1."""
    b = max(b, 1)
    return 0.25 * math.sqrt((b + 1) / math.log(b + 1))


@dataclass
class Entry:
    row: int
    x: np.ndarray
    y: int
    born: int  # mistakes of the whole fleet, this one included: the global order
    own: int  # mistakes of the learner, this one included
    round: int
    sigma: float = 1.0


@dataclass
class One:
    """One learner: its entries, the oldest first, and the quantities of Lemma 6."""

    key: object
    number: int  # order of creation
    floor: int
    k: object
    held: list = field(default_factory=list)
    M: int = 0
    Q: float = 0.0
    N: float = math.inf  # fewest own mistakes since the insertion of an entry whose removal shrank; its own included
    M_younger: int = 0  # mistakes that the younger half of its entries would have made alone
    removed: list = field(default_factory=list)  # (||f||, phi) of the removals that shrank

    def value(self, x, entries=None):
        entries = self.held if entries is None else entries
        return math.fsum([e.y * e.sigma * self.k(e.x, x) for e in entries])

    def norm(self):
        return math.sqrt(max(0.0, math.fsum(e.y * e.sigma * self.value(e.x) for e in self.held)))

    def margin(self, e):
        return e.y * self.value(e.x)

    def allowed(self, kappa=KAPPA):
        """A: what Q may be, counted with the entries that are held now."""
        return kappa * (self.M - max(0, len(self.held) - self.floor))

    def slack(self, kappa):
        """What the damage of the next removal may be: one entry fewer is held after it."""
        return kappa * (self.M - max(0, len(self.held) - 1 - self.floor)) - self.Q

    def phi(self, e, kappa):
        """The largest phi in (0, 1] with Psi(phi sigma, phi mu) <= slack."""
        s, mu = self.slack(kappa), self.margin(e)
        a, b = e.sigma**2 - 2 * e.sigma * mu, 2 * e.sigma
        if a + b <= s:
            return 1.0
        return min(1.0, 2 * s / (b + math.sqrt(b * b + 4 * a * s)))

    def price(self, e, kappa):
        """What the removal of ``e`` costs in the bound."""
        phi = self.phi(e, kappa)
        return psi(phi * e.sigma, phi * self.margin(e)) + U_of(self.floor) ** 2 * math.log(1 / phi)

    def shrinking(self, U):
        """The sum of log(1 / Phi) in Lemma 6, for competitors of norm at most U."""
        return math.fsum(math.log(1 / Phi_of(norm, phi, U)) for norm, phi in self.removed)


@dataclass
class Fleet:
    """``floors`` is one number, or one for each key. ``greedy`` removes a harmless entry, if the learner has one."""

    k: object
    limit: float
    policy: object
    floors: object = 0
    entry: float = 1
    row: object = 0
    greedy: bool = False
    seed: int = 0
    kappa: float = KAPPA
    learners: dict = field(default_factory=dict)
    M: int = 0  # mistakes of all
    N: float = math.inf  # as that of a learner, in mistakes of all
    rounds: int = 0
    mistakes: list = field(default_factory=list)  # per round, {key: whether it erred}
    scores: list = field(default_factory=list)
    removals: list = field(default_factory=list)  # (round, key, row, phi)

    def __post_init__(self):
        self.random = np.random.default_rng(self.seed)
        self.greedy = self.greedy or self.policy.greedy

    def learner(self, key):
        if key not in self.learners:
            floor = self.floors[key] if isinstance(self.floors, dict) else self.floors
            self.learners[key] = One(key, len(self.learners), floor, self.k)
        return self.learners[key]

    def holders(self, row):
        return [f for f in self.learners.values() if any(e.row == row for e in f.held)]

    def size(self):
        entries = [e for f in self.learners.values() for e in f.held]
        return self.entry * len(entries) + sum({e.row: self.row_size(e) for e in entries}.values())

    def row_size(self, e):
        return self.row(e.x) if callable(self.row) else self.row

    def payers(self):
        """The learners above their floors, in order of creation."""
        return [f for f in self.learners.values() if len(f.held) > f.floor]

    def freed(self, f, e):
        """The size that the removal of entry ``e`` from ``f`` frees."""
        others = sum(other.row == e.row for g in self.learners.values() for other in g.held) - 1
        return self.entry + self.row_size(e) * (others == 0)

    def play(self, row, x, labels):
        # All predict ...
        x = np.asarray(x, dtype=float)
        scores = {key: self.learner(key).value(x) for key in labels}
        erred = {key: labels[key] * scores[key] <= 0 for key in labels}
        for key in labels:
            self.policy.saw(self, self.learners[key], x, labels[key], scores[key])
        # ... all that erred insert, in the order of the keys as given ...
        for key in labels:
            if erred[key]:
                f = self.learners[key]
                f.M += 1
                self.M += 1
                f.held.append(Entry(row, x, labels[key], self.M, f.M, self.rounds))
        # ... then entries are removed until the limit holds.
        while names := self.policy.names(self):
            for f in names:
                self.remove(f)
        self.rounds += 1
        self.scores.append(scores)
        self.mistakes.append(erred)

    def harmless(self, f):
        """The entry that does least damage, if that is within 15/32, else None."""
        # The entry of this round, the last, stays if there are others.
        old = [e for e in f.held if e.round < self.rounds] or f.held
        damage = [psi(e.sigma, f.margin(e)) for e in old]
        # Rounding must not decide.
        return old[first_smallest(damage)] if min(damage) <= self.kappa + 1e-9 else None

    def remove(self, f):
        assert len(f.held) > f.floor, "nothing is taken from a learner at its floor"
        assert f.slack(self.kappa) >= self.kappa - 1e-9
        r = f.held[0]
        if self.greedy:
            r = self.harmless(f) or r
        phi, mu = f.phi(r, self.kappa), f.margin(r)
        if phi < 1:
            f.removed.append((f.norm(), phi))
            f.N = min(f.N, f.M - r.own + 1)
            self.N = min(self.N, self.M - r.born + 1)
        f.Q += psi(phi * r.sigma, phi * mu)
        for e in f.held:
            e.sigma *= phi
        f.held = [e for e in f.held if e is not r]
        self.removals.append((self.rounds, f.key, r.row, phi))
        assert f.allowed(self.kappa) + 1e-9 >= f.Q, "Q <= A"


class Policy:
    """Names the learners that pay next, each with one entry; none while the memory holds its limit."""

    greedy = False

    def saw(self, fleet, f, x, y, score):
        """Learn from a prediction, before the learner does."""

    def names(self, fleet):
        return self.payers(fleet) if fleet.size() > fleet.limit else []

    def payers(self, fleet):
        # min takes the first of equal ones, the lowest number.
        return [min(fleet.payers(), key=lambda f: self.price(fleet, f))]


class EqualSplit(Policy):
    """No learner holds more than its floor; the floors are the split."""

    def names(self, fleet):
        return fleet.payers()


def split(limit, keys):
    """Equal parts of a limit; the first keys take what is left over."""
    keys = list(keys)
    return {key: limit // len(keys) + (i < limit % len(keys)) for i, key in enumerate(keys)}


class Mistakes(Policy):
    """The learner that holds the largest part of its mistakes: sizes go by the share of mistakes."""

    def price(self, fleet, f):
        return -len(f.held) / f.M


class Oldest(Policy):
    """The owner of the globally oldest entry."""

    def price(self, fleet, f):
        return f.held[0].born


class Random(Policy):
    """The owner of a random entry among those of learners above their floors, who are in order of creation."""

    def payers(self, fleet):
        owners = [f for f in fleet.payers() for _ in f.held]
        return [owners[fleet.random.integers(0, len(owners))]]


class LeastDamage(Policy):
    """The learner whose removal costs least in the bound, per byte that it frees.

    If no removal frees a byte, all holders of the row whose prices sum to least, among the rows that are the oldest
    entry of each holder, and these above their floors; if there is no such row, the learner with the least price.
    """

    def payers(self, fleet):
        price = {f.key: f.price(f.held[0], fleet.kappa) for f in fleet.payers()}
        freed = {f.key: fleet.freed(f, f.held[0]) for f in fleet.payers()}
        freeing = [f for f in fleet.payers() if freed[f.key] > 0]
        if freeing:
            return [min(freeing, key=lambda f: price[f.key] / freed[f.key])]
        rows = {}
        for f in fleet.payers():
            holders = fleet.holders(f.held[0].row)
            if all(g.key in price and g.held[0].row == f.held[0].row for g in holders):
                rows[f.held[0].row] = holders
        if rows:
            return min(rows.values(), key=lambda holders: math.fsum(price[g.key] for g in holders))
        return [min(fleet.payers(), key=lambda f: price[f.key])]


class SumBound(Policy):
    """Of the oldest entries that may go without shrinking, the one of least damage; else the globally oldest one."""

    otherwise = Oldest()

    def payers(self, fleet):
        harmless = [f for f in fleet.payers() if f.phi(f.held[0], fleet.kappa) == 1]
        if harmless:
            return [min(harmless, key=lambda f: psi(f.held[0].sigma, f.margin(f.held[0])))]
        return self.otherwise.payers(fleet)


class Harmless(Policy):
    """Of all entries that do no harm, the one of least damage; else the globally oldest one."""

    greedy = True

    def payers(self, fleet):
        found = [(f, fleet.harmless(f)) for f in fleet.payers()]
        if any(e for _, e in found):
            return [min(found, key=lambda one: psi(one[1].sigma, one[0].margin(one[1])) if one[1] else math.inf)[0]]
        return Oldest().payers(fleet)


class LargestRoot(Policy):
    """The learner that holds most for the square root of its mistakes."""

    def price(self, fleet, f):
        return -len(f.held) / math.sqrt(f.M)


class SquareRoot(SumBound):
    """As before; else the learner that holds most for the square root of its mistakes."""

    otherwise = LargestRoot()


class LargestRootOfYounger(Policy):
    """The learner that holds most for the square root of the mistakes of its younger half."""

    def price(self, fleet, f):
        return -len(f.held) / math.sqrt(f.M_younger)


class YoungerHalf(SumBound):
    """As `SquareRoot`, with the mistakes that the younger half of the entries would have made alone."""

    otherwise = LargestRootOfYounger()

    def saw(self, fleet, f, x, y, score):
        f.M_younger += y * f.value(x, f.held[len(f.held) // 2 :]) <= 0


POLICIES = {
    "equal_split": EqualSplit, "mistakes": Mistakes, "oldest": Oldest, "random": Random, "least_damage": LeastDamage,
    "sum_bound": SumBound, "harmless": Harmless, "square_root": SquareRoot, "younger_half": YoungerHalf,
}  # fmt: skip


def fleet(rounds, k, limit, policy, **options):
    """Play rounds (row, x, {key: label}) in order."""
    made = Fleet(k, limit, POLICIES[policy](), **options)
    for row, x, labels in rounds:
        made.play(row, x, labels)
    return made


def events(keys, X, y):
    """The rounds of a stream in which each example belongs to one learner, and to no other."""
    return [(t, X[t], {key: int(y[t])}) for t, key in enumerate(keys)]


def labellings(X, Y):
    """The rounds of a stream with one label for each of several learners, (T, m)."""
    return [(t, X[t], {j: int(y) for j, y in enumerate(Y[t])}) for t in range(len(X))]


def multitask(rounds, k, n_tasks, b):
    """The rival: one learner for all tasks. Returns its stream, and w_ij k, with w_ij = 1 if i = j, else b / (K + b).

    Cavallanti, Cesa-Bianchi & Gentile (2010), with one budget. Each row has its task in the last column; the tasks of a
    round play one after another.
    """

    def kernel(a, z):
        return k.k(a[..., :-1], z[:-1]) * np.where(a[..., -1] == z[-1], 1.0, b / (n_tasks + b))

    played = [(np.append(x, j), y) for _, x, labels in rounds for j, y in labels.items()]
    return np.array([x for x, _ in played]), np.array([y for _, y in played]), Known(kernel)
