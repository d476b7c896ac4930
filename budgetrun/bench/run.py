"""Run all benchmarks and write their results."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from threadpoolctl import threadpool_limits

from budgetrun import engine
from budgetrun.base.errors import DataMissingError
from budgetrun.base.files import make_folder, write
from budgetrun.bench import field
from budgetrun.bench.chart import draw_growth, draw_solver_growth
from budgetrun.bench.check import RATIOS, write_ratios
from budgetrun.bench.comparisons import Comparison, a9a_forgetron, a9a_perceptron, ijcnn1_forgetron, usps_perceptrons
from budgetrun.bench.floor import PARTS, Floor
from budgetrun.bench.growth import Point, measure_growth
from budgetrun.bench.projections import (
    a9a_projectron_pp,
    a9a_projectron_pp_large,
    cod_rna_projectron_2024,
    ijcnn1_projectron_pp,
)
from budgetrun.bench.records import HEADINGS, cells, markdown_table, text_table, write_csv
from budgetrun.bench.sizes import FULL, QUICK, Sizes
from budgetrun.bench.solver_growth import measure_solver_growth
from budgetrun.bench.solvers import HEADINGS as RACE_HEADINGS
from budgetrun.bench.solvers import TURNS, measure_races
from budgetrun.runner import provenance

_PAPERS = (
    usps_perceptrons,
    a9a_forgetron,
    a9a_perceptron,
    ijcnn1_forgetron,
    ijcnn1_projectron_pp,
    a9a_projectron_pp,
    a9a_projectron_pp_large,
    cod_rna_projectron_2024,
)
COMPARISONS: dict[str, Callable[[Sizes, Path | None], Comparison]] = {
    **{compare.__name__: compare for compare in _PAPERS},
    **field.COMPARISONS,
}


def run_benchmarks(quick: bool, data_dir: Path | None, results: Path) -> None:
    """Measure the engine against plain loops and against this machine's own rates; print and write the results.

    Writes bench.csv, bench.md, growth.csv, growth.png, growth.svg, ratios.yaml, and the files of
    `run_solver_benchmarks`. A benchmark whose data are missing is left out, and the page says so. With ``quick``, all
    goes to the folder ``quick`` of ``results``, so that small sizes never replace the full ones.

    Raises
    ------
    DifferentMistakes
        The engine and a plain loop made different mistakes where they must agree.
    """
    began = time.perf_counter()
    sizes, folder = (QUICK, results / "quick") if quick else (FULL, results)
    make_folder(folder)
    done: list[Comparison] = []
    missing: list[str] = []
    points: list[Point] = []
    with threadpool_limits(1):
        for name, compare in COMPARISONS.items():
            _say(f"{name} ...")
            try:
                comparison = compare(sizes, data_dir)
            except DataMissingError as error:
                missing.append(f"{name}: left out. {error}")
                print(missing[-1])
                continue
            done.append(comparison)
            print(f"{comparison.title}; {comparison.records[0].rounds:,} rounds")
            print(text_table(comparison.records), end="\n\n", flush=True)
        _say("growth ...")
        points.extend(measure_growth(sizes))
    write_csv(folder / "bench.csv", [record for comparison in done for record in comparison.records])
    write_csv(folder / "growth.csv", points)
    write_ratios(folder / RATIOS)
    figures = draw_growth(points, folder)
    page = folder / "bench.md"
    write(page, _page(quick, done, missing, time.perf_counter() - began))
    _name(page, folder / "bench.csv", folder / "growth.csv", folder / RATIOS, *figures)
    run_solver_benchmarks(sizes, data_dir, folder)


def run_solver_benchmarks(sizes: Sizes, data_dir: Path | None, folder: Path) -> None:
    """Measure MPU against LIBLINEAR on real data, and how the time of all solvers grows; print and write the results.

    Writes solvers.md, solvers.csv, solvers_growth.csv, solvers_growth.png and solvers_growth.svg.
    """
    began = time.perf_counter()
    missing: list[str] = []
    with threadpool_limits(1):
        _say("solvers ...")
        races = list(measure_races(sizes, data_dir, missing))
        _say("growth of the solvers ...")
        points = list(measure_solver_growth(sizes))
    table = markdown_table(RACE_HEADINGS, [race.cells for race in races])
    print("\n".join([*missing, *([table] if races else [])]), flush=True)
    write_csv(folder / "solvers.csv", races)
    write_csv(folder / "solvers_growth.csv", points)
    figures = draw_solver_growth(points, folder)
    page = folder / "solvers.md"
    lines = [
        "# The batch solvers",
        "",
        f"Written by `budgetrun bench` after {time.perf_counter() - began:.0f} seconds, on one core. Times are without "
        "compilation.",
        "",
        "## MPU and LIBLINEAR to the same objective",
        "",
        "MPU stops at delta_aft <= 1e-4, by its own bound. LIBLINEAR, which has none, is run with lower and lower "
        "tolerances until its objective is no larger than MPU's; only the last of these runs counts. Both start from "
        "the examples as they were read, so the time to convert them is included. Times are processor seconds, the "
        f"best of {TURNS} runs of each, in turn.",
        "",
        table,
        "",
        "## Growth",
        "",
        "![Time of the solvers against the number of examples and against 1 / delta](solvers_growth.png)",
        "",
        "Solid lines: seconds until the objective is within delta of the optimum, relatively. Dashed lines: seconds "
        "until the solver's own bound guarantees it; LIBLINEAR (dcd) and Pegasos have none. The examples are normal, "
        "of squared norm about 1, labeled by a plane, with 10% of the labels flipped. Slopes are the exponents of "
        f"growth over the upper half of a line. Pegasos makes at most {sizes.solver_steps:,} steps; each point of "
        "LIBLINEAR is a separate run.",
        *_end(missing),
    ]
    write(page, "\n".join(lines) + "\n")
    _name(page, folder / "solvers.csv", folder / "solvers_growth.csv", *figures)


def _name(*paths: Path) -> None:
    for path in paths:
        if path.exists():
            print(path)


def _end(missing: Sequence[str]) -> list[str]:
    """Return the last lines of a page: what was left out, and the versions."""
    lines = ["", "## Left out", "", *(f"- {sentence}" for sentence in missing)] if missing else []
    found = provenance.commit()
    commit = f"{found['commit'] or 'unknown'}{', edited' if found['dirty'] else ''}"
    versions = {"commit": commit, "engine revision": engine.REVISION} | provenance.versions()
    return [*lines, "", "## Versions", "", *(f"- {name}: {version}" for name, version in versions.items())]


def _page(quick: bool, done: Sequence[Comparison], missing: Sequence[str], seconds: float) -> str:
    lines = [
        "# The engine compared with plain loops" + (" (quick: small sizes)" if quick else ""),
        "",
        f"Written by `budgetrun bench{' --quick' if quick else ''}` after {seconds:.0f} seconds. The two sides of a "
        "comparison run in turn, several times; the best processor time of each counts (one run for other libraries). "
        "The plain loop computes one kernel row per round in numpy, on dense examples. BLAS has one thread.",
        "",
        "*floor* is the time that the blocks of kernel values and the score sums take alone, in the engine's own code "
        "and with the sizes of its run, as a share of the engine's time. A number in brackets after the mistakes is "
        "the difference, if not 0, from the plain loop's mistakes. The other libraries run linear learners on as many "
        "random features as the budget; they may be faster or more accurate.",
    ]
    for comparison in done:
        records = comparison.records
        lines += ["", f"## {comparison.title[0].upper()}{comparison.title[1:]}", ""]
        lines += [f"{records[0].rounds:,} rounds, {records[0].features} features.", ""]
        lines += [markdown_table(HEADINGS, map(cells, records)), ""]
        lines += [] if comparison.floor is None else [f"- {_floor(comparison.floor)}"]
        lines += [f"- {note}" for note in comparison.notes]
    lines += ["", "## Growth", "", "![Time against rounds, budget, features, learners, support size](growth.png)", ""]
    lines += [
        "Slopes are the exponents of growth over the upper half of a line. At every point both sides make the same "
        "mistakes until rounding matters, that is, over the `agreed_rounds` of growth.csv. The engine alone runs some "
        "learners."
    ]
    return "\n".join(lines + _end(missing)) + "\n"


def _floor(floor: Floor) -> str:
    parts = zip(PARTS, floor.best, floor.rates, strict=True)
    sums = (f"{name} {seconds:.3g} s ({rate / 1e9:.3g} G/s)" for name, seconds, rate in parts)
    return f"Floor, with examples stored as {floor.kind.name}: {floor.seconds:.3g} s = {' + '.join(sums)}."


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
