"""The base classes of learners. A learner is an update rule, written with the verbs of a hypothesis."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Literal, TypeVar, dataclass_transform

import numpy as np

from budgetrun.base.errors import InputError
from budgetrun.base.params import Budget, Task
from budgetrun.base.registry import float_parameters
from budgetrun.engine.hypotheses import Expansion, Hypothesis, MulticlassExpansion
from budgetrun.engine.pool import Pool
from budgetrun.kernels import Gaussian
from budgetrun.kernels.compiling import Compilable
from budgetrun.learners.page import complete

# The value of `Learner.revised` if only outcomes with kernels other than k(x, x) = 1 have changed, once.
RESCALED: Mapping[tuple[str, Any], int] = {("kernel", name): 2 for name in ("linear", "multitask", "polynomial")}

Family = Literal["kernel", "linear", "constant", "combined", "program"]
L = TypeVar("L", bound="Learner")


class Learner(Compilable, ABC):
    """An online learner: the update rule of its paper, and the rounds on which it acts.

    The engine reads the data, predicts, counts mistakes and calls ``update`` on the rounds on which the learner acts. A
    learner does none of that itself, so all learners are measured in the same way. Its parameters are the keyword-only
    arguments of ``__init__``, annotated with the types (`budgetrun.base.params`) that configs are checked against; or,
    if it keeps them as they are given, its fields (`as_fields`).
    """

    name: ClassVar[str]  #: in configs, e.g. ``forgetron``
    variant: ClassVar[str | None] = None  #: in configs, e.g. ``self_tuned``, if several learners share a name
    title: ClassVar[str] = ""  #: on pages and in figures, e.g. ``Forgetron, self-tuned``; by default that in configs
    default_variant: ClassVar[bool] = False  #: whether this is the variant that a config gets if it names none
    #: Raised whenever a change to the rule changes outcomes; >= 1, part of every run id (`budgetrun.runner.identity`).
    revision: ClassVar[int] = 1
    #: Earlier revisions whose saved models predict as before, and learn on by the rule as it is now.
    continues: ClassVar[Collection[int]] = ()
    #: Parameters that were added after the first committed runs, each with the value that means the earlier behavior.
    #: With that value they are not part of run ids.
    added: ClassVar[Mapping[str, Any]] = {}
    #: Values of parameters with a revision of their own, which is part of the run ids of runs with these values. The
    #: key ``kernel`` stands for the name of the kernel.
    revised: ClassVar[Mapping[tuple[str, Any], int]] = {}
    form: ClassVar[type[Hypothesis]] = Expansion  #: that of the hypothesis
    tracks: ClassVar[Mapping[str, Any]] = {}  #: options of the form, e.g. ``{"norm": True}``; see `Expansion`
    #: What it learns: a function of kernel values, or of features that stand for them; a linear function of the
    #: example; a number that does not depend on the example; a combination of other learners; or what a program of
    #: others learns.
    family: ClassVar[Family] = "kernel"
    task: ClassVar[Task]  #: whether the labels are -1 and +1, classes 0 to m - 1, or numbers
    #: The learner acts on mistakes and on rounds whose margin is below this by more than rounding, as after an update
    #: the margin can be exactly this; 0 means on mistakes only, infinity in every round. A learner whose threshold
    #: varies from round to round overrides ``margins``.
    margin: ClassVar[float] = 0.0
    #: Learners with the same value behave identically until they act on a round with ``budget`` support examples. They
    #: share one hypothesis up to that point, which only saves time.
    alike_until_full: ClassVar[str | None] = None
    #: Learners with the same value, if it is not None, differ at most in their labels. Then they are linear, and take
    #: the step ``slope(y, score)`` in every round, so that one pass over the rows of a block serves all of them.
    alike_but_for_labels: Any = None
    #: Whether every example keeps the weight with which it was added. Then the mean of all hypotheses (online-to-batch
    #: conversion) has the same support set as the last hypothesis.
    only_adds: ClassVar[bool] = False
    #: Whether it standardises examples itself: then ``scale: running`` leaves that to it.
    standardises: ClassVar[bool] = False
    draws: ClassVar[bool] = False  #: whether the rule draws random numbers; then it has a parameter ``seed``
    #: Whether the rule can be compiled: its attributes are numbers, text, arrays and random generators, it calls plain
    #: functions, methods and what the compiler knows of numpy, and it assigns numbers only. A class outside this
    #: package is interpreted, unless it sets this itself.
    compiled: ClassVar[bool] = True
    #: About how many operations of numpy a round on which it acts takes, if it is not compiled; for estimates.
    calls: ClassVar[int] = 0
    #: About how many multiplications such a round takes per support example, beside the kernel values; for estimates.
    work: ClassVar[float] = 0.0
    #: Without a budget: the share of the rounds whose examples it holds in the end, for estimates; None for a guess.
    holds: ClassVar[float | None] = None

    budget: int | None = None  #: B, the most support examples between rounds; None for a learner without a budget

    def __init_subclass__(cls) -> None:
        if "compiled" not in vars(cls) and not cls.__module__.startswith("budgetrun."):
            cls.compiled = False
        complete(cls)

    def __post_init__(self) -> None:
        """Compute what is `derived` from the parameters; a rule adds what it keeps besides them."""
        for one in fields(self):  # type: ignore[arg-type]  # only fields make it be called
            if "derived" in one.metadata and getattr(self, one.name) is None:
                setattr(self, one.name, one.metadata["derived"](self))
            limit, value = one.metadata.get("at_most"), getattr(self, one.name)
            if limit and value > (most := getattr(self, limit)):
                raise ValueError(f"{one.name} must be at most {limit}, {most}, got {value}")

    @classmethod
    def floats(cls) -> frozenset[str]:
        return float_parameters(cls)

    @classmethod
    def averages(cls) -> bool:
        """Return whether the mean of all hypotheses is available at the end of a stream."""
        return cls.only_adds or cls.form.averages

    def bytes_needed(self, size: int) -> float:
        """Return the bytes for ``size`` support examples of the rule's own arrays, apart from each `Table`."""
        return 0.0

    def bytes_kept(self, size: int, row: float, n_features: int) -> float:
        """Return the bytes of the rule's own arrays between blocks, apart from each `Table`."""
        return 0.0

    def uncompiled(self, f: Any) -> bool:
        """Return whether the next update cannot be compiled, though others can: it calls what is `interpreted`."""
        return False

    def facts(self, f: Any) -> dict[str, float]:
        """Return the quantities, other than counts, that the mistake bound of the learner's paper depends on.

        ``f`` is the hypothesis at the end of the run.
        """
        return {}


def derived(default: Callable[[Any], Any], at_most: str | None = None) -> Any:
    """Return the field of a parameter that can be None: then it is what ``default`` returns, given those before it.

    ``at_most`` names a parameter before it that it must not exceed.
    """
    return field(default=None, metadata={"derived": default, "at_most": at_most})


@dataclass_transform(kw_only_default=True, eq_default=False)
def as_fields(cls: type[L]) -> type[L]:
    """Give a learner an ``__init__`` that stores its parameters: its annotated attributes and those of its bases."""
    own = cls.__annotations__.keys()
    for name in own & vars(cls).keys():
        if "derived" in getattr(vars(cls)[name], "metadata", ()):
            cls.__annotations__[name] |= None
    for name in own - vars(cls).keys():
        # It is required, whatever value an attribute of a base has.
        setattr(cls, name, field())
    made = dataclass(kw_only=True, eq=False, repr=False)(cls)
    for one in fields(made):  # type: ignore[arg-type]
        if one.init and one.name in own & vars(made).keys():
            # Compiled code takes what a class has for a constant, and this is only a default.
            delattr(made, one.name)
    # Again: its page tells the parameters of its ``__init__``.
    complete(made)
    return made


@as_fields
class Budgeted(Learner):
    """A learner that always has a budget.

    Parameters
    ----------
    budget : int, >= 1
        B, the most support examples between rounds.
    """

    budget: Budget


class BinaryLearner(Learner):
    """A binary learner, with labels -1 and +1."""

    task = "binary"

    def start(self, pool: Pool) -> Any:
        """Return f_1 = 0: an instance of ``form`` that tracks what the rule needs."""
        return self.form(pool, **self.tracks)

    def margins(self, f: Any, t: int) -> float | np.ndarray:
        """Return the margins below which the learner acts, from round ``t`` of the block on: shape (b - t,), or one."""
        return self.margin - f.rounding if self.margin > 0 else 0.0

    @abstractmethod
    def update(self, f: Any, y: int, score: float) -> None:
        """Act on the current round with the example (x, y).

        Parameters
        ----------
        f : Hypothesis
            f_t on entry, f_{t+1} on return; ``f.mistaken`` says whether the round is a mistake.
        y : int
            The label, -1 or +1.
        score : float
            f_t(x), the score at prediction time.
        """


class MulticlassLearner(Learner):
    """A multiclass learner, with labels 0 to m - 1 and one function per class.

    The engine predicts the class of the largest score. The rival is the best class other than the true one. The engine
    calls ``update`` if the true class does not lead its rival, or if its lead is below ``margin``.
    """

    task = "multiclass"
    form: ClassVar[type[Hypothesis]] = MulticlassExpansion
    #: The cost of predicting the column's class for an example of the row's class, shape (m, m). With costs, the margin
    #: of a round is 1 - max over r of (costs[y, r] - f_y + f_r), and its rival is that r. None means 1 for every r:
    #: then the margin is the lead.
    costs: np.ndarray | None = None

    def start(self, pool: Pool, n_classes: int) -> Any:
        """Return f_1 = 0 for every class: an instance of ``form``."""
        return MulticlassExpansion(pool, n_classes)

    def margins(self, f: Any, t: int, y: int, rival: int) -> float:
        """Return the margin below which it acts in round ``t`` of the block, for its class ``y`` and the rival."""
        return self.margin - f.rounding if self.margin > 0 else 0.0

    @abstractmethod
    def update(self, f: Any, y: int, rival: int, lead: float) -> None:
        """Act on the current round.

        Parameters
        ----------
        f : Hypothesis
            f_t on entry, f_{t+1} on return; ``f.mistaken`` says whether the round is a mistake.
        y, rival : int
            The true class and its rival.
        lead : float
            f_y(x) - f_rival(x) at prediction time; with ``costs``, on a round that is not a mistake, the margin above.
        """


class RegressionLearner(Learner):
    """A regression learner, whose labels are numbers and whose predictions are the scores themselves."""

    task = "regression"

    def start(self, pool: Pool) -> Any:
        """Return f_1 = 0: an instance of ``form`` that tracks what the rule needs."""
        return self.form(pool, **self.tracks)

    def tolerance(self, f: Any) -> float:
        """Return the largest error |y - f(x)| on which the learner does not act; below 0, it acts in every round."""
        return -1.0

    @abstractmethod
    def update(self, f: Any, y: float, score: float) -> None:
        """Act on the current round with the example (x, y), as `BinaryLearner.update` does."""


def gaussian_rate(pool: Pool, name: str, why: str, otherwise: str = "") -> float:
    """Return gamma of the pool's kernel exp(-gamma ||a - b||^2); an InputError if it is another kernel.

    ``why`` says why the learner needs the Gaussian one, ``otherwise`` another way out.
    """
    if not isinstance(pool.kernel, Gaussian):
        otherwise = otherwise or f"leave {name} out"
        raise InputError(f"{name}: {why}, got {pool.kernel}: use the gaussian kernel, or {otherwise}")
    return pool.kernel.rate
