"""The site of an arena: its numbers are those of the runs, and an outsider's learner and stream are on it."""

import json
import re
import shutil
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner
from sweeping import config, rows, run, swept_folder

from budgetrun.cli import main
from budgetrun.papers.arena.site import Arena
from budgetrun.results.store.read import load

pytestmark = pytest.mark.faults

RNG = np.random.default_rng(0)
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--virtual-time-budget=20000",
    "--enable-logging=stderr",
]  # fmt: skip
# Choose another stream, axis, size and learner, hover over a point, and look for a learner; then tell what is there.
ACTS = """<script type="module">
const at = id => document.getElementById(id), wait = () => new Promise(done => setTimeout(done, 1500));
const change = (id, i) => { at(id).selectedIndex = i; at(id).dispatchEvent(new Event("input")); };
await wait();
change("stream", 1);
change("axis", 1);
change("size", 1);
change("learner", 2);
await wait();
const points = document.querySelectorAll("#front path[aria-roledescription=point]");
for (const event of ["pointerover", "pointermove"])
  points[0].dispatchEvent(new PointerEvent(event, { bubbles: true, clientX: 5, clientY: 5 }));
await wait();
const told = {
  seen: points.length,
  tip: document.querySelector("#vg-tooltip-element")?.textContent ?? "",
  bars: document.querySelectorAll("#wins path").length,
  lines: document.querySelectorAll("#anytime path").length,
  wide: document.documentElement.scrollWidth > innerWidth,
};
at("find").value = "rbp";
at("find").dispatchEvent(new Event("input"));
await wait();
told.found = [...document.querySelectorAll("#table tbody th")].map(cell => cell.textContent);
document.body.dataset.told = JSON.stringify(told);
</script>"""
LAZY = "import sys\nfor _ in sys.stdin:\n    print(1, flush=True)\n    sys.stdin.readline()\n"


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """The results and the site of a small arena with a stream of one's own and a program that always answers 1."""
    folder = tmp_path_factory.mktemp("arena")
    X = RNG.normal(size=(300, 3))
    y = np.where(X[:, 0] > 0, "up", "down")
    (folder / "mine.csv").write_text("".join(f"{y[i]},{','.join(map(str, X[i]))}\n" for i in range(300)))
    (folder / "lazy.py").write_text(LAZY)
    algorithms = [
        {"name": "majority"},
        {"name": "logistic", "step": [0.1, 0.3]},
        {"name": "rbp", "learner_memory": ["6KB", "8KB"], "seeds": "by_repetition"},
        {"name": "stoptron", "learner_memory": ["6KB", "8KB"]},
        {"name": "command", "label": "my program", "command": f"{sys.executable} {folder / 'lazy.py'}"},
    ]
    data = [
        {"name": "noisy_gaussians", "label": "clouds", "options": {"n_per_class": 150}},
        {"name": "mine", "path": "mine.csv", "order": "permuted"},
    ]
    metrics = ["prefix_log_loss", "kept_bytes"]
    given = {"datasets": data, "algorithms": algorithms, "metrics": metrics, "tie": "positive", "repetitions": 3}
    results = swept_folder(config(folder, "own", **given), folder, jobs=1)
    done = CliRunner().invoke(main, ["site", str(results)])
    assert done.exit_code == 0, done.output
    return results


def data_of(page):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)[1])


def test_errors_bytes_and_seconds_are_those_of_the_runs(played):
    data = data_of((played / "site" / "index.html").read_text())
    assert data["streams"] == ["clouds", "mine"]
    assert "my program" in data["learners"]
    found = {(data["streams"][r["s"]], data["learners"][r["a"]], r["b"]): r for r in data["rows"]}
    assert {b for _, name, b in found if name == "RBP"} == {"6 KB", "8 KB"}
    of_runs = [row for row in rows(played) if row["dataset"] == "mine" and row["label"] == "rbp"]
    for size in ("6000", "8000"):
        own = [row for row in of_runs if row["learner_memory"] == size]
        late = [int(r["mistakes"]) - int(r["prefix_mistakes"]) for r in own]
        error = 100 * np.mean(late) / (300 - int(own[0]["prefix_examples"]))
        row = found["mine", "RBP", f"{int(size) // 1000} KB"]
        assert row["e"] == pytest.approx(error, abs=6e-4)
        assert row["k"] == round(np.mean([float(r["kept_bytes"]) for r in own]))
        assert row["k"] <= int(size)
    # A program that always answers 1 errs as often as a class occurs.
    assert found["mine", "my program", ""]["e"] == pytest.approx(50, abs=10)


def test_within_a_size_the_best_and_what_is_not_worse_are_marked(played):
    data = data_of((played / "site" / "index.html").read_text())
    for s in range(2):
        fit = [row for row in data["rows"] if row["s"] == s and "8000" in row.get("w", {})]
        # Only one row of a learner counts within a size; a process is larger than that.
        assert len({row["a"] for row in fit}) == len(fit) == 4
        best = min(row["e"] for row in fit)
        for row in fit:
            worse, near = row["w"]["8000"]
            assert worse == pytest.approx(row["e"] - best, abs=2e-3)
            assert near or worse > 0


def test_linear_models_of_other_packages_are_linear():
    given = {
        "vw": {"options": ("",)},
        "vw -q ::": {"options": ("-q ::",)},
        "sgd": {"model": ("linear_model.SGDClassifier",), "components": (None,)},
        "nystroem": {"model": ("linear_model.SGDClassifier",), "components": (300,)},
        "tree": {"model": ("tree.HoeffdingTreeClassifier",)},
        "own": {"command": ("./mine",)},
    }
    arena = object.__new__(Arena)
    families = dict.fromkeys(given, "program") | {"logistic": "linear", "rbp": "kernel"}
    algorithms = {label: SimpleNamespace(parameters=one) for label, one in given.items()}
    arena.results = SimpleNamespace(families=families, algorithms=algorithms)
    assert [label for label, family in arena.families.items() if family == "linear"] == ["vw", "sgd", "logistic"]


def test_the_first_sentences_name_the_best(played):
    arena = Arena(load(played))
    ranks = arena.ranks(8000)
    assert set(ranks.labels) == {"majority", "logistic", "rbp", "stoptron"}
    (sentence,) = [text for text in arena.sentences if text.startswith("Within 8 KB, ")]
    best = arena.results.title(ranks.labels[0])
    said = "has the best mean rank over 2 streams of the 4 learners that fit"
    assert f"Within 8 KB, {best} ({ranks.ranks.min():.1f}) {said}" in sentence
    assert ("lose to a linear one" in sentence) == bool(arena.lost_to_linear(8000))


def test_results_without_bytes_have_no_site(tmp_path, capsys):
    path = config(tmp_path, algorithms=[{"name": "perceptron"}])
    run(capsys, "sweep", path, "--jobs", 1, "--results", tmp_path)
    code, _, err = run(capsys, "site", tmp_path / "small")
    assert (code, "no run has kept_bytes; add metrics: [kept_bytes, ...] to the config" in err) == (2, True)


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")
@pytest.mark.parametrize("width", [1400, 420])
def test_a_browser_draws_the_charts_without_an_error(played, tmp_path, width):
    # The same page, after a click on a family, another stream, axis, size and learner; then it tells what it shows.
    page = (played / "site" / "index.html").read_text()
    tried = played / "site" / "tried.html"
    tried.write_text(page.replace("</body>", ACTS + "</body>"))
    command = [CHROMIUM, *FLAGS, f"--window-size={width},1600", f"--user-data-dir={tmp_path}"]
    done = subprocess.run([*command, "--dump-dom", tried.as_uri()], capture_output=True, text=True, timeout=120)
    tried.unlink()
    console = [line for line in done.stderr.splitlines() if "CONSOLE" in line and "ResizeObserver" not in line]
    assert console == []
    found = json.loads(re.search(r'data-told="([^"]*)"', done.stdout)[1].replace("&quot;", '"'))
    assert found["found"] == ["RBP"]
    assert "learner" in found["tip"]
    assert min(found["seen"], found["bars"], found["lines"]) > 0
    assert not found["wide"]
