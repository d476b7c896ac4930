"""Generated datasets: `GENERATORS` has one entry for each card of format ``generated``.

A change to the examples that a generator draws changes the ``version`` on its card.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from budgetrun.base.errors import InputError
from budgetrun.config.schema import DatasetSpec
from budgetrun.data.cards import Card, card

Drawn = tuple[np.ndarray, np.ndarray]
_AXES = np.array([0.2, 2.0])
N_VECTORS = 21
# Integration steps per unit of time, and the time that is left out at the beginning, of the Mackey-Glass equation.
_STEPS = 10
_TRANSIENT = 500


def _diabetes(rng: np.random.Generator) -> Drawn:
    """Return the diabetes data that scikit-learn contains, as measured; nothing is random."""
    from sklearn.datasets import load_diabetes

    X, y = load_diabetes(return_X_y=True, scaled=False)
    return X, y


def _friedman(rng: np.random.Generator, n_examples: int, noise: float) -> Drawn:
    """Draw uniform points of the unit cube and their labels in Friedman's first regression problem.

    10 sin(pi x1 x2) + 20 (x3 - 1/2)^2 + 10 x4 + 5 x5 + Gaussian noise of standard deviation ``noise``; the last five of
    the ten features have no effect.
    """
    X = rng.random((n_examples, 10))
    y = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4]
    return X, y + noise * rng.standard_normal(n_examples)


def _mackey_glass(
    rng: np.random.Generator, n_examples: int, tau: int, embedding: int, period: int, noise: float
) -> Drawn:
    """Return windows of a chaotic time series, each with the value that follows.

    dx/dt = 0.2 x(t - tau) / (1 + x(t - tau)^10) - 0.1 x(t)

    It is solved by the classical Runge-Kutta method with steps of 0.1; a delayed value between two steps is the mean of
    theirs. It begins with a constant, drawn uniformly from 0.5 to 1.5, and its first 500 units of time are left out. A
    window has ``embedding`` values, ``period`` units of time apart, the latest last; all values have Gaussian noise.
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


def _noisy_gaussians(rng: np.random.Generator, n_per_class: int, spread: str) -> Drawn:
    """Draw points around (1, 1), labelled +1, then as many around (-1, -1), labelled -1: the Forgetron paper's clouds.

    For the two axes, 0.2 and 2 are the ``spread``: 'variance', as published, or 'standard_deviation'.
    """
    deviation = np.sqrt(_AXES) if spread == "variance" else _AXES
    y = np.repeat([1, -1], n_per_class)
    return y[:, None] + rng.standard_normal((2 * n_per_class, 2)) * deviation, y


def _rotating_gaussians(rng: np.random.Generator, n_examples: int, turns: float, deviation: float) -> Drawn:
    """Draw points around m_t, labelled +1, and around -m_t, labelled -1, where m_t, |m_t| = sqrt(2), rotates steadily.

    Half of the points have each label, in random order; ``deviation`` is theirs about the centre, in each direction.
    After half a turn the clouds have changed places.
    """
    y = rng.permutation(np.repeat([1, -1], n_examples // 2))
    angle = np.pi / 4 + 2 * np.pi * turns * np.arange(n_examples) / n_examples
    centres = np.sqrt(2) * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return y[:, None] * centres + deviation * rng.standard_normal((n_examples, 2)), y


def _half_turns(n_examples: int, turns: float, **_: Any) -> dict[int, str]:
    numbers = range(1, math.ceil(2 * turns))
    return {math.ceil(n_examples * k / (2 * turns)): "the clouds have changed places" for k in numbers}


def _unit_vectors(rng: np.random.Generator, n_examples: int) -> Drawn:
    """Return `N_VECTORS` standard unit vectors one after the other, again and again; every other one is labelled -1.

    Nothing is random. A learner that holds fewer of them cannot keep up with their sum.
    """
    which = np.arange(n_examples) % N_VECTORS
    return np.eye(N_VECTORS)[which], 1 - 2 * (which % 2)


def _signs_of_unit_vectors(n_examples: int) -> dict[int, int]:
    positive = int((np.arange(n_examples) % N_VECTORS % 2 == 0).sum())
    return {-1: n_examples - positive, 1: positive}


class Generator(NamedTuple):
    """A generated dataset."""

    draw: Callable[..., Drawn]  # of a random generator and the options: examples, shape (n, d), float64, and labels
    options: dict[str, tuple[Any, ...]]  # for each its type and least value, or the allowed words
    # Of the options: examples with each label; for regression, under one label that stands for all of them.
    counts: Callable[..., dict[Any, int]] = lambda n_examples, **_: {0.0: n_examples}
    changes: Callable[..., dict[int, str]] = lambda **_: {}  # of the options: what has changed after how many rounds


GENERATORS = {
    "diabetes": Generator(_diabetes, {}, lambda: {0.0: 442}),
    "friedman": Generator(_friedman, {"n_examples": (int, 2), "noise": (float, 0)}),
    "mackey_glass": Generator(
        _mackey_glass,
        {"n_examples": (int, 1), "tau": (int, 1), "embedding": (int, 1), "period": (int, 1), "noise": (float, 0)},
    ),
    "noisy_gaussians": Generator(
        _noisy_gaussians,
        {"n_per_class": (int, 1), "spread": ("variance", "standard_deviation")},
        lambda n_per_class, **_: {-1: n_per_class, 1: n_per_class},
    ),
    "rotating_gaussians": Generator(
        _rotating_gaussians,
        {"n_examples": (int, 2), "turns": (float, 0), "deviation": (float, 1e-6)},
        lambda n_examples, **_: {-1: n_examples // 2, 1: n_examples // 2},
        _half_turns,
    ),
    "unit_vectors": Generator(_unit_vectors, {"n_examples": (int, 2)}, _signs_of_unit_vectors),
}


def completed(known: Card, options: dict[str, Any], where: str) -> dict[str, Any]:
    """Return options completed by the defaults of their card; an InputError names an unknown one or a wrong value."""
    for name in options:
        if name not in known.options:
            raise InputError(f"{where}: options: unknown '{name}'; allowed: {' '.join(known.options)}")
    chosen = known.options | options
    for name, allowed in GENERATORS[known.name].options.items():
        if fault := _fault(chosen[name], allowed):
            raise InputError(f"{where}: options.{name}: must be {fault}, got {chosen[name]!r}")
    if known.name == "rotating_gaussians" and chosen["n_examples"] % 2:
        got = f"got {chosen['n_examples']}"
        raise InputError(f"{where}: options.n_examples: must be even, half for each label, {got}")
    return chosen


def _fault(value: Any, allowed: tuple[Any, ...]) -> str | None:
    if isinstance(allowed[0], str):
        return None if value in allowed else f"one of {' '.join(allowed)}"
    kind, least = allowed
    types = int if kind is int else (int, float)
    if isinstance(value, bool) or not isinstance(value, types) or not least <= value < float("inf"):
        return f"{'an integer' if kind is int else 'a number'} >= {least:g}"
    return None


def changes_of(spec: DatasetSpec) -> dict[int, str]:
    """Return what has changed after how many rounds of a stream, if that is known; rounds ascend."""
    if spec.name not in GENERATORS or spec.path is not None or spec.order == "permuted" or spec.balanced:
        return {}
    return GENERATORS[spec.name].changes(**card(spec.name).options | spec.options)
