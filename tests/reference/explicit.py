"""What the transliterations over explicit features share."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from reference.projection import TOLERANCE, ProjectionTrace


@dataclass
class ExplicitTrace(ProjectionTrace):
    """With ``final``, the function x -> f(x) that the last round leaves; alpha alone may not tell it."""

    final: Callable | None = None


def dot(a, b):
    return math.fsum((np.asarray(a) * np.asarray(b)).tolist())


def settled(score, unit):
    """A score that differs from 0 by rounding only is 0; ``unit`` is what an update may change it by."""
    return 0.0 if abs(score) <= TOLERANCE * unit else score
