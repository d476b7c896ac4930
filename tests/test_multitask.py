"""The multitask kernel: several tasks, one support set."""

import pickle
import re
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from cases import paired, random_stream
from faults import raises
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import budgetrun
from budgetrun import kernels
from budgetrun.base.errors import InputError
from budgetrun.engine import Group
from budgetrun.learners import find

K = 3
BASES = {
    "gaussian": ({"gamma": 0.5}, kernels.Gaussian(gamma=0.5)),
    "polynomial": ({"degree": 2, "gamma": 0.5, "coef0": 1.0}, kernels.Polynomial(degree=2, gamma=0.5, coef0=1.0)),
    "linear": ({}, kernels.Linear()),
}


def of(base, b):
    given, alone = BASES[base]
    return kernels.make("multitask", n_tasks=K, b=b, base=base, **given), alone


def tasks_of(X):
    return np.random.default_rng(7).integers(K, size=len(X))


def joined(X, tasks):
    return np.column_stack([X, tasks])


def streams():
    X, y = random_stream()
    return {"floats": (X, y), "integers": (np.rint(4 * X), y), "bits": ((X > 0).astype(float), y)}


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("b", [0.0, 1.0, K, 50.0])
def test_values_are_those_of_the_inverse_matrix(base, b):
    kernel, alone = of(base, b)
    X, _ = random_stream(T=40)
    tasks = tasks_of(X)
    A = (1 + b) * np.eye(K) - b / K
    inverse = np.linalg.inv(A)
    expected = inverse[np.ix_(tasks, tasks)] * alone.between(X, X) / inverse[0, 0]
    np.testing.assert_allclose(kernel.between(joined(X, tasks), joined(X, tasks)), expected, atol=1e-12)
    if b == K:
        # Weights of 2 / (K + 1) and 1 / (K + 1), before they are rescaled.
        assert inverse[0, :2] == pytest.approx([2 / (K + 1), 1 / (K + 1)])


def test_points_have_no_task():
    kernel, _ = of("gaussian", 1.0)
    sentence = r"^the kernel multitask\(.*\) needs the task of an example, and the points of this learner have none"
    for learner in (find("bpa", "simple", "multiclass"), find("bsgd", "removal", "multiclass")):
        raises(InputError, sentence, Group, kernel, [learner(budget=5)], n_classes=3)


@pytest.mark.parametrize("kind", ["floats", "integers", "bits"])
@pytest.mark.parametrize(
    ("learner", "sparse"), paired([("perceptron", None), ("rbp", None), ("forgetron", "self_tuned")], [False, True])
)
def test_learners_are_unchanged_on_it(learner, kind, sparse, reloaded):
    """The same as on explicit values: a Gaussian kernel of x and of points per task with the right distances."""
    b, gamma = 2.0, 0.5
    kernel, alone = of("gaussian", b)
    X, y = streams()[kind]
    tasks = tasks_of(X)
    apart = -np.log(b / (K + b)) / gamma
    explicit = np.column_stack([X, np.sqrt(apart / 2) * np.eye(K)[tasks]])
    given = {} if learner[0] == "perceptron" else {"budget": 12}
    one, other = (Group(k, [find(*learner)(**given)]) for k in (kernel, alone))
    rows = sp.csr_array(joined(X, tasks)) if sparse else joined(X, tasks)
    for start in range(0, len(y), 50):
        part = slice(start, start + 50)
        ours, theirs = one.feed(rows[part], y[None, part]), other.feed(explicit[part], y[None, part])
        np.testing.assert_allclose(ours, theirs, atol=1e-9)
        one = reloaded(one)
    f, g = one.members[0].hypothesis, other.members[0].hypothesis
    assert f.rounds.tolist() == g.rounds.tolist()
    np.testing.assert_allclose(f.score(rows[:40]), g.score(explicit[:40]), atol=1e-9)
    np.testing.assert_array_equal(f.support_set, joined(X, tasks)[f.rounds])


@pytest.mark.parametrize("wrong", [3.0, -1.0, 0.5])
def test_the_last_column_has_to_be_a_task(wrong):
    kernel, _ = of("gaussian", 1.0)
    X, y = random_stream(T=10)
    rows = joined(X, np.full(10, wrong))
    with pytest.raises(InputError, match=rf"the task in the last column.* 0 to 2, got {wrong:g}; do not scale"):
        Group(kernel, [find("perceptron")()]).feed(rows, y[None])


@pytest.mark.parametrize(("given", "sentence"), [
    ({"n_tasks": 1, "gamma": 1.0}, "n_tasks must be at least 2, got 1"),
    ({"n_tasks": 2, "base": "linear", "sigma": 1.0}, "sigma is not a parameter of base: linear; leave sigma out"),
    ({"n_tasks": 2, "gamma": 1.0, "degree": 2}, "degree is not a parameter of base: gaussian; leave degree out"),
    ({"n_tasks": 2}, "the gaussian kernel takes either gamma or sigma (gamma = 1 / (2 sigma^2))"),
])  # fmt: skip
def test_parameters_that_do_not_go_together(given, sentence):
    raises(ValueError, f"^{re.escape(sentence)}$", kernels.make, "multitask", **given)


def test_its_name_says_all():
    assert str(of("gaussian", 0.5)[0]) == "multitask(n_tasks=3, b=0.5, base=gaussian(gamma=0.5))"
    assert of("linear", 0.5)[0] == of("linear", 0.5)[0] != of("linear", 0.6)[0]


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("made", [budgetrun.RBP, budgetrun.CKS, budgetrun.KRLS])
def test_estimators_take_it(made, base, reloaded):
    """The engine's scores, for rows in one call, one by one, and after saving, pickling and cloning."""
    kernel, _ = of(base, 2.0)
    X, y = random_stream(T=120)
    rows = joined(X, tasks_of(X))
    own = {"nu": 0.1} if made is budgetrun.KRLS else {}
    model = made(budget=12, kernel="multitask", n_tasks=K, b=2.0, base=base, **BASES[base][0], **own)
    assert model.get_params()["n_tasks"] == K
    group = Group(kernel, [next(iter(model._learners.values()))(budget=12, **own)])
    group.feed(rows, np.asarray(y, dtype=float if own else int)[None])
    expected = group.members[0].hypothesis.score(rows)
    several = clone(model)
    for x, label in zip(rows, y, strict=True):
        several.learn_one(x, label, **({} if own else {"classes": [-1, 1]}))
    model.fit(rows, y)
    for one in (model, several, pickle.loads(pickle.dumps(model)), reloaded(model)):
        np.testing.assert_array_equal(one._scores(rows), expected)
        np.testing.assert_array_equal(one.support_set_[:, -1], one.support_set_[:, -1].astype(int))


def test_estimators_search_its_parameters():
    X, y = random_stream()
    grid = {"kernel": ["gaussian", "multitask"], "b": [0, 2], "base": ["gaussian", "linear"]}
    search = GridSearchCV(budgetrun.RBP(n_tasks=K), grid, cv=2, error_score="raise").fit(joined(X, tasks_of(X)), y)
    assert len(search.cv_results_["params"]) == 8
    coded = np.digitize(X[:, 0], [-0.5, 0.5])
    model = budgetrun.Perceptron(kernel="multitask", n_tasks=K).fit(joined(X, tasks_of(X)), coded)
    assert model.decision_function(joined(X, tasks_of(X))).shape == (len(X), 3)


@pytest.mark.parametrize(("given", "sentence"), [
    ({}, "n_tasks is required: it must be an integer >= 2, got None"),
    ({"n_tasks": 1}, "n_tasks must be an integer >= 2, got 1"),
    ({"n_tasks": K, "b": -1}, "b must be a number >= 0, got -1"),
    ({"n_tasks": K, "base": "rbf"}, "base must be one of gaussian, polynomial, linear, got 'rbf'"),
    ({"n_tasks": K, "base": ["linear"]}, "base must be one of gaussian, polynomial, linear, got a list"),
    ({"n_tasks": K, "gamma": 0.0}, "gamma must be a number > 0, got 0.0"),
])  # fmt: skip
def test_wrong_arguments_of_estimators(given, sentence):
    X, y = random_stream(T=10)
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        budgetrun.RBP(kernel="multitask", **given).fit(joined(X, tasks_of(X)), y)


def test_learners_that_need_distances_refuse_it():
    X, y = random_stream(T=10)
    why = r"^avm: .* examples of two tasks have no distance, got multitask"
    raises(InputError, why, budgetrun.AVM(kernel="multitask", n_tasks=K).fit, joined(X, tasks_of(X)), y)


def test_models_of_river_refuse_it():
    of_river = pytest.importorskip("budgetrun.river", reason="river is not installed")
    grid = {"kernel": ["gaussian", "multitask"]}
    chosen = of_river.SelectingClassifier(estimators=budgetrun.RBP(n_tasks=K), grid=grid)
    sentence = (
        "kernel 'multitask' needs the task in the last column, and the keys of a dict have no order: "
        "use budgetrun.RBP, which takes arrays"
    )
    for model in (of_river.RBP(kernel="multitask", n_tasks=K), chosen):
        raises(ValueError, f"^{re.escape(sentence)}$", model.learn_one, {"a": 0.5, "task": 1}, True)


def test_a_kernel_of_many_tasks_takes_no_memory_for_them():
    X = np.array([[0.5, 0.0], [0.1, 10**9 - 1], [0.2, 3.0]])
    tracemalloc.start()
    try:
        assert kernels.make("multitask", n_tasks=10**9, gamma=1.0).split(X)[0].tolist() == [0, 10**9 - 1, 3]
        assert tracemalloc.get_traced_memory()[1] < 1e6
    finally:
        tracemalloc.stop()
