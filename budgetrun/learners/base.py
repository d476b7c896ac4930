"""What every learner is: a rule for the rounds on which it acts, told to a hypothesis."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from budgetrun.engine.hypotheses.expansion import Hypothesis

if TYPE_CHECKING:
    from budgetrun.engine.pool import Pool

Budget = Annotated[int, Field(ge=1, strict=True)]
Seed = Annotated[int, Field(ge=0, strict=True)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
NotNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class Learner(ABC):
    """An online learner, as its paper's pseudo-code writes it: what to do when the condition holds, and nothing else.

    The engine predicts, counts mistakes and calls `update` on the rounds where the learner acts. A learner never
    reads data, counts mistakes or looks at the stream. Its parameters are the keyword-only arguments of ``__init__``,
    annotated with the types that configs are checked against; `create` in this package builds it from a config entry.

    Attributes
    ----------
    name : str
        The name in configs, e.g. ``forgetron``.
    variant : str or None
        The variant in configs, e.g. ``self_tuned``, where several learners share a name.
    revision : int, >= 1
        Raised whenever the rule's outcomes change; part of every run id (`budgetrun.runner.identity`).
    form : type
        The form of hypothesis that the rule works on.
    multiclass : bool
        It learns several classes (`budgetrun.learners.multiclass`) rather than two.
    margin : float
        The learner acts on rounds with y f(x) below it, hinge loss and all; 0 means on mistakes only. A learner whose
        margin differs from round to round has `margins` of its own.
    default_variant : bool
        Of the variants of a name, the one that a config gets which names none.
    budget : int or None
        B, the most examples held between rounds; None for a learner that has no budget.
    perceptron_until_full : bool
        Until a mistake finds ``budget`` examples held, this learner is the Perceptron, round for round. Learners that
        say so share one hypothesis until then, which changes nothing but the time.
    only_adds : bool
        Every example stays with the weight it came in with. So the mean of all hypotheses, the online-to-batch
        conversion, needs no other examples than the last one.
    needs_oldest_score : bool
        The rule reads f(x_i) of the oldest support example, ``f.score_of(0)``, and evicts no other.
    needs_self_scores : bool
        The rule reads `Hypothesis.self_scores`: f(x_i) for every support example, kept up to date.
    needs_norm : bool
        The rule reads `Hypothesis.norm_sq`.
    needs_projection : bool
        The rule projects on the span of the support set: O(n^2) memory for n support examples.
    draws : bool
        The rule draws random numbers; such a learner takes a parameter ``seed``.
    """

    name: ClassVar[str]
    variant: ClassVar[str | None] = None
    revision: ClassVar[int] = 1
    form: ClassVar[type[Any]] = Hypothesis
    multiclass: ClassVar[bool] = False
    perceptron_until_full: ClassVar[bool] = False
    only_adds: ClassVar[bool] = False
    needs_oldest_score: ClassVar[bool] = False
    needs_self_scores: ClassVar[bool] = False
    needs_norm: ClassVar[bool] = False
    needs_projection: ClassVar[bool] = False
    draws: ClassVar[bool] = False

    margin: ClassVar[float] = 0.0
    default_variant: ClassVar[bool] = False

    budget: int | None = None

    def start(self, pool: Pool, n_classes: int) -> Any:
        """Return f_1 = 0, in the form that this learner's rule works on.

        Parameters
        ----------
        pool : Pool
            Where the examples are.
        n_classes : int, >= 2
        """
        return self.form(pool, self)

    def margins(self, f: Any, t: int) -> float | np.ndarray:
        """Return the margins of the rounds from ``t`` of the block on, shape (b - t,), or the one that all have."""
        return self.margin

    def facts(self, f: Any) -> dict[str, float]:
        """Return what the mistake bound of this learner's paper needs to know of a run, beside its counts.

        Parameters
        ----------
        f : Hypothesis
            As the run left it.
        """
        return {}

    @abstractmethod
    def update(self, f: Any, y: int, score: float) -> None:
        """Act on the round in hand: its example is (x, y), and f(x) was ``score`` when it was predicted.

        Parameters
        ----------
        f : Hypothesis
            f_t on entry, f_{t+1} on return; ``f.mistaken`` says whether the round is a mistake.
        y : int
            The label, -1 or +1.
        score : float
            f_t(x_t).
        """
