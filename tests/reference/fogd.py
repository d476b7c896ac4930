"""Lu, Hoi, Wang, Zhao & Liu (2016), Algorithm 1: FOGD."""

import math

import numpy as np

from reference import targets
from reference.explicit import ExplicitTrace, dot, settled, waves
from reference.kernel_expansion import cases, is_mistake, record, stream
from reference.projection import TOLERANCE


def map_of(X, k, features, seed, counting):
    """The function x -> z(x), and its number of features."""
    D = features if counting == "frequencies" else features // 2
    # u_j ~ N(0, I / sigma^2), for k(a, b) = exp(-||a - b||^2 / (2 sigma^2))
    one_over_sigma_squared = -2 * math.log(k(np.zeros(1), np.ones(1)))
    u = np.random.default_rng(seed).normal(0, math.sqrt(one_over_sigma_squared), (D, np.shape(X)[1]))
    return waves(u), 2 * D


def fogd(X, y, k, features, step, seed=0, counting="frequencies", tie="mistake"):
    """Without a tie, for numbers, with the step of Li et al. (2024)."""
    z, n_features = map_of(X, k, features, seed, counting)
    trace = ExplicitTrace()
    w = np.zeros(n_features)
    for _, x_t, y_t in stream(X, y) if tie else targets.stream(X, y):
        z_t = z(x_t)
        score = settled(dot(w, z_t), step)
        update = not tie or 1 - y_t * score > TOLERANCE
        if update:  # on y w.z < 1: w += eta y z; for numbers always: w -= 2 eta (w.z - y) z
            w = w + step * (y_t if tie else 2 * (y_t - score)) * z_t
        record(trace, score, is_mistake(y_t, score, tie) if tie else False, {}, update)
    trace.final = lambda x: dot(w, z(x))
    return trace


CASES = cases(
    fogd, {"features": 20, "step": 0.5}, {"features": 60, "step": 0.05, "seed": 4},
    {"features": 30, "step": 0.9, "seed": 1, "counting": "features"},
)  # fmt: skip
REGRESSION_CASES = cases(
    fogd, {"features": 20, "step": 0.2}, {"features": 60, "step": 0.05, "seed": 4},
    {"features": 30, "step": 0.4, "seed": 1, "counting": "features"}, tie=None,
)  # fmt: skip
