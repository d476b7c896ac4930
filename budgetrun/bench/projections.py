"""The comparisons on real streams: learners that project, with more than 1,000 support examples.

Each raises `DataMissingError` without its data.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from budgetrun.bench import loops
from budgetrun.bench.comparisons import A9A_GAMMA, Comparison, by_index_note, open_task, record_of
from budgetrun.bench.sizes import Sizes
from budgetrun.bench.timing import Loop, Maker, Rounds, RoundsOf, Side, alternate, check_rounds, engine_rounds
from budgetrun.config.schema import DatasetSpec
from budgetrun.kernels import Gaussian
from budgetrun.learners.projectron_2024 import AlwaysAddingProjectron
from budgetrun.learners.projectron_pp import ProjectronPlusPlus

IJCNN1_GAMMA = 8.0
ETA, SMALL_ETA = 0.05, 0.01
COD_RNA_GAMMA, COD_RNA_ETA = 0.5, 0.9
GOAL = 4.0
MOST_TURNS = 2


def ijcnn1_projectron_pp(sizes: Sizes, data_dir: Path | None) -> Comparison:
    """Time Projectron++ on ijcnn1."""
    return _compare("ijcnn1_projectron_pp", "ijcnn1", IJCNN1_GAMMA, ETA, sizes, data_dir)


def a9a_projectron_pp(sizes: Sizes, data_dir: Path | None) -> Comparison:
    """Time Projectron++ on a9a."""
    return _compare("a9a_projectron_pp", "a9a", A9A_GAMMA, ETA, sizes, data_dir)


def a9a_projectron_pp_large(sizes: Sizes, data_dir: Path | None) -> Comparison:
    """Time Projectron++ on a9a with an eta so small that it holds more than 3,000 examples."""
    return _compare("a9a_projectron_pp_large", "a9a", A9A_GAMMA, SMALL_ETA, sizes, data_dir)


def cod_rna_projectron_2024(sizes: Sizes, data_dir: Path | None) -> Comparison:
    """Time the Projectron++ of the comparison of 2024 on cod-rna, with its parameters; it holds some 5,000 examples."""
    spec = DatasetSpec(name="cod_rna", parts=("test",), n_examples=sizes.rounds)
    make = partial(AlwaysAddingProjectron, eta=COD_RNA_ETA)
    loop = partial(loops.always_adding_projectron, gamma=COD_RNA_GAMMA, eta=COD_RNA_ETA)
    # The plain loops take minutes, so they run once.
    once = replace(sizes, turns=1)
    what = f"the Projectron++ of the comparison of 2024, eta = {COD_RNA_ETA:g}, on cod-rna"
    by_index = partial(loops.always_adding_projectron_by_index, gamma=COD_RNA_GAMMA, eta=COD_RNA_ETA)
    return _project("cod_rna_projectron_2024", what, spec, COD_RNA_GAMMA, make, loop, once, data_dir, by_index)


def _compare(name: str, dataset: str, gamma: float, eta: float, sizes: Sizes, data_dir: Path | None) -> Comparison:
    spec = DatasetSpec(name=dataset, n_examples=sizes.rounds)
    make = partial(ProjectronPlusPlus, eta=eta, threshold="squared_distance")
    loop = partial(loops.projectron_pp, gamma=gamma, eta=eta)
    # With a large inverse this takes minutes; it is timed on cod-rna only.
    by_index = partial(loops.projectron_pp_by_index, gamma=gamma, eta=eta) if eta == ETA else None
    what = f"Projectron++, eta = {eta:g} (squared distance), on {dataset}"
    return _project(name, what, spec, gamma, make, loop, sizes, data_dir, by_index)


def _project(
    name: str,
    what: str,
    spec: DatasetSpec,
    gamma: float,
    make: Maker,
    loop: Callable[[np.ndarray, np.ndarray], Rounds],
    sizes: Sizes,
    data_dir: Path | None,
    loop_by_index: Loop | None = None,
) -> Comparison:
    _, X, y = open_task(spec, data_dir)
    plain_run = RoundsOf(partial(loop, X, y))
    engine_run = RoundsOf(partial(engine_rounds, Gaussian(gamma=gamma), make, X, y))
    plain, engine = Side(plain_run), Side(engine_run)
    alternate([plain, engine], min(sizes.turns, MOST_TURNS))
    check_rounds(name, engine_run.rounds, plain_run.rounds)

    record = partial(record_of, name, X, 1)
    goal, faster = GOAL if sizes.goals else None, plain.seconds / engine.seconds
    ours = record(engine, faster, goal, against=plain.mistakes)
    held = len(engine_run.rounds[1])
    notes = [
        f"Both sides make their mistakes on the same rounds, and hold the same {held:,} examples in the end. "
        "The plain loop keeps the inverse kernel matrix as a symmetric one: each round reads or updates half of it.",
    ]
    if loop_by_index is not None:
        besides = ", and copies the whole inverse as it grows"
        notes.append(by_index_note(lambda: [len(loop_by_index(X, y))], engine, besides=besides))
    title = f"{what}, gaussian kernel, gamma = {gamma:g}"
    return Comparison(title, [record(plain), ours], None, notes)
