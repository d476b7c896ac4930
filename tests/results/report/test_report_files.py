"""The contents of the files: CSV, Markdown, LaTeX, the page, the figures and the words for the terminal."""

import itertools
import re
from html.parser import HTMLParser

import matplotlib.axes
import pytest
import sweeping
from fake_results import (
    REPORT,
    build,
    failed,
    of,
    paper_rows,
    run,
    summary,
    table_of,
    write_figures,
    write_report,
    written_file,
)
from sweeping import edited

from budgetrun.base.files import own_folder
from budgetrun.base.grid import Cell, Grid
from budgetrun.results.plotting import save, slug
from budgetrun.results.report import figures
from budgetrun.results.report.formats import WRITERS, template
from budgetrun.results.report.layout import Listing
from budgetrun.results.report.notes import warnings
from budgetrun.results.store.read import load

AUTO = {"name": "gaussian", "parameters": {"gamma": "auto"}}
HOSTILE = r"""<script>x</script>|_$y$ & 50% #{a}~^\ "q" 'r'"""


def read(folder, name):
    return (folder / name).read_text(encoding="utf-8")


def test_report_returns_all_that_it_wrote_and_gives_the_same_bytes_again(paper, monkeypatch):
    monkeypatch.setattr(figures, "save", save)
    first = {path: path.read_bytes() for path in write_report(paper)}
    names = [path.relative_to(paper).as_posix() for path in first]
    assert names == [
        *(f"tables/{name}.{suffix}" for name in ("table1", "seconds", "parts") for suffix in ("csv", "md", "tex")),
        *("figures/fig1.png", "figures/fig1.svg", "report.html"),
    ]
    assert all(first.values())
    assert {path: path.read_bytes() for path in write_report(paper)} == first
    text = (paper / "figures" / "fig1.svg").read_text(encoding="utf-8")
    about = ("budget B", "online error (%)", "Figure 1: the first dataset", "one, mean over the 2 splits (rbp: 3 seeds")
    assert all(words in text for words in about)
    for words in ("perceptron", "rbp, min to max over seeds", "hollow: published"):
        assert f">{words}</text>" in text


LONG = (
    "dataset=one label=rbp budget_fraction=0.5 budget= budget_mean=550 n_runs=6 n_streams=2 n_seeds=3 n_failed=0 "
    "online_error_percent=21 sd_percent=1.41421356 sd_over_seeds=1 min=19 max=23 support_size_mean=2100 "
    "published_percent=16 published_dataset=one published_label=rbp difference_points=5 difference_percent=31.25 "
    "relative_to_reference=0.95454545 outside_tolerance=yes"
)


def test_long_form(reported):
    rows = sweeping.rows(reported / "tables", "table1.csv")
    row = next(r for r in rows if (r["dataset"], r["label"], r["budget_fraction"]) == ("one", "rbp", "0.5"))
    assert row == dict(one.split("=") for one in LONG.split())
    blank = next(r for r in rows if (r["dataset"], r["label"]) == ("two", "perceptron"))
    assert blank["published_percent"] == blank["difference_percent"] == blank["outside_tolerance"] == ""


def test_markdown(reported):
    text = read(reported, "tables/table1.md")
    flat = re.sub(" +", " ", text)
    assert "## B = p/2\n\n| dataset | perceptron | rbp | rbp(read otherwise) |" in flat
    assert "| one | 11.00 ± 1.41 (8.00, +37.5%) | 21.00 ± 1.41 (16.00, +31.2%) | 9.60 ± 0.71 (16.00, -40.0%) |" in flat
    assert "| two | 5.00 (—) | 20.10 (20.00, +0.5%) | — (20.00) |" in flat
    assert "## Relative to perceptron" in text
    assert "| one | 1.000 | 0.955 | 0.436 |" in flat
    assert "## Cells that differ from the published value by more than 5%" in text
    assert "one, rbp, B = p/2: measured 21.00, published 16.00, +5.00 points (+31.2%)" in text
    assert "0.955. See 1." in text
    assert "What was found:\n\n1. It draws badly at p/2.\n" in text
    assert "*no explanation recorded*" in text
    assert "over repetitions × tasks after averaging over seeds" in text


def test_latex(reported):
    text = read(reported, "tables/table1.tex")
    assert r"\begin{tabular}{lrrr}" in text
    assert r"\multicolumn{4}{l}{$B = p/2$} \\" in text
    assert r"21.00 $\pm$ 1.41 (16.00, +31.2\%)" in text
    assert r"9.60 $\pm$ 0.71 (16.00, $-$40.0\%)" in text
    assert r"5.00 (---)" in text
    for rule in ("toprule", "midrule", "bottomrule"):
        assert rf"\{rule}" in text
    assert r"relative to perceptron 0.955. See 1." in text
    assert "\\begin{enumerate}\n  \\item It draws badly at p/2.\n\\end{enumerate}" in text


def test_a_finding_on_several_cells_is_written_once(paper):
    with edited(paper) as known:
        known["config"]["report"]["findings"] = [
            {"dataset": "one", "label": ["rbp"], "text": "Twice."},
            {"dataset": "one", "label": ["rbp", "perceptron"], "text": "Thrice."},
        ]
    text = written_file(paper, "tables/table1.md")
    cells = text[text.index("## Cells that differ") :]
    seen = re.findall(r"- one, (\S+?),? .*See (.*)\.", cells)
    assert seen == [("perceptron:", "1"), ("rbp", "1, 2"), ("rbp", "1, 2")]
    assert cells.endswith("What was found:\n\n1. Thrice.\n2. Twice.\n")
    assert "<ol><li>Thrice.</li><li>Twice.</li></ol>" in read(paper, "report.html")


def test_hostile_labels(tmp_path, drawn):
    rows = [run(f"set {HOSTILE}", f"{letter} {HOSTILE}", 10, budget=b) for letter in "ab" for b in (5, 50)]
    folder = build(tmp_path / "r", rows, config_text=HOSTILE, source=HOSTILE, failures=[HOSTILE])
    page = page_of(folder)
    assert only_ours(page.scripts)
    assert HOSTILE in "".join(page.text)
    markdown = read(folder, "tables/online_error.md")
    assert r"&lt;script&gt;x&lt;/script&gt;\|\_\$y\$ &amp; 50% \#{a}\~^\\" in markdown
    assert "<script" not in markdown
    grid = [line for line in markdown.splitlines() if line.startswith("|")]
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in grid} == {4}
    latex = read(folder, "tables/online_error.tex")
    escaped = (
        r"\textless{}script\textgreater{}x\textless{}/script\textgreater{}\textbar{}\_\$y\$ \& 50\% \#\{a\}"
        r"\textasciitilde{}\textasciicircum{}\textbackslash{} "
    )
    assert latex.count(escaped) == 3 + latex.count(r"\caption{" + escaped)


class Page(HTMLParser):
    """Headings, links, images and elements of a page; fails on an element left open."""

    VOID = ("meta", "link", "img", "br", "wbr", "hr")

    def __init__(self, text):
        super().__init__()
        self.open, self.headings, self.images, self.urls, self.tags, self.text = [], [], [], [], set(), []
        self.scripts = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.tags.add(tag)
        if tag not in self.VOID:
            self.open.append(tag)
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))
        if tag == "img":
            self.images.append(attributes)
        if tag == "script":
            self.scripts.append("")
            assert attributes == {}
        self.urls += [attributes[key] for key in ("src", "href") if key in attributes]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open[-1:] == ["script"]:
            self.scripts[-1] += data
        else:
            self.text.append(data)


def only_ours(scripts):
    """Return True if a page has the script that sorts tables, unchanged, and no other."""
    template = (own_folder("budgetrun") / "results" / "report" / "base.html.jinja").read_text(encoding="utf-8")
    return scripts == re.findall("<script>(.*?)</script>", template, re.DOTALL)


def page_of(folder):
    write_report(folder)
    return Page(read(folder, "report.html"))


def test_page_needs_only_files_of_its_folder_and_never_skips_a_level(reported):
    page = Page(read(reported, "report.html"))
    assert all(url.startswith(("data:", "#")) or (reported / url).is_file() for url in page.urls)
    assert only_ours(page.scripts)
    (image,) = page.images
    assert image["alt"].startswith("Online error against the budget on one. rbp: 21.00% at B = 550")
    levels = page.headings
    assert levels.count(1) == 1
    assert levels[0] == 1
    assert all(after - before <= 1 for before, after in itertools.pairwise(levels))


def test_page_says_what_was_run_and_by_what(reported):
    text = " ".join("".join(Page(read(reported, "report.html")).text).split())
    for part in (
        *("Somebody (2001), Table 1", "21.00 ± 1.41", "published 16.00 +31.2%", "−40.0%", "It draws badly at p/2."),
        *("no explanation recorded", "Nothing is outside here.", "The order of examples was drawn once.", "5a" * 32),
        *("f1" * 32, "a note about one", "gaussian(gamma=0.78)", "f(x) = 0 counts as a mistake", "c0de" * 16),
        *(f"{'a' * 40} (with uncommitted changes)", "2024-05-06 07:08:09 UTC", "1 h 1 min", "openblas", "a processor"),
        "name: fake seed: 0",
    ):
        assert part in text


def test_difference_is_coloured_and_written(reported):
    text = read(reported, "report.html")
    assert '<span class="difference far">+31.2%</span>' in text
    assert '<span class="difference near">+0.5%</span>' in text
    assert '<span class="difference off">+6.7%</span>' in text
    assert re.findall(r'<td class="best"[^>]*>([\d.]+)', text) == ["11.00", "5.00", "9.60", "5.00", "9.60"]


def test_failures_are_listed_and_marked(tmp_path):
    rows = [run("one", "rbp", 10, seed=0, budget=5)]
    rows.append(failed("one", "rbp", "LinAlgError: singular", seed=1, budget=5, run_id="abc"))
    folder = build(tmp_path / "r", rows, failures=["abc", "dataset three: no file"])
    text = "".join(page_of(folder).text)
    assert "10.00†" in text
    assert "one, rbp, repetition 0, seed 1, budget 5: LinAlgError: singular" in text
    assert "dataset three: no file" in text
    assert "2 runs failed" in text
    assert "2 runs failed" in summary(folder)


@pytest.mark.parametrize(("given", "warning"), [
    ({"profile": "ci"}, "Profile ci (at most: n_examples 2000, tasks 3, seeds 2)"),
    ({"end": None}, "The sweep is not complete"),
])  # fmt: skip
def test_a_run_that_is_not_the_whole_experiment_is_said_everywhere(tmp_path, given, warning):
    folder = build(tmp_path / "r", [run("one", "rbp", 10, budget=5)], **given)
    assert warning in "".join(page_of(folder).text)
    for suffix in ("md", "tex"):
        assert warning in read(folder, f"tables/online_error.{suffix}").replace("\\", "")
    assert warning in summary(folder)


def test_summary(reported, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    lines = summary(reported).splitlines()
    assert lines[:9] == [
        "A table of two learners.",
        "",
        "B = p/2",
        f"{'rbp':>58}",
        "dataset             perceptron       rbp  (read otherwise)",
        "one     measured         11.00     21.00              9.60",
        "        published         8.00     16.00             16.00",
        "        difference      +37.5%    +31.2%            -40.0%",
        "two     measured          5.00     20.10                 —",
    ]
    assert f"tables   {reported / 'tables'}" in lines
    assert f"page     {reported / 'report.html'}" in lines


def test_summary_fits_the_terminal_and_before_a_report_says_what_to_type(paper, monkeypatch):
    monkeypatch.setenv("COLUMNS", "45")
    text = summary(paper)
    assert f"To make the page, type: budgetrun report {paper}" in text
    assert "B = p/2 (continued)" in text
    assert max(map(len, text.split("B is the budget")[0].splitlines())) <= 45


def test_figure_shows_means_band_and_published_numbers(paper, drawing):
    write_figures(paper)
    assert drawing.lines["rbp"] == [(pytest.approx([550, 1100]), pytest.approx([21, 11]))]
    assert drawing.lines["perceptron"] == [(pytest.approx([1100]), pytest.approx([11]))]
    assert drawing.bands == [(pytest.approx([550, 1100]), pytest.approx([20, 10]), pytest.approx([22, 12]))]
    assert drawing.hollow == [([550, 1100], [16, 9]), ([1100], [8])]


def test_a_band_needs_no_line(tmp_path, drawing):
    figure = REPORT["figures"][0] | {"lines": ["cks"]}
    write_figures(build(tmp_path / "r", paper_rows(), report=REPORT | {"figures": [figure]}))
    assert list(drawing.lines) == ["perceptron"]
    assert drawing.bands == [(pytest.approx([550, 1100]), pytest.approx([20, 10]), pytest.approx([22, 12]))]


def test_figure_over_fractions(tmp_path, drawing):
    figure = REPORT["figures"][0] | {"x": "budget_fraction"}
    write_figures(build(tmp_path / "r", paper_rows(), report=REPORT | {"figures": [figure]}))
    assert drawing.lines["rbp"][0][0] == [0.5, 1.0]
    assert drawing.lines["perceptron"][0][0] == pytest.approx([1.0])


@pytest.mark.parametrize(("budgets", "log"), [((10, 50, 100), False), ((10, 50, 101), True)])
def test_more_than_a_decade_of_budgets_is_logarithmic(tmp_path, monkeypatch, budgets, log):
    scales = []
    monkeypatch.setattr(matplotlib.axes.Axes, "set_xscale", lambda axes, scale: scales.append(scale))
    write_figures(build(tmp_path / "r", [run("one", "rbp", 10, budget=b) for b in budgets]))
    assert scales == (["log"] if log else [])


def test_default_figures_need_two_budgets(tmp_path):
    rows = [run("one", "rbp", 10, budget=b) for b in (5, 50)]
    rows += [run("two", "rbp", 10, budget=5), run("a b", "rbp", 10, budget=5), run("a b", "rbp", 9, budget=6)]
    paths = write_figures(build(tmp_path / "r", rows))
    assert [path.name for path in paths] == [f"error_{n}.{s}" for n in ("one", slug("a b")) for s in ("png", "svg")]


def test_kernels_and_scales_that_follow_from_the_data_are_said(tmp_path):
    rows = [run(name, "rbp", 10) for name in ("one", "two")]
    folder = build(tmp_path / "r", rows, report={"tables": [{"name": "t"}]})
    with edited(folder) as found:
        found["config"]["datasets"][0] |= {"repetitions": 2, "kernel": AUTO}
        found["config"]["datasets"][1] |= {"scale": "running"}
        found["datasets"]["one"]["median_gamma"] = 0.25
    assert table_of(folder).notes[1:] == [
        "one: gamma auto: 0.25, the median heuristic on the first 1,000 rounds of the first repetition.",
        "two: each row is scaled by the rows before it (scale: running).",
    ]


def test_scores_that_are_mostly_0_are_a_warning(tmp_path):
    rows = [run("one", label, 10, zero_scores=n) for label, n in (("rbp", 5000), ("bpa", 5001), ("bogd", 7500))]
    rows += [run("one", "alma", 10, zero_scores=n, setting={"alpha": a}) for a, n in ((0.5, 9000), (0.9, 0))]
    rows += [run("one", "avp", 10, zero_scores=9000 * (e < 0.9), setting={"epsilon": e}) for e in (0.5, 0.7, 0.9)]
    rows += [run("two", "rbp", 10, zero_scores=400), run("two", "cks", 10, zero_scores=10000, kernel="linear")]
    swept = {"alma": {"alpha": [0.5, 0.9]}, "avp": {"epsilon": [0.5, 0.7, 0.9]}}
    algorithms = [of(name, parameters=swept.get(name, {})) for name in ("rbp", "bpa", "bogd", "alma", "avp", "cks")]
    folder = build(tmp_path / "r", rows, algorithms=algorithms)
    why = "of the rounds. That is so where no example is held, or examples share no feature"
    zero = "was exactly 0 in up to"
    assert warnings(load(folder)) == [
        f"Warning: on one, the score of bpa; bogd; alma (alpha=0.5); avp (2 of 3 settings) {zero} 90% {why}, or kernel "
        "values underflow (scale the features, or take a smaller gamma).",
        f"Warning: on two, the score of cks {zero} 100% {why}.",
    ]


def test_figure_without_a_finished_run_is_left_out(tmp_path):
    figures = [{"name": "f", "dataset": "absent", "lines": ["rbp"], "point": "perceptron"}]
    folder = build(tmp_path / "r", [run("one", "rbp", 10, budget=5)], report={"figures": figures})
    assert write_figures(folder) == []


def test_config_table_called_like_one_of_ours_keeps_its_file(tmp_path):
    folder = build(tmp_path / "r", [run("one", "rbp", 10, budget=5)], report={"tables": [{"name": "seconds"}]})
    names = [path.name for path in write_report(folder)]
    assert "seconds_of_sweep.csv" in names
    assert sweeping.rows(folder / "tables", "seconds.csv")[0]["online_error_percent"] == "10"


def test_published_numbers_of_the_forgetron_paper_are_complete():
    rows = sweeping.rows(own_folder("configs") / "expected", "forgetron_table81.csv")
    cells = {(row["dataset"], row["label"], row["budget_fraction"]): float(row["online_error_percent"]) for row in rows}
    assert len(cells) == len(rows) == 5 * 5 * 3
    # With B = p, the paper says, the self-tuned and the greedy Forgetron are the Perceptron.
    for dataset in ("mnist", "usps", "census_income", "synthetic_5", "synthetic_10"):
        same = [cells[dataset, "perceptron", fraction] for fraction in ("0.25", "0.5", "1.0")]
        same += [cells[dataset, label, "1.0"] for label in ("forgetron(self_tuned)", "forgetron(greedy)", "cks")]
        assert len(set(same)) == 1


def test_figures_of_labels_that_look_alike_in_file_names_have_names_of_their_own():
    names = [slug(label) for label in ("cod-rna", "a b", "a_b", "a/b", "...", "..", "é")]
    assert names[0] == "cod-rna"
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[A-Za-z0-9_-][A-Za-z0-9._-]*", name) for name in names)


def test_a_table_of_a_page_is_escaped_and_marked():
    html = template("grid.html.jinja").module.html
    text = html(Grid(["<x>", "n"], [["a", Cell("1.5", 1.5, ("of 2",), "hint", "best")]]), "a & b")
    assert 'aria-label="a &amp; b"' in text
    assert '<th scope="col">&lt;x&gt;</th>' in text
    assert '<td class="best" title="hint" data-value="1.5">1.5<small>of 2</small></td>' in text
    long = "w" * 31
    text = html(Grid(["x", long], [["a", long], ["b", long[1:]]], words=(0, 1)), "t")
    assert [line.count('class="text wide"') for line in text.splitlines() if long[1:] in line] == [0, 1, 0]


def test_numbers_of_a_listing():
    given = {None: "—", 1234: "1,234", 0.5: "0.500", 1.0: "1.00", 9.99: "9.99", 10.0: "10.0", 1234.56: "1,234.6"}
    assert Listing("t", "", "", {}, ["n"] * 7, [list(given)], 0).grid.rows == [list(given.values())]


def test_latex_sets_budgets_as_formulas():
    listing = Listing("t", "50% of them", "", {}, ["data", "error"], [["B = p/2, a|b", 1.5]], 1)
    lines = WRITERS["tex"](listing).splitlines()
    assert r"\caption{50\% of them.}" in lines
    assert r"$B = p/2$, a\textbar{}b & 1.50 \\" in lines
