"""The forms of hypotheses, one file per form."""

from budgetrun.engine.hypotheses.base import Hypothesis
from budgetrun.engine.hypotheses.decaying import Decaying
from budgetrun.engine.hypotheses.expansion import Expansion
from budgetrun.engine.hypotheses.features import ExplicitFeatures, random_features
from budgetrun.engine.hypotheses.multiclass import MulticlassExpansion
from budgetrun.engine.hypotheses.multiclass_projected import MulticlassProjected
from budgetrun.engine.hypotheses.nystroem import Nystroem
from budgetrun.engine.hypotheses.optimistic import Optimistic
from budgetrun.engine.hypotheses.projected import Projected

__all__ = [
    "Decaying",
    "Expansion",
    "ExplicitFeatures",
    "Hypothesis",
    "MulticlassExpansion",
    "MulticlassProjected",
    "Nystroem",
    "Optimistic",
    "Projected",
    "random_features",
]
