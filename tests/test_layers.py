"""Imports point down, in no circles, and algorithms are named in their own files only."""

import ast
import re
from functools import cache
from pathlib import Path

import budgetrun
from budgetrun import learners
from budgetrun.papers import solvers

PACKAGE = Path(budgetrun.__file__).parent
# From the top down. What stands beside another may import it, except in SEPARATE.
LAYERS = (
    {"__main__", "river"},
    {"cli"},
    {"estimators"},
    {"runner", "papers"},
    {"results"},
    {"data"},
    {"config"},
    {"fleet", "play", "state"},
    {"learners"},
    {"engine"},
    {"kernels"},
    {"base"},
)
DEPTH = {room: depth for depth, layer in enumerate(LAYERS) for room in layer}
SEPARATE = {"cli", "estimators"}
FOR_ESTIMATORS = {"estimators", "fleet", "learners", "play", "engine", "state", "config.problems", "kernels", "base"}
FOR_ESTIMATORS |= {"data.tables", "data.tables.columns", "data.scaling"}
MOST_AT_THE_TOP = 20


@cache
def modules() -> dict[str, ast.Module]:
    found = {}
    for path in PACKAGE.rglob("*.py"):
        name = ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix("__init__").removesuffix(".")
        found[name] = ast.parse(path.read_text(encoding="utf-8"))
    return found


def imports(module: str, tree: ast.Module) -> set[str]:
    """Modules of the package that are imported anywhere in a module, be it for types only or by their names as text."""
    name = f"budgetrun.{module}"
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in ("import_module", "__import__"):
            found |= {text for text in literals(node) if text.startswith("budgetrun.")}
            # A module of this package, by a name that the text begins with: its own.
            own = "__name__" in ast.unparse(node)
            found |= {name + text for text in literals(node) if text.startswith(".") and own}
    inside = [name.removeprefix("budgetrun.") for name in found if name.startswith("budgetrun.")]
    return {name if name in modules() else name.rpartition(".")[0] for name in inside} - {""}


@cache
def all_imports() -> dict[str, set[str]]:
    return {name: imports(name, tree) for name, tree in modules().items()}


def test_imports_point_down():
    upward = set()
    for name, imported in all_imports().items():
        room = name.split(".")[0]
        if not room:
            continue
        for other in imported:
            there = other.split(".")[0]
            beside = room in SEPARATE and there != room and DEPTH[there] == DEPTH[room]
            aside = room == "estimators" and not {other, there} & FOR_ESTIMATORS
            if DEPTH[there] < DEPTH[room] or beside or aside:
                upward.add((name, other))
    assert upward == set()


def test_imports_make_no_cycle():
    reached = {name: imported - {name} for name, imported in all_imports().items()}
    for between in reached:
        for name in reached:
            if between in reached[name]:
                reached[name] |= reached[between]
    circles = {frozenset(b for b in reached[a] if a in reached[b]) for a in reached if a in reached[a]}
    assert circles == set()


def test_imports_by_text_count():
    for call in ("import_module", "__import__", "util.import_module"):
        assert imports("cli", ast.parse(f'def load():\n    return {call}("budgetrun.state")')) == {"state"}
    assert imports("kernels", ast.parse('import_module(f"{__name__}.multitask")')) == {"kernels.multitask"}
    assert imports("kernels", ast.parse('import_module(f"{package}.multitask")')) == set()


def test_one_package_knows_the_compiler():
    texts = {path: path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py")}
    found = {path.parent for path, text in texts.items() if re.search("numba|llvmlite", text)}
    assert found == {PACKAGE / "kernels" / "compiling"}


def test_the_top_of_the_package_is_small():
    every = ("__pycache__", "__init__.py", "__init__.pyi", "__main__.py", "py.typed")
    at_top = [path.name for path in PACKAGE.iterdir() if path.name not in every]
    assert len(at_top) <= MOST_AT_THE_TOP, at_top


def literals(tree: ast.Module) -> list[str]:
    texts = [node for node in ast.walk(tree) if isinstance(node, ast.Expr)]
    docstrings = {id(node.value) for node in texts if isinstance(node.value, ast.Constant)}
    constants = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in docstrings]
    return [node.value for node in constants if isinstance(node.value, str)]


def test_algorithms_are_named_in_their_own_files_only():
    # `auto` is also what options are called that are chosen by the program, and rules of selection take majorities.
    names = {*learners.registry(), *learners.registry("multiclass"), *solvers.registry()} - {"auto", "majority"}
    assert {"perceptron", "projectron++", "mpu"} <= names
    one = re.compile(r"(?<![\w+])(" + "|".join(map(re.escape, sorted(names, key=len, reverse=True))) + r")(?![\w+])")
    named = {
        (name, found)
        for name, tree in modules().items()
        if name.split(".")[0] not in ("learners", "papers")
        for text in literals(tree)
        for found in one.findall(text)
    }
    assert named == set()
