"""Helpers of the verbs of the command line: options, completion of names, and acting on each results folder."""

import os
import re
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from budgetrun.base.errors import AlteredError, InputError, printable
from budgetrun.base.files import own_files


def say(text: object, err: bool = False) -> None:
    """Print a text, whose control characters (of labels, paths and results folders) never reach the terminal."""
    click.echo(printable(str(text)), err=err)


class Folder(click.Path):
    """A folder that need not exist, but could."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            os.lstat(value)
        except (FileNotFoundError, NotADirectoryError):
            pass
        except (OSError, ValueError) as error:
            self.fail(f"{str(value)[:60]!r}: {getattr(error, 'strerror', error)}", param, ctx)
        return super().convert(value, param, ctx)


data_option = click.option(
    "--data", "data_dir", type=Folder(path_type=Path, file_okay=False), help="Look for data here first."
)


def results_option(help_text: str = "Results go here.") -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return the option for the folder with the results folders."""
    return click.option("--results", type=Folder(path_type=Path), default=Path("results"), help=help_text)


def for_each(
    *results: Path, act: Callable[[Path], Any], complete: bool = True, finish: Callable[[], None] | None = None
) -> None:
    """Do something with each results folder, finish, and exit: with 1 if it returns problems, or a table is altered."""
    problems: list[str] = []
    for folder in dict.fromkeys(folder for one in results for folder in _folders(one)):
        try:
            if complete:
                _complete(folder)
            problems += filter(None, act(folder) or [])
        except AlteredError as error:
            problems.append(str(error))
    if finish:
        finish()
    for problem in problems:
        say(problem, err=True)
    sys.exit(int(bool(problems)))


def _folders(results: Path) -> list[Path]:
    """Return the results folder itself, or the results folders that it contains; those of a config, given its name."""
    if not results.is_dir():
        from budgetrun import config

        with suppress(InputError):
            results = Path("results") / config.load(str(results)).name
    if (results / "manifest.json").is_file():
        return [results]
    # Names of configs have no dot; folders that --force moved aside have one.
    found = sorted(path.parent for path in results.glob("*/manifest.json") if "." not in path.parent.name)
    if not found:
        raise InputError(f"{results}: no results here (no manifest.json); to get some: budgetrun sweep CONFIG")
    return found


def _complete(folder: Path) -> None:
    """Put into ``runs.csv`` the runs that finished before a sweep was killed, or all if it is not as it was written.

    Only after a kill: if a sweep ended in any other way, runs that ``runs.csv`` lacks are outdated.
    """
    from budgetrun.results.store.files import read_table
    from budgetrun.results.store.write import Store

    store = Store(folder)
    if not store.parts.is_dir():
        return
    manifest, table = store.manifest(), read_table(folder)
    if (table and table.altered) or manifest is None or manifest.get("end") is None:
        store.write_table()
    if store.rebuilt:
        say(f"{store.rebuilt}; it has been rebuilt from {store.parts}", err=True)


# Nothing is imported to find names that complete a word, because every key press waits.
_NAME = re.compile(r'^    name = "(\S+)"$', re.MULTILINE)
_PACKAGE = Path(__file__).parents[1]
Completer = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def _completing(names: Callable[[click.Context], list[str]], *others: str) -> Completer:
    """Return what completes one of some names, or something else of a type that the shell knows."""

    def complete(context: click.Context, parameter: click.Parameter, typed: str) -> list[CompletionItem]:
        found = [CompletionItem(name) for name in names(context) if name.startswith(typed)]
        return [*found, *(CompletionItem(typed, type=other) for other in others)]

    return complete


def _named(what: str) -> list[str]:
    """Return the names that the classes of algorithms, or of kernels, give themselves."""
    files = [_PACKAGE / "kernels" / "kernel.py", _PACKAGE / "kernels" / "multitask.py"]
    if what == "algorithms":
        # Those of other kinds than learners stand beside the module of their kind.
        others = [path for kind in _PACKAGE.glob("*/*/kind.py") for path in kind.parent.glob("*.py") if path != kind]
        files = [*_PACKAGE.glob("learners/*.py"), *others]
    return sorted({name for path in files for name in _NAME.findall(path.read_text(encoding="utf-8"))})


def _listed(context: click.Context) -> list[str]:
    what = context.params.get("what")
    return _named(what) if what in ("algorithms", "kernels") else []


def _selectors(context: click.Context) -> list[str]:
    known = {"algorithm": _named("algorithms"), "dataset": list(own_files("datasets"))}
    return [f"{key}={name}" for key, names in known.items() for name in names]


complete_configs = _completing(lambda _: list(own_files("configs")), "file")
complete_datasets = _completing(lambda _: list(own_files("datasets")))
complete_listed, complete_only = _completing(_listed), _completing(_selectors)
