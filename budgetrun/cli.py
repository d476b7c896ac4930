"""The command line: its verbs and options; the work is done in other modules."""

from __future__ import annotations

import math
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from budgetrun import __version__
from budgetrun.base.errors import DataMissingError, InputError, counted
from budgetrun.base.registry import plugin_modules
from budgetrun.runner import interrupts, verbs
from budgetrun.runner.verbs import Folder, data_option, for_each, results_option, say

if TYPE_CHECKING:
    from budgetrun.data import Card
    from budgetrun.results.report import Report


class _Group(click.Group):
    """Reports a user's mistake as one message and an exit code; lists verbs in the order of a day's work."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            with interrupts.raising():
                return super().invoke(ctx)
        except InputError as error:
            click.echo(str(error), err=True)
            ctx.exit(1 if isinstance(error, DataMissingError) else 2)
        except BaseException as error:
            if not interrupts.caused(error):
                raise
            click.echo("interrupted", err=True)
            ctx.exit(130)


def _bytes(text: str) -> float:
    from budgetrun.base.limits import parse_bytes

    try:
        return parse_bytes(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


_SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100, "show_default": True}


@click.group(cls=_Group, context_settings=_SETTINGS)
@click.version_option(__version__, prog_name="budgetrun")
def main() -> None:
    """Online kernel learning under a memory budget: reproduce published tables, and run your own streams."""


@main.command()
@click.argument("configs", nargs=-1, required=True, metavar="CONFIG...", shell_complete=verbs.complete_configs)
@click.option(
    "--jobs", type=click.IntRange(min=1), help="Worker processes.  [default: one per core; 1 if run times are compared]"
)
@click.option("--dry-run", is_flag=True, help="Show what would run, and its estimated time and memory.")
@click.option(
    "--only",
    multiple=True,
    metavar="KEY=VALUE",
    shell_complete=verbs.complete_only,
    help="Select runs by dataset, algorithm, budget, ...; repeatable.",
)
@click.option("--profile", default="full", help="A profile of the config, for example ci.")
@data_option
@results_option()
@click.option(
    "--backend",
    default="local",
    metavar="NAME",
    help="Where the workers run: local, loky, dask, or another backend of joblib.",
)
@click.option("--scheduler", metavar="ADDRESS", help="The address of a dask scheduler, with --backend dask.")
@click.option(
    "--memory",
    type=_bytes,
    default="8G",
    envvar="BUDGETRUN_MEMORY",
    show_envvar=True,
    metavar="SIZE",
    help="Limit for all workers.",
)
@click.option("--force", is_flag=True, help="Move existing results aside and start again.")
@click.option(
    "--shard",
    metavar="PART/OF",
    help="Run one part of the runs, such as 3/20, in a folder of its own; see budgetrun merge.",
)
def sweep(
    configs: tuple[str, ...], dry_run: bool, profile: str, only: tuple[str, ...], shard: str | None, **chosen: Any
) -> None:
    """Run the configs, skipping finished runs, then write their tables and figures."""
    from budgetrun import config as config_module
    from budgetrun.runner.plan import Options
    from budgetrun.runner.shards import parse
    from budgetrun.runner.status import describe
    from budgetrun.runner.sweep import sweep as run_sweep

    options = Options(only=_only(only), shard=parse(shard), **chosen)
    if (options.backend == "dask") != (options.scheduler is not None):
        raise InputError("--backend dask and --scheduler ADDRESS must be given together")
    if options.shard and options.only:
        raise InputError("--shard: is a part of all runs of a config; remove it, or --only")
    code = 0
    for config in [config_module.load(name, profile) for name in configs]:
        if dry_run:
            say(describe(config, options))
        elif (code := max(code, run_sweep(config, options, _report))) == 130:
            break
    sys.exit(code)


@main.command()
@click.argument("folders", nargs=-1, required=True, type=Folder(path_type=Path), metavar="FOLDER...")
@click.option("--into", required=True, type=Folder(path_type=Path), metavar="FOLDER", help="New, or with such runs.")
def merge(folders: tuple[Path, ...], into: Path) -> None:
    """Put the results folders of the shards of a sweep together, then write tables and figures.

    All must come from one config, the same data and the same code. A run that several folders have is taken once.
    Missing runs are named, and can be merged into the same folder later.
    """
    from budgetrun.runner.merge import merge as merge_folders

    told = merge_folders(folders, into)
    _report(into)
    say(told)


@main.command()
@click.argument("stream", metavar="STREAM")
@click.option("--label", metavar="COLUMN", help="Name or number of the label column.  [default: detected and printed]")
@click.option("--budget", "budgets", default="100,300,1000", metavar="B,...", help="Budgets.")
@click.option(
    "--algorithm",
    "algorithms",
    multiple=True,
    metavar="NAME[:KEY=VALUE,...]",
    help="A learner, see 'budgetrun list algorithms'; a list is KEY=[A,B]; repeatable.  [default: auto and a few]",
)
@click.option("--quick", is_flag=True, help="Play auto alone, which needs no settings.")
@click.option(
    "--select",
    multiple=True,
    metavar="RULE[:KEY=VALUE,...]",
    help="A rule that chooses among the learners on the stream, for example hedge; repeatable.",
)
@click.option("--gamma", default="auto", metavar="G,...", help="Gamma of the gaussian kernel exp(-G ||a - b||^2).")
@click.option("--scale", type=click.Choice(["auto", "none", "unit_norm", "running"]), default="auto")
@click.option(
    "--task",
    type=click.Choice(["auto", "binary", "multiclass", "regression"]),
    default="auto",
    help="Labels are two classes, several, or numbers; auto never takes regression.",
)
@click.option(
    "--missing",
    type=click.Choice(["fill", "refuse", "skip", "zero"]),
    default="fill",
    help="Missing values: the mean so far, or a category of its own; an error; leave the row out; or 0.",
)
@click.option("--classes", metavar="LABEL,...", help="All labels, if a pipe shows them late or some are text.")
@click.option("--metrics", metavar="NAME,...", help="Measured besides errors: f1, kappa, auc, log_loss, ...")
@click.option("--seeds", type=click.IntRange(1, 1000), default=3, help="Seeds of learners that draw.")
@click.option(
    "--shuffle", type=click.IntRange(0, 2**63 - 1), metavar="SEED", help="Play the rows of a file in random order."
)
@click.option("--by", metavar="COLUMN", help="One model for each value of a column, for example each customer.")
@click.option("--memory-for-all", metavar="SIZE", help="The memory that the models of --by share.  [default: 200MB]")
@click.option("--name", metavar="NAME", help="Name of the results folder.  [default: that of the file]")
@results_option()
@click.option(
    "--continue", "continues", type=Folder(path_type=Path), metavar="FOLDER", help="Go on with the learners of results."
)
@click.option("--replay", is_flag=True, help="Continue, although the pipe begins again at its first row.")
@click.option("--force", is_flag=True, help="Move existing results aside and start again.")
def run(stream: str, by: str | None, memory_for_all: str | None, **given: Any) -> None:
    """Run learners on a stream of your own: a table of any common format, or - for standard input.

    Every row is predicted before its label is learned, in one pass in the order of the rows and in bounded memory.
    The command prints the errors, draws them, writes a page, and saves its settings as a config that you can edit and
    run again. After an interruption, the same command continues.
    """
    from budgetrun.runner.live.request import Request, budgets_of, check_name, metrics_of
    from budgetrun.runner.live.run import run as run_stream

    if given["algorithms"] and given["quick"]:
        raise InputError("--quick: chooses the learner; remove it, or --algorithm")
    given |= {name: _parts(given[name]) for name in ("gamma", "classes", "metrics")}
    given |= {"budgets": budgets_of(given["budgets"]), "metrics": metrics_of(given["metrics"])}
    if given["name"] is not None:
        check_name(given["name"])
    request = Request(stream, **given)
    if by is not None:
        from budgetrun.estimators.fleet import Fleet
        from budgetrun.runner.live.by import run_by

        sys.exit(run_by(request, by, memory_for_all or "200MB", Fleet))
    if memory_for_all is not None:
        raise InputError("--memory-for-all: is shared by the models of --by COLUMN; give that, too")
    sys.exit(run_stream(request, _report))


@main.command()
@click.argument("results", type=Folder(path_type=Path))
def plot(results: Path) -> None:
    """Draw the figures of a results folder, as PNG and SVG."""
    from budgetrun.results.report import Report

    def draw(folder: Path) -> list[str]:
        report = Report(folder)
        for path in report.draw():
            say(path)
        return [report.incomplete]

    for_each(results, act=draw)


@main.command()
@click.argument("results", type=Folder(path_type=Path))
def report(results: Path) -> None:
    """Write the tables, figures and HTML page of a results folder, or of all in a folder and an index of them."""
    from budgetrun.results.report import write_index

    reports: list[Report] = []

    def write(folder: Path) -> list[str]:
        reports.append(_report(folder))
        return [reports[-1].incomplete]

    def index() -> None:
        if reports and reports[0].results.folder != results:
            say(f"index of {counted(len(reports), 'page')}: {write_index(results, reports)}", err=True)

    for_each(results, act=write, finish=index)


@main.command()
@click.argument("given", nargs=-1, required=True, metavar="FOLDER[:LABEL[@BUDGET]]...")
@click.option("--quantity", metavar="NAME", help="What is compared, as in tables.  [default: the error]")
@click.option("--test", type=click.Choice(["t", "wilcoxon"]), default="t", help="Paired t-test, or signed ranks.")
@click.option(
    "--tolerance",
    type=click.FloatRange(min=0),
    metavar="PERCENT",
    help="Exit code 1 if another is worse than the first by more, and not by chance.",
)
@click.option("--output", "outputs", type=Folder(path_type=Path), multiple=True, help="Write a .html or .json file.")
def compare(given: tuple[str, ...], outputs: tuple[Path, ...], **options: Any) -> None:
    """Compare results folders, or labels in them, over the streams that they share, with tests of the differences.

    Folders are compared label by label, for example those of two versions; FOLDER:LABEL compares learners. All must
    have seen the same rounds. The setting of a label is chosen on the first tenth of each stream.
    """
    from budgetrun.config.quantities import QUANTITIES
    from budgetrun.results.compare import compare as compare_results

    if len(given) < 2:
        raise InputError("compare: give at least two results folders, or labels in them: FOLDER:LABEL")
    if math.isnan(options["tolerance"] or 0.0):
        raise InputError("--tolerance nan: must be a number of at least 0")
    if bad := next((path for path in outputs if path.suffix not in (".html", ".json")), None):
        raise InputError(f"--output {bad}: must end in .html or .json")
    if (name := options["quantity"]) is not None and name not in QUANTITIES:
        raise InputError(f"--quantity {name}: must be one of {', '.join(QUANTITIES)}")
    found = compare_results(given, **options)
    for path in outputs:
        found.write(path)
    say(found.text(shutil.get_terminal_size(fallback=(100, 24)).columns))
    sys.exit(int(found.failed))


@main.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("stream")
@click.option("--label", metavar="COLUMN", help="Measure the error by this column: a name, a number, first or last.")
@click.option(
    "--missing",
    type=click.Choice(["fill", "refuse", "zero"]),
    default="fill",
    help="Missing values: as the stream that was learned has them, if it filled them; an error; or 0.",
)
@click.option("--output", type=click.Path(path_type=Path, dir_okay=False), help="Write to this file, not to stdout.")
def predict(model: Path, stream: str, label: str | None, missing: str, output: Path | None) -> None:
    """Predict the classes or numbers of a stream with a saved model; - reads standard input.

    MODEL is what the method save of a classifier or regressor wrote, or a results folder of budgetrun run: then the
    learner with the fewest mistakes, or the smallest root mean squared error, predicts; after run --by, the model of
    each row's key.
    """
    from budgetrun.estimators.predict import predict_stream

    say(predict_stream(model, stream, label=label, missing=missing, output=output), err=True)


for _plugin in plugin_modules("command"):
    main.add_command(_plugin.command)


@main.command()
@click.argument("results", type=Folder(path_type=Path), shell_complete=verbs.complete_configs)
def status(results: Path) -> None:
    """Show how many runs of a results folder, or of a config, are finished, and the command that completes it."""
    from budgetrun.runner.status import status as status_of

    for_each(results, act=lambda folder: say(status_of(folder)), complete=False)


@main.command(name="list")
@click.argument("what", type=click.Choice(["algorithms", "kernels", "datasets", "configs"]), default="configs")
@click.argument("name", required=False, shell_complete=verbs.complete_listed)
def list_(what: str, name: str | None) -> None:
    """List the available algorithms, kernels, datasets or configs, or show one algorithm or kernel by its NAME."""
    if what in ("algorithms", "kernels"):
        from budgetrun.config import catalog

        if name is not None:
            say(catalog.describe(what, name))
            return
        listed = catalog.lines(what)
    elif name is not None:
        raise InputError(f"list {what} {name}: takes no name; names go with list algorithms and list kernels")
    elif what == "datasets":
        from budgetrun.data import list_cards

        listed = [(card.name, card.title) for card in list_cards()]
    else:
        from budgetrun.config import list_configs

        listed = list_configs()
    for title, text in listed:
        say(f"{title:<32} {text}")


@main.command()
@click.argument("configs", nargs=-1, required=True, metavar="CONFIG...", shell_complete=verbs.complete_configs)
def check(configs: tuple[str, ...]) -> None:
    """Check configs and their data, and report every mistake in them; nothing is downloaded."""
    from budgetrun import config as config_module
    from budgetrun.data.streams import inspect

    problems = []
    for name in configs:
        try:
            loaded = config_module.load(name)
        except InputError as error:
            problems.append(str(error))
            continue
        counts = sorted({loaded.count(dataset.label) for dataset in loaded.datasets})
        fewest = f"{counts[0]:,} to " if len(counts) > 1 else ""
        of = f"{fewest}{counted(counts[-1], 'setting')} of {counted(len(loaded.algorithms), 'algorithm')}"
        say(f"{name}: valid; {of} on {counted(len(loaded.datasets), 'dataset')}")
        for about, faults in map(inspect, loaded.datasets):
            for line in about:
                say(f"  {line}")
            problems += faults
    if problems:
        raise InputError("\n".join(problems))


@main.group()
def data() -> None:
    """List, fetch or verify datasets."""


@data.command(name="list")
def data_list() -> None:
    """List the datasets and whether their files are present."""
    from budgetrun.data import list_cards, verify

    for card in list_cards():
        states = {state for _, _, state in verify(card)}
        state = "generated" if not states else "present" if states == {"ok"} else ", ".join(sorted(states))
        say(f"{card.name:<18} {state:<10} {card.title}")


@data.command(name="fetch")
@click.argument("names", nargs=-1, required=True, metavar="NAME...", shell_complete=verbs.complete_datasets)
@data_option
def data_fetch(names: tuple[str, ...], data_dir: Path | None) -> None:
    """Find or download the files of datasets, and verify them."""
    from budgetrun.data import card, fetch

    absent = []
    for one in [card(name) for name in names]:
        try:
            fetch(one, data_dir)
        except DataMissingError as error:
            absent.append(str(error))
        _show_files(one, data_dir)
    if absent:
        raise DataMissingError("\n".join(absent))


@data.command(name="verify")
@click.argument("names", nargs=-1, metavar="[NAME...]", shell_complete=verbs.complete_datasets)
@data_option
def data_verify(names: tuple[str, ...], data_dir: Path | None) -> None:
    """Compare files with the checksums on their cards; exit code 1 if one is missing or differs."""
    from budgetrun.data import card, list_cards

    intact = [_show_files(one, data_dir) for one in [card(name) for name in names] or list_cards()]
    sys.exit(int(not all(intact)))


def _show_files(card: Card, data_dir: Path | None) -> bool:
    """Print the state of each file of a dataset; return whether all are as the card says."""
    from budgetrun.data import verify

    found = verify(card, data_dir)
    for file, path, state in found:
        say(f"{card.name}: {file.file}: {state}" + (f" ({path})" if path else ""))
    return all(state == "ok" for _, _, state in found)


def _parts(text: str | None) -> tuple[str, ...]:
    return tuple(part.strip() for part in (text or "").split(",") if part.strip())


def _report(folder: Path) -> Report:
    """Write the report of a folder, show its first table and return it."""
    from budgetrun.results.report import Report

    report = Report(folder)
    paths = report.write()
    say(report.summary())
    say(f"{folder}: {len(paths)} files of tables and figures, and the page {folder / 'report.html'}", err=True)
    if report.headline:
        say(report.headline)
    return report


def _only(texts: tuple[str, ...]) -> dict[str, list[str]]:
    from budgetrun.runner.plan import ONLY_KEYS

    only: dict[str, list[str]] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or key not in ONLY_KEYS:
            raise InputError(f"--only {text}: must be KEY=VALUE, where KEY is one of {', '.join(ONLY_KEYS)}")
        only.setdefault(key, []).append(value)
    return only
