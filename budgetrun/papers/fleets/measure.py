"""One run of a fleet: all tasks of a stream, or keys that its examples are dealt out to, and what it did."""

import json
import math
import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from budgetrun.base.errors import InputError
from budgetrun.data import Stream, open_stream
from budgetrun.engine import Group
from budgetrun.fleet import Policy, SharedMemory, make
from budgetrun.fleet import memory as arrays
from budgetrun.kernels import Kernel, compiling
from budgetrun.kernels.kinds import floats
from budgetrun.kernels.multitask import Multitask
from budgetrun.learners.forgetron import ALLOWED, SelfTunedForgetron
from budgetrun.papers.fleets.algorithm import SharedMemory as Algorithm
from budgetrun.results.store.write import Record
from budgetrun.runner import identity
from budgetrun.runner.job import Limit, Measured, Settings, errors_of_runs, failed, row_of
from budgetrun.runner.plan import Job, Run

# Facts of each learner are kept for so many.
_MOST_LISTED = 200
_EVENTS = 1000
_POINTS = 60


@dataclass
class Events:
    """The rounds: tasks share their examples, and have labels of shape (T, m); keys, of shape (T,), have their own."""

    X: np.ndarray
    labels: np.ndarray
    m: int
    keys: np.ndarray | None = None
    # The examples of the rounds; None for all, in order.
    rows: np.ndarray | None = None

    def bytes_of(self, policy: Policy) -> tuple[int, int]:
        """Return the bytes of an entry with a policy, without its row, and of a row."""
        return arrays.bytes_of(policy, self.X.shape[1], str(self.X.dtype), self.keys is None)


@dataclass
class Played:
    """What a fleet did: mistakes and predictions of each learner, and the rest by name."""

    mistakes: np.ndarray
    seen: np.ndarray
    peak_bytes: int = 0
    most_entries: int = 0
    # After some rounds: the mistakes of all, and who holds how much.
    over_time: list[tuple[int, int, np.ndarray]] = field(default_factory=list)
    columns: dict[str, np.ndarray] = field(default_factory=dict)
    sizes: np.ndarray = field(default_factory=lambda: np.zeros(0))


def measure(job: Job, settings: Settings) -> Measured:
    """Play the fleet of a job; return its row, of status ``failed`` if it raises, and its curves."""
    (run,) = job.runs
    planned = settings.sha256s.get(job.dataset.label)
    stream = open_stream(job.dataset, settings.seed, job.repetition, settings.data_dir, None, planned)
    curves: dict[str, np.ndarray] = {}
    try:
        with Limit(job, settings).of(run.run_id):
            row, curves = _measured(run, job, stream, settings)
    except errors_of_runs(settings) as error:
        row = failed(run, job, error, stream.n_examples)
    return [row], curves


def _measured(run: Run, job: Job, stream: Stream, settings: Settings) -> tuple[Record, dict[str, np.ndarray]]:
    """Return a run's row, and its mistakes and who holds how much over time."""
    algorithm: Algorithm = identity.build(run.spec)
    events = events_of(stream, algorithm, settings.dtype, [settings.seed, job.repetition])
    start = time.process_time()
    played = play(events, algorithm, identity.kernel_of(run.spec))
    seconds = time.process_time() - start
    mistakes, n = int(played.mistakes.sum()), int(played.seen.sum())
    row = row_of(
        run,
        job,
        n_examples=n,
        mistakes=mistakes,
        online_error=mistakes / n,
        updates=mistakes,
        margin_updates=0,
        support_size=int(played.sizes.sum()),
        max_support_size=played.most_entries,
        seconds=round(seconds, 6),
        facts=facts(played),
    )
    curves = zip(("rounds", "mistakes", "held"), zip(*played.over_time, strict=True), strict=True)
    return row, {"run_id": np.array([run.run_id])} | {name: np.array(values)[None] for name, values in curves}


def events_of(stream: Stream, algorithm: Algorithm, dtype: str, seeds: list[int]) -> Events:
    """Return the rounds of a stream."""
    dense: Any = floats(stream.X)
    X = np.ascontiguousarray(dense.toarray() if hasattr(dense, "toarray") else dense, dtype=dtype)
    if algorithm.keys is None:
        if len(stream.classes) > 2 and "-" in stream.tasks:
            raise InputError("a data set of several classes needs keys, or task: equal_splits")
        return Events(X, np.stack(list(stream.tasks.values()), axis=1).astype(np.int8), len(stream.tasks))
    codes, n, m = stream.tasks["-"], len(stream.classes), algorithm.keys
    random = np.random.default_rng(seeds)
    activity = random.permutation(1 / np.arange(1, m + 1))
    pairs = _pairs(random, n, m)
    noise = random.uniform(0, algorithm.noise, m) * (random.random(m) < 0.5)
    rows = np.concatenate([random.permutation(len(codes)) for _ in range(algorithm.passes)])
    keys = np.empty(len(rows), dtype=np.int64)
    for c in range(n):
        # A key that knows the class, by activity.
        own = np.flatnonzero((pairs == c).any(axis=1))
        at = np.flatnonzero(codes[rows] == c)
        keys[at] = random.choice(own, len(at), p=activity[own] / activity[own].sum()) if len(own) else -1
    rows, keys = rows[keys >= 0], keys[keys >= 0]
    y = np.where(codes[rows] == pairs[keys, 1], 1, -1)
    y = np.where(random.random(len(y)) < noise[keys], -y, y).astype(np.int8)
    return Events(X, y, m, keys, rows)


def _pairs(random: np.random.Generator, n: int, m: int) -> np.ndarray:
    """Return what ``random.choice(n, 2, replace=False)`` gives in m calls, shape (m, 2), and draw what they draw."""
    first, second, kept = random.integers(0, np.tile([n - 1, n, 2], m)).reshape(m, 3).T
    pairs = np.stack([first, np.where(second == first, n - 1, second)], axis=1)
    return np.where(kept[:, None] == 1, pairs, pairs[:, ::-1])


def play(events: Events, algorithm: Algorithm, kernel: Kernel) -> Played:
    """Play all rounds."""
    if algorithm.policy == "multitask":
        return _multitask(events, algorithm, kernel)
    m, limit = events.m, algorithm.shared_memory
    made = make(algorithm.policy, algorithm.seed)
    sizes = events.bytes_of(made)
    if algorithm.policy != "equal_split":
        least = m * algorithm.floor * sum(sizes)
        if least > limit:
            raise ValueError(
                f"{m:,} floors of {algorithm.floor:,} entries need shared_memory: {least:,}, got {limit:,}"
            )
        return play_floors(events, made, kernel, limit, np.full(m, algorithm.floor))
    if events.keys is not None or algorithm.own_rows:
        n = limit // sum(sizes)
        return play_split(events, kernel, n // m + (np.arange(m) < n % m))
    # The largest budget with which the rows of all, stored once, fit: bytes are about in proportion to it.
    low, high, best = 0, len(events.X), None
    budget = max(1, limit // (m * sizes[0] + max(1, m // 10) * sizes[1]))
    while high - low > 1:
        budget = min(max(budget, low + 1), high - 1)
        found = play_floors(events, made, kernel, limit, np.full(m, budget))
        if found.peak_bytes <= limit:
            low, best, budget = budget, found, budget * limit // found.peak_bytes
        else:
            high, budget = budget, (low + budget) // 2
    if best is None:
        raise ValueError(f"shared_memory: {limit:,} bytes do not hold one entry of each of {m:,} learners")
    return best


def play_split(events: Events, kernel: Kernel, budgets: np.ndarray) -> Played:
    """Play all rounds with a Forgetron of its own budget for each learner; none shares a row."""
    return play_floors(events, make("equal_split"), kernel, 0, budgets, own_rows=True)


def play_floors(
    events: Events, policy: Policy, kernel: Kernel, limit: int, floors: np.ndarray, own_rows: bool = False
) -> Played:
    """Play all rounds; an equal split of shared rows only until it is over the limit."""
    shares, T, m, sizes = events.keys is None, len(events.labels), events.m, events.bytes_of(policy)
    splits = policy.name == "equal_split"
    # The equal split has no limit but its floors: it needs room for all of these, and bytes are counted here.
    room = (T + 1 if shares else int(floors.sum()) + 1) if splits else limit
    units = ((0, 1) if shares else (1, 0)) if splits else sizes
    memory = SharedMemory(
        kernel, policy, n_features=events.X.shape[1], dtype=str(events.X.dtype), limit=room, most_learners=m,
        shares=shares, entry_bytes=units[0], row_bytes=units[1],
    )  # fmt: skip
    memory.ints[:m, arrays.FLOOR] = floors
    played = Played(np.zeros(m, dtype=np.int64), np.zeros(m, dtype=np.int64))
    step = 1 if shares else _EVENTS
    notes = set(np.linspace(0, T - 1, _POINTS).astype(int) // step * step)
    for start in range(0, T, step):
        stop = min(start + step, T)
        y = events.labels[start:stop]
        out = np.zeros(y.shape)
        if events.keys is None:
            compiling.call(arrays.play_stream, memory, *arrays.flat(events.X[start:stop]), y, out)
            played.mistakes += (y * out <= 0).sum(axis=0)
            played.seen += stop - start
        else:
            keys, X = events.keys[start:stop], arrays.flat(events.X[events.rows[start:stop]])  # type: ignore[index]
            compiling.call(arrays.play_batch, memory, *X, keys, np.zeros(len(keys), dtype=np.int64), y, out)
            np.add.at(played.mistakes, keys, y * out <= 0)
            np.add.at(played.seen, keys, 1)
        entries, held = int(memory.counts[arrays.ENTRIES]), int(memory.counts[arrays.BYTES])
        if splits:
            # The bytes of shared rows are counted as rows.
            held = entries * sizes[0] + (entries if own_rows else held) * sizes[1]
        played.peak_bytes = max(played.peak_bytes, held)
        played.most_entries = max(played.most_entries, entries)
        if splits and played.peak_bytes > limit and not own_rows:
            break
        if start in notes:
            played.over_time.append((stop, int(played.mistakes.sum()), memory.ints[:m, arrays.SIZE].copy()))
    played.sizes = memory.ints[:m, arrays.SIZE].copy()
    played.columns = {
        "floor": floors,
        "damage": memory.ones[:m, arrays.Q].copy(),
        "shrinking": memory.ones[:m, arrays.SHRINKING].copy(),
        "fewest": memory.ints[:m, arrays.FEWEST].copy(),
    }
    return played


def _multitask(events: Events, algorithm: Algorithm, kernel: Kernel) -> Played:
    """Play one Forgetron for all keys, on the multitask kernel, with as many entries as the bytes hold."""
    assert events.keys is not None
    assert events.rows is not None
    m, entry = events.m, sum(events.bytes_of(make("equal_split")))
    given = {"base": kernel.name, **{name: getattr(kernel, name) for name in ("gamma",) if hasattr(kernel, name)}}
    learner = SelfTunedForgetron(budget=algorithm.shared_memory // entry)
    group = Group(Multitask(n_tasks=m, b=algorithm.share, **given), [learner], dtype=str(events.X.dtype))
    played = Played(np.zeros(m, dtype=np.int64), np.zeros(m, dtype=np.int64))
    for start in range(0, len(events.keys), _EVENTS):
        part = slice(start, start + _EVENTS)
        keys, y = events.keys[part], events.labels[part]
        scores = group.feed(np.column_stack([events.X[events.rows[part]].astype(np.float64), keys]), y[None])
        np.add.at(played.mistakes, keys, y * scores[0] <= 0)
        np.add.at(played.seen, keys, 1)
    f = group.members[0].hypothesis
    played.sizes = np.array([f.size])
    played.most_entries, played.peak_bytes = f.size, f.size * entry
    played.over_time = [(len(events.keys), int(played.mistakes.sum()), played.sizes)]
    return played


def facts(played: Played, most_listed: int = _MOST_LISTED) -> str:
    """Return what bounds and reports read, as JSON; facts of each learner for so many learners at most."""
    active = played.seen > 0
    rates = np.sort(played.mistakes[active] / played.seen[active])
    worst = rates[-math.ceil(len(rates) / 10) :]
    found: dict[str, Any] = {"bytes": played.peak_bytes, "worst_tenth": round(float(worst.mean()), 6)}
    if played.columns:
        M, n, b = played.mistakes, played.sizes, played.columns["floor"]
        found["invariant"] = float(np.max(played.columns["damage"] - ALLOWED * (M - np.maximum(0, n - b))))
        if len(M) <= most_listed:
            found |= {"mistakes": M.tolist(), "sizes": n.tolist()}
            found |= {name: np.round(column, 6).tolist() for name, column in played.columns.items()}
    return json.dumps(found)
