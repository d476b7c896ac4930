"""Write the numbers and generated tables of README.md and docs/*.md again, from results/, the code and the configs.

docs/numbers.yaml says how each number is computed, in which sentence it stands, and which tables and generated parts
the pages have. Sentences are found by their words, tables by their first line.

Usage: python scripts/pages/write_numbers.py            (the tests fail if a page is not as this would write it)
"""

from __future__ import annotations

import argparse
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml
from generated_pages import DEMO, PARTS, all_rules, all_solvers
from generated_pages import declared as said

from benchmarks.pages import markdown_table
from budgetrun import config as configs
from budgetrun.config.schema import NumberSpec
from budgetrun.papers.verdicts.claims import load_claims
from budgetrun.results.report import tables
from budgetrun.results.report.evidence import Evidence, Number
from budgetrun.results.report.layout import Table
from budgetrun.runner.plan import make_plan

TOP = Path(__file__).resolve().parents[2]
RESULTS = TOP / "results"
# The numbers of the pages of changes are versions.
# attempts.py writes that page, and tests play it.
_OTHERS = ("changes-0.3.md", "attempts.md")
PAGES = [TOP / "README.md", *(path for path in sorted((TOP / "docs").glob("*.md")) if path.name not in _OTHERS)]
NUMBERS = TOP / "docs" / "numbers.yaml"
_NUMBER = r"[-+]?\d[\d.,]*(?<![.,])(?:e-?\d+)?%?"

_evidence = Evidence(RESULTS)


@cache
def declared() -> dict[str, Any]:
    """Return what docs/numbers.yaml says."""
    return yaml.safe_load(NUMBERS.read_text(encoding="utf-8"))


def numbers() -> dict[str, str]:
    """Return the text of every number in docs/numbers.yaml, by name."""
    known: dict[str, Number] = {}
    for name, spec in declared()["numbers"].items():
        kind = next((kind for kind in KINDS if kind in spec), None)
        known[name] = KINDS[kind](**spec) if kind else _number(known, name, **spec)
    return {name: number.text for name, number in known.items()}


def page(name: str, text: str, texts: dict[str, str], generated: bool = True) -> str:
    """Return the text of a page with its numbers as they are computed, and ``generated`` tables and parts, too."""
    for sentence in declared()["sentences"].get(name, ()):
        text = _with_numbers(name, text, sentence, texts)
    if not generated:
        return text
    for table in declared()["tables"].get(name, ()):
        written = TABLES[table]()
        text = _replaced(name, text, written, re.compile(rf"^{_first_line(written)}\n(\|.*\n)*", re.MULTILINE))
    for part, heading in declared()["parts"].get(name, {}).items():
        written = PARTS[part]() + "\n"
        place = rf"^{_first_line(written)}\n.*?(?=^{re.escape(heading)}$)"
        text = _replaced(name, text, written, re.compile(place, re.MULTILINE | re.DOTALL))
    return text


def _with_numbers(name: str, text: str, sentence: str, texts: dict[str, str]) -> str:
    """Return the text with the numbers of a sentence, a template, as they are computed."""
    names = re.findall(r"\{(\w+)\}", sentence)
    words = (re.sub(r"\\\{\w+\\\}", lambda _: f"({_NUMBER})", re.escape(word)) for word in sentence.split())
    found = list(re.finditer(r"\s+".join(words), text))
    if len(found) != 1:
        raise ValueError(f"{name} must have this sentence once, and has it {len(found)} times: {sentence}")
    for i, number in reversed(list(enumerate(names, start=1))):
        text = text[: found[0].start(i)] + texts[number] + text[found[0].end(i) :]
    return text


def _first_line(written: str) -> str:
    return re.escape(written.partition("\n")[0])


def _replaced(name: str, text: str, written: str, place: re.Pattern[str]) -> str:
    if len(place.findall(text)) != 1:
        raise ValueError(f"{name} must have this line once: {written.partition(chr(10))[0]}")
    return place.sub(lambda _: f"{written}\n", text)


def _from_verdict(verdict: str, count: str) -> Number:
    """Return how many published cells of a table are ``within`` its tolerance, ``explained``, ``open``, or ``all``.

    ``first`` are those within the tolerance if each row and column has its first reading, ``written`` if it has the one
    that follows the text.
    """
    folder, _, name = verdict.partition("/")
    found = next(table.verdict for table in _tables(folder) if table.name == name)
    first = found.counts["within"] if found.first is None else found.first
    written = first if found.written is None else found.written
    value = {"all": found.n_measured, "first": first, "written": written, **found.counts}.get(count, 0)
    return Number(value, f"{value:,}")


@cache
def _tables(folder: str) -> list[Table]:
    return tables.build(_evidence.results(folder))


def _count_runs(runs: str) -> Number:
    value = len(_evidence.results(runs).runs)
    return Number(value, f"{value:,}")


KINDS: dict[str | None, Callable[..., Number]] = {"verdict": _from_verdict, "runs": _count_runs}


def _number(known: dict[str, Number], name: str, **spec: Any) -> Number:
    return _evidence.number(NumberSpec(**spec), {}, known, name)


def _value(**spec: Any) -> float:
    return _number({}, "a table", **spec).value


def _text(**spec: Any) -> str:
    """Return a number without its unit, which the heading of the table says."""
    return _number({}, "a table", **spec).text.rstrip("% s")


def _with_size(**spec: Any) -> str:
    """Return an error and, in brackets, the size of the support set; of what has none, the error alone."""
    held = _value(**spec, quantity="support_size")
    return _text(**spec) + (f" ({held:,.0f})" if held else "")


def _with_published(table: str, **spec: Any) -> str:
    """Return our number and, in brackets, the published one."""
    return f"{_text(**spec)} ({_text(**spec, published=table)})"


# Tables with published numbers, by paper and by the name that a page gives them.
_PUBLISHED = {
    "forgetron": {"Table 8.1": "forgetron_table81/table81"},
    "projectron": {"Figure 6": "projectron_fig6/fig6_support", "Figure 7": "projectron_fig7/fig7_support"},
    "mpu": {"Table 1": "mpu_table1/table1"},
    "ahpatron": {"Table 2": "ahpatron_table2/table2", "Table 5": "ahpatron_table5/table5"},
}


def _papers() -> str:
    """Return the counts of verdicts and of cells, by the paper's text and by the readings that fit best."""
    rows = []
    for paper in load_claims(TOP / "configs" / "claims"):
        own = [claim for claim in paper.claims if not claim.found]
        counts = Counter(claim.verdict for claim in own if not claim.proved)
        proved = [claim.verdict for claim in own if claim.proved]
        cells = []
        for title, where in _PUBLISHED.get(paper.name, {}).items():
            written, fitted, of_all = (_from_verdict(where, which).text for which in ("written", "within", "all"))
            best = "" if written == fitted else f" (fitted {fitted})"
            cells.append(f"[{title}](results/{where.partition('/')[0]}/report.html): {written}{best} of {of_all}")
        verdicts = [str(counts[verdict]) for verdict in ("confirmed", "refuted", "partly", "open")]
        verdicts.append(f"{proved.count('confirmed')} of {len(proved)}")
        rows.append([f"{paper.title} ({paper.year})", *verdicts, ", ".join(cells) or "none published"])
    header = ["paper", "claims: confirmed", "refuted", "partly", "open", "theorems that hold"]
    return markdown_table([*header, "published cells that agree"], rows)


def _table81() -> str:
    columns = ["perceptron", "forgetron(self_tuned)", "forgetron(greedy)", "forgetron(basic)", "cks"]
    results = _evidence.results("forgetron_table81")
    rows = []
    for dataset in ("mnist", "usps", "census_income", "synthetic_5", "synthetic_10"):
        cells = []
        for label in columns:
            spec = {"results": results.folder.name, "dataset": dataset, "label": label, "budget_fraction": 0.25}
            ours, published = _value(**spec), _value(**spec, published="table81")
            # Adding 0 removes the sign of a zero.
            difference = round(100 * (ours / published - 1), 1) + 0.0
            cells.append(f"{ours:.2f} ({published:.2f}, {difference:+.1f}%)")
        rows.append([results.title(dataset), *cells])
    return markdown_table(["online error, %", *map(results.title, columns)], rows)


def _projectron() -> str:
    columns = ["perceptron", "passive_aggressive", "projectron", "projectron++", "rbp", "forgetron(self_tuned)"]
    streams = {"a9a, eta 0.1": ("projectron_fig6", "a9a"), "two Gaussians, eta 0.04": ("projectron_fig7", "synthetic")}
    rows = []
    for title, (folder, dataset) in streams.items():
        specs = [{"results": folder, "dataset": dataset, "label": label} for label in columns]
        rows.append([title, *(_with_size(**spec) for spec in specs)])
    titles = map(_evidence.results("projectron_fig6").title, columns)
    return markdown_table(["online error, % (support)", *titles], rows)


_SETS = ("phishing", "susy", "ijcnn1", "cod_rna", "w8a", "a9a")


def _ahpatron() -> str:
    columns = ["ahpatron", "projectron++(2024)", "projectron", "fogd", "bogd++", "nogd", "nogd(program)", "pomdr"]
    results = _evidence.results("ahpatron_table2")
    rows = []
    for dataset in _SETS:
        place = {"results": "ahpatron_table2", "dataset": dataset, "chosen_in": "table2"}
        specs = [{**place, "label": label} for label in columns]
        errors = [_value(**spec) for spec in specs]
        cells = [_with_published("table2", **spec) for spec in specs]
        best = errors.index(min(errors))
        cells[best] = f"**{cells[best]}**"
        larger = _text(results="field_table2", dataset=dataset, label="majority")
        rows.append([results.title(dataset), larger, *cells])
    return markdown_table(["online error, %", "larger class", *map(results.title, columns)], rows)


def _ahpatron_calibrated() -> str:
    rows = []
    for dataset in _SETS:
        if dataset == "susy":
            continue
        spec = {"results": "ahpatron_table2", "dataset": dataset, "label": "ahpatron", "chosen_in": "table3"}
        epsilon = f"{_value(**spec, quantity='parameters.epsilon'):g}"
        ours = _value(**spec, quantity="margin_updates")
        published = _value(**spec, quantity="margin_updates", published="table3")
        cells = [epsilon, _with_published("table2", **spec), f"{ours:,.0f} ({published:,.0f})"]
        rows.append([_evidence.results("ahpatron_table2").title(dataset), *cells])
    return markdown_table(["data set", "epsilon", "online error of Ahpatron, %", "margin updates"], rows)


def _mpu() -> str:
    results, rows = _evidence.results("mpu_table1"), []
    for dataset, title in {"a9a": "adult (a9a)", "web": "web (w8a)"}.items():
        spec = {"results": "mpu_table1", "dataset": dataset, "label": "mpu"}
        ours = _value(**spec, quantity="objective")
        published = _text(**spec, quantity="objective", published="table1")
        bracket = next(bracket for problem, bracket in results.brackets.items() if problem.dataset == dataset)
        # The interval is rounded outward.
        lower, upper = math.floor(1000 * bracket.lower) / 1000, math.ceil(1000 * bracket.upper) / 1000
        race = _value(csv="bench/solvers.csv", where={"dataset": dataset}, column="ratio")
        rows.append([title, published, f"{ours:,.2f}", f"[{lower:,.3f}, {upper:,.3f}]", f"{race:.2f}"])
    head = ["Table 1, accuracy 1e-4", "MPU: published", "ours", "optimum in"]
    return markdown_table([*head, "seconds, MPU / LIBLINEAR, same objective"], rows)


def _river() -> str:
    race = pd.read_csv(RESULTS / "river" / "race.csv", keep_default_na=False)
    rows = []
    for (library, model, gamma_from), group in race.groupby(["library", "model", "gamma_from"], sort=False):
        cells = [
            f"{row.error_percent:.1f} ({row.rounds_per_second:,.0f}; {row.memory_kb:,.0f})"
            for row in group.itertuples()
        ]
        rows.append([f"{library}: {model}", gamma_from or "-", *cells])
    return markdown_table(["error, % (rounds/s; kB)", "gamma", *race["dataset"].unique()], rows)


def _river_drift() -> str:
    """Return the errors on all streams; speed and memory are those on the last."""
    race = pd.read_csv(RESULTS / "river_drift" / "race.csv", keep_default_na=False)
    titles = _evidence.results("sutskever_bounds").title
    streams = list(race["dataset"].unique())
    rows = []
    for (library, model), group in race.groupby(["library", "model"], sort=False):
        last = group.iloc[-1]
        errors = [f"{error:.1f}" for error in group["error_percent"]]
        speed = [f"{last['rounds_per_second']:,.0f}", f"{last['time_ratio']:.1f}", f"{last['memory_kb']:,.0f}"]
        rows.append([f"{library}: {model}", *errors, *speed])
    return markdown_table(["error, %", *map(titles, streams), "rounds/s", "time ratio", "kB"], rows)


# Streams of docs/auto.md: those on which members and steps were chosen, and those that were first played afterwards.
KNOWN = ["phishing", "a9a", "susy_30000", "ijcnn1", "cod_rna", "covtype_92962", "census_income", "digits"]
UNSEEN = ["Phishing of river", "clusters", "LED, drift", "Gaussian quantiles", "Waveform, drift", "Agrawal 7"]
UNSEEN += ["Agrawal 5", "blobs in thirds", "Agrawal 9"]
UNSEEN += ["breast cancer", "wine", "checkerboard", "rules of bits", "shells", "Gaussian quantiles, two"]
UNSEEN += ["many clusters", "six classes", "Sine, noisy", "SEA, noisy", "RandomTree, three, drift"]
UNSEEN += ["linear, wide", "products, wide", "bits, wide", "clusters, wide", "Gaussians, wide"]
UNSEEN += ["linear", "Friedman, wide", "sines", "distance", "diabetes"]


def _race(of_classes: bool, unseen: bool, whole: bool) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return rows of the race after as many rows of a stream, and their errors by stream and side."""
    race = pd.read_csv(RESULTS / "auto" / "race.csv", keep_default_na=False)
    race = race[((race["classes"] > 0) == of_classes) & (race["stream"].isin(UNSEEN) == unseen)]
    least, most = (race.groupby(["stream", "side"])["rows"].agg(how) for how in ("min", "max"))
    longest = most[:, "auto"]
    race = race[race["rows"] == race["stream"].map(longest if whole else least[:, "auto"])]
    return race, race.pivot(index="stream", columns="side", values="error")


def _best_other(errors: pd.DataFrame) -> pd.Series:
    return errors.drop(columns=["auto", "largest class", "mean"], errors="ignore").min(axis=1)


def _rivals(of_classes: bool, whole: bool = False, unseen: bool = False) -> str:
    """Return errors of auto and others after as many rows of a stream; first where auto is furthest behind the best."""
    race, errors = _race(of_classes, unseen, whole)
    if whole:
        longer = race.set_index("stream")["rows"].groupby("stream").max() > 10_000
        errors = errors[longer].dropna(axis=1)
    ratio = (errors["auto"] / _best_other(errors)).sort_values(ascending=False)
    names = [name for name in dict.fromkeys(["auto", *race["side"]]) if name in errors]
    rows = []
    for stream in ratio.index:
        own, best = errors.loc[stream, names], errors.loc[stream, names].min()
        n = race.loc[race["stream"] == stream, "rows"].iloc[0]
        shown = [(f"{e:.2f}" if of_classes else f"{e:.4g}") if e == e else "-" for e in own]
        shown = [f"**{text}**" if e == best else text for text, e in zip(shown, own, strict=True)]
        rows.append([stream.replace("_", "-"), f"{n:,}", f"{ratio[stream]:.2f}", *shown])
    head = f"{'error, %' if of_classes else 'RMSE'}{', whole stream' if whole else ', new stream' if unseen else ''}"
    # With their versions.
    of = race.drop_duplicates("side").set_index("side")["library"]
    columns = [name if of[name].partition(" ")[0] in ("budgetrun", "") else f"{of[name]}: {name}" for name in names]
    return markdown_table([head, "rows", "auto / best other", *columns], rows)


def _met() -> str:
    """Return on how many streams auto is near the best of the others, or below all."""
    rows = []
    for title, unseen, whole, near in (
        ("known, first 10,000 rows", False, False, 2),
        ("known, whole, without the slow sides", False, True, 2),
        ("new", True, False, 1),
    ):
        errors = _race(True, unseen, whole)[1]
        errors = errors if unseen else errors.loc[KNOWN]
        # Those on which all sides have played.
        errors = errors if whole else errors.dropna(axis=0)
        own, best = errors["auto"], _best_other(errors)
        close = (own <= best * (1 + near / 100)) | (own <= best + 0.05)
        rows.append([title, f"{near}%", f"{close.sum()} of {len(own)}", f"{(own < best).sum()} of {len(own)}"])
    near_all = "at most so much, or 0.05 points, above the best other"
    return markdown_table(["streams", "near", near_all, "below all"], rows)


def _reliability() -> str:
    found = pd.read_csv(RESULTS / "auto" / "reliability.csv").drop_duplicates(["stream", "side"])
    of = found.set_index(["stream", "side"])
    columns, rows = ("log_loss", "brier", "calibration_error"), []
    for stream in found["stream"].unique():
        cells = [f"{of.loc[(stream, side), name]:.4f}" for name in columns for side in ("auto", "logistic")]
        rows.append([stream.replace("_", "-"), f"{of.loc[(stream, 'auto'), 'rows']:,}", *cells])
    words = ("log loss", "Brier score", "calibration error")
    titles = [f"{word}, {side}" for word in words for side in ("auto", "logistic")]
    return markdown_table(["probabilities", "rows", *titles], rows)


def _balance() -> str:
    rows = []
    for stream, group in pd.read_csv(RESULTS / "auto" / "balance.csv").groupby("stream", sort=False):
        of, first = group.set_index("side"), group.iloc[0]
        cells = [f"{e:.2f} / {b:.2f}" for e, b in zip(of["error"], of["balanced_error"], strict=True)]
        rows.append([stream.replace("_", "-"), f"{first['rows']:,}", f"{first['smaller_class']:.2f}", *cells])
    return markdown_table(["error / balanced error, %", "rows", "smaller class, %", *of.index], rows)


def _tails() -> str:
    found = pd.read_csv(RESULTS / "auto" / "tails.csv", keep_default_na=False)
    errors, n_rows = found.pivot(index="stream", columns="way", values="error"), found.set_index("stream")["rows"]
    ways = {"no twins": "auto without twins", "": "auto", "logarithms": "auto, given logarithms"}
    rows = []
    for stream in found["stream"].unique():
        cells = ["-" if math.isnan(e) else f"{e:.2f}" for e in errors.loc[stream, [*ways]]]
        rows.append([stream.replace("_", "-"), f"{n_rows[stream].iloc[0]:,}", *cells])
    return markdown_table(["error, %, long tails", "rows", *ways.values()], rows)


def _drift() -> str:
    found = pd.read_csv(RESULTS / "auto" / "drift.csv", keep_default_na=False)
    errors = found.pivot(index="stream", columns="way", values="error")
    rows = []
    for stream in found["stream"].unique():
        own, drifts = errors.loc[stream], found.loc[found["stream"] == stream, "drifts"].iloc[0]
        others = [f"{100 * (own[way] / own[''] - 1):+.2f}" if own[way] == own[way] else "-" for way in own.index[1:]]
        rows.append([stream.replace("_", "-"), "yes" if drifts else "no", f"{own['']:.4g}", *others])
    return markdown_table(["error, or RMSE", "drifts", "auto", *(f"{way}, % more" for way in errors.columns[1:])], rows)


def _configs() -> str:
    rows = []
    for path in sorted((TOP / "configs").glob("*.yaml"), key=lambda path: (path.stem != DEMO, path)):
        config = configs.load(path)
        place = re.search(r"((Figure|Table)s? [\d.]+.*)$", config.source)
        what = f"{place[1]}: " if place else ""
        description = re.split(r"(?<=[^.])\. ", config.description)[0].rstrip(".")
        if path.stem != DEMO and (RESULTS / path.stem).is_dir():
            results = _evidence.results(path.stem)
            n_runs, seconds = len(results.runs), results.runs["seconds"].sum()
            time = f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"
        else:
            n_runs, time = len(make_plan(config).runs), "not recorded"
        rows.append([f"`{path.stem}`", what + description, f"{n_runs:,}", time])
    return markdown_table(["config", "what it reproduces", "runs", "core time of the runs"], rows)


def _guide_budget() -> str:
    columns = ["perceptron", "forgetron(self_tuned)", "forgetron(greedy)", "rbp", "cks"]
    rows = []
    for dataset, folder in {
        "usps": "forgetron_fig4",
        "mnist": "forgetron_fig4",
        "census_income": "forgetron_fig5",
    }.items():
        for fraction, text in ((0.0625, "p/16"), (0.25, "p/4"), (0.5, "p/2"), (0.75, "3p/4")):
            place = {"results": folder, "dataset": dataset, "budget_fraction": fraction}
            cells = [_text(**place, label=label) for label in columns]
            rows.append([_evidence.results(folder).title(dataset), text, *cells])
    return markdown_table(["online error, %", "B", *map(_evidence.results("forgetron_fig4").title, columns)], rows)


_OF_FIELD = {
    "majority": "larger class",
    "logistic": "logistic regression",
    "forgetron(self_tuned)": "Forgetron, self-tuned",
    "norma": "NORMA",
    "bpa(simple)": "BPA-S",
    "bpa(nearest)": "BPA-NN",
    "ahpatron": "Ahpatron",
}


def _guide_field() -> str:
    """Return errors without hindsight; a star is for those not significantly worse than the best of all columns."""
    table = next(one for one in _tables("field_table2") if one.name == "error")
    cells = {cell.place[:2]: table.mean(cell, with_sd=False) for cell in table.cells}
    datasets = list(dict.fromkeys(cell.place.dataset for cell in table.cells))
    rows = [[table.called(one), *(cells[one, label] for label in _OF_FIELD)] for one in datasets]
    return markdown_table(["online error, % (no hindsight)", *_OF_FIELD.values()], rows)


def _tuned() -> str:
    """Return the errors of learners with 200 examples, and of linear ones, on a9a."""
    found = pd.read_csv(RESULTS / "tuned.csv", keep_default_na=False)
    titles = _OF_FIELD | {"nystroem + sgd": "Nystroem features (200) and SGD, scikit-learn"}
    order = found.sort_values("error_percent", kind="stable")
    rows = [[titles[row.side], f"{row.error_percent:.2f} ± {row.sd:.2f}"] for row in order.itertuples()]
    return markdown_table(["a9a, settings chosen on the first tenth", "online error of the rest, %"], rows)


_OF_2024 = ["ahpatron", "projectron++(2024)", "projectron", "fogd", "bogd++", "nogd", "pomdr"]


def _guide_held() -> str:
    """Return errors and, in brackets, the support sizes; FOGD has features instead."""
    rows = []
    for dataset in _SETS:
        larger = _text(results="field_table2", dataset=dataset, label="majority")
        place = {"results": "ahpatron_table2", "dataset": dataset, "chosen_in": "table2"}
        cells = [_with_size(**place, label=label) for label in _OF_2024]
        rows.append([_evidence.results("ahpatron_table2").title(dataset), larger, *cells])
    titles = map(_evidence.results("ahpatron_table2").title, _OF_2024)
    return markdown_table(["online error, % (examples held)", "larger class", *titles], rows)


def _guide_seconds() -> str:
    results = _evidence.results("ahpatron_seconds")
    means = results.runs.groupby(["dataset", "label"])[["seconds", "n_examples"]].mean()
    rows = []
    for dataset in _SETS:
        of_set = means.loc[dataset]
        cells = [f"{1e6 * of_set['seconds'][label] / of_set['n_examples'][label]:,.0f}" for label in _OF_2024]
        rows.append([results.title(dataset), f"{of_set['n_examples'].iloc[0]:,.0f}", *cells])
    return markdown_table(["microseconds per round", "rounds", *map(results.title, _OF_2024)], rows)


def _guide_growth() -> str:
    columns = ["self-tuned Forgetron", "RBP", "greedy Forgetron", "CKS"]
    rows = []
    for budget in (10, 100, 1000, 2000):
        cells = []
        for learner in columns:
            where = {"panel": "budget", "learner": learner, "side": "engine", "budget": budget}
            given = {"csv": "bench/growth.csv", "where": where}
            seconds, rounds = _value(**given, column="seconds"), _value(**given, column="rounds")
            cells.append(f"{1e6 * seconds / rounds:.1f}")
        rows.append([f"{budget:,}", *cells])
    return markdown_table(["microseconds per round, B =", *columns], rows)


def _guide_drift() -> str:
    columns = ["perceptron", "rbp", "modified_rbp", "forgetron(self_tuned)", "forgetron(simplified)"]
    results = _evidence.results("sutskever_bounds")
    rows = []
    for dataset in ("still", "slow_drift", "fast_drift", "fast_drift_noise"):
        for budget in (100, 1000):
            place = {"results": "sutskever_bounds", "dataset": dataset, "budget": budget}
            rows.append([results.title(dataset), f"{budget:,}", *(_text(**place, label=label) for label in columns)])
    return markdown_table(["online error, %", "B", *map(results.title, columns)], rows)


def _guide_classes() -> str:
    columns = ["perceptron", "passive_aggressive", "projectron", "projectron++", "rbp"]
    results = _evidence.results("projectron_multiclass")
    rows = []
    for dataset in ("usps", "mnist"):
        for eta in ("0.3", "0.7", "1"):
            cells = []
            for label in columns:
                spec = {"results": "projectron_multiclass", "dataset": dataset, "label": label, "setting": f"eta={eta}"}
                if label in ("perceptron", "passive_aggressive"):
                    del spec["setting"]
                cells.append(_with_size(**spec))
            rows.append([results.title(dataset), eta, *cells])
    return markdown_table(["online error, % (examples held)", "eta", *map(results.title, columns)], rows)


def _shared_checks() -> str:
    """Return the largest ratio of each bound of a shared memory on each adversarial stream."""
    checks = pd.read_csv(RESULTS / "shared_memory" / "checks.csv")
    found = checks[checks["check"] == "adversarial"].pivot(index="case", columns="quantity", values="value")
    columns = {"measured": "measured", "product": "step 3", "floor": "Theorem 1", "held": "sizes held"}
    columns |= {"unshrunk": "no shrinking", "sum": "sum"}
    rows = [
        [
            stream,
            *(f"{found.loc[stream, name]:,.0f}" for name in ("fleets", "removals")),
            *("-" if (ratio := found.loc[stream, name]) != ratio else f"{ratio:.2f}" for name in columns),
            f"{found.loc[stream, 'Q - A']:.0e}",
        ]
        for stream in dict.fromkeys(checks.loc[checks["check"] == "adversarial", "case"])
    ]
    return markdown_table(["stream", "fleets", "removals", *columns.values(), "Q - A"], rows)


def _shared_keys() -> str:
    """Return the largest ratio of each bound on fleets of many keys with floors of 83."""
    found = pd.read_csv(RESULTS / "shared_memory" / "keys.csv")
    bounds = ["step 3", "measured", "Theorem 1", "sizes held", "sum"]
    rows = []
    for (keys, policy), own in found.groupby(["keys", "policy"], sort=False):
        ratios = dict(zip(own["bound"].str.removeprefix("Shared memory, "), own["ratio"], strict=True))
        about = own.iloc[0]
        counts = [f"{about[name]:,}" for name in ("mistakes", "removed", "least held")]
        cells = ["-" if ratios[name] != ratios[name] else f"{ratios[name]:.2f}" for name in bounds]
        rows.append([f"{keys:,}", str(policy).replace("_", " "), *counts, *cells])
    return markdown_table(["keys", "policy", "mistakes", "removals", "fewest entries", *bounds], rows)


_SHARED = ("shared_memory_digits", "shared_memory_fleet", "shared_memory_keys", "shared_memory_covertype")


def _shared_runs(*folders: str) -> Iterator[tuple[list[str], tuple[str, float], pd.DataFrame]]:
    """Yield for each dataset and memory: cells of a row, its place, and mistakes by permutation and label."""
    for folder in folders:
        results = _evidence.results(folder)
        sizes = [float(json.loads(given)["shared_memory"]) for given in results.runs["parameters"]]
        runs, order = results.runs.assign(bytes=sizes), [one.label for one in results.config.datasets]
        places = {*zip(runs["dataset"], sizes, strict=True)}
        for dataset, size in sorted(places, key=lambda place: (order.index(place[0]), place[1])):
            own = runs[(runs["dataset"] == dataset) & (runs["bytes"] == size)].astype({"repetition": int})
            mistakes = own.pivot(index="repetition", columns="label", values="mistakes")
            error = 100 * own.loc[own["label"] == "equal split", "online_error"].mean()
            yield [results.title(dataset), f"{size:,.0f}", f"{error:.2f}"], (dataset, size), mistakes


def _of_place(name: str, place: tuple[str, float]) -> pd.DataFrame:
    """Return the rows of a table of shared memory for a dataset and a memory, by permutation."""
    table = pd.read_csv(RESULTS / "shared_memory" / name)
    own = table[(table["dataset"] == place[0]) & (table["bytes"] == place[1])]
    return own.set_index("repetition").sort_index()


def _with_interval(values: pd.Series, form: str = "+.1f") -> str:
    """Return a mean with its 95% interval."""
    from scipy.stats import t

    half = t.ppf(0.975, len(values) - 1) * values.std() / math.sqrt(len(values))
    return f"{values.mean():{form}} ± {half:{form.lstrip('+')}}"


def _shared_measured() -> str:
    """Return differences in mistakes from the equal split at equal bytes, with 95% intervals over permutations."""
    policies = ["oldest", "least damage", "sum bound", "harmless", "square root", "younger half", "best fixed split"]
    rows = []
    for cells, place, mistakes in _shared_runs(*_SHARED):
        best = _of_place("splits.csv", place)["mistakes"]
        every = mistakes.assign(**{"best fixed split": best}) if len(best) else mistakes
        changes = 100 * (every.div(every["equal split"], axis=0) - 1)
        rows.append([*cells, *(_with_interval(changes[name]) if name in changes else "-" for name in policies)])
    header = ["learners", "bytes", "equal split, error %", *(f"{label}, mistakes %" for label in policies)]
    return markdown_table(header, rows)


def _shared_worth() -> str:
    """Return what the best policy is worth in bytes, and what memories make that are filled once, or have no limit."""
    rows = []
    for cells, place, mistakes in _shared_runs(*_SHARED):
        policy, found = "younger half" if "younger half" in mistakes else "harmless", _of_place("worth.csv", place)
        times = _with_interval(found["times"], ".2f") if np.isfinite(found["times"]).all() else "-"
        each = (mistakes[policy], found["unlimited"], found["filled_once"])
        changes = (_with_interval(100 * (column / mistakes["equal split"] - 1)) for column in each)
        rows.append([*cells, f"`{policy.replace(' ', '_')}`", times, *changes])
    header = ["learners", "bytes", "equal split, error %", "policy", "worth, times the bytes", "policy, mistakes %"]
    return markdown_table([*header, "no limit, mistakes %", "filled once, mistakes %"], rows)


# Tables that are named as their functions; then the others.
_NAMED = (
    _shared_measured, _shared_worth, _shared_checks, _shared_keys, _papers, _table81, _projectron, _ahpatron,
    _ahpatron_calibrated, _mpu, _river, _river_drift, _configs, _guide_budget, _guide_field, _guide_held, _tuned,
    _guide_seconds, _guide_growth, _guide_drift, _guide_classes,
)  # fmt: skip
TABLES: dict[str, Callable[[], str]] = {table.__name__.removeprefix("_"): table for table in _NAMED} | {
    "rules": all_rules,
    "solvers": all_solvers,
    "rivals": partial(_rivals, True),
    "rivals_whole": partial(_rivals, True, True),
    "rivals_unseen": partial(_rivals, True, unseen=True),
    "rivals_numbers": partial(_rivals, False),
    "rivals_numbers_unseen": partial(_rivals, False, unseen=True),
    "rivals_met": _met,
    "auto_reliability": _reliability,
    "auto_balance": _balance,
    "auto_drift": _drift,
    "auto_tails": _tails,
    "guide_declared": said,
}


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    texts = numbers()
    for path in PAGES:
        path.write_text(page(path.name, path.read_text(encoding="utf-8"), texts), encoding="utf-8")
