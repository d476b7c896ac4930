"""Functions that the references share: kernel values by definition, and f(x) = sum_i alpha_i k(x_i, x)."""

import math
from dataclasses import dataclass, field
from functools import partial

import numpy as np


class Known:
    """A kernel k of two examples, or of the rows of an array with one; values for short streams are computed once."""

    def __init__(self, k):
        self.k = k
        self.pairs = {}
        self.columns = {}
        self.grams = {}

    def __call__(self, a, b):
        if a.nbytes > 200:
            return float(self.k(a, b))
        key = a.tobytes(), b.tobytes()
        if key not in self.pairs:
            if len(self.pairs) > 50_000:
                self.pairs.clear()
            self.pairs[key] = float(self.k(a, b))
        return self.pairs[key]

    def column(self, X, x):
        """k(x_i, x) for all examples of X, by index."""
        if len(X) > 1000:
            return Lazily(self, X, x)
        if x.nbytes > 64:
            return self.k(X, x).tolist()
        key = X.tobytes(), x.tobytes()
        if key not in self.columns:
            if len(self.columns) > 5_000:
                self.columns.clear()
            self.columns[key] = self.k(X, x).tolist()
        return self.columns[key]

    def gram(self, X):
        """k(x_i, x_j) for all pairs; not to be changed."""
        if X[0].nbytes > 64 or len(X) > 1000:
            return np.array([self.k(X, x) for x in X], dtype=float)
        key = X.tobytes()
        if key not in self.grams:
            self.grams[key] = np.array([self.column(X, x) for x in X]).T.copy()
            self.grams[key].flags.writeable = False
        return self.grams[key]


class Lazily:
    """A column of kernel values, each computed when it is read."""

    def __init__(self, k, X, x):
        self.k, self.X, self.x = k, X, x

    def __getitem__(self, i):
        return self.k(self.X[i], self.x)


# numpy's has other bits on some processors.
exp = np.frompyfunc(math.exp, 1, 1)


def gaussian(gamma):
    return Known(lambda a, b: exp(-gamma * ((a - b) ** 2).sum(-1)))


def polynomial(degree, gamma, coef0):
    return Known(lambda a, b: (gamma * (a * b).sum(-1) + coef0) ** degree)


def linear():
    return Known(lambda a, b: (a * b).sum(-1))


@dataclass
class Trace:
    """What happened, round by round."""

    scores: list = field(default_factory=list)
    mistakes: list = field(default_factory=list)
    active: list = field(default_factory=list)  # I_{t+1}, in order of age
    alpha: list = field(default_factory=list)
    phi: list = field(default_factory=list)
    Q: list = field(default_factory=list)
    Phi: list = field(default_factory=list)


def value(alpha, X, x, k):
    """f(x), for alpha = {i: weight}; an exact sum, so that terms that cancel on paper cancel here."""
    column = k.column(X, x)
    return math.fsum([a * column[i] for i, a in alpha.items()])


def rounded_value(alpha, X, x, k):
    """f(x) for weights that are not exact: a sum whose terms cancel except for rounding is 0."""
    column = k.column(X, x)
    terms = [a * column[i] for i, a in alpha.items()]
    total = math.fsum(terms)
    return 0.0 if abs(total) <= 1e-9 * math.fsum(map(abs, terms)) else total


def is_mistake(y, score, tie):
    if score == 0:
        return True if tie == "mistake" else y < 0
    return y * score < 0


def first_smallest(values, sizes=None):
    """The first index of the smallest value; values that differ only by rounding count as equal.

    ``sizes`` are those of what each value is computed from, 1 by default; two values are equal if they differ by at
    most 1e-9 times the larger of theirs.
    """
    sizes = sizes or [1.0] * len(values)
    j = min(range(len(values)), key=values.__getitem__)
    return next(i for i, v in enumerate(values) if v <= values[j] + 1e-9 * max(sizes[i], sizes[j]))


def draw(random, p):
    """An index with these probabilities, from one uniform number."""
    u, below = random.random(), 0.0
    for i, p_i in enumerate(p):
        below += p_i
        if u < below:
            return i
    return len(p) - 1


def lengths(rounds, X, k):
    """||k(x_i, .)||, what scores of an example are made of."""
    return [math.sqrt(k(X[i], X[i])) for i in rounds]


def record(trace, score, mistake, alpha, update=None, *residual):
    """Note a round; without ``update``, the learner acts on mistakes only. A ``residual`` not needed is None."""
    trace.scores.append(score)
    trace.mistakes.append(mistake)
    trace.active.append(list(alpha))
    # A weight, or one per class.
    trace.alpha.append([list(a) if isinstance(a, list | np.ndarray) else a for a in alpha.values()])
    if update is not None:
        trace.updates.append(update)
    if residual:
        trace.residuals.extend(residual)


def stream(X, y):
    X = np.asarray(X, dtype=float)
    return ((t, X[t], int(y[t])) for t in range(len(y)))


def cases(function, *all_given, variant=None, **fixed):
    """(variant, parameters, reference with them) for each set of parameters; ``fixed`` are those of the reference."""
    return [(variant, given, partial(function, **fixed, **given)) for given in all_given]
