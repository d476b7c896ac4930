"""The command line. Verbs only; what they do stands elsewhere."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import click

from budgetrun import __version__
from budgetrun.errors import DataMissingError, InputError


class _Group(click.Group):
    """Shows a user's mistake as one message, with its exit code; lists verbs in the order of a day's work."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except InputError as error:
            click.echo(str(error), err=True)
            ctx.exit(1 if isinstance(error, DataMissingError) else 2)
        except KeyboardInterrupt:
            click.echo("interrupted", err=True)
            ctx.exit(130)
        except BrokenPipeError:
            # Whoever read the output has seen enough, as in: budgetrun list | head -1
            sys.stderr.close()
            ctx.exit(0)


class _Memory(click.ParamType):
    name = "SIZE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, float):
            return value
        match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)i?B?", str(value), re.IGNORECASE)
        if match is None or float(match[1]) <= 0:
            self.fail(f"{value!r} is no size; type a number with K, M or G, such as 8G", param, ctx)
        return float(match[1]) * 1000.0 ** " KMGT".index(match[2].upper() or " ")


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="budgetrun")
def main() -> None:
    """Online kernel learning under a memory budget: published tables recomputed, and your own streams."""


@main.command()
@click.argument("configs", nargs=-1, required=True, metavar="CONFIG...")
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    help="Worker processes.  [default: the cores; 1 with solvers or alone: true, which are timed]",
)
@click.option("--dry-run", is_flag=True, help="Say what would run, how much is done, and what it would cost.")
@click.option("--only", multiple=True, metavar="KEY=VALUE", help="Only runs with this dataset, algorithm, budget, ...")
@click.option("--profile", default="full", show_default=True, help="A profile of the config, such as ci.")
@click.option("--data", "data_dir", type=click.Path(path_type=Path, file_okay=False), help="Look for data here first.")
@click.option("--results", type=click.Path(path_type=Path), default=Path("results"), show_default=True)
@click.option("--backend", type=click.Choice(["loky", "dask"]), default="loky", show_default=True)
@click.option("--scheduler", metavar="ADDRESS", help="Of a dask scheduler, with --backend dask.")
@click.option("--memory", type=_Memory(), default="8G", show_default=True, help="For all workers together.")
@click.option("--force", is_flag=True, help="Move older results aside and begin anew.")
def sweep(
    configs: tuple[str, ...],
    jobs: int | None,
    dry_run: bool,
    only: tuple[str, ...],
    profile: str,
    data_dir: Path | None,
    results: Path,
    backend: str,
    scheduler: str | None,
    memory: float,
    force: bool,
) -> None:
    """Make the runs of configs that are not done yet, then write their tables and figures."""
    from budgetrun import config as config_module
    from budgetrun.runner import sweep as sweep_module

    if (backend == "dask") != (scheduler is not None):
        raise InputError("--backend dask and --scheduler ADDRESS go together")
    options = sweep_module.Options(
        results=results,
        jobs=jobs,
        data_dir=data_dir,
        only=_only(only),
        memory=memory,
        backend=backend,
        scheduler=scheduler,
        force=force,
    )
    loaded = [config_module.load(name, profile) for name in configs]
    code = 0
    for config in loaded:
        if dry_run:
            click.echo(sweep_module.describe(config, options))
            continue
        code = max(code, sweep_module.sweep(config, options))
        if code == 130:
            break
        folder = sweep_module.results_folder(config, options.results)
        # Without data there may be nothing to report, and other configs to go on with.
        if folder.is_dir() and sweep_module.has_outcomes(folder):
            _report(folder)
    sys.exit(code)


@main.command()
@click.argument("results", type=click.Path(path_type=Path))
def plot(results: Path) -> None:
    """Draw the figures of a results folder, as PNG and SVG."""
    from budgetrun.report import write_figures

    for folder in _folders(results):
        _complete(folder)
        for path in write_figures(folder):
            click.echo(path)


@main.command()
@click.argument("results", type=click.Path(path_type=Path))
def report(results: Path) -> None:
    """Write the tables, the figures and the page of a results folder, beside the printed numbers."""
    for folder in _folders(results):
        _complete(folder)
        _report(folder)


@main.command()
@click.argument("results", type=click.Path(path_type=Path))
@click.option("--data", "data_dir", type=click.Path(path_type=Path, file_okay=False), help="Look for data here first.")
@click.option("--streams", type=click.IntRange(min=1), default=3, show_default=True, help="Of each dataset, at most.")
@click.option("--all", "every", is_flag=True, help="All streams.")
def bounds(results: Path, data_dir: Path | None, streams: int, every: bool) -> None:
    """Hold the papers' mistake bounds against the runs of a results folder; exit code 1 if one is violated."""
    from budgetrun.bounds import write_bounds

    problems = []
    for folder in _folders(results):
        _complete(folder)
        report = write_bounds(folder, data_dir, None if every else streams)
        click.echo(report.text)
        problems += [*report.missing, *report.violated]
    for problem in problems:
        click.echo(problem, err=True)
    sys.exit(int(bool(problems)))


@main.command()
@click.argument("results", type=click.Path(path_type=Path))
def status(results: Path) -> None:
    """Say how many runs of a results folder are done, and what makes the rest."""
    from budgetrun.runner.sweep import progress_of

    for folder in _folders(results):
        click.echo(progress_of(folder))


@main.command(name="list")
@click.argument("what", type=click.Choice(["algorithms", "kernels", "datasets", "configs"]), default="configs")
def list_(what: str) -> None:
    """List the algorithms, kernels, datasets or configs that there are."""
    for name, text in _listing(what):
        click.echo(f"{name:<32} {text}")


@main.command()
@click.argument("configs", nargs=-1, required=True, metavar="CONFIG...")
def check(configs: tuple[str, ...]) -> None:
    """Check configs and say what is wrong with them."""
    from budgetrun import config as config_module

    problems = []
    for name in configs:
        try:
            loaded = config_module.load(name)
        except InputError as error:
            problems.append(str(error))
            continue
        counts = sorted({len(list(loaded.expand(dataset.label))) for dataset in loaded.datasets})
        n_settings = " to ".join(map(str, dict.fromkeys((counts[0], counts[-1]))))
        what = f"{len(loaded.datasets)} datasets, {n_settings} settings of {len(loaded.algorithms)} algorithms"
        click.echo(f"{name}: good; {what}")
    if problems:
        raise InputError("\n".join(problems))


@main.group()
def data() -> None:
    """List, fetch or verify the data sets."""


@data.command(name="list")
def data_list() -> None:
    """List the data sets and whether their files are here."""
    from budgetrun.data import list_cards, verify

    for card in list_cards():
        states = {state for _, _, state in verify(card)}
        here = "generated" if not states else "here" if states == {"ok"} else ", ".join(sorted(states))
        click.echo(f"{card.name:<18} {here:<10} {card.title}")


@data.command(name="fetch")
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@click.option("--data", "data_dir", type=click.Path(path_type=Path), help="Look here first.")
def data_fetch(names: tuple[str, ...], data_dir: Path | None) -> None:
    """Find or download the files of data sets, and verify them."""
    from budgetrun.data import card, fetch, verify

    absent = []
    for one in [card(name) for name in names]:
        try:
            fetch(one, data_dir)
        except DataMissingError as error:
            absent.append(str(error))
        for file, path, state in verify(one, data_dir):
            click.echo(f"{one.name}: {file.file}: {state}" + (f" ({path})" if path else ""))
    if absent:
        raise DataMissingError("\n".join(absent))


@data.command(name="verify")
@click.argument("names", nargs=-1, metavar="[NAME...]")
@click.option("--data", "data_dir", type=click.Path(path_type=Path), help="Look here first.")
def data_verify(names: tuple[str, ...], data_dir: Path | None) -> None:
    """Compare files with the checksums of their cards; exit code 1 if one is missing or differs."""
    from budgetrun.data import card, list_cards, verify

    bad = False
    for one in [card(name) for name in names] or list_cards():
        for file, path, state in verify(one, data_dir):
            bad |= state != "ok"
            click.echo(f"{one.name}: {file.file}: {state}" + (f" ({path})" if path else ""))
    sys.exit(int(bad))


@main.command()
@click.option("--quick", is_flag=True, help="Small sizes: a look at the ratios in a minute.")
@click.option("--data", "data_dir", type=click.Path(path_type=Path), help="Look for data here first.")
@click.option("--results", type=click.Path(path_type=Path), default=Path("results/bench"), show_default=True)
def bench(quick: bool, data_dir: Path | None, results: Path) -> None:
    """Measure the engine against plain loops and against this machine's own rates."""
    from budgetrun.bench import run_benchmarks

    run_benchmarks(quick, data_dir, results)


def _report(folder: Path) -> None:
    from budgetrun.report import Report

    report = Report(folder)
    paths = report.write()
    click.echo(report.summary())
    click.echo(f"{folder}: {len(paths)} files of tables and figures, and the page {folder / 'report.html'}", err=True)


def _folders(results: Path) -> list[Path]:
    """Return a results folder, or those that stand in a folder of them."""
    if (results / "manifest.json").is_file():
        return [results]
    # A config's name has no dot; what --force moved aside has one.
    found = sorted(path.parent for path in results.glob("*/manifest.json") if "." not in path.parent.name)
    if not found:
        raise InputError(f"{results}: no results here (no manifest.json); make some with: budgetrun sweep CONFIG")
    return found


def _complete(folder: Path) -> None:
    """Put runs that finished after a sweep was killed from its parts into its table.

    A sweep that came to its end has done so: parts that its table does not have are of other code, or another's.
    """
    from budgetrun.store.write import Store

    store = Store(folder)
    manifest = store.manifest()
    if store.parts.is_dir() and (manifest is None or manifest.get("end") is None):
        store.write_table()


def _only(texts: tuple[str, ...]) -> dict[str, list[str]]:
    from budgetrun.runner.plan import ONLY_KEYS

    only: dict[str, list[str]] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or key not in ONLY_KEYS:
            raise InputError(f"--only {text}: must be KEY=VALUE, with a key out of {', '.join(ONLY_KEYS)}")
        only.setdefault(key, []).append(value)
    return only


def _listing(what: str) -> list[tuple[str, str]]:
    if what == "algorithms":
        from budgetrun.learners import registry

        found = []
        for multiclass in (False, True):
            for name, variants in registry(multiclass=multiclass).items():
                for variant, learner in variants.items():
                    shown = f"{name}({variant})" if variant else name
                    found.append((f"{shown} [multiclass]" if multiclass else shown, _first_line(learner)))
        from budgetrun import solvers

        return found + [(f"{name} [solver]", _first_line(solver)) for name, solver in solvers.registry().items()]
    if what == "kernels":
        from budgetrun import kernels

        return [(name, _first_line(kernel)) for name, kernel in kernels.registry().items()]
    if what == "datasets":
        from budgetrun.data import list_cards

        return [(card.name, card.title) for card in list_cards()]
    from budgetrun.config import list_configs

    return list_configs()


def _first_line(thing: type) -> str:
    return (thing.__doc__ or "").strip().partition("\n")[0]
