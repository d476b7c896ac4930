"""The section ``select`` of a config: its runs, their bounds, the page, and what is wrong with it in words."""

import json
import re

import pytest
from sweeping import config, outcomes, rows, run

from budgetrun import config as config_module
from budgetrun.base.errors import InputError
from budgetrun.papers.bounds.report import write_bounds
from budgetrun.play.selection import registry
from budgetrun.results.report import Report
from budgetrun.runner.plan import make_plan

SWEPT = {
    "kernel": {"name": "gaussian", "gamma": [0.1, 1]},
    "algorithms": [{"name": "perceptron"}, {"name": "rbp", "budget": [5, 20], "seeds": "by_repetition"},
     {"name": "forgetron", "budget": {"of": "perceptron", "fractions": [0.5]}}],
    "select": [{"rule": "hedge", "of": "rbp"}, {"rule": "racing", "of": ["rbp", "perceptron"], "confidence": 0.2,
     "label": "race"}],
}  # fmt: skip


def test_a_rule_with_one_candidate_has_its_errors_after_a_longer_prefix(tmp_path, capsys, no_pictures):
    given = {"metrics": ["prefix_log_loss"], "algorithms": [{"name": "perceptron"}]}
    given |= {"select": [{"rule": "hedge", "of": "perceptron", "label": "h"}]}
    given |= {"report": {"tables": [{"name": "t", "choose": {"by": "prefix"}}]}}
    path = config(tmp_path, **given)
    assert run(capsys, "sweep", path, "--results", tmp_path, "--jobs", 1)[0] == 0
    Report(tmp_path / "small").write()
    text = (tmp_path / "small" / "tables" / "t.md").read_text().replace("\\", "")
    assert re.search(r"^\| noisy_gaussians +\| +(\S.+\S) \| +\1 \|$", text, re.MULTILINE)
    assert "the first part is up to 40% on noisy_gaussians." in text


def test_a_sweep_has_a_run_of_the_rule_for_each_stream(tmp_path, capsys, no_pictures):
    path = config(tmp_path, **SWEPT)
    assert run(capsys, "sweep", path, "--results", tmp_path, "--jobs", 1)[0] == 0
    folder = tmp_path / "small"
    plain = {**SWEPT}
    del plain["select"]
    without = {one.run_id for one in make_plan(config_module.load(config(tmp_path, name="plain", **plain))).runs}
    found = rows(folder)
    by_label = {label: [row for row in found if row["label"] == label] for label in ("hedge(rbp)", "race", "rbp")}
    # The candidates' own runs, and their ids, are those of the config without selections.
    selections = by_label["hedge(rbp)"] + by_label["race"]
    assert {row["run_id"] for row in found} - without == {row["run_id"] for row in selections}
    for label, n in (("hedge(rbp)", 4), ("race", 6)):
        assert [row["repetition"] for row in by_label[label]] == ["0", "1"]
        for row in by_label[label]:
            facts = json.loads(row["facts"])
            assert facts["candidates"] == n
            assert row["status"] == "done"
            assert int(row["prefix_examples"]) == 30
            of = ("rbp",) if n == 4 else ("rbp", "perceptron")
            own = [c for c in found if c["repetition"] == row["repetition"] and c["label"] in of]
            assert facts["best_mistakes"] == min(int(c["mistakes"]) for c in own) or facts["live"] < n
            if facts["live"] == n:
                # Whoever runs all candidates holds, and does, what they do.
                assert int(row["updates"]) == sum(int(c["updates"]) for c in own)
                assert int(row["support_size"]) == sum(int(c["support_size"]) for c in own)
    assert by_label["race"][0]["parameters"] == '{"confidence": 0.2}'
    assert by_label["race"][0]["kernel"] == "gaussian(gamma=0.1), gaussian(gamma=1)"

    write_bounds(folder)
    bounds = [row for row in rows(folder, "bounds.csv") if row["label"] in ("race", "hedge(rbp)")]
    assert len(bounds) == 8
    assert all(row["applies"] == "yes" and float(row["ratio"]) <= 1 for row in bounds)
    assert all(row["condition"].startswith("fewest mistakes of a candidate, L*: ") for row in bounds)

    Report(folder).write()
    shown = {row["selection"]: row for row in rows(folder / "tables", "selections.csv")}
    hedge = by_label["hedge(rbp)"]
    mean = sum(float(row["online_error"]) for row in hedge) / 2
    assert float(shown["hedge(rbp)"]["rule_percent"]) == pytest.approx(100 * mean)
    best = [min(float(c["online_error"]) for c in by_label["rbp"] if c["repetition"] == str(r)) for r in (0, 1)]
    assert float(shown["hedge(rbp)"]["best_percent"]) == pytest.approx(50 * sum(best))
    above = sum(float(row["online_error"]) / least - 1 for row, least in zip(hedge, best, strict=True))
    assert float(shown["hedge(rbp)"]["above_best_percent"]) == pytest.approx(50 * above)
    assert "Selection on the stream" in (folder / "report.html").read_text()
    # A second sweep has nothing to do.
    before = outcomes(folder)
    assert run(capsys, "sweep", path, "--results", tmp_path, "--jobs", 1)[0] == 0
    assert outcomes(folder) == before


def test_each_algorithm_with_several_candidates_and_all_of_them(tmp_path):
    algorithms = [{"name": "perceptron"}, {"name": "rbp", "budget": [5, 20]}, {"name": "remove_oldest", "budget": 5}]
    selections = [{"rule": "hedge", "of": "each"}, {"rule": "fixed_share"}]
    loaded = config_module.load(config(tmp_path, algorithms=algorithms, select=selections))
    of_all = ("perceptron", "rbp", "remove_oldest")
    assert [(spec.label, spec.of) for spec in loaded.select] == [("hedge(rbp)", ("rbp",)), ("fixed_share", of_all)]
    assert loaded.select[1].parameters == {"share": 0.001}
    assert "select" not in config_module.load(config(tmp_path)).resolved()
    algorithms[2]["budget"] = [5, 6]
    with pytest.raises(InputError, match=r"select\[0\]\.label: cannot be given with of: each, which makes"):
        config_module.load(config(tmp_path, algorithms=algorithms, select=[selections[0] | {"label": "x"}]))


@pytest.mark.parametrize(("entry", "message"), [
    ({"rule": "hegde"}, f"select[0].rule: unknown 'hegde'; did you mean 'hedge'?  (allowed: {', '.join(registry())})"),
    ({"rule": "hedge", "of": "rbp", "share": 0.1}, "select[0].share: unknown key  (allowed: rule, of, label)"),
    ({"rule": "fixed_share", "of": "rbp", "share": 2}, "select[0].share: must be a number > 0 and < 1, got 2"),
    ({"rule": "hedge", "of": "rpb"}, "select[0].of: no algorithm has the label 'rpb'; did you mean 'rbp'?"),
    ({"rule": "hedge", "of": []}, "select[0].of: must be a label, a list of labels with at least one, or each"),
    ({"rule": "hedge"}, "select[0].of: 'forgetron(self_tuned)' has a budget that depends on another run"),
    ({"rule": "hedge", "of": "rbp", "label": "rbp"}, "label 'rbp' is already used"),
    ("hedge", "select[0]: must be a mapping (key: value), got 'hedge'"),
])  # fmt: skip
def test_what_is_wrong_is_one_sentence(tmp_path, entry, message):
    with pytest.raises(InputError, match=re.escape(message)) as error:
        config_module.load(config(tmp_path, select=[entry]))
    assert len(str(error.value).splitlines()) == 1
