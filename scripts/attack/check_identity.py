"""Check that run ids and tests/identity see every change of behaviour, and nothing else.

Each edit of tests/identity/edits.yaml is tried in a copy of the repository, where tests/identity runs and the run ids
of the configs on generated data are listed. A harmless edit must leave both alone; a change of behavior must fail the
tests or change a run id. The exit code is 1 if an edit has another effect, or no longer fits the code.

Usage: python scripts/attack/check_identity.py [--jobs 2] [WORD ...]     (with WORDs: only edits whose names have one)
"""

import argparse
import ast
import importlib
import io
import multiprocessing
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest
import yaml

TOP = Path(__file__).resolve().parents[2]
EDITS = TOP / "tests" / "identity" / "edits.yaml"
# Configs on generated data whose run ids are listed here; tests/identity does so for those with committed results.
GENERATED = ("forgetron_fig7", "projectron_fig7", "quickstart")
OF_RESULTS = (f"results/{name}" for name in ("forgetron_fig6", *GENERATED))
COPIED = ("budgetrun", "configs", "datasets", "scripts", "tests", *OF_RESULTS)

# Imported once, by the process that every trial is forked from.
PRELOADED = ("pytest", "numba", "pandas", "pydantic", "scipy.linalg", "scipy.sparse.csgraph", "sklearn.svm")


class Misfit(Exception):
    """An edit does not fit the code any more."""


# -- edits ------------------------------------------------------------------------------------------------------------


def apply(edit: dict[str, Any], top: Path) -> None:
    """Make an edit, or every one of its ``steps``, in the repository copied to ``top``."""
    for step in edit.get("steps", [edit]):
        if "move" in step:
            _move(top, *step["move"])
            continue
        paths = sorted(p for p in (top / "budgetrun").glob(step["in"]) if p.suffix == ".py")
        if not paths:
            raise Misfit(f"no file is called {step['in']}")
        if "rewrite" in step:
            for path in paths:
                _write(path, _REWRITES[step["rewrite"]](path.read_text("utf-8")))
        elif "rename" in step:
            _rename(paths, step["rename"])
        else:
            _replace(paths, step)


def _replace(paths: list[Path], step: dict[str, str]) -> None:
    """Replace the text ``old``, or what the regular expression ``pattern`` finds, which must occur exactly once."""
    pattern = re.compile(step.get("pattern") or re.escape(step["old"]), re.MULTILINE)
    found = [path for path in paths for _ in pattern.finditer(path.read_text("utf-8"))]
    if len(found) != 1:
        where = step["in"] + (f" ({', '.join(p.name for p in found[:3])})" if found else "")
        raise Misfit(f"{step.get('pattern') or step['old']!r} occurs {len(found)} times in {where}, not once")
    new = step["new"]
    text = pattern.sub(new if "pattern" in step else lambda _: new, found[0].read_text("utf-8"))
    _write(found[0], text)


def _rename(paths: list[Path], names: dict[str, str]) -> None:
    """Rename identifiers wherever they occur in the files."""
    for old, new in names.items():
        texts = {path: path.read_text("utf-8") for path in paths}
        if not any(re.search(rf"\b{old}\b", text) for text in texts.values()):
            raise Misfit(f"there is no {old}")
        for path, text in texts.items():
            _write(path, re.sub(rf"\b{old}\b", new, text))


def _move(top: Path, old: str, new: str) -> None:
    """Move a module, and rewrite whatever imports it."""
    source, target = (top / (name.replace(".", "/") + ".py") for name in (old, new))
    if not source.is_file():
        raise Misfit(f"there is no module {old}")
    target.parent.mkdir(exist_ok=True)
    shutil.move(source, target)
    (old_home, _, old_name), (new_home, _, new_name) = old.rpartition("."), new.rpartition(".")
    imported = re.compile(
        rf"^(\s*)from ({re.escape(old_home)}) import (.*)(?<!as )\b{old_name}\b(?! as)(.*)$", re.MULTILINE
    )
    for path in [p for folder in ("budgetrun", "tests", "scripts") for p in (top / folder).rglob("*.py")]:
        text = re.sub(rf"\b{re.escape(old)}\b", new, path.read_text("utf-8"))
        for _ in range(2):
            text = imported.sub(lambda m: _without(m, new_home, new_name, old_name), text)
        _write(path, text)


def _without(found: re.Match[str], home: str, new: str, old: str) -> str:
    indent, old_home, before, after = found.groups()
    names = [name.strip() for name in (before + after).split(",") if name.strip()]
    kept = f"{indent}from {old_home} import {', '.join(names)}\n" if names else ""
    return f"{kept}{indent}from {home} import {new} as {old}"


def _write(path: Path, text: str) -> None:
    if text != path.read_text("utf-8"):
        path.write_text(text, encoding="utf-8")


# -- edits of whole modules, which must not change what they do -------------------------------------------------------


def _functions(tree: ast.AST) -> list[ast.FunctionDef]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]


def _bare(text: str) -> str:
    """Drop docstrings, comments and the layout."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return ast.unparse(tree)


def _longer_docstrings(text: str) -> str:
    """Write another first line into every docstring, and a comment above the module."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node) is not None:
            node.body[0].value = ast.Constant(f"In other words.\n\n{ast.get_docstring(node)}")
    return "# Another comment.\n" + ast.unparse(tree)


def _no_annotations(text: str) -> str:
    """Drop the annotations of arguments and results, other than those of `__init__`, which parameters are read from."""
    tree = ast.parse(text)
    for function in _functions(tree):
        if function.name != "__init__":
            function.returns = None
            for argument in ast.walk(function.args):
                if isinstance(argument, ast.arg):
                    argument.annotation = None
    return ast.unparse(tree)


def _other_errors(text: str) -> str:
    """Add to the message of every error that is raised."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and node.exc.args:
            first = node.exc.args[0]
            if isinstance(first, ast.JoinedStr) or (isinstance(first, ast.Constant) and isinstance(first.value, str)):
                node.exc.args[0] = ast.BinOp(first, ast.Add(), ast.Constant(" (see the manual)"))
    return ast.unparse(ast.fix_missing_locations(tree))


def _logged(text: str) -> str:
    """Write to a log at the beginning of every function."""
    tree = ast.parse(text)
    for function in _functions(tree):
        line = ast.parse(f"__import__('logging').getLogger('trial').debug({function.name!r})").body
        at = 1 if ast.get_docstring(function) is not None else 0
        function.body[at:at] = line
    return ast.unparse(ast.fix_missing_locations(tree))


def _other_locals(text: str) -> str:
    """Rename every local variable that is neither an argument nor shared with a class or a module."""
    tree = ast.parse(text)
    outermost = [f for node in ast.walk(tree) if isinstance(node, ast.Module | ast.ClassDef) for f in node.body]
    for function in outermost:
        if not isinstance(function, ast.FunctionDef):
            continue
        inside = list(ast.walk(function))
        stored = {n.id for n in inside if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        fixed = {n.arg for n in inside if isinstance(n, ast.arg)}
        fixed |= {name for n in inside if isinstance(n, ast.Global | ast.Nonlocal) for name in n.names}
        fixed |= {n.name for n in inside if isinstance(n, ast.ExceptHandler | ast.FunctionDef) and n.name}
        for node in inside:
            if isinstance(node, ast.Name) and node.id in stored - fixed:
                node.id += "_"
    return ast.unparse(tree)


_REWRITES: dict[str, Callable[[str], str]] = {
    "bare": _bare,
    "docstrings": _longer_docstrings,
    "no annotations": _no_annotations,
    "error messages": _other_errors,
    "logging": _logged,
    "local variables": _other_locals,
}


# -- trials -----------------------------------------------------------------------------------------------------------


def copy(source: Path, target: Path) -> None:
    """Copy what the trial needs; compiled files come along, which saves half the time."""
    for name in COPIED:
        if (source / name).is_dir():
            # The package has folders of these names, too.
            skipped = ("curves", "tables", "figures", "*.html") if name.startswith("results/") else ("cache",)
            shutil.copytree(source / name, target / name, ignore=shutil.ignore_patterns(*skipped))
    for name in ("pyproject.toml", "CHANGELOG.md"):
        shutil.copy2(source / name, target / name)


def attempt(top: Path) -> tuple[bool, list[str] | None, str]:
    """Return whether the tests pass in the repository copied to ``top``, its run ids, and what was printed.

    The process that calls this must not have imported the package, and is of no use for another trial.
    """
    os.chdir(top)
    sys.path[:] = [str(top), str(top / "tests"), *(path for path in sys.path if Path(path).resolve() != TOP)]
    ids = None
    with redirect_stdout(io.StringIO()) as output, redirect_stderr(output):
        try:
            ids = run_ids(top)
            options = ["-x", "-q", "-m", "committed or not committed", "-p", "no:cacheprovider"]
            passed = pytest.main([*options, "tests/identity/test_identity.py"]) == 0
        except Exception as error:
            passed = False
            print(f"{type(error).__name__}: {error}")
    return passed, ids, output.getvalue()


def run_ids(top: Path) -> list[str]:
    """Return the ids of all runs on generated data."""
    import budgetrun
    from budgetrun import config
    from budgetrun.runner.plan import make_plan

    assert budgetrun.__file__.startswith(str(top)), budgetrun.__file__
    return [run.run_id for name in GENERATED for run in make_plan(config.load(name)).runs]


def judge(given: tuple[dict[str, Any], Path, list[str]]) -> tuple[bool, str]:
    """Try an edit; return whether it has the effect that it should, and the effect."""
    edit, base, ids = given
    with tempfile.TemporaryDirectory(prefix="trial") as folder:
        top = Path(folder).resolve() / "copy"
        copy(base, top)
        try:
            apply(edit, top)
        except Misfit as misfit:
            return False, f"does not fit the code: {misfit}"
        passed, found, said = attempt(top)
    if found is None:
        return False, f"does not run: {said.strip().splitlines()[-1]}"
    gone = len(set(ids) - set(found))
    effect = f"{gone} of {len(ids)} run ids changed" if gone else ""
    if not passed:
        lines = [line for line in said.splitlines() if re.match(r"E  |FAILED", line)]
        problems = [line for line in lines if "another outcome" in line or "other revisions" in line]
        first = re.sub(
            r"^E +(AssertionError: )?|: another outcome.*|: recorded for.*",
            "",
            (problems or lines or said.strip().splitlines()[-1:] or ["?"])[0],
        )
        effect = f"{effect}; " * bool(effect) + f"tests/identity fails: {first}"
    changed = bool(gone) or not passed
    return changed == edit["caught"], effect or "nothing changed"


def _called(edit: dict[str, Any]) -> str:
    return f"{'caught' if edit['caught'] else 'harmless'}: {edit['edit']}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("words", nargs="*", metavar="WORD", help="only the edits whose lines contain one of these")
    parser.add_argument("--jobs", type=int, default=2, help="trials at a time")
    given = parser.parse_args()
    listed = yaml.safe_load(EDITS.read_text("utf-8"))
    edits = [{**edit, "caught": kind == "caught"} for kind in ("harmless", "caught") for edit in listed[kind]]
    edits = [e for e in edits if not given.words or any(word in _called(e) for word in given.words)]
    began = time.perf_counter()
    for name in PRELOADED:
        importlib.import_module(name)
    context = multiprocessing.get_context("fork")
    with tempfile.TemporaryDirectory(prefix="identity") as folder:
        base = Path(folder).resolve()
        copy(TOP, base)
        with context.Pool(given.jobs, maxtasksperchild=1) as pool:
            passed, ids, said = pool.apply(attempt, [base])
            if not passed or ids is None:
                print(f"{said}\ntests/identity fails before any edit", file=sys.stderr)
                return 1
            bad = 0
            for edit, (good, effect) in zip(edits, pool.imap(judge, [(e, base, ids) for e in edits]), strict=True):
                bad += not good
                print(f"{'ok ' if good else 'BAD'}  {_called(edit):80}  {effect[:160]}", flush=True)
    n, minutes = sum(edit["caught"] for edit in edits), (time.perf_counter() - began) / 60
    print(f"\n{len(edits) - n} harmless edits and {n} changes of behavior in {minutes:.1f} minutes: ", end="")
    print(f"{bad} not as they should be" if bad else "all as they should be")
    return 1 if bad else 0


if __name__ == "__main__":
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"
    sys.exit(main())
