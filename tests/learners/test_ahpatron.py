"""Ahpatron where f is 0 but for rounding."""

import numpy as np

from budgetrun.learners.ahpatron import Ahpatron


class NearlyZero:
    """A full hypothesis whose squared norm is below 0 by rounding."""

    size, norm_sq = 4, -1e-17
    coef = np.array([0.25, -0.25, 0.25, -0.25])
    kept = None

    def gram(self, order):
        return (np.eye(4) * 1e-3 + 1)[np.ix_(order, order)]

    def keep(self, stays, weights, norm_sq):
        self.kept = stays.tolist(), weights.tolist(), norm_sq


def test_a_norm_below_0_by_rounding_is_0():
    f = NearlyZero()
    Ahpatron(budget=4, epsilon=0.5).halve(f)
    assert f.kept == ([0, 1], [0.0, 0.0], 0.0)
