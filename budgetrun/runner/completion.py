"""What a shell completes: names, found without importing what they name, because every key press waits for them."""

from __future__ import annotations

import re
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from budgetrun.base.files import own_folder

_NAME = re.compile(r'^    name = "(.+)"$', re.MULTILINE)
_ALGORITHMS = "learners/*.py", "papers/*/*.py"
_PACKAGE = Path(__file__).parents[1]


def configs(context: click.Context, parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    """Complete a config: the name of one that comes with budgetrun, or a file."""
    return [*_beginning(typed, _stems("configs")), CompletionItem(typed, type="file")]


def datasets(context: click.Context, parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    """Complete the name of a dataset with a card."""
    return _beginning(typed, _stems("datasets"))


def listed(context: click.Context, parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    """Complete the name of an algorithm or a kernel, whichever is listed."""
    what = context.params.get("what")
    files = {"algorithms": _ALGORITHMS, "kernels": ("kernels/__init__.py", "kernels/multitask.py")}.get(str(what), ())
    return _beginning(typed, _named(*files))


def only(context: click.Context, parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    """Complete ``algorithm=NAME`` and ``dataset=NAME``."""
    known = {"algorithm": _named(*_ALGORITHMS), "dataset": _stems("datasets")}
    return _beginning(typed, [f"{key}={name}" for key, names in known.items() for name in names])


def _beginning(typed: str, names: list[str]) -> list[CompletionItem]:
    return [CompletionItem(name) for name in names if name.startswith(typed)]


def _stems(folder: str) -> list[str]:
    return sorted(path.stem for path in own_folder(folder).glob("*.yaml"))


def _named(*patterns: str) -> list[str]:
    """Return the names that the classes in some files of the package give themselves."""
    files = (path for pattern in patterns for path in _PACKAGE.glob(pattern))
    return sorted({name for path in files for name in _NAME.findall(path.read_text(encoding="utf-8"))})
