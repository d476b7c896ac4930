"""Stop `budgetrun run` at every write and at random moments, change its file meanwhile, and check what follows.

Each attack plays a short stream in a fork of this process, in which the command is killed before one of its calls of
the file system, finds the disk full there, or gets a signal at a random moment. Then the file of the stream may be
replaced by one of the same size and time, cut, or grow, and the command is repeated. In the end it has either written
what an undisturbed run of the file writes, or refused the file in one sentence, with exit code 2 and nothing changed.

Usage: python scripts/attack/torture_run.py [N] [--seed S] [--every] [--record]

With --every, one stream is stopped once before each of its calls, instead of N random attacks.
"""

import argparse
import errno
import gzip
import hashlib
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

os.environ |= {"BUDGETRUN_COMPILED": "0", "OPENBLAS_NUM_THREADS": "1"}
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
from torture import PROBLEMS, recorded

import budgetrun.cli
import budgetrun.runner.live.run
from budgetrun.runner.live import kept

FORMATS = ("csv", "csv.gz", "jsonl", "parquet", "arrow", "txt")
OPTIONS = ((), ("--shuffle", "1"), ("--select", "hedge"), ("--scale", "running"), ("--missing", "skip"))
COMMAND = ("--algorithm", "rbp", "--budget", "7", "--gamma", "0.5", "--seeds", "1")
MEASURED = ["seconds", "peak_memory_mb", "run_id"]
# Calls of the file system that change something.
CALLS = {"open", "os.mkdir", "os.rename", "os.remove", "os.rmdir"}
SECONDS = 60
N_ROWS, N_MORE = 360, 90


def rows_of(variant: int, n_rows: int) -> list[tuple[str, str, str, str]]:
    """Return made rows: three numbers and a label, as texts whose lengths do not depend on the variant."""
    rng = random.Random(variant)
    found = []
    for _ in range(n_rows):
        x = [rng.uniform(-1, 1) for _ in range(3)]
        found.append((*(f"{one:+.4f}" for one in x), "aye" if x[0] * x[1] + rng.gauss(0, 0.2) > 0 else "nay"))
    return found


def content_of(form: str, variant: int, n_rows: int) -> bytes:
    """Return the content of a file in a format: the rows of a variant, and for more than `N_ROWS` others after them."""
    rows = rows_of(variant, N_ROWS) + rows_of(3, N_MORE)
    rows = rows[:n_rows]
    lines = ["a,b,c,label", *map(",".join, rows)]
    if form == "jsonl":
        lines = [f'{{"a": {float(a)}, "b": {float(b)}, "c": {float(c)}, "label": "{y}"}}' for a, b, c, y in rows]
    elif form == "txt":
        lines = [f"{'+1' if y == 'aye' else '-1'} 1:{a} 2:{b} 3:{c}" for a, b, c, y in rows]
    text = ("\n".join(lines) + "\n").encode()
    if form == "csv.gz":
        return gzip.compress(text, mtime=0)
    if form not in ("parquet", "arrow"):
        return text
    columns = list(zip(*rows, strict=True))
    table = pa.table({n: [float(v) for v in column] for n, column in zip("abc", columns[:3], strict=True)})
    table = table.append_column("label", pa.array(columns[3]))
    sink = pa.BufferOutputStream()
    if form == "parquet":
        pa.parquet.write_table(table, sink, row_group_size=100)
    else:
        pa.feather.write_feather(table, sink, chunksize=100, compression="uncompressed")
    return bytes(sink.getvalue())


@dataclass
class Fault:
    """What happens to a command: it is killed before a call, or finds the disk full from there on, or gets a signal."""

    before_call: int = -1
    full: bool = False
    number: int = 0
    after: float = 0.0

    def __str__(self) -> str:
        if self.number:
            return f"{signal.Signals(self.number).name} after {self.after:.2f} s"
        return f"{'disk full' if self.full else 'killed'} before call {self.before_call}"


@dataclass
class Ended:
    """How a command ended: its exit code, what it said, its calls of the file system, and its seconds."""

    code: int
    said: str
    calls: int
    seconds: float


def play(folder: Path, arguments: list[str], fault: Fault | None = None) -> Ended:
    """Run the command in a fork of this process."""
    began = time.monotonic()
    pid = os.fork()
    if pid == 0:
        _child(folder, arguments, fault)
    if fault is not None and fault.number:
        time.sleep(fault.after)
        os.kill(pid, fault.number)
    while (found := os.waitpid(pid, os.WNOHANG))[0] == 0:
        if time.monotonic() - began > SECONDS:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            return Ended(999, "hung", 0, SECONDS)
        time.sleep(0.002)
    said = (folder / "stderr").read_text(errors="replace")
    calls = folder / "calls"
    n_calls = int(calls.read_text()) if calls.is_file() else 0
    calls.unlink(missing_ok=True)
    return Ended(os.waitstatus_to_exitcode(found[1]), said, n_calls, time.monotonic() - began)


def _child(folder: Path, arguments: list[str], fault: Fault | None) -> None:
    try:
        os.setsid()
        os.chdir(folder)
        for name, number, flags in (("/dev/null", 0, os.O_RDWR), ("stdout", 1, 0), ("stderr", 2, 0)):
            os.dup2(os.open(name, flags or os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
        sys.argv = ["budgetrun", "run", *arguments]
        # A state is saved after every piece.
        kept.FIRST_SAVED = kept.RARELY = 0.0
        count = 0

        def watch(event: str, given: tuple[Any, ...]) -> None:
            nonlocal count
            if event not in CALLS or (event == "open" and not (isinstance(given[2], int) and given[2] & os.O_CREAT)):
                return
            if not str(given[0]).startswith(("results", str(folder))) or str(given[0]).endswith("calls"):
                return
            count += 1
            if fault is None or fault.before_call < 0 or count <= fault.before_call:
                return
            if not fault.full:
                os.kill(os.getpid(), signal.SIGKILL)
            if event != "os.remove":
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(given[0]))

        sys.addaudithook(watch)
        from budgetrun.__main__ import main as command

        try:
            command()
        except SystemExit as ended:
            sys.stderr.flush()
            sys.stdout.flush()
            Path("calls").write_text(str(count))
            os._exit(ended.code if isinstance(ended.code, int) else 1)
    except BaseException:
        import traceback

        os.write(2, traceback.format_exc().encode())
    os._exit(77)


@cache
def reference(top: Path, form: str, options: tuple[str, ...], content: bytes) -> tuple[Any, Any, Ended]:
    """Return the rows, the names of files, and the end of an undisturbed command, played in a folder of ``top``."""
    folder = Path(tempfile.mkdtemp(dir=top))
    (folder / f"s.{form}").write_bytes(content)
    ended = play(folder, [f"s.{form}", *COMMAND, *options])
    assert ended.code == 0, ended
    rows, names = written(folder)
    shutil.rmtree(folder)
    return rows, names, ended


def written(folder: Path) -> tuple[list[dict[str, str]], list[str]]:
    """Return the rows of runs.csv without what is measured, and the names of all files of results."""
    path = folder / "results" / "s" / "runs.csv"
    table = pd.read_csv(path, dtype=str, keep_default_na=False) if path.is_file() else pd.DataFrame(columns=MEASURED)
    rows = table.drop(columns=MEASURED).to_dict("records")
    names = sorted(str(one.relative_to(folder)) for one in (folder / "results").rglob("*") if one.is_file())
    # Names of packed curves and parts are ids of jobs or times.
    names = [name for name in names if not {"parts", "curves"} & set(Path(name).parts)]
    return sorted(rows, key=str), [name for name in names if not name.endswith(".lock")]


def state_of(folder: Path) -> dict[str, str]:
    """Return a checksum of each file of results."""
    files = (one for one in (folder / "results").rglob("*") if one.is_file() and not one.name.endswith(".lock"))
    return {str(one): hashlib.sha256(one.read_bytes()).hexdigest() for one in files}


def change(path: Path, how: str, form: str) -> bytes:
    """Change the file of a stream between two commands; return its content."""
    before = path.stat()
    variant, n_rows = {"replaced": (2, N_ROWS), "cut": (1, N_ROWS - 150), "grown": (1, N_ROWS + N_MORE)}[how]
    content = content_of(form, variant, n_rows)
    path.write_bytes(content)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    return content


def attack(top: Path, rng: random.Random, given: tuple[str, Fault] | None = None) -> tuple[str, dict[str, str]]:
    """Attack one stream in a folder of ``top``; return what was done, and each problem with an explanation."""
    form = given[0] if given else rng.choice(FORMATS)
    options = () if given else rng.choice(OPTIONS)
    content = content_of(form, 1, N_ROWS)
    _, _, usual = reference(top, form, options, content)
    folder = Path(tempfile.mkdtemp(dir=top))
    path = folder / f"s.{form}"
    path.write_bytes(content)
    command = [path.name, *COMMAND, *options]
    done, problems = [f"{form} {' '.join(options)}"], {}
    for _ in range(1 if given else rng.choice([1, 1, 2, 3])):
        fault = given[1] if given else _fault(rng, usual)
        ended = play(folder, command, fault)
        done.append(str(fault))
        allowed = {0, 2} if fault.full else {0, 130, -fault.number if fault.number else -signal.SIGKILL}
        problems |= judged(ended, allowed, "while disturbed")
        if ended.code == 0 and written(folder)[0] != reference(top, form, options, content)[0]:
            problems["lost"] = "exit code 0, but not the rows of an undisturbed command"
    how = "" if given else rng.choice(["", "", "replaced", "cut", "grown"])
    if how:
        content = change(path, how, form)
        done.append(how)
    before = state_of(folder)
    ended = play(folder, command)
    problems |= judged(ended, {0, 2} if how else {0}, "repeated")
    if ended.code == 2:
        if state_of(folder) != before:
            problems["changed"] = f"refused, but the results changed: {ended.said}"
        ended = play(folder, [*command, "--force"])
        problems |= judged(ended, {0}, "with --force")
        for aside in (folder / "results").glob("s.old-*"):
            shutil.rmtree(aside)
        done.append("refused")
    rows, names, _ = reference(top, form, options, content)
    found = written(folder)
    if found[0] != rows:
        kind = "doubled" if len(found[0]) > len(rows) else "lost" if len(found[0]) < len(rows) else "changed"
        problems[kind] = f"{found[0]} instead of {rows}: {ended.said}"
    elif found[1] != names:
        problems["left behind"] = f"{sorted(set(found[1]) ^ set(names))}"
    shutil.rmtree(folder)
    return ", ".join(done), problems


def _fault(rng: random.Random, usual: Ended) -> Fault:
    if rng.random() < 0.4:
        number = rng.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
        return Fault(number=number, after=rng.uniform(0.02, 1.1) * usual.seconds)
    return Fault(rng.randrange(usual.calls), full=rng.random() < 0.4)


def judged(ended: Ended, allowed: set[int], when: str) -> dict[str, str]:
    """Return what is wrong with the end of a command."""
    if ended.said == "hung":
        return {"hung": when}
    problems = {}
    if ended.code not in allowed:
        problems["wrong exit code"] = f"{ended.code} {when}, not one of {sorted(allowed)}: {ended.said}"
    if "Traceback" in ended.said or (ended.code == 2 and len(ended.said.splitlines()) > 8):
        problems["noisy"] = ended.said
    return problems


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("n", type=int, nargs="?", default=1000, metavar="N", help="the number of attacks")
    parser.add_argument("--seed", type=int, default=0, help="the same seed gives the same attacks")
    parser.add_argument("--every", action="store_true", help="stop one stream once before each of its calls")
    parser.add_argument("--record", action="store_true", help="write the counts into results/torture.csv")
    chosen = parser.parse_args()
    say = partial(print, flush=True)
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="torture-") as folder:
        top, content = Path(folder), content_of("csv", 1, N_ROWS)
        # What this call imports, forks need not import again.
        (top / "s.csv").write_bytes(content)
        with suppress(SystemExit):
            budgetrun.cli.main(["run", f"{top}/s.csv", *COMMAND, "--results", folder])
        usual = reference(top, "csv", (), content)[2]
        every = [("csv", Fault(n, full)) for n in range(usual.calls) for full in (False, True)]
        say(f"an undisturbed command makes {usual.calls} calls in {usual.seconds:.2f} s")
        n_attacks = len(every) if chosen.every else chosen.n
        for i in range(n_attacks):
            rng = random.Random(f"{chosen.seed} {i}")
            done, problems = attack(top, rng, every[i] if chosen.every else None)
            counts.update(problems.keys() & set(PROBLEMS))
            counts["attacks"] += 1
            if problems:
                say(f"{i}: {done}\n" + "".join(f"  {name}: {text}\n" for name, text in problems.items()))
            if (i + 1) % 50 == 0 or i + 1 == n_attacks:
                say(f"{i + 1} of {n_attacks} attacks: {json.dumps(counts)}")
                if chosen.record:
                    recorded("run", chosen.seed, counts)
    return int(any(counts[problem] for problem in PROBLEMS))


if __name__ == "__main__":
    sys.exit(main())
