"""The verb `budgetrun site`."""

from pathlib import Path

import click

from budgetrun.runner.verbs import say


@click.command(name="site")
@click.argument("results", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--into", type=click.Path(path_type=Path, file_okay=False), help="Its folder.  [default: RESULTS/site]")
def command(results: Path, into: Path | None) -> None:
    """Write the site of an arena: charts of error against bytes and time, ranks, and a table for each stream."""
    from budgetrun.papers.arena.site import Arena
    from budgetrun.results.store.read import load

    for path in Arena(load(results)).write(into or results / "site"):
        say(path)
