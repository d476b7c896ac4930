"""The fast MPU goes through states of the transliterated Algorithm 1, update for update."""

import numpy as np
import pytest
import scipy.sparse as sp
from reference import mpu as reference
from solvers.conftest import grid

from budgetrun.kernels import Linear, Polynomial
from budgetrun.solvers.loops.perceptron import updates
from budgetrun.solvers.mpu import MarginPerceptronWithUnlearning as MPU
from budgetrun.solvers.mpu import _Run

# The linear kernel again, but in the kernel form.
AS_GRAM = Polynomial(degree=1, gamma=1.0, coef0=0.0)
X, Y = grid()
ONES = (X > 0).astype(float)
FORMS = {
    "dense": (X, Linear()),
    "sparse": (sp.csr_array(X), Linear()),
    "binary": (sp.csr_array(ONES), Linear()),
    "gram": (X, AS_GRAM),
}


def dense(examples):
    return examples if isinstance(examples, np.ndarray) else examples.toarray()


@pytest.mark.parametrize("given", [{}, {"delta_b": 2.0, "C": 0.5}, {"C": 0.25, "seed": 3}], ids=str)
@pytest.mark.parametrize("form", FORMS)
def test_every_state_is_one_of_algorithm_1(form, given):
    examples, kernel = FORMS[form]
    solver = MPU(**({"delta": 0.3, "accuracy": 1e-9} | given))
    fast = _Run(solver, examples, Y, kernel)
    ys = reference.signed(dense(examples), Y)
    slow = reference.State(ys)
    # C is a power of two, and so all three are whole numbers.
    limit, b, delta_b = fast.limit, int(fast.b), int(fast.upper - fast.b)
    presented = fast._present
    sizes = []

    def both(order, near, moved):
        order = order.copy()
        changed = {k: reference.present_repeatedly(slow, ys, k, limit, b, delta_b) for k in order.tolist()}
        told, n_near, n_moved = presented(order, near, moved)
        assert told == any(changed.values())
        assert fast.counts.tolist() == slow.I
        assert (fast.total, fast.steps, fast.unlearned) == (slow.t_plus - slow.t_minus, slow.t, slow.t_minus)
        if form != "gram":
            assert fast.a.tolist() == slow.a
        if near is not moved:
            if len(order) < len(Y):
                assert moved[:n_moved].tolist() == [k for k in order if changed[k] and slow.I[k] > 0]
            else:
                assert {k for k in order if slow.I[k] > 0} <= set(near[:n_near].tolist())
        sizes.append(len(order))
        return told, n_near, n_moved

    fast._present = both
    for updated in fast.epochs():
        if slow.t_plus > slow.t_minus and fast.bound() > 0:
            assert fast.gap() == pytest.approx(float(reference.delta_aft(slow, ys, limit, b)), rel=1e-9, abs=1e-12)
        if not updated:
            break
    assert not updated
    # Passes over all the data are not all there is.
    assert len(set(sizes)) > 2
    assert fast.unlearned > 0
    # Theorem 2.
    R_squared = max(reference.dot(row, row) for row in ys)
    assert fast.steps <= len(Y) * limit * (2 * b + delta_b) / (delta_b - R_squared)
    assert fast.gap() < 2 * delta_b / b / (1 - delta_b / b)


def test_algorithm_1_itself_ends_where_the_fast_one_does():
    R_squared = int((X**2).sum(axis=1).max())
    limit = int(3 * R_squared * 2.3 / 0.3) + 1
    state = reference.mpu(X, Y, limit, limit, 3 * R_squared)
    ys = reference.signed(X, Y)
    slow = float(reference.objective(state.a, ys, limit, limit))
    fast = MPU(delta=0.3, accuracy=1e-6).solve(X, Y, Linear())
    best = MPU(accuracy=1e-8).solve(X, Y, Linear())
    assert best.lower_bound <= slow <= 1.3 * best.objective
    assert best.lower_bound <= fast.objective <= 1.3 * best.objective
    assert float(reference.delta_aft(state, ys, limit, limit)) >= slow / best.objective - 1


def test_multiple_updates_are_all_due():
    rng = np.random.default_rng(0)
    for square in [*rng.random(300) * 10, 0.1, 1 / 3, 1.0]:
        for times in (0, 1, 2, 3, 7, 1e3, 1e9, rng.random() * 50):
            distance = times * square
            n = updates(distance, square, 10**6)
            assert 1 <= n <= 10**6
            assert n == 1 or (n - 1) * square <= distance
            assert n == 10**6 or n * square > distance * (1 - 1e-15)
    assert updates(0.0, 0.0, 7) == 7
    assert updates(5.0, 0.0, 7) == 7
    assert updates(1e300, 1e-10, 2**62) == 2**62
