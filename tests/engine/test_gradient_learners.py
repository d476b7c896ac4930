"""Properties of the gradient learners and POMDR that their references do not cover."""

import os
import pickle
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from cases import STREAMS, fed, random_stream
from faults import raises
from reference import nogd
from reference.kernel_expansion import gaussian

from budgetrun.engine import Group
from budgetrun.engine.hypotheses.nystroem import canonical
from budgetrun.kernels import Gaussian
from budgetrun.kernels.features import RandomFeatures
from budgetrun.learners import find

KERNEL = Gaussian(gamma=0.5)


@pytest.mark.parametrize(("name", "given", "sentence"), [
    *((name, {"budget": 5, "step": 2.0, "regulariser": 0.5},
       "step * regulariser must be below 1, because a round multiplies all weights by 1 minus that, got 1; "
       "with step=2 use a regulariser below 0.5") for name in ("bogd++", "bogd", "norma")),
    ("fogd", {"features": 7, "step": 1.0, "counting": "features"},
     "features must be even with counting=features (a cosine and a sine per frequency), got 7"),
    ("nogd", {"budget": 5, "step": 1.0, "rank": 6}, "rank must be at most budget, 5, got 6"),
    ("pomdr", {"budget": 6, "first_budget": 7, "eta": 0.1}, "first_budget must be at most budget, 6, got 7"),
])  # fmt: skip
def test_parameters_that_do_not_go_together(name, given, sentence):
    raises(ValueError, f"^{re.escape(sentence)}$", find(name), **given)


@pytest.mark.parametrize("stream", ["random", "duplicated", "tied"])
@pytest.mark.parametrize("block_size", [1, 7, 256])
def test_nogd_as_the_program_of_2024_reads_it(block_size, stream):
    X, y = STREAMS[stream](T=300)
    group = Group(KERNEL, [find("nogd")(budget=40, step=0.4, reading="program")])
    scores = fed(group, X, y[None], block_size)[0]
    trace = nogd.nogd(X, y, gaussian(KERNEL.gamma), 40, 0.4, reading="program")
    np.testing.assert_allclose(scores, trace.scores, atol=1e-9)
    right = nogd.nogd(X, y, gaussian(KERNEL.gamma), 40, 0.4)
    assert np.abs(np.subtract(trace.scores, right.scores)).max() > 0.1


@pytest.mark.parametrize(("second", "equal"), [(9.5, True), (8.5, False)])
def test_eigenvectors_are_canonical_within_the_rounding_of_the_largest_value(second, equal):
    vectors = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    turned = vectors @ np.array([[0.6, -0.8, 0], [0.8, 0.6, 0], [0, 0, -1]])
    one, other = (canonical(np.array([10.0, second, 1.0]), given, 0.1, 3) for given in (vectors, turned))
    assert np.allclose(one, other) == equal
    for found, given in ((one, vectors), (other, turned)):
        np.testing.assert_allclose(found.T @ found, np.eye(3), atol=1e-12)
        alone = slice(2, 3) if equal else slice(3)
        largest = np.abs(given).argmax(axis=0)
        np.testing.assert_allclose(found[:, alone], (given * np.sign(given[largest, range(3)]))[:, alone], atol=1e-12)


def played_by_the_program_of_2024(stream):
    """Return the scores on a stream of the tests; with equal eigenvalues, unless it is random."""
    X, y = STREAMS[stream]()
    return Group(KERNEL, [find("nogd")(budget=40, step=0.4, reading="program")]).feed(X, y[None])[0]


@pytest.mark.parametrize("stream", ["random", "duplicated", "tied"])
def test_the_program_of_2024_does_not_depend_on_the_eigenvectors_of_lapack(stream, monkeypatch):
    before, eigh, rng, equal = played_by_the_program_of_2024(stream), np.linalg.eigh, np.random.default_rng(0), []

    def other(K):
        """Flip signs, and turn the eigenvectors of equal eigenvalues among themselves."""
        values, vectors = eigh(K)
        groups = np.split(np.arange(len(K)), np.flatnonzero(np.diff(values) > 1e-9 * values[-1]) + 1)
        equal.append(len(K) - len(groups))
        for group in groups:
            vectors[:, group] = vectors[:, group] @ np.linalg.qr(rng.normal(size=(len(group),) * 2))[0]
        return values, vectors * rng.choice([-1, 1], len(K))

    monkeypatch.setattr(np.linalg, "eigh", other)
    for _ in range(5):
        np.testing.assert_allclose(played_by_the_program_of_2024(stream), before, atol=1e-9)
    assert len(equal) == 5
    assert all(n > 9 if stream != "random" else n == 0 for n in equal)


def test_the_program_of_2024_gives_the_same_on_every_processor():
    flags = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").is_file() else ""
    cores = [core for core, flag in (("Haswell", "avx2"), ("SkylakeX", "avx512vl")) if flag in flags]
    if len(cores) < 2:
        pytest.skip("this processor has one kind of vector instructions")
    call = "import test_gradient_learners as t; [print(*t.played_by_the_program_of_2024(s)) for s in t.STREAMS]"
    found = []
    for core in cores:
        env = {**os.environ, "OPENBLAS_CORETYPE": core, "PYTHONPATH": os.pathsep.join(sys.path)}
        done = subprocess.run([sys.executable, "-c", call], env=env, capture_output=True, text=True, check=True)
        found.append([np.array(line.split(), dtype=float) for line in done.stdout.splitlines()])
    assert len(found[0]) == len(STREAMS)
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-9)


def test_random_features_approximate_the_kernel():
    X, _ = random_stream(T=30)
    Z = RandomFeatures(KERNEL.rate, 40_000, 3).of(X)
    np.testing.assert_allclose(Z @ Z.T, KERNEL.between(X, X), atol=0.03)
    np.testing.assert_allclose(np.square(Z).sum(axis=1), 1)


def test_learners_share_random_features_with_those_of_their_pool_alone():
    X, y = random_stream(T=60)

    def group():
        given = [(20, 0), (20, 0), (20, 1), (30, 0)]
        return Group(KERNEL, [find("fogd")(features=D, step=0.1, seed=s) for D, s in given])

    def maps(group):
        return [member.hypothesis._map for member in group.members]

    one = group()
    assert len(set(maps(one))) == 3
    assert not set(maps(one)) & set(maps(group()))
    one.feed(X[:30], y[None, :30])
    other = pickle.loads(pickle.dumps(one))
    assert len(set(maps(other))) == 3
    np.testing.assert_array_equal(other.feed(X[30:], y[None, 30:]), one.feed(X[30:], y[None, 30:]))
    assert one.members[0].hypothesis.size == 0
