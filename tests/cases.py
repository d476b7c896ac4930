"""Every algorithm with its reference, found by file, and streams to run them on."""

import importlib
import os
import pkgutil

import numpy as np
import reference
from reference import kernel_expansion

from budgetrun import kernels
from budgetrun.engine.hypotheses.absorbing import AbsorbingExpansion
from budgetrun.engine.hypotheses.embedded import Embedded
from budgetrun.engine.hypotheses.features import OfFeatures
from budgetrun.engine.hypotheses.mixture import Mixture
from budgetrun.engine.hypotheses.projected import Spanned

# What learners of two classes, and of several, learn.
TASKS = "binary", "multiclass"


# Whether every case is tried in every way (make test-all), and not only the first case of each learner.
EXHAUSTIVE = os.environ.get("BUDGETRUN_EXHAUSTIVE") == "1"


def firsts(case_ids):
    """Return the first case of each learner, or all cases if tests are exhaustive."""
    if EXHAUSTIVE:
        return list(case_ids)
    found = {}
    for case_id in case_ids:
        found.setdefault(tuple(case_id.split("-")[: 1 + case_id.startswith(("multiclass-", "regression-"))]), case_id)
    return list(found.values())


def one_of_each_form(estimators):
    """Return the names of the first class of each form of hypothesis, or all names if tests are exhaustive.

    Forms with the same base count as one.
    """
    if EXHAUSTIVE:
        return list(estimators)
    found = {next(iter(made._learners.values())).form.__base__: name for name, made in reversed(estimators.items())}
    return list(found.values())


def paired(some, others):
    """Return each of some things with one of the others, in turn, or all pairs if tests are exhaustive."""
    return [(a, b) for i, a in enumerate(some) for j, b in enumerate(others) if EXHAUSTIVE or i % len(others) == j]


def plays(case_id, stream):
    """Return whether a case is tried on a stream: `auto`, whose members are cases of their own, on two only."""
    return EXHAUSTIVE or "auto" not in case_id or stream in ("random", "tied")


def with_blocks(case_ids, streams):
    """Return (case, stream, block size): the first cases of each learner on all streams, with blocks of 1, 7 and 256.

    Each stream has one of the block sizes, in turn, or all if tests are exhaustive. The other cases have blocks of 7,
    on random examples or on ties.
    """
    few, sizes = firsts(case_ids), (1, 7, 256)
    each = [(i, s, sizes[(n + k) % 3]) for n, i in enumerate(few) for k, s in enumerate(streams) if plays(i, s)]
    every = [(i, s, b) for i in few for s in streams for b in sizes]
    others = [(i, s, 7) for i, s in paired([i for i in case_ids if i not in few], ["random", "tied"])]
    return (every if EXHAUSTIVE else each) + others


def all_cases(kind="CASES"):
    """Yield (id, name, variant, parameters, reference function) for whatever stands in tests/reference.

    ``kind`` is CASES for learners of two classes, MULTICLASS_CASES for those of several, REGRESSION_CASES of numbers.
    """
    for info in pkgutil.iter_modules(reference.__path__):
        module = importlib.import_module(f"reference.{info.name}")
        for variant, parameters, function in getattr(module, kind, ()):
            given = "-".join(f"{key}={value}" for key, value in parameters.items())
            name = getattr(module, "NAME", info.name)
            yield f"{name}{f'({variant})' if variant else ''}-{given}", name, variant, parameters, function


# Rounds of whole streams, and of their beginnings, which tests use that are not exhaustive.
WHOLE = {"random": 220, "duplicated": 220, "tied": 200, "far": 160}
SHORT = 100


def random_stream(T=None, d=2, seed=0):
    rng, n = np.random.default_rng(seed), T or WHOLE["random"]
    y = rng.choice([-1, 1], n)
    return beginning(rng.normal(size=(n, d)) + 0.7 * y[:, None], y, T)


def duplicated_stream(T=None, seed=1):
    """Few distinct examples, each seen with both labels."""
    rng, n = np.random.default_rng(seed), T or WHOLE["duplicated"]
    points = rng.normal(size=(12, 3))
    return beginning(points[rng.integers(12, size=n)], rng.choice([-1, 1], n), T)


def tied_stream(T=None, seed=2):
    """Points of a small grid: equal distances, equal products, scores that cancel."""
    rng, n = np.random.default_rng(seed), T or WHOLE["tied"]
    return beginning(rng.integers(-1, 2, size=(n, 2)).astype(float), rng.choice([-1, 1], n), T)


def far_stream(T=None, seed=3):
    """Points so far apart that kernel values underflow towards zero, and scores with them."""
    rng, n = np.random.default_rng(seed), T or WHOLE["far"]
    return beginning(rng.normal(size=(n, 2)) * 12, rng.choice([-1, 1], n), T)


def beginning(X, y, T):
    n = None if T or EXHAUSTIVE else SHORT
    return X[:n], y[:n]


# Forms whose scores are products that a library for linear algebra computes: their last digits are not promised.
OF_PRODUCTS = (Spanned, OfFeatures, Embedded, AbsorbingExpansion, Mixture)
STREAMS = {"random": random_stream, "duplicated": duplicated_stream, "tied": tied_stream, "far": far_stream}
# Kernels, and the same as functions for the references.
KERNELS = {
    "gaussian": (kernels.Gaussian(gamma=0.5), kernel_expansion.gaussian(0.5)),
    "linear": (kernels.Linear(), kernel_expansion.linear()),
    "polynomial": (kernels.Polynomial(degree=2, gamma=0.5, coef0=1.0), kernel_expansion.polynomial(2, 0.5, 1.0)),
}


def coded_stream(name, n_classes=5, seed=4):
    """The same examples with codes of classes: those of the random stream around a centre for each class."""
    X, y = STREAMS[name]()
    codes = np.random.default_rng(seed).integers(n_classes, size=len(y))
    return (X + np.array([[0, 0], [2, 0], [0, 2], [-2, 0], [0, -2]])[codes] if name == "random" else X), codes


def fed(group, X, Y, size):
    """Feed a group a stream in blocks of this many rounds; return all scores."""
    blocks = [group.feed(X[s : s + size], Y[:, s : s + size]) for s in range(0, Y.shape[1], size)]
    return np.concatenate(blocks, axis=-1)
