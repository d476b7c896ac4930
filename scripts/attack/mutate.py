"""Change the package in one small place at a time, and list the changes that no test notices.

A mutant is a copy of the package with one change: `<` becomes `<=` or `>=`, `+` becomes `-`, `1` becomes `2`, `min`
becomes `max`, a statement is dropped. It is killed if a test fails, also by taking ten times its usual time. Tests run
in the order of their usual times, and only those that execute the changed lines, or with --thorough the changed file.

    python scripts/attack/mutate.py budgetrun/learners budgetrun/papers --sample 300 --seed 0
    python scripts/attack/mutate.py budgetrun/papers/solvers --survivors --thorough  # try the survivors again
    python scripts/attack/mutate.py budgetrun/engine --survivors --mark compiled  # with tests of compiled code

Outcomes are kept in tests/mutation/outcomes.csv, one line per mutant, and summed up in tests/mutation/README.md. The
mutants that change no outcome are in tests/mutation/equivalent.yaml, with a reason each; they are not tried again.
tests/identity is not among the tests: it compares outcomes with recorded ones, not with a paper.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import csv
import datetime
import os
import pickle
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
import coverage
import pytest
import yaml

TOP = Path(__file__).resolve().parents[2]
RECORD = TOP / "tests" / "mutation"
# The tests that may kill a mutant, by the part of the package that it is in.
TESTS = {
    "__init__.py": "test_import.py",
    "__main__.py": "test_cli.py test_import.py runner/test_interrupts.py",
    "base": "base config learners runner/test_metrics.py test_files.py test_state.py",
    "cli.py": "test_cli.py test_results.py runner/test_sweep.py",
    "config": "config runner/test_plan.py results/report",
    "data": "data hostile/test_readers.py",
    "engine": "engine learners test_estimators.py",
    "estimators": "test_estimators.py test_regressors.py test_multitask.py test_predict.py test_import.py "
    "test_gamma.py test_missing.py test_river.py test_state.py fleet play",
    "fleet": "fleet",
    "kernels": "engine learners test_multitask.py test_estimators.py test_state.py",
    "learners": "engine learners",
    # A browser takes more memory than a test may.
    "papers": "papers/solvers papers/theory papers/test_plugins.py papers/arena/test_programs.py config/test_claims.py "
    "config/test_config_solvers.py results/report/test_verdicts.py fleet/test_fleet_runs.py "
    "runner/test_kernel_sweep.py",
    "play": "play engine runner/test_metrics.py runner/live",
    "results": "results test_results.py base hostile/test_fuzz_results.py hostile/test_store_faults.py",
    "river.py": "test_river.py play/test_selection_river.py",
    "runner": "runner test_cli.py",
    "state.py": "test_state.py old hostile/test_fuzz_states.py",
}
COLUMNS = ["file", "function", "before", "after", "occurrence", "outcome"]
_MOST_BYTES = 6 * 2**30

Key = tuple[str, str, str, str, int]
# For each test its processor seconds; for each file and line the tests that execute it ("": import).
Coverage = tuple[dict[str, float], dict[str, dict[int, list[str]]]]

COMPARISONS = {
    ast.Lt: ("<", "<=", ">="),
    ast.LtE: ("<=", "<", ">"),
    ast.Gt: (">", ">=", "<="),
    ast.GtE: (">=", ">", "<"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
}
OPERATORS = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "/"),
    ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "/"),
    ast.Mod: ("%", "//"),
    ast.Pow: ("**", "*"),
    ast.BitAnd: ("&", "|"),
    ast.BitOr: ("|", "&"),
}
PAIRS = [("min", "max"), ("minimum", "maximum"), ("argmin", "argmax"), ("any", "all"), ("floor", "ceil")]
NAMES = dict(PAIRS) | {b: a for a, b in PAIRS}
# A wrong revision is what tests/identity is for; the other two are estimates.
DECLARED = {"revision", "passes", "__all__"}


@dataclass(frozen=True)
class Mutant:
    """One change: the bytes from ``start`` to ``end`` of a file become ``text``."""

    file: str
    function: str
    before: str
    after: str
    occurrence: int
    lines: range
    start: int
    end: int
    text: str
    on_import: bool

    @property
    def key(self) -> Key:
        """What names a mutant, wherever the lines of its file move to."""
        return self.file, self.function, self.before, self.after, self.occurrence

    def apply(self, source: bytes) -> bytes:
        return source[: self.start] + self.text.encode() + source[self.end :]


class Finder(ast.NodeVisitor):
    """Collects the mutants of a file."""

    def __init__(self, file: str, source: bytes) -> None:
        self.file, self.source = file, source
        self.starts = [0, *(match.end() for match in re.finditer(b"\n", source))]
        self.function: list[str] = []
        self.lines = range(0)
        self.on_import = True
        self.seen: Counter[tuple[str, ...]] = Counter()
        self.found: list[Mutant] = []
        self.visit(ast.parse(source))

    def span(self, node: Any) -> tuple[int, int]:
        """Return where in the source a node begins and ends."""
        return self.starts[node.lineno - 1] + node.col_offset, self.starts[node.end_lineno - 1] + node.end_col_offset

    def add(self, start: int, end: int, text: str) -> None:
        """Add a mutant, named by its lines before and after."""
        first = self.source.rfind(b"\n", 0, start) + 1
        last = self.source.find(b"\n", end) % (len(self.source) + 1)
        changed = self.source[first:start] + text.encode() + self.source[end:last]
        name = ".".join(self.function), *(" ".join(one.decode().split()) for one in (self.source[first:last], changed))
        self.found.append(Mutant(self.file, *name, self.seen[name], self.lines, start, end, text, self.on_import))
        self.seen[name] += 1

    def between(self, left: Any, right: Any, old: str, *new: str) -> None:
        """Replace the operator between two operands."""
        start, end = self.span(left)[1], self.span(right)[0]
        match = re.search(rb"\s*".join(re.escape(word.encode()) for word in old.split()), self.source[start:end])
        assert match, (self.file, left.lineno)
        for text in new:
            self.add(start + match.start(), start + match.end(), text)

    def visit(self, node: ast.AST) -> None:
        """Visit a node, knowing the lines of its statement: of a compound statement, those of the expression."""
        before = self.lines
        if isinstance(node, ast.stmt | ast.expr) and not (isinstance(node, ast.expr) and before):
            compound = hasattr(node, "body") and not isinstance(node, ast.expr)
            self.lines = range(0) if compound else range(node.lineno, (node.end_lineno or node.lineno) + 1)
        if isinstance(node, ast.stmt):
            self.drop(node)
        super().visit(node)
        self.lines = before

    def drop(self, node: ast.stmt) -> None:
        """Drop a statement, unless what follows could not run."""
        targets = node.targets if isinstance(node, ast.Assign) else []
        called = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
        stored = bool(targets) and not any(isinstance(target, ast.Name) for target in targets)
        if called or stored or isinstance(node, ast.AugAssign | ast.Raise | ast.Continue | ast.Break):
            self.add(*self.span(node), "pass")

    def visit_If(self, node: ast.If) -> None:
        if not (isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"):
            self.decided(node)

    def decided(self, node: Any) -> None:
        """Negate a condition that no other mutant negates."""
        if not isinstance(node.test, ast.Compare | ast.BoolOp | ast.UnaryOp | ast.Constant):
            start, end = self.span(node.test)
            lines, self.lines = self.lines, range(node.test.lineno, node.test.end_lineno + 1)
            self.add(start, end, f"(not {self.source[start:end].decode()})")
            self.lines = lines
        self.generic_visit(node)

    visit_While = visit_IfExp = decided

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self.function.append(node.name)
        for default in [*node.args.defaults, *filter(None, node.args.kw_defaults)]:
            self.visit(default)
        before, self.on_import = self.on_import, False
        for statement in node.body:
            self.visit(statement)
        self.on_import = before
        self.function.pop()

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self.function.append(node.name)
        for statement in node.body:
            self.visit(statement)
        self.function.pop()

    def visit_Assign(self, node: ast.Assign) -> None:
        if not any(map(is_declared, node.targets)):
            self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value and not is_declared(node.target):
            self.visit(node.value)

    def left_alone(self, node: ast.AST) -> None:
        """Change neither messages nor what is there for mypy."""

    visit_Raise = visit_JoinedStr = visit_Assert = left_alone

    def visit_Compare(self, node: ast.Compare) -> None:
        operands = [node.left, *node.comparators]
        for left, right, operator in zip(operands, node.comparators, node.ops, strict=False):
            self.between(left, right, *COMPARISONS[type(operator)])
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        if type(node.op) in OPERATORS:
            self.between(node.left, node.right, *OPERATORS[type(node.op)])
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        if type(node.op) in OPERATORS:
            old, new = OPERATORS[type(node.op)]
            self.between(node.target, node.value, f"{old}=", f"{new}=")
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        for left, right in zip(node.values, node.values[1:], strict=False):
            self.between(left, right, old, new)
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.Not | ast.USub):
            self.add(self.span(node)[0], self.span(node.operand)[0], "")
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        value = node.value
        if isinstance(value, bool):
            self.add(*self.span(node), repr(not value))
        elif isinstance(value, int):
            self.add(*self.span(node), repr(value + 1))
        elif isinstance(value, float):
            self.add(*self.span(node), repr(1.5 * value or 1.0))

    def visit_Call(self, node: ast.Call) -> None:
        name = getattr(node.func, "id", getattr(node.func, "attr", ""))
        if name in NAMES:
            end = self.span(node.func)[1]
            self.add(end - len(name), end, NAMES[name])
        self.generic_visit(node)


def is_declared(target: ast.expr) -> bool:
    """Return whether no change of what is assigned here is tried."""
    return isinstance(target, ast.Name) and (target.id in DECLARED or target.id.endswith("REVISION"))


def is_compiled(source: bytes) -> bool:
    """Return whether importing a file compiles code."""
    return b"numba" in source or b"kernels.compiling" in source


def mutants(file: str, source: bytes) -> list[Mutant]:
    return Finder(file, source).found


class Watch:
    """A plugin of pytest that notes which tests execute which lines, and their processor seconds."""

    def __init__(self, measured: coverage.Coverage) -> None:
        self.measured = measured
        self.seconds: dict[str, float] = {}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: Any) -> Iterator[None]:
        self.measured.switch_context(item.nodeid)
        start = time.process_time()
        try:
            return (yield)
        finally:
            self.seconds[item.nodeid] = time.process_time() - start
            self.measured.switch_context("")


class Chosen:
    """A plugin of pytest that runs some tests, the fastest first, and ends the process if one takes far too long."""

    def __init__(self, seconds: dict[str, float]) -> None:
        self.seconds = seconds
        signal.setitimer(signal.ITIMER_PROF, 120)

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        items[:] = sorted((i for i in items if i.nodeid in self.seconds), key=lambda i: self.seconds[i.nodeid])

    def pytest_runtest_setup(self, item: Any) -> None:
        # The second part is for compiling loops.
        signal.setitimer(signal.ITIMER_PROF, 10 * self.seconds[item.nodeid] + 30)


def tests_of(names: list[str]) -> list[str]:
    """Return the tests of the parts of the package that these files are in; a file within a folder goes without it."""
    found = {f"tests/{path}" for name in names for path in TESTS[Path(name).parts[1]].split()}
    return sorted(path for path in found if not any(str(parent) in found for parent in Path(path).parents))


def workspace(folder: Path) -> Path:
    """Make a copy of the checkout to change."""
    for name in ("budgetrun", "tests"):
        shutil.copytree(TOP / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("configs", "datasets", "results", "docs", "scripts", "pyproject.toml"):
        (folder / name).symlink_to(TOP / name)
    return folder


def fork(folder: Path, work: Any) -> int:
    """Run a function in a fork of this process, in a workspace; its result is the exit code. Return the process id."""
    process = os.fork()
    if process:
        return process
    code = 70
    try:
        os.chdir(folder)
        os.environ["PYTHONPATH"] = str(folder)
        sys.path[:0] = [str(folder)]
        resource.setrlimit(resource.RLIMIT_AS, (_MOST_BYTES, resource.RLIM_INFINITY))
        log = os.open(folder / "log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(log, 1)
        os.dup2(log, 2)
        code = int(work())
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def run_pytest(tests: list[str], plugin: Any) -> int:
    """Run tests in this process."""
    no = [f"-pno:{name}" for name in ("cacheprovider", "xdist", "cov", "randomly")]
    return int(pytest.main(["-x", "-q", "--no-header", "--tb=line", *no, *tests], plugins=[plugin]))


def measure(folder: Path, tests: list[str]) -> Coverage:
    """Run all tests once; return their times and the lines they execute."""
    out = folder / "coverage.pickle"

    def work() -> int:
        measured = coverage.Coverage(data_file=None, include=[f"{folder}/budgetrun/*"], config_file=False)
        watch = Watch(measured)
        measured.start()
        code = run_pytest(tests, watch)
        measured.stop()
        data = measured.get_data()
        lines = {str(Path(f).relative_to(folder)): data.contexts_by_lineno(f) for f in data.measured_files()}
        out.write_bytes(pickle.dumps((watch.seconds, lines)))
        return code

    _, status = os.waitpid(fork(folder, work), 0)
    if status:
        sys.exit(f"the tests fail without any change:\n{(folder / 'log').read_text()[-2000:]}")
    return pickle.loads(out.read_bytes())


def choose(mutant: Mutant, covered: Coverage, thorough: bool) -> dict[str, float]:
    """Return the tests for a mutant, with their times.

    Coverage sees no compiled functions, and what runs on import may matter to any test. For these it is all tests that
    execute the file, and all in the folder of the same name. If no lines are known, all tests are.
    """
    seconds, lines = covered
    if not lines:
        return seconds
    of_file = lines.get(mutant.file, {})
    everywhere = mutant.on_import or is_compiled((TOP / mutant.file).read_bytes())
    names = {test for line in (of_file if thorough or everywhere else mutant.lines) for test in of_file.get(line, [])}
    if everywhere:
        folder = f"tests/{Path(mutant.file).parts[1]}/"
        names |= {test for test in seconds if test.startswith(folder)}
    return {test: seconds[test] for test in names - {""}}


def start(mutant: Mutant, chosen: dict[str, float], folder: Path) -> int:
    """Start the tests of a mutant; return the process id."""
    source = (TOP / mutant.file).read_bytes()
    replace_file(folder / mutant.file, mutant.apply(source))
    files = sorted({test.partition("::")[0] for test in chosen})

    def work() -> int:
        sys.dont_write_bytecode = True
        if is_compiled(source):
            # Compiled loops are found again by the file that has them, not by those they call.
            os.environ["NUMBA_CACHE_DIR"] = str(folder / "numba")
            shutil.rmtree(folder / "numba", ignore_errors=True)
        return run_pytest(files, Chosen(chosen))

    return fork(folder, work)


def replace_file(path: Path, source: bytes) -> None:
    """Replace a file of the package; one of its size, written within a second, would pass for the one compiled."""
    path.write_bytes(source)
    for compiled in path.parent.glob(f"__pycache__/{path.stem}.*"):
        compiled.unlink()


def outcomes(
    todo: list[Mutant], covered: Coverage, folders: list[Path], thorough: bool
) -> Iterator[tuple[Mutant, str]]:
    """Try mutants, one process for each; yield each with "killed" or "survived"."""
    free = list(folders)
    running: dict[int, tuple[Mutant, Path]] = {}
    waiting = list(reversed(todo))
    while waiting or running:
        if waiting and free:
            mutant, folder = waiting.pop(), free.pop()
            chosen = choose(mutant, covered, thorough)
            if not chosen:
                free.append(folder)
                yield mutant, "survived"
                continue
            running[start(mutant, chosen, folder)] = mutant, folder
            continue
        process, status = os.wait()
        if process not in running:
            continue
        mutant, folder = running.pop(process)
        replace_file(folder / mutant.file, (TOP / mutant.file).read_bytes())
        free.append(folder)
        if os.WIFEXITED(status) and os.WEXITSTATUS(status) in (3, 4, 5, 70):
            raise RuntimeError(f"{mutant.key}: pytest ended with {status}:\n{(folder / 'log').read_text()[-2000:]}")
        yield mutant, "survived" if status == 0 else "killed"


def read_record() -> dict[Key, str]:
    """Return the outcomes so far."""
    path = RECORD / "outcomes.csv"
    if not path.exists():
        return {}
    with path.open(newline="", encoding="utf-8") as file:
        _, *rows = csv.reader(file)
    return {(*names, int(occurrence)): outcome for *names, occurrence, outcome in rows}


def read_equivalent() -> dict[Key, str]:
    """Return the mutants that change nothing, with the reasons."""
    path = RECORD / "equivalent.yaml"
    entries = yaml.safe_load(path.read_text(encoding="utf-8")) if path.exists() else []
    return {
        (e["file"], e["function"], e["before"], e["after"], e.get("occurrence", 0)): e["reason"]
        for group in entries or []
        for e in ({**group, **mutant} for mutant in group["mutants"])
    }


def table(record: dict[Key, str], equivalent: dict[Key, str], total: Counter[str]) -> str:
    """Return the table of the outcomes of each file, and their sum."""
    rows: dict[str, Counter[str]] = {}
    for key, outcome in sorted(record.items()):
        outcome = "equivalent" if key in equivalent else outcome
        for name in (key[0], "all"):
            rows.setdefault(name, Counter())[outcome] += 1
    lines = ["| file | mutants | tried | killed | equivalent | survived |", "| --- |" + " ---: |" * 5]
    total["all"] = sum(total[name] for name in rows if name != "all")
    for name in [*sorted(set(rows) - {"all"}), "all"]:
        n = rows.get(name, Counter())
        counts = total[name], n.total(), n["killed"], n["equivalent"], n["survived"]
        lines.append(f"| {name} | " + " | ".join(f"{count:,}" for count in counts) + " |")
    return "\n".join(lines)


def write_record(record: dict[Key, str], equivalent: dict[Key, str], total: Counter[str]) -> str:
    """Write the outcomes and their summary; return the last sentence of it."""
    RECORD.mkdir(exist_ok=True)
    with (RECORD / "outcomes.csv").open("w", newline="", encoding="utf-8") as file:
        rows = ([*key, outcome] for key, outcome in sorted(record.items()))
        csv.writer(file, lineterminator="\n").writerows([COLUMNS, *rows])
    survivors = [key for key, outcome in sorted(record.items()) if outcome == "survived" and key not in equivalent]
    n = len(record) - sum(key in equivalent for key in record)
    rate = f"{len(survivors)} of {n:,} mutants survive ({len(survivors) / max(n, 1):.1%})"
    commit = subprocess.check_output(["git", "describe", "--always", "--dirty"], cwd=TOP, text=True).strip()
    text = [
        "# Mutation tests",
        f"{rate}, not counting those that change no outcome (`equivalent.yaml`).",
        f"Written by `scripts/attack/mutate.py`, which explains it, on {datetime.date.today()} at commit {commit}. "
        "*mutants* is how many a file has; those *tried* are random samples. `outcomes.csv` lists them. Mutants that "
        "survived and were killed by tests added since count as killed, so a fresh sample (another `--seed`) tells "
        "more about the tests.",
        table(record, equivalent, total),
        *(["## Survivors", "\n".join(f"- {shown(key)}" for key in survivors)] if survivors else []),
    ]
    (RECORD / "README.md").write_text("\n\n".join(text) + "\n", encoding="utf-8")
    return rate


def shown(key: Key) -> str:
    """Return a mutant in words."""
    file, function, before, after, _ = key
    return f"{file}, {function or 'module'}: `{before}` becomes `{after}`"


def main() -> int:
    """Try mutants; return 1 if one of them survives."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("paths", nargs="+", help="files and folders of the package")
    parser.add_argument("--tests", nargs="+", metavar="PATH", help="the tests that may kill; default: see TESTS")
    parser.add_argument("--sample", type=int, metavar="N", help="try N mutants, drawn at random; default: all")
    parser.add_argument("--seed", type=int, default=0, help="for the draw")
    parser.add_argument("--survivors", action="store_true", help="try only those recorded as survivors")
    parser.add_argument("--recorded", action="store_true", help="try again those with a recorded outcome")
    parser.add_argument("--new", action="store_true", help="try only those without a recorded outcome")
    parser.add_argument("--thorough", action="store_true", help="run all tests that execute the file, not the line")
    parser.add_argument("--mark", choices=["compiled", "committed"], help="run the tests of this mark alone")
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    files = [
        file for path in given.paths for file in sorted(Path(path).rglob("*.py") if Path(path).is_dir() else [path])
    ]
    names = [str(Path(file).resolve().relative_to(TOP)) for file in files]
    every = [mutant for name in names for mutant in mutants(name, (TOP / name).read_bytes())]
    equivalent, record = read_equivalent(), read_record()
    sources = {key[0] for key in record} | set(names)
    present = [m for name in sorted(sources) if (TOP / name).exists() for m in mutants(name, (TOP / name).read_bytes())]
    total = Counter(mutant.file for mutant in present)
    # Code that changed has other mutants.
    alive = {mutant.key for mutant in present}
    record = {key: outcome for key, outcome in record.items() if key in alive}
    for key in sorted(key for key in set(equivalent) - alive if key[0] in sources):
        print(f"equivalent.yaml names a mutant that is no more: {shown(key)}")
    todo = random.Random(given.seed).sample(every, min(given.sample or len(every), len(every)))
    if given.survivors:
        todo = [mutant for mutant in every if record.get(mutant.key) == "survived" and mutant.key not in equivalent]
    elif given.recorded:
        todo = [mutant for mutant in every if mutant.key in record and mutant.key not in equivalent]
    elif given.new:
        todo = [mutant for mutant in todo if mutant.key not in record]
    print(f"{len(every):,} mutants in {len(names)} files, {len(todo):,} to try", flush=True)
    if given.mark:
        os.environ["PYTEST_ADDOPTS"] = f"-m {given.mark}"
    # Forks start with these loaded.
    for library in ("numba", "pandas", "pydantic", "scipy.sparse", "scipy.stats", "sklearn.svm"):
        with contextlib.suppress(ImportError):
            __import__(library)
    with tempfile.TemporaryDirectory(prefix="mutate-") as temporary:
        folders = [workspace(Path(temporary).resolve() / str(i)) for i in range(given.jobs)]
        covered = measure(folders[0], given.tests or tests_of(names))
        if given.mark == "compiled":
            # Coverage sees nothing of what they run.
            covered = covered[0], {}
        print(f"{len(covered[0]):,} tests take {sum(covered[0].values()):.0f} s", flush=True)
        # Bytecode and compiled loops for the others.
        for other in folders[1:]:
            shutil.copytree(folders[0] / "budgetrun", other / "budgetrun", dirs_exist_ok=True)
        try:
            for i, (mutant, outcome) in enumerate(outcomes(todo, covered, folders, given.thorough), 1):
                record[mutant.key] = outcome
                if outcome == "survived":
                    known = "equivalent" if mutant.key in equivalent else "SURVIVED"
                    print(f"{known} {mutant.file}:{mutant.lines.start} {mutant.function}", flush=True)
                    print(f"  - {mutant.before}\n  + {mutant.after}", flush=True)
                if i % 20 == 0:
                    print(f"{i} of {len(todo)}", flush=True)
                    write_record(record, equivalent, total)
        finally:
            print(write_record(record, equivalent, total))
    survived = {key for key, outcome in record.items() if outcome == "survived"} - set(equivalent)
    return int(bool(survived & {mutant.key for mutant in todo}))


if __name__ == "__main__":
    sys.exit(main())
