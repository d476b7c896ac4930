"""What every learner is: a rule for the rounds on which it acts, expressed as verbs of a hypothesis."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from budgetrun.engine.hypotheses import Expansion, Hypothesis, MulticlassExpansion

if TYPE_CHECKING:
    from budgetrun.engine.pool import Pool


class Learner(ABC):
    """An online learner, written like its paper's pseudo-code: what it does on a round on which it acts.

    The engine predicts, counts mistakes and calls ``update`` on the rounds on which the learner acts. A learner never
    reads data, counts mistakes or looks at the stream. Its parameters are the keyword-only arguments of ``__init__``,
    annotated with the types (`budgetrun.params`) that configs are checked against.

    Attributes
    ----------
    name : str
        The name in configs, such as ``forgetron``.
    variant : str or None
        The variant in configs, such as ``self_tuned``, where several learners share a name.
    default_variant : bool
        Whether a config that names no variant gets this one.
    revision : int, >= 1
        Raised whenever the rule's outcomes change; part of every run id (`budgetrun.runner.identity`).
    added : dict of str to value
        Parameters that came after the first runs, each with the value that does what was done before: with that value
        they are no part of run ids.
    form : type
        The form of hypothesis that the rule works on.
    multiclass : bool
        Whether it learns several classes rather than two.
    margin : float
        The learner acts on rounds whose margin is below this, and on mistakes; 0 means on mistakes only. A learner
        whose margin differs from round to round has its own ``margins``.
    budget : int or None
        B, the most examples held between rounds; None for a learner without a budget.
    alike_until_full : str or None
        Learners with the same value do exactly the same as one another until they act on a round with ``budget``
        examples held; they then share one hypothesis up to that point, which saves time and changes nothing else.
    only_adds : bool
        Whether every example keeps the weight with which it was added. Then the mean of all hypotheses (the
        online-to-batch conversion) needs no other examples than the last hypothesis.
    draws : bool
        Whether the rule draws random numbers; then it takes a parameter ``seed``.
    """

    name: ClassVar[str]
    variant: ClassVar[str | None] = None
    default_variant: ClassVar[bool] = False
    revision: ClassVar[int] = 1
    added: ClassVar[Mapping[str, Any]] = {}
    form: ClassVar[type[Hypothesis]]
    multiclass: ClassVar[bool]
    margin: ClassVar[float] = 0.0
    alike_until_full: ClassVar[str | None] = None
    only_adds: ClassVar[bool] = False
    draws: ClassVar[bool] = False

    budget: int | None = None

    @classmethod
    def averages(cls) -> bool:
        """Return whether the mean of all hypotheses can be had at the end of a stream."""
        return cls.only_adds or cls.form.averages

    def facts(self, f: Any) -> dict[str, float]:
        """Return what the mistake bound of this learner's paper needs to know of a run, beside its counts.

        ``f`` is the hypothesis at the end of the run.
        """
        return {}


class BinaryLearner(Learner):
    """A learner of two classes, with labels -1 and +1."""

    multiclass = False
    form: ClassVar[type[Hypothesis]] = Expansion

    def start(self, pool: Pool) -> Any:
        """Return f_1 = 0: an instance of ``form``, with what the rule needs it to track."""
        return self.form(pool)

    def margins(self, f: Any, t: int) -> float | np.ndarray:
        """Return the margins of the block's rounds from ``t`` on, shape (b - t,), or one that holds for all."""
        return self.margin

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
            f_t(x), as it was predicted.
        """


class MulticlassLearner(Learner):
    """A learner of classes 0 to m - 1, with one function per class.

    The engine predicts the class of the largest score and calls ``update`` on the rounds on which the true class does
    not lead its rival, the best of the others, and on those where its lead is below ``margin``.

    Attributes
    ----------
    costs : ndarray, shape (m, m), or None
        The cost of taking the row's class for the column's, in units of ``margin``. With costs the margin of a round
        is 1 - max over r of (costs[y, r] - f_y + f_r), and its rival is that r; None means 1 for every r, so that the
        margin is the lead.
    """

    multiclass = True
    form: ClassVar[type[Hypothesis]] = MulticlassExpansion
    costs: np.ndarray | None = None

    def start(self, pool: Pool, n_classes: int) -> Any:
        """Return f_1 = 0 for every class: an instance of ``form``."""
        return MulticlassExpansion(pool, n_classes)

    def margins(self, f: Any, t: int, true: np.ndarray, rivals: np.ndarray) -> float | np.ndarray:
        """Return the margins of the block's rounds from ``t`` on, shape (b - t,), or one that holds for all.

        ``true`` and ``rivals``, shape (b - t,), are the classes of these rounds and their rivals.
        """
        return self.margin

    @abstractmethod
    def update(self, f: Any, y: int, rival: int, lead: float) -> None:
        """Act on the current round.

        Parameters
        ----------
        f : MulticlassHypothesis
            The functions before the update on entry, after it on return; ``f.mistaken`` says whether the round is a
            mistake.
        y, rival : int
            The true class and its rival.
        lead : float
            f_y(x) - f_rival(x), as predicted; with ``costs``, on a round that is no mistake, the margin defined there.
        """
