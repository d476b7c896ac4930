"""The comparisons on real streams: learners that keep a weight for each example.

Each raises `DataMissingError` without its data.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from budgetrun.bench import loops
from budgetrun.bench.floor import Floor, floor_of
from budgetrun.bench.peers import peers
from budgetrun.bench.records import Record
from budgetrun.bench.sizes import Sizes
from budgetrun.bench.timing import Loop, Maker, Side, alternate, check_equal, engine_mistakes
from budgetrun.config.schema import DatasetSpec
from budgetrun.data import open_stream
from budgetrun.kernels import Gaussian
from budgetrun.kernels.rows import Rows, floats
from budgetrun.learners.forgetron import SelfTunedForgetron
from budgetrun.learners.perceptron import Perceptron

SEED = 0
USPS_GAMMA = 0.78
A9A_GAMMA = 0.04
IJCNN1_GAMMA = 8.0
BUDGET = 200


@dataclass
class Comparison:
    """The outcome of a benchmark."""

    title: str
    records: list[Record]
    floor: Floor | None
    notes: list[str]


def usps_perceptrons(sizes: Sizes, data_dir: Path | None) -> Comparison:
    """Time a Perceptron on every equal split of the USPS digits."""
    spec = DatasetSpec(name="usps", task="equal_splits", scale="unit_norm", n_examples=sizes.rounds)
    stream = open_stream(spec, SEED, 0, data_dir)
    X, dense, Y = stream.X, as_floats(stream.X), np.stack(list(stream.tasks.values()))
    sample = np.linspace(0, len(Y) - 1, sizes.sampled_tasks).astype(int)
    kernel = Gaussian(gamma=USPS_GAMMA)
    plain = Side(lambda: [len(loops.perceptron(dense, y, USPS_GAMMA)) for y in Y[sample]])
    engine = Side(partial(engine_mistakes, kernel, Perceptron, X, Y))
    floor = floor_of(kernel, Perceptron, X, Y)
    alternate([plain, engine, floor], sizes.turns)
    check_equal("usps", [engine.mistakes[i] for i in sample], plain.mistakes)

    scale = len(Y) / len(sample)
    record = partial(record_of, "usps_perceptrons", X, len(Y))
    goal = 90 if sizes.goals else None
    records = [
        record(plain, timed=len(sample)),
        record(engine, scale * plain.seconds / engine.seconds, goal, floor),
    ]
    notes = [
        f"The plain loop ran {len(sample)} of the {len(Y)} splits, evenly chosen, and its time is multiplied by "
        f"{scale:g}; on those splits both sides make the same mistakes. The engine runs all splits as one group.",
        by_index_note(lambda: [len(loops.perceptron_by_index(dense, y, USPS_GAMMA)) for y in Y[sample]], engine, scale),
    ]
    title = f"{len(Y)} Perceptrons on the splits of the USPS digits, gaussian kernel, gamma = {USPS_GAMMA:g}"
    return Comparison(title, records, floor, notes)


def a9a_forgetron(sizes: Sizes, data_dir: Path | None) -> Comparison:
    """Time the self-tuned Forgetron on a9a."""
    return _forgetron("a9a", A9A_GAMMA, 7.0, sizes, data_dir)


def ijcnn1_forgetron(sizes: Sizes, data_dir: Path | None) -> Comparison:
    """Time the self-tuned Forgetron on ijcnn1."""
    return _forgetron("ijcnn1", IJCNN1_GAMMA, 2.0, sizes, data_dir)


def a9a_perceptron(sizes: Sizes, data_dir: Path | None) -> Comparison:
    """Time the Perceptron on a9a."""
    plain, by_index = (partial(loop, gamma=A9A_GAMMA) for loop in (loops.perceptron, loops.perceptron_by_index))
    return _compare(
        "a9a", "Perceptron", Perceptron, plain, by_index, A9A_GAMMA, 15.0, lambda _, y: len(y), sizes, data_dir
    )


def _forgetron(dataset: str, gamma: float, goal: float, sizes: Sizes, data_dir: Path | None) -> Comparison:
    make = partial(SelfTunedForgetron, budget=BUDGET)
    plain = partial(loops.self_tuned_forgetron, gamma=gamma, budget=BUDGET)
    by_index = partial(loops.self_tuned_forgetron_by_index, gamma=gamma, budget=BUDGET)
    agreed = partial(loops.agreed_rounds, gamma=gamma, budget=BUDGET)
    what = f"self-tuned Forgetron, B = {BUDGET},"
    return _compare(dataset, what, make, plain, by_index, gamma, goal, agreed, sizes, data_dir)


def _compare(
    dataset: str,
    what: str,
    make: Maker,
    loop: Loop,
    by_index: Loop,
    gamma: float,
    goal: float,
    agreed: Callable[[np.ndarray, np.ndarray], int],
    sizes: Sizes,
    data_dir: Path | None,
) -> Comparison:
    name = f"{dataset}_{make.func.__name__ if isinstance(make, partial) else make.__name__}"
    stored, X, y = open_task(DatasetSpec(name=dataset, n_examples=sizes.rounds), data_dir)
    kernel = Gaussian(gamma=gamma)
    run = partial(engine_mistakes, kernel, make)
    n_agreed = agreed(X, y)
    check_equal(name, run(X[:n_agreed], y[None, :n_agreed]), [len(loop(X[:n_agreed], y[:n_agreed]))])

    plain = Side(lambda: [len(loop(X, y))])
    engine = Side(partial(run, X, y[None]))
    sparse = [] if stored is X else [Side(partial(run, stored, y[None]))]
    floor = floor_of(kernel, make, X, y[None])
    others, missing = peers(X, y, gamma, BUDGET, sizes)
    alternate([plain, engine, *sparse, floor], sizes.turns)
    record = partial(record_of, name, X, 1)
    records = [
        record(plain),
        record(engine, plain.seconds / engine.seconds, goal if sizes.goals else None, floor, against=plain.mistakes),
        *(record(side, plain.seconds / side.seconds, against=plain.mistakes, form="csr") for side in sparse),
    ]
    for title, peer, rounds in others:
        peer.turn()
        records.append(
            record(peer, plain.seconds / (peer.seconds * len(y) / rounds), side_name=title, timed_rounds=rounds)
        )
    over = "all" if n_agreed == len(y) else "the first"
    notes = [
        f"The engine and the plain loop make the same mistakes over {over} {n_agreed:,} rounds.",
        by_index_note(lambda: [len(by_index(X, y))], engine),
        *missing,
    ]
    if n_agreed < len(y):
        notes.append(
            f"After round {n_agreed:,} a change of gamma in the 12th digit changes a prediction: on this stream the "
            "learner amplifies differences whenever it shrinks strongly. The engine gives the same bits on every "
            "machine; the plain loop adds in another order."
        )
    return Comparison(f"the {what} on {dataset}, gaussian kernel, gamma = {gamma:g}", records, floor, notes)


def as_floats(X: Rows) -> np.ndarray:
    """Return examples as a dense array of floats."""
    matrix = floats(X)
    return matrix if isinstance(matrix, np.ndarray) else matrix.toarray()


def open_task(spec: DatasetSpec, data_dir: Path | None) -> tuple[Rows, np.ndarray, np.ndarray]:
    """Return the examples of a stream of one task as they are stored, as a dense array, and the labels."""
    stream = open_stream(spec, SEED, 0, data_dir)
    return stream.X, as_floats(stream.X), stream.tasks["-"]


def by_index_note(loop: Callable[[], list[int]], engine: Side, scale: float = 1.0, besides: str = "") -> str:
    """Time a loop written the usual way, once, and say how the engine compares with it.

    ``scale`` is the number of learners of the engine for each learner of the loop.
    """
    gathering = Side(loop)
    gathering.turn()
    seconds = scale * gathering.seconds
    return (
        "A loop written the usual way, which keeps norms but gathers the support's rows by index in every "
        f"round{besides}, takes {seconds:.3g} s: the engine is faster by {seconds / engine.seconds:.3g} times."
    )


def record_of(
    name: str,
    X: Rows,
    n_learners: int,
    side: Side,
    faster: float | None = None,
    goal: float | None = None,
    floor: Floor | None = None,
    *,
    timed: int | None = None,
    timed_rounds: int | None = None,
    against: list[int] | None = None,
    form: str = "dense",
    side_name: str = "",
) -> Record:
    """Return the record of a side; a side that is not compared with the plain loop is the plain loop itself."""
    timed, rounds = timed or n_learners, timed_rounds or X.shape[0]
    seconds = side.seconds * n_learners / timed * X.shape[0] / rounds
    return Record(
        benchmark=name,
        side=side_name or ("plain loop" if faster is None else "engine"),
        input=form,
        rounds=X.shape[0],
        features=X.shape[1],
        learners=n_learners,
        timed_learners=timed,
        timed_rounds=rounds,
        mistakes=sum(side.mistakes),
        mistakes_difference=None if against is None else sum(side.mistakes) - sum(against),
        error_rate=sum(side.mistakes) / (timed * rounds),
        seconds=seconds,
        times_faster=faster,
        goal=goal,
        floor_seconds=floor.seconds if floor else None,
        floor_share=floor.seconds / seconds if floor else None,
    )
