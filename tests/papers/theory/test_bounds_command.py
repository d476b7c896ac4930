"""`budgetrun bounds`: its files, output and errors; the committed tables are about the committed runs."""

import shutil

import numpy as np
import pytest
from scipy.stats import t as student
from sweeping import config, csv_text, edited, printed, rows, run, swept_folder, written

from budgetrun.base.files import checkout
from budgetrun.papers import theory
from budgetrun.papers.bounds import check, figure
from budgetrun.papers.theory.mpu import NO_STEPS
from budgetrun.results.store.write import Store

pytestmark = pytest.mark.usefixtures("no_pictures")

ALGORITHMS = [
    {"name": "perceptron"},
    {"name": "forgetron", "variant": "self_tuned", "budget": [20, 90]},
    {"name": "projectron++", "eta": [0.1, 0.5]},
    {"name": "ahpatron", "epsilon": 0.9, "budget": 20},
    {"name": "rbp", "budget": 20, "seeds": 4},
    {"name": "rbp", "budget": 30, "label": "rbp(once)"},
    {"name": "cks", "budget": 20},
]
DATASETS = [{"name": "noisy_gaussians", "noise": 0.1, "options": {"n_per_class": 200}}]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A results folder, with a bound on most of its runs."""
    folder = tmp_path_factory.mktemp("bounds")
    return swept_folder(config(folder, datasets=DATASETS, algorithms=ALGORITHMS), folder, jobs=1)


@pytest.fixture
def results(made, tmp_path, no_data):
    """A copy of it, without data or network."""
    shutil.copytree(made, tmp_path / "small")
    shutil.rmtree(tmp_path / "small" / "parts")
    return tmp_path / "small"


@pytest.fixture
def command(capsys):
    return lambda *arguments: run(capsys, "bounds", *arguments)


def table(folder):
    return rows(folder, "bounds.csv")


def rewrite(folder, change):
    """Change the rows of runs.csv; ``change`` returns the row, or None."""
    changed = [new for row in rows(folder) if (new := change(row)) is not None]
    (folder / "runs.csv").write_text(csv_text(changed))
    # Accepted as it is.
    (folder / "runs.csv.sha256").unlink(missing_ok=True)


def test_both_sides_of_every_bound(command, results, drawn):
    code, out, err = command(results)
    assert (code, err) == (0, "")
    written_rows, runs = table(results), {row["run_id"]: row for row in rows(results)}
    # 2 repetitions: perceptron 2, forgetron 2 x 2, projectron++ 2, ahpatron 3 theorems, rbp 1 and 1.
    assert len(written_rows) == 2 * (2 + 4 + 2 + 3 + 1 + 1)
    for row in written_rows:
        ids = row["run_id"].split()
        of_runs = [runs[run_id] for run_id in ids]
        if row["counts"] == "mistakes":
            assert float(row["mistakes"]) == int(of_runs[0]["mistakes"])
        if row["applies"] == "yes":
            assert float(row["ratio"]) == pytest.approx(float(row["mistakes"]) / (float(row["bound"]) or 1))
            assert float(row["ratio"]) <= 1
        assert row["condition"] or row["theorem"].endswith("Lemma 1")
    own = [row for row in written_rows if row["label"] == "rbp"]
    assert [len(row["run_id"].split()) for row in own] == [4, 4]
    for row in own:
        counts = [int(runs[run_id]["mistakes"]) for run_id in row["run_id"].split()]
        half = student.ppf(0.9995, 3) * np.std(counts, ddof=1) / 2
        assert float(row["mistakes"]) == np.mean(counts)
        assert float(row["lower"]) == pytest.approx(np.mean(counts) - half)
    of_theorem = [row for row in written_rows if row["theorem"].endswith("(2008), Theorem 3")]
    assert {row["budget"]: row["applies"] for row in of_theorem} == {"20": "no", "90": "yes"}
    once = [row for row in written_rows if row["label"] == "rbp(once)"]
    assert {(row["applies"], row["condition"]) for row in once} == {("no", check.NO_SEEDS)}
    assert "No bound is about: cks.\n" in out
    assert "24 of 24 runs were checked.\n" in out
    assert "run the sweep again" not in out
    assert "void: B >= 83" not in out  # of the two budgets one is large enough
    assert "2 of 4" in out
    assert "void: a bound on an expectation: not testable with one seed" in out
    assert (results / "figures" / "bounds_noisy_gaussians.png").stat().st_size > 10_000
    # The same again, to the letter.
    first = (results / "bounds.csv").read_bytes()
    (results / "bounds.csv.gz").touch()
    command(results)
    assert (results / "bounds.csv").read_bytes() == first
    assert not (results / "bounds.csv.gz").exists()


@pytest.mark.parametrize("curves", [True, False])
def test_figures_show_the_numbers_of_the_table(curves, command, results, monkeypatch):
    if not curves:
        shutil.rmtree(results / "curves")
    figures = []
    monkeypatch.setattr(figure, "save", lambda one, _: figures.append(one))
    command(results)
    shown = {style: [] for style in ("-", "--", "None")}
    for line in figures[0].axes[0].lines:
        if line.get_marker() != "None":
            shown[line.get_linestyle()].append(line.get_ydata()[-1])
    at_end = {bound.name for bound in theory.registry() if not bound.anytime}
    wanted = {style: [] for style in shown}
    here = [row for row in table(results) if row["repetition"] == "0" and row["applies"] == "yes"]
    here = [row for row in here if row["counts"] != "halvings"]
    for label in dict.fromkeys(row["label"] for row in here):
        mine = [row for row in here if row["label"] == label]
        tightest = max(mine, key=lambda row: float(row["ratio"]))["run_id"]
        mine = [row for row in mine if row["run_id"] == tightest]
        wanted["-"].append(float(mine[0]["mistakes"]) / 4)
        for style, late in (("--", False), ("None", True)):
            values = [float(row["bound"]) / 4 for row in mine if (row["theorem"] in at_end) == late]
            wanted[style] += [min(values)] if values else []
    assert all(wanted.values())
    assert sorted(shown["-"]) == pytest.approx(sorted(wanted["-"]))
    assert sorted(shown["None"]) == pytest.approx(sorted(wanted["None"]))
    # After each round, from a coarser grid of norms.
    assert sorted(shown["--"]) == pytest.approx(sorted(wanted["--"]), rel=0.05)


def test_numbers_in_the_table(command, results):
    _, out, _ = command(results)
    lines = {tuple(line.split()[:2]): line for line in out.splitlines() if "Theorem 1" in line}
    line = lines["noisy_gaussians", "perceptron"]
    row = max((r for r in table(results) if r["theorem"].endswith("Theorem 1")), key=lambda r: float(r["ratio"]))
    assert f"{int(float(row['mistakes']))}" in line
    assert f"{float(row['ratio']):.3f}" in line
    assert f" {float(row['norm']):.4g} " in line
    assert "2 of 2" in line


def test_streams_and_all(command, results):
    _, out, _ = command(results, "--streams", 1)
    assert "12 of 24 runs were checked; --all checks the others, too.\n" in out
    assert {row["repetition"] for row in table(results)} == {"0"}
    _, out, _ = command(results, "--streams", 1, "--all")
    assert "24 of 24 runs were checked.\n" in out


def test_violated_bound_names_run_and_theorem(command, results):
    (run_id,) = [r["run_id"] for r in rows(results) if r["label"] == "perceptron" and r["repetition"] == "1"]
    rewrite(results, lambda row: row | ({"mistakes": "399"} if row["run_id"] == run_id else {}))
    out, err = printed(1, command(results))
    first, second = err.splitlines()
    name = f"violated: run {run_id} (noisy_gaussians, repetition 1, perceptron): 399 mistakes, but"
    assert first.startswith(f"{name} Liao et al. (2024), Theorem 2 allows ")
    assert second.startswith(f"{name} Dekel et al. (2008), Theorem 1 allows ")
    assert "VIOLATED" in out
    assert "2 are violated" in out


def test_expectation_is_violated_if_its_interval_is_above(command, results):
    """One seed far above proves nothing; all seeds do."""
    rewrite(results, lambda row: row | ({"mistakes": "420"} if row["label"] == "rbp" and row["seed"] == "0" else {}))
    assert command(results)[0] == 0
    rewrite(results, lambda row: row | ({"mistakes": f"42{row['seed']}"} if row["label"] == "rbp" else {}))
    _, err = printed(1, command(results))
    assert "violated: the 4 seeds (noisy_gaussians, repetition 0, rbp, budget 20): 421.5 expected mistakes, but" in err


def test_results_without_facts(command, results):
    """Results older than the column: bounds that need no facts are still evaluated."""
    rewrite(results, lambda row: {key: value for key, value in row.items() if key != "facts"})
    code, out, err = command(results)
    assert (code, err) == (0, "")
    reasons = {row["theorem"]: row["condition"] for row in table(results) if row["applies"] == "no"}
    needing = {f"Liao et al. (2024), {which}" for which in ("Theorem 6", "Lemma 1")}
    needing |= {"Dekel et al. (2008), Lemma 6", "Orabona et al. (2009), Theorem 4"}
    assert {name for name, why in reasons.items() if why.startswith("needs facts that these")} == needing
    assert "\nBounds without numbers need facts that older results do not have: run the sweep again.\n" in out
    assert any(r["theorem"] == "Dekel et al. (2008), Theorem 1" and r["applies"] == "yes" for r in table(results))


def test_results_without_curves(command, results):
    path, curves = results / "figures" / "bounds_noisy_gaussians.png", list((results / "curves").glob("*.npz"))
    kept = f"figure   {path}  (kept: curves/ lacks some of its runs)\n"
    for lost in (curves[:1], curves[1:]):
        for one in lost:
            one.unlink()
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"drawn with curves")
        code, out, _ = command(results)
        assert (code, kept in out, path.read_bytes()) == (0, True, b"drawn with curves")
    path.unlink()
    code, out, _ = command(results)
    assert (code, f"figure   {path}\n" in out) == (0, True)


def test_no_figures(command, results):
    shutil.rmtree(results / "figures", ignore_errors=True)
    out, _ = printed(0, command("--no-figures", results))
    assert "figure   " not in out
    assert not (results / "figures").exists()
    assert table(results)


def test_folder_of_folders(command, results):
    shutil.copytree(results, results.parent / "other")
    out, _ = printed(0, command(results.parent))
    assert (results.parent / "other" / "bounds.csv").read_bytes() == (results / "bounds.csv").read_bytes()
    assert out.count("24 of 24 runs") == 2


@pytest.fixture
def swept(here, capsys, unreported):
    """A function that runs a sweep over datasets, one of which may be a file of the user's own; return its folder."""

    def of(datasets, algorithms, own=(), **kernel):
        (here / "own.csv").write_text("".join(f"{label},{a:.6f},{b:.6f}\n" for label, a, b in own))
        given = {"name": "own", "datasets": datasets, "algorithms": algorithms}
        given["kernel"] = kernel or {"name": "gaussian", "gamma": 0.5}
        assert run(capsys, "sweep", written(here, given), "--jobs", 1)[0] == 0
        return here / "results" / "own"

    return of


def test_data_that_are_missing_or_others(tmp_path, capsys, swept):
    # Halfway the labels change their sides, and so does the best competitor that may.
    own = [(int((a > 0) == (i < 40)), a, b) for i, (a, b) in enumerate(np.random.default_rng(0).normal(size=(80, 2)))]
    algorithms = [
        {"name": "perceptron"},
        {"name": "forgetron", "variant": "self_tuned", "budget": [20, 30]},
        {"name": "modified_rbp", "budget": 1, "seeds": 2},
    ]
    folder = swept([{"name": "own", "path": "own.csv", "order": "file"}, *DATASETS], algorithms, own)
    out, _ = printed(0, run(capsys, "bounds", folder))
    assert "void: B >= 83, but B is 20 (and 1 other reason)\n" in out
    (best,) = {row["competitor"] for row in table(folder) if (row["dataset"], row["label"]) == ("own", "modified_rbp")}
    assert best.startswith("2 segments, C = ")
    drawn = {path.name for path in (folder / "figures").glob("bounds_*")}
    assert drawn == {"bounds_own.png", "bounds_noisy_gaussians.png"}
    named = [line.split()[0] for line in out.splitlines() if "2008" in line or "Theorem" in line]
    assert named == sorted(named, reverse=True)
    assert len(named) > len(set(named)) == 2
    (tmp_path / "own.csv").write_text((tmp_path / "own.csv").read_text().replace("0,", "1,", 1))
    _, err = printed(2, run(capsys, "bounds", folder))
    assert err.startswith(f"the data of 'own' are not those of the runs in {folder} (sha256 ")
    (tmp_path / "own.csv").unlink()
    _, err = printed(2, run(capsys, "bounds", folder))
    assert "own.csv" in err


def test_missing_data_of_a_card(command, results):
    missing = {"name": "ijcnn1", "label": "ijcnn1", "options": {}}
    with edited(results) as manifest:
        manifest["config"]["datasets"].append(manifest["config"]["datasets"][0] | missing)

    def change(row):
        # The Perceptron ran on the data that are missing alone.
        there = row["repetition"] == "1"
        return row | {"dataset": "ijcnn1"} if there else None if row["label"] == "perceptron" else row

    rewrite(results, change)
    out, err = printed(1, command(results))
    assert "ijcnn1" in err
    assert "11 of 23 runs were checked.\nNo bound is about: cks.\n" in out
    assert {row["dataset"] for row in table(results)} == {"noisy_gaussians"}


def test_several_classes_have_competitors_of_their_own(capsys, swept):
    own = [(i % 3, np.cos(2 * (i % 3)), np.sin(2 * (i % 3))) for i in range(90)]
    data = [{"name": "own", "path": "own.csv", "task": "multiclass"}]
    folder = swept(data, [{"name": "projectron++", "eta": 0.1}], own)
    assert run(capsys, "bounds", folder)[0] == 0
    (row,) = [row for row in table(folder) if row["applies"] == "yes"]
    # Three points, which a machine per class tells apart.
    assert float(row["loss"]) == 0


def test_bounds_on_the_updates_of_mpu(capsys, swept):
    algorithms = [
        {"name": "mpu", "accuracy": 0.01},
        {"name": "mpu", "accuracy": 0.01, "rho": 1.0, "label": "mpu(rho)"},
        {"name": "dcd"},
    ]
    folder = swept(DATASETS, algorithms, name="linear")
    code, out, err = run(capsys, "bounds", folder)
    assert (code, err) == (0, "")
    assert "No bound is about: dcd.\n" in out
    both = table(folder)
    assert {row["theorem"] for row in both} == {"Panagiotakopoulos & Tsampouka (2010), Theorem 2"}
    steps = {row["label"]: float(row["steps"]) for row in rows(folder)}
    assert {row["label"]: float(row["mistakes"]) for row in both} == {k: v for k, v in steps.items() if k != "dcd"}
    assert all(row["counts"] == "updates" and 0 < float(row["ratio"]) < 1 for row in both)
    # With a feature more the examples are longer.
    assert float(both[0]["bound"]) != float(both[1]["bound"])
    rewrite(folder, lambda row: row | {"steps": ""})
    shutil.rmtree(folder / "parts")
    run(capsys, "bounds", folder)
    assert {row["condition"] for row in table(folder)} == {NO_STEPS}


TOP = checkout()
# No bound is known for the learners of these.
WITHOUT = {"bsgd_table3", "field_classes", "many_kernels", "many_kernels_regression"}
WITHOUT |= {"regression", "regression_budgets", "regression_ogs", "auto_diabetes", "auto_usps"}
TABLES = sorted((TOP / "results").glob("*/bounds.csv*")) if TOP else []


@pytest.mark.committed
@pytest.mark.parametrize("path", TABLES, ids=lambda path: path.parent.name)
def test_committed_bounds_hold(path):
    mistakes = {row["run_id"]: row["mistakes"] or row["steps"] for row in Store(path.parent).rows().values()}
    bounds = rows(path.parent, path.name)
    assert any(row["applies"] == "yes" for row in bounds) == (path.parent.name not in WITHOUT)
    for row in bounds:
        ids = row["run_id"].split()
        assert all(run_id in mistakes for run_id in ids)
        if len(ids) == 1 and row["counts"] in ("mistakes", "updates"):
            assert float(row["mistakes"]) == pytest.approx(float(mistakes[ids[0]]), rel=1e-9)
        if row["applies"] == "yes":
            assert float(row["lower"] or row["mistakes"]) <= float(row["bound"]) * (1 + 1e-6) + 1e-6
