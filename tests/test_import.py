"""`import budgetrun` defines names, which editors, mypy and `help` can read; names of version 0.2.0 are still found."""

import importlib.util
import inspect
import pickle
import py_compile
import shutil
import subprocess
import sys

import numpy as np
import pytest
import write_stub
from data.made_files import members_of, zip_of
from faults import raises

import budgetrun
from budgetrun.base.files import source_digest
from budgetrun.base.moved import MOVED, module_now
from budgetrun.estimators import MADE, OLD_NAMES
from budgetrun.state import load_state, save_state

# What an import of the package may change.
STATE = "dict(modules=set(sys.modules), hooks=list(map(repr, sys.path_hooks)), finders=list(map(repr, sys.meta_path)))"


def python(program, *options, **given):
    found = subprocess.run([sys.executable, *options, "-c", program], capture_output=True, text=True, **given)
    assert found.returncode == 0, found.stderr
    return found.stdout


def test_import_changes_nothing_else():
    program = f"import sys; before = {STATE}; import budgetrun; after = {STATE}; print(after.pop('modules') - "
    assert python(program + "before.pop('modules'), before == after)") == "{'budgetrun'} True\n"


def test_a_sibling_package_whose_name_begins_alike_is_imported(tmp_path):
    """One of its modules has no source, the other is native code, a copy of one of Python's own."""
    package = tmp_path / "budgetrunx"
    package.mkdir()
    (package / "__init__.py").touch()
    (tmp_path / "plain.py").write_text("value = 3\n")
    py_compile.compile(tmp_path / "plain.py", package / "plain.pyc")
    modules = ["plain"]
    if (native := importlib.util.find_spec("_bisect").origin).endswith(".so"):
        shutil.copy(native, package)
        modules.append("_bisect")
    # Beside an installed package of ours.
    (tmp_path / "budgetrun").symlink_to(budgetrun.__path__[0])
    program = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import budgetrun; print(budgetrun.__file__)"
    found = python("; ".join([program, *(f"import budgetrunx.{name}" for name in modules)]), "-P")
    assert found == f"{tmp_path}/budgetrun/__init__.py\n"


def test_the_public_names():
    others = {"Fleet", "SelectingClassifier", "load", "load_results", "sweep"}
    assert set(budgetrun.__all__) == {*MADE, *others}
    listed = dir(budgetrun)
    assert [name for name in listed if not name.startswith("__")] == sorted(budgetrun.__all__)
    assert "__version__" in listed
    for name in budgetrun.__all__:
        assert getattr(budgetrun, name).__name__ == name
    for name in ("Path", "Any", "InputError", "nothing"):
        raises(AttributeError, f"module 'budgetrun' has no attribute '{name}'", getattr, budgetrun, name)


def test_names_of_0_2_0_are_aliases_that_warn():
    for old, now in OLD_NAMES.items():
        said = f"use {now.__name__}; the old name {old} will be removed in 0.4"
        with pytest.warns(DeprecationWarning, match=said) as warned:
            assert getattr(budgetrun, old) is now
        assert warned[0].filename == __file__
    assert len(OLD_NAMES) == 12
    assert not OLD_NAMES.keys() & {*MADE}


def test_the_digest_of_sources_is_that_of_every_process():
    program = "from budgetrun.base.files import source_digest; print(source_digest())"
    assert python(program).strip() == source_digest()


def test_modules_that_have_moved_are_found_by_pickles():
    program, homes = ["import pickle, budgetrun.learners"], []
    # A package of files that define classes has none of its own.
    for old in sorted(MOVED.keys() - {"live"}):
        now = importlib.import_module(module_now(f"budgetrun.{old}"))
        homes.append(now.__name__)
        name = next(name for name, thing in vars(now).items() if getattr(thing, "__module__", "") == homes[-1])
        program.append(f"print(pickle.loads(b'cbudgetrun.{old}\\n{name}\\n.').__module__)")
    assert python("\n".join(program)).split() == homes


def renamed(path, names):
    """Name classes in a file of a saved state as 0.2.0 did."""
    members = members_of(path)
    text = members["state.json"].decode()
    for now, old in names.items():
        assert f"budgetrun.{now}" in text
        text = text.replace(f"budgetrun.{now}", f"budgetrun.{old}")
    path.write_bytes(zip_of(members | {"state.json": text}))


@pytest.mark.parametrize(("model", "names"), [
    (budgetrun.NORMA(), {"learners.norma:NORMA": "learners.norma:Norma", "estimators:NORMA": "estimators:Norma"}),
    (budgetrun.BSGD(variant="merging"),
     {"engine.hypotheses.points:": "learners.points:", "estimators:BSGD": "estimators:Bsgd"}),
])  # fmt: skip
def test_models_of_0_2_0_name_classes_as_they_were(tmp_path, model, names):
    model.fit([[0.0], [1.0]], [0, 1])
    save_state(tmp_path / "model", model)
    renamed(tmp_path / "model", names)
    data = pickle.dumps(model, 0).decode("latin-1")
    for now, old in names.items():
        data = data.replace(f"budgetrun.{now}".replace(":", "\n"), f"budgetrun.{old}".replace(":", "\n"))
    for loaded in (load_state(tmp_path / "model")[0], pickle.loads(data.encode("latin-1"))):
        assert type(loaded) is type(model)
        np.testing.assert_array_equal(loaded.weights_, model.weights_)


def test_the_stub_is_current():
    pytest.importorskip("ruff")
    assert write_stub.STUB.read_text() == write_stub.stub(), "type: python scripts/pages/write_stub.py"


@pytest.mark.parametrize("name", ["Forgetron", "KRLS", "SelectingClassifier"])
def test_signatures_are_those_of_the_stub(name):
    made = getattr(budgetrun, name)
    assert made.__doc__.splitlines()[0]
    assert all(parameter.name != "given" for parameter in inspect.signature(made).parameters.values())
