"""`budgetrun run --by COLUMN`: a model for each value of a column, all in one memory, beside one model for all."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from budgetrun.base.errors import InputError, counted, one_line, say
from budgetrun.base.files import make_folder, write
from budgetrun.base.limits import parse_bytes
from budgetrun.base.problem import BINARY
from budgetrun.data.tables import open_table
from budgetrun.engine import Group
from budgetrun.fleet import SharedMemory, registry
from budgetrun.fleet.memory import BYTES, FLOOR, SEEN, SIZE, M, bytes_of, learner_bytes, most_learners, play_batch
from budgetrun.kernels import Gaussian, compiling
from budgetrun.learners import find
from budgetrun.learners.forgetron import SelfTunedForgetron
from budgetrun.results.plotting import STYLE, save
from budgetrun.results.report.formats import template
from budgetrun.runner.live.kept import scaler
from budgetrun.runner.live.request import FIRST, Request, choices
from budgetrun.runner.progress import RowsProgress

if TYPE_CHECKING:
    from budgetrun.kernels.kinds import Matrix

POLICY, _FLOOR = "square_root", 4
# The largest budget of the model for all.
_MOST = 1000
# Rounds between two looks at most; points of the curves, keys that are drawn, and keys whose sizes are remembered.
_STEP, _POINTS, _DRAWN, _REMEMBERED = 256, 60, 8, 10_000
BY_KEY, FOR_ALL = "a model per key", "one model for all"


def run_by(request: Request, by: str, memory: str) -> int:
    """Play a stream with a model per key, and write what became of it into the results folder; return 0.

    Raises InputError: the request or the stream cannot be used.
    """
    if request.algorithms or request.select or request.quick or request.shuffle is not None:
        raise InputError("--by: each key has a Forgetron; remove --algorithm, --select, --quick and --shuffle")
    if request.from_pipe:
        raise InputError("--by: needs a file, whose columns are read side by side; got standard input")
    try:
        limit = int(parse_bytes(memory))
    except ValueError as error:
        raise InputError(f"--memory-for-all: {error}") from None
    keys = open_table(request.source, label=request.label, missing=request.missing).texts(by)
    table = open_table(request.source, label=request.label, missing=request.missing, index=[by])
    chunks = table.chunks()
    first = next(chunks)
    chosen, said = choices(replace(request, quick=True), table, first.X[:FIRST])
    if chosen.task != BINARY.name:
        raise InputError(f"{table.where}: --by needs labels of two classes, got {len(table.classes)}")
    for sentence in said:
        say(sentence)
    gamma = chosen.gammas[0] if chosen.median_gamma is None else chosen.median_gamma
    played = _Played(limit, float(gamma), first.X.shape[1])
    scaled, progress = scaler(chosen.scale, first.X.shape[1]), RowsProgress(table.n_rows, 0)
    positive = table.classes[1]
    for X, y, first_row in _chain(first, chunks):
        names = list(islice(keys, len(y)))
        if first_row != played.rounds:
            raise InputError(
                f"{table.where}: --by needs a label in each row, and one is missing before row {first_row:,}"
            )
        Z, labels = scaled.scaled(X), np.where(y == positive, 1, -1)
        for start in range(0, len(y), _STEP):
            piece = slice(start, start + _STEP)
            played.play(names[piece], Z[piece], labels[piece], f"{table.where}: --memory-for-all {memory}")
        progress.advance(len(y), "")
    progress.close()
    folder = request.results / f"{request.title}-by"
    make_folder(folder)
    played.write(folder, one_line(by), table.where, list(dict.fromkeys([*said, *table.notes()])))
    return 0


def _chain(first: Any, others: Iterator[Any]) -> Iterator[Any]:
    yield first
    yield from others


class _Played:
    """The models, and what they have done so far."""

    def __init__(self, limit: int, gamma: float, n_features: int) -> None:
        kernel, policy = Gaussian(gamma=gamma), registry()[POLICY]()
        entry = sum(bytes_of(policy, n_features, "float32", False))
        self.limit, self.floor_bytes = limit, _FLOOR * entry
        most = most_learners(limit, self.floor_bytes)
        options: dict[str, Any] = {"n_features": n_features, "dtype": "float32", "limit": limit, "most_learners": most}
        self.memory = SharedMemory(kernel, policy, **options)
        self.numbers: dict[str, int] = {}
        self.charged = 0
        budget = max(1, min(_MOST, limit // entry))
        everything = find("auto")()
        self.sides = {FOR_ALL: SelfTunedForgetron(budget=budget)}
        if everything.bytes_in_use(everything.budget, n_features) <= limit:
            self.sides["auto, for all"] = everything
        self.group = Group(kernel, list(self.sides.values()))
        self.rounds, self.mistakes = 0, np.zeros(1 + len(self.sides), dtype=np.int64)
        self.times: list[tuple[int, np.ndarray, np.ndarray]] = []
        self.step = 1

    def play(self, names: list[str], X: Matrix, y: np.ndarray, where: str) -> None:
        """Play some rounds."""
        rows = X if isinstance(X, np.ndarray) else X.toarray()
        charges = np.zeros(len(y), dtype=np.int64)
        for t, name in enumerate(names):
            if name not in self.numbers:
                self._create(name, t, where)
                charges[t] = learner_bytes(name)
        learners = np.array([self.numbers[name] for name in names], dtype=np.int64)
        scores, began = np.zeros(len(y)), time.thread_time()
        stored = np.ascontiguousarray(rows, dtype=np.float32)
        compiling.call(play_batch, self.memory, learners, charges, stored, y.astype(np.int64), scores)
        compiling.border(time.thread_time() - began)
        others = self.group.feed(rows, y[None])
        self.mistakes += [np.count_nonzero(y * one <= 0) for one in (scores, *others)]
        self.rounds += len(y)
        if self.rounds // _STEP % self.step == 0:
            self._look()

    def _look(self) -> None:
        sizes = self.memory.ints[: min(len(self.numbers), _REMEMBERED), SIZE].copy()
        self.times.append((self.rounds, self.mistakes.copy(), sizes))
        if len(self.times) > 2 * _POINTS:
            del self.times[::2]
            self.step *= 2

    def _create(self, name: str, t: int, where: str) -> None:
        need, n = learner_bytes(name) + self.floor_bytes, len(self.numbers)
        free = self.limit - self.charged - n * self.floor_bytes
        if need > free:
            raise InputError(
                f"{where}: holds the floors of {counted(n, 'key')}, {_FLOOR} examples each, but row "
                f"{self.rounds + t + 1:,} has another key; give more memory"
            )
        self.memory.ints[n, FLOOR] = _FLOOR
        self.numbers[name] = n
        self.charged += learner_bytes(name)

    def write(self, folder: Path, by: str, where: str, notes: list[str]) -> None:
        """Write keys.csv, curves.csv, the figure and the page, and print the errors."""
        if not self.times or self.times[-1][0] != self.rounds:
            self._look()
        n, memory = len(self.numbers), self.memory
        columns = {"rounds": memory.longs[:n, SEEN], "mistakes": memory.longs[:n, M], "held": memory.ints[:n, SIZE]}
        keys = pd.DataFrame({"key": list(self.numbers), **columns})
        keys["error"] = (keys["mistakes"] / keys["rounds"]).round(6)
        keys = keys.sort_values("mistakes", ascending=False, kind="stable")
        keys.to_csv(folder / "keys.csv", index=False, lineterminator="\n")
        names = [BY_KEY, *self.sides]
        curves = pd.DataFrame([mistakes for _, mistakes, _ in self.times], columns=names)
        curves.insert(0, "rounds", [rounds for rounds, _, _ in self.times])
        curves.to_csv(folder / "curves.csv", index=False, lineterminator="\n")
        self._draw(folder / "held.png", curves, names)
        errors = dict(zip(names, (self.mistakes / self.rounds).tolist(), strict=True))
        used = int(memory.counts[BYTES]) + self.charged
        facts = {"n_keys": n, "rounds": self.rounds, "used": used, "limit": self.limit, "held": int(keys["held"].sum())}
        page = template("by.html.jinja").render(
            title=f"{where} by {by}",
            by=by,
            facts=facts,
            errors=errors,
            notes=notes,
            worst=keys.head(30).to_dict("records"),
        )
        write(folder / "report.html", page)
        for name, error in errors.items():
            print(f"{name}: online error {error:.2%}")
        print(f"{counted(n, 'key')} in {used / 1e6:,.1f} MB of {self.limit / 1e6:,.1f} MB: {folder / 'report.html'}")

    def _draw(self, path: Path, curves: pd.DataFrame, names: list[str]) -> None:
        """Draw the errors so far, and what the keys hold that held most, over the rounds."""
        import matplotlib
        from matplotlib.figure import Figure

        n = max(len(sizes) for _, _, sizes in self.times)
        sizes = np.array([np.pad(sizes, (0, n - len(sizes))) for _, _, sizes in self.times])
        most = np.argsort(-sizes.max(axis=0), kind="stable")[:_DRAWN]
        keys = list(islice(self.numbers, n))
        with matplotlib.rc_context(STYLE):
            figure = Figure(figsize=(11.0, 4.2), layout="constrained")
            left, right = figure.subplots(1, 2)
            for name in names:
                left.plot(curves["rounds"], 100 * curves[name] / curves["rounds"], label=name)
            for j in most:
                right.plot(curves["rounds"], sizes[:, j], label=keys[j][:30] or "(missing)")
            left.set(xlabel="rounds", ylabel="online error so far (%)")
            right.set(xlabel="rounds", ylabel="examples held")
            left.legend()
            right.legend(fontsize=9)
            save(figure, path)
