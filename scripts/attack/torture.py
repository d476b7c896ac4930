"""Kill sweeps at random moments, many times, and check after each attack that no finished run was lost or changed.

Short sweeps on generated data share one results folder. Each attack starts the command, sends signals to one of its
processes or to all of them, waits for the end, and compares the folder with what was visible in it before, and with
an undisturbed sweep. The next attack resumes the folder. The exit code is 1 if anything was lost, doubled, changed or
left behind, if a command did not end, or if it said more than a sentence. With --backend dask, the attacked workers are
those of a cluster with two of them, whose scheduler is attacked as well. With --shard, the sweeps are those of a shard,
and with --large their table is Parquet from so many runs on. With --record, the counts of all kinds of
attacks together become a row of results/torture.csv, from which CONTRIBUTING.md takes them.

Usage: python scripts/attack/torture.py [N] [--seed S] [--kind WORD] [--backend NAME] [--shard P/N] [--large N]
"""

import argparse
import csv
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import psutil
import pyarrow.parquet as pq
import yaml

from budgetrun.results.store import files
from budgetrun.results.store.write import Row, Store

TOP = Path(__file__).resolve().parents[2]
TABLE = TOP / "results" / "torture.csv"
# What the commands of workers have in them, by backend.
WORKERS = {"local": "budgetrun.runner.job", "loky": "popen_loky_posix", "dask": ""}
CONFIG = {
    "name": "torture",
    "datasets": [{"name": "noisy_gaussians", "noise": 0.1, "options": {"n_per_class": 400}}],
    "kernel": {"name": "gaussian", "gamma": 0.5},
    "repetitions": 6,
    "algorithms": [
        {"name": "perceptron"},
        {"name": "forgetron", "budget": {"of": "perceptron", "fractions": [0.25, 1]}},
        {"name": "rbp", "budget": [5, 20], "seeds": 2},
    ],
}
MEASURED = ("seconds", "peak_memory_mb")
# The most seconds a command may take from the attack to its end, and its processes from then on to theirs.
END_SECONDS = 60
ORPHAN_SECONDS = 10
SENTENCE = re.compile(
    r"torture: \d+ runs to do, \d+ finished, in \S+|torture: shard .*|[\d,]+/[\d,]+ runs, .*|"
    r"\S+: \d+ files of tables and figures, .*"
)
KILL, TERM, INT, HUP = signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP
STOP, CONT = signal.SIGSTOP, signal.SIGCONT
PROBLEMS = ("lost", "doubled", "changed", "hung", "noisy", "wrong exit code", "orphaned", "left behind")


@dataclass(frozen=True)
class Kind:
    """A kind of attack: whom, with which signals, and the exit codes that may follow if the sweep had not ended."""

    name: str
    target: str  # parent, worker, scheduler, group, or the one and then the other
    signals: tuple[signal.Signals, ...]
    codes: tuple[int, ...]


INTERRUPTED = (130,)
KINDS = (
    *(Kind(f"parent {s.name}", "parent", (s,), INTERRUPTED) for s in (INT, TERM, HUP)),
    *(Kind(f"group {s.name}", "group", (s,), INTERRUPTED) for s in (INT, TERM, HUP)),
    *(Kind(f"{whom} SIGKILL", whom, (KILL,), (-KILL,)) for whom in ("parent", "group")),
    Kind("worker SIGKILL", "worker", (KILL,), ()),
    Kind("worker SIGSEGV", "worker", (signal.SIGSEGV,), ()),
    Kind("worker SIGTERM", "worker", (TERM,), ()),
    *(Kind(f"{whom} SIGINT twice", whom, (INT, INT), INTERRUPTED) for whom in ("parent", "group")),
    Kind("parent SIGTERM, SIGINT", "parent", (TERM, INT), INTERRUPTED),
    Kind("parent SIGINT, SIGKILL", "parent", (INT, KILL), (*INTERRUPTED, -KILL)),
    *(Kind(f"{whom} SIGSTOP, SIGCONT", whom, (STOP, CONT), ()) for whom in ("parent", "worker", "group")),
    Kind("worker SIGSTOP, parent SIGINT", "worker and parent", (STOP, INT), INTERRUPTED),
)  # fmt: skip

OF_DASK = (
    *(kind for kind in KINDS if kind.target in ("parent", "group") or kind.signals == (KILL,)),
    *(kind for kind in KINDS if kind.name in ("worker SIGTERM", "worker SIGSTOP, SIGCONT")),
    Kind("scheduler SIGKILL", "scheduler", (KILL,), (2,)),
    Kind("scheduler SIGTERM", "scheduler", (TERM,), (2,)),
)


class Cluster:
    """A dask scheduler and two workers, each a process."""

    def __init__(self, top: Path) -> None:
        self.top = top
        self.scheduler: subprocess.Popen[str] | None = None
        self.workers: list[subprocess.Popen[str]] = []
        self.complete()

    def _start(self, part: str, *options: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", f"distributed.cli.dask_{part}", *options, "--no-dashboard"]
        error = subprocess.PIPE if part == "scheduler" else subprocess.DEVNULL
        given = {"cwd": self.top, "env": os.environ | {"PYTHONPATH": str(TOP)}, "start_new_session": True}
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=error, text=True, **given)

    def complete(self) -> None:
        """Start what does not run."""
        if self.scheduler is None or self.scheduler.poll() is not None:
            self.stop()
            self.scheduler = self._start("scheduler", "--host", "127.0.0.1", "--port", "0")
            self.address = next(line.split()[-1] for line in self.scheduler.stderr if "Scheduler at:" in line)
            threading.Thread(target=self.scheduler.stderr.read, daemon=True).start()
        self.workers = [worker for worker in self.workers if worker.poll() is None]
        while len(self.workers) < 2:
            self.workers.append(self._start("worker", self.address, "--nthreads", "1", "--no-nanny"))

    def stop(self) -> None:
        """Kill all processes."""
        for process in (*self.workers, *filter(None, [self.scheduler])):
            process.kill()
            process.wait()
        self.workers, self.scheduler = [], None


class Sandbox:
    """A folder with the config, its results, and what an undisturbed sweep gives."""

    def __init__(self, top: Path, backend: str = "local", shard: str = "", large: int = files.LARGE) -> None:
        self.top, self.backend, self.shard, self.large = top, backend, shard, large
        (top / "tmp").mkdir()
        (top / "torture.yaml").write_text(yaml.safe_dump(CONFIG))
        self.environment = {key: value for key, value in os.environ.items() if not key.startswith("COVERAGE_PROCESS")}
        self.environment |= {"PYTHONPATH": str(TOP), "TMPDIR": str(top / "tmp")}
        self.cluster = Cluster(top) if backend == "dask" else None
        began = time.monotonic()
        process = self.start("sweep", "--jobs", "2")
        _, err = process.communicate(timeout=10 * END_SECONDS)
        assert process.returncode == 0, err
        self.seconds = time.monotonic() - began
        self.reference = self.stored()
        self.seen = dict(self.reference)

    @property
    def results(self) -> Path:
        part = f".{self.shard.replace('/', '-of-')}" if self.shard else ""
        return self.top / "results" / f"torture{part}"

    def start(self, verb: str, *options: str) -> subprocess.Popen[str]:
        """Start a command in a session of its own; ``sweep`` alone makes no report."""
        undrawn = "from budgetrun import cli; cli._report = lambda folder: None; " if verb == "sweep" else ""
        words = {"sweep": ["sweep", "torture.yaml", "--backend", self.backend], "report": ["report", str(self.results)]}
        words["sweep"] += ["--shard", self.shard] if self.shard else []
        if self.cluster is not None:
            words["sweep"] += ["--scheduler", self.cluster.address]
        words["all"] = words["sweep"]
        code = f"import sys; sys.argv[0] = 'budgetrun'; from budgetrun.__main__ import main; {undrawn}"
        code += f"from budgetrun.results.store import files; files.LARGE = {self.large}; main()"
        return subprocess.Popen(
            [sys.executable, "-c", code, *words[verb], *options],
            cwd=self.top,
            env=self.environment,
            start_new_session=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )

    def stored(self) -> dict[str, Row]:
        """Return all finished runs of the results folder, without what differs from one sweep to the next."""
        rows = Store(self.results).rows() if self.results.is_dir() else {}
        return {key: _outcome(row) for key, row in rows.items() if row["status"] == "done"}

    def unfinished(self) -> set[Path]:
        """Return the temporary files of the results folder, which the next complete sweep removes after a kill."""
        return {*self.results.rglob(".*.tmp"), *self.results.rglob("*.running")}


def _outcome(row: Row) -> Row:
    return {key: value for key, value in row.items() if key not in MEASURED}


def session(process: subprocess.Popen[str]) -> Iterator[psutil.Process]:
    """Yield the living processes of a command's session."""
    for other in psutil.process_iter():
        try:
            if os.getsid(other.pid) == process.pid and other.status() != psutil.STATUS_ZOMBIE:
                yield other
        except (psutil.Error, ProcessLookupError, PermissionError):
            continue


def heeds_signals(process: subprocess.Popen[str]) -> bool:
    """Return whether a command has begun to handle signals; before, Python answers, or the system."""
    with suppress(FileNotFoundError):
        status = Path(f"/proc/{process.pid}/status").read_text()
        caught = re.search(r"SigCgt:\s*(\w+)", status)
        return caught is not None and bool(int(caught[1], 16) & 1 << (HUP - 1))
    return True


def targets(process: subprocess.Popen[str], whom: str, sandbox: Sandbox) -> list[int]:
    """Return the ids of the processes to attack, those of a group as a negative number; none if it is too late."""
    if whom in ("parent", "group"):
        return [process.pid if whom == "parent" else -process.pid]
    if sandbox.cluster is not None:
        parts = [sandbox.cluster.scheduler] if whom == "scheduler" else sandbox.cluster.workers
        return [one.pid for one in parts if one]
    found = []
    for other in session(process):
        with suppress(psutil.Error):
            if any(WORKERS[sandbox.backend] in word for word in other.cmdline()):
                found.append(other.pid)
    return found


def send(number: signal.Signals, target: int) -> None:
    """Send a signal to a process, or to the group whose negative id is given; it may have ended."""
    with suppress(ProcessLookupError):
        os.kill(target, number)


def attack(sandbox: Sandbox, kind: Kind, rng: random.Random) -> tuple[str, dict[str, str]]:
    """Start a command, attack it, and return what was done and each problem that was found, with an explanation."""
    verb = rng.choices(["sweep", "all", "report"], [16, 1, 1])[0]
    if kind.target not in ("parent", "group"):
        verb = "sweep"
    elif verb == "report" and not sandbox.seen:
        verb = "all"
    options: list[str] = []
    if verb != "report":
        # A single worker is the process of the sweep itself.
        options = ["--jobs", "1" if kind.target in ("parent", "group") and rng.random() < 0.2 else "2"]
    if verb != "report" and len(sandbox.seen) == len(sandbox.reference):
        if rng.random() < 0.5:
            options += ["--force"]
        else:
            shutil.rmtree(sandbox.results)
            sandbox.seen = {}

    before = sandbox.unfinished()
    began = time.monotonic()
    process = sandbox.start(verb, *options)
    # Also the first tenths of a second and the end are hit.
    most = {"sweep": sandbox.seconds, "all": 2 * sandbox.seconds, "report": sandbox.seconds}[verb]
    delay = rng.choice([rng.uniform(0, 0.2 * most), rng.uniform(0, 1.1 * most), rng.uniform(0.3 * most, most)])
    time.sleep(delay)
    while kind.signals[0] != KILL and not heeds_signals(process) and process.poll() is None:
        time.sleep(0.001)
    whom = kind.target.split()[0]
    while (
        not (victims := targets(process, whom, sandbox)) and process.poll() is None and time.monotonic() < began + most
    ):
        time.sleep(0.02)
    visible = sandbox.stored()
    victim = rng.choice(victims) if victims else 0
    done = f"{kind.name} after {time.monotonic() - began:.2f} s of {' '.join([verb, *options])}"
    if victim:
        second = process.pid if kind.target == "worker and parent" else victim
        for n, (number, target) in enumerate(zip(kind.signals, (victim, second), strict=False)):
            if n:
                time.sleep(rng.choice([0.0, 0.01, 0.1, 0.4]))
            send(number, target)
    problems = {}
    try:
        _, err = process.communicate(timeout=END_SECONDS)
    except subprocess.TimeoutExpired:
        problems["hung"] = f"still running after {END_SECONDS} s"
        print(subprocess.run(["ps", "--forest", "-o", "pid,stat,wchan:20,args", "-s", str(process.pid)],
                             capture_output=True, text=True, check=False).stdout)  # fmt: skip
        os.killpg(process.pid, KILL)
        _, err = process.communicate()
    codes = (0, *kind.codes) if victim else (0,)
    if verb == "report" and len(sandbox.seen) < len(sandbox.reference):
        # It says which planned runs are missing.
        codes = (1, *codes)
    if "hung" not in problems and process.returncode not in codes:
        problems["wrong exit code"] = f"{process.returncode}, not one of {codes}"
    complete = process.returncode == 0 and verb != "report"
    problems |= _said(err) | _left(
        sandbox, process, set() if complete else before, not complete and KILL in kind.signals
    )
    problems |= _stored(sandbox, visible, "--force" in options, complete)
    if problems and err:
        problems["stderr"] = err
    return done + ("" if victim else " (too late)"), problems


def _said(err: str) -> dict[str, str]:
    lines = [line for line in err.splitlines() if line.strip() and not SENTENCE.fullmatch(line)]
    if len(lines) > 1 or "Traceback" in err:
        return {"noisy": f"{len(lines)} lines"}
    return {}


def _left(sandbox: Sandbox, process: subprocess.Popen[str], before: set[Path], killed: bool) -> dict[str, str]:
    """Return what is wrong with the processes and files that are left, besides those that were there before."""
    problems = {}
    pids = {process.pid}
    until = time.monotonic() + ORPHAN_SECONDS
    while (alive := list(session(process))) and time.monotonic() < until:
        pids |= {other.pid for other in alive}
        time.sleep(0.02)
    if alive:
        problems["orphaned"] = ", ".join(str(other) for other in alive)
        os.killpg(process.pid, KILL)
    names = [name for name in os.listdir("/dev/shm") if pids & {int(n) for n in re.findall(r"\d+", name)}]
    left = [Path("/dev/shm", name) for name in names] + list((sandbox.top / "tmp").iterdir())
    if not killed:
        left += sandbox.unfinished() - before
    if left:
        problems["left behind"] = ", ".join(str(path) for path in left)
    for path in left:
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    return problems


def _stored(sandbox: Sandbox, visible: dict[str, Row], forced: bool, complete: bool) -> dict[str, str]:
    """Return what is wrong with the runs of the results folder, and remember which there are."""
    problems = {}
    old = sorted(sandbox.results.parent.glob(f"{sandbox.results.name}.old-*"))
    aside = {key: _outcome(row) for folder in old for key, row in Store(folder).rows().items()}
    found = sandbox.stored()
    everywhere = found | aside if forced else found
    wanted = (sandbox.reference if complete else {}).keys() | sandbox.seen.keys() | visible.keys()
    if missing := wanted - everywhere.keys():
        problems["lost"] = f"{len(missing)} runs: {', '.join(sorted(missing))}"
    if old and not forced:
        problems["lost"] = "a folder was moved aside without --force"
    if complete and (missing := sandbox.reference.keys() - found.keys()):
        problems["lost"] = f"{len(missing)} runs although the sweep had ended: {', '.join(sorted(missing))}"
    changed = [key for rows in (found, aside) for key, row in rows.items() if sandbox.reference.get(key) != row]
    if (table := sandbox.results / "runs.parquet").is_file():
        ids = pq.read_table(table, columns=["run_id"])["run_id"].to_pylist()
        if len(ids) > len(set(ids)):
            problems["doubled"] = f"{len(ids) - len(set(ids))} rows of runs.parquet"
    table = sandbox.results / "runs.csv"
    if table.is_file():
        with table.open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file, strict=True))
        ids = [row["run_id"] for row in rows]
        if len(ids) > len(set(ids)):
            problems["doubled"] = f"{len(ids) - len(set(ids))} rows of runs.csv"
        changed += [row["run_id"] for row in rows if sandbox.reference.get(row["run_id"]) != _outcome(row)]
    if changed:
        problems["changed"] = f"{len(changed)} runs: {', '.join(sorted(changed))}"
    for folder in old:
        shutil.rmtree(folder)
    sandbox.seen = found
    if sandbox.cluster is not None:
        sandbox.cluster.complete()
    return problems


def torture(
    n: int,
    seed: int,
    kind: str = "",
    backend: str = "local",
    say: Callable[[str], None] = print,
    record: Callable[[Counter[str]], None] = lambda counts: None,
    **options: Any,
) -> Counter[str]:
    """Attack ``n`` times, and return how often each problem was found; ``record`` gets the counts now and then."""
    kinds = [one for one in (OF_DASK if backend == "dask" else KINDS) if kind in one.name]
    for number in (INT, HUP):
        # A shell without job control, or nohup, starts processes that ignore them, and so does all that they start.
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    counts: Counter[str] = Counter()
    attacks: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="torture-") as top:
        sandbox = Sandbox(Path(top), backend, **options)
        began = time.monotonic()
        for i in range(n):
            # Each attack has a seed of its own, so that the order of the kinds is random too.
            rng = random.Random(f"{seed} {i}")
            chosen = rng.choice(kinds)
            done, problems = attack(sandbox, chosen, rng)
            attacks[chosen.name + (" (too late)" if done.endswith("(too late)") else "")] += 1
            counts.update(problems.keys() & set(PROBLEMS))
            counts["attacks"] += 1
            counts["lines of noise"] += int(problems.get("noisy", "0").split()[0])
            if problems:
                say(f"{i}: {done}\n" + "".join(f"  {name}: {text}\n" for name, text in problems.items()))
            if (i + 1) % 20 == 0 or i + 1 == n:
                say(f"{i + 1} of {n} attacks, {sum(counts[problem] for problem in PROBLEMS)} problems")
                record(counts)
        per_attack = (time.monotonic() - began) / max(1, n)
        if sandbox.cluster is not None:
            sandbox.cluster.stop()
    say("".join(f"{count:6d} {name}\n" for name, count in sorted(attacks.items())))
    say(f"{n} attacks with seed {seed}, {per_attack:.1f} s each: " + ", ".join(f"{counts[p]} {p}" for p in PROBLEMS))
    return counts


def recorded(backend: str, seed: int, counts: Counter[str]) -> None:
    """Write the counts of a backend and a seed into the table."""
    new = {"backend": backend, "seed": seed} | {name: counts[name] for name in ("attacks", *PROBLEMS, "lines of noise")}
    known = [pd.read_csv(TABLE)] if TABLE.is_file() else []
    table = pd.concat([*known, pd.DataFrame([new])]).drop_duplicates(["backend", "seed"], keep="last")
    table.sort_values(["backend", "seed"]).to_csv(TABLE, index=False)


def summary() -> list[str]:
    """Return the lines of CONTRIBUTING.md with the counts of each backend, over all seeds."""
    counts = pd.read_csv(TABLE).drop(columns="seed").groupby("backend").sum()
    return [f"| `{backend}` | {' | '.join(map('{:,}'.format, own))} |" for backend, own in counts.iterrows()]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("n", type=int, nargs="?", default=1000, metavar="N", help="the number of attacks")
    parser.add_argument("--seed", type=int, default=0, help="the same seed gives the same attacks")
    parser.add_argument("--kind", default="", metavar="WORD", help="only kinds of attacks whose name has this word")
    parser.add_argument("--backend", choices=list(WORKERS), default="local", help="where the workers of sweeps run")
    parser.add_argument("--shard", default="", metavar="PART/OF", help="attack the sweeps of a shard")
    parser.add_argument("--large", type=int, default=files.LARGE, metavar="N", help="Parquet from N runs on")
    parser.add_argument("--record", action="store_true", help="write the counts into results/torture.csv")
    chosen = parser.parse_args()
    record = partial(recorded, chosen.backend, chosen.seed) if chosen.record else lambda counts: None
    say = partial(print, flush=True)
    given = {"shard": chosen.shard, "large": chosen.large}
    counts = torture(chosen.n, chosen.seed, chosen.kind, chosen.backend, say, record, **given)
    return int(any(counts[problem] for problem in PROBLEMS))


if __name__ == "__main__":
    sys.exit(main())
