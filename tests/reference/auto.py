"""The combination of docs/auto.md, from the references of its members."""

import math
from functools import partial

import numpy as np

from reference.ahpatron import ahpatron
from reference.bpa import bpa
from reference.explicit import ExplicitTrace, dot
from reference.kernel_expansion import cases, gaussian, is_mistake, linear, record
from reference.krls import krls
from reference.least_squares import least_squares
from reference.logistic import logistic, slope
from reference.multiclass import best_rival
from reference.norma import of_numbers
from reference.standardised import by_rank, has_long_tails, scaled

BEGINNINGS = [1, 4, 16, 64, 256, 1024]
LEFT = {2048: (9, 7, 4), 8192: (7, 5, 3)}
SEEN, DECIDED = 256, 1024
STEP, STEP_NUMBERS = 0.2, 0.1
SHARE = 0.2


def median_rate(Z):
    """1 / the median of all ||a - b||^2 that are not 0, to three digits; Z has at most 101 rows."""
    distances = [((np.array(a) - b) ** 2).sum() for i, a in enumerate(Z) for b in Z[:i]]
    distances = [s for s in distances if s > 0]
    return float(f"{1 / np.median(distances):.3g}") if distances else 1 / len(Z[0])


def of_classes(budget, d, several=False):
    rates = [0.25, 1, 4, 16] if d <= 24 else [0.25, 1, 4]
    found = [(0, partial(logistic, rates="constant")), *of_inputs(logistic, 0.1, budget, d, 64 if several else 128)]
    found += [(rate, partial(bpa, budget=budget, nearest=True, C=1)) for rate in rates]
    found += [(rate, partial(ahpatron, budget=budget, epsilon=e)) for rate in rates for e in ([0.5] * several + [0.9])]
    return found if several else found + of_squares(budget)


def of_numbers_(budget, d):
    found = of_inputs(least_squares, 0.05, budget, d, 128)
    found += [(rate, partial(of_numbers, budget=budget, step=0.5, regulariser=1e-4)) for rate in [0.25, 1, 4]]
    return found + of_squares(budget)


def of_inputs(linear, step, budget, d, most):
    found, hats = [(0, partial(linear, step=step)) for step in (0.1, 0.5)], 17 * d
    found += [(0, partial(linear, step=step, splines=True)) for step in (0.1, 0.5)]
    if d <= most and (d + 1) * (d + 2) / 2 <= 4 * budget**2:
        found.append((0, partial(linear, step=0.03, pairs=128)))
    if d <= 24 and (hats + 1) * (hats + 2) / 2 <= 4 * budget**2:
        found.append((0, partial(linear, step=step, splines=True, pairs=24)))
    return found


def of_squares(budget):
    return [(rate, partial(krls, budget=max(2, budget // 3), nu=0.01)) for rate in [0.25, 1, 4]]


def near(y):
    most = 45 * np.median(np.abs(y - np.median(y)))
    return np.clip(y, np.median(y) - most, np.median(y) + most) if most > 0 else y


class Inputs:
    """What a change makes of rows, each then standardised by those before it, as far as these count."""

    def __init__(self, X, change=list):
        self.change, rows = change, np.array([change(x) for x in X])
        self.counted, self.Z = rows.copy(), []
        for t, x in enumerate(rows):
            self.Z.append(scaled(x, self.counted[:t], None))
            if t >= DECIDED:
                self.counted[t] = not_farther(x, self.counted[:t])

    def after(self, t, x):
        return scaled(self.change(x), self.counted[:t], None)


def not_farther(x, before):
    """A row, each value at most 30 standard deviations from the mean of those before it, if these differ."""
    centre, deviation = before.mean(axis=0), before.std(axis=0)
    return np.where(deviation > 0, np.clip(x, centre - 30 * deviation, centre + 30 * deviation), x)


class Stack:
    """The rounds of one stream; ``targets`` are the labels for each copy of a member, shape (copies, T)."""

    def __init__(self, X, targets, members, most, numbers=False):
        self.X, self.most, self.numbers, self.targets = np.asarray(X, dtype=float), most, numbers, targets
        # each member with the place of its inputs: 1 for those of a twin
        self.members, self.inputs = [(0, *member) for member in members], [Inputs(self.X)]
        self.step, self.left = STEP_NUMBERS if numbers else STEP, 2 if numbers else min(len(targets) - 1, 1)
        T, d = self.X.shape
        self.centre, self.unit = 0.0, 1.0
        K, C = len(members), len(targets)
        self.live, self.used = [True] * K, [0.0] * K
        # w: one weight per member; v: those of 1 and z, for each class; and their 1 + sums of squared derivatives
        self.w, self.v = np.full(K, 1 / K), np.zeros((C, 1 + d))
        self.w_squared, self.v_squared = np.ones(K), np.ones((C, 1 + d))
        # u: with several classes, what one adds to the weights of the members
        self.u, self.u_squared = np.zeros((C, K)), np.ones((C, K))
        # with class_weight="balanced": 1 + the labels of each class, and what is subtracted from the scores
        self.counts, self.thresholds = np.ones(max(C, 2)), np.zeros(C)
        self.played = np.zeros((K, C, T))

    def begin(self, t):
        """Before round t: if members begin again, compute their scores up to the next time."""
        if t not in BEGINNINGS:
            return
        T = min([n for n in BEGINNINGS if n > t], default=len(self.X))
        if self.numbers:
            y = near(self.targets[0][:t])
            self.centre, self.unit = float(np.mean(y)), (float(np.std(y)) or 1.0)
        if t >= SEEN and len(self.inputs) == 1 and has_long_tails(self.X[:t]):
            self.twins()
        self.inputs[1:] = [Inputs(self.X, by_rank(self.X[:t])) for _ in self.inputs[1:]]
        self.first = [[inputs.after(t, x) for x in self.X[:t]] for inputs in self.inputs]
        for i, c, scores in self.scores([inputs.Z[t:T] for inputs in self.inputs]):
            self.played[i, c, t : len(scores)] = scores[t:]

    def twins(self):
        self.inputs *= 2
        self.members += [(1, factor, member) for _, factor, member in self.members]
        self.live, self.used = self.live * 2, [0.0] * len(self.members)
        self.w, self.w_squared = np.tile(self.w / 2, 2), np.tile(self.w_squared, 2)
        self.u, self.u_squared = np.tile(self.u / 2, 2), np.tile(self.u_squared, 2)
        self.played = np.tile(self.played, (2, 1, 1))

    def scores(self, Z):
        """Each member's place, class, and scores on the rows with which they began, then on others."""
        rates = [median_rate(first) for first in self.first]
        for i, (inputs, factor, member) in enumerate(self.members):
            k, rows = gaussian(factor * rates[inputs]) if factor else linear(), np.array(self.first[inputs] + Z[inputs])
            for c, y in enumerate(self.targets):
                y = np.append(y, 1)[: len(rows)]
                yield (
                    i,
                    c,
                    member(rows, np.clip((y - self.centre) / self.unit, -30, 30) if self.numbers else y, k).scores,
                )

    def final(self, x):
        """f(x) for each class after the last round."""
        T = len(self.X)
        self.begin(T)
        z = self.inputs[0].after(T, x)
        m = np.zeros((len(self.members), len(self.targets)))
        for i, c, scores in self.scores([[*one.Z[len(self.first[0]) :], one.after(T, x)] for one in self.inputs]):
            m[i, c] = scores[-1]
        m = np.clip(m, -self.most, self.most) * np.array(self.live)[:, None]
        found = self.combined(m, [1.0, *(SHARE * np.array(z))])
        return [f - threshold for f, threshold in zip(found, self.thresholds, strict=True)]

    def predict(self, t):
        self.begin(t)
        self.m = np.clip(self.played[:, :, t], -self.most, self.most) * np.array(self.live)[:, None]
        self.z = [1.0, *(SHARE * np.array(self.inputs[0].Z[t]))]
        return self.combined(self.m, self.z)

    def combined(self, m, z):
        return [dot(self.w + SHARE * self.u[c], m[:, c]) + dot(v, z) for c, v in enumerate(self.v)]

    def balance(self, code):
        self.counts[code] += 1
        log = np.log(self.counts)
        self.thresholds = log if len(self.targets) > 1 else log[1:] - log[:1]

    def learn(self, t, slopes):
        """``slopes``: minus the derivatives of the loss."""
        g = self.m @ np.array(slopes)
        self.w_squared = self.w_squared + g * g
        self.w = self.w + self.step * g / np.sqrt(self.w_squared)
        for c, own in enumerate(slopes):
            g = own * np.array(self.z)
            self.v_squared[c] += g * g
            self.v[c] += self.step * g / np.sqrt(self.v_squared[c])
            if len(slopes) > 1:
                g = SHARE * own * self.m[:, c]
                self.u_squared[c] += g * g
                self.u[c] += self.step * g / np.sqrt(self.u_squared[c])
        self.used = [u + float(np.abs(m).sum()) for u, m in zip(self.used, self.m, strict=True)]
        if t + 1 in LEFT:
            self.choose_inputs()
            raced = [
                i
                for i, (_, rate, member) in enumerate(self.members)
                if self.live[i] and (rate or "pairs" in member.keywords)
            ]
            raced.sort(key=lambda i: -self.w[i] * self.used[i])
            for i in raced[LEFT[t + 1][self.left] :]:
                self.live[i] = False

    def choose_inputs(self):
        K = len(self.members) // 2
        if len(self.inputs) == 1 or not (self.live[0] and self.live[K]):
            return
        helped = self.w * self.used
        out = 0 if helped[:K].sum() < helped[K:].sum() else K
        for i in range(out, out + K):
            twin = (i + K) % (2 * K)
            self.live[i] = False
            self.w[twin] += self.w[i]
            self.u[:, twin] += self.u[:, i]


def settled(score, step=STEP):
    return 0.0 if abs(score) <= 1e-9 * step else score


def binary(X, y, k, budget, tie="mistake", class_weight=None):
    trace, stack = ExplicitTrace(), Stack(X, [np.asarray(y)], of_classes(budget, np.shape(X)[1]), 3)
    for t, y_t in enumerate(y):
        f = settled(stack.predict(t)[0])
        score = f - stack.thresholds[0]
        stack.learn(t, [y_t * slope(y_t * f)])
        if class_weight == "balanced":
            stack.balance(int(y_t > 0))
        record(trace, score, is_mistake(y_t, score, tie), {}, True)
    trace.final = lambda x: stack.final(x)[0]
    return trace


def multiclass(X, codes, k, n_classes, budget, class_weight=None):
    trace = ExplicitTrace()
    targets = [np.where(codes == c, 1, -1) for c in range(n_classes)]
    stack = Stack(X, targets, of_classes(budget, np.shape(X)[1], True), 3)
    for t, y_t in enumerate(codes):
        found = stack.predict(t)
        scores = [f - threshold for f, threshold in zip(found, stack.thresholds, strict=True)]
        _, lead = best_rival(scores, y_t, tolerance=1e-9 * STEP)
        shares = [math.exp(f - max(found)) for f in found]
        stack.learn(t, [(c == y_t) - share / math.fsum(shares) for c, share in enumerate(shares)])
        if class_weight == "balanced":
            stack.balance(y_t)
        record(trace, scores, lead <= 0, {}, True)
    trace.final = stack.final
    return trace


def regression(X, y, k, budget):
    stack = Stack(X, [np.asarray(y)], of_numbers_(budget, np.shape(X)[1]), 10, numbers=True)
    trace = ExplicitTrace()
    for t, y_t in enumerate(y):
        score = stack.predict(t)[0]
        score = stack.centre + stack.unit * settled(score, STEP_NUMBERS)
        stack.learn(t, [min(max((y_t - score) / stack.unit, -3), 3)])
        record(trace, score, False, {}, True)
    return trace


CASES = cases(binary, {"budget": 16}, {"budget": 16, "class_weight": "balanced"})
MULTICLASS_CASES = cases(multiclass, {"budget": 16}, {"budget": 16, "class_weight": "balanced"})
REGRESSION_CASES = cases(regression, {"budget": 16})
