"""Run all benchmarks and write what they found."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path

from budgetrun.bench.chart import draw_growth
from budgetrun.bench.comparisons import Comparison, a9a_forgetron, a9a_perceptron, usps_perceptrons
from budgetrun.bench.floor import PARTS, UNITS, Floor
from budgetrun.bench.growth import Point, measure_growth
from budgetrun.bench.projections import (
    a9a_projectron_pp,
    a9a_projectron_pp_large,
    cod_rna_projectron_2024,
    ijcnn1_projectron_pp,
)
from budgetrun.bench.records import markdown_table, text_table, write_csv
from budgetrun.bench.sizes import FULL, QUICK, Sizes
from budgetrun.bench.solver_growth import draw_solver_growth, measure_solver_growth
from budgetrun.bench.solvers import TURNS, markdown, measure_races
from budgetrun.errors import DataMissingError
from budgetrun.runner import provenance

COMPARISONS = (
    usps_perceptrons,
    a9a_forgetron,
    a9a_perceptron,
    ijcnn1_projectron_pp,
    a9a_projectron_pp,
    a9a_projectron_pp_large,
    cod_rna_projectron_2024,
)


def run_benchmarks(quick: bool, data_dir: Path | None, results: Path) -> None:
    """Measure the engine against plain loops and against this machine's own rates; print and write the outcome.

    Writes bench.csv, bench.md, growth.csv, growth.png and growth.svg, and what `run_solver_benchmarks` does. Whatever
    needs data that are not to be had is left out, and named.

    Parameters
    ----------
    quick : bool
        Small sizes, into the folder ``quick`` of ``results``, so that they never take the place of the full ones.
    data_dir : Path or None
        The folder to look for data in first.
    results : Path
        The folder to write to; it is made.

    Raises
    ------
    DifferentMistakes
        The engine and a plain loop made different mistakes where they must agree.
    """
    from threadpoolctl import threadpool_limits

    began = time.perf_counter()
    sizes, folder = (QUICK, results / "quick") if quick else (FULL, results)
    folder.mkdir(parents=True, exist_ok=True)
    done: list[Comparison] = []
    missing: list[str] = []
    points: list[Point] = []
    with threadpool_limits(1):
        for compare in COMPARISONS:
            _say(f"{compare.__name__} ...")
            try:
                comparison = compare(sizes, data_dir)
            except DataMissingError as error:
                missing.append(f"{compare.__name__}: left out. {error}")
                print(missing[-1])
                continue
            done.append(comparison)
            print(f"{comparison.title}; {comparison.records[0].rounds:,} rounds")
            print(text_table(comparison.records), end="\n\n", flush=True)
        _say("growth ...")
        points.extend(measure_growth(sizes))
    write_csv(folder / "bench.csv", [record for comparison in done for record in comparison.records])
    write_csv(folder / "growth.csv", points)
    figures = draw_growth(points, folder)
    page = folder / "bench.md"
    page.write_text(_page(quick, done, missing, time.perf_counter() - began), encoding="utf-8")
    _name(page, folder / "bench.csv", folder / "growth.csv", *figures)
    run_solver_benchmarks(sizes, data_dir, folder)


def run_solver_benchmarks(sizes: Sizes, data_dir: Path | None, folder: Path) -> None:
    """Measure MPU against LIBLINEAR on real data, and how the time of all solvers grows; print and write the outcome.

    Writes solvers.md, solvers.csv, solvers_growth.csv, solvers_growth.png and solvers_growth.svg.

    Parameters
    ----------
    sizes : Sizes
    data_dir : Path or None
        The folder to look for data in first.
    folder : Path
        The folder to write to.
    """
    from threadpoolctl import threadpool_limits

    began = time.perf_counter()
    missing: list[str] = []
    with threadpool_limits(1):
        _say("solvers ...")
        races = list(measure_races(sizes, data_dir, missing))
        _say("growth of the solvers ...")
        points = list(measure_solver_growth(sizes))
    print("\n".join([*missing, markdown(races)]) if races else "\n".join(missing), flush=True)
    write_csv(folder / "solvers.csv", races)
    write_csv(folder / "solvers_growth.csv", points)
    figures = draw_solver_growth(points, folder)
    page = folder / "solvers.md"
    lines = [
        "# The batch solvers",
        "",
        f"Made by `budgetrun bench` in {time.perf_counter() - began:.0f} seconds, on one core. Compiling is left out.",
        "",
        "## MPU and LIBLINEAR to the same objective",
        "",
        "MPU stops at delta_aft <= 1e-4, by its own bound. LIBLINEAR, which has none, is run with lower and lower "
        "tolerances until its objective is no larger than MPU's; only the last of these runs counts. Both begin with "
        "the examples as they were read: what either makes of them first is in its time. The best of "
        f"{TURNS} times each, in turn, in seconds of the processor.",
        "",
        markdown(races),
        "",
        "## Growth",
        "",
        "![Time of the solvers against the number of examples and against 1 / delta](solvers_growth.png)",
        "",
        "Seconds until the objective is within delta of the optimum, relatively, and, dashed, until the solver's own "
        "bound says so, which LIBLINEAR (dcd) and Pegasos have none of. The examples are normal, of squared norm about "
        "1, on either side of a plane, with 10% of the labels flipped. Slopes are the exponents of growth over the "
        f"upper half of a line. Pegasos takes {sizes.solver_steps:,} steps at most; LIBLINEAR's points are runs of "
        "their own.",
    ]
    if missing:
        lines += ["", "## Left out", "", *(f"- {sentence}" for sentence in missing)]
    lines += ["", "## Versions", "", *_versions()]
    page.write_text("\n".join(lines) + "\n", encoding="utf-8")
    _name(page, folder / "solvers.csv", folder / "solvers_growth.csv", *figures)


def _name(*paths: Path) -> None:
    for path in paths:
        if path.exists():
            print(path)


def _versions() -> list[str]:
    return [f"- {name}: {version}" for name, version in provenance.versions().items()]


def _page(quick: bool, done: Sequence[Comparison], missing: Sequence[str], seconds: float) -> str:
    lines = [
        "# The engine beside plain loops" + (" (quick: small sizes)" if quick else ""),
        "",
        f"Made by `budgetrun bench{' --quick' if quick else ''}` in {seconds:.0f} seconds. Both sides of a comparison "
        "run in turn, several times over; the best time of each counts. The plain loop computes one kernel row a round "
        "in numpy, in float64 and on dense examples. One BLAS thread a process.",
        "",
        "*floor* is the time that the kernel products, the exponentials and the score products of the engine's own "
        "block sizes take by themselves on this machine, as a share of the engine's time; for a learner that projects, "
        "the triangular solves and the products of a block's projections too. In brackets after the "
        "mistakes, where it is not 0: how many more they are than the plain loop's or, where that ran a sample, than "
        "the engine's in float64.",
    ]
    for comparison in done:
        records = comparison.records
        lines += ["", f"## {comparison.title[0].upper()}{comparison.title[1:]}", ""]
        lines += [f"{records[0].rounds:,} rounds, {records[0].features} features.", "", markdown_table(records), ""]
        lines += [f"- {_floor(dtype, floor)}" for dtype, floor in comparison.floors.items()]
        lines += [f"- {note}" for note in comparison.notes]
    lines += ["", "## Growth", "", "![Time against rounds, budget, features, learners, support size](growth.png)", ""]
    lines += [
        "Slopes are the exponents of growth over the upper half of a line. At every point both sides make the same "
        "mistakes as long as rounding decides none: over the `agreed_rounds` of growth.csv."
    ]
    if missing:
        lines += ["", "## Left out", "", *(f"- {sentence}" for sentence in missing)]
    lines += ["", "## Versions", "", *_versions()]
    return "\n".join(lines) + "\n"


def _floor(dtype: str, floor: Floor) -> str:
    n = len(floor.best)
    parts = zip(PARTS[:n], floor.best, floor.rates, UNITS[:n], strict=True)
    sums = (f"{name} {seconds:.3g} s ({rate / 1e9:.3g} {unit})" for name, seconds, rate, unit in parts)
    return f"Floor in {dtype}: {floor.seconds:.3g} s = {' + '.join(sums)}."


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
