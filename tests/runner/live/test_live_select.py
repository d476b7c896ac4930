"""`budgetrun run --select`: a rule beside its candidates, with the outcomes of a sweep."""

import signal
from pathlib import Path

import pytest
import sweeping
from faults import message
from test_live_run import place, request, rows, stopped_after  # noqa: F401  (a fixture)

from budgetrun.results.report import Report
from budgetrun.runner.live import run as run_module

RULES = ("hedge", "racing:confidence=0.9", "fixed_share:share=0.01")


def selecting(**given):
    return request(**{"select": RULES, "gamma": ("0.001", "0.1", "10"), "algorithms": ("perceptron", "rbp"), **given})


def test_the_rules_have_the_outcomes_of_a_sweep_also_after_an_interruption(monkeypatch):
    stopped_after(monkeypatch, 300, signal.SIGINT)
    assert run_module.run(selecting()) == 130
    assert run_module.run(selecting()) == 0
    own, again = rows("results/s"), rows(sweeping.swept_folder("results/s/config.yaml", "again", jobs=1))
    assert own == again
    assert [row[1] for row in own if row[1] in ("hedge", "racing", "fixed_share")]
    for name in ("facts", "max_support_size", "margin_updates", "parameters"):
        found = [{row["run_id"]: row[name] for row in sweeping.rows(folder)} for folder in ("results/s", "again/s")]
        assert found[0] == found[1]


def test_the_page_has_the_rules_in_curves_and_tables():
    assert run_module.run(selecting(metrics=("f1",))) == 0
    Report(Path("results/s")).write()
    shown = {row["selection"]: row for row in sweeping.rows("results/s/tables", "selections.csv")}
    assert shown.keys() == {"hedge", "racing", "fixed_share"}
    mistakes = {row["label"]: int(row["mistakes"]) for row in sweeping.rows("results/s")}
    assert float(shown["hedge"]["rule_percent"]) == pytest.approx(100 * mistakes["hedge"] / 500)


@pytest.mark.parametrize(("text", "said"), [
    ("hegde", "--select hegde: rule: unknown 'hegde'; did you mean 'hedge'?"),
    ("hedge:of=rbp", "--select hedge:of=rbp: a rule follows all learners here; write a config for of and label"),
    ("Hedge!", "--select Hedge!: must be the name of a rule, with parameters after a colon as KEY=VALUE,KEY=VALUE"),
    ("racing:confidence=2", "--select racing:confidence=2: confidence: must be a number > 0 and < 1, got 2"),
])  # fmt: skip
def test_what_is_no_rule_is_said(text, said):
    told = message(run_module.run, request(select=(text,)))
    assert said in told
    assert "\n" not in told
