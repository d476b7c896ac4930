"""The comparisons on a9a with learners of the field beside those of the papers, each at one setting.

Each raises `DataMissingError` without its data.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from budgetrun.bench import feature_loops, field_loops
from budgetrun.bench.comparisons import A9A_GAMMA, BUDGET, Comparison, open_task, record_of
from budgetrun.bench.floor import floor_of
from budgetrun.bench.sizes import Sizes
from budgetrun.bench.timing import Side, alternate, check_equal, engine_mistakes
from budgetrun.config.schema import DatasetSpec
from budgetrun.engine.hypotheses.features import OfFeatures
from budgetrun.engine.hypotheses.summed import Summed
from budgetrun.kernels import Gaussian
from budgetrun.learners import BinaryLearner
from budgetrun.learners.ahpatron import Ahpatron
from budgetrun.learners.avm import SphereAVM
from budgetrun.learners.avp import AVP
from budgetrun.learners.bogd import BOGD, BOGDPlusPlus
from budgetrun.learners.bpa import NearestBPA, ProjectingBPA, SimpleBPA
from budgetrun.learners.bsgd import RemovingBSGD
from budgetrun.learners.bsgd_merging import LookupWDBSGD
from budgetrun.learners.dualsgd import DualSGD
from budgetrun.learners.fogd import FOGD
from budgetrun.learners.kons import CONKONS, PROSNKONS
from budgetrun.learners.nogd import NOGD
from budgetrun.learners.norma import NORMA
from budgetrun.learners.ogs import AOGDALD, AONSOGS, AVPOGS, MAVPOGS, AOMDOGSHinge
from budgetrun.learners.oks import IOKS, OKS
from budgetrun.learners.pomdr import POMDR
from budgetrun.learners.raker import Raker
from budgetrun.learners.skegd import FORKS, SkeGD
from budgetrun.learners.stoptron import Stoptron
from budgetrun.learners.tighter import TighterPerceptron


@dataclass(frozen=True)
class Case:
    """A learner and its plain loop, which take the same parameters.

    Attributes
    ----------
    rounds : int or None
        The most rounds; None means all.
    """

    learner: type[BinaryLearner]
    loop: Callable[..., list[int]]
    given: dict[str, Any]
    rounds: int | None = None


DESCENT = {"budget": BUDGET, "step": 1.0, "regulariser": 1e-3}
SKETCH = {"budget": BUDGET, "step": 0.2, "columns": 150, "sampled": 30, "rank": 20, "cycle": 100}
CASES = {
    "bpa": Case(SimpleBPA, field_loops.bpa, {"budget": BUDGET, "C": 0.1}),
    "bsgd": Case(RemovingBSGD, field_loops.bsgd, {"budget": BUDGET, "regulariser": 1e-3}),
    "norma": Case(NORMA, field_loops.norma, DESCENT),
    "bogd": Case(BOGD, field_loops.bogd, DESCENT),
    "dualsgd": Case(DualSGD, field_loops.dualsgd, {"budget": BUDGET, "k": 40, "features": 100, "regulariser": 1e-3}),
    "avm": Case(SphereAVM, field_loops.avm, {"delta": 1.9, "max_size": BUDGET, "regulariser": 1e-3}),
    "stoptron": Case(Stoptron, field_loops.stoptron, {"budget": BUDGET}),
    "bpa_nearest": Case(NearestBPA, field_loops.bpa_nearest, {"budget": BUDGET, "C": 0.1}),
    "bpa_projecting": Case(ProjectingBPA, field_loops.bpa_projecting, {"budget": BUDGET, "C": 0.1, "ridge": 1e-3}),
    "bsgd_lookup_wd": Case(LookupWDBSGD, field_loops.bsgd_lookup_wd, {"budget": BUDGET, "regulariser": 1e-3}),
    "avp_ogs": Case(AVPOGS, field_loops.avp_ogs, {"alpha": 0.05, "epsilon": 0.6, "U": 10.0, "c": 0.5}),
    "mavp_ogs": Case(MAVPOGS, field_loops.mavp_ogs, {"alpha": 0.05, "epsilon": 0.9, "U": 10.0, "c": 0.1}),
    "aomd_ogs": Case(AOMDOGSHinge, field_loops.aomd_ogs, {"alpha": 0.05, "U": 20.0, "c": 0.5, "M": 15}),
    "aogd_ald": Case(AOGDALD, field_loops.aogd_ald, {"alpha": 0.1, "U": 2.0, "c": 1.0}),
    "aons_ogs": Case(AONSOGS, feature_loops.aons_ogs, {"alpha": 0.2, "C": 1.0, "mu": 1.0}),
    "fogd": Case(FOGD, feature_loops.fogd, {"features": BUDGET, "step": 0.1}),
    "nogd": Case(NOGD, feature_loops.nogd, {"budget": BUDGET, "step": 0.1, "rank": 40}),
    "raker": Case(Raker, feature_loops.raker, {"features": 70, "step": 0.5, "regulariser": 1e-4}),
    "skegd": Case(SkeGD, feature_loops.skegd, SKETCH),
    "forks": Case(FORKS, feature_loops.forks, SKETCH | {"alpha": 0.01, "curvature": 0.2}),
    "pros_n_kons": Case(PROSNKONS, feature_loops.pros_n_kons, {"g": 20.0}),
    "con_kons": Case(CONKONS, feature_loops.con_kons, {"g": 20.0}),
    # Over all rounds of a9a, OKS amplifies rounding errors until they decide which kernel is drawn.
    "oks": Case(OKS, field_loops.oks, {"horizon": 8000}, rounds=8000),
    "ioks": Case(IOKS, field_loops.ioks, {"horizon": 8000, "U": 15.0}, rounds=8000),
    "bogd_plus_plus": Case(BOGDPlusPlus, field_loops.bogd_plus_plus, DESCENT),
    "pomdr": Case(POMDR, field_loops.pomdr, {"budget": BUDGET, "first_budget": 104, "eta": 0.0055, "U": 25.0}),
    "avp": Case(AVP, field_loops.avp, {"epsilon": 0.6, "U": 10.0}),
    "ahpatron": Case(Ahpatron, field_loops.ahpatron, {"budget": BUDGET, "epsilon": 0.6, "eta": 0.0005}),
    "tighter": Case(TighterPerceptron, field_loops.tighter, {"budget": BUDGET, "beta": 0.1}),
}


def _compare(name: str, case: Case, sizes: Sizes, data_dir: Path | None) -> Comparison:
    rounds = min((most for most in (sizes.rounds, case.rounds) if most), default=None)
    stored, X, y = open_task(DatasetSpec(name="a9a", n_examples=rounds), data_dir)
    kernel, make = Gaussian(gamma=A9A_GAMMA), partial(case.learner, **case.given)
    plain = Side(lambda: [len(case.loop(X, y, A9A_GAMMA, **case.given))])
    engine = Side(partial(engine_mistakes, kernel, make, stored, y[None]))
    # Other forms of hypotheses have scores that are not sums of kernel values.
    sums = issubclass(case.learner.form, Summed) and not issubclass(case.learner.form, OfFeatures)
    floor = floor_of(kernel, make, stored, y[None]) if sums else None
    alternate([plain, engine, *([floor] if floor else [])], sizes.turns)
    check_equal(name, engine.mistakes, plain.mistakes)
    record = partial(record_of, name, X, 1)
    records = [record(plain), record(engine, plain.seconds / engine.seconds, None, floor, against=plain.mistakes)]
    parameters = ", ".join(f"{key} = {value:g}" for key, value in case.given.items())
    title = f"{case.learner.title} ({parameters}) on a9a, gaussian kernel, gamma = {A9A_GAMMA:g}"
    return Comparison(title, records, floor, ["The engine and the plain loop make the same mistakes."])


COMPARISONS = {f"a9a_{name}": partial(_compare, f"a9a_{name}", case) for name, case in CASES.items()}
