"""The report of a config: the whole message of each mistake, and tables that choose."""

# ruff: noqa: E501  (whole messages stay on one line)

from pathlib import Path

import pytest
from config.demo import GOOD, Drawing, load, message, replaced

from budgetrun.config.schema import Config

pytestmark = pytest.mark.usefixtures("demo_folder")

# (line, what stands there instead, the messages)
MISTAKES = [
    (13, "    - {name: t1, choose: online_error}",
     ["13: report.tables[0].choose: must be a mapping (key: value), got 'online_error'"]),
    (16, "  choices: ['errs on {ours}']\n  numbers: {our: {label: a}, other: {formula: 2 * third}}",
     ["16: report.choices[0]: no number 'ours' in report.numbers; did you mean 'our'?",
      "17: report.numbers.other.formula: '2 * third' may use only numbers, + - * / **, sqrt log exp min max round and our"]),
    (13, "    - {name: t1, choose: {quantity: seconds}}",
     ["13: report.tables[0].choose.by: missing; must be one of online_error, prefix, printed, rmse",
      "13: report.tables[0].choose.quantity: must be one of margin_updates, support_size, got 'seconds'"]),
    (13, "    - {name: t1, choose: {by: printed, quantity:, expected: printed.csv}}",
     ["13: report.tables[0].choose.quantity: missing; with by: printed must be one of margin_updates, support_size"]),
    (13, "    - {name: t1, choose: {by: printed}}",
     ["13: report.tables[0].choose.quantity: missing; with by: printed must be one of margin_updates, support_size",
      "13: report.tables[0].choose.expected: missing; with by: printed must be the file of the published numbers"]),
    (13, "    - {name: t1, choose: {by: prefix, quantity: support_size, expected: printed.csv}}",
     ["13: report.tables[0].choose.quantity: goes with by: printed; remove it",
      "13: report.tables[0].choose.expected: goes with by: printed; remove it"]),
    (13, "    - {name: t1, choose: {by: printed, quantity: support_size, expected: printed.csv}}",
     ["13: report.tables[0].choose.expected: printed.csv:1: column 'support_size' is missing"
      "  (needed: dataset, label, support_size)"]),
    (13, "    - {name: t1, expected: printed.csv, tolerance_sd: 3}",
     ["13: report.tables[0].tolerance_sd: needs published standard deviations, and printed.csv has no "
      "online_error_percent_sd"]),
    (13, "    - {name: t1, quantity: seconds_ratio}",
     ["13: report.tables[0].relative_to: missing; must be the label of the algorithm whose seconds the others' are "
      "divided by"]),
    (13, "    - {name: t1, quantity: seconds_ratio, relative_to: drawing}",
     ["13: report.tables[0].relative_to: 'drawing' has several budgets, and seconds are divided by those of one; "
      "name another"]),
    (13, "    - {name: t1, columns: [percepton]}",
     ["13: report.tables[0].columns[0]: no algorithm has the label 'percepton'; did you mean 'perceptron'?"
      "  (allowed: perceptron, fading(slow), drawing)"]),
    (13, "    - {name: t1, rows: [digit], relative_to: mine}",
     ["13: report.tables[0].relative_to: no algorithm has the label 'mine'"
      "  (allowed: perceptron, fading(slow), drawing)",
      "13: report.tables[0].rows[0]: no dataset has the label 'digit'; did you mean 'digits'?  (allowed: mine, digits)"]),
    (13, "    - {name: t1, tolerance: 0}", ["13: report.tables[0].tolerance: must be a number > 0, got 0"]),
    (13, "    - {name: t1, columns: []}",
     ["13: report.tables[0].columns: must be a list with at least one item, each text, got an empty list"]),
    (13, "    - {name: t1, aliases: {nobody: digits}}",
     ["13: report.tables[0].aliases.nobody: no algorithm or dataset has the label 'nobody'"
      "  (allowed: perceptron, fading(slow), drawing, mine, digits)"]),
    (13, "    - {name: t1, expected: printed.csv, aliases: {mine: digit}}",
     ["13: report.tables[0].aliases.mine: printed.csv has no dataset or label 'digit'; did you mean 'digits'?"]),
    (13, "    - {name: t1, expected: no.csv}", ["13: report.tables[0].expected: no such file: no.csv"]),
    (13, "    - {name: t1}\n    - {name: t1}",
     ["14: report.tables[1].name: name 't1' is already used by report.tables[0]; give this entry a name of its own"]),
    (13, "    - {name: t1, published: []}",
     ["13: report.tables[0].published: unknown key"
      "  (allowed: name, caption, expected, columns, rows, quantity, choose, relative_to, tolerance, tolerance_sd, aliases, as_written)"]),
    (13, "    - {name: t1, quantity: test_errors}",
     ["13: report.tables[0].quantity: must be one of online_error, support_size, margin_updates, test_error, "
      "last_test_error, seconds, objective, gap, seconds_ratio, sliding_error, fading_error, f1, kappa, auc, brier, log_loss, kept_bytes, rmse, mae, r2, got 'test_errors'"]),
    (13, "    - {name: t1, quantity: f1}",
     ["13: report.tables[0].quantity: f1 is measured only if asked for; add metrics: [f1] to the config"]),
    (13, "    - {name: t1, quantity: test_error}",
     ["13: report.tables[0].quantity: test_error needs a test set, and no dataset has one; "
      "add test: [parts], or test_path: FILE next to path"]),
    (13, "    - {name: t1, quantity: last_test_error, rows: [mine]}",
     ["13: report.tables[0].quantity: last_test_error needs a test set, and dataset 'mine' has none; "
      "add test: [parts], or test_path: FILE next to path"]),
    (13, "    - {name: t1, quantity: support_size, expected: printed.csv}",
     ["13: report.tables[0].expected: printed.csv:1: column 'support_size' is missing"
      "  (needed: dataset, label, support_size)"]),
    (15, "    - {name: f1, dataset: x, lines: [y], point: z, band: [drawing, v], x: time}",
     ["15: report.figures[0].x: must be one of budget, budget_fraction, rounds, support_size, seconds, got 'time'",
      "15: report.figures[0].dataset: no dataset has the label 'x'  (allowed: mine, digits)",
      "15: report.figures[0].lines[0]: no algorithm has the label 'y'  (allowed: perceptron, fading(slow), drawing)",
      "15: report.figures[0].point: no algorithm has the label 'z'  (allowed: perceptron, fading(slow), drawing)",
      "15: report.figures[0].band[1]: no algorithm has the label 'v'  (allowed: perceptron, fading(slow), drawing)"]),
    (15, "    - {name: f1, dataset: mine, lines: [drawing], y: support_size}",
     ["15: report.figures[0].y: with x: budget must be one of online_error, test_error, last_test_error, sliding_error, fading_error, f1, kappa, auc, brier, log_loss, kept_bytes, got 'support_size'"]),
    (15, "    - {name: f1, dataset: mine, lines: [drawing], x: rounds, y: test_error, point: perceptron, log_x: maybe}",
     ["15: report.figures[0].log_x: must be true or false, got 'maybe'",
      "15: report.figures[0].y: with x: rounds must be one of online_error, windowed_error, support_size, sliding_error, fading_error, got 'test_error'"]),
    (15, "    - {name: f1, dataset: mine, lines: [drawing], x: support_size, y: test_error, band: [drawing]}",
     ["15: report.figures[0].y: test_error needs a test set, and dataset 'mine' has none; "
      "add test: [parts], or test_path: FILE next to path",
      "15: report.figures[0].band: goes with x: budget or budget_fraction, not with x: support_size; "
      "put its labels into lines"]),
    (15, "    - {name: f1, dataset: mine, lines: [drawing], y: error, band: [drawing]}",
     ["15: report.figures[0].y: must be one of online_error, support_size, test_error, last_test_error, gap, sliding_error, fading_error, f1, kappa, auc, brier, log_loss, kept_bytes, rmse, windowed_error, windowed_rmse, got 'error'"]),
    (15, "    - f1", ["15: report.figures[0]: must be a mapping (key: value), got 'f1'"]),
    (16, "  titles: {mine: One, digits: One, nobody: Two}",
     ["16: report.titles.digits: 'One' is already the title of 'mine'; choose another",
      "16: report.titles.nobody: no algorithm or dataset has the label 'nobody'"
      "  (allowed: perceptron, fading(slow), drawing, mine, digits)"]),
    (16, "  titles: {mine: drawing}",
     ["16: report.titles.mine: 'drawing' is already the title of 'drawing'; choose another"]),
    (16, "  choices: said", ["16: report.choices: must be a list, each text that is not empty, got 'said'"]),
    (18, "    - {dataset: x, label: [drawing, y], budget: 0}",
     ["18: report.findings[0].budget: must be an integer >= 1 or a list, each an integer >= 1, got 0",
      "18: report.findings[0].text: missing; must be text that is not empty",
      "18: report.findings[0].dataset: no dataset has the label 'x'  (allowed: mine, digits)",
      "18: report.findings[0].label[1]: no algorithm has the label 'y'  (allowed: perceptron, fading(slow), drawing)"]),
]  # fmt: skip


@pytest.mark.parametrize(("number", "line", "messages"), MISTAKES)
def test_each_mistake_has_its_message(number, line, messages):
    assert message(replaced(number, line)) == messages


def test_titles_of_the_classes_are_filled_in(monkeypatch):
    monkeypatch.setattr(Drawing, "title", "Drawing at Random")
    given = {"drawing": "Drawing at Random"}
    assert load(GOOD).report.titles == given
    assert load(GOOD[: GOOD.index("report:")]).report.titles == given
    found = load(replaced(16, '  titles: {drawing: "Lots", mine: "My Own"}'))
    assert found.report.titles == {"drawing": "Lots", "mine": "My Own"}
    assert Config.from_resolved(found.resolved()).report.titles == found.report.titles
    own_label = GOOD[: GOOD.index("report:")].replace("{name: drawing,", "{name: drawing, label: other,")
    assert load(own_label).report.titles == {}


def test_a_table_can_choose_among_settings():
    Path("printed.csv").write_text(
        "dataset,label,support_size,online_error_percent,online_error_percent_sd\ndigits,drawing,9,,\n"
        "mine,drawing,,7.5,0.5\nmine,perceptron,,8,\n"
    )
    chosen = "choose: {by: printed, quantity: support_size, expected: printed.csv}"
    lines = [
        f"    - {{name: t1, {chosen}, expected: printed.csv, tolerance_sd: 3}}",
        "    - {name: t2, choose: {by: prefix}, expected: printed.csv, tolerance: 0.1, tolerance_sd: 3}",
        "    - {name: t3, quantity: seconds_ratio, relative_to: perceptron, choose: {by: online_error}}",
        "    - {name: t4, quantity: margin_updates}",
    ]
    found = load(replaced(13, "\n".join(lines)))
    one, two, three, four = found.report.tables
    assert one.choose is not None
    assert (one.choose.by, one.choose.quantity) == ("printed", "support_size")
    assert [row.value for row in one.choose.published] == [9.0]
    assert [(row.value, row.sd) for row in one.published] == [(7.5, 0.5), (8.0, None)]
    assert [(t.tolerance, t.tolerance_sd) for t in (one, two, three)] == [(None, 3.0), (0.1, 3.0), (0.05, None)]
    assert four.choose is None
    assert Config.from_resolved(found.resolved()).resolved() == found.resolved()
    assert "published" not in found.resolved()["report"]["tables"][0]["choose"]


def test_tables_do_not_choose_among_solvers():
    text = (
        "name: demo\ndatasets: [{name: digits}]\nkernel: {name: linear}\nalgorithms: [{name: mpu}]\n"
        "report: {tables: [{name: t1, choose: {by: online_error}}]}\n"
    )
    said = "5: report.tables[0].choose: goes with learners, and the algorithms are solvers; remove it"
    assert message(text) == [said]


def test_seconds_are_divided_by_those_of_one_setting():
    swept = replaced(10, "  - {name: drawing, budget: 3, rate: [1, 2]}")
    table = "    - {name: t1, quantity: seconds_ratio, relative_to: drawing"
    old = GOOD.splitlines()[12]
    assert message(swept.replace(old, f"{table}}}")) == [
        "13: report.tables[0].relative_to: 'drawing' has several settings, and seconds are divided by those of one; "
        "name another, or let the table choose"
    ]
    assert load(swept.replace(old, f"{table}, choose: {{by: prefix}}}}")).report.tables[0].relative_to == "drawing"
