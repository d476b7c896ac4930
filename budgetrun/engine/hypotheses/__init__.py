"""Forms of hypotheses, one module each."""

from budgetrun.engine.hypotheses.base import Hypothesis as Hypothesis
from budgetrun.engine.hypotheses.decaying import Decaying as Decaying
from budgetrun.engine.hypotheses.expansion import Expansion as Expansion
from budgetrun.engine.hypotheses.features import ExplicitFeatures as ExplicitFeatures
from budgetrun.engine.hypotheses.features import random_features as random_features
from budgetrun.engine.hypotheses.multiclass import MulticlassExpansion as MulticlassExpansion
from budgetrun.engine.hypotheses.multiclass_projected import MulticlassProjected as MulticlassProjected
from budgetrun.engine.hypotheses.nystroem import Nystroem as Nystroem
from budgetrun.engine.hypotheses.optimistic import Hinted as Hinted
from budgetrun.engine.hypotheses.optimistic import Optimistic as Optimistic
from budgetrun.engine.hypotheses.projected import Projected as Projected
from budgetrun.engine.hypotheses.projected import Spanned as Spanned
