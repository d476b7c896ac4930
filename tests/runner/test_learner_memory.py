"""Budgets in bytes: `learner_memory` in a config."""

from pathlib import Path

import pytest
from faults import message
from sweeping import config, rows, run

from budgetrun import config as config_module
from budgetrun.engine.group import trial
from budgetrun.engine.hypotheses.base import bytes_kept
from budgetrun.kernels import Gaussian
from budgetrun.learners import for_task
from budgetrun.results.report import Report
from budgetrun.runner import identity
from budgetrun.runner.plan import make_plan


def planned(folder, algorithms, **others):
    path = config(folder, algorithms=algorithms, repetitions=1, **others)
    return [run.spec for run in make_plan(config_module.load(path)).runs]


def test_each_learner_has_the_largest_budget_that_fits(tmp_path):
    names = ["rbp", "forgetron", "cks", "norma", "nogd", "skegd", "auto"]
    given = {"norma": {"step": "1 / sqrt(T)"}, "nogd": {"step": 0.1}}
    sizes = {"learner_memory": ["8KB", "64KB", "500KB"]}
    algorithms = [{"name": name, **sizes, **given.get(name, {})} for name in names[:-1]]
    algorithms += [{"name": "auto", "learner_memory": "200KB"}]
    variants = for_task("binary")["bpa"]
    algorithms += [{"name": "bpa", "variant": variant, "learner_memory": "64KB"} for variant in variants]
    algorithms += [{"name": "bsgd", "variant": "merging", "learner_memory": "8KB"}]
    specs = planned(tmp_path, algorithms)
    assert {spec.name for spec in specs} == {*names, "bpa", "bsgd"}
    for spec in specs:
        cls = identity.algorithm_of(spec)

        def kept(budget, spec=spec, cls=cls):
            learner = cls(**spec.parameters, budget=budget)
            # Two features; the factors of an example.
            return bytes_kept(*trial(learner, Gaussian(gamma=0.5)), budget, 8 * 2 + 16, 2)

        step = 2 if spec.name in ("auto",) else 1
        assert kept(spec.budget) <= spec.learner_memory
        # No budget is larger than the stream, which has 300 rounds.
        assert spec.budget == 300 or kept(spec.budget + step) > spec.learner_memory
        assert spec.name == "auto" or spec.budget > 4
    assert max(spec.budget for spec in specs) == 300


def test_what_is_too_little_is_one_sentence_with_the_least_that_fits(tmp_path):
    said = message(planned, tmp_path, [{"name": "rbp", "learner_memory": "1KB"}])
    assert said.endswith(
        "algorithm 'rbp' on dataset 'noisy_gaussians': learner_memory: 1.0 KB is too little: with a budget of 1, the "
        "least, the learner keeps more; give at least 4.2KB"
    )
    (spec,) = planned(tmp_path, [{"name": "rbp", "learner_memory": "4.2KB"}])
    assert spec.budget == 1


@pytest.mark.parametrize(("algorithms", "said"), [
    ([{"name": "rbp", "budget": 5, "learner_memory": "8KB"}],
     "algorithms[0].budget: cannot be given with learner_memory, which decides on it; remove one of them"),
    ([{"name": "rbp", "learner_memory": 64}],
     "algorithms[0].learner_memory: '64' has no unit, so it would mean bytes; write 64G for gigabytes"),
    ([{"name": "rbp", "learner_memory": ["8KB", "8KB"]}],
     "algorithms[0].learner_memory[1]: 8000 is in this list twice"),
    ([{"name": "perceptron", "learner_memory": "8KB"}], "algorithms[0].learner_memory: unknown key"),
    ([{"name": "rbp", "learner_memory": "8KB"}, {"name": "forgetron", "budget": {"of": "rbp"}}],
     "algorithms[1].budget.of: 'rbp' has a learner_memory; name one that does not"),
])  # fmt: skip
def test_mistakes_in_configs(tmp_path, algorithms, said):
    assert said in message(config_module.load, config(tmp_path, algorithms=algorithms))


def test_a_sweep_over_sizes_and_its_tables(here, capsys):
    algorithms = [
        {"name": "majority"},
        {"name": "rbp", "learner_memory": ["8KB", "16KB"]},
        {"name": "tighter", "learner_memory": ["8KB", "16KB"]},
    ]
    path = config(here, algorithms=algorithms)
    assert run(capsys, "sweep", path, "--jobs", "1")[0] == 0
    found = rows("results/small")
    sizes = {(row["label"], row["learner_memory"]): int(row["budget"] or 0) for row in found}
    assert sizes["majority", ""] == 0
    assert sizes["rbp", "8000"] > sizes["tighter", "8000"]
    assert sizes["tighter", "16000"] > sizes["tighter", "8000"]
    # Nothing is left to do, and reports show a block per size.
    assert "10 of 10 runs finished" in run(capsys, "status", "results/small")[1]
    report = Report(Path("results/small"))
    (block,) = report.tables[0].blocks
    assert [row.header for row in block.rows] == ["8 KB", "16 KB"]
    (table,) = [path for path in report.write() if path.name == "online_error.csv"]
    assert {row["learner_memory"] for row in rows(table.parent, table.name)} == {"8000", "16000"}


def test_run_ids_of_budgets_do_not_depend_on_it(tmp_path):
    (by_memory,) = planned(tmp_path, [{"name": "rbp", "learner_memory": "8KB"}])
    ids = []
    for given in ({"budget": by_memory.budget}, {"learner_memory": "8KB"}):
        plan = make_plan(config_module.load(config(tmp_path, algorithms=[{"name": "rbp", **given}])))
        ids.append({run.run_id for run in plan.runs})
    assert not ids[0] & ids[1]
