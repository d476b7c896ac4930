"""The algorithm of a fleet's run: its parameters."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from budgetrun.base.params import Count, NotNegative, Seed

PolicyName = Literal[
    "equal_split",
    "harmless",
    "least_damage",
    "mistakes",
    "multitask",
    "oldest",
    "random",
    "square_root",
    "sum_bound",
    "younger_half",
]


@dataclass(kw_only=True, eq=False)
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

    policy: PolicyName
    shared_memory: Count
    floor: Annotated[int, Field(ge=0, strict=True)] = 0
    own_rows: bool = False
    keys: Count | None = None
    passes: Count = 1
    noise: NotNegative = 0.0
    share: NotNegative = 1.0
    seed: Seed = 0

    def __post_init__(self) -> None:
        if self.keys is None and self.policy == "multitask":
            raise ValueError("policy: multitask needs keys, which have examples of their own")
        if self.own_rows and self.policy != "equal_split":
            raise ValueError("own_rows: true goes with policy: equal_split")
        if self.noise > 0.5:
            raise ValueError(f"noise must be at most 0.5, got {self.noise:g}")
