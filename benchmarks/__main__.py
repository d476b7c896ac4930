"""Run all benchmarks and write their results."""

import sys
from pathlib import Path

import click
from threadpoolctl import threadpool_limits

from benchmarks import growth, pages, solvers
from benchmarks.cases import CASES, Comparison, compare
from benchmarks.check import RATIOS, run_check, write_ratios
from benchmarks.first_use import measure_first_use
from benchmarks.sides import FULL, QUICK, Sizes
from budgetrun.base.errors import DataMissingError, InputError
from budgetrun.base.files import make_folder, write
from budgetrun.kernels import compiling


@click.command()
@click.option("--quick", is_flag=True, help="Use small sizes, for rough ratios within a minute.")
@click.option("--check", is_flag=True, help="Compare a few ratios with committed ones; exit with 1 if one is lower.")
@click.option("--data", "data_dir", type=click.Path(path_type=Path), help="Look for data here first.")
@click.option("--results", type=click.Path(path_type=Path), default=Path("results/bench"), show_default=True)
def main(quick: bool, check: bool, data_dir: Path | None, results: Path) -> None:
    """Compare the speed of the engine with plain loops and other libraries, on one core.

    A benchmark whose data are missing is left out, and the page says so. With --quick, all goes to the folder "quick"
    of the results, so that small sizes never replace the full ones.
    """
    if check:
        try:
            with threadpool_limits(1), compiling.first():
                slow = run_check(results)
        except InputError as error:
            raise click.UsageError(str(error)) from None
        print(*slow, sep="\n", end="\n" if slow else "")
        sys.exit(bool(slow))
    folder = results / "quick" if quick else results
    make_folder(folder)
    with threadpool_limits(1), compiling.first():
        _learners(QUICK if quick else FULL, data_dir, folder)
        _solvers(QUICK if quick else FULL, data_dir, folder)
    print(folder)


def _learners(sizes: Sizes, data_dir: Path | None, folder: Path) -> None:
    """Write bench.csv, bench.md, growth.csv, growth.png, first_use.csv and ratios.yaml."""
    done: list[Comparison] = []
    missing: list[str] = []
    for name, case in CASES.items():
        click.echo(f"{name} ...", err=True)
        try:
            done.append(compare(name, case, sizes, data_dir))
        except DataMissingError as error:
            missing.append(f"{name}: left out. {error}")
            print(missing[-1])
        else:
            print(pages.section(done[-1]), flush=True)
    click.echo("growth ...", err=True)
    points = list(growth.measure_growth(sizes.points))
    pages.write_csv(folder / "bench.csv", [record for comparison in done for record in comparison.records])
    pages.write_csv(folder / "growth.csv", points)
    first_use = ""
    if sizes.rounds is None:
        # Compiling takes minutes.
        click.echo("first use ...", err=True)
        measured = measure_first_use()
        pages.write_csv(folder / "first_use.csv", measured)
        first_use = pages.FIRST_USE.format(table=pages.table(measured))
    write_ratios(folder / RATIOS)
    title = "Time of the engine and of a plain loop, one core"
    pages.draw(folder / "growth", title, growth.AXES, points, "learner", "side")
    comparisons = "".join(map(pages.section, done))
    page = pages.BENCH.format(comparisons=comparisons, first_use=first_use, end=pages.end(missing))
    write(folder / "bench.md", page)


def _solvers(sizes: Sizes, data_dir: Path | None, folder: Path) -> None:
    """Write solvers.md, solvers.csv, solvers_growth.csv and solvers_growth.png."""
    missing: list[str] = []
    click.echo("solvers ...", err=True)
    races = list(solvers.measure_races(sizes.rounds, data_dir, missing))
    points = list(solvers.measure_solver_growth(sizes.points))
    pages.write_csv(folder / "solvers.csv", races)
    pages.write_csv(folder / "solvers_growth.csv", points)
    pages.draw(folder / "solvers_growth", "Time of the batch solvers, one core", solvers.AXES, points, "solver", "kind")
    page = pages.SOLVERS.format(races=pages.table(races), steps=solvers.STEPS, end=pages.end(missing))
    write(folder / "solvers.md", page)


if __name__ == "__main__":
    main()
