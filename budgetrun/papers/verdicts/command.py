"""The verb `budgetrun verdicts`."""

import sys
from pathlib import Path

import click

from budgetrun.runner.verbs import results_option, say


@click.command(name="verdicts")
@results_option("The results folders.")
def command(results: Path) -> None:
    """Judge the papers' claims by the results, and write a page; exit code 1 if a verdict is not the stated one."""
    from budgetrun.papers.verdicts.verdicts import judge_all

    found = judge_all(results)
    for path in found.write():
        say(path)
    say(found.summary)
    for contradiction in found.contradictions:
        say(contradiction, err=True)
    sys.exit(int(bool(found.contradictions)))
