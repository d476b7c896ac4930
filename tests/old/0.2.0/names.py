"""List the names that pickles and saved files of version 0.2.0 refer to, over all estimators and kernels.

Usage, with a checkout of 0.2.0 in DIR: PYTHONPATH=DIR python names.py

Writes ``pickle_globals.txt``, with a module and a name per line, and ``state_names.txt``, with one MODULE:CLASS per
line. Every estimator is fitted to a few rows of two classes, three classes, or numbers: all interpreted, and a few also
compiled. `budgetrun run` plays streams with every task, scale, metric and rule.
"""

# ruff: noqa: E402
import itertools
import json
import os
import pickle
import pickletools
import subprocess
import sys
import tempfile
import zipfile
from contextlib import suppress
from pathlib import Path

# Set in a second process, which compiles.
COMPILED = sys.argv[1:] == ["compiled"]
os.environ["BUDGETRUN_COMPILED"] = str(int(COMPILED))

import numpy as np
import scipy.sparse as sp

import budgetrun
from budgetrun import cli, errors, estimators, kernels, river, selection
from budgetrun.state import save_state

HERE = Path(__file__).resolve().parent
N, N_RIVER = 120, 30
METRICS = {
    "two": ["--metrics", "f1,kappa,auc,brier,log_loss,sliding_error,fading_error"],
    "three": ["--metrics", "f1,kappa,sliding_error,fading_error"],
    "numbers": ["--task", "regression"],
}
# Arguments of estimators; the first that an estimator accepts are used.
GIVEN = ({"budget": 12}, {}, {"beta": 0.1})
TEXTS = ("SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8")


def globals_of(data):
    """Return the names that a pickle refers to, as `MODULE NAME`."""
    found, stack, memo, last = set(), [], [], None
    for code, argument, _ in pickletools.genops(data):
        if code.name in TEXTS:
            stack.append(argument)
        elif code.name == "MEMOIZE":
            memo.append(stack[-1] if last in TEXTS else None)
        elif code.name in ("BINGET", "LONG_BINGET") and memo[argument] is not None:
            stack.append(memo[argument])
        elif code.name == "STACK_GLOBAL":
            found.add(f"{stack[-2]} {stack[-1]}")
        last = code.name
    return found


def titles_of(path):
    """Return the classes that a saved file names, also those with a revision in it."""
    with zipfile.ZipFile(path) as archive:
        content = json.loads(archive.read("state.json"))
    titles, left = set(), [content["root"], content["meta"], content["nodes"]]
    while left:
        one = left.pop()
        if isinstance(one, list):
            left += one
        elif isinstance(one, str) and one.startswith("budgetrun.") and one.count(":") == 1:
            titles.add(one)
    return titles | {title.partition(" ")[0] for title in content["revisions"]} - {"engine"}


class Names:
    """The names that were found."""

    def __init__(self, folder):
        self.folder = folder
        self.pickles, self.states, self.failed = set(), set(), []

    def add(self, thing, saved=True):
        self.pickles |= globals_of(pickle.dumps(thing, 5))
        if saved:
            save_state(self.folder / "state", thing)
            self.states |= titles_of(self.folder / "state")

    def fit(self, make, X, y, **given):
        """Fit an estimator with the first arguments that it accepts."""
        for more in GIVEN:
            with suppress(TypeError, ValueError):
                model = make(**given, **more).fit(X, y)
                # Compiled code keeps a separate state for learning single rows.
                if not sp.issparse(X):
                    for x, label in zip(X[:70], y[:70], strict=True):
                        model.learn_one(x, label)
                self.add(model)
                return
        self.failed.append((make.__name__, given))


def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, 3)) / 2
    labels = {"two": np.where(X[:, 0] * X[:, 1] > 0, 1, -1), "three": np.digitize(X[:, 0] + X[:, 1], [-0.3, 0.3])}
    return X, labels, np.sin(3 * X[:, 0]) + X[:, 1]


def all_estimators(names):
    X, labels, numbers = data()
    chosen = ("RBP", "Forgetron", "LinearPerceptron", "Avm", "Projectron")
    for name, made in estimators.CLASSIFIERS.items():
        if COMPILED and name not in chosen:
            continue
        for variant, y in itertools.product(made._learners, labels.values()):
            given = {} if variant is None else {"variant": variant}
            names.fit(made, X, y, **given)
            if not COMPILED:
                names.fit(made, X, y, probabilities=True, **given)
    if COMPILED:
        return
    for made in estimators.REGRESSORS.values():
        for variant in made._learners:
            names.fit(made, X, numbers, **({} if variant is None else {"variant": variant}))


def all_kernels(names):
    """Fit learners with every kernel and kind of examples."""
    X, labels, _ = data()
    tasks = np.column_stack([X, np.arange(N) % 3])
    kinds = {"floats": X, "bits": (X > 0).astype(float), "integers": (4 * X).round(), "sparse": sp.csr_array(X)}
    for made in (estimators.RBP, estimators.Bsgd, estimators.Perceptron, estimators.Projectron):
        for kind, given in itertools.product(kinds.values(), ({}, {"kernel": "linear"}, {"kernel": "polynomial"})):
            names.fit(made, kind, labels["two"], **given)
        names.fit(made, tasks, labels["two"], kernel="multitask", n_tasks=3)
        names.fit(made, X, labels["two"], dtype="float32")
    names.fit(estimators.ShrinkingPerceptron, X, labels["two"], phi="1 - 1 / (m + 2)")
    # Sparse examples with very many features are a separate kind.
    wide = sp.csr_array(X)
    wide.resize(N, 10_000)
    names.fit(estimators.RBP, wide, labels["two"])
    for kernel in (kernels.make("gaussian", sigma=1.0), kernels.make("linear"), kernels.make("polynomial")):
        names.add(kernel)
    names.add(kernels.make("multitask", n_tasks=3, base="gaussian", gamma=1.0))


def all_rules(names):
    X, labels, _ = data()
    grid = [{"gamma": [0.5, 2.0]}, {}]
    for rule, y, probabilities in itertools.product(selection.registry(), labels.values(), (False, True)):
        candidates = [estimators.RBP(budget=10), estimators.Perceptron()]
        model = budgetrun.SelectingClassifier(candidates, grid=grid, rule=rule, probabilities=probabilities)
        names.add(model.fit(X, y))


def all_of_river(names):
    X, labels, numbers = data()
    examples = [dict(enumerate(x)) for x in X[:N_RIVER].tolist()]
    models = {name: made() for name, made in (river.CLASSIFIERS | river.REGRESSORS).items()}
    models["SelectingClassifier"] = river.SelectingClassifier(
        estimators=[estimators.RBP(budget=10)], grid={"gamma": [0.5, 2.0]}
    )
    for name, model in models.items():
        y = numbers if name in river.REGRESSORS else labels["two"]
        for x, label in zip(examples, y.tolist(), strict=False):
            model.learn_one(x, label)
        names.add(model, saved=False)


def all_streams(names):
    """Run `budgetrun run` on streams of every task and scale, with all metrics and rules."""
    X, labels, numbers = data()
    columns = {"two": labels["two"], "three": labels["three"], "numbers": numbers}
    for name, y in columns.items():
        for sparse in (False, True):
            path = names.folder / (f"{name}.svm" if sparse else f"{name}.csv")
            rows = zip(X.round(2).tolist(), y.tolist(), strict=True)
            if sparse:
                lines = [" ".join([str(label), *(f"{i}:{v}" for i, v in enumerate(x, 1))]) for x, label in rows]
            else:
                lines = ["a,b,c,label", *(",".join(map(str, [*x, label])) for x, label in rows)]
            path.write_text("\n".join(lines) + "\n")
            for scale in ("none", "unit_norm", "running"):
                title = f"{name}_{scale}_{'sparse' if sparse else 'dense'}"
                arguments = ["run", str(path), "--results", str(names.folder / "results"), "--seeds", "1"]
                arguments += ["--budget", "10", "--scale", scale, "--name", title, "--force"]
                arguments += METRICS[name]
                if name != "numbers":
                    for rule in selection.registry():
                        arguments += ["--select", rule]
                arguments += [] if sparse else ["--label", "label"]
                with suppress(SystemExit):
                    cli.main(arguments, prog_name="budgetrun")
                state = names.folder / "results" / title / "stream.state"
                names.states |= titles_of(state)


def main():
    """Write both lists; a second process adds the names that only compiled learners use."""
    assert budgetrun.__version__ == "0.2.0", budgetrun.__file__
    cli._report = print
    with tempfile.TemporaryDirectory() as folder:
        names = Names(Path(folder))
        for step in (
            (all_estimators,) if COMPILED else (all_estimators, all_kernels, all_rules, all_of_river, all_streams)
        ):
            step(names)
    # A learner that failed within a group keeps its exception.
    if not COMPILED:
        names.states |= {f"{cls.__module__}:{cls.__qualname__}" for cls in vars(errors).values() if is_own_error(cls)}
    print("not fitted:", names.failed, file=sys.stderr)
    if COMPILED:
        print(json.dumps([sorted(names.pickles), sorted(names.states)]))
        return
    output = subprocess.run([sys.executable, __file__, "compiled"], capture_output=True, text=True, check=True).stdout
    pickles, states = json.loads(output.splitlines()[-1])
    print("only compiled:", set(pickles) - names.pickles, set(states) - names.states, file=sys.stderr)
    (HERE / "pickle_globals.txt").write_text("\n".join(sorted(names.pickles.union(pickles))) + "\n")
    (HERE / "state_names.txt").write_text("\n".join(sorted(names.states.union(states))) + "\n")


def is_own_error(cls):
    return isinstance(cls, type) and issubclass(cls, Exception) and cls.__module__ == errors.__name__


if __name__ == "__main__":
    main()
