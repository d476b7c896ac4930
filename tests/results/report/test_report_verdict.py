"""The verdict on published numbers, the readings that fit best, titles, and how pages are found and used."""

import html
import itertools
import re

import pytest
from click.testing import CliRunner
from fake_results import EXPECTED, REPORT, build, paper_rows, run, table_of, write_figures, write_report, written_file
from sweeping import TOP, edited

from budgetrun import learners
from budgetrun.cli import main
from budgetrun.papers import solvers
from budgetrun.results.report import Report

TITLES = {"one": "Set One", "perceptron": "Perceptron", "rbp": "RBP, random", "rbp(read otherwise)": "RBP (otherwise)"}


def judged(tmp_path, rows, expected, findings=(), **spec):
    report = {"tables": [{"name": "t", **spec}], "findings": list(findings)}
    return table_of(build(tmp_path / "r", rows, report=report, expected={"t": expected}))


def published(label, value, dataset="one", **others):
    return {"dataset": dataset, "label": label, "value": value, **others}


def test_verdict_counts_each_published_number_once(paper):
    table = table_of(paper)
    # perceptron on one, published for two budgets with the same number, is 37.5% off; rbp is 31.2% off (explained),
    # 22.2% off and, on two, within 0.5%. Read otherwise, rbp is nowhere within 5%.
    assert table.verdict.text == "1 of 4 published cells within 5%, 1 explained, 2 open"
    assert table.best == (["perceptron", "rbp"], ["one", "two"])
    assert "with the first reading of each, 1" not in table.verdict.remark


def test_a_number_without_a_budget_is_counted_as_often_as_it_is_published(tmp_path):
    rows = [run("one", "perceptron", 8), *(run("one", "rbp", 10, budget=b) for b in (5, 6, 7))]
    once = judged(tmp_path, rows, [published("perceptron", 8), published("rbp", 10, budget=5)])
    assert once.verdict.text == "2 of 2 published cells within 5%"
    twice = [published("perceptron", value, budget=b) for b, value in ((5, 8), (6, 8.1))]
    assert judged(tmp_path, rows, twice).verdict.text == "2 of 2 published cells within 5%"


def test_equal_numbers_of_a_dataset_count_once(tmp_path):
    rows = [*(run(d, label, 10) for d in ("one", "two") for label in "ab"), run("one", "c", 11)]
    table = judged(tmp_path, rows, [published(label, 10, d) for d in ("one", "two") for label in "ab"])
    assert table.verdict.text == "2 of 2 published cells within 5%"


def test_readings_that_follow_the_text_are_counted_apart(tmp_path):
    rows = [run(d, label, 10 + i) for i, d in enumerate(("one", "two")) for label in "ab"]
    expected = [published("a", 10), published("b", 10.2)]
    table = judged(tmp_path, rows, expected, aliases={"two": "one"}, as_written=["two"])
    assert table.verdict.text == "2 of 2 published cells within 5%"
    assert table.verdict.remark.endswith("of each, 2 are within, and with what the text says of each, 0.")


def test_a_finding_may_leave_a_difference_open(tmp_path):
    rows = [run("one", label, 12 + i) for i, label in enumerate("abc")]
    findings = [{"label": "a", "text": "Why."}, {"label": ["b"], "text": "Perhaps.", "open": True}]
    table = judged(tmp_path, rows, [published(label, 10) for label in "abc"], findings)
    assert table.verdict.text == "0 of 3 published cells within 5%, 1 explained, 2 open"
    assert [see for _, see in table.outside_words()] == ["See 1.", "See 2; it stays open.", ""]


def test_findings_and_choices_say_the_numbers_of_the_results(tmp_path):
    rows = [run("one", "a", 12), run("one", "b", 9)]
    report = {
        "tables": [{"name": "t"}],
        "choices": ["b errs on {ours}."],
        "findings": [{"label": "a", "text": "{times} times {ours}; {absent}; {kept} of {{other}}."}],
        "numbers": {
            "theirs": {"dataset": "one", "label": "a"},
            "ours": {"dataset": "one", "label": "b"},
            "times": {"formula": "theirs / ours", "digits": 2},
            "absent": {"dataset": "two", "label": "b"},
            "kept": {"csv": "trials.csv", "where": {"trial": "x"}, "column": "n"},
        },
    }
    (tmp_path / "trials.csv").write_text("trial,n\nx,7\ny,8\n")
    found = Report(build(tmp_path / "r", rows, report=report)).results.report
    assert found.choices == ("b errs on 9.00%.",)
    assert found.findings[0].text == "1.3 times 9.00%; (not measured); 7.000 of {(not measured)}."


def test_what_did_not_run_is_said(tmp_path):
    def without_data(rows, *labels):
        """Return the table of a folder whose config has a dataset without runs, with numbers for these datasets."""
        folder = build(tmp_path / "r", rows, report={"tables": [{"name": "t"}]})
        with edited(folder) as known:
            known["config"]["datasets"].append({"name": "absent", "label": "absent"})
            known["expected"] = {"t": [published("rbp", 10, dataset=label) for label in labels]}
        return table_of(folder)

    table = without_data([run("one", "rbp", 10), run("two", "rbp", 10)], "one", "absent", "elsewhere")
    assert table.verdict.text == "1 of 1 published cell within 5%, 1 not measured"
    assert without_data([run("two", "rbp", 10)], "absent").verdict.text == "none of 1 published cell measured"
    table = without_data([run("one", "rbp", 10)])
    assert table.verdict is None
    assert table.main is table


def test_the_reading_that_fits_best_comes_first(tmp_path):
    rows = [run(data, label, n) for data in ("d", "d2") for label, n in (("a", 12), ("a'", 10.1), ("b", 11))]
    rows += [run("d'", label, n) for label, n in (("a", 10), ("a'", 10), ("b", 10.1))]
    expected = [published(label, 10, dataset="d") for label in "ab"]
    table = judged(tmp_path, rows, expected, aliases={"a'": "a", "d'": "d"})
    assert table.best == (["a'", "b"], ["d2", "d'"])
    assert table.main.columns == ["a'", "b"]
    assert [row.header for block in table.main.blocks for row in block.rows] == ["d2", "d'"]
    assert table.verdict.text == "2 of 2 published cells within 5%"
    assert table.verdict.remark.endswith("with the first reading of each, 0 are within.")
    write_report(tmp_path / "r")
    markdown = (tmp_path / "r" / "tables" / "t.md").read_text(encoding="utf-8")
    main, _, every = markdown.partition("## All readings side by side")
    assert not re.search(r"\| a +\||\| +a \|", main)
    assert re.search(r"\| +a \| +a' \|", every)
    page = (tmp_path / "r" / "report.html").read_text(encoding="utf-8")
    before, _, after = page.partition("<summary>All readings side by side</summary>")
    assert before.count('<th scope="col">') == 3
    assert after.count('<th scope="col">a</th>') >= 1


def test_of_readings_that_fit_equally_well_the_first_is_shown(tmp_path):
    rows = [run("one", label, n) for label, n in (("a'", 10), ("a", 10.4))]
    table = judged(tmp_path, rows, [published("a", 10)], aliases={"a'": "a"})
    assert table.best == (["a"], ["one"])
    assert table.verdict.remark == ""


def test_columns_without_published_numbers_say_nothing_of_them(tmp_path):
    (block,) = judged(tmp_path, [run("one", "a", 10), run("one", "b", 9)], [published("a", 10)]).grids()
    assert block.rows == [["one", "10.00 (10.00, +0.0%)", "9.00"]]


@pytest.mark.parametrize(("cells", "quantity", "best", "leaders"), [
    ({"a": 10, "b": 9, "c": 9.001}, "online_error", [False, True, True], "Smallest online error: b; c."),
    ({"a": 10} | dict.fromkeys("bcde", 9), "online_error", [0, 1, 1, 1, 1], "Smallest online error: b; c; d; 1 more."),
    ({"a": 10, "b": 10}, "online_error", [False, False], ""),
    ({"a": 10, "b": 9}, "support_size", [False, False], ""),
])  # fmt: skip
def test_the_smallest_number_of_a_row_is_marked(tmp_path, cells, quantity, best, leaders):
    table = judged(tmp_path, [run("one", label, n) for label, n in cells.items()], [], quantity=quantity)
    assert table.are_best(table.blocks[0].rows[0].cells) == best
    assert table.leaders == leaders


def test_leaders_that_tie_in_a_row_count_for_each_and_the_sentence_says_so(tmp_path):
    rows = [run("one", label, n) for label, n in {"a": 10, "b": 9, "c": 9.001}.items()]
    rows += [run("two", label, n) for label, n in {"a": 8, "b": 7, "c": 9}.items()]
    count = "b in 2 of 2 rows; c in 1 of 2 rows"
    assert (
        judged(tmp_path, rows, []).leaders
        == f"Smallest online error: {count} (those that tie as printed count for each)."
    )


@pytest.mark.committed
@pytest.mark.parametrize("name", ["field_phishing", "field_classes", "auto_usps"])
def test_a_headline_says_that_settings_are_known_in_hindsight(name):
    headline = Report(TOP / "results" / name).headline
    assert " errs " in headline
    assert headline.endswith("%. Settings are the best in hindsight.")


def test_a_number_without_a_budget_counts_once_per_data_set(tmp_path):
    found = [run(data, "a", 9) for data in ("one", "two")]
    for at in itertools.product(("one", "two"), ("b", "c"), (10, 20)):
        data, label, budget = at
        found.append(run(data, label, 8 if at == ("two", "c", 20) else 10 + (label == "c"), budget=budget))
    limited = "among learners with a budget: b in 3 of 4 rows; c in 1 of 4 rows"
    of_all = "Smallest of all: a on 1 of 2 data sets; c on 1 of 2 data sets."
    assert judged(tmp_path, found, []).leaders == f"Smallest online error {limited}. {of_all}"


@pytest.mark.parametrize("task", learners.BASES)
def test_every_algorithm_has_a_title_of_its_own(task):
    of_learners = learners.registry(task).values()
    found = [learner.title for variants in of_learners for learner in variants.values()]
    found += [solver.title for solver in solvers.registry().values()]
    assert all(found)
    assert len(set(found)) == len(found)


def test_people_read_titles_and_machines_labels_and_links_work(tmp_path, drawn):
    made = {"report": REPORT | {"titles": TITLES}, "expected": {"table1": EXPECTED}}
    titled = build(tmp_path / "fake", paper_rows(), **made)
    markdown = written_file(titled, "tables/table1.md")
    assert re.search(r"\| dataset +\| +Perceptron \| +RBP, random \|", markdown)
    assert "- Set One, RBP, random, B = p/2: measured" in markdown
    assert "RBP (otherwise) is compared with the published numbers of RBP, random." in markdown
    text = (titled / "report.html").read_text(encoding="utf-8")
    page = html.unescape(text)
    shown = re.sub(r"<[^>]*>", " ", page[page.index("<main>") : page.index('<section id="config">')])
    assert "RBP, random" in shown
    assert not re.search(r"\brbp\b|\bperceptron\b", shown)
    for name in ("table1", "seconds", "parts"):
        table = (titled / "tables" / f"{name}.csv").read_text(encoding="utf-8")
        assert "rbp(read otherwise)" in table
        assert "RBP" not in table
    figure = (titled / "figures" / "fig1.svg").read_text(encoding="utf-8")
    assert ">RBP, random</text>" in figure
    assert "Set One, mean over the 2 splits" in figure
    ids, links = re.findall(r' id="([^"]+)"', text), re.findall(r'href="#([^"]+)"', text)
    assert len(set(ids)) == len(ids)
    assert {"figures", "table-table1", "choices", "run", "time", "provenance"} <= set(links) <= set(ids)
    assert text.index('class="verdict"') < text.index("<nav") < text.index("<main>")
    assert 'title="n = 2 streams, 3 seeds; 6 runs from 19.00 to 23.00"' in text


@pytest.mark.parametrize(("caption", "first"), [("Table 1: errors.", "table-table1"), ("Figure 1: errors.", "figures")])
def test_a_papers_table_leads_its_page_and_otherwise_figures_do(tmp_path, caption, first):
    report = REPORT | {"tables": [REPORT["tables"][0] | {"caption": caption}]}
    folder = build(tmp_path / "fake", paper_rows(), report=report, expected={"table1": EXPECTED})
    write_report(folder)
    assert re.findall(r'<section id="([^"]+)"', (folder / "report.html").read_text(encoding="utf-8"))[0] == first


def test_lines_have_bands_over_the_streams(tmp_path, drawing):
    rows = [run("one", "rbp", 10 + r, repetition=r, budget=b) for r in (0, 2) for b in (5, 50)]
    rows += [run("one", "cks", 12, budget=b) for b in (5, 50)]
    write_figures(build(tmp_path / "r", rows))
    root = 2**0.5
    assert drawing.bands == [(pytest.approx([5, 50]), pytest.approx([11 - root] * 2), pytest.approx([11 + root] * 2))]


def test_report_of_several_folders_writes_an_index(tmp_path):
    report = REPORT | {"tables": [REPORT["tables"][0] | {"caption": "Table 1: errors."}]}
    build(tmp_path / "a", paper_rows(), report=report, expected={"table1": EXPECTED}, source="A paper & <more>")
    build(tmp_path / "b", [run("one", "rbp", 10, budget=5)])
    (tmp_path / "bench").mkdir()
    (tmp_path / "bench" / "bench.md").write_text("speed")
    done = CliRunner().invoke(main, ["report", str(tmp_path)])
    assert done.exit_code == 0
    assert done.stderr.endswith(f"index of 2 pages: {tmp_path / 'index.html'}\n")
    text = (tmp_path / "index.html").read_text(encoding="utf-8")
    links = re.findall(r'<a href="([^"]+)"', text)
    assert links == ["a/report.html", "b/report.html", "bench/bench.md"]
    assert all((tmp_path / link).is_file() for link in links)
    assert "A paper &amp; &lt;more&gt;" in text
    assert "Table 1: errors: 1 of 4 published cells within 5%, 1 explained, 2 open." in text
    assert "No published numbers" not in text
    assert not (tmp_path / "a" / "index.html").exists()
    (tmp_path / "index.html").unlink()
    assert CliRunner().invoke(main, ["report", str(tmp_path / "a")]).exit_code == 0
    assert not (tmp_path / "index.html").exists()


def test_totals_count_a_published_number_once_as_in_the_longest_table(tmp_path):
    table = {"name": "t", "expected": "expected/t.csv"}
    expected = [published("perceptron", 8), published("rbp", 10, budget=5)]
    rows = [run("one", "perceptron", 8), run("one", "rbp", 10, budget=5)]
    part = [table | {"columns": ["rbp"]}, table | {"name": "other", "quantity": "support_size"}]
    # In "a", another error; in "c", the same numbers as sizes, which count apart.
    for name, group, tables, own in (
        ("a", "G", part[:1], [run("one", "rbp", 12, budget=5)]),
        ("b", "G", [table], rows),
        ("c", "G", [*part, table], rows),
        ("d", "Other", part[:1], rows),
    ):
        expected_of = {"t": expected, "other": expected}
        build(tmp_path / name, own, report={"group": group, "tables": tables}, expected=expected_of)
    assert CliRunner().invoke(main, ["report", str(tmp_path)]).exit_code == 0
    page = re.sub(r"\s+", " ", re.sub("<[^>]*>", " ", (tmp_path / "index.html").read_text(encoding="utf-8")))
    assert " G 3 5 2 0 2 0 Other 1 2 1 0 0 0 all 4 7 3 0 2 0 A published number" in page


@pytest.mark.committed
def test_the_committed_totals_have_table_8_1_once():
    page = (TOP / "results" / "index.html").read_text(encoding="utf-8")
    cells = re.sub("<[^>]*>", " ", page[page.index("Forgetron (2008)") :]).split()[4:8]
    (table,) = Report(TOP / "results" / "forgetron_table81").tables[:1]
    assert cells == [str(table.verdict.counts[state]) for state in ("within", "explained", "open", "missing")]
    fitted = [
        table.name
        for table in Report(TOP / "results" / "ahpatron_table2").tables
        if table.verdict and table.verdict.fitted
    ]
    assert fitted == ["table2_calibrated", "table3"]


@pytest.mark.committed
@pytest.mark.parametrize("name", ["ahpatron_table5", "mpu_table1", "mpu_table2", "projectron_fig7"])
def test_committed_pages_and_index_have_the_verdicts_of_their_runs(name):
    folder = TOP / "results" / name
    verdicts = [f"{table.title}: {table.verdict.text}." for table in Report(folder).tables if table.verdict]
    assert verdicts
    for path in (folder / "report.html", folder.parent / "index.html"):
        text = re.sub("<[^>]*>", "", html.unescape(path.read_text(encoding="utf-8")))
        assert all(verdict in text for verdict in verdicts)


def test_a_changed_run_changes_the_verdict(tmp_path):
    text = (TOP / "results" / "mpu_table1" / "runs.csv").read_text(encoding="utf-8")
    (tmp_path / "manifest.json").write_bytes((TOP / "results" / "mpu_table1" / "manifest.json").read_bytes())
    (found,) = {float(n) for n in re.findall(r",(11434\.3\d+),", text)}
    (tmp_path / "runs.csv").write_text(text.replace(repr(found), repr(1.001 * found)), encoding="utf-8")
    assert Report(tmp_path).tables[0].verdict.counts == {"within": 7, "open": 1, "missing": 28}
