"""Write the files that `../test_old_files.py` reads, with version 0.2.0 of budgetrun.

Usage, with a checkout of 0.2.0 in DIR: PYTHONPATH=DIR python make.py

All data are generated and all learners are seeded; only times and memory differ between two calls. Nothing is compiled.
One sweep is killed during its third job. The streams are interrupted by a signal after 256 rounds; their states name
the source by a relative path, its size and its modification time `MTIME`, which the tests set again. Models, pickles
and states are compressed together, in ``saved.tar.xz``.
"""

# ruff: noqa: E402, I001
import contextlib
import io
import json
import os
import pickle
import shutil
import signal
import sys
import tarfile
from pathlib import Path

os.environ["BUDGETRUN_COMPILED"] = "0"
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import numpy as np
import pandas as pd
import test_old_files as tests

import budgetrun
from budgetrun import cli, estimators, kernels, river
from budgetrun.data.tables import open_table
from budgetrun.live.run import _Run
from budgetrun.runner import interrupts, online

VERSION = "0.2.0"
MTIME = 1_700_000_000_000_000_000
# Rounds that models have learned when they are saved, and rounds that they learn after loading.
N_LEARNED, N_MORE = 70, 20
N_STREAM, INTERRUPTED = 600, 256
PACKED = ("models", "pickles", "streams")
SWEEPS = ("classes", "solvers", "regression", "killed")
KILLED_IN = 3
B = {"budget": 12}

# For each file: an estimator, its labels, its examples (default "floats"), and the number of columns of sparse ones.
MODELS = {
    # One for each form of hypothesis.
    "expansion": (estimators.Forgetron(**B), "two"),
    "decaying": (estimators.Norma(**B), "two"),
    "points": (estimators.Bsgd(variant="merging", **B), "two"),
    "projected": (estimators.Projectron(eta=0.5), "two"),
    "features": (estimators.FOGD(features=10), "two"),
    "nystroem": (estimators.NOGD(**B), "two"),
    "optimistic": (estimators.POMDR(**B), "two"),
    "absorbing": (estimators.DualSGD(features=10, **B), "two"),
    "covering": (estimators.Avm(variant="hypersphere"), "two"),
    "mixture": (estimators.AdaRaker(features=10), "two"),
    "drawn": (estimators.OKS(), "two"),
    "embedded": (estimators.ProsNKons(), "two"),
    "sketched": (estimators.SkeGD(), "two"),
    "hinted_framed": (estimators.AomdOgs(variant="hinge"), "two"),
    "curved": (estimators.AONSOGS(), "two"),
    "multiclass": (estimators.RBP(**B), "three"),
    "multiclass_points": (estimators.Bpa(variant="simple", **B), "three"),
    "multiclass_projected": (estimators.Projectron(eta=0.5), "three"),
    "multiclass_absorbing": (estimators.DualSGD(features=10, **B), "three"),
    "multiclass_framed": (estimators.MAVPOGS(), "three"),
    "one_vs_rest": (estimators.Forgetron(**B), "three"),
    # Other contents.
    "regressor": (estimators.KRLS(**B), "numbers"),
    "regressor_features": (estimators.FOGDRegressor(features=10), "numbers"),
    "probabilities": (estimators.RBP(probabilities=True, **B), "two"),
    "probabilities_text": (estimators.RBP(probabilities=True, **B), "text"),
    "averaged": (estimators.Perceptron(averaged=True), "two"),
    "float32": (estimators.RemoveOldest(dtype="float32", **B), "two"),
    "formula": (estimators.ShrinkingPerceptron(phi="1 - 1 / (m + 2)"), "two"),
    "bits": (estimators.RBP(**B), "two", "bits"),
    "integers": (estimators.RBP(**B), "two", "integers"),
    "sparse": (estimators.RBP(**B), "two", "sparse", 3),
    "wide": (estimators.RBP(**B), "two", "sparse", 10_000),
    "polynomial": (estimators.RBP(kernel="polynomial", degree=2, **B), "two"),
    "multitask": (estimators.RBP(kernel="multitask", n_tasks=3, **B), "two", "tasks"),
    "selecting": (
        budgetrun.SelectingClassifier(
            [estimators.RBP(**B), estimators.Perceptron()], grid=[{"gamma": [0.5, 2]}, {}], probabilities=True
        ),
        "two",
    ),
}
RIVER = {
    "river_two": (river.Forgetron(**B), "two"),
    "river_text": (river.RBP(classes=["no", "yes"], **B), "text"),
    "river_regressor": (river.KRLS(**B), "numbers"),
    "river_selecting": (river.SelectingClassifier(estimators=[estimators.RBP(**B)], grid={"gamma": [0.5, 2]}), "two"),
}
KERNELS = {
    "gaussian": kernels.make("gaussian", gamma=0.7),
    "polynomial": kernels.make("polynomial", degree=2),
    "multitask": kernels.make("multitask", n_tasks=3, base="gaussian", gamma=0.7),
}
STREAMS = {
    "binary": (
        *(
            "--budget",
            "10,30",
            "--algorithm",
            "perceptron",
            "--algorithm",
            "remove_oldest",
            "--algorithm",
            "rbp",
            "--seeds",
            "2",
        ),
        *("--metrics", "f1,auc,log_loss,fading_error", "--select", "hedge", "--scale", "running"),
    ),
    "multiclass": ("--budget", "15", "--algorithm", "rbp", "--algorithm", "forgetron", "--seeds", "1"),
    "regression": ("--budget", "15", "--task", "regression", "--scale", "unit_norm", "--gamma", "0.5"),
}


def data():
    """Return examples of each kind and labels of each kind."""
    rng = np.random.default_rng(2)
    X = (rng.standard_normal((N_LEARNED + N_MORE, 3)) / 2).round(3)
    examples = {"floats": X, "bits": (X > 0).astype(float), "integers": (4 * X).round()}
    examples |= {"sparse": np.where(abs(X) > 0.3, X, 0.0), "tasks": np.column_stack([X, np.arange(len(X)) % 3])}
    two = np.where(X[:, 0] * X[:, 1] > 0, 1, -1)
    labels = {"two": two, "text": np.where(two > 0, "yes", "no"), "numbers": (np.sin(3 * X[:, 0]) + X[:, 1]).round(3)}
    return examples, labels | {"three": np.digitize(X[:, 0] + X[:, 1], [-0.3, 0.3])}


def models(expected):
    """Fit the estimators, save them and pickle them."""
    examples, labels = data()
    more = {kind: X[N_LEARNED:].tolist() for kind, X in examples.items()}
    expected["rows"] = {"examples": more, "labels": {kind: y[N_LEARNED:].tolist() for kind, y in labels.items()}}
    expected |= {"models": {}, "kernels": {}}
    for folder in ("models", "pickles"):
        Path(folder).mkdir()
    for name, (model, kind, *form) in (MODELS | RIVER).items():
        told = {"labels": kind, "examples": form[0] if form else "floats", "width": form[1] if form[1:] else None}
        told |= {"river": name in RIVER}
        X, y = examples[told["examples"]][:N_LEARNED], labels[kind][:N_LEARNED]
        # A model keeps the kernel values of the last call's rows: two rows keep the file small.
        for piece in (slice(0, -2), slice(-2, None)):
            tests.learn(model, tests.in_form(X[piece], told["width"]), y[piece])
        Path("pickles", name).write_bytes(pickle.dumps(model, 5))
        if name in MODELS:
            model.save(Path("models", name))
        expected["models"][name] = told | tests.tell(model, told, expected["rows"])
    X = examples["tasks"][:4]
    for name, kernel in KERNELS.items():
        Path("pickles", f"kernel_{name}").write_bytes(pickle.dumps(kernel, 5))
        expected["kernels"][name] = {"text": str(kernel), "X": X.tolist(), "values": kernel.between(X, X).tolist()}


def encoded(expected):
    """Save a model together with the encoding of its table."""
    table = open_table(Path("binary.csv"), label="label")
    model = estimators.Forgetron(gamma=0.1, budget=20)
    for chunk in table.chunks():
        model.partial_fit(chunk.X, chunk.y)
    model.partial_fit(chunk.X[:1], chunk.y[:1])
    model.save("models/encoded", encoding=table.encoding)
    code, out = command("predict", "models/encoded", "binary.csv", "--label", "label")
    assert code == 0
    expected["encoded"] = first_rows(out)


def first_rows(out):
    return "".join(out.splitlines(keepends=True)[: tests.N_PREDICTED + 1])


def write_sources():
    """Write the streams as CSV files; one has a column of categories."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((N_STREAM, 3)).round(2)
    colour = np.array(["red", "green", "blue"])[rng.integers(0, 3, N_STREAM)]
    sign = np.where(X[:, 0] + (colour == "red") > X[:, 1] ** 2, "yes", "no")
    labels = {"binary": sign, "multiclass": np.digitize(X[:, 0] + X[:, 1], [-0.6, 0.6])}
    labels["regression"] = (np.sin(X[:, 0]) + X[:, 1] / 2).round(3)
    for name, label in labels.items():
        frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1] * (20 if name == "binary" else 1), "c": X[:, 2]})
        frame = frame.assign(**({"colour": colour} if name == "binary" else {}), label=label)
        path = HERE / f"{name}.csv"
        frame.to_csv(path, index=False)
        os.utime(path, ns=(MTIME, MTIME))


def streams(expected):
    """Run each stream to its end and remove the results; then run it again and interrupt it."""
    expected["streams"] = {}
    for name, options in STREAMS.items():
        arguments = [f"{name}.csv", "--label", "label", *options, "--results", "streams"]
        told = {"source": f"{name}.csv", "mtime_ns": MTIME, "arguments": arguments}
        code, _ = command("run", *arguments)
        assert code == 0
        folder = Path("streams") / name
        told["rows"] = tests.untimed(tests.rows_of(folder / "runs.csv"))
        _, out = command("predict", folder / "stream.state", f"{name}.csv", "--label", "label")
        told["predict"] = first_rows(out)
        shutil.rmtree(folder)
        with interrupted(told):
            code, _ = command("run", *arguments)
        assert code == 130
        expected["streams"][name] = told


@contextlib.contextmanager
def interrupted(told):
    """Interrupt a stream, and record after how many rounds."""
    tick = _Run._tick

    def watched(self, rounds):
        tick(self, rounds)
        if rounds >= INTERRUPTED:
            _Run._tick = tick
            told["interrupted"] = rounds
            # Otherwise, an interrupt soon after another counts as the same one.
            interrupts._raised = -10.0
            os.kill(os.getpid(), signal.SIGINT)

    _Run._tick = watched
    try:
        yield
    finally:
        _Run._tick = tick


def sweeps(expected):
    """Run the configs; figures and pages are removed."""
    expected |= {"sweeps": {}, "tables": {}}
    for name in SWEEPS:
        folder = Path("results") / name
        arguments = ("sweep", f"{name}.yaml", "--jobs", "1")
        assert command(*arguments)[0] == 0
        rows = tests.rows_of(folder / "runs.csv")
        told = expected["sweeps"][name] = {"rows": tests.untimed(rows)}
        if name == "killed":
            shutil.rmtree(folder)
            if os.fork() == 0:
                kill_in_job(KILLED_IN)
                command(*arguments)
            assert os.WTERMSIG(os.wait()[1]) == signal.SIGKILL
            rows = {}
            for path in folder.glob("parts/*.jsonl"):
                # A line is a checksum and a run.
                found = [json.loads(line.partition(" ")[2]) for line in path.read_text().splitlines()]
                rows |= {row["run_id"]: row for row in found}
        else:
            results = budgetrun.load_results(folder)
            expected["tables"][name] = {table: tests.cells_of(results, table) for table in results.tables}
            for path in folder.glob("tables/*.tex"):
                path.unlink()
        told["finished"] = {key: [row[column] for column in tests.VARYING] for key, row in rows.items()}
        for path in (*folder.glob("figures"), *folder.glob("report.html"), *folder.glob("*.lock")):
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def kill_in_job(number):
    """Kill this process when it starts the job with this number."""
    measure, begun = online.measure, []

    def killed(job, settings):
        begun.append(job)
        if len(begun) == number:
            os.kill(os.getpid(), signal.SIGKILL)
        return measure(job, settings)

    online.measure = killed


def command(*arguments):
    """Run the command in this process; return its exit code and its output."""
    out = io.StringIO()
    try:
        with contextlib.redirect_stdout(out):
            cli.main([str(argument) for argument in arguments], prog_name="budgetrun")
    except SystemExit as ended:
        return ended.code or 0, out.getvalue()
    raise AssertionError("the command did not exit")


def anonymous(member):
    """Return an entry of the archive without user names and times."""
    member.uid = member.gid = member.mtime = 0
    member.uname = member.gname = ""
    return member


def remove(*folders):
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)


def main():
    """Write everything beside this file, and check the size."""
    assert budgetrun.__version__ == VERSION, budgetrun.__file__
    os.chdir(HERE)
    remove("results", *PACKED)
    expected = {"version": VERSION}
    write_sources()
    for step in (models, encoded, streams, sweeps):
        step(expected)
    Path("expected.json").write_text(json.dumps(expected, separators=(",", ":")) + "\n", encoding="utf-8")
    with tarfile.open("saved.tar.xz", "w:xz", preset=9) as archive:
        for folder in PACKED:
            archive.add(folder, filter=anonymous)
    remove(*PACKED)
    size = sum(path.stat().st_size for path in HERE.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    print(f"{size / 1000:.0f} kB in {HERE}")
    assert size < 500_000


if __name__ == "__main__":
    main()
