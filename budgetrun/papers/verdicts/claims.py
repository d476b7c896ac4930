"""The claims of a paper: what it says, the numbers that decide it, and the verdict that they give."""

import itertools
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from budgetrun.base.errors import InputError
from budgetrun.base.files import own_folder
from budgetrun.base.params import Condition
from budgetrun.config.problems import (
    Checker,
    FileName,
    Text,
    Values,
    ValueType,
    allowed_names,
    unknown_key,
    value_types,
)
from budgetrun.config.report import check_formula, read_numbers
from budgetrun.config.schema import Label, NumberSpec
from budgetrun.config.yaml import KeyPath, parse, read_text

Cases = dict[str, Label | list[Label]]
Verdict = Literal["confirmed", "refuted", "partly", "open"]


class _Spec(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Claim(_Spec):
    """A statement of a paper, and the numbers that decide it."""

    name: FileName  # unique in the paper
    claim: Text  # in one sentence
    where: Text  # section, table or figure of the paper
    found: bool = False  # not in the paper, but found by these runs
    proved: bool = False  # a theorem or an identity, which only a mistake in a program could refute
    verdict: Verdict
    open: Text | None = None  # why no run decides it; its numbers, if any, are shown without a condition
    results: FileName | None = None
    # Selector -> value or values: the condition must hold in each combination. A number without a selector of its own
    # uses that of the case. A list of such mappings gives the combinations of each.
    cases: Cases | list[Cases] = {}
    numbers: dict[str, NumberSpec] = {}
    holds: Text | None = None
    undecided: Text | None = None  # the condition under which a case says nothing, because its difference may be noise
    missing: tuple[Text, ...] = ()  # cases that the paper has and these runs do not: they say nothing, either
    some: Text | None = None  # the selector for one of whose values the condition must hold
    # The cases in which it must hold: every one (some alone make a claim partly true), most of them, or always (a
    # theorem, which a single case refutes).
    needs: Literal["every", "most", "always"] = "every"
    see: tuple[Text, ...] = ()  # files of the results folders: tables without their suffix, figures and pages
    conditions: Text | None = None

    @property
    def all_cases(self) -> list[dict[str, Label]]:
        """The combinations of the cases' selectors; a single empty one without any."""
        found: list[dict[str, Label]] = []
        for cases in self.cases if isinstance(self.cases, list) else [self.cases]:
            values = [value if isinstance(value, list) else [value] for value in cases.values()]
            found += [dict(zip(cases, combination, strict=True)) for combination in itertools.product(*values)]
        return found


class Word(_Spec):
    """A word of claims, such as "much", as a number in their conditions."""

    value: float
    means: Text


class Paper(_Spec):
    """A paper and its claims."""

    name: FileName
    year: int
    title: Text
    source: Text
    names: dict[str, str] = {}  # label or dataset -> what the page calls it
    claims: tuple[Claim, ...]
    words: dict[str, Word] = {}  # those of all papers


_LIST = ValueType(list[Any])
_WORDS = "words.yaml"
_MAPPING = ValueType(dict[str, Any], required=False)
_SELECTORS = {"dataset", "label", "budget", "budget_fraction", "setting", "chosen_in", "quantity", "theorem", "results"}


def load_claims(folder: Path | None = None) -> list[Paper]:
    """Read and check the claims of all papers, the oldest first, from a folder with one YAML file per paper.

    The file ``words.yaml``, if there is one, has the words of all papers. The default folder is ``configs/claims``. An
    InputError has one line per problem.
    """
    folder = folder or own_folder("configs") / "claims"
    words = {"words": _read(path, _words) if (path := folder / _WORDS).is_file() else {}}
    papers = [_read(path, partial(_paper, words)) for path in folder.glob("*.yaml") if path.name != _WORDS]
    return sorted((Paper(**paper) for paper in papers), key=lambda paper: (paper.year, paper.name))


def _read(path: Path, take: Callable[[Checker, Any], Values]) -> Values:
    document = parse(read_text(path))
    checker = Checker(document, path.parent)
    given = {} if document.problems else take(checker, document.data)
    if checker.problems:
        raise InputError("\n".join(f"{path}:{problem}" for problem in sorted(checker.problems)))
    return given


def _words(checker: Checker, words: Any) -> Values:
    return {name: checker.values(word, (name,), value_types(Word)) for name, word in words.items()}


def _paper(words: Values, checker: Checker, data: Any) -> Values:
    given = checker.values(data, (), value_types(Paper) | {"claims": _LIST})
    names = tuple(words["words"])
    claims = [_claim(checker, entry, ("claims", i), names) for i, entry in enumerate(given.get("claims", []))]
    checker.unique([claim.get("name") for claim in claims], "claims", "name")
    return {**given, "claims": claims, **words}


def _claim(checker: Checker, entry: Any, path: KeyPath, words: tuple[str, ...]) -> Values:
    claim = checker.values(entry, path, value_types(Claim) | {"numbers": _MAPPING})
    numbers = read_numbers(checker, claim.get("numbers", {}), (*path, "numbers"))
    if numbers:
        claim["numbers"] = numbers
    for key in ("holds", "undecided"):
        if claim.get(key):
            check_formula(checker, Condition, claim[key], (*numbers, *words), (*path, key))
    cases = claim.get("cases", {})
    keys = set(itertools.chain.from_iterable(cases if isinstance(cases, list) else [cases]))
    for key in sorted(keys - _SELECTORS):
        checker.add((*path, "cases"), unknown_key(key, sorted(_SELECTORS)))
    if claim.get("some") is not None and claim["some"] not in keys:
        checker.add((*path, "some"), f"must be a selector of the cases{allowed_names(sorted(keys))}")
    if claim.get("open") is not None and claim.get("verdict") != "open":
        checker.add((*path, "verdict"), "must be open, because the key open says why")
    if claim and (claim.get("holds") is None) == (claim.get("open") is None):
        checker.add((*path, "holds"), "exactly one of holds and open must be given")
    return claim
