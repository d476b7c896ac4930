"""Checked configs: their content, the runs they expand to, and their form in a manifest."""

import json
from itertools import product
from pathlib import Path

import pytest
from config.demo import GOOD, MULTICLASS, load, replaced
from faults import raises

from budgetrun.config import schema

pytestmark = pytest.mark.usefixtures("demo_folder")


def test_a_good_config():
    found = load(GOOD)
    kernel = schema.KernelSpec(name="gaussian", parameters={"gamma": 1.0})
    assert found.datasets == (
        schema.DatasetSpec(
            name="digits", label="mine", path=Path("stream.csv"), order="file", repetitions=1, kernel=kernel,
            typed_path="stream.csv",
        ),
        schema.DatasetSpec(name="digits", task="equal_splits", scale="unit_norm", repetitions=2, kernel=kernel),
    )  # fmt: skip
    assert found.datasets[1].label == "digits"
    assert str(kernel.build()) == "gaussian(gamma=1)"
    assert found.algorithms == (
        schema.AlgorithmSpec(name="perceptron", label="perceptron"),
        schema.AlgorithmSpec(
            name="fading", variant="slow", label="fading(slow)", parameters={"reading": ("literal",)},
            budget=schema.FractionBudget(of="perceptron", fractions=(0.25, 1.0)),
        ),
        schema.AlgorithmSpec(name="drawing", label="drawing", seeds=2, budget=(2, 3), parameters={"rate": (0.1,)}),
    )  # fmt: skip
    (table,) = found.report.tables
    assert table.published == (
        schema.Published("digits", "perceptron", 7.5),
        schema.Published("digits", "fading(slow)", 12.0, budget_fraction=0.25),
    )
    assert table.tolerance == 0.05
    assert found.report.findings[0].label == ("drawing", "perceptron")
    assert (found.file, found.text, found.profile, found.tasks) == ("demo.yaml", GOOD, "full", None)


def test_a_good_config_of_several_classes():
    Path("printed.csv").write_text(
        'dataset,label,setting,test_error_percent,online_error_percent\ndigits,ranking,"eta=1e-1, C = 2",7,\n'
        "digits,perceptron,,,3\n"
    )
    found = load(MULTICLASS)
    assert found.task == "multiclass"
    assert load(GOOD).task == "binary"
    digits, own = found.datasets
    assert (digits.test, digits.test_path, digits.has_test) == (("test",), None, True)
    assert (own.test_path, own.typed_test_path) == (Path("stream.csv"), "stream.csv")
    ranking = ("ranking", "multiclass")
    assert [(spec.label, spec.task) for spec in found.expand()] == [("perceptron", "multiclass"), ranking, ranking]
    (table,) = found.report.tables
    assert table.published == (schema.Published("digits", "ranking", 7.0, setting="eta=0.1, C=2"),)
    (figure,) = found.report.figures
    assert (figure.x, figure.y, figure.log_x) == ("support_size", "last_test_error", True)
    assert found.report.findings[0].setting == ("eta=0.1",)
    resolved = found.resolved()
    assert [entry["test_path"] for entry in resolved["datasets"]] == [None, "stream.csv"]
    assert list(schema.Config.from_resolved(resolved).expand()) == list(found.expand())


def test_a_config_survives_its_manifest():
    found = load(GOOD, "ci")
    resolved = json.loads(json.dumps(found.resolved()))
    assert resolved == found.resolved()
    assert resolved["datasets"][0]["path"] == "stream.csv"
    assert type(resolved["kernel"]["parameters"]["gamma"]) is float
    Path("stream.csv").unlink()
    Path("printed.csv").unlink()
    back = schema.Config.from_resolved(resolved)
    assert back.resolved() == resolved
    assert back.profile == "ci"
    assert [list(a.expand()) for a in back.algorithms] == [list(a.expand()) for a in found.algorithms]


def test_a_manifest_whose_budgets_have_no_source_is_refused():
    resolved = load(GOOD).resolved()
    resolved["algorithms"][0]["label"] = "p"
    with pytest.raises(ValueError, match=r"budget of 'fading\(slow\)': no algorithm has the label 'perceptron'"):
        schema.Config.from_resolved(resolved)


def test_sweeps_expand_in_the_order_of_the_config():
    text = replaced(10, "  - {name: drawing, rate: [2, 1], budget: [5, 3], seeds: 2}")
    runs = list(load(text).algorithms[2].expand())
    assert runs == [
        schema.RunSpec("drawing", "drawing", None, {"rate": rate}, budget, None, seed)
        for rate in (2.0, 1.0)
        for budget in (5, 3)
        for seed in (0, 1)
    ]


SWEPT = replaced(
    10,
    "  - {name: drawing, rate: [2, 1], budget: 5, seeds: 2}\n"
    "  - {name: fading, label: same, budget: {of: drawing}}\n"
    "  - {name: drawing, label: both, rate: [2, 1], budget: [5, 6]}\n"
    "  - {name: fading, label: of both, budget: {of: both, fractions: [0.5]}}\n"
    "  - {name: drawing, label: clash, rate: [3, 4], budget: {of: both, fractions: [0.5]}}",
)


def test_every_setting_of_a_source_gives_budgets():
    found = load(SWEPT)
    specs = list(found.expand())
    of = {label: [spec for spec in specs if spec.label == label] for label in ("same", "of both")}
    budgets = {label: [(s.budget, s.budget_fraction, s.budget_of, s.budget_setting) for s in of[label]] for label in of}
    assert budgets["same"] == [(None, 1.0, "drawing", {"rate": rate}) for rate in (2.0, 1.0)]
    both = [{"rate": rate, "budget": budget} for rate in (2.0, 1.0) for budget in (5, 6)]
    assert budgets["of both"] == [(None, 0.5, "both", setting) for setting in both]
    assert {s.label: list(s.setting) for s in specs} == {
        "perceptron": [], "fading(slow)": [], "drawing": ["rate"], "same": ["rate"], "both": ["rate"],
        "of both": ["rate", "budget"], "clash": ["rate", "both.rate", "budget"],
    }  # fmt: skip
    assert [s.setting for s in specs if s.label == "clash"][1] == {"rate": 3.0, "both.rate": 2.0, "budget": 6}
    assert list(schema.Config.from_resolved(found.resolved()).expand()) == specs


BY_DATASET = replaced(
    10,
    "  - {name: drawing, budget: {by_dataset: {mine: 4, digits: [5, 6]}}, seeds: 2,\n"
    "     rate: {by_dataset: {mine: 1, digits: [2, 1 / sqrt(T)]}}}\n"
    "  - {name: fading, label: same, budget: {of: drawing}}\n"
    "  - {name: drawing, label: alike, budget: {by_dataset: {digits: 5, mine: [5, 7]}}, rate: [1, T**-1]}",
)


def test_values_by_dataset():
    found = load(BY_DATASET)
    drawing = found.algorithms[2]
    assert drawing.by_dataset == {
        "rate": schema.ByDataset(by_dataset={"mine": (1.0,), "digits": (2.0, "1 / sqrt(T)")}),
        "budget": schema.ByDataset(by_dataset={"mine": (4,), "digits": (5, 6)}),
    }

    def of(dataset, label):
        runs = [run for run in found.expand(dataset) if run.label == label]
        return [(run.parameters.get("rate"), run.budget or run.budget_setting, run.seed) for run in runs]

    assert of("mine", "drawing") == [(1.0, 4, 0), (1.0, 4, 1)]
    assert of("digits", "drawing") == list(product((2.0, "1 / sqrt(T)"), (5, 6), (0, 1)))
    # One value is not a setting.
    assert of("mine", "same") == [(None, {}, 0)]
    settings = [{"rate": rate, "budget": budget} for rate in (2.0, "1 / sqrt(T)") for budget in (5, 6)]
    assert of("digits", "same") == [(None, setting, 0) for setting in settings]
    assert of("mine", "alike") == [(rate, budget, 0) for rate in (1.0, "T**-1") for budget in (5, 7)]
    assert list(found.expand()) == list(found.expand("mine"))


def test_values_by_dataset_survive_a_manifest():
    found = load(BY_DATASET)
    resolved = json.loads(json.dumps(found.resolved()))
    assert resolved["algorithms"][2]["budget"] == {"by_dataset": {"mine": [4], "digits": [5, 6]}}
    back = schema.Config.from_resolved(resolved)
    for label in ("mine", "digits"):
        assert list(back.expand(label)) == list(found.expand(label))
    del resolved["algorithms"][2]["budget"]["by_dataset"]["digits"]
    raises(ValueError, "budget of 'drawing': no value for dataset 'digits'", schema.Config.from_resolved, resolved)


def test_seeds_by_repetition_are_not_capped():
    found = load(replaced(10, "  - {name: drawing, budget: 3, seeds: by_repetition}"), "ci")
    assert [a.seeds for a in found.algorithms] == [1, 1, "by_repetition"]
    assert [run.seed for run in found.algorithms[2].expand()] == [0]
    assert schema.Config.from_resolved(found.resolved()).algorithms[2].seeds == "by_repetition"


def test_runs_with_their_own_job():
    assert not load(GOOD).timed
    assert load(f"alone: true\n{GOOD}").timed


@pytest.mark.parametrize(("parameters", "text"), [
    ({}, ""),
    ({"eta": 0.1, "C": 2.0}, "eta=0.1, C=2"),
    ({"eta": 1e-5, "project": True, "threshold": "distance"}, "eta=1e-05, project=true, threshold=distance"),
    ({"steps": [1, 2.5], "hierarchy": None, "budget": 12345}, "steps=[1, 2.5], hierarchy=none, budget=12345"),
])  # fmt: skip
def test_settings_as_text(parameters, text):
    assert schema.setting_text(parameters) == text


def test_specs_are_frozen():
    with pytest.raises(ValueError, match="frozen"):
        load(GOOD).datasets[0].name = "other"
