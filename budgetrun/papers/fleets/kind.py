"""Fleets as a kind of runs: their parameters, how their configs are checked, and what their runs cost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from budgetrun.base.params import Count, NotNegative, Seed
from budgetrun.config.kinds import RunKind
from budgetrun.config.problems import Checker

if TYPE_CHECKING:
    from budgetrun.config.schema import DatasetSpec, RunSpec
    from budgetrun.data import StreamInfo
    from budgetrun.runner.job import Measured, Settings
    from budgetrun.runner.plan import Job

PolicyName = Literal[
    "equal_split", "least_damage", "mistakes", "multitask", "oldest", "random", "square_root", "sum_bound"
]
# Kernel values of one feature per second, compiled.
_VALUES_PER_SECOND = 5e8


class SharedMemory:
    """A Forgetron per task, or per key, in one memory: a policy says whose entry goes when the memory is full.

    Parameters:
    policy : str
        Who pays; ``equal_split`` has one Forgetron of the same budget for each, and ``multitask`` one for all of them,
        on the multitask kernel.
    shared_memory : int, >= 1
        The bytes of all entries and rows.
    floor : int, >= 0
        Entries of each learner that nobody takes; the equal split finds its own.
    own_rows : bool
        Each learner stores its rows for itself, as separate learners do; else a row of several tasks is stored once.
    keys : int, >= 1, optional
        The number of learners, for a data set of several classes: each learns a pair of classes, on examples of its
        own, with activity by Zipf's law and label noise of its own. By default each task of a data set is a learner.
    passes : int, >= 1
        How often the examples are dealt out to the keys.
    noise : float, >= 0
        Half of the keys have noisy labels; the probability of a flip is uniform, at most this.
    share : float, >= 0
        b of the multitask kernel.
    seed : int, >= 0
        For the policy ``random``.

    Notes: O(n d) per prediction of a learner with n entries, and O(log m) per removal for m learners.

    References: section 9 of Dekel, Shalev-Shwartz & Singer (2008) asks for it; multitask: Cavallanti, Cesa-Bianchi &
    Gentile (2010), JMLR 11.
    """

    name = "shared_memory"
    title = "Shared memory"
    variant = None
    revision = 1
    added: ClassVar[Mapping[str, Any]] = {}
    draws = True

    def __init__(
        self,
        *,
        policy: PolicyName,
        shared_memory: Count,
        floor: NotNegative = 0,
        own_rows: bool = False,
        keys: Count | None = None,
        passes: Count = 1,
        noise: NotNegative = 0.0,
        share: NotNegative = 1.0,
        seed: Seed = 0,
    ) -> None:
        if keys is None and policy == "multitask":
            raise ValueError("policy: multitask needs keys, which have examples of their own")
        if own_rows and policy != "equal_split":
            raise ValueError("own_rows: true goes with policy: equal_split")
        if noise > 0.5:
            raise ValueError(f"noise must be at most 0.5, got {noise:g}")
        self.policy, self.shared_memory, self.floor, self.own_rows = policy, shared_memory, int(floor), own_rows
        self.keys, self.passes, self.noise, self.share, self.seed = keys, passes, noise, share, seed


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
        """Return that a kernel looks at more than an example, if so."""
        return "" if dataset.kernel is None or dataset.kernel.name != "multitask" else "give the kernel of the examples"

    def measure(self, job: Job, settings: Settings) -> Measured:
        from budgetrun.papers.fleets.measure import measure

        return measure(job, settings)

    def memory(self, spec: RunSpec, info: StreamInfo) -> float:
        """Return the bytes of the examples as floats, twice, and of the memory."""
        return 16.0 * info.n_examples * info.n_features + 2 * float(spec.parameters["shared_memory"])

    def seconds(self, spec: RunSpec, info: StreamInfo) -> float:
        """Return the seconds of the kernel values, if the memory is always full."""
        held = float(spec.parameters["shared_memory"]) / 4 / (spec.parameters["keys"] or 1)
        return info.n_examples * int(spec.parameters["passes"]) * held / _VALUES_PER_SECOND
