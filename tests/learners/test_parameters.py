"""Parameters that learners choose themselves, examples of all zeros, and the pages of learners."""

import doctest
import importlib
import math
import re

import numpy as np
import pytest
from faults import raises

from budgetrun.config.problems import ValueType
from budgetrun.engine import run
from budgetrun.kernels import Linear
from budgetrun.learners import BASES, find, parameters, registry
from budgetrun.learners.alma import length, lengths
from budgetrun.learners.hierarchy import label_kernel
from budgetrun.learners.nogd import NOGD
from budgetrun.learners.page import complete
from budgetrun.learners.shrinking_perceptron import Phi
from budgetrun.papers import solvers

# What estimators leave to their variants; all other defaults stand in budgetrun/__init__.pyi (see test_import.py).
OF_VARIANTS = {
    "aomd_ogs": {"hinge": {"U": 20.0, "M": 15}, "square": {"U": 4.0}},
    "bpa": {"nearest": {"keep": False}, "projecting": {"keep": False, "ridge": 0.001}, "simple": {"keep": False}},
    "bsgd": {"projection": {"ridge": 0.001}, "removal": {"first": "paper"}, "lookup_h": {"first": "paper"},
             "lookup_wd": {"first": "paper"}, "merging": {"partners": "all", "first": "paper"}},
    "cks_2003": {"fixed": {"beta": 0.0}},
    "forgetron": {"basic": {"cap": "every_mistake", "logarithm": "natural"}, "greedy": {"test": "per_round"},
                  "simplified": {"step": 0.03125}},
}  # fmt: skip


@pytest.mark.parametrize("name", OF_VARIANTS)
def test_defaults_of_variants(name):
    """Configs leave most of these out, and runs are named by those that they give."""
    for variant, expected in OF_VARIANTS[name].items():
        known = parameters(find(name, variant))
        assert {parameter: known[parameter].default for parameter in expected} == expected


def test_nu_belongs_to_the_insensitive_loss():
    with pytest.raises(ValueError, match=r"nu goes with loss=insensitive only, got nu=0.5 and loss=squared; leave nu"):
        find("norma", task="regression")(nu=0.5)


@pytest.mark.parametrize("task", BASES)
def test_learners_that_draw_have_a_seed_and_at_most_one_variant_is_the_default(task):
    defaults = {
        "aomd_ogs": ["hinge"], "avm": ["hypersphere"], "bpa": ["simple"], "bsgd": ["removal"], "cks_2003": ["fixed"],
        "forgetron": ["self_tuned"],
    }  # fmt: skip
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
        raises(ValueError, re.escape(message), find("projected_alma"), eta=0.1, alpha=alpha, B=B, C=C + 1e-5)


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
    raises(ValueError, f"^{re.escape(message)}$", made, label_kernel, costs, eta=0.1)
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
        raises(ValueError, re.escape(message), label_kernel, text)


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


ALGORITHMS = [learner for task in BASES for variants in registry(task).values() for learner in variants.values()]
ALGORITHMS += solvers.registry().values()


@pytest.mark.parametrize("module", sorted({"budgetrun.base.params", *(cls.__module__ for cls in ALGORITHMS)}))
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
    notes = NOGD.__doc__.split("    Notes\n")[1]
    assert parts[1].partition("    References")[0] == notes.partition("    References")[0]
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
