"""The table of `budgetrun bounds`, and what the command says."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from budgetrun.base import grid
from budgetrun.base.errors import counted
from budgetrun.base.files import write
from budgetrun.base.grid import Grid
from budgetrun.papers.bounds.check import Checked, Row, check
from budgetrun.papers.bounds.figure import draw
from budgetrun.papers.theory.base import MISSING_FACTS
from budgetrun.results.store.read import Results, load

COLUMNS = (
    "run_id", "dataset", "task", "repetition", "label", "setting", "budget", "theorem", "counts", "mistakes", "lower",
    "bound", "ratio", "applies", "condition", "competitor", "norm", "loss", "shift", "n_examples",
)  # fmt: skip
HEADER = ("dataset", "label", "theorem", "checked", "count", "bound", "ratio", "||g||", "D", "T", "")


@dataclass(frozen=True)
class Report:
    """The outcome of checking a results folder."""

    text: str  # the table, the number of runs checked, and the files written
    violated: list[str]  # a sentence for each bound that is violated
    missing: list[str]  # a sentence for each dataset whose data are missing; its runs were not checked
    incomplete: str  # a sentence if runs that were planned are missing; otherwise empty


def write_bounds(folder: Path, data_dir: Path | None = None, streams: int | None = 3, figures: bool = True) -> Report:
    """Evaluate every bound on the runs of a results folder; write ``bounds.csv`` and ``figures/bounds_*.png``.

    ``figures`` can be left out; only they need the folder's ``curves/``. ``streams`` is the most streams of each
    dataset, those of the first repetitions and tasks; None for all. They are drawn again, and data are looked for in
    ``data_dir`` first.

    Raises InputError: the folder holds no finished run, or data differ from those of the runs.
    """
    results = load(Path(folder))
    checked = check(results, data_dir, streams)
    write(results.folder / "bounds.csv", grid.csv([COLUMNS, *map(_record, checked.rows)]))
    (results.folder / "bounds.csv.gz").unlink(missing_ok=True)  # earlier ones, compressed
    drawn = draw(results, checked) if figures else {}
    incomplete = f"{results.runs_path}: {results.incomplete}" if results.incomplete else ""
    return Report(_summary(results, checked, drawn), checked.violations, checked.missing, incomplete)


def _record(row: Row) -> list[str]:
    verdict = row.verdict
    shown = {
        **vars(row),
        **vars(verdict),
        "run_id": " ".join(row.run_ids),
        "budget": "" if row.budget is None else row.budget,
        "mistakes": verdict.count,
        "bound": verdict.value,
        "ratio": verdict.ratio,
        "applies": "yes" if verdict.applies else "no",
        "condition": verdict.conditions if verdict.applies else verdict.reason,
        "competitor": verdict.competitor.name if verdict.competitor else "",
    }
    return [_exact(shown[name]) for name in COLUMNS]


def _exact(value: object) -> str:
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.12g}"
    return str(value)


def _summary(results: Results, checked: Checked, figures: Mapping[Path, bool]) -> str:
    """Return the table, with a line for each dataset, label and theorem, and how many runs were checked."""
    groups: dict[tuple[str, str, str], list[Row]] = {}
    for row in checked.rows:
        groups.setdefault((row.dataset, row.label, row.verdict.theorem), []).append(row)
    lines = []
    if groups:
        keys = sorted(groups, key=lambda key: (results.datasets.index(key[0]), results.labels.index(key[1])))
        lines.append(grid.text(Grid(HEADER, [_line(groups[key]) for key in keys], words=(0, 1, 2, len(HEADER) - 1))))
        lines += ["", "Each line shows the run with the largest ratio of count to bound (1 is tight)."]
    share = f"{checked.n_checked:,} of {checked.n_runs:,} runs were checked"
    more = "" if checked.n_checked == checked.n_runs or checked.missing else "; --all checks the others, too"
    lines.append(f"{share}{more}.")
    if checked.without:
        lines.append(f"No bound is about: {', '.join(checked.without)}.")
    if any(row.verdict.reason == MISSING_FACTS for row in checked.rows):
        lines.append("Bounds without numbers need facts that older results do not have: run the sweep again.")
    violated = sum(row.verdict.violated for row in checked.rows)
    held = sum(row.verdict.applies for row in checked.rows) - violated
    lines.append(f"{held:,} bounds hold, {violated:,} are violated, {len(checked.rows) - held - violated:,} are void.")
    lines.append(f"bounds   {results.folder / 'bounds.csv'}")
    lines += [
        f"figure   {path}{'  (kept: curves/ lacks some of its runs)' if kept else ''}" for path, kept in figures.items()
    ]
    return "\n".join(lines)


def _line(rows: list[Row]) -> tuple[str, ...]:
    first = rows[0]
    applied = [row for row in rows if row.verdict.applies]
    start = (first.dataset, first.label, first.verdict.theorem, f"{len(applied)} of {len(rows)}")
    if not applied:
        reasons = list(dict.fromkeys(row.verdict.reason for row in rows))
        more = f" (and {counted(len(reasons) - 1, 'other reason')})" if len(reasons) > 1 else ""
        return (*start, "", "", "", "", "", f"{first.n_examples:,}", f"void: {reasons[0]}{more}")
    row = max(applied, key=lambda row: row.verdict.ratio)
    verdict = row.verdict
    notes = ["" if verdict.counts == "mistakes" else verdict.counts, "VIOLATED" if verdict.violated else ""]
    if len(rows) > 1:
        notes += [row.setting, "" if row.budget is None else f"budget {row.budget:,}"]
    sides = _number(verdict.count), _number(verdict.value), _ratio(verdict.ratio)
    of_competitor = _number(verdict.norm), _number(verdict.loss)
    return (*start, *sides, *of_competitor, f"{row.n_examples:,}", ", ".join(filter(None, notes)))


def _number(value: float) -> str:
    if math.isnan(value):
        return ""
    if abs(value) >= 1e9:
        return f"{value:.3g}"
    return f"{value:,.0f}" if abs(value) >= 1000 or value == int(value) else f"{value:,.4g}"


def _ratio(value: float) -> str:
    return f"{value:.3f}" if value >= 0.001 or value == 0 else f"{value:.0e}"
