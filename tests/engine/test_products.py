"""Inner products of dense floats by BLAS: the same numbers but for rounding."""

import numpy as np
import pytest
from cases import random_stream
from faults import raises
from sweeping import config

import budgetrun
from budgetrun import kernels
from budgetrun.base.errors import InputError, OutOfRangeError
from budgetrun.config import load
from budgetrun.engine import Group, run
from budgetrun.kernels import compiling
from budgetrun.learners import find
from budgetrun.runner.plan import make_plan

KERNELS = {
    "gaussian": lambda **given: kernels.Gaussian(gamma=0.5, **given),
    "polynomial": lambda **given: kernels.Polynomial(degree=3, gamma=0.5, **given),
    "linear": lambda **given: kernels.Linear(**given),
}
# Of several forms of hypotheses.
LEARNERS = {
    "perceptron": {}, "rbp": {"budget": 20, "seed": 1}, "forgetron": {"budget": 20}, "projectron++": {"eta": 0.3},
    "ahpatron": {"budget": 20, "epsilon": 0.6}, "nogd": {"budget": 20, "step": 0.3},
}  # fmt: skip


def wide(T=300, d=40, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.choice([-1, 1], T)
    return (rng.normal(size=(T, d)) + 0.4 * y[:, None]) / np.sqrt(d), y


@pytest.mark.parametrize("name", KERNELS)
def test_kernel_values_agree(name):
    (A, _), (B, _) = wide(), wide(T=90, seed=1)
    ordered, blas = KERNELS[name](), KERNELS[name](products="blas")
    assert str(blas) == str(ordered).removesuffix(")") + (", " if "(" in str(ordered) else "(") + "products=blas)"
    assert blas != ordered
    np.testing.assert_allclose(blas.between(A, B), ordered.between(A, B), rtol=1e-12, atol=1e-13)
    # The others are exact, whatever computes them.
    for whole in (A > 0, np.rint(9 * A)):
        np.testing.assert_array_equal(blas.between(whole, whole[:50]), ordered.between(whole, whole[:50]))


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("name", LEARNERS)
def test_learners_do_the_same(name, kernel):
    X, y = wide()
    both = [KERNELS[kernel](products=products) for products in (None, "blas")]
    ordered, blas = (run(find(name)(**LEARNERS[name]), one, X, y) for one in both)
    assert (blas.mistakes, blas.updates, blas.max_support) == (ordered.mistakes, ordered.updates, ordered.max_support)


@pytest.mark.compiled
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_compiled_or_not_the_bits_are_the_same(dtype, monkeypatch):
    X, y = wide()

    def scores():
        group = Group(KERNELS["gaussian"](products="blas"), [find("rbp")(budget=20, seed=1)], dtype=dtype)
        return [group.feed(X[t : t + 64], y[None, t : t + 64]).tobytes() for t in range(0, len(y), 64)]

    compiled = scores()
    monkeypatch.setattr(compiling, "on", lambda: False)
    assert scores() == compiled


def test_distances_that_would_be_rounding_errors_are_refused():
    X, y = random_stream()
    kernel = KERNELS["gaussian"](products="blas")
    said = r"too large for the gaussian\(.*\) kernel: scale .* leave out products: blas"
    raises(OutOfRangeError, said, Group(kernel, [find("perceptron")()]).feed, X + 1e6, y[None])
    assert run(find("perceptron")(), KERNELS["gaussian"](), X + 1e6, y).mistakes > 0


def test_in_an_estimator():
    X, y = wide()
    ordered = budgetrun.RBP(budget=20, gamma=0.5).fit(X, y)
    for calls in (300, 1, 7):
        blas = budgetrun.RBP(budget=20, gamma=0.5, products="blas")
        for t in range(0, len(y), calls):
            blas.partial_fit(X[t : t + calls], y[t : t + calls], classes=[-1, 1])
        np.testing.assert_allclose(blas.decision_function(X), ordered.decision_function(X), rtol=1e-9, atol=1e-12)
        assert blas.mistakes_ == ordered.mistakes_
    said = "products must be one of None, blas, got 'fast'"
    raises(ValueError, said, budgetrun.RBP(budget=20, products="fast").fit, X, y)
    model = budgetrun.RBP(budget=20, products="blas", kernel="multitask", n_tasks=2)
    said = "products is not a parameter of the multitask kernel: leave it out, got 'blas'"
    raises(ValueError, said, model.fit, np.abs(np.rint(X)), y)


def test_in_a_config(tmp_path):
    def ids(**more):
        plan = make_plan(load(config(tmp_path, kernel={"name": "gaussian", "gamma": 0.5} | more)))
        return {run.run_id for run in plan.runs}

    assert not ids() & ids(products="blas")
    raises(InputError, r"kernel\.products: must be .*'blas'.*, got 'fast'", ids, products="fast")
