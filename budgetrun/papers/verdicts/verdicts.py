"""The verdict on each claim of the papers: judged from committed results, and one page of all of them."""

import math
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from budgetrun.base.errors import InputError
from budgetrun.base.files import make_folder
from budgetrun.base.files import write as write_file
from budgetrun.base.grid import Cell, Grid
from budgetrun.base.params import Condition
from budgetrun.config.schema import Label
from budgetrun.papers.verdicts.claims import Claim, Paper, load_claims
from budgetrun.results import plotting
from budgetrun.results.report.evidence import Evidence, Number
from budgetrun.results.report.formats import template
from budgetrun.results.report.numbers import Budget

VERDICTS = ("confirmed", "refuted", "partly", "open")
NAME = "verdicts"
_HOLDS = {True: Cell("yes"), False: Cell("no", mark="no"), None: Cell("undecided")}
_TITLE = "Which claims of the five papers hold"


@dataclass(frozen=True)
class Case:
    """One case of a claim: what it is, the numbers in it, and whether the condition holds, None if undecided."""

    selectors: dict[str, Label]
    numbers: dict[str, Number]
    holds: bool | None


@dataclass(frozen=True)
class Judged:
    """A claim with the cases that decide it, and the verdict that these give."""

    paper: Paper
    claim: Claim
    cases: list[Case]
    verdict: str

    @property
    def grid(self) -> Grid:
        """The cases with their numbers, and whether the condition holds."""
        titles = {name: spec.title or self.name(spec.label or name) for name, spec in self.claim.numbers.items()}
        names = [Cell(title, below=(name,)) for name, title in titles.items()]
        rows: list[list[str | Cell]] = [
            [self.words(case) or "all", *(number.text for number in case.numbers.values()), _HOLDS[case.holds]]
            for case in self.cases
        ]
        rows += [[name, *(["not here"] * len(names)), _HOLDS[None]] for name in self.claim.missing]
        return Grid(["case", *names, "holds"], rows, words=(0, len(names) + 1))

    @property
    def n_held(self) -> int:
        """The number of cases in which the condition holds."""
        return sum(case.holds is True for case in self.cases)

    @property
    def streams(self) -> str:
        """Over how many streams the averages are, in words; empty if there are none."""
        counts = sorted({number.n for case in self.cases for number in case.numbers.values() if number.n})
        if not counts or counts == [1]:
            return ""
        return f"Means over {f'{counts[0]} to {counts[-1]}' if len(counts) > 1 else counts[0]} streams."

    @property
    def contradiction(self) -> str:
        """A sentence if the verdict differs from the one that the claim states; otherwise empty."""
        if self.verdict == self.claim.verdict:
            return ""
        failing = [self.words(case) or "its only case" for case in self.cases if case.holds is False]
        where = f"does not hold for: {'; '.join(failing)}" if failing else "fails in no case"
        return (
            f"{self.paper.name}, {self.claim.name}: the results say {self.verdict}, "
            f"but the claim states {self.claim.verdict}; the condition {where}"
        )

    def name(self, text: Label) -> str:
        """Return what the page calls a label or a dataset."""
        return self.paper.names.get(str(text), str(text))

    def words(self, case: Case) -> str:
        """Return a case in words: ``USPS, B = p/4``."""
        found = []
        for key, value in case.selectors.items():
            if key in ("budget", "budget_fraction"):
                found.append(Budget("fraction" if key == "budget_fraction" else "budget", float(value)).title())
            elif key not in ("results", "chosen_in", "quantity") or str(value) in self.paper.names:
                found.append(self.name(value))
        return ", ".join(filter(None, found))


def judge(paper: Paper, claim: Claim, evidence: Evidence) -> Judged:
    """Compute the numbers of a claim and the verdict that they give; an InputError if runs for them are missing."""
    cases = [_case(paper, claim, one, evidence) for one in claim.all_cases] if claim.numbers else []
    return Judged(paper, claim, cases, _verdict(claim, cases))


def _case(paper: Paper, claim: Claim, selectors: dict[str, Label], evidence: Evidence) -> Case:
    given = {"results": claim.results, **selectors} if claim.results else selectors
    numbers: dict[str, Number] = {}
    for name, spec in claim.numbers.items():
        where = f"{paper.name}, {claim.name}, {name}"
        numbers[name] = evidence.number(spec, given, numbers, where)
        if not math.isfinite(numbers[name].value):
            raise InputError(f"{where}: is not a finite number for {selectors or 'the claim'}")
    values = {name: word.value for name, word in paper.words.items()}
    values |= {name: number.value for name, number in numbers.items()}

    def is_true(condition: str | None) -> bool:
        return condition is not None and Condition(condition, tuple(values))(**values)

    nothing = claim.holds is None or is_true(claim.undecided)
    return Case(selectors, numbers, None if nothing else is_true(claim.holds))


def _verdict(claim: Claim, cases: list[Case]) -> str:
    """Return the verdict: of cases that differ in the selector ``some`` alone, one that holds is enough."""
    if claim.holds is None:
        return "open"
    groups: dict[Any, set[bool | None]] = {}
    for case in cases:
        key = tuple((name, value) for name, value in case.selectors.items() if name != claim.some)
        groups.setdefault(key, set()).add(case.holds)
    n = len(groups) + len(claim.missing)
    held = sum(True in group for group in groups.values())
    failed = sum(group == {False} for group in groups.values())
    if held == n or (claim.needs == "most" and 2 * held > n):
        return "confirmed"
    if claim.needs == "every" and held:
        return "partly"
    return "refuted" if failed and (claim.needs != "most" or 2 * failed >= n) else "open"


def count(judged: list[Judged]) -> str:
    """Return how many claims have each verdict: ``5 claims: 3 confirmed, 1 refuted, 0 partly, 1 open``."""
    # Theorems and identities are counted apart, because data cannot refute them.
    parts = []
    for proved, nouns in ((False, ("claim", "claims")), (True, ("theorem or identity", "theorems and identities"))):
        if own := [one for one in judged if one.claim.proved is proved]:
            verdicts = ", ".join(f"{n} {verdict}" for verdict, n in zip(VERDICTS, counts(own), strict=True))
            parts.append(f"{len(own)} {nouns[len(own) > 1]}: {verdicts}")
    return "; ".join(parts)


def counts(judged: list[Judged]) -> list[int]:
    """Return the number of claims with each of `VERDICTS`."""
    found = Counter(one.verdict for one in judged)
    return [found[verdict] for verdict in VERDICTS]


@dataclass(frozen=True)
class Verdicts:
    """All claims, judged."""

    judged: list[Judged]
    evidence: Evidence

    @property
    def papers(self) -> list[tuple[Paper, list[Judged], list[Judged]]]:
        """Each paper with its own claims and with what was found beside them."""
        papers = {one.paper.name: one.paper for one in self.judged}
        split: dict[tuple[str, bool], list[Judged]] = {}
        for one in self.judged:
            split.setdefault((one.paper.name, one.claim.found), []).append(one)
        return [(paper, split.get((name, False), []), split.get((name, True), [])) for name, paper in papers.items()]

    @property
    def contradictions(self) -> list[str]:
        """A sentence for each claim whose verdict is not the stated one."""
        return [one.contradiction for one in self.judged if one.contradiction]

    @property
    def summary(self) -> str:
        """The number of the papers' claims with each verdict."""
        return count([one for _, own, _ in self.papers for one in own])

    def link_text(self, see: str) -> str:
        """Return what the page calls something that a claim refers to: the title of the table or figure."""
        folder, _, path = see.partition("/")
        report = self.evidence.results(folder).report
        name = Path(path).stem
        captions = {table.name: table.caption for table in report.tables if path.startswith("tables/")}
        captions |= {plotting.slug(figure.name): figure.title for figure in report.figures if path.endswith(".png")}
        return re.split(r"\.(?: |$)", captions.get(name) or f"{folder}, {name.replace('_', ' ')}")[0]

    @property
    def by_paper(self) -> Grid:
        """The number of claims with each verdict, by paper; theorems and identities are counted apart."""
        rows = []
        for paper, own, _ in self.papers:
            by_data, proved = (counts([one for one in own if one.claim.proved is which]) for which in (False, True))
            rows.append([paper.title, *map(str, by_data), f"{proved[0]} of {sum(proved)}"])
        return Grid(["paper", *VERDICTS, "theorems and identities that hold"], rows)

    @property
    def words(self) -> Grid:
        """The words of claims that stand for a number."""
        words = self.judged[0].paper.words if self.judged else {}
        rows = [[name, f"{word.value:g}", word.means] for name, word in words.items()]
        return Grid(["word", "number", "meaning"], rows, words=(0, 2))

    @property
    def sources(self) -> Grid:
        """The results folders that decided claims: name, source, runs, end and commit."""
        rows = []
        for name in sorted({name for one in self.judged for name in _folders(one)}):
            results = self.evidence.results(name)
            manifest = results.manifest
            commit = str((manifest.get("git") or {}).get("commit") or "")[:10]
            ended = str(manifest.get("end") or "")[:10]
            rows.append([name, str(manifest.get("source") or ""), f"{len(results.runs):,}", ended, commit])
        return Grid(["results", "source", "runs", "ended", "commit"], rows, words=(0, 1))

    def write(self) -> list[Path]:
        """Write ``verdicts/verdicts.html`` and ``.md`` into the results folder; return their paths."""
        folder = self.evidence.folder / NAME
        make_folder(folder)
        paths = [folder / f"{NAME}.html", folder / f"{NAME}.md"]
        for path in paths:
            text = template(f"{path.name}.jinja").render(title=_TITLE, verdicts=self, count=count)
            write_file(path, re.sub(r"\n{3,}", "\n\n", text).strip() + "\n")
        return paths


def _folders(judged: Judged) -> set[str]:
    """Return the results folders that decide a claim."""
    claim = judged.claim
    named = [claim.results, *(case.selectors.get("results") for case in judged.cases)]
    named += [spec.results for spec in claim.numbers.values()]
    named += [(spec.chosen_in or "").rpartition("/")[0] for spec in claim.numbers.values()]
    return {str(name) for name in named if name} if judged.cases else set()


def judge_all(folder: Path, claims: Path | None = None) -> Verdicts:
    """Judge all claims, of the folder ``claims``, by the results folders in ``folder``, one for each config.

    An InputError says that there are no results, that they are missing or damaged, or that claims are wrong.
    """
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder; name one with results folders: budgetrun verdicts --results DIR")
    evidence = Evidence(folder)
    papers = load_claims(claims)
    return Verdicts([judge(paper, claim, evidence) for paper in papers for claim in paper.claims], evidence)
