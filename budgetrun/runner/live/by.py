"""`budgetrun run --by COLUMN`: a model for each value of a column, all in one memory, beside one model for all."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from budgetrun.base.errors import InputError, counted, one_line, say
from budgetrun.base.files import make_folder, write
from budgetrun.base.grid import cell
from budgetrun.base.limits import parse_bytes, sized
from budgetrun.base.problem import BINARY, problem_of
from budgetrun.data.scaling import Running
from budgetrun.data.tables import Table, open_table
from budgetrun.engine import Group
from budgetrun.fleet.memory import longest
from budgetrun.kernels import Gaussian, Kernel
from budgetrun.kernels.kinds import Matrix
from budgetrun.learners import find
from budgetrun.learners.forgetron import SelfTunedForgetron
from budgetrun.play.session import scores_of
from budgetrun.results.plotting import save, styled
from budgetrun.results.report.formats import template
from budgetrun.results.store.write import move_aside
from budgetrun.runner import interrupts
from budgetrun.runner.live.kept import ByRow, next_save, scaler, typical_of
from budgetrun.runner.live.request import FIRST, Request, choices, options_of
from budgetrun.runner.live.run import OtherResults, asked_of, classes_of, continued, stamp_of
from budgetrun.runner.progress import RowsProgress
from budgetrun.state import BY_STATE, load_state, save_state, using

# The largest budget of the model for all.
_MOST = 1000
# Rounds between two looks at most; points of the curves, keys that are drawn, and keys whose sizes are remembered.
_STEP, _POINTS, _DRAWN, _REMEMBERED = 256, 60, 8, 10_000
STATE = BY_STATE
BY_KEY, FOR_ALL = "a model per key", "one model for all"
# What chooses among learners.
_OF_LEARNERS = ("algorithms", "budgets", "select", "quick", "seeds", "metrics", "shuffle", "continues")


def run_by(request: Request, by: str, memory: str, fleet: Callable[..., Any]) -> int:
    """Play a stream with a model per key, and write what became of it into the results folder; return 0.

    After an interruption of any kind, the same command continues from what was saved last. Ctrl-C saves what was
    played, and returns 130; a page of the rows so far is written if they came through a pipe.

    ``fleet`` is the class `Fleet`, which stands above this module.

    Raises InputError: the request or the stream cannot be used.
    """
    usual = Request(request.source)
    given = options_of(name for name in _OF_LEARNERS if getattr(request, name) != getattr(usual, name))
    if given or len(request.gamma) > 1:
        raise InputError(f"--by: each key has a Forgetron; remove {', '.join(given) or 'all but one value of --gamma'}")
    try:
        limit = int(parse_bytes(memory))
        fleet(limit)
    except ValueError as error:
        raise InputError(f"--memory-for-all: {error}") from None
    asked, stamp = asked_of(request) | {"by": by, "memory": limit}, stamp_of(request)
    request = replace(request, name=f"{request.title}-by", numbered=request.name is None)
    if request.force:
        move_aside(request.folder)
    request, played = continued(request, STATE, lambda _, path: _before(path, asked, stamp))
    folder, path = request.folder, request.folder / STATE
    with using(path) if played else nullcontext():
        encoding, skip = None, 0
        if played and request.from_pipe and not request.replay:
            # The rows that a pipe has now follow those that it had, and have the same features.
            encoding = played.encoding
        elif played:
            skip = played.rounds
        table = open_table(
            request.source,
            label=request.label,
            missing=request.missing,
            classes=classes_of(request.classes) or None,
            encoding=encoding,
            continued=True,
            key=by,
        )
        chunks = table.chunks(at_first=FIRST)
        if played is None:
            first = next(chunks)
            chunks = chain([first], chunks)
            played = _begin(request, table, first.X[:FIRST], partial(fleet, limit), by)
        for sentence in played.said:
            say(sentence)
        if played.rounds:
            say(f"{folder}: continued after {played.rounds:,} rounds")
        progress, next_time = RowsProgress(table.n_rows, played.rounds), next_save(time.monotonic())
        positive, code, where = table.classes[1], 0, f"{table.where}: --memory-for-all {memory}"

        def save() -> None:
            make_folder(folder)
            played.encoding = table.encoding
            save_state(path, played, asked=asked, stamp=stamp)

        try:
            with interrupts.raising():
                for X, y, _, names in chunks:
                    n_again = min(skip, len(y))
                    skip -= n_again
                    if n_again == len(y):
                        continue
                    with interrupts.deferred():
                        signs = np.where(y == positive, 1, -1)
                        played.play(names[n_again:], X[n_again:], signs[n_again:], where)
                        progress.advance(played.rounds, "")
                        if (began := time.monotonic()) >= next_time:
                            save()
                            next_time = next_save(began)
        except KeyboardInterrupt:
            code = 130
        progress.close()
        with interrupts.ignored():
            if played.rounds:
                save()
            if code and not request.from_pipe:
                say(f"interrupted after {counted(played.rounds, 'round')}; the same command continues")
            elif played.rounds:
                played.write(folder, one_line(by), table.where, list(dict.fromkeys([*played.said, *table.notes()])))
    return code


def _begin(request: Request, table: Table, first: Matrix, fleet: Callable[..., Any], by: str) -> _Played:
    """Choose what the user left open, given the first examples, and make the models."""
    chosen, said = choices(replace(request, quick=True), table, first)
    if chosen.task != BINARY.name:
        got = len(table.classes) if problem_of(chosen.task).of_classes else "numbers"
        raise InputError(f"{table.where}: --by needs labels of two classes, got {got}")
    gamma = float(chosen.gammas[0] if chosen.median_gamma is None else chosen.median_gamma)
    models = fleet(gamma=gamma, dtype="float32" if isinstance(first, np.ndarray) else "sparse")
    return _Played(models, Gaussian(gamma=gamma), scaler(chosen.scale, first.shape[1]), first, said, by)


def _before(path: Path, asked: dict[str, Any], stamp: list[int]) -> _Played | None:
    """Return what an earlier call of the same command has played, at the border between two chunks."""
    folder = path.parent
    if not path.is_file():
        if folder.exists() and any(folder.iterdir()):
            raise OtherResults(folder, "holds other results", "take another --name, or move them aside with --force")
        return None
    played, meta = load_state(path)
    if not isinstance(played, _Played) or meta["asked"] != asked:
        advice = "use the same ones, take another --name, or start again with --force"
        raise OtherResults(folder, "was started with different options", advice)
    if meta["stamp"] != stamp:
        raise InputError(f"{folder}: the file has changed since its rows were played; start again with --force")
    return played


class _Played:
    """The models, and what they have done so far."""

    # Those of states that were saved without them.
    encoding: Any = None
    said: Sequence[str] = ()
    by: str = ""

    def __init__(
        self, fleet: Any, kernel: Kernel, scaled: Running | ByRow, first: Matrix, said: list[str], by: str
    ) -> None:
        self.fleet, self.scaler, self.said, self.by = fleet, scaled, said, by
        # The values of an example on average; those of sparse ones that are not 0.
        n_values = -(-first.size // first.shape[0])
        budget = max(1, min(_MOST, fleet.memory // fleet.example_bytes(n_values)))
        everything = find("auto")()
        self.sides = {FOR_ALL: SelfTunedForgetron(budget=budget)}
        if (needed := everything.bytes_in_use(everything.budget, first.shape[1])) <= fleet.memory:
            self.sides["auto, for all"] = everything
        else:
            said.append(f"auto, for all, is left out: it takes {sized(needed)}, more than --memory-for-all.")
        # With each, whether it reads rows as they are.
        self.groups = [(Group(kernel, [one]), one.standardises) for one in self.sides.values()]
        self.rounds, self.mistakes = 0, np.zeros(1 + len(self.sides), dtype=np.int64)
        self.times: list[tuple[int, np.ndarray, np.ndarray]] = []
        self.step = 1

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Set the state; in those of earlier versions, one group plays all sides on scaled rows."""
        if "group" in state:
            state["groups"] = [(state.pop("group"), False)]
        self.__dict__.update(state)

    def play(self, names: list[str], X: Matrix, y: np.ndarray, where: str) -> None:
        """Play some rounds."""
        Z = self.scaler.scaled(X)
        for start in range(0, len(y), _STEP):
            piece = slice(start, start + _STEP)
            self._play(names[piece], X[piece], Z[piece], y[piece], where)

    def _play(self, names: list[str], given: Matrix, rows: Matrix, y: np.ndarray, where: str) -> None:
        new = [name for name in dict.fromkeys(names) if name not in self.fleet]
        n_fit = self.fleet.room_for(new, longest(rows))
        if n_fit < len(new):
            before = counted(self.rounds + names.index(new[n_fit]), "row")
            raise InputError(
                f"{where}: holds the floors of {counted(len(self.fleet) + n_fit, 'key')}, {self.fleet.floor} examples "
                f"each, but another key comes after {before}; give more memory"
            )
        try:
            scores = self.fleet.partial_fit(names, rows, y)
        except (InputError, ValueError) as error:
            raise InputError(f"{where}: {error}") from None
        others = [group.feed(given if as_given else rows, y[None]) for group, as_given in self.groups]
        self.mistakes += [np.count_nonzero(y * one <= 0) for one in (scores, *np.concatenate(others))]
        self.rounds += len(y)
        if self.rounds // _STEP % self.step == 0:
            self._look()

    def best(self) -> ByKey:
        """Return the models of the keys, which learn no more."""
        return ByKey(self)

    def _look(self) -> None:
        self.times.append((self.rounds, self.mistakes.copy(), self.fleet.facts()["held"][:_REMEMBERED]))
        if len(self.times) > 2 * _POINTS:
            del self.times[::2]
            self.step *= 2

    def write(self, folder: Path, by: str, where: str, notes: list[str]) -> None:
        """Write keys.csv, curves.csv, the figure and the page, and print the errors."""
        if not self.times or self.times[-1][0] != self.rounds:
            self._look()
        fleet, n = self.fleet, len(self.fleet)
        keys = pd.DataFrame({"key": fleet.keys, **fleet.facts()})
        keys["error"] = (keys["mistakes"] / keys["rounds"]).round(6)
        keys = keys.sort_values("mistakes", ascending=False, kind="stable")
        keys["key"] = [cell(one_line(key)) for key in keys["key"]]
        write(folder / "keys.csv", keys.to_csv(index=False, lineterminator="\n"))
        names = [BY_KEY, *self.sides]
        curves = pd.DataFrame([mistakes for _, mistakes, _ in self.times], columns=names)
        curves.insert(0, "rounds", [rounds for rounds, _, _ in self.times])
        write(folder / "curves.csv", curves.to_csv(index=False, lineterminator="\n"))
        self._draw(folder / "held.png", curves, names)
        errors = dict(zip(names, (self.mistakes / self.rounds).tolist(), strict=True))
        room = f"{sized(fleet.memory_used)} of {sized(fleet.memory)}"
        facts = {"n_keys": n, "rounds": self.rounds, "room": room, "held": int(keys["held"].sum())}
        page, worst = template("by.html.jinja"), keys.head(30).to_dict("records")
        shown = page.render(title=f"{where} by {by}", by=by, facts=facts, errors=errors, notes=notes, worst=worst)
        write(folder / "report.html", shown)
        for name, error in errors.items():
            print(f"{name}: online error {error:.2%}")
        print(f"{counted(n, 'key')} in {room}: {folder / 'report.html'}")

    def _draw(self, path: Path, curves: pd.DataFrame, names: list[str]) -> None:
        """Draw the errors so far, and what the keys hold that held most, over the rounds."""
        sizes = pd.DataFrame([sizes for _, _, sizes in self.times]).fillna(0).to_numpy()
        most = np.argsort(-sizes.max(axis=0), kind="stable")[:_DRAWN]
        keys = self.fleet.keys
        with styled(11.0, 4.2) as figure:
            left, right = figure.subplots(1, 2)
            for name in names:
                left.plot(curves["rounds"], 100 * curves[name] / curves["rounds"], label=name)
            for j in most:
                right.plot(curves["rounds"], sizes[:, j], label=one_line(keys[j])[:30] or "(missing)")
            left.set(xlabel="rounds", ylabel="online error so far (%)")
            right.set(xlabel="rounds", ylabel="examples held")
            left.legend()
            right.legend(fontsize=9)
            save(figure, path)


class ByKey:
    """Predicts by the model of each row's key, or by the model for all where a key has none.

    Attributes:
    by : str
        The column of the keys.
    classes_, told, typical
        As those of `kept.Best`.
    """

    def __init__(self, played: _Played) -> None:
        self.by, self._played, self._n_without = played.by, played, 0
        self.classes_ = np.array(played.encoding["classes"])
        self.typical = typical_of(played.scaler, played.fleet.dtype == "sparse")

    @property
    def told(self) -> str:
        told = f"by a model per value of {one_line(self.by)}"
        rows = counted(self._n_without, "row")
        return f"{told}, and by the one for all for {rows} whose value has none" if self._n_without else told

    def decision_function(self, X: Matrix, keys: list[str]) -> np.ndarray:
        """Return f(x) for each row and its key, shape (n,); with ``running``, the stream's scale is kept."""
        played = self._played
        Z = played.scaler.scaled(X, learn=False)
        scores: np.ndarray = played.fleet.predict(keys, Z)
        without = np.array([key not in played.fleet for key in keys])
        if without.any():
            scores[without] = scores_of(played.groups[0][0].members[0], Z[without])
            self._n_without += int(np.count_nonzero(without))
        return scores
