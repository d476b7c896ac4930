"""Plans: which runs there are, what tells them apart, and which of them share a stream."""

from dataclasses import replace

import pytest
from sweeping import config

from budgetrun import config as config_module
from budgetrun import plan as plan_module
from budgetrun.errors import InputError
from budgetrun.plan import code_version, make_jobs, make_plan, perceptrons_first, select, with_budgets


@pytest.fixture
def loaded(tmp_path):
    return config_module.load(config(tmp_path))


def ids(config):
    return {run.run_id for run in make_plan(config).runs}


def test_every_combination_is_one_run(loaded):
    runs = make_plan(loaded).runs
    assert len({run.run_id for run in runs}) == len(runs) == 16
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


@pytest.mark.parametrize(
    "change",
    [
        {"seed": 1},
        {"tie": "positive"},
        {"dtype": "float32"},
        {"kernel": {"name": "gaussian", "gamma": 0.6}},
        {"datasets": [{"name": "noisy_gaussians", "noise": 0.2, "options": {"n_per_class": 150}}]},
        {"datasets": [{"name": "noisy_gaussians", "noise": 0.1, "options": {"n_per_class": 151}}]},
        {"datasets": [{"name": "noisy_gaussians", "noise": 0.1, "options": {"n_per_class": 150}, "scale": "minmax"}]},
        {"datasets": [{"name": "noisy_gaussians", "noise": 0.1, "options": {"n_per_class": 150}, "n_examples": 299}]},
    ],
    ids=lambda change: next(iter(change)),
)
def test_whatever_changes_an_outcome_changes_every_run_id(tmp_path, loaded, change):
    assert not ids(loaded) & ids(config_module.load(config(tmp_path, **change)))


def test_what_is_only_shown_or_added_changes_no_run_id(tmp_path, loaded):
    before = ids(loaded)
    assert ids(config_module.load(config(tmp_path, name="other", description="d"))) == before
    assert ids(config_module.load(config(tmp_path, repetitions=3))) > before
    assert ids(config_module.load(config(tmp_path, repetitions=1))) < before


def test_other_code_changes_run_ids(loaded, monkeypatch):
    before = ids(loaded)
    monkeypatch.setattr(plan_module, "code_version", lambda *_: "other")
    assert not ids(loaded) & before


def test_comments_and_docstrings_are_no_code(tmp_path):
    def version(text):
        path = tmp_path / f"{abs(hash(text))}.py"
        path.write_text(text)
        return plan_module._code(path)

    plain = version("def f(x):\n    return x + 1\n")
    assert version('"""Doc."""\n# Why.\ndef f(x):\n    """Doc."""\n    return x + 1\n') == plain
    assert version("def f(x):\n    return x + 2\n") != plain


def test_a_learner_is_part_of_its_own_code_alone():
    from budgetrun.learners import find

    versions = {code_version(), code_version(find("rbp", None)), code_version(find("cks", None))}
    assert len(versions) == 3


def test_jobs_hold_runs_of_one_stream_and_go_task_by_task(loaded):
    runs = make_plan(loaded).runs
    jobs = make_jobs(loaded, runs, lambda *_: True)
    assert [len(job.runs) for job in jobs] == [8, 8]
    assert [{run.repetition for run in job.runs} for job in jobs] == [{0}, {1}]
    assert len({job.job_id for job in jobs}) == 2
    tasks = [replace(run, task=task, run_id=f"{run.run_id}{task}") for task in "abc" for run in runs[:8]]
    jobs = make_jobs(loaded, tasks, lambda _, together: len(together) <= 17)
    assert [len(job.runs) for job in jobs] == [16, 8]
    # What does not fit at all is tried all the same.
    assert [len(job.runs) for job in make_jobs(loaded, tasks, lambda *_: False)] == [8, 8, 8]


def test_a_job_is_never_too_long(loaded, monkeypatch):
    monkeypatch.setattr(plan_module, "RUNS_A_JOB", 10)
    runs = make_plan(loaded).runs
    tasks = [replace(run, task=task) for task in "abc" for run in runs[:4]]
    assert [len(job.runs) for job in make_jobs(loaded, tasks, lambda *_: True)] == [8, 4]


@pytest.mark.parametrize(
    ("fraction", "p", "budget"),
    [(0.5, 100, 50), (0.5, 101, 51), (0.25, 102, 26), (0.0625, 100, 6), (0.0625, 104, 7), (1.0, 37, 37), (0.01, 3, 1)],
)
def test_a_fraction_of_the_mistakes_is_rounded_half_up_and_at_least_1(loaded, fraction, p, budget):
    run = next(run for run in make_plan(loaded).runs if run.spec.budget_fraction)
    run = replace(run, spec=replace(run.spec, budget_fraction=fraction))
    (resolved,) = with_budgets([run], {(run.dataset, run.repetition, run.task): p})
    assert resolved.spec.budget == budget == max(1, int(fraction * p + 0.5))
    assert (resolved.run_id, resolved.spec.budget_fraction) == (run.run_id, fraction)


def test_runs_without_a_perceptron_are_left_out(loaded):
    runs = make_plan(loaded).runs
    first = perceptrons_first(make_plan(loaded), runs)
    assert [(run.spec.name, run.repetition) for run in first] == [("perceptron", 0), ("perceptron", 1)]
    ready = with_budgets(runs, {("noisy_gaussians", 1, "-"): 40})
    assert len(ready) == 14
    assert {run.repetition for run in ready if run.spec.budget_fraction} == {1}
    assert not perceptrons_first(make_plan(loaded), [run for run in runs if run.spec.name == "rbp"])


@pytest.mark.parametrize(
    ("only", "n"),
    [
        ({}, 16),
        ({"algorithm": ["forgetron(self_tuned)"]}, 4),
        ({"algorithm": ["forgetron", "rbp"]}, 10),
        ({"budget": ["0.25"]}, 2),
        ({"budget": ["1"]}, 2),
        ({"budget": ["5", "10"], "repetition": ["1"]}, 4),
        ({"seed": ["2"], "task": ["-"], "dataset": ["noisy_gaussians"]}, 2),
    ],
)
def test_select(loaded, only, n):
    assert len(select(make_plan(loaded).runs, only)) == n


def test_long_lists_of_values_are_cut(loaded):
    runs = [replace(make_plan(loaded).runs[0], task=f"{i:02}") for i in range(126)]
    with pytest.raises(InputError) as raised:
        select(runs, {"task": ["x"]})
    assert str(raised.value).endswith(" 18, 19 and 106 more)")


def test_only_some_datasets(tmp_path):
    datasets = [{"name": "noisy_gaussians", "label": label, "options": {"n_per_class": 9}} for label in "ab"]
    loaded = config_module.load(config(tmp_path, datasets=datasets))
    assert {run.dataset for run in make_plan(loaded, only=["b"]).runs} == {"b"}
    with pytest.raises(InputError, match=r"^--only dataset=c: no such dataset  \(allowed: a, b\)$"):
        make_plan(loaded, only=["b", "c"])


def test_files_are_found_from_any_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.csv").write_text("0,1\n1,2\n")
    loaded = config_module.load(config(".", datasets=[{"name": "own", "path": "own.csv"}], repetitions=1))
    (job,) = make_jobs(loaded, make_plan(loaded).runs, lambda *_: True)
    assert job.dataset.path == tmp_path / "own.csv"
