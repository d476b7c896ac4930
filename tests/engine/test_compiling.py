"""Code is compiled from the sources of plain classes, gives the same bits, and is kept on disk for other processes."""

import copy
import inspect
import itertools
import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest
import scipy.sparse as sp
from cases import EXHAUSTIVE, STREAMS, TASKS, all_cases, firsts
from faults import FULL, raising

from budgetrun.base.errors import InputError
from budgetrun.engine import Group
from budgetrun.engine.hypotheses import linear
from budgetrun.kernels import Gaussian, Linear, Polynomial, compiling, sums
from budgetrun.learners import bpa, find

KINDS = {"binary": "CASES", "multiclass": "MULTICLASS_CASES", "regression": "REGRESSION_CASES"}
N_CLASSES = 3

MODULE = """
    import sys
    from budgetrun.kernels.compiling import Compilable, call

    class Account(Compilable):
        def __init__(self, amount):
            self.amount = amount

        def deposit(self, more):
            self.amount += more

    def double(account):
        account.deposit(account.amount)

    if __name__ == "__main__":
        import accounts
        for amount in eval(sys.argv[1]):
            account = accounts.Account(amount)
            call(accounts.double, account)
            print(account.amount, end=" ")
"""


PLAYING = """
    import sys
    import numpy as np
    from budgetrun.engine import Group
    from budgetrun.kernels import Gaussian
    from budgetrun.learners import find

    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    group = Group(Gaussian(gamma=0.5), [find(sys.argv[1])(**eval(sys.argv[2]))])
    print(hash(group.feed(X, np.where(X[:, :1].T > 0.2, 1, -1)).tobytes()))
"""


def compiled_cases():
    """Return case -> learner for whatever is compiled: each learner, or the first of each form."""
    found = {}
    for task, kind in KINDS.items():
        cases = {i: (name, variant, given) for i, name, variant, given, _ in all_cases(kind)}
        for case_id in firsts(cases):
            name, variant, given = cases[case_id]
            learner = find(name, variant, task)(**given)
            if learner.compiled and learner.form.compiled:
                found.setdefault((task, case_id) if EXHAUSTIVE else learner.form, (f"{task}-{case_id}", learner))
    return dict(found.values())


COMPILED = compiled_cases()


def traced(learner, X, y, patch, first=0):
    """Return a learner's scores, and its support set and weights after each round on which it acts.

    The blocks before the ``first`` one are interpreted, and the others compiled.
    """
    trace = []

    def watch(i, t):
        f = group.members[i].hypothesis
        trace.extend([f.rounds.copy(), f.coef.copy()])

    n_classes = N_CLASSES if learner.task == "multiclass" else None
    group = Group(Gaussian(gamma=0.5), [copy.deepcopy(learner)], n_classes=n_classes, watch=watch)
    scores = []
    for block, start in enumerate(range(0, len(y), 70)):
        patch.setattr(compiling, "on", lambda block=block: block >= first)
        scores.append(group.feed(X[start : start + 70], y[None, start : start + 70]))
    f = group.members[0].hypothesis
    return [*scores, *trace, f.rounds, f.coef]


FIRST = pytest.param(next(iter(COMPILED)), marks=pytest.mark.compiled(always=True))


@pytest.mark.compiled
@pytest.mark.parametrize("case_id", [FIRST, *list(COMPILED)[1:]])
def test_compiled_code_gives_the_same_bits(case_id, monkeypatch):
    learner = COMPILED[case_id]
    for stream in STREAMS.values():
        X, signs = stream()
        codes = np.random.default_rng(4).integers(N_CLASSES, size=len(X))
        y = {"binary": signs, "multiclass": codes, "regression": np.round(X[:, 0] + signs, 1)}[learner.task]
        interpreted = traced(learner, X, y, monkeypatch, first=len(X))
        # Play may begin to use compiled code at any border between blocks.
        for first in range(-(-len(X) // 70)):
            for one, other in zip(traced(learner, X, y, monkeypatch, first), interpreted, strict=True):
                np.testing.assert_array_equal(one, other)


@pytest.mark.compiled
@pytest.mark.parametrize("case_id", [FIRST, *list(COMPILED)[1:]])
def test_where_numbers_overflow_compiled_code_ends_as_the_interpreter_does(case_id, monkeypatch):
    learner = COMPILED[case_id]
    for scale, kernel in itertools.product((1e10, 1e60, 1e75), (Polynomial(degree=2, gamma=0.1, coef0=1), Linear())):
        rng = np.random.default_rng(3)
        X = rng.normal(size=(300, 5)) * rng.choice([1, scale], p=[0.9, 0.1], size=(300, 1))
        signs, codes = rng.choice([-1, 1], size=300), rng.integers(N_CLASSES, size=300)
        y = {"binary": signs, "multiclass": codes, "regression": X[:, 0] + signs}[learner.task]
        ended = []
        for on, size in itertools.product((False, True), (64, 256)):
            monkeypatch.setattr(compiling, "on", lambda on=on: on)
            scores = []
            try:
                group = Group(kernel, [copy.deepcopy(learner)], n_classes=N_CLASSES if y is codes else None)
                for start in range(0, 300, size):
                    scores.append(group.feed(X[start : start + size], y[None, start : start + size]))
                ended.append(np.concatenate(scores, axis=-1).tobytes())
            except InputError as error:
                ended.append(str(error))
        assert len(set(ended)) == 1, (scale, kernel, ended)


def test_a_cache_that_is_damaged_or_full_is_as_none(tmp_path, monkeypatch):
    structures = pytest.importorskip("budgetrun.kernels.compiling.structures")
    monkeypatch.setattr(structures.Files, "complete", True)
    files = structures.Files(str(tmp_path), "name", "stamp")
    for path in (None, "name.nbi", "name.1.nbc"):
        if path is not None:
            (tmp_path / path).write_bytes((tmp_path / path).read_bytes()[:5])
        assert files.load("key") is None
        files.save("key", [1, 2])
        assert files.load("key") == [1, 2]
    assert structures.Files.complete
    monkeypatch.setattr(structures.caching.IndexDataCacheFile, "_save_data", raising(FULL))
    files.save("other", [3])
    assert files.load("other") is None
    assert not structures.Files.complete


def test_short_loops_compute_what_numpy_does():
    loops = pytest.importorskip("budgetrun.kernels.compiling.loops")
    a, b, c = np.random.default_rng(0).normal(size=(3, 70))
    given = {
        "add_multiple": (a, 0.3, b),
        "inner": (a, b),
        "count_errors": (a, 0.3, b, c > 0, c / 2),
        "copy": (a[:50], b),
        "add_multiple_at": (a, np.arange(0, 70, 2), 0.3, b[:35]),
    }
    for name, arguments in given.items():
        one, other = (copy.deepcopy(arguments) for _ in range(2))
        assert getattr(loops, name)(*one) == getattr(sums, name)(*other), name
        for left, right in zip(one, other, strict=True):
            np.testing.assert_array_equal(left, right, err_msg=name)


@pytest.mark.parametrize("n_features", [3, 9])
def test_loops_over_the_terms_of_rows_compute_what_numpy_does(n_features):
    loops = pytest.importorskip("budgetrun.kernels.compiling.loops")
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(20, n_features)) * rng.integers(0, 12, (20, 1)), 1) * (rng.random((20, 1)) < 0.8)
    for rows in (X, sp.csr_array(X)):
        terms = linear.with_ones(rows)
        both = linear._hats(*terms), linear._hats_at_once(*terms)
        for left, right in zip(*both, strict=True):
            np.testing.assert_array_equal(left, right)
        for t in range(20):
            row = linear.row_of(*both[0], t, 0)
            for left, right in zip(*(of.products(*row, 40) for of in (loops, sums)), strict=True):
                np.testing.assert_array_equal(left, right)


def test_the_cheapest_example_is_the_one_that_numpy_finds():
    loops = pytest.importorskip("budgetrun.kernels.compiling.loops")
    rng = np.random.default_rng(0)
    for k in range(80):
        weights, distances, squares = rng.integers(1, 4, (3, 20)) * (1 + 1e-10 * rng.normal(size=(3, 20)))
        distances[rng.integers(20, size=k % 8)] = rng.choice([np.inf, np.nan]) if k < 60 else np.inf
        given = weights, distances, squares, 1e-9
        np.testing.assert_array_equal(loops.cheapest(*given), bpa._cheapest(*given))


@pytest.mark.compiled
@pytest.mark.parametrize("n", [1, 64, 70])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_formulas_are_computed_for_several_numbers_at_once_or_for_single_ones(n, dtype):
    numba, loops = pytest.importorskip("numba"), pytest.importorskip("budgetrun.kernels.compiling.loops")
    given = np.linspace(0, 900, n)
    smooth, stepwise = numba.njit(Gaussian.formula), numba.njit(lambda s, rate: rate if s > 1 else s)

    @numba.njit
    def put(given, smoothly, in_steps):
        loops._put_values(smooth, (0.9,), given, smoothly)
        loops._put_values(stepwise, (0.9,), given, in_steps)

    smoothly, in_steps = np.zeros((2, n), dtype=dtype)
    put(given, smoothly, in_steps)
    assert smoothly.tobytes() == Gaussian.formula(given, 0.9).astype(dtype).tobytes()
    assert in_steps.tobytes() == np.where(given > 1, 0.9, given).astype(dtype).tobytes()


@pytest.mark.compiled
def test_classes_from_elsewhere_are_compiled_by_each_process_and_not_kept(tmp_path):
    module = tmp_path / "accounts.py"
    module.write_text(textwrap.dedent(MODULE))
    env = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}

    def run(amounts):
        found = subprocess.run([sys.executable, module, amounts], env=env, capture_output=True, text=True)
        return found.stdout + found.stderr

    assert run("[1, 0.5]") == "2 1.0 "
    assert run("[0.25, 3]") == "0.5 6 "
    assert not [*(tmp_path / "cache").rglob("*.nb*")]


@pytest.mark.compiled
def test_a_learner_compiles_only_what_no_other_needed(tmp_path):
    learners = {"rbp": {"budget": 20}, "remove_oldest": {"budget": 20}, "perceptron": {}}

    def played(name, mode="1"):
        env = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "PYTHONHASHSEED": "0", compiling.ENVIRONMENT: mode}
        command = [sys.executable, "-c", textwrap.dedent(PLAYING), name, repr(learners[name])]
        return subprocess.Popen(command, env=env, stdout=subprocess.PIPE)

    def n_kept():
        return len([*tmp_path.rglob("*.nbc")])

    # Two at once write the same files.
    both = [played("rbp"), played("remove_oldest")]
    compiled = [one.communicate()[0] for one in both]
    before = n_kept()
    compiled.append(played("perceptron").communicate()[0])
    assert n_kept() - before < 0.25 * before
    for name, found in zip(learners, compiled, strict=True):
        assert found == played(name, "0").communicate()[0] != b""


def test_a_number_is_compiled_once_whether_it_has_a_point_or_not():
    kinds = set()
    for step in (1, 1.0, 0.5):
        learner = find("bogd")(budget=2, step=step)
        kinds.add(compiling.prepared(learner).__dict__[compiling.TYPE])
        assert repr(learner.step) == repr(step)
    assert len(kinds) == 1


# Only Python reads these.
OF_PYTHON = {"upkeep", "compiled", "reading"}
CASES = {
    (name, variant, TASKS[kind == "MULTICLASS_CASES"]): parameters
    for kind in ("CASES", "MULTICLASS_CASES")
    for _, name, variant, parameters, _ in all_cases(kind)
}


@pytest.mark.parametrize("learner", CASES, ids=str)
def test_no_attribute_of_an_object_hides_a_constant_of_its_class(learner):
    """Compiled code would read the constant."""
    found = find(*learner)(**CASES[learner])
    group = Group(Gaussian(gamma=0.5), [found], **({"n_classes": 3} if learner[2] == "multiclass" else {}))
    for thing in (found, group.members[0].hypothesis):
        if not thing.compiled:
            continue
        of_class = {name: inspect.getattr_static(type(thing), name, None) for name in vars(thing)}
        hidden = {name for name, value in of_class.items() if isinstance(value, bool | int | float | str)}
        assert hidden <= OF_PYTHON
