"""Completion of names in a shell. Nothing is imported to find them, because every key press waits."""

from __future__ import annotations

import re
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from budgetrun.base.files import own_folder

_NAME = re.compile(r'^    name = "(.+)"$', re.MULTILINE)
_PACKAGE = Path(__file__).parents[1]
_KERNELS = [_PACKAGE / "kernels" / "kernel.py", _PACKAGE / "kernels" / "multitask.py"]


def configs(context: click.Context, parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    """Complete a config: the name of one that comes with budgetrun, or a file."""
    return [*_beginning(typed, _stems("configs")), CompletionItem(typed, type="file")]


def datasets(context: click.Context, parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    """Complete the name of a dataset with a card."""
    return _beginning(typed, _stems("datasets"))


def listed(context: click.Context, parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    """Complete the name of an algorithm or a kernel, depending on the list."""
    what = context.params.get("what")
    return _beginning(typed, _named(_algorithms() if what == "algorithms" else _KERNELS if what == "kernels" else []))


def only(context: click.Context, parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    """Complete ``algorithm=NAME`` and ``dataset=NAME``."""
    known = {"algorithm": _named(_algorithms()), "dataset": _stems("datasets")}
    return _beginning(typed, [f"{key}={name}" for key, names in known.items() for name in names])


def _beginning(typed: str, names: list[str]) -> list[CompletionItem]:
    return [CompletionItem(name) for name in names if name.startswith(typed)]


def _stems(folder: str) -> list[str]:
    return sorted(path.stem for path in own_folder(folder).glob("*.yaml"))


def _algorithms() -> list[Path]:
    """Return the files of algorithms; those of other kinds than learners stand beside the module of their kind."""
    others = [path for kind in _PACKAGE.glob("*/*/kind.py") for path in kind.parent.glob("*.py") if path != kind]
    return [*_PACKAGE.glob("learners/*.py"), *others]


def _named(files: list[Path]) -> list[str]:
    """Return the names that the classes in some files give themselves."""
    return sorted({name for path in files for name in _NAME.findall(path.read_text(encoding="utf-8"))})
