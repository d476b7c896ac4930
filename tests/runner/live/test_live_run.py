"""`budgetrun run` gives the outcomes of a sweep of the config that it writes, also if it was stopped and continued."""

import io
import os
import signal
from pathlib import Path

import faults
import numpy as np
import pandas as pd
import pytest
import sweeping
from faults import raises

from budgetrun import config as config_module
from budgetrun.base.errors import CannotWriteError, InputError
from budgetrun.engine import Group
from budgetrun.kernels import Gaussian
from budgetrun.learners import find
from budgetrun.runner.live import kept
from budgetrun.runner.live import run as run_module
from budgetrun.runner.live.request import Request, metrics_of
from budgetrun.state import load_state

EPSILON = "ahpatron:epsilon=0.7"
ALGORITHMS = ("linear_perceptron", "perceptron", "forgetron", "rbp", EPSILON, "fogd:features=20,step=0.1")
COUNTS = ["run_id", "label", "budget", "seed", "kernel"]
COUNTS += ["n_examples", "mistakes", "updates", "support_size", "zero_scores"]


@pytest.fixture(autouse=True)
def place(here, no_pictures, monkeypatch):
    # A second interrupt soon after one counts as the same, also one of the test before.
    monkeypatch.setattr("budgetrun.runner.interrupts._raised", -10.0)
    rng = np.random.default_rng(3)
    X = rng.normal(size=(500, 4)) * [1, 10, 100, 1] + 5
    table = pd.DataFrame(X, columns=list("abcd")).assign(color=rng.choice(["red", "blue"], 500))
    table["label"] = np.where(np.sin(X[:, 0]) + X[:, 1] / 10 > 1, "yes", "no")
    table.to_csv("s.csv", index=False)


def request(source="s.csv", **given):
    return Request(source, **{"algorithms": ALGORITHMS, "budgets": (20, 50), "seeds": 2, **given})


def rows(folder):
    return sorted(tuple(row[name] for name in COUNTS) for row in sweeping.rows(folder))


def sorted_runs(folder):
    return pd.read_csv(f"{folder}/runs.csv").sort_values(["label", "budget", "seed"], ignore_index=True)


def counts(folder):
    """The rows without their ids, which depend on the name of the stream."""
    return sorted(row[1:] for row in rows(folder))


def swept(name):
    """The rows of a sweep of the config that `budgetrun run` has written."""
    return rows(sweeping.swept_folder(f"results/{name}/config.yaml", "swept", jobs=1))


def stopped_after(monkeypatch, rounds, number=None):
    """Let the next call be interrupted, or fail, after some rounds."""
    real = run_module._Run._tick

    def tick(self, done):
        real(self, done)
        if done >= rounds:
            monkeypatch.setattr(run_module._Run, "_tick", real)
            if number is None:
                raise RuntimeError("the machine has failed")
            os.kill(os.getpid(), number)

    monkeypatch.setattr(run_module._Run, "_tick", tick)


def test_a_label_of_its_own():
    assert run_module.run(request(algorithms=("rbp:label=mine,budget=9", "rbp"))) == 0
    assert {label for _, label, *_ in rows("results/s")} == {"mine", "rbp", "logistic", "majority"}


@pytest.mark.parametrize("options", [{}, {"shuffle": 3}, {"gamma": ("auto", "0.1")}, {"scale": "unit_norm"}])
def test_the_config_that_it_writes_gives_the_same_runs(options):
    assert run_module.run(request(**options)) == 0
    own = rows("results/s")
    assert swept("s") == own
    # With logistic and majority, which are in every table.
    assert len(own) == (1 + 1 + 2 + 4 + 2 + 2 + 2) * len(options.get("gamma", ("auto",)))


@pytest.mark.parametrize("task", ["binary", "multiclass", "regression"])
def test_the_best_learner_stands_beside_a_trivial_prediction(task, capsys):
    table = pd.read_csv("s.csv").iloc[:140]
    if task == "multiclass":
        table["label"] = np.where(table["color"] == "red", "red", table["label"])
    if task == "regression":
        table["label"] = np.sin(table["a"]) + table["b"] / 10
    table.to_csv("t.csv", index=False)
    asked = ["run", "t.csv", "--quick", "--budget", "9,51,100", "--label", "label", "--task", task]
    out, _ = sweeping.printed(0, sweeping.run(capsys, *asked))
    folder, labels = Path("results/t"), table["label"].to_numpy()
    runs = pd.read_csv(folder / "runs.csv").set_index(pd.read_csv(folder / "runs.csv")["label"].str.partition("(")[0])
    linear, trivial = ("least_squares", "mean") if task == "regression" else ("logistic", "majority")
    assert set(runs.index) == {"auto", linear, trivial}
    assert runs.loc["auto", "budget"] == 50
    if task == "regression":
        means = np.array([labels[:t].mean() if t else 0.0 for t in range(len(labels))])
        assert runs.loc["mean", "rmse"] == pytest.approx(np.sqrt(np.mean((labels - means) ** 2)), rel=1e-12)
        said = "Auto has an RMSE of {:#.4g}; the mean {:#.4g}; least squares {:#.4g}.".format(
            *runs.loc[["auto", trivial, linear], "rmse"]
        )
    else:
        # A tie is a mistake.
        counts = [{c: (labels[:t] == c).sum() for c in set(labels)} for t in range(len(labels))]
        ahead = [max(n for c, n in own.items() if c != y) for own, y in zip(counts, labels, strict=True)]
        wrong = [n >= own[y] for n, own, y in zip(ahead, counts, labels, strict=True)]
        assert runs.loc["majority", "mistakes"] == sum(wrong)
        larger = "larger" if task == "binary" else "largest"
        said = f"Auto errs {{:.2f}}%; the {larger} class {{:.2f}}%; logistic regression{{}} {{:.2f}}%.".format(
            *(100 * runs.loc[["auto", trivial], "online_error"]),
            "" if task == "binary" else ", one-vs-rest",
            100 * runs.loc[linear, "online_error"],
        )
    assert out.splitlines()[-1] == said
    first_screen = (folder / "report.html").read_text().partition("<nav")[0]
    assert first_screen.index(said) < first_screen.index("The label is column 6") < first_screen.index("Scale: running")
    assert swept("t") == rows("results/t")


def test_what_is_no_better_than_a_trivial_prediction_is_said(capsys):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(300, 3)), columns=list("abc"))
    frame.assign(y=100 + rng.normal(size=300)).to_csv("noise.csv", index=False)
    given = {"source": "noise.csv", "label": "y", "task": "regression", "budgets": (5,)}
    run_module.run(request(**given, algorithms=("klms",)))
    assert "warning: No learner is better than the mean (RMSE 5." in capsys.readouterr().err
    frame.assign(y=np.where(frame["a"] > -1, "yes", "no")).to_csv("noise.csv", index=False)
    run_module.run(request("noise.csv", budgets=(5,), algorithms=("remove_oldest",), force=True))
    assert "warning: No better than the larger class (online error 18.33%): remove_oldest" in capsys.readouterr().err


def test_an_interrupted_run_continues(monkeypatch, capsys):
    assert run_module.run(request(name="whole")) == 0
    stopped_after(monkeypatch, 300, signal.SIGINT)
    assert run_module.run(request()) == 130
    assert "the same command continues" in capsys.readouterr().err
    assert not os.path.exists("results/s/runs.csv")
    assert run_module.run(request()) == 0
    assert "continued after 3" in capsys.readouterr().err
    assert counts("results/s") == counts("results/whole")
    assert run_module.run(request()) == 0
    assert "finished" in capsys.readouterr().err


def test_a_shuffled_file_with_gaps_may_be_read_twice(monkeypatch):
    table = pd.read_csv("s.csv")
    table.loc[::7, "a"] = None
    table.to_csv("s.csv", index=False)
    given = {"shuffle": 3, "algorithms": ("perceptron",), "seeds": 1}
    assert run_module.run(request(**given)) == 0
    # Then the rows are counted first.
    assert run_module.run(request(**given, classes=("no", "yes"), results=Path("t"))) == 0
    assert counts("t/s") == counts("results/s")
    stopped_after(monkeypatch, 200, signal.SIGINT)
    assert run_module.run(request(**given, results=Path("u"))) == 130
    assert run_module.run(request(**given, results=Path("u"))) == 0
    assert counts("u/s") == counts("results/s")


def test_the_error_of_a_first_round(monkeypatch, capsys):
    Path("one.csv").write_text("a,y\n1,3\n")
    stopped_after(monkeypatch, 1, signal.SIGINT)
    given = {"label": "y", "task": "regression", "algorithms": ("klms",), "budgets": (20,), "gamma": ("1",)}
    assert run_module.run(request("one.csv", **given)) == 130
    assert "interrupted after 1 round; RMSE 3 (klms)" in capsys.readouterr().err


def test_a_killed_run_continues_from_its_last_state(monkeypatch):
    assert run_module.run(request(name="whole")) == 0
    monkeypatch.setattr(kept, "FIRST_SAVED", 0.0)
    stopped_after(monkeypatch, 400)
    saved = run_module._Run._save

    def save(self):
        # Nothing is saved at the end.
        if 0 < self.state.session.rounds < 400:
            saved(self)

    with monkeypatch.context() as patch:
        patch.setattr(run_module._Run, "_save", save)
        raises(RuntimeError, "the machine has failed", run_module.run, request())
    assert run_module.run(request()) == 0
    assert counts("results/s") == counts("results/whole")


def piped(monkeypatch, content):
    class Stdin:
        buffer = io.BytesIO(content)

    monkeypatch.setattr("sys.stdin", Stdin)


@pytest.mark.parametrize("replay", [False, True])
def test_a_pipe_continues_with_new_rows_or_from_its_first(monkeypatch, replay):
    content = Path("s.csv").read_bytes()
    lines = content.splitlines(keepends=True)
    given = {"name": "p", "classes": ("no", "yes"), "algorithms": ("rbp",)}
    piped(monkeypatch, b"".join(lines[:400]))
    assert run_module.run(request("-", **given)) == 0
    assert {row[5] for row in rows("results/p")} == {"399"}
    piped(monkeypatch, content if replay else b"".join([lines[0], *lines[400:]]))
    assert run_module.run(request("-", **given, replay=replay)) == 0
    assert {row[5] for row in rows("results/p")} == {"500"}
    piped(monkeypatch, content)
    # With the gamma of the first 399 rows, as above.
    gamma = rows("results/p")[0][4].removeprefix("gaussian(gamma=").removesuffix(")")
    assert run_module.run(request("-", **{**given, "name": "q"}, gamma=(gamma,))) == 0
    assert counts("results/p") == counts("results/q")


def test_what_is_said_of_the_rows_of_a_pipe(monkeypatch):
    lines = Path("s.csv").read_bytes().splitlines(keepends=True)
    given = {"name": "p", "classes": ("no", "yes"), "algorithms": ("rbp",)}
    for name in ("PIECE_BYTES", "BLOCK_BYTES", "HEAD_BYTES"):
        monkeypatch.setattr(f"budgetrun.data.content.{name}", 2000)
    piped(monkeypatch, b"".join([*lines, *lines[1:], *lines[1:], b"1,2,3,4,red,maybe\n"]))
    told = r":1502:6: label 'maybe' is not one of .*; [\d,]+ rows of this input were learned: go on with what follows$"
    raises(InputError, told, run_module.run, request("-", **given))
    piped(monkeypatch, b"".join([lines[0], *lines[::-1][:-1]]))
    told = r"^standard input: its rows are not the [\d,]+ that were played; without --replay they follow those$"
    raises(InputError, told, run_module.run, request("-", **given, replay=True))
    piped(monkeypatch, b"".join([lines[0], *(line for line in lines if line.endswith(b"yes\n"))]))
    told = r"^standard input: every row that has come so far has the label yes; name all labels \(--classes\)$"
    raises(InputError, told, run_module.run, request("-", name="q"))


def test_other_options_other_files_and_other_results_are_refused(monkeypatch):
    os.makedirs("results/other")
    Path("results/other/manifest.json").write_text("{}")
    raises(InputError, "holds other results", run_module.run, request(name="other"))
    stopped_after(monkeypatch, 300, signal.SIGINT)
    assert run_module.run(request()) == 130
    with pytest.raises(InputError, match=r"different options \(--budget, --seeds\)"):
        run_module.run(request(budgets=(30,), seeds=1, name="s"))
    before = contents("results/s")
    for change in (lambda text: text.replace("red", "blue"), lambda text: text[: text.index("\n", 3000) + 1]):
        text = Path("s.csv").read_text()
        Path("s.csv").write_text(change(text))
        with pytest.raises(InputError, match=r"the file has changed since 3.. of its rows were played; start again"):
            run_module.run(request())
        assert contents("results/s") == before
        Path("s.csv").write_text(text)
    assert run_module.run(request(force=True)) == 0
    assert len([name for name in os.listdir("results") if name.startswith("s.old")]) == 1


def test_other_options_write_beside_the_first(capsys):
    for budget, name in ((30, "s"), (20, "s-2"), (10, "s-3"), (20, "s-2"), (30, "s")):
        assert run_module.run(request(budgets=(budget,), seeds=1, algorithms=("rbp",))) == 0
        assert Path(f"results/{name}/runs.csv").is_file()
        told = capsys.readouterr().err
        assert f"results go to results/{name}\n" in told or name == "s"
    assert "results/s-2: finished" in told or sorted(os.listdir("results")) == ["s", "s-2", "s-3"]
    assert "name: s-3\n" in Path("results/s-3/config.yaml").read_text()


def test_a_missing_file_is_said_before_anything_else():
    for name in ("nofile.csv", "no/folder", "a" * 400):
        with pytest.raises(InputError, match=f"^{name}: no such file$"):
            run_module.run(request(name, algorithms=("nope",), task="regression", metrics=("f1",)))


def contents(folder):
    return {path: path.read_bytes() for path in Path(folder).rglob("*") if path.is_file()}


@pytest.mark.parametrize("rounds", [300, None])
def test_rows_that_were_added_are_played(monkeypatch, rounds):
    lines = Path("s.csv").read_text().splitlines(keepends=True)
    given = {"gamma": ("0.1",), "scale": "running"}
    assert run_module.run(request(name="whole", **given)) == 0
    Path("s.csv").write_text("".join(lines[:600]))
    if rounds:
        stopped_after(monkeypatch, rounds, signal.SIGINT)
    assert run_module.run(request(**given)) == (130 if rounds else 0)
    Path("s.csv").write_text("".join(lines))
    assert run_module.run(request(**given)) == 0
    assert counts("results/s") == counts("results/whole")


def test_a_file_that_is_replaced_between_its_two_readings(monkeypatch):
    from budgetrun.data.tables.table import Table

    real = Table.chunks

    def chunks(self, *args, **given):
        # The classes are known by now.
        Path("s.csv").write_text(Path("s.csv").read_text().replace("yes", "aye"))
        return real(self, *args, **given)

    monkeypatch.setattr(Table, "chunks", chunks)
    raises(InputError, r"s.csv: the file changed while it was read", run_module.run, request())
    assert not os.path.exists("results/s")


def test_mistakes_are_said_of_options():
    wrong = ("rbp", "Forgetron:budgets=3", "forgetton")
    found = faults.message(run_module.run, request(algorithms=wrong, select=("hedge:rate=-1",)))
    assert not os.path.exists("results/s")
    assert found.splitlines() == [
        "--algorithm Forgetron:budgets=3: budgets: unknown key; did you mean 'budget'?  (allowed: name, variant, "
        "label, budget)",
        "--algorithm forgetton: name: unknown 'forgetton'; did you mean 'forgetron'?  (budgetrun list algorithms)",
        "--select hedge:rate=-1: rate: unknown key  (allowed: rule, of, label)",
    ]


def test_results_are_moved_aside_twice_in_a_second(monkeypatch):
    monkeypatch.setattr("time.strftime", lambda form: "now")
    for _ in range(3):
        assert run_module.run(request(algorithms=("rbp",), force=True)) == 0
    assert sorted(os.listdir("results")) == ["s", "s.old-now", "s.old-now-2"]


@pytest.mark.parametrize("end", ["\n", "\r", "\x85", "\u2028", "\x00"])
def test_names_of_columns_stay_in_their_comments(end):
    name = f"colour{end}tie: positive{end}metrics: [f1]"
    pd.read_csv("s.csv").rename(columns={"color": name}).to_parquet("t.parquet")
    assert run_module.run(request("t.parquet", algorithms=("rbp",))) == 0
    config = config_module.load("results/t/config.yaml")
    assert (config.tie, config.metrics) == ("mistake", ())
    assert "tie: positive" in Path("results/t/config.yaml").read_text()


def test_the_report_belongs_to_what_has_to_be_written():
    def full(folder):
        raise CannotWriteError(f"{folder}: cannot be written (No space left on device)", "No space left on device")

    faults.message(run_module.run, request(), full, kind=CannotWriteError)
    reports = []
    assert run_module.run(request(), reports.append) == 0
    assert reports == [Path("results/s")]
    assert load_state("results/s/stream.state")[0].ended


def test_a_formula_needs_the_number_of_rounds(monkeypatch):
    assert run_module.run(request(algorithms=("fogd:features=10,step=1 / sqrt(T)",))) == 0
    piped(monkeypatch, Path("s.csv").read_bytes())
    raises(InputError, "depends on T", run_module.run, request("-", algorithms=("fogd:features=10,step=1 / sqrt(T)",)))


def test_metrics_of_a_stream_are_those_of_a_sweep_also_if_it_was_stopped(monkeypatch):
    names = ("f1", "auc", "brier", "sliding_error", "fading_error")
    run_module.run(request(name="whole", metrics=names))
    stopped_after(monkeypatch, 300)
    faults.message(run_module.run, request(name="parts", metrics=names), kind=RuntimeError)
    run_module.run(request(name="parts", metrics=names))
    assert config_module.load("results/whole/config.yaml").metrics == names
    swept("whole")
    found = []
    for folder in ("results/whole", "results/parts", "swept/whole"):
        found.append(sorted_runs(folder)[["label", *names, "confusion"]])
        assert found[-1].notna().all(axis=None)
    # Scores of explicit features are sums over blocks, whose last digits depend on how a stream is divided.
    exact = ~found[0]["label"].isin(["fogd", "linear_perceptron"])
    for other in found[1:]:
        pd.testing.assert_frame_equal(found[0][exact], other[exact], check_exact=True)
        pd.testing.assert_frame_equal(found[0], other, rtol=1e-9)
    run_module.run(request(name="other"))
    assert pd.read_csv("results/other/runs.csv")["f1"].isna().all()


def test_a_metric_that_there_is_not():
    wanted = "sliding_error, fading_error, f1, kappa, auc, brier, log_loss, kept_bytes"
    said = f"--metrics: no metric 'kapa'; did you mean 'kappa'?  (allowed: {wanted})"
    assert faults.message(metrics_of, ("f1", "kapa")) == said
    assert metrics_of(("f1", "auc", "f1")) == ("f1", "auc")


def test_several_classes_with_any_learner(monkeypatch):
    table = pd.read_csv("s.csv")
    table["label"] = np.where(table["color"] == "red", "red", table["label"])
    table.to_csv("three.csv", index=False)
    algorithms = ("perceptron", "perceptron(one_vs_rest)", "forgetron", EPSILON, "linear_perceptron")
    given = {"source": "three.csv", "algorithms": algorithms}
    assert run_module.run(request(**given)) == 0
    labels = ["perceptron", "perceptron(one_vs_rest)", "forgetron(self_tuned_one_vs_rest)", "ahpatron(one_vs_rest)"]
    labels += ["linear_perceptron(one_vs_rest)", "logistic(one_vs_rest)", "majority(one_vs_rest)"]
    assert {row[1] for row in rows("results/three")} == set(labels)
    assert swept("three") == rows("results/three")
    # It continues from a file, too.
    stopped_after(monkeypatch, 300, signal.SIGINT)
    assert run_module.run(request(**given, name="two")) == 130
    assert run_module.run(request(**given, name="two")) == 0
    assert counts("results/two") == counts("results/three")


REGRESSION = ("klms:step=0.5", "norma", "krls", "qklms:epsilon=1", ALGORITHMS[-1], "aons_ogs:alpha=0.3,C=9")
ERRORS = ["label", "budget", "seed", "n_examples", "updates", "support_size", "mae", "rmse", "r2"]


@pytest.fixture
def numbers():
    table = pd.read_csv("s.csv")
    table["label"] = np.round(np.sin(table["a"]) + table["b"] / 10 + (table["color"] == "red"), 6)
    table.rename(columns={"label": "price"}).to_csv("prices.csv", index=False)
    return table["label"].to_numpy()


def errors_of(folder):
    runs = sorted_runs(folder)
    assert (runs["mistakes"] == 0).all()
    return runs[ERRORS]


@pytest.mark.parametrize("options", [{}, {"shuffle": 3}])
def test_numbers_as_labels_give_the_errors_of_a_sweep_also_if_it_was_stopped(numbers, monkeypatch, capsys, options):
    given = {"source": "prices.csv", "label": "price", "task": "regression", "algorithms": REGRESSION, **options}
    assert run_module.run(request(**given, name="whole")) == 0
    assert swept("whole") == rows("results/whole")
    if not options:
        stopped_after(monkeypatch, 300, signal.SIGINT)
        capsys.readouterr()
        assert run_module.run(request(**given, name="parts")) == 130
        said = capsys.readouterr().err
        assert "; RMSE 0." in said
        assert "online error" not in said
        assert run_module.run(request(**given, name="parts")) == 0
    whole = errors_of("results/whole")
    # Scores of explicit features, and of coordinates, are sums over blocks.
    exact = ~whole["label"].isin(["fogd", "aons_ogs", "krls"])
    for folder in ("swept/whole", *([] if options else ["results/parts"])):
        other = errors_of(folder)
        pd.testing.assert_frame_equal(whole[exact], other[exact], check_exact=True)
        pd.testing.assert_frame_equal(whole, other, rtol=1e-7)
    # R2 is that of all labels: 1 minus the mean squared error over their variance.
    np.testing.assert_allclose(whole["r2"], 1 - whole["rmse"] ** 2 / numbers.var(), rtol=1e-9)


@pytest.mark.parametrize("suffix", ["npz", "libsvm", "pipe"])
def test_numbers_in_files_without_columns_and_in_pipes(numbers, monkeypatch, suffix):
    X, listed = pd.read_csv("s.csv")[list("abcd")].to_numpy() / 100, numbers.tolist()
    given = {"task": "regression", "algorithms": ("klms:step=0.5",), "budgets": (30,), "gamma": ("1",), "scale": "none"}
    if suffix == "npz":
        np.savez("n.npz", X=X, y=numbers)
    elif suffix == "libsvm":
        texts = [" ".join(f"{j}:{v!r}" for j, v in enumerate(x, 1)) for x in X.tolist()]
        Path("n.libsvm").write_text("".join(f"{y} {text}\n" for y, text in zip(listed, texts, strict=True)))
    else:
        lines = [",".join(map(repr, [y, *x])) for y, x in zip(listed, X.tolist(), strict=True)]
        piped(monkeypatch, "\n".join(lines).encode())
        given["label"] = "first"
    assert run_module.run(request("-" if suffix == "pipe" else f"n.{suffix}", name="n", **given)) == 0
    learner = find("klms", task="regression")(budget=30, step=0.5)
    scores = Group(Gaussian(gamma=1), [learner]).feed(X, numbers[None])[0]
    (rmse,) = errors_of("results/n").query("label == 'klms'")["rmse"]
    assert rmse == pytest.approx(np.sqrt(np.mean((scores - numbers) ** 2)), rel=1e-12)


MEASURED = "these look like measurements, not classes; name another column with --label, or learn numbers with"


@pytest.mark.parametrize(("given", "message"), [
    ({"task": "auto"}, MEASURED),
    ({"label": "color"}, "--task regression needs numbers as labels, and column 5 (color) is text, such as "),
    ({"metrics": ("f1", "auc")}, "--metrics f1,auc: goes with classes, not with --task regression; remove it"),
    ({"classes": ("a",)}, "--classes a: goes with classes, not with --task regression; remove it"),
    ({"algorithms": ("rbp",)}, "'rbp' learns two classes or several classes"),
])  # fmt: skip
def test_what_does_not_go_with_numbers(numbers, given, message):
    asked = {"source": "prices.csv", "label": "price", "task": "regression", "algorithms": REGRESSION}
    assert message in faults.message(run_module.run, request(**{**asked, **given}))


def test_an_error_in_the_middle_of_a_piece_leaves_the_last_whole_state(monkeypatch):
    """Of two groups of learners, one has played the piece and the other has not."""
    given = {"gamma": ("0.1", "1"), "algorithms": ("rbp",)}
    run_module.run(request(name="whole", **given))
    monkeypatch.setattr(kept, "FIRST_SAVED", 0.0)
    monkeypatch.setattr(kept, "RARELY", 0.0)
    real, fed = Group.feed, []

    def feed(group, X, Y):
        fed.append(group)
        # In the twelfth piece.
        if len(fed) == 24:
            raise RuntimeError("the machine has failed")
        return real(group, X, Y)

    monkeypatch.setattr(Group, "feed", feed)
    raises(RuntimeError, "the machine has failed", run_module.run, request(name="parts", **given))
    monkeypatch.setattr(Group, "feed", real)
    state, _ = load_state("results/parts/stream.state")
    assert 0 < state.session.rounds < 500
    assert {group.rounds for group in state.session._groups} == {state.session.rounds}
    run_module.run(request(name="parts", **given))
    assert counts("results/parts") == counts("results/whole")
