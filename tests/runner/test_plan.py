"""Plans: which runs there are, how their ids differ, and which of them share a stream."""

from dataclasses import replace

import pytest
from faults import message, raises
from sweeping import config

from budgetrun import config as config_module
from budgetrun.base.errors import InputError
from budgetrun.runner import plan as plan_module
from budgetrun.runner.plan import budget_origin, make_jobs, make_plan, select, sources, with_budgets


@pytest.fixture
def loaded(tmp_path):
    return config_module.load(config(tmp_path))


def ids(config):
    return {run.run_id for run in make_plan(config).runs}


def test_every_combination_is_one_run(loaded):
    runs = make_plan(loaded).runs
    assert len({run.run_id for run in runs}) == len(runs) == 16
    assert {len(run.run_id) for run in runs} == {16}
    assert [run.run_id for run in make_plan(loaded).runs] == [run.run_id for run in runs]
    settings = [(run.spec.name, run.spec.budget, run.spec.budget_fraction, run.spec.seed) for run in runs[:8]]
    assert settings == [
        ("perceptron", None, None, 0),
        ("remove_oldest", 5, None, 0),
        ("remove_oldest", 20, None, 0),
        ("forgetron", None, 0.25, 0),
        ("forgetron", None, 1.0, 0),
        ("rbp", 10, None, 0),
        ("rbp", 10, None, 1),
        ("rbp", 10, None, 2),
    ]


def test_whatever_changes_an_outcome_changes_every_run_id(tmp_path, loaded):
    data = {"name": "noisy_gaussians", "noise": 0.1, "options": {"n_per_class": 150}}
    changes = [{"noise": 0.2}, {"options": {"n_per_class": 151}}, {"scale": "minmax"}, {"n_examples": 299}]
    for change in (
        *({"seed": 1}, {"tie": "positive"}, {"dtype": "float32"}, {"kernel": {"name": "gaussian", "gamma": 0.6}}),
        *({"datasets": [data | changed]} for changed in changes),
    ):
        assert not ids(loaded) & ids(config_module.load(config(tmp_path, **change))), change


def test_what_is_only_shown_or_added_changes_no_run_id(tmp_path, loaded):
    before = ids(loaded)
    assert ids(config_module.load(config(tmp_path, name="other", description="d"))) == before
    assert ids(config_module.load(config(tmp_path, repetitions=3))) > before
    assert ids(config_module.load(config(tmp_path, repetitions=1))) < before


def test_jobs_hold_runs_of_one_stream_and_go_task_by_task(loaded, monkeypatch):
    runs = make_plan(loaded).runs
    jobs = make_jobs(loaded, runs, lambda *_: True)
    assert [len(job.runs) for job in jobs] == [8, 8]
    assert [{run.repetition for run in job.runs} for job in jobs] == [{0}, {1}]
    assert len({job.job_id for job in jobs}) == 2
    tasks = [replace(run, task=task, run_id=f"{run.run_id}{task}") for task in "abc" for run in runs[:8]]
    jobs = make_jobs(loaded, tasks, lambda _, together: len(together) <= 17)
    assert [len(job.runs) for job in jobs] == [16, 8]
    # A task that does not fit is a job all the same.
    assert [len(job.runs) for job in make_jobs(loaded, tasks, lambda *_: False)] == [8, 8, 8]
    # No job is too long.
    monkeypatch.setattr(plan_module, "RUNS_PER_JOB", 17)
    assert [len(job.runs) for job in make_jobs(loaded, tasks, lambda *_: True)] == [16, 8]


@pytest.mark.parametrize(
    ("fraction", "p", "budget"),
    [(0.5, 100, 50), (0.5, 101, 51), (0.25, 102, 26), (0.0625, 100, 6), (0.0625, 104, 7), (1.0, 37, 37), (0.01, 3, 1)],
)
def test_a_fraction_of_a_support_size_is_rounded_half_up_and_at_least_1(loaded, fraction, p, budget):
    run = next(run for run in make_plan(loaded).runs if run.spec.budget_fraction)
    run = replace(run, spec=replace(run.spec, budget_fraction=fraction))
    (resolved,) = with_budgets([run], {run.source.run_id: p})
    assert resolved.spec.budget == budget == max(1, int(fraction * p + 0.5))
    assert (resolved.run_id, resolved.spec.budget_fraction) == (run.run_id, fraction)


def test_runs_without_their_source_are_left_out(loaded):
    runs = make_plan(loaded).runs
    first = sources(runs)
    assert [(run.spec.name, run.repetition) for run in first] == [("perceptron", 0), ("perceptron", 1)]
    ready = with_budgets(runs, {first[1].run_id: 40})
    assert len(ready) == 14
    assert {run.repetition for run in ready if run.spec.budget_fraction} == {1}
    assert not sources([run for run in runs if run.spec.name == "rbp"])


FITTED = {"name": "forgetron", "variant": "basic", "logarithm": ["natural", "base2"], "budget": [9, 8]}
FITTED["label"] = "source"
SWEPT = [
    {"name": "remove_oldest", "budget": {"of": "source", "fractions": [0.5, 1]}},
    {"name": "cks", "budget": {"of": "rbp"}},
    FITTED,
    {"name": "rbp", "budget": 10, "seeds": 3},
]


def test_a_budget_comes_from_one_run_of_each_setting(tmp_path):
    plan = make_plan(config_module.load(config(tmp_path, algorithms=SWEPT)))
    runs = [run for run in plan.runs if run.repetition == 1]
    assert [run.spec.label for run in runs[:9]] == ["remove_oldest"] * 8 + ["cks"]
    settings = [{"logarithm": logarithm, "budget": budget} for logarithm in ("natural", "base2") for budget in (9, 8)]
    pairs = [{"fraction": fraction, "setting": setting} for setting in settings for fraction in (0.5, 1.0)]
    assert [budget_origin(run.spec) for run in runs[:8]] == [{"of": "source"} | pair for pair in pairs]
    for run in runs[:8]:
        spec = run.source.spec
        assert (run.source.repetition, spec.label) == (1, "source")
        assert run.spec.budget_setting == {"logarithm": spec.parameters["logarithm"], "budget": spec.budget}
    cks = runs[8]
    assert (cks.source.spec.name, cks.source.spec.seed) == ("rbp", 0)
    assert budget_origin(cks.spec) == {"of": "rbp", "fraction": 1.0}
    assert budget_origin(cks.source.spec) is None
    assert len(sources(runs)) == 5
    assert len(select(plan.runs, {"budget": ["logarithm=natural, budget=9"]})) == 4


def test_what_changes_a_source_changes_those_whose_budget_it_gives(tmp_path):
    def ids(**changes):
        loaded = config_module.load(config(tmp_path, algorithms=[*SWEPT[:2], FITTED | changes, SWEPT[3]]))
        return {run.spec.label: run.run_id for run in reversed(make_plan(loaded).runs)}

    before, after = ids(), ids(logarithm="base2")
    assert [label for label in before if before[label] != after[label]] == ["source", "remove_oldest"]


CLOUDS = [
    {"name": "noisy_gaussians", "label": label, "options": {"n_per_class": n}}
    for label, n in (("small", 50), ("large", 200))
]
BY_LENGTH = {"name": "bogd++", "budget": 10, "step": ["1 / sqrt(T)", 0.5], "regulariser": "8 / T**2", "seeds": 2}


def planned(folder, *algorithms, **others):
    loaded = config_module.load(config(folder, datasets=CLOUDS, algorithms=list(algorithms), repetitions=1, **others))
    return loaded, make_plan(loaded)


def test_formulas_become_numbers_of_the_stream(tmp_path):
    _, plan = planned(tmp_path, BY_LENGTH)
    specs = {run.dataset: run.spec for run in reversed(plan.runs) if "step" in run.spec.typed}
    assert {label: spec.parameters["step"] for label, spec in specs.items()} == {"small": 0.1, "large": 0.05}
    assert {label: spec.parameters["regulariser"] for label, spec in specs.items()} == {"small": 8e-4, "large": 5e-5}
    assert specs["small"].typed == {"step": "1 / sqrt(T)", "regulariser": "8 / T**2"}
    assert len({run.run_id for run in plan.runs}) == len(plan.runs) == 8
    # The length is that of the capped stream.
    datasets = [CLOUDS[0] | {"n_examples": 25}]
    loaded = config_module.load(config(tmp_path, datasets=datasets, algorithms=[BY_LENGTH], repetitions=1))
    assert make_plan(loaded).runs[0].spec.parameters["step"] == 0.2


def test_numbers_that_a_learner_does_not_take_are_told(tmp_path):
    path = tmp_path / "small.yaml"
    algorithms = [
        {"name": "pomdr", "budget": {"by_dataset": {"small": 24, "large": 4}}, "eta": "T ** -0.5",
         "first_budget": ["5 * log(T)", "round(5 * log(T))"]},
        {"name": "fogd", "features": 9, "step": ["100 - T", "1 / (T - 400)", "(1 - T) ** 0.5", "sqrt((1 - T) ** 0.5)"]},
        BY_LENGTH | {"step": "T ** 2", "regulariser": 1},
    ]  # fmt: skip
    assert message(lambda: planned(tmp_path, *algorithms)).split("\n") == [
        f"{path}: algorithm {text}"
        for text in (
            "'pomdr' on dataset 'small': first_budget: '5 * log(T)' with T = 100: must be an integer >= 1, "
            "got 23.02585092994046; write round(5 * log(T))",
            "'fogd' on dataset 'small': step: '100 - T' with T = 100: must be a number > 0, got 0.0",
            "'fogd' on dataset 'small': step: '1 / (T - 400)' with T = 100: must be a number > 0, "
            "got -0.0033333333333333335",
            "'fogd' on dataset 'small': step: '(1 - T) ** 0.5' with T = 100 is not a real number",
            "'fogd' on dataset 'small': step: 'sqrt((1 - T) ** 0.5)' with T = 100 is not a real number",
            "'bogd++' on dataset 'small': with T = 100, step = T ** 2 = 10000: step * regulariser must be below 1, "
            "because a round multiplies all weights by 1 minus that, got 10000; with step=10000 use a regulariser "
            "below 0.0001",
            "'pomdr' on dataset 'large': first_budget: '5 * log(T)' with T = 400: must be an integer >= 1, "
            "got 29.957322735539908; write round(5 * log(T))",
            "'pomdr' on dataset 'large': with T = 400, first_budget = round(5 * log(T)) = 30, eta = T ** -0.5 = 0.05: "
            "first_budget must be at most budget, 4, got 30",
            "'fogd' on dataset 'large': step: '100 - T' with T = 400: must be a number > 0, got -300.0",
            "'fogd' on dataset 'large': step: '1 / (T - 400)' with T = 400 is not a real number",
            "'fogd' on dataset 'large': step: '(1 - T) ** 0.5' with T = 400 is not a real number",
            "'fogd' on dataset 'large': step: 'sqrt((1 - T) ** 0.5)' with T = 400 is not a real number",
            "'bogd++' on dataset 'large': with T = 400, step = T ** 2 = 160000: step * regulariser must be below 1, "
            "because a round multiplies all weights by 1 minus that, got 160000; with step=160000 use a regulariser "
            "below 6.25e-06",
        )
    ]


def test_budgets_that_follow_a_formula_name_it_as_typed(tmp_path):
    follower = {"name": "remove_oldest", "budget": {"of": "nogd"}}
    _, plan = planned(tmp_path, {"name": "nogd", "budget": 10, "step": ["1 / sqrt(T)", "T ** -1"]}, follower)
    for run in plan.runs:
        if run.source:
            typed = run.source.spec.typed["step"]
            assert budget_origin(run.spec) == {"of": "nogd", "fraction": 1.0, "setting": {"step": typed}}


def test_values_by_dataset_are_planned_where_they_belong(tmp_path):
    budgets = {"by_dataset": {"small": 5, "large": [10, 20]}}
    follower = {"name": "remove_oldest", "budget": {"of": "rbp", "fractions": [0.5]}}
    _, plan = planned(tmp_path, {"name": "rbp", "budget": budgets, "seeds": 2}, follower)
    found = [(run.dataset, run.spec.label, run.spec.budget, run.spec.budget_setting) for run in plan.runs]
    assert found == [
        *[("small", "rbp", 5, {})] * 2,
        ("small", "remove_oldest", None, {}),
        *[("large", "rbp", 10, {})] * 2,
        *[("large", "rbp", 20, {})] * 2,
        ("large", "remove_oldest", None, {"budget": 10}),
        ("large", "remove_oldest", None, {"budget": 20}),
    ]
    assert len(select(plan.runs, {"budget": ["5"]})) == 2
    assert len(select(plan.runs, {"budget": ["budget=20"], "dataset": ["large"]})) == 1


def test_seeds_by_repetition(tmp_path):
    follower = {"name": "remove_oldest", "budget": {"of": "rbp"}}
    entry = {"name": "rbp", "budget": 5, "seeds": "by_repetition"}
    plan = make_plan(config_module.load(config(tmp_path, algorithms=[entry, follower], repetitions=3)))
    assert [(run.repetition, run.spec.seed) for run in plan.runs if run.spec.name == "rbp"] == [(0, 0), (1, 1), (2, 2)]
    assert all(run.source.repetition == run.repetition for run in plan.runs if run.source)


def test_runs_whose_seconds_are_compared_have_jobs_of_their_own(tmp_path):
    loaded, plan = planned(tmp_path, {"name": "perceptron"}, {"name": "rbp", "budget": [5, 10]}, alone=True)
    jobs = make_jobs(loaded, plan.runs, lambda *_: True)
    assert [job.runs for job in jobs] == [(run,) for run in plan.runs]
    assert len({job.job_id for job in jobs}) == 6


def test_select(loaded):
    runs = make_plan(loaded).runs
    for only, n in (
        ({}, 16),
        ({"algorithm": ["forgetron(self_tuned)"]}, 4),
        ({"algorithm": ["forgetron", "rbp"]}, 10),
        *(({"budget": [fraction]}, 2) for fraction in ("0.25", "1")),
        ({"budget": ["5", "10"], "repetition": ["1"]}, 4),
        ({"seed": ["2"], "task": ["-"], "dataset": ["noisy_gaussians"]}, 2),
    ):
        assert len(select(runs, only)) == n, only


def test_long_lists_of_values_are_cut(loaded):
    runs = [replace(make_plan(loaded).runs[0], task=f"{i:02}") for i in range(126)]
    assert message(select, runs, {"task": ["x"]}).endswith(" 18, 19 and 106 more)")


def test_only_some_datasets(tmp_path):
    datasets = [{"name": "noisy_gaussians", "label": label, "options": {"n_per_class": 9}} for label in "ab"]
    loaded = config_module.load(config(tmp_path, datasets=datasets))
    assert {run.dataset for run in make_plan(loaded, only=["b"]).runs} == {"b"}
    raises(InputError, r"^--only dataset=c: no such dataset  \(allowed: a, b\)$", make_plan, loaded, only=["b", "c"])


def test_files_are_found_from_any_folder(here):
    (here / "own.csv").write_text("0,1\n1,2\n")
    loaded = config_module.load(config(".", datasets=[{"name": "own", "path": "own.csv"}], repetitions=1))
    (job,) = make_jobs(loaded, make_plan(loaded).runs, lambda *_: True)
    assert job.dataset.path == here / "own.csv"


@pytest.mark.parametrize("scale", ["running", "unit_norm"])
def test_learners_that_standardise_read_rows_without_a_running_scale(tmp_path, scale):
    config = (
        f"name: a\ndatasets: [{{name: noisy_gaussians, scale: {scale}}}]\nkernel: {{name: linear}}\n"
        "algorithms: [{name: auto}, {name: perceptron}]\nselect: [{rule: hedge, of: [auto, perceptron]}]\n"
    )
    (tmp_path / "a.yaml").write_text(config)
    loaded = config_module.load(str(tmp_path / "a.yaml"))
    jobs = make_jobs(loaded, make_plan(loaded).runs, lambda *_: True)
    found = {run.spec.label: job.dataset.scale for job in jobs for run in job.runs}
    own = "none" if scale == "running" else scale
    assert found == {"auto": own, "perceptron": scale, "hedge(auto, perceptron)": scale}
