"""One stream: choose the options that the user left open, play it, and write a results folder."""

import copy
import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict, replace
from itertools import chain, count
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from budgetrun.base.errors import CONTROL, InputError, clipped, counted, one_line, say
from budgetrun.base.files import make_folder, write
from budgetrun.base.problem import problem_of
from budgetrun.config.reader import read as read_config
from budgetrun.config.schema import Config, Label, RunSpec
from budgetrun.config.yaml import Mistake
from budgetrun.data import StreamInfo, tables
from budgetrun.data.cards import combined_sha256
from budgetrun.data.streams import permutation_of
from budgetrun.data.tables import Table, open_table
from budgetrun.data.tables.columns import as_classes
from budgetrun.data.tables.table import Digest
from budgetrun.kernels.kinds import Matrix
from budgetrun.play.selection import Selection, registry
from budgetrun.play.session import Session
from budgetrun.results.store.write import Store, move_aside
from budgetrun.runner import identity, interrupts, provenance
from budgetrun.runner.job import Outcome, row_of
from budgetrun.runner.live.kept import Progressed, next_save, scaler, warnings
from budgetrun.runner.live.request import FIRST, Request, choices, config_text, options_of
from budgetrun.runner.live.shuffle import shuffled
from budgetrun.runner.plan import Options, make_jobs, make_plan, specs_of
from budgetrun.runner.progress import RowsProgress
from budgetrun.state import BY_STATE, STREAM_STATE, load_state, save_state, using

# Examples with their classes from 0, or with numbers.
Chunk = tuple[Matrix, np.ndarray]
T = TypeVar("T")

STATE, CONFIG = STREAM_STATE, "config.yaml"


def run(request: Request, report: Callable[[Path], Any] = lambda folder: None) -> int:
    """Play a stream, and write its results folder; return 0, or 130 if interrupted: then the same command continues.

    ``report`` is called with the folder when its results are written, also if they were written before.

    Raises InputError: the request or the stream cannot be used; what has been played so far is kept.
    """
    if CONTROL.search(request.source):
        raise InputError(
            f"{one_line(request.source)}: a path with control characters, or that is not UTF-8; rename the file, or "
            "give its content as standard input: budgetrun run - < FILE"
        )
    if not (request.from_pipe or "://" in request.source or os.path.exists(request.source)):
        raise InputError(f"{one_line(request.source)}: no such file")
    if request.continues is not None:
        request = _of_model(request)
    if request.force:
        move_aside(request.folder)
    request, before = continued(request, STATE, _before)
    path = request.folder / STATE
    stamp = stamp_of(request)
    if before is not None and before.ended and before.stamp == stamp and not request.from_pipe:
        say(f"{request.folder}: finished" + ("; to play the stream again: --force" if not before.base else ""))
        Store(request.folder).drop_unfinished_writes()
        report(request.folder)
        return 0
    with nullcontext() if before is None else using(path):
        encoding = None if before is None else before.encoding
        if before is not None and not (request.from_pipe and not request.replay):
            # The first row of the source comes again.
            encoding = before.started or {key: value for key, value in before.encoding.items() if key != "means"}
        table = open_table(
            request.source,
            label=request.label,
            missing=request.missing,
            classes=(classes_of(request.classes) or None) if problem_of(request.task).of_classes else (),
            encoding=encoding,
            continued=True,
        )
        chunks, state = _ordered(table, request), before
        if state is None or not state.session.rounds:
            first = next(chunks)
            chunks = chain([first], chunks)
        if state is None:
            state, config = _begin(request, table, first[0][:FIRST])
        else:
            config = read_config(state.config, request.folder / CONFIG)
        played = _Run(request, table, state, config, report)
        for sentence in state.said:
            say(sentence)
        if before is not None:
            say(f"continued after {state.session.rounds:,} rounds")
        state.stamp, state.ended = stamp, False
    return played.play(chunks)


def classes_of(texts: Sequence[str]) -> tuple[Label, ...]:
    """Return labels as a table has them: numbers, if all of them are."""
    try:
        return as_classes([float(text) for text in texts])
    except ValueError:
        return as_classes(texts)


def _of_model(request: Request) -> Request:
    """Return a request whose learners are those of another folder, with all the options that the folder was made with.

    Raises InputError: there are no such learners, they cannot go on, or an option differs.
    """
    given: Any = request.continues
    folder = given.parent if given.name == STATE else given
    if (folder / BY_STATE).is_file():
        raise InputError(
            f"--continue {one_line(str(given))}: has a model per key, which goes on by the same command, with further "
            "rows as standard input"
        )
    if not (path := folder / STATE).is_file():
        raise InputError(
            f"--continue {one_line(str(given))}: not a results folder of budgetrun run; a model that Python saved goes "
            "on with its method partial_fit"
        )
    usual = Request(request.source, results=request.results, continues=given)
    if differing := [key for key in asdict(usual) if getattr(usual, key) != getattr(request, key)]:
        names = ", ".join(options_of(differing))
        raise InputError(f"--continue: the learners and all options are those of {folder}; remove {names}")
    if request.from_pipe:
        raise InputError("--continue: needs a file; standard input goes on by the same command with the same --name")
    state, _ = load_state(path)
    with using(path):
        title = read_config(state.config, folder / CONFIG).name
        if title != folder.name:
            raise InputError(f"{folder}: was renamed; its name was {title}, which --continue needs")
        if state.request["source"] != request.source and not state.ended:
            raise InputError(f"{folder}: has not played all of {state.request['source']}; repeat that command first")
        if state.n_rounds is not None:
            raise InputError(f"{folder}: its learners depend on T, the number of rounds; they cannot go on")
        known = {key: tuple(value) if isinstance(value, list) else value for key, value in state.request.items()}
        new: dict[str, Any] = {"source": request.source, "results": folder.parent, "name": title, "continues": given}
        return Request(**known | new)


def continued(request: Request, state: str, before: Callable[[Request, Path], T]) -> tuple[Request, T]:
    """Return a request and what ``before`` finds in its file ``state``, in the first folder without other results.

    Unless the folder was named, NAME-2, NAME-3 and so on are next. ``before`` raises `OtherResults` for those.
    """
    for k in count(2):
        path = request.folder / state
        try:
            with using(path):
                return request, before(request, path)
        except OtherResults as error:
            if request.name is not None and not request.numbered:
                raise
            title = request.title.removesuffix(f"-{k - 1}") if k > 2 else request.title
            request = replace(request, name=f"{title}-{k}", numbered=True)
            say(f"{error.folder}: {error.why}; the results go to {request.folder}")
    raise AssertionError


class OtherResults(InputError):
    """A folder has the results of another stream, or of other options."""

    def __init__(self, folder: Path, why: str, advice: str) -> None:
        super().__init__(f"{folder}: {why}; {advice}")
        self.folder, self.why = folder, why


def _before(request: Request, path: Path) -> Progressed | None:
    """Return the state that an earlier call with the same arguments left; None if this is the first."""
    if not path.is_file():
        if (request.folder / "manifest.json").is_file():
            advice = "take another --name, or move them aside with --force"
            raise OtherResults(request.folder, "holds other results", advice)
        return None
    state, _ = load_state(path)
    if not isinstance(state, Progressed):
        raise InputError(f"{path}: not the state of a stream; remove it, or start again with --force")
    if not state.session.rounds:
        # The choices may be those for another file.
        return None
    if request.continues is not None and state.request["source"] != request.source:
        state.go_on(request.source)
    # Earlier versions had no option --quick.
    differing = sorted(key for key, value in asked_of(request).items() if value != state.request.get(key, False))
    advice = "take another --name, or start again with --force"
    if "source" in differing:
        why = f"the last rows that its learners have seen are those of {one_line(state.request['source'])}"
        raise OtherResults(request.folder, why, advice)
    if differing:
        names = ", ".join(options_of(differing))
        why = f"was started with different options ({names})"
        raise OtherResults(request.folder, why, f"use the same ones, {advice}")
    if not request.from_pipe and not state.seen and state.stamp != stamp_of(request)[: len(state.stamp)]:
        raise _is_another(request, state)
    return state


def _is_another(request: Request, state: Progressed) -> InputError:
    n = state.session.rounds - state.base
    were = "was" if n == 1 else "were"
    if request.from_pipe:
        told = f"its rows are not the {n:,} that {were} played; without --replay they follow those"
        return InputError(f"standard input: {told}")
    advice = "new rows need a file of another name" if state.base else "start again with --force"
    return InputError(f"{request.source}: the file has changed since {n:,} of its rows {were} played; {advice}")


def asked_of(request: Request) -> dict[str, Any]:
    """Return the options that determine the outcome, as JSON."""
    skipped = {"results", "replay", "force", "name", "continues", "numbered"}
    kept = {key: value for key, value in asdict(request).items() if key not in skipped}
    asked: dict[str, Any] = json.loads(json.dumps(kept))
    return asked


def stamp_of(request: Request) -> list[int]:
    if request.from_pipe or not os.path.exists(request.source):
        return []
    return list(tables.stamp_of(Path(request.source)).state)


def _begin(request: Request, table: Table, first: Matrix) -> tuple[Progressed, Config]:
    """Choose the options that the user left open, given the first examples, and build the learners."""
    chosen, said = choices(request, table, first)
    text = config_text(request, chosen, said)
    config = read_config(text, request.folder / CONFIG, lambda problem: _of_option(problem, request))
    specs, n_rounds = _specs(config, table, chosen.median_gamma)
    learners = [(identity.kernel_of(spec), identity.build(spec)) for spec in specs]
    labels = [spec.label for spec in specs]
    options: dict[str, Any] = {"n_classes": len(table.classes), "tie": config.tie, "dtype": config.dtype}
    selections = [
        Selection(
            registry()[spec.rule](**spec.parameters),
            copy.deepcopy([learners[i] for i, label in enumerate(labels) if label in spec.of]),
            **options,
        )
        for spec in config.select
    ]
    progressed = Progressed(
        request=asked_of(request),
        config=text,
        said=said,
        classes=list(table.classes),
        encoding=table.encoding,
        scaler=scaler(chosen.scale, first.shape[1]),
        session=Session(
            learners,
            selections,
            task=config.task,
            metrics=config.metrics,
            looks=True,
            running=chosen.scale == "running",
            **options,
        ),
        names=[_name_of(spec, specs) for spec in specs],
        median_gamma=chosen.median_gamma,
        n_rounds=n_rounds,
    )
    return progressed, config


def _of_option(problem: Mistake, request: Request) -> str:
    """Return what is wrong with the settings of a request, said of its options: there is no config file yet."""
    options = {"algorithms": ("--algorithm", request.algorithms), "select": ("--select", request.select)}
    section, *inside = problem.path or ("",)
    option, texts = options.get(str(section), ("", ()))
    if not (texts and inside):
        return problem.said
    return f"{option} {texts[int(inside[0])]}: {problem._replace(path=tuple(inside[1:])).said}"


def _name_of(spec: RunSpec, specs: Sequence[RunSpec]) -> str:
    """Return the name of a learner in messages: its label, with what distinguishes it from others of that label."""
    alike = [other for other in specs if other.label == spec.label]
    parts = [f"B = {spec.budget:,}"] if spec.budget is not None and len({s.budget for s in alike}) > 1 else []
    parts += [f"{key} = {value}" for key, value in spec.setting.items()]
    parts += [f"seed {spec.seed}"] if len({s.seed for s in alike}) > 1 else []
    return f"{spec.label} ({', '.join(parts)})" if parts else spec.label


def _specs(config: Config, table: Table, median_gamma: float | None) -> tuple[list[RunSpec], int | None]:
    """Return the specs of the runs, before it is known how many rounds a pipe has, and T if they depend on it."""
    n_rounds = None if table.missing == "skip" else table.n_rows
    known = StreamInfo(table.n_rows or 1, len(table.features), None, ["-"], "", median_gamma=median_gamma)
    specs, _ = specs_of(config, config.datasets[0], known)
    formulas = {text for spec in specs for key, text in spec.typed.items() if key in spec.parameters}
    if n_rounds is None and formulas:
        raise InputError(
            f"{table.where}: {min(formulas)!r} depends on T, the number of rounds, which is not known; give a number"
        )
    return specs, n_rounds if formulas else None


def _ordered(table: Table, request: Request) -> Iterator[Chunk]:
    """Return the examples of a table with their codes, in the order of the rounds."""
    # A pipe may be slow: its rows are played as they come.
    at_first = 1 if request.from_pipe else FIRST
    chunks = ((chunk.X, _codes(chunk.y, table)) for chunk in table.chunks(at_first=at_first))
    if request.shuffle is None:
        return chunks
    if not table.again:
        raise InputError(f"{table.where}: --shuffle needs a file, whose rows can be counted first")
    # The search for the classes has counted the rows; those to be left out are known only to `chunks`.
    n_rows = table.n_rows if (table.classes or table.numbers) and request.missing != "skip" else None
    if n_rows is None:
        n_rows = sum(len(chunk.y) for chunk in table.chunks())
    return shuffled(chunks, permutation_of(request.title, request.shuffle, 0, n_rows))


def _codes(y: np.ndarray, table: Table) -> np.ndarray:
    """Return labels as classes from 0, or as they are if they are measured numbers."""
    if not table.numbers:
        # Labels are sorted as text or as numbers, as they are in the chunks.
        return np.searchsorted(np.array(table.classes), y)
    if y.dtype.kind != "f":
        raise InputError(
            f"{table.where}: --task regression needs numbers as labels, and {table.label_column} is text, such as "
            f"{clipped(str(y[0]), 20)}; name the column of the numbers with --label, or use --task multiclass"
        )
    return y


class _Run:
    """One call of the command on a stream that is open."""

    def __init__(
        self, request: Request, table: Table, state: Progressed, config: Config, report: Callable[[Path], Any]
    ) -> None:
        self.request, self.table, self.state, self.config, self.report = request, table, state, config, report
        self.warned: dict[str, str] = {}
        # The rows of the source that were played, in this call and, of a file, before; the present chunk's codes.
        self._digest, self._codes, self._chunk_start = Digest(), np.empty(0), 0
        self._in_parts, self._begun = request.from_pipe and not request.replay, state.session.rounds
        # The rows that come again.
        self._skip = 0 if self._in_parts else self._begun - state.base
        if self._in_parts and state.in_part:
            state.sha256s.append(state.seen)
        self._next_save = next_save(time.monotonic())
        # False while some learners have played more rounds than others.
        self._whole = True

    def play(self, chunks: Iterator[Chunk]) -> int:
        """Play the rest of the stream; return the exit code."""
        request, session = self.request, self.state.session
        make_folder(request.folder)
        write(request.folder / CONFIG, self.state.config)
        began, code = time.monotonic(), 0
        self.progress = RowsProgress(self.table.n_rows and self.table.n_rows + self.state.base, session.rounds)
        try:
            with interrupts.raising(), self._loaded():
                session.run(self._remaining(chunks), scaled=self._scaled, whole=self._piece, after=self._tick)
        except KeyboardInterrupt:
            code = 130
        except InputError as error:
            if (n := session.rounds - self._begun) and self._in_parts and self._whole:
                kept = f"{counted(n, 'row')} of this input {'was' if n == 1 else 'were'} learned"
                raise InputError(f"{error}; {kept}: go on with what follows") from error
            raise
        finally:
            with interrupts.ignored():
                self.progress.close()
                # After an error within a piece, the last saved state is the one to continue from.
                if self._whole and session.rounds > self._begun:
                    self.state.seconds += time.monotonic() - began
                    self._save()
        if code == 130 and not request.from_pipe:
            say(f"interrupted after {counted(session.rounds, 'round')}; {self._errors()}; the same command continues")
            return code
        if session.rounds:
            if self.state.n_rounds not in (None, session.rounds):
                raise _is_another(request, self.state)
            with interrupts.ignored(), self._loaded():
                session.record()
                # What was known only at the end of a pipe, or of a file that continues another.
                for note in self.table.notes():
                    if note not in self.state.said:
                        say(note)
                self._warn(at_end=True)
                parts = [*self.state.sha256s, self.table.sha256 or self._digest.hexdigest()]
                self._write_results(parts)
            with interrupts.ignored():
                self.report(request.folder)
                # Only now nothing is left to do.
                self.state.sha256s, self.state.ended = parts if self._in_parts else parts[:-1], True
                self._save()
        return code

    def _loaded(self) -> AbstractContextManager[None]:
        """Return the context for using the learners, which come from a file if rounds were played before."""
        return using(self.request.folder / STATE) if self._begun else nullcontext()

    @contextmanager
    def _piece(self) -> Iterator[None]:
        with interrupts.deferred():
            self._whole = False
            yield
            self._whole = True

    def _remaining(self, chunks: Iterator[Chunk]) -> Iterator[Chunk]:
        """Yield the rows of chunks from the first round that has not been played, with the labels of the engine."""
        skip, session = self._skip, self.state.session
        for X, codes in chunks:
            if skip:
                n = min(skip, len(codes))
                self._digest.add(X[:n], codes[:n].astype(np.float64))
                X, codes, skip = X[n:], codes[n:], skip - n
                if not skip and self.state.seen and self._digest.hexdigest() != self.state.seen:
                    raise _is_another(self.request, self.state)
            if len(codes):
                self._codes, self._chunk_start = codes, session.rounds
                yield X, session.problem.labels(codes)[None]
        if skip:
            raise _is_another(self.request, self.state)

    def _scaled(self, X: Matrix) -> Matrix:
        """Return the next rows as learners take them, in place."""
        start = self.state.session.rounds - self._chunk_start
        self._digest.add(X, self._codes[start : start + X.shape[0]].astype(np.float64))
        return self.state.scaler.scaled(X)

    def _tick(self, rounds: int) -> None:
        is_due = self.progress.is_due()
        if is_due:
            self._warn()
        self.progress.advance(rounds, self._errors() if is_due else "")
        if (began := time.monotonic()) >= self._next_save:
            with interrupts.deferred():
                self._save()
            self._next_save = next_save(began)

    def _save(self) -> None:
        state = self.state
        state.in_part = self._in_parts and not state.ended
        # A pipe in parts, and a state of another version, have rows that this call has not seen.
        state.seen = self._digest.hexdigest() if state.in_part or self._skip == self._begun - state.base else ""
        state.encoding |= self.table.means
        with self._loaded():
            save_state(self.request.folder / STATE, state)

    def _warn(self, at_end: bool = False) -> None:
        found = warnings(self.state.session, self.state.names, self.table.features, at_end)
        for key, sentence in found.items():
            if key not in self.warned:
                say(f"warning: {sentence}")
        self.warned = found if at_end else self.warned | found

    def _errors(self) -> str:
        """Return the smallest error so far, and that of the same learner lately."""
        session, problem = self.state.session, self.state.session.problem
        totals, form, rounds = session.totals(), problem.error_form, max(1, session.rounds)
        best, lately = int(totals.argmin()), session.curve.last_window(problem.total)
        text = f"{problem.error_title} {problem.error_after(totals[best], rounds):{form}} ({self.state.names[best]})"
        for spec, selection in zip(self.config.select, session.selections, strict=True):
            text += f", {selection.mistakes / rounds:.2%} ({spec.label})"
        if lately is None:
            return text
        n, grown = lately
        return f"{text}, {problem.error_after(grown[best], n):{form}} in the last {n:,} rounds"

    def _write_results(self, sha256s: Sequence[str]) -> None:
        """Write the rows, curves and manifest of the rounds so far, like those of a sweep."""
        state, session, counts = self.state, self.state.session, self.state.session.counts
        label = self.config.datasets[0].label
        warned = [f"Warning: {sentence}" for sentence in self.warned.values()]
        info = StreamInfo(
            n_examples=counts.rounds,
            n_features=len(self.table.features),
            nnz_per_row=counts.stored / max(1, counts.rounds) if counts.is_sparse else None,
            task_names=["-"],
            sha256=combined_sha256(sha256s),
            files={f"part {k}": one for k, one in enumerate(sha256s[:-1], 1)} | {self.table.where: sha256s[-1]},
            notes=[*dict.fromkeys([*state.said, *self.table.notes()]), *warned],
            classes=state.classes,
            n_classes=session.problem.n_classes(len(state.classes)) or 2,
            readers=[self.table.reader],
            median_gamma=state.median_gamma,
        )
        plan = make_plan(self.config, played={label: info})
        options = Options(results=self.request.results)
        store = Store(options.folder(self.config))
        manifest = provenance.manifest(self.config, plan, options, None)
        store.open(manifest)
        store.drop_unfinished_writes()
        store.prune(lambda row: False)
        # Selections come after the learners, here and there.
        at = {run.run_id: i for i, run in enumerate(plan.runs)}
        for job in make_jobs(self.config, plan.runs, lambda *_: True):
            ids = [run.run_id for run in job.runs]
            rows = [row_of(run, job, n_examples=counts.rounds, **session.columns(at[run.run_id])) for run in job.runs]
            curves = [session.curve.of(at[run_id]) for run_id in ids]
            stacked = {name: np.stack([one[name] for one in curves]) for name in curves[0]}
            store.save_curves(job.job_id, {"run_id": np.array(ids), "rounds": session.curve.rounds, **stacked})
            store.save(job.job_id, rows)
            share = state.seconds * len(ids) / len(at)
            provenance.add_job(manifest, job, Outcome(job.job_id, rows, share, share, stored=True))
        manifest |= {"seconds": round(state.seconds, 1), "end": provenance.now()}
        store.write_table()
        store.write_manifest(manifest)
