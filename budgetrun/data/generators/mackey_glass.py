"""The Mackey-Glass equation: a chaotic time series, to be predicted from its last values."""

from __future__ import annotations

import numpy as np

OPTIONS = {"n_examples": (int, 1), "tau": (int, 1), "embedding": (int, 1), "period": (int, 1), "noise": (float, 0)}
# Steps of integration per unit of time, and the time that is left out at the beginning.
_STEPS = 10
_TRANSIENT = 500


def draw(
    rng: np.random.Generator, n_examples: int, tau: int, embedding: int, period: int, noise: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return windows of a solution of the equation, each with the value that follows.

    dx/dt = 0.2 x(t - tau) / (1 + x(t - tau)^10) - 0.1 x(t)

    It is solved by the classical Runge-Kutta method with steps of 0.1; a delayed value between two steps is the mean of
    theirs. It begins with a constant, drawn uniformly from 0.5 to 1.5, and its first 500 units of time are left out.

    Parameters
    ----------
    rng : Generator
    n_examples : int, >= 1
    tau : int, >= 1
        The delay.
    embedding : int, >= 1
        The number of values in a window.
    period : int, >= 1
        The time between two values.
    noise : float, >= 0
        The standard deviation of Gaussian noise, which is added to all values.

    Returns
    -------
    X : ndarray, shape (n_examples, embedding), float64, in the order of time; the latest value comes last
    y : ndarray, shape (n_examples,), float64
    """
    delay, every = tau * _STEPS, period * _STEPS
    n_values = n_examples + embedding
    x = [float(rng.uniform(0.5, 1.5))] * (delay + 1)
    for _ in range(_TRANSIENT * _STEPS + (n_values - 1) * every):
        now, before, after = x[-1], x[-1 - delay], x[-delay]
        first, middle, last = _inflow(before), _inflow((before + after) / 2), _inflow(after)
        k1 = first - 0.1 * now
        k2 = middle - 0.1 * (now + 0.05 * k1)
        k3 = middle - 0.1 * (now + 0.05 * k2)
        k4 = last - 0.1 * (now + 0.1 * k3)
        x.append(now + 0.1 / 6 * (k1 + 2 * k2 + 2 * k3 + k4))
    values = np.array(x[delay + _TRANSIENT * _STEPS :: every]) + noise * rng.standard_normal(n_values)
    return np.lib.stride_tricks.sliding_window_view(values[:-1], embedding).copy(), values[embedding:]


def _inflow(x: float) -> float:
    # Products instead of a power, whose last digit depends on the machine: the series is chaotic.
    square = x * x
    fourth = square * square
    return 0.2 * x / (1 + fourth * fourth * square)
