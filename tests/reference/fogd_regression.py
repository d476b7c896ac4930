"""FOGD for regression: Lu, Hoi, Wang, Zhao & Liu (2016), with the step of Li et al. (2024)."""

import math

import numpy as np

from reference.explicit import ExplicitTrace, dot, settled
from reference.kernel_expansion import cases
from reference.targets import note, stream

NAME = "fogd"


def fogd(X, y, k, features, step, seed=0, counting="frequencies"):
    D = features if counting == "frequencies" else features // 2
    one_over_sigma_squared = -2 * math.log(k(np.zeros(1), np.ones(1)))
    u = np.random.default_rng(seed).normal(0, math.sqrt(one_over_sigma_squared), (D, np.shape(X)[1]))
    trace = ExplicitTrace()
    w = np.zeros(2 * D)
    for _, x_t, y_t in stream(X, y):
        angles = [dot(u_j, x_t) for u_j in u]
        z_t = np.array([f(a) for f in (math.cos, math.sin) for a in angles]) / math.sqrt(D)
        score = settled(dot(w, z_t), step)
        w = w - 2 * step * (score - y_t) * z_t
        note(trace, score, {}, True)
    return trace


REGRESSION_CASES = cases(
    fogd,
    {"features": 20, "step": 0.2},
    {"features": 60, "step": 0.05, "seed": 4},
    {"features": 30, "step": 0.4, "seed": 1, "counting": "features"},
)
