"""The comparisons on a9a with learners of the field beside those of the papers, each at one setting.

Each raises `DataMissingError` without its data.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from budgetrun.bench import field_loops as loops
from budgetrun.bench.comparisons import A9A_GAMMA, BUDGET, Comparison, open_task, record_of
from budgetrun.bench.floor import floor_of
from budgetrun.bench.sizes import Sizes
from budgetrun.bench.timing import Side, alternate, check_equal, engine_mistakes
from budgetrun.config.schema import DatasetSpec
from budgetrun.kernels import Gaussian
from budgetrun.learners import BinaryLearner
from budgetrun.learners.avm import SphereAVM
from budgetrun.learners.bogd import BOGD
from budgetrun.learners.bpa import SimpleBPA
from budgetrun.learners.bsgd import RemovingBSGD
from budgetrun.learners.dualsgd import DualSGD
from budgetrun.learners.norma import Norma

DESCENT = {"budget": BUDGET, "step": 1.0, "regulariser": 1e-3}


def a9a_bsgd(sizes: Sizes, data_dir: Path | None) -> Comparison:
    """Time BSGD with removal on a9a."""
    return _compare(RemovingBSGD, loops.bsgd, {"budget": BUDGET, "regulariser": 1e-3}, sizes, data_dir)


def a9a_bpa(sizes: Sizes, data_dir: Path | None) -> Comparison:
    """Time BPA-S on a9a."""
    return _compare(SimpleBPA, loops.bpa, {"budget": BUDGET, "C": 0.1}, sizes, data_dir)


def a9a_norma(sizes: Sizes, data_dir: Path | None) -> Comparison:
    """Time NORMA on a9a."""
    return _compare(Norma, loops.norma, DESCENT, sizes, data_dir)


def a9a_bogd(sizes: Sizes, data_dir: Path | None) -> Comparison:
    """Time BOGD on a9a."""
    return _compare(BOGD, loops.bogd, DESCENT, sizes, data_dir)


def a9a_dualsgd(sizes: Sizes, data_dir: Path | None) -> Comparison:
    """Time DualSGD on a9a."""
    given = {"budget": BUDGET, "k": 40, "features": 100, "regulariser": 1e-3}
    return _compare(DualSGD, loops.dualsgd, given, sizes, data_dir)


def a9a_avm(sizes: Sizes, data_dir: Path | None) -> Comparison:
    """Time AVM on a9a."""
    return _compare(SphereAVM, loops.avm, {"delta": 1.9, "max_size": BUDGET, "regulariser": 1e-3}, sizes, data_dir)


def _compare(
    learner: type[BinaryLearner],
    loop: Callable[..., list[int]],
    given: dict[str, Any],
    sizes: Sizes,
    data_dir: Path | None,
) -> Comparison:
    stored, X, y = open_task(DatasetSpec(name="a9a", n_examples=sizes.rounds), data_dir)
    kernel, make = Gaussian(gamma=A9A_GAMMA), partial(learner, **given)
    plain = Side(lambda: [len(loop(X, y, A9A_GAMMA, **given))])
    engine = Side(partial(engine_mistakes, kernel, make, stored, y[None]))
    floor = floor_of(kernel, make, stored, y[None])
    alternate([plain, engine, floor], sizes.turns)
    name = f"a9a_{loop.__name__}"
    check_equal(name, engine.mistakes, plain.mistakes)
    record = partial(record_of, name, X, 1)
    records = [record(plain), record(engine, plain.seconds / engine.seconds, None, floor, against=plain.mistakes)]
    parameters = ", ".join(f"{key} = {value:g}" for key, value in given.items())
    title = f"{learner.title} ({parameters}) on a9a, gaussian kernel, gamma = {A9A_GAMMA:g}"
    return Comparison(title, records, floor, ["The engine and the plain loop make the same mistakes."])
