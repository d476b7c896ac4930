"""The comparisons on real streams: learners that keep a weight for each example.

Each raises `DataMissingError` without its data.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from budgetrun.bench import loops
from budgetrun.bench.floor import Floor, floor_of
from budgetrun.bench.records import Record
from budgetrun.bench.sizes import Sizes
from budgetrun.bench.timing import Loop, Maker, Side, alternate, check_equal, engine_mistakes
from budgetrun.config.schema import DatasetSpec
from budgetrun.data import open_stream
from budgetrun.kernels import Gaussian
from budgetrun.learners.forgetron import SelfTunedForgetron
from budgetrun.learners.perceptron import Perceptron
from budgetrun.rows import Rows, floats

SEED = 0
USPS_GAMMA = 0.78
A9A_GAMMA = 0.04
BUDGET = 200
PROCESSES = 2
DTYPES = ("float64", "float32")
# With few examples held, half of a block's kernel values are those of the block with itself, so small blocks are
# faster.
BLOCK_SIZE, SMALL_BLOCK_SIZE = 256, 64


@dataclass
class Comparison:
    """The outcome of a benchmark."""

    title: str
    records: list[Record]
    floors: dict[str, Floor]  # by dtype
    notes: list[str]


def usps_perceptrons(sizes: Sizes, data_dir: Path | None) -> Comparison:
    """Time a Perceptron on every equal split of the USPS digits."""
    spec = DatasetSpec(name="usps", task="equal_splits", scale="unit_norm", n_examples=sizes.rounds)
    stream = open_stream(spec, SEED, 0, data_dir)
    X, Y = dense(stream.X), np.stack(list(stream.tasks.values()))
    sample = np.linspace(0, len(Y) - 1, sizes.sampled_tasks).astype(int)
    kernel = Gaussian(gamma=USPS_GAMMA)
    plain = Side(partial(_perceptrons, X, Y[sample]))
    engines = {
        dtype: Side(partial(engine_mistakes, kernel, Perceptron, stream.X, Y, block_size=BLOCK_SIZE, dtype=dtype))
        for dtype in DTYPES
    }
    floors = {dtype: floor_of(USPS_GAMMA, Perceptron, X, Y, block_size=BLOCK_SIZE, dtype=dtype) for dtype in DTYPES}
    alternate([plain, *engines.values(), *floors.values()], sizes.turns)
    exact = engines["float64"].mistakes
    check_equal("usps", [exact[i] for i in sample], plain.mistakes)

    scale = len(Y) / len(sample)
    record = partial(record_of, "usps_perceptrons", X, len(Y))
    records = [record(plain, timed=len(sample))]
    for dtype, side in engines.items():
        faster = scale * plain.seconds / side.seconds
        goal = 40 if sizes.goals and dtype == "float64" else None
        records.append(record(side, dtype, BLOCK_SIZE, faster, goal, floors[dtype], against=exact))
    if sizes.with_processes:
        records += _in_processes(record, X, Y, sample, exact, sizes.turns)
    notes = [
        f"The plain loop ran {len(sample)} of the {len(Y)} splits, evenly chosen, and its time is multiplied by "
        f"{scale:g}; on those splits both sides make the same mistakes. The engine runs all splits as one group.",
        by_index_note(lambda: [len(loops.perceptron_by_index(X, y, USPS_GAMMA)) for y in Y[sample]], engines, scale),
    ]
    if sizes.with_processes:
        notes.append(
            f"With {PROCESSES} processes, each process runs its share of the splits (of the chosen splits for the "
            "plain loop) as one group; the times include the distribution of the work."
        )
    title = f"{len(Y)} Perceptrons on the splits of the USPS digits, gaussian kernel, gamma = {USPS_GAMMA:g}"
    return Comparison(title, records, floors, notes)


def a9a_forgetron(sizes: Sizes, data_dir: Path | None) -> Comparison:
    """Time the self-tuned Forgetron on a9a."""
    make = partial(SelfTunedForgetron, budget=BUDGET)
    plain = partial(loops.self_tuned_forgetron, gamma=A9A_GAMMA, budget=BUDGET)
    agreed = partial(loops.agreed_rounds, gamma=A9A_GAMMA, budget=BUDGET)
    title = f"the self-tuned Forgetron, B = {BUDGET}, on a9a, gaussian kernel, gamma = {A9A_GAMMA:g}"
    goals = {"float64": 2.5, "float32": 5.0}
    by_index = partial(loops.self_tuned_forgetron_by_index, gamma=A9A_GAMMA, budget=BUDGET)
    return _on_a9a("a9a_forgetron", title, make, plain, by_index, SMALL_BLOCK_SIZE, goals, sizes, data_dir, agreed)


def a9a_perceptron(sizes: Sizes, data_dir: Path | None) -> Comparison:
    """Time the Perceptron on a9a."""
    plain = partial(loops.perceptron, gamma=A9A_GAMMA)
    title = f"a Perceptron on a9a, gaussian kernel, gamma = {A9A_GAMMA:g}"
    goals = {"float64": 1.7, "float32": 4.0}
    by_index, whole = partial(loops.perceptron_by_index, gamma=A9A_GAMMA), lambda _, y: len(y)
    return _on_a9a("a9a_perceptron", title, Perceptron, plain, by_index, BLOCK_SIZE, goals, sizes, data_dir, whole)


def _on_a9a(
    name: str,
    title: str,
    make: Maker,
    loop: Loop,
    by_index: Loop,
    block_size: int,
    goals: dict[str, float],
    sizes: Sizes,
    data_dir: Path | None,
    agreed: Callable[[np.ndarray, np.ndarray], int],
) -> Comparison:
    sparse, X, y = open_task(DatasetSpec(name="a9a", n_examples=sizes.rounds), data_dir)
    inputs: dict[str, Rows] = {"dense": X, "csr": sparse}
    kernel = Gaussian(gamma=A9A_GAMMA)
    run = partial(engine_mistakes, kernel, make, block_size=block_size)
    n_agreed = agreed(X, y)
    check_equal(name, run(X[:n_agreed], y[None, :n_agreed]), [len(loop(X[:n_agreed], y[:n_agreed]))])

    plain = Side(lambda: [len(loop(X, y))])
    engines = {
        (dtype, form): Side(partial(run, rows, y[None], dtype=dtype))
        for form, rows in inputs.items()
        for dtype in DTYPES
    }
    floors = {dtype: floor_of(A9A_GAMMA, make, X, y[None], block_size=block_size, dtype=dtype) for dtype in DTYPES}
    alternate([plain, *engines.values(), *floors.values()], sizes.turns)
    record = partial(record_of, name, X, 1)
    records = [record(plain)]
    for (dtype, form), side in engines.items():
        dense = form == "dense"
        goal = goals[dtype] if dense and sizes.goals else None
        floor = floors[dtype] if dense else None
        faster = plain.seconds / side.seconds
        records.append(record(side, dtype, block_size, faster, goal, floor, against=plain.mistakes, form=form))
    over = "all" if n_agreed == len(y) else "the first"
    notes = [f"In float64 both sides make the same mistakes over {over} {n_agreed:,} rounds."]
    notes.append(by_index_note(lambda: [len(by_index(X, y))], {dtype: engines[dtype, "dense"] for dtype in DTYPES}))
    if n_agreed < len(y):
        notes.append(
            f"After round {n_agreed:,} a change of gamma in the 12th digit changes a prediction: on this stream the "
            "learner amplifies differences whenever it shrinks strongly, and from about there on rounding affects the "
            "outcome."
        )
    return Comparison(title, records, floors, notes)


def open_task(spec: DatasetSpec, data_dir: Path | None) -> tuple[Rows, np.ndarray, np.ndarray]:
    """Return the examples of a stream of one task as they are stored, as a dense array, and the labels."""
    stream = open_stream(spec, SEED, 0, data_dir)
    return stream.X, dense(stream.X), stream.tasks["-"]


def dense(X: Rows) -> np.ndarray:
    """Return examples as a dense array of floats."""
    matrix = floats(X)
    return matrix if isinstance(matrix, np.ndarray) else matrix.toarray()


def by_index_note(
    loop: Callable[[], list[int]], engines: Mapping[str, Side], scale: float = 1.0, besides: str = ""
) -> str:
    """Time a loop written the usual way, once, and say how the engine compares with it in each dtype.

    ``scale`` is the number of learners of the engine for each learner of the loop.
    """
    gathering = Side(loop)
    gathering.turn()
    seconds = scale * gathering.seconds
    faster = " and ".join(f"{seconds / side.seconds:.3g} times in {dtype}" for dtype, side in engines.items())
    return (
        "A loop written the usual way, which keeps norms but gathers the support's rows by index in every "
        f"round{besides}, takes {seconds:.3g} s: the engine is faster by {faster}."
    )


def _perceptrons(X: np.ndarray, Y: np.ndarray) -> list[int]:
    return [len(loops.perceptron(X, y, USPS_GAMMA)) for y in Y]


def _in_processes(
    record: Callable[..., Record], X: np.ndarray, Y: np.ndarray, sample: np.ndarray, exact: list[int], turns: int
) -> list[Record]:
    """Time both sides again with the learners distributed over processes."""
    from joblib import Parallel, delayed, parallel_config

    kernel = Gaussian(gamma=USPS_GAMMA)
    run = partial(engine_mistakes, kernel, Perceptron, block_size=BLOCK_SIZE)

    def shared(function: Callable[..., list[int]], labels: np.ndarray) -> list[int]:
        parts = np.array_split(labels, PROCESSES)
        return [n for mistakes in pool(delayed(function)(X, part) for part in parts) for n in mistakes]

    with parallel_config(backend="loky", inner_max_num_threads=1), Parallel(n_jobs=PROCESSES) as pool:
        plain = Side(partial(shared, _perceptrons, Y[sample]))
        engines = {dtype: Side(partial(shared, partial(run, dtype=dtype), Y)) for dtype in DTYPES}
        alternate([plain, *engines.values()], turns + 1)
    check_equal("usps, in processes", engines["float64"].mistakes, exact)
    scale = len(Y) / len(sample)
    records = [record(plain, timed=len(sample), processes=PROCESSES)]
    for dtype, side in engines.items():
        faster = scale * plain.seconds / side.seconds
        records.append(record(side, dtype, BLOCK_SIZE, faster, against=exact, processes=PROCESSES))
    return records


def record_of(
    name: str,
    X: np.ndarray,
    n_learners: int,
    side: Side,
    dtype: str = "float64",
    block_size: int | None = None,
    faster: float | None = None,
    goal: float | None = None,
    floor: Floor | None = None,
    *,
    timed: int | None = None,
    against: list[int] | None = None,
    form: str = "dense",
    processes: int = 1,
) -> Record:
    """Return the record of a side; a side without a block size is the plain loop."""
    timed = timed or n_learners
    seconds = side.seconds * n_learners / timed
    return Record(
        benchmark=name,
        side="engine" if block_size else "plain loop",
        dtype=dtype,
        input=form,
        block_size=block_size,
        processes=processes,
        rounds=X.shape[0],
        features=X.shape[1],
        learners=n_learners,
        timed_learners=timed,
        mistakes=sum(side.mistakes),
        mistakes_difference=None if against is None else sum(side.mistakes) - sum(against),
        seconds=seconds,
        times_faster=faster,
        goal=goal,
        floor_seconds=floor.seconds if floor else None,
        floor_share=floor.seconds / seconds if floor else None,
    )
