"""Solvers as a kind of runs: how their configs are checked, what their runs cost, and how a job of them is run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from budgetrun.base.problem import problem_of
from budgetrun.config.kinds import RunKind
from budgetrun.config.problems import Checker
from budgetrun.papers.solvers import find, registry

if TYPE_CHECKING:
    from budgetrun.config.schema import DatasetSpec, RunSpec
    from budgetrun.data import StreamInfo
    from budgetrun.papers.solvers.base import Solver
    from budgetrun.runner.job import Measured, Settings
    from budgetrun.runner.plan import Job

# The accuracy for which solvers declare their passes.
_ACCURACY = 1e-4
# Non-zero values that a solver reads per second.
_VALUES_PER_SECOND = 2e8


class Solvers(RunKind):
    """Batch solvers of one soft-margin problem per stream."""

    name = "solver"
    quantities = ("objective", "gap", "seconds_ratio", "seconds", "support_size", "last_test_error")

    def algorithms(self) -> Mapping[str, type[Solver]]:
        return registry()

    def cost(self, algorithm: type[Solver]) -> str:
        return f"about {algorithm.passes:,} passes over the data."

    def check(self, checker: Checker, given: Mapping[str, Any], datasets: list[DatasetSpec | None]) -> None:
        """Refuse what goes with learners only."""
        if given.get("tie") == "positive":
            checker.add(("tie",), "must be 'mistake' with solvers, which have no rounds to predict, got 'positive'")
        if given.get("metrics"):
            checker.add(("metrics",), "goes with learners, and the algorithms are solvers; remove it")
        if given.get("dtype") == "float32":
            checker.add(("dtype",), "must be 'float64' with solvers, got 'float32'")
        for i, dataset in enumerate(datasets):
            if dataset is not None and not problem_of(dataset.task).of_signs:
                text = f"must be one of binary, equal_splits with solvers, got '{dataset.task}'"
                checker.add(("datasets", i, "task"), text)

    def misfit(self, algorithm: type[Solver], dataset: DatasetSpec) -> str:
        if dataset.kernel is None or dataset.kernel.name in algorithm.kernels:
            return ""
        known, of = " or ".join(algorithm.kernels), f"dataset {dataset.label!r} has {dataset.kernel.name}"
        return f"{algorithm.name} solves with the kernel {known} only, and {of}"

    def measure(self, job: Job, settings: Settings) -> Measured:
        from budgetrun.papers.solvers.measure import measure

        return measure(job, settings)

    def memory(self, spec: RunSpec, info: StreamInfo) -> float:
        """Return the bytes of the stream, a solver's own copy, some vectors, and the Gram matrix if there is one."""
        bytes_per_value = 8 if info.nnz_per_row is None else 12
        # Solvers read floats.
        examples = 2 * (info.n_examples + info.n_test) * (info.values_per_example * bytes_per_value + 8)
        vectors = 8 * 8 * (info.n_examples + info.n_features)
        is_linear = spec.kernel is not None and spec.kernel.name == "linear"
        return examples + vectors + (0 if is_linear else 8 * info.n_examples**2)

    def seconds(self, spec: RunSpec, info: StreamInfo) -> float:
        """Return the seconds of the passes that a solver declares, right to an order of magnitude."""
        solver, given = find(spec.name), spec.parameters
        passes = solver.passes
        if solver.passes_grow_with_accuracy:
            passes *= _ACCURACY / given["accuracy"]
        if given.get("iterations"):
            # Each reads k examples.
            passes = min(passes, given["iterations"] * given["k"] / info.n_examples)
        return passes * info.n_examples * info.values_per_example / _VALUES_PER_SECOND
