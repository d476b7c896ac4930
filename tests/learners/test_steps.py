"""Steps that several learners take."""

import numpy as np

from budgetrun.learners.steps import with_norm


def test_a_square_norm_below_0_by_rounding_is_0():
    # Two examples that are nearly one, with opposite weights.
    K = np.array([[1.0, 1.0], [1.0, 1.0 - 2e-16]])
    weights = np.array([1.0, -1.0])
    assert weights @ K @ weights < 0
    kept, norm_sq = with_norm(weights, K, 0.5)
    assert (kept == weights).all()
    assert norm_sq == 0
