"""The command line: exit codes, messages, and commands without data."""

import gzip
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete
from faults import raising
from sweeping import COMMAND, TOP, config, printed, run, untimed

from budgetrun import cli, kernels, learners
from budgetrun.base.registry import parameters
from budgetrun.config import catalog
from budgetrun.papers import solvers
from budgetrun.papers.fleets.algorithm import SharedMemory

pytestmark = pytest.mark.usefixtures("here", "no_data")

VERBS = ["sweep", "merge", "plot", "report", "bounds", "status", "list", "check", "data"]


@pytest.fixture
def command(capsys):
    return lambda *arguments: run(capsys, *arguments)


def own(text, **changes):
    """Write a stream and a config for it; return the file of the config."""
    Path("own.csv").write_text(text)
    return config(".", datasets=[{"name": "own", "path": "own.csv"} | changes], repetitions=1)


GENERATED = "  noisy_gaussians: 300 rows x 2 features; 2 classes: -1 (150), 1 (150)\n"
NOTHING = "nowhere: no results here (no manifest.json); to get some: budgetrun sweep CONFIG"
GOOD = "".join(f"{i % 2},{i % 7},{i % 5}\n" for i in range(40))


# -- help --------------------------------------------------------------------------------------------------------------


def test_verbs_are_in_the_order_of_a_days_work(command):
    code, out, err = command("--help")
    assert (code, err) == (0, "")
    listed = [line.split()[0] for line in out.partition("Commands:\n")[2].splitlines() if line.startswith("  ")]
    assert [word for word in listed if word in VERBS] == VERBS
    assert [command(verb, "--help")[0] for verb in VERBS] == [0] * len(VERBS)


def asked(*arguments, **environment):
    """Run the command in a process of its own; return what it prints, and the heavy modules that it imports."""
    code = "import sys, atexit; atexit.register(lambda: print(*sys.modules, file=sys.stderr)); " + COMMAND
    given = {"env": {**os.environ, "PYTHONPATH": str(TOP), **environment}, "capture_output": True, "check": True}
    done = subprocess.run([sys.executable, "-c", code, *arguments], text=True, **given)
    heavy = {"pandas", "matplotlib", "numba", "scipy", "sklearn", "pooch", "numpy", "joblib", "pydantic"}
    return done.stdout, heavy & set(done.stderr.split())


COMPLETING = {"_BUDGETRUN_COMPLETE": "bash_complete", "COMP_WORDS": "budgetrun list algorithms for", "COMP_CWORD": "3"}


@pytest.mark.parametrize("arguments", [["sweep", "--help"], ["--version"], []])
def test_help_and_completion_are_quick(arguments):
    out, heavy = asked(*arguments, **({} if arguments else COMPLETING))
    assert heavy == set()
    assert arguments or out == "plain,forgetron\nplain,forks\n"


# -- a day's work ------------------------------------------------------------------------------------------------------


def test_a_days_work(command):
    path = config(".")
    said = "small.yaml: valid; 8 settings of 4 algorithms on 1 dataset\n" + GENERATED
    assert command("check", path) == (0, said, "")
    code, out, err = command("sweep", path, "--dry-run")
    assert (code, out.splitlines()[0], err) == (0, "small: 16 runs, 0 finished, 16 to do", "")
    assert os.listdir() == ["small.yaml"]
    out, err = printed(0, command("sweep", path, "--jobs", 1))
    assert "Online error in percent." in out
    assert untimed(err).splitlines() == [
        "small: 16 runs to do, 0 finished, in results/small",
        "16/16 runs, _ s",
        "results/small: 12 files of tables and figures, and the page results/small/report.html",
    ]
    assert command("status", "results") == (0, "results/small: 16 of 16 runs finished\n", "")
    code, out, _ = command("plot", "results/small")
    figures = [f"results/small/figures/error_noisy_gaussians.{kind}" for kind in ("png", "svg")]
    assert (code, out.split()) == (0, figures)
    out, _ = printed(0, command("report", "results/small"))
    assert "page     results/small/report.html" in out
    code, out, _ = command("sweep", path, "--dry-run")
    assert out.splitlines()[0] == "small: 16 runs, 16 finished, 0 to do"
    code, out, _ = command("sweep", path, "--dry-run", "--force")
    assert out.splitlines()[0] == "small: 16 runs, 0 finished, 16 to do"


def test_status_takes_a_config(command, small):
    said = (0, "results/small: 16 of 16 runs finished\n", "")
    assert command("status", "small.yaml") == command("status", "results/small") == said
    said = "results/quickstart: no results here (no manifest.json); to get some: budgetrun sweep CONFIG\n"
    assert command("status", "quickstart") == (2, "", said)


@pytest.mark.parametrize("what", ["algorithms", "kernels", "datasets", None])
def test_all_that_is_listed_has_a_line(command, what):
    code, out, err = command("list", *([what] if what else []))
    assert (code, err) == (0, "")
    known = {"algorithms": "rbp [multiclass] ", "kernels": "gaussian", "datasets": "usps", None: "quickstart"}
    assert known[what] in out
    assert all(len(line.split(None, 1)) == 2 for line in out.splitlines())


def test_list_shows_what_an_algorithm_or_a_kernel_takes(command):
    code, out, err = command("list", "algorithms", "cks_2003")
    assert (code, err) == (0, "")
    assert [line for line in out.splitlines() if line[:1] not in ("", " ")] == ["cks_2003(fixed)", "cks_2003(variable)"]
    assert "  budget: an integer >= 1; required. " in out
    assert (
        "  Cost: O(B d) per round.\n  Memory: at most B examples between rounds, B the budget.\n"
        "  Classes: two; with task: multiclass one learner per class (variant: fixed_one_vs_rest).\n" in out
    )
    both = "with [multiclass] takes several, and so does variant: one_vs_rest."
    assert f"  Classes: two; the learner of the same name {both}\n" in command("list", "algorithms", "rbp")[1]
    assert command("list", "algorithms")[1].splitlines()[-1].startswith("NAME(one_vs_rest) ")
    assert "  Paper: Crammer, Kandola & Singer (2004)" in out
    assert "\nmpu [solver] " in command("list", "algorithms")[1]
    assert "bsgd(merging) [multiclass]\n" in command("list", "algorithms", "bsgd(merging)")[1]
    assert command("list", "algorithms", "forgetron(basic)")[1] in command("list", "algorithms", "forgetron")[1]
    assert "gamma: a number > 0; default none. auto is" in command("list", "kernels", "gaussian")[1]
    for what, name, said in (
        ("algorithms", "forgetton", "there is no 'forgetton'; did you mean 'forgetron'?  (budgetrun list algorithms)"),
        ("kernels", "gausian", "there is no 'gausian'; did you mean 'gaussian'?  (budgetrun list kernels)"),
        ("configs", "x", "takes no name; names go with list algorithms and list kernels"),
    ):
        assert command("list", what, name) == (2, "", f"list {what} {name}: {said}\n")


def test_every_page_is_whole(command):
    """Each parameter has a sentence, and each algorithm its cost and its paper."""
    for what, known in (("algorithms", dict(catalog._algorithms())), ("kernels", kernels.registry())):
        for title, cls in known.items():
            page = catalog._page(title, cls)
            assert page.startswith(f"{title}\n  ")
            whole = page.replace("\n      ", " ")
            for name in parameters(cls):
                shown = "seeds" if name == "seed" else name
                assert re.search(rf"^  {shown}: \S.*; (default|required)", whole, re.MULTILINE), (title, name)
                assert what == "kernels" or re.search(rf"^  {shown}: [^\n]*\. \S", whole, re.MULTILINE)
            if what == "algorithms":
                assert re.search(r"^  Cost: \S", page, re.MULTILINE), title
                assert re.search(r"^  Paper: \S", page, re.MULTILINE), title


# -- completion --------------------------------------------------------------------------------------------------------


def completed(words, typed=""):
    return [item.value for item in ShellComplete(cli.main, {}, "budgetrun", "_X").get_completions(words, typed)]


@pytest.mark.parametrize("verb", ["sweep", "check", "status"])
def test_names_of_configs_are_completed(verb):
    assert "quickstart" in completed([verb], "quick")
    assert completed([verb], "ahpatron_t") == ["ahpatron_table2", "ahpatron_table5", "ahpatron_table5_seconds",
                                               "ahpatron_theorem4", "ahpatron_t"]  # fmt: skip


def test_names_of_algorithms_datasets_and_kernels_are_completed():
    known = {name for task in learners.BASES for name in learners.registry(task)}
    assert set(completed(["list", "algorithms"])) == known | {*solvers.registry(), SharedMemory.name}
    assert completed(["list", "kernels"]) == sorted(kernels.registry())
    assert completed(["data", "fetch"], "us") == ["usps", "usps_pairs"]
    assert completed(["sweep", "quickstart", "--only"], "algorithm=forg") == ["algorithm=forgetron"]
    assert completed(["sweep", "quickstart", "--only"], "dataset=us") == ["dataset=usps", "dataset=usps_pairs"]


def test_a_size_without_a_unit_is_refused(command):
    for size in ("8", "0.5", "999999"):
        code, _, err = command("sweep", config("."), "--memory", size)
        said = f"{size!r} has no unit, so it would mean bytes; write {size}G for gigabytes"
        assert (code, said in err) == (2, True)
    for size in ("8G", "500M", "1000000"):
        assert command("sweep", config("."), "--memory", size, "--dry-run")[0] == 0


def test_check_counts_every_setting_of_a_budgets_source(command):
    algorithms = [{"name": "rbp", "budget": {"of": "source"}}, {"name": "cks", "label": "source", "budget": [3, 4]}]
    said = "small.yaml: valid; 4 settings of 2 algorithms on 1 dataset\n" + GENERATED
    assert command("check", config(".", algorithms=algorithms)) == (0, said, "")


def test_a_profile_has_its_folder(command, unreported):
    path = config(".", profiles={"ci": {"n_examples": 40, "repetitions": 1}})
    assert command("sweep", path, "--profile", "ci", "--jobs", 1, "--only", "seed=1")[0] == 0
    assert sorted(os.listdir("results")) == ["ci"]
    said = "results/ci/small: 1 of 8 runs finished; to complete it: budgetrun sweep small.yaml --profile ci\n"
    assert command("status", "results/ci/small") == (0, said, "")


def test_status_writes_nothing_and_leaves_out_what_was_moved_aside(command, small, unreported):
    command("sweep", "small.yaml", "--jobs", 1, "--force")
    assert len(os.listdir("results")) == 2
    before = os.stat("results/small/runs.csv").st_mtime_ns
    assert command("status", "results")[1] == "results/small: 16 of 16 runs finished\n"
    assert os.stat("results/small/runs.csv").st_mtime_ns == before


def test_a_failed_run_gives_exit_code_1_and_the_other_configs_are_made(command, monkeypatch):
    reported = []
    monkeypatch.setattr("budgetrun.cli._report", reported.append)
    monkeypatch.setattr("budgetrun.learners.rbp.RBP.update", raising(ValueError("no")))
    one, two = config(".", "one"), config(".", "two", algorithms=[{"name": "perceptron"}])
    code, _, err = command("sweep", one, two, "--jobs", 1)
    assert (code, list(map(str, reported))) == (1, ["results/one", "results/two"])
    assert "6 runs failed; to repeat them: budgetrun sweep one.yaml\n" in err
    assert command("status", "results")[1] == (
        "results/one: 10 of 16 runs finished, 6 failed; to complete it: budgetrun sweep one.yaml\n"
        "results/two: 2 of 2 runs finished\n"
    )


def test_closing_the_output_early_is_not_an_error():
    code = f'PYTHONPATH={TOP} {sys.executable} -c "{COMMAND}" list datasets | head -1'
    done = subprocess.run(code, shell=True, capture_output=True, text=True, check=True)
    assert (len(done.stdout.splitlines()), done.stderr) == (1, "")


def test_an_interrupt_outside_a_sweep(command, monkeypatch):
    monkeypatch.setattr("budgetrun.runner.plan.make_plan", lambda *_, **__: signal.raise_signal(signal.SIGINT))
    monkeypatch.setattr("budgetrun.runner.shards.make_plan", lambda *_, **__: signal.raise_signal(signal.SIGINT))
    assert command("sweep", config(".")) == (130, "", "interrupted\n")


# -- data --------------------------------------------------------------------------------------------------------------


def test_data_missing(command, unreported, tmp_path):
    places = "".join(f"  put usps/zip.{part}.gz at {tmp_path}/cache/usps/zip.{part}.gz\n" for part in ("train", "test"))
    sentence = (
        f"dataset 'usps': 2 of 2 files are missing, and the download failed\n{places}"
        "  or name a folder that has them with --data or $BUDGETRUN_DATA\n"
    )
    listed = "usps: usps/zip.train.gz: missing\nusps: usps/zip.test.gz: missing\n"
    assert command("data", "fetch", "usps") == (1, listed, sentence)
    assert command("data", "verify", "usps") == (1, listed, "")
    assert command("data", "verify", "noisy_gaussians") == (0, "", "")
    assert command("data", "verify", "usps", "noisy_gaussians") == (1, listed, "")
    out, _ = printed(0, command("data", "list"))
    assert "usps               missing" in out
    code, _, err = command("sweep", config(".", datasets=[{"name": "usps"}]), "--jobs", 1)
    assert (code, err) == (1, f"{sentence}small: 0 runs to do, 0 finished, in results/small\n")


@pytest.mark.parametrize(("content", "start", "end"), [
    (gzip.compress(os.urandom(4000))[:-500],
     ": truncated or corrupt .gz file (Compressed file ended before the end-of-stream marker was reached)",
     "; replace it with a whole copy\n"),
    (gzip.compress(b"1 2 3\n"), ": not the usps/zip.train.gz of dataset 'usps': the sha256 of its",
     "remove it and type 'budgetrun data fetch usps'\n"),
], ids=["truncated", "wrong checksum"])  # fmt: skip
def test_a_wrong_file(command, content, start, end):
    os.makedirs("data/usps")
    for part in ("train", "test"):
        Path(f"data/usps/zip.{part}.gz").write_bytes(content)
    code, _, err = command("sweep", config(".", datasets=[{"name": "usps"}]), "--data", "data")
    assert (code, err.count("\n")) == (2, 1)
    assert err.startswith(f"{os.getcwd()}/data/usps/zip.train.gz{start}")
    assert err.endswith(end)
    assert command("data", "verify", "usps", "--data", "data")[0] == 1
    assert not os.path.exists("results")


@pytest.mark.parametrize(("text", "sentence"), [
    (GOOD + "1,nan,2\n", "own.csv:41:2: "),
    (GOOD + "2,3,4\n", "dataset 'own': .*found 3: 0 1 2; name those that become \\+1, e.g. 'positive: 2'"),
])  # fmt: skip
def test_a_bad_stream(command, text, sentence):
    code, out, err = command("sweep", own(text))
    assert (code, out) == (2, "")
    assert re.match(sentence, err)
    assert len(err.splitlines()) == 1
    assert not os.path.exists("results")


# -- messages ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", ["check", "sweep"])
def test_a_bad_config(command, verb):
    text = "name: bad\ndatasets: [{name: noisy_gaussians}]\nkernel: {name: linear}\nalgorithms: [{name: rpb}]\n"
    Path("bad.yaml").write_text(text)
    said = "bad.yaml:4: algorithms[0].name: unknown 'rpb'; did you mean 'rbp'?  (budgetrun list algorithms)\n"
    assert command(verb, "bad.yaml") == (2, "", said)


def test_check_says_which_files_are_missing_and_is_content(command):
    datasets = [{"name": "usps", "parts": ["train"], "test": ["test"]}]
    code, out, err = command("check", config(".", datasets=datasets, repetitions=1))
    assert (code, err) == (0, "")
    assert "  usps: 7,291 rows x 256 features; 10 classes: 0 (1,194), 1 (1,005), " in out
    assert "  note: dataset 'usps': 1 of 1 file is missing, and nothing was downloaded\n" in out


class Scanned:
    """A user's table, as found by scanning it."""

    features, label_found = ["a", "b"], "The label is column 'kind', the only one of text."
    n_rows, counts, notes = 40, {0: 20, 1: 20}, ["own.csv: feature b is constant: always 3"]

    def __init__(self, problems):
        self.problems = problems

    def scan(self):
        return self


@pytest.mark.parametrize(
    "problems", [[], ["own.csv: 3 of 40 rows have a missing value in column 'b'", "own.csv: 2 dates"]]
)
def test_check_reads_the_users_own_files(command, monkeypatch, problems):
    asked = []
    monkeypatch.setattr(
        "budgetrun.data.streams.open_table", lambda path, **given: asked.append((path.name, given)) or Scanned(problems)
    )
    code, out, err = command("check", own(GOOD))
    assert (code, err) == (2 if problems else 0, "".join(f"{problem}\n" for problem in problems))
    assert out.splitlines()[1:] == [
        "  own: 40 rows x 2 features; 2 classes: 0 (20), 1 (20)",
        "  own: The label is column 'kind', the only one of text.",
        "  own.csv: feature b is constant: always 3",
    ]
    assert asked == [("own.csv", {"label": "first", "missing": "refuse", "classes": None})]


def test_check_finds_classes_that_do_not_fit_the_task(command, monkeypatch):
    monkeypatch.setattr("budgetrun.data.streams.open_table", lambda *_, **__: Scanned([]))
    code, _, err = command("check", own("".join(f"{i % 3},{i % 7}\n" for i in range(40))))
    assert (code, err[:14]) == (2, "dataset 'own':")


@pytest.mark.parametrize("verb", ["check", "sweep"])
@pytest.mark.parametrize(
    "content", [b"label,a,b\n1,2,3\n", b"PAR1\x00\x15\x04", b"1 3:1 11:0.5\n", b"- a\n- b\n", b"{" * 9]
)
def test_data_are_not_a_config(command, verb, content):
    Path("stream.data").write_bytes(content)
    what = "not a config (a YAML file with the keys name, datasets and algorithms)"
    advice = "if it is data, run learners on it: budgetrun run stream.data"
    assert command(verb, "stream.data") == (2, "", f"stream.data: {what}; {advice}\n")


@pytest.mark.parametrize(("only", "sentence"), [
    ("dataset=usps", "--only dataset=usps: no such dataset  (allowed: noisy_gaussians)"),
    (
        "algorithm=forgetton",
        "--only algorithm=forgetton: no such algorithm; did you mean 'forgetron'?  (allowed: perceptron, "
        "remove_oldest, forgetron, forgetron(self_tuned), rbp)",
    ),
    ("budget=7", "--only budget=7: no such budget  (allowed: 5, 20, 0.25, 1, 10)"),
    ("budget=eta=1", "--only budget=eta=1: no such budget  (allowed: 5, 20, 0.25, 1, 10)"),
    ("seed=3", "--only seed=3: no such seed  (allowed: 0, 1, 2)"),
    ("repetition=2", "--only repetition=2: no such repetition  (allowed: 0, 1)"),
    ("task=x", "--only task=x: no such task  (allowed: -)"),
    ("colour=red", "--only colour=red: must be KEY=VALUE, where KEY is one of dataset, task, repetition, "
     "algorithm, budget, seed, setting"),
    ("budget", "--only budget: must be KEY=VALUE, where KEY is one of dataset, task, repetition, algorithm, "
     "budget, seed, setting"),
])  # fmt: skip
@pytest.mark.parametrize("dry", [[], ["--dry-run"]])
def test_only_what_there_is(command, only, sentence, dry):
    assert command("sweep", config("."), "--only", only, *dry) == (2, "", sentence + "\n")
    assert not os.path.exists("results")


def test_only_what_there_is_together(command):
    only = ["--only", "algorithm=perceptron", "--only", "seed=1", "--only", "seed=2"]
    sentence = f"{' '.join(only)}: each matches some runs, but no run matches all of them\n"
    assert command("sweep", config("."), *only) == (2, "", sentence)


def test_results_of_another_config(command, small, unreported):
    path = config(".", repetitions=1)
    _, err = printed(2, command("sweep", path, "--jobs", 1))
    assert err.splitlines() == [
        "results/small: these results are those of another config (it differs in: datasets, repetitions); "
        "rename the config, choose another folder with --results DIR, or move these results aside with --force"
    ]
    assert command("sweep", path, "--jobs", 1, "--force")[0] == 0
    assert len(os.listdir("results")) == 2


def test_a_results_folder_that_cannot_be_written(command):
    open("file", "w").close()
    for results in ("file", "file/below"):
        _, err = printed(2, command("sweep", config("."), "--results", results))
        assert err.splitlines() == [
            f"{results}/small: the results folder cannot be written (Not a directory); "
            "choose another with --results DIR"
        ]


@pytest.mark.parametrize(("arguments", "words"), [
    (["sweep", "small.yaml", "--memory", "lots"], "'lots' is not a size; give a number with K, M or G, like 8G"),
    (["sweep", "small.yaml", "--jobs", "0"], "0 is not in the range x>=1"),
    (["sweep", "small.yaml", "--backend", "dask"], "--backend dask and --scheduler ADDRESS must be given together"),
    (["sweep", "small.yaml", "--profile", "cli"], "small.yaml: unknown profile 'cli'; did you mean 'ci'?"),
    (["sweep", "small.yaml", "--data", "nowhere"], "--data: no folder nowhere; give the folder that holds the data"),
    (["sweep"], "Missing argument 'CONFIG...'"),
    (["swep"], "No such command 'swep'"),
    *(([verb, "nowhere"], NOTHING) for verb in ("status", "report", "plot")),
    (["data", "fetch", "uspz"], "uspz"),
    (["list", "things"], "things"),
])  # fmt: skip
def test_exit_code_2(command, arguments, words):
    config(".", datasets=[{"name": "usps"}], profiles={"ci": {"seeds": 1}})
    code, out, err = command(*arguments)
    assert (code, out) == (2, "")
    assert words in err
    assert not os.path.exists("results")


def test_a_broken_manifest(command):
    os.makedirs("results/small")
    Path("results/small/manifest.json").write_text("[]")
    sentence = "results/small/manifest.json: cannot be read; repeat the sweep: budgetrun sweep CONFIG\n"
    assert command("status", "results/small") == (2, "", sentence)
