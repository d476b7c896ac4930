"""The verb `budgetrun bounds`."""

from pathlib import Path

import click

from budgetrun.runner.verbs import Folder, data_option, for_each, say


@click.command(name="bounds")
@click.argument("results", nargs=-1, required=True, type=Folder(path_type=Path))
@data_option
@click.option("--streams", type=click.IntRange(min=1), default=3, help="Most streams per dataset.")
@click.option("--all", "every", is_flag=True, help="Check all streams.")
@click.option("--no-figures", "plain", is_flag=True, help="Write only the table.")
def command(results: tuple[Path, ...], data_dir: Path | None, streams: int, every: bool, plain: bool) -> None:
    """Check the papers' mistake bounds on the runs of results folders; exit code 1 if one is violated."""
    from budgetrun.papers.bounds.report import write_bounds

    def evaluate(folder: Path) -> list[str]:
        report = write_bounds(folder, data_dir, None if every else streams, figures=not plain)
        say(report.text)
        return [*report.missing, *report.violated, report.incomplete]

    for_each(*results, act=evaluate)
