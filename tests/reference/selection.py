"""Rules of selection, line by line and round by round: slow, simple, and independent of the package.

Each yields the weights before every round; losses has one list of 0 and 1 per candidate.
"""

import math

import numpy as np

from reference.kernel_expansion import rounded_value


def hedge(losses):
    N, T = len(losses), len(losses[0])
    total = [0] * N
    for t in range(1, T + 1):
        eta = 2 * math.sqrt(math.log(N) / t)
        yield normed([math.exp(-eta * (L - min(total))) for L in total])
        total = [L + losses[i][t - 1] for i, L in enumerate(total)]


def fixed_share(losses, share):
    N, T = len(losses), len(losses[0])
    # What a sequence that changes with probability `share` costs per round.
    cost = (1 - share) * math.log(1 / (1 - share)) + share * math.log(N / share)
    eta = math.sqrt(8 * cost)
    w = [1 / N] * N
    for t in range(T):
        yield w
        v = normed([w[i] * math.exp(-eta * losses[i][t]) for i in range(N)])
        w = [(1 - share) * v[i] + share / N for i in range(N)]


def racing(losses, confidence):
    N, T = len(losses), len(losses[0])
    live, total = set(range(N)), [0] * N
    for t in range(1, T + 1):
        eta = 2 * math.sqrt(math.log(N) / t)
        least = min(total[i] for i in live)
        yield normed([math.exp(-eta * (total[i] - least)) if i in live else 0 for i in range(N)])
        total = [L + losses[i][t - 1] if i in live else L for i, L in enumerate(total)]
        if t % 64 == 0:
            live -= {i for i in live if any(hopeless(losses[i][:t], losses[j][:t], N, confidence) for j in live)}


def hopeless(mine, other, N, confidence):
    """Whether Hoeffding's inequality tells that a candidate is worse than another."""
    n = sum(a != b for a, b in zip(mine, other, strict=True))
    D = sum(mine) - sum(other)
    return n > 0 and math.sqrt(2 * n * math.log(N**2 * n * (n + 1) / confidence)) < D


def omkc(losses, beta):
    N, T = len(losses), len(losses[0])
    q = [1 / N] * N
    for t in range(T):
        yield q
        q = normed([q[i] * beta if losses[i][t] else q[i] for i in range(N)])


def omkc_dd(X, y, kernels, beta):
    """Algorithm 1 of Hoi et al. (2013): whether each round's vote is wrong, and the Perceptrons' mistakes so far.

    A score of 0, or a vote that is tied, is a mistake.
    """
    q = [1 / len(kernels)] * len(kernels)
    supports = [[] for _ in kernels]  # of each Perceptron: pairs of label and example
    wrong, mistakes = [], [0] * len(kernels)
    for x_t, y_t in zip(X, y, strict=True):
        f = [sum(y_i * k(x_i, x_t) for y_i, x_i in s) for k, s in zip(kernels, supports, strict=True)]
        signs = [(value > 0) - (value < 0) for value in f]
        vote = sum(q_i * sign for q_i, sign in zip(q, signs, strict=True))
        wrong.append(abs(vote) <= 1e-9 or y_t * vote < 0)
        for i, value in enumerate(f):
            if y_t * value <= 0:
                supports[i].append((y_t, x_t))
                q[i] *= beta
                mistakes[i] += 1
        q = normed(q)
    return wrong, mistakes


def omkc_sd(X, y, kernels, beta, smoothing, seed):
    """As `omkc_dd`, with stochastic update; also how often each Perceptron was drawn and updated."""
    random = np.random.default_rng(seed)
    q = [1 / len(kernels)] * len(kernels)
    supports = [{} for _ in kernels]
    wrong, mistakes = [], [0] * len(kernels)
    for t, (x_t, y_t) in enumerate(zip(X, y, strict=True)):
        # p_i = (1 - delta) q_i / max q + delta, m_i ~ Bernoulli(p_i)
        p = [(1 - smoothing) * q_i / max(q) + smoothing for q_i in q]
        drawn = [u < p_i for u, p_i in zip(random.random(len(kernels)).tolist(), p, strict=True)]
        f = [rounded_value(s, X, x_t, k) for k, s in zip(kernels, supports, strict=True)]
        vote = sum(q_i * ((value > 0) - (value < 0)) for q_i, value in zip(q, f, strict=True))
        wrong.append(abs(vote) <= 1e-9 or y_t * vote < 0)
        for i, value in enumerate(f):
            if y_t * value <= 0:
                q[i] *= beta
                mistakes[i] += 1
                if drawn[i]:
                    supports[i][t] = float(y_t)
        q = normed(q)
    return wrong, mistakes, [len(s) for s in supports]


def normed(weights):
    return [weight / sum(weights) for weight in weights]


def best_sequence(losses, share):
    """The cheapest sequence of candidates: its mistakes, plus its code length by the prior of fixed share, over eta.

    All sequences are tried.
    """
    import itertools

    N, T = len(losses), len(losses[0])
    eta = math.sqrt(8 * ((1 - share) * math.log(1 / (1 - share)) + share * math.log(N / share)))
    found = []
    for sequence in itertools.product(range(N), repeat=T):
        prior = 1 / N
        for i, j in itertools.pairwise(sequence):
            prior *= share / N + (1 - share if i == j else 0)
        found.append(sum(losses[i][t] for t, i in enumerate(sequence)) + math.log(1 / prior) / eta)
    return min(found)
