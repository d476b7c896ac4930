"""Parameters that learners choose themselves, examples of all zeros, and the pages of learners."""

import doctest
import importlib
import math
import re

import numpy as np
import pytest

from budgetrun.config.problems import ValueType
from budgetrun.engine import run
from budgetrun.kernels import Linear
from budgetrun.learners import BASES, find, parameters, registry
from budgetrun.learners.alma import length, lengths
from budgetrun.learners.hierarchy import label_kernel
from budgetrun.learners.nogd import NOGD
from budgetrun.learners.page import complete
from budgetrun.learners.raker import FACTORS
from budgetrun.learners.shrinking_perceptron import Phi

# Of learners with defaults, in the order of `registry`.
DEFAULTS = """
adaraker: factors=FACTORS, features=50, step=50.0, regulariser=1e-05, beta=0.5, rate=1.0, frequencies=orthogonal, seed=0
ahpatron: U=None, step=None, eta=0.0005, norm=kept, halving=largest
alma: alpha=0.9, B=None, C=1.4142135623730951
aogd_ald: alpha=0.01, U=2.0, c=1.0, offset=1.0, switch=None
aomd_ogs(hinge): alpha=0.01, U=20.0, c=0.5, M=15
aomd_ogs(square): alpha=0.01, U=4.0, c=0.5, offset=None, switch=None
aons_ogs: alpha=0.01, C=1.0, mu=1.0, order=paper
auto: budget=300, memory=None, class_weight=None
avm(hypercell): max_size=None, loss=hinge, regulariser=0.0001
avm(hypersphere): max_size=None, loss=hinge, regulariser=0.0001
avp: U=None
avp_ogs: alpha=0.01, epsilon=0.6, U=10.0, c=0.5
bogd: regulariser=0.0, clip=1.0, seed=0
bogd++: regulariser=0.0, clip=1.0, seed=0, reading=algorithm
bpa(nearest): C=1.0, keep=False
bpa(projecting): C=1.0, keep=False, ridge=0.001
bpa(simple): C=1.0, keep=False
bsgd(projection): regulariser=0.0001, ridge=0.001
bsgd(removal): regulariser=0.0001, first=paper
bsgd(lookup_h): regulariser=0.0001, first=paper
bsgd(lookup_wd): regulariser=0.0001, first=paper
bsgd(merging): regulariser=0.0001, partners=all, first=paper
cks: candidates=old
cks_2003(fixed): beta=0.0
con_kons: g=5.0, alpha=1.0, beta=1.0, epsilon=0.5, C=1.0, curvature=None, seed=0, reading=algorithm
dualsgd: k=None, features=200, loss=hinge, regulariser=0.0001, seed=0, frequencies=right
fogd: seed=0, counting=frequencies
forgetron(basic): cap=every_mistake, logarithm=natural
forgetron(greedy): test=per_round
forgetron(simplified): step=0.03125, radius=None, regulariser=None
forks: step=0.2, columns=None, sampled=None, rank=None, cycle=100, seed=0, curvature=0.2, alpha=0.01, C=1.0
ioks: factors=FACTORS, horizon=1000, U=15.0, seed=0
logistic: step=0.1, rates=adagrad, inputs=as_given, splines=False
mavp_ogs: alpha=0.01, epsilon=0.9, U=10.0, c=0.1
modified_rbp: step=0.0625, radius=None, seed=0
nogd: rank=None, reading=algorithm
norma: budget=None, regulariser=0.0, rho=1.0
oks: factors=FACTORS, horizon=1000, step=None, seed=0
passive_aggressive: C=1.0
pomdr: first_budget=None, U=25.0, halving=before
projected_alma: alpha=0.0, B=1.0, C=None, threshold=distance, delta=hypothesis
projectron: threshold=distance
projectron++: threshold=distance
pros_n_kons: g=5.0, alpha=1.0, beta=1.0, epsilon=0.5, C=1.0, curvature=None, seed=0, reading=algorithm
raker: factors=FACTORS, features=50, step=0.5, rate=None, regulariser=0.0, frequencies=orthogonal, seed=0
rbp: seed=0
skegd: step=0.2, columns=None, sampled=None, rank=None, cycle=100, seed=0
tighter: beta=0.0, validation=cache
"""


REGRESSION_DEFAULTS = """
adaraker: factors=FACTORS, features=50, step=0.5, regulariser=0.0002, beta=0.5, rate=0.1, frequencies=orthogonal, seed=0
aogd_ald: alpha=0.01, U=2.0, c=1.0, offset=1.0, switch=None
aomd_ogs(square): alpha=0.01, U=4.0, c=0.5, offset=None, switch=None
aons_ogs: alpha=0.01, C=1.0, mu=1.0, order=paper
auto: budget=300, memory=None
fb_krls: regulariser=0.01, label_step=0.0
fogd: seed=0, counting=frequencies
klms: budget=None
knlms: budget=None, step=0.5, coherence=0.95, regulariser=0.01
krls: budget=None, nu=0.0001
least_squares: step=0.1, rates=adagrad, inputs=as_given, splines=False
nogd: rank=None
norma: budget=None, step=0.5, regulariser=0.01, loss=squared, epsilon=0.1, nu=None
qklms: budget=None, step=0.9, epsilon=0.1
raker: factors=FACTORS, features=50, step=0.5, rate=None, regulariser=0.0, frequencies=orthogonal, seed=0
"""


@pytest.mark.parametrize(("task", "defaults"), [("binary", DEFAULTS), ("regression", REGRESSION_DEFAULTS)])
def test_defaults(task, defaults):
    """Configs leave most of these out, and runs are named by those that they give."""
    found = []
    for name, variants in registry(task).items():
        for variant, learner in variants.items():
            known = parameters(learner).values()
            given = ", ".join(f"{p.name}={p.default}" for p in known if p.default is not p.empty)
            if given:
                found.append(f"{name}({variant}): {given}" if variant else f"{name}: {given}")
    assert "\n".join(found).replace(str(FACTORS), "FACTORS") == defaults.strip()


def test_nu_belongs_to_the_insensitive_loss():
    with pytest.raises(ValueError, match=r"nu goes with loss=insensitive only, got nu=0.5 and loss=squared; leave nu"):
        find("norma", task="regression")(nu=0.5)


@pytest.mark.parametrize("task", BASES)
def test_learners_that_draw_have_a_seed_and_at_most_one_variant_is_the_default(task):
    defaults = {
        "aomd_ogs": ["hinge"],
        "avm": ["hypersphere"],
        "bpa": ["simple"],
        "bsgd": ["removal"],
        "cks_2003": ["fixed"],
        "forgetron": ["self_tuned"],
    }
    for name, variants in registry(task).items():
        assert all(learner.draws == ("seed" in parameters(learner)) for learner in variants.values())
        default = [variant for variant, learner in variants.items() if learner.default_variant]
        several = len(variants) > 1 or None not in variants
        assert default == ([] if not several else [*variants] if len(variants) == 1 else defaults[name])


def test_a_formula_has_names_that_are_known():
    found = {text: ValueType(Phi).check(text)[1] for text in ("(m / (m + 1)) ** 0.1", "m / q")}
    allowed = "numbers, + - * / **, sqrt log exp min max round and m, norm"
    assert found == {"(m / (m + 1)) ** 0.1": {}, "m / q": {(): f"'m / q' may use only {allowed}"}}


def test_what_follows_from_other_parameters():
    assert [find("nogd")(budget=B, step=0.1).rank for B in (1, 2, 12, 13, 100)] == [1, 1, 2, 3, 20]
    assert find("alma")(alpha=0.5).B == 2
    for alpha, B in [(0.0, 1.0), (0.5, 3.0), (0.9, 0.2)]:
        C = find("projected_alma")(eta=0.1, alpha=alpha, B=B).C
        assert C**2 + 2 * (1 - alpha) * B * C == pytest.approx(1)
        assert find("projected_alma")(eta=0.1, alpha=alpha, B=B, C=C).C == C
        message = f"with alpha={alpha:g} and B={B:g} leave C out, or use C={C:.9g}"
        with pytest.raises(ValueError, match=re.escape(message)):
            find("projected_alma")(eta=0.1, alpha=alpha, B=B, C=C + 1e-5)


def test_rows_of_zeros_are_divided_by_one():
    squares = [0.0, 0.25, 4.0]
    assert lengths(np.array(squares)).tolist() == [*map(length, squares)] == [1.0, 0.5, 2.0]


@pytest.mark.parametrize(("label_kernel", "costs", "message"), [
    (np.ones((2, 3)), None, "label_kernel must be a symmetric matrix, got one of shape (2, 3)"),
    (np.ones(3), None, "label_kernel must be a symmetric matrix, got one of shape (3,)"),
    ([[1, 2], [0, 1]], None, "label_kernel must be a symmetric matrix, got one of shape (2, 2)"),
    ([[1, 2], [2, 1]], None, "label_kernel must be positive semidefinite: it has a negative eigenvalue"),
    (np.eye(2), np.ones((3, 3)), "costs must be a matrix of shape (2, 2) with no negative entries"),
    (np.eye(2), [[0, -1], [1, 0]], "costs must be a matrix of shape (2, 2) with no negative entries"),
])  # fmt: skip
def test_label_kernels_and_costs_are_checked(label_kernel, costs, message):
    made = find("projectron++", task="multiclass").of
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        made(label_kernel, costs, eta=0.1)
    # Zeros are allowed in both.
    assert made(np.ones((2, 2)), np.zeros((2, 2)), eta=0.1).costs.tolist() == [[0, 0], [0, 0]]


def test_label_kernels_of_hierarchies():
    assert label_kernel("0 2 1").tolist() == np.eye(3).tolist()
    assert label_kernel("1 0").tolist() == np.eye(2).tolist()
    half = 1 / 2
    # Paths of 2, 2 and 1 elements; labels in ascending order.
    assert label_kernel("(b a) 3") == pytest.approx(np.array([[1, 0, 0], [0, 1, half], [0, half, 1]]))
    # Paths of 3, 3, 2 and 1.
    third, sixth = 2 / 3, 1 / math.sqrt(6)
    wanted = [[1, third, sixth, 0], [third, 1, sixth, 0], [sixth, sixth, 1, 0], [0, 0, 0, 1]]
    assert label_kernel("((0 1) 2) 10") == pytest.approx(np.array(wanted))
    for text, message in [("(0", "unmatched '('"), ("0)", "unmatched ')'"), ("0 0", "has 0 twice"), ("(7)", "has 1")]:
        with pytest.raises(ValueError, match=re.escape(message)):
            label_kernel(text)


@pytest.mark.parametrize("variant", ["basic", "self_tuned", "greedy", "simplified"])
def test_a_stream_of_zeros_is_only_mistakes(variant):
    """Then ||f|| = 0, which nothing may be divided by."""
    learner = find("forgetron", variant)(budget=10)
    assert run(learner, Linear(), np.zeros((30, 2)), np.ones(30, dtype=int)).mistakes == 30


@pytest.mark.parametrize("delta", ["hypothesis", "example"])
def test_copies_are_projected_even_if_nothing_may_be_lost(delta):
    X = np.tile(np.random.default_rng(0).normal(size=(3, 5)), (20, 1))
    y = np.random.default_rng(1).choice([-1, 1], 60)
    count = run(find("projected_alma")(eta=0.0, delta=delta), Linear(), X, y)
    assert count.updates > 10
    assert count.max_support == 3


LEARNERS = [learner for task in BASES for variants in registry(task).values() for learner in variants.values()]
MODULES = {"budgetrun.base.params", *(learner.__module__ for learner in LEARNERS)}


@pytest.mark.parametrize("module", sorted(MODULES))
def test_examples(module):
    failed, attempted = doctest.testmod(importlib.import_module(module))
    assert attempted > 0
    assert failed == 0


def test_a_page_has_what_it_leaves_out_from_the_rule_it_builds_on():
    class Twice(NOGD):
        """Two steps.

        Parameters:
        step : float, > 0
            Half of eta.

        References: Nobody (2026).
        """

    parts = Twice.__doc__.split("    Notes\n")
    assert (
        parts[1].partition("    References")[0] == NOGD.__doc__.split("    Notes\n")[1].partition("    References")[0]
    )
    entries = [line.strip() for line in parts[0].splitlines() if " : " in line]
    assert [entry.partition(" : ")[0] for entry in entries] == ["budget", "step", "rank", "reading"]
    assert "step : float, > 0\n        Half of eta.\n    rank" in parts[0]
    assert parts[0].startswith("Two steps.\n\n    Parameters\n    ----------\n    budget : int")
    assert Twice.__doc__.endswith("    References\n    ----------\n    Nobody (2026).\n    ")
    # Examples are a class's own, and completing a page again changes nothing.
    assert "Examples" not in Twice.__doc__
    before = Twice.__doc__
    complete(Twice)
    assert Twice.__doc__ == before


def test_a_class_without_a_page_gets_none():
    class Silent(NOGD):
        pass

    assert Silent.__doc__ is None
