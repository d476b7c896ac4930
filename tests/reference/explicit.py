"""Functions that the references with explicit features share."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from reference.projection import TOLERANCE, ProjectionTrace


@dataclass
class ExplicitTrace(ProjectionTrace):
    """With ``final``, the function x -> f(x) after the last round, which alpha may not determine."""

    final: Callable | None = None


def dot(a, b):
    return math.fsum((np.asarray(a) * np.asarray(b)).tolist())


def waves(U):
    """The function x -> z(x) = [cos Ux, sin Ux] / sqrt(D), for D frequencies, the rows of U."""

    def z(x):
        angles = [dot(u_j, x) for u_j in U]
        return np.array([f(a) for f in (math.cos, math.sin) for a in angles]) / math.sqrt(len(U))

    return z


def settled(score, unit):
    """The score, or 0 if it differs from 0 only by rounding; ``unit`` is the size of an update."""
    return 0.0 if abs(score) <= TOLERANCE * unit else score
