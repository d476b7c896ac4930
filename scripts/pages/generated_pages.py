"""Generate parts of docs/arena.md, gallery.md and learners.md from results, code and configs, for write_numbers.py."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from benchmarks.pages import markdown_table
from budgetrun import config as configs
from budgetrun import estimators, learners
from budgetrun.base.params import STARTING
from budgetrun.config.schema import Config
from budgetrun.engine.group import trial
from budgetrun.engine.hypotheses.base import bytes_needed
from budgetrun.kernels import Gaussian
from budgetrun.learners.page import sections
from budgetrun.papers import solvers, theory
from budgetrun.papers.arena.site import Arena
from budgetrun.play import selection
from budgetrun.results.store.read import load

TOP = Path(__file__).resolve().parents[2]
RESULTS = TOP / "results"
# `make demo` writes its results, which are not committed.
DEMO = "quickstart"
CLAIMS = TOP / "configs" / "claims"


class Kind(NamedTuple):
    """A kind of learners: those with one of these forms, or whose rule uses one of these verbs of an expansion."""

    text: str
    forms: frozenset[str] = frozenset()
    verbs: str = ""


# If a rule uses verbs of several kinds, the last of these counts.
KINDS = {
    "No limit": Kind(
        "Every example that is added stays, so memory and time per round grow with the stream. Only Stoptron adds none "
        "to a full support set.",
        verbs="add",
    ),
    "Removal": Kind(
        "Examples leave again: in most cases, one for each that joins a full support set.", verbs="evict|displace"
    ),
    "Shrinking": Kind(
        "All weights shrink, so that an old example has a small weight when it is removed.", verbs="scale"
    ),
    "Merging": Kind(
        "Two points of a full support set become one, which is between them and need not be an example.",
        frozenset({"points"}),
    ),
    "Projection": Kind(
        "An example that is near to others, or nearly lies in their span, is represented by these; or they take over "
        "what leaves. In a learner without a budget, eta or alpha is how far from the span an example may be: a larger "
        "one gives a smaller support set.",
        frozenset({"projected", "covering"}),
        "project|keep",
    ),
    "Second thoughts": Kind(
        "The prediction adds a hint, the mean of the last examples.", frozenset({"hinted_framed", "optimistic"})
    ),
    "Second order": Kind(
        "Newton steps in coordinates of the support set or of a dictionary, with a matrix of as many rows and columns.",
        frozenset({"curved", "embedded"}),
    ),
    "Explicit features": Kind(
        "The hypothesis is, becomes, or has in addition a weight vector over features: those of the examples, or "
        "others that approximate the kernel.",
        frozenset({"features", "linear", "nystroem", "sketched", "absorbing"}),
    ),
    "Many kernels": Kind(
        "One learner with several kernel widths, weighted or drawn by their losses so far, or combined by a learner of "
        "their scores ([auto](auto.md)). Rules of selection, below, do so with any learners.",
        frozenset({"mixture", "drawn", "stacked"}),
    ),
}


# -- learners ----------------------------------------------------------------------------------------------------------


def all_learners() -> str:
    """Return a table of learners for each kind."""
    kinds: dict[str, list[list[str]]] = {title: [] for title in KINDS}
    for variants in learners.registry().values():
        for learner in variants.values():
            kinds[_kind(learner)].append(_learner_row(learner))
    head = ["learner", "rule", "cost per round", "mistake bound", "classes", "measured in"]
    parts = [f"## {title}\n\n{kind.text}\n\n{markdown_table(head, kinds[title])}" for title, kind in KINDS.items()]
    numbers = [learner for variants in learners.registry("regression").values() for learner in variants.values()]
    text = "The labels are numbers, and the score is the prediction: `task: regression` in a config."
    parts.append(f"## Regression\n\n{text}\n\n{markdown_table(head, map(_learner_row, numbers))}")
    return "\n\n".join(parts)


def declared() -> str:
    """Return which learners say that they keep B x B tables, and which that their source was not at hand."""
    squares: dict[str, None] = {}
    unread: dict[str, None] = {}
    for task, shape in (("binary", ()), ("multiclass", (3,)), ("regression", ())):
        for learner in (one for variants in learners.registry(task).values() for one in variants.values()):
            wanted = inspect.signature(learner).parameters
            if "budget" in wanted:
                required = [name for name, one in wanted.items() if one.default is one.empty and name in STARTING]
                given = {name: STARTING[name] for name in required}
                if bytes_needed(*trial(learner(budget=1000, **given), Gaussian(gamma=1.0), *shape), 100):
                    squares.setdefault(learner.title)
            if "not at hand" in " ".join((learner.__doc__ or "").split()):
                unread.setdefault(learner.title)
    rows = [
        ["With a budget, it also keeps tables of B x B numbers", "; ".join(squares)],
        ["Its source was not at hand; its page names what it follows instead", "; ".join(unread)],
    ]
    return markdown_table(["what learners say of themselves", "learners"], rows)


def all_solvers() -> str:
    head = ["solver", "rule", "cost", "bound on its updates", "measured in"]
    return markdown_table(head, map(_solver_row, solvers.registry().values()))


def all_rules() -> str:
    head = ["rule", "what it does", "bound on its expected mistakes", "measured in"]
    return markdown_table(head, map(_rule_row, selection.registry().values()))


def _kind(learner: type[Any]) -> str:
    for title, kind in KINDS.items():
        if learner.form.form in kind.forms:
            return title
    own = [base for base in learner.__mro__ if base.__module__.startswith("budgetrun.learners.")]
    rules = "".join(inspect.getsource(base) for base in own if not inspect.isabstract(base))
    # Verbs of f, and functions of f that are named after them; then what the rule leaves to functions of its module.
    for text in (rules, Path(inspect.getfile(learner)).read_text(encoding="utf-8")):
        for title, kind in reversed(KINDS.items()):
            if kind.verbs and re.search(rf"\bf\.({kind.verbs})\(|\b({kind.verbs})\w*\(f\b", text):
                return title
    raise AssertionError(f"{learner.__name__} has no kind: give its form, {learner.form.form}, one in KINDS")


def _learner_row(learner: type[Any]) -> list[str]:
    several = learners.registry("multiclass").get(learner.name, {}).get(learner.variant)
    known = estimators.CLASSIFIERS | estimators.REGRESSORS
    made = next(name for name, kind in known.items() if learner in kind._learners.values())
    bounds = [bound.name for bound in theory.registry() if bound.is_about(learner)]
    name = f"{learner.name}({learner.variant})" if learner.variant else learner.name
    python = f'{made}(variant="{learner.variant}")' if learner.variant else made
    return [
        f"**{_escaped(learner.title)}**<br>`{name}`<br>`{python}`<br>{_paper(learner)}",
        _rule(learner),
        _cost(learner),
        "<br>".join(bounds) or "none",
        "numbers" if learner.task == "regression" else "two or more" if several else "two",
        _measured(learner.name, learner.variant, learner.task),
    ]


def _solver_row(solver: type[Any]) -> list[str]:
    # Each theorem is about one of the two problems, with and without slack.
    made = [solver(), *([solver(hard_margin=True)] if "hard_margin" in inspect.signature(solver).parameters else [])]
    bounds = [bound.name for bound in theory.registry() if any(map(bound.is_about, made))]
    name = f"**{solver.title}**<br>`{solver.name}`<br>{_paper(solver)}"
    return [name, _rule(solver), _cost(solver), "<br>".join(bounds) or "none", _measured(solver.name, None, "binary")]


def _rule_row(rule: type[Any]) -> list[str]:
    links = _links(lambda config: any(spec.rule == rule.name for spec in config.select))
    name = f"**{rule.title}**<br>`{rule.name}`<br>{_paper(rule)}"
    return [name, _rule(rule), _escaped(rule.theorem.partition(": ")[2]), "<br>".join(links) or "nothing committed"]


def _rule(thing: type[Any]) -> str:
    return _escaped((inspect.getdoc(thing) or "").partition("\n")[0])


def _section(thing: type[Any], title: str) -> str:
    """Return a section of a docstring, in one line."""
    return " ".join(sections(inspect.getdoc(thing) or "").get(title, "").split())


def _paper(thing: type[Any]) -> str:
    """Return the authors and the year of a docstring's first reference."""
    found = re.match(r"[^)]*\)", _section(thing, "References"))
    return found[0] if found else "no paper"


def _cost(thing: type[Any]) -> str:
    """Return the first sentence of the notes that says how the cost grows."""
    sentences = re.split(r"(?<=[^.\s])\. ", _section(thing, "Notes"))
    cost = next((sentence for sentence in sentences if "O(" in sentence), "not stated")
    return _escaped(re.sub(" per round(?! and)", "", cost.removesuffix("."), count=1))


def _escaped(text: str) -> str:
    return re.sub(r"([|*_<])", r"\\\1", text)


@cache
def _committed() -> dict[str, Config]:
    """Return the configs whose results are committed, by name."""
    return {
        path.parent.name: configs.load(TOP / "configs" / f"{path.parent.name}.yaml")
        for path in sorted(RESULTS.glob("*/manifest.json"))
        if path.parent.name != DEMO
    }


def _links(wanted: Callable[[Config], bool]) -> list[str]:
    return [f"[{name}](../results/{name}/report.html)" for name, config in _committed().items() if wanted(config)]


def _measured(name: str, variant: str | None, task: str) -> str:
    links = _links(
        lambda config: (
            (config.task == "regression") == (task == "regression")
            and any((entry.name, entry.variant) == (name, variant) for entry in config.algorithms)
        )
    )
    more = [f"and {len(links) - 3} more"] if len(links) > 3 else []
    return "<br>".join([*links[:3], *more]) or "nothing committed"


# -- gallery -----------------------------------------------------------------------------------------------------------


def gallery() -> str:
    """Return a section of figures for each config whose results are committed."""
    papers = {path.stem: yaml.safe_load(path.read_text(encoding="utf-8")) for path in sorted(CLAIMS.glob("*.yaml"))}
    seen: dict[str, list[str]] = {}
    for paper in papers.values():
        for claim in paper.get("claims", ()):
            for file in claim.get("see", ()):
                seen.setdefault(file, []).append(f"- {_escaped(claim['claim'])} *{claim['verdict'].capitalize()}.*")
    sections = []
    # Experiments of our own come last.
    for folder, config in sorted(_committed().items(), key=lambda item: item[0].partition("_")[0] not in papers):
        figures = _figures(folder, config)
        if not figures:
            continue
        commands = [f"budgetrun sweep {folder}"]
        if any(file.startswith("bounds_") for file in figures):
            commands.append(f"budgetrun bounds results/{folder}")
        paper = papers.get(folder.partition("_")[0])
        description = " ".join(config.description.split())
        place = re.search(r"((?:Figure|Table) [\d.]+\w?(?:, [^;]+)?)", config.source)
        title = place[1] if place else re.split(r"[:,.]", description)[0]
        lines = [
            f"## {paper['title']}: {title}" if paper else f"## {title}",
            description,
            f"Config [`{folder}`](../configs/{folder}.yaml), [its page of results](../results/{folder}/report.html):",
            "\n".join(["```", *commands, "```"]),
        ]
        for file, title in figures.items():
            path = f"{folder}/figures/{file}"
            claims = ["\n".join(seen[path])] if path in seen else []
            lines += [f"### {title}", *claims, f"![{title}](../results/{path})"]
        sections.append("\n\n".join(lines))
    return "\n\n".join(sections)


def _figures(folder: str, config: Config) -> dict[str, str]:
    """Return the titles of the figures of a results folder, by file: the config's, then those of bounds."""
    titles = {f"{figure.name}.png": figure.title for figure in config.report.figures}
    for dataset in config.datasets:
        shown = config.report.titles.get(dataset.label, dataset.label)
        titles[f"bounds_{dataset.label}.png"] = f"Mistakes and their bounds: {shown}"
    return {file: title for file, title in titles.items() if (RESULTS / folder / "figures" / file).is_file()}


def arena() -> str:
    """Return what the site of the arena says first."""
    sentences = Arena(load(RESULTS / "arena")).sentences
    return "\n".join(["## What was found", "", *(f"- {sentence}" for sentence in sentences)])


PARTS = {"arena": arena, "learners": all_learners, "gallery": gallery}
