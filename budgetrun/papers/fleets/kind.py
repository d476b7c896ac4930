"""Fleets as a kind of runs: their parameters, how their configs are checked, and what their runs cost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from budgetrun.config.kinds import RunKind
from budgetrun.config.problems import Checker
from budgetrun.papers.fleets.algorithm import SharedMemory

if TYPE_CHECKING:
    from budgetrun.config.schema import Config, DatasetSpec, RunSpec
    from budgetrun.data import Stream, StreamInfo
    from budgetrun.kernels import Kernel
    from budgetrun.papers.theory import Verdict
    from budgetrun.runner.job import Measured, Settings
    from budgetrun.runner.plan import Job

# Kernel values of one feature per second, compiled, and the seconds of a round besides.
_VALUES_PER_SECOND, _ROUND_SECONDS = 5e8, 5e-6


class Fleets(RunKind):
    """Fleets: one run plays all tasks, or keys, of a stream."""

    name = "fleet"
    quantities = ("online_error", "support_size", "seconds")
    holds = "what fits into shared_memory"
    of_all_tasks = True

    def algorithms(self) -> Mapping[str, type[SharedMemory]]:
        return {SharedMemory.name: SharedMemory}

    def cost(self, algorithm: type[SharedMemory]) -> str:
        return ""

    def check(self, checker: Checker, given: Mapping[str, Any], datasets: list[DatasetSpec | None]) -> None:
        """Refuse what goes with learners only."""
        if given.get("tie") == "positive":
            checker.add(("tie",), "must be 'mistake' with a shared memory, got 'positive'")
        if given.get("metrics"):
            checker.add(("metrics",), "goes with learners, and the algorithms are fleets; remove it")
        for i, dataset in enumerate(datasets):
            if dataset is not None and (dataset.task == "regression" or dataset.has_test):
                text = "must be one of binary, equal_splits, multiclass with a shared memory, without a test set"
                checker.add(("datasets", i, "task"), text)

    def misfit(self, algorithm: type[SharedMemory], dataset: DatasetSpec) -> str:
        return "" if dataset.kernel is None or dataset.kernel.name != "multitask" else "give the kernel of the examples"

    def measure(self, job: Job, settings: Settings) -> Measured:
        from budgetrun.papers.fleets.measure import measure

        return measure(job, settings)

    def bounds(
        self, rows: list[dict[str, Any]], stream: Stream, kernel: Kernel, config: Config
    ) -> Iterator[tuple[dict[str, Any], Verdict]]:
        from budgetrun.papers.fleets.bounds import check

        return check(rows, stream, kernel, config)

    def memory(self, spec: RunSpec, info: StreamInfo) -> float:
        """Return the bytes of the examples as floats, twice, and of the memory."""
        return 16.0 * info.n_examples * info.n_features + 2 * float(spec.parameters["shared_memory"])

    def seconds(self, spec: RunSpec, info: StreamInfo) -> float:
        """Return the seconds of the kernel values, if the memory is always full."""
        held = float(spec.parameters["shared_memory"]) / 4 / (spec.parameters["keys"] or 1)
        return info.n_examples * int(spec.parameters["passes"]) * (held / _VALUES_PER_SECOND + _ROUND_SECONDS)
