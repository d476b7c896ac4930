"""Claims of papers: mistakes in their files, each in a sentence, and the conditions that decide them."""

import re

import pytest
from faults import raises

from budgetrun.base.errors import InputError
from budgetrun.base.params import Condition
from budgetrun.papers.verdicts.claims import load_claims

CLAIM = """\
name: paper
year: 2010
title: "A paper"
source: "Somebody (2010)"
claims:
  - name: one
    claim: "It holds."
    where: "section 1"
    verdict: confirmed
    results: a
    cases: {dataset: [a, b]}
    numbers:
      x: {label: perceptron}
      y: {formula: 2 * x}
    holds: x < y
"""


def read(tmp_path, text):
    (tmp_path / "paper.yaml").write_text(text)
    return load_claims(tmp_path)


def test_cases_are_combinations(tmp_path):
    two = CLAIM.replace("{dataset: [a, b]}", "[{dataset: [a, b], budget: [1, 2]}, {dataset: c, budget: 3}]")
    (paper,) = read(tmp_path, two)
    cases = [tuple(case.values()) for case in paper.claims[0].all_cases]
    assert cases == [("a", 1), ("a", 2), ("b", 1), ("b", 2), ("c", 3)]


@pytest.mark.parametrize(("old", "new", "message"), [
    ("verdict: confirmed", "verdict: true", "9: claims[0].verdict: must be one of confirmed, refuted"),
    ("holds: x < y", "holds: x < z", "15: claims[0].holds: 'x < z' may use only numbers"),
    ("holds: x < y", "holds: x + y", "15: claims[0].holds: 'x + y' must compare formulas with < <= > >= =="),
    ("2 * x", "2 * y", "14: claims[0].numbers.y.formula: '2 * y' may use only numbers"),
    ("label: perceptron", "budgets: 3", "13: claims[0].numbers.x.budgets: unknown key; did you mean 'budget'?"),
    ("{dataset: [a, b]}", "{data: [a, b]}", "11: claims[0].cases: unknown key; did you mean 'dataset'?"),
    ("    holds: x < y\n", "", "6: claims[0].holds: exactly one of holds and open must be given"),
    ("    holds: x < y\n", '    open: "why"\n', "9: claims[0].verdict: must be open, because the key open says why"),
    ("    holds", "    undecided: z < 1\n    holds", "15: claims[0].undecided: 'z < 1' may use only numbers"),
    ("    holds", "    some: size\n    holds", "15: claims[0].some: must be a selector of the cases"),
])  # fmt: skip
def test_mistakes_are_sentences(tmp_path, old, new, message):
    raises(InputError, f"^{re.escape(f'{tmp_path}/paper.yaml:{message}')}", read, tmp_path, CLAIM.replace(old, new))


def test_words_stand_for_numbers_in_conditions(tmp_path):
    (tmp_path / "words.yaml").write_text('much: {value: 2, means: "twice"}\n')
    (paper,) = read(tmp_path, CLAIM.replace("holds: x < y", "holds: much * x <= y"))
    assert paper.words["much"].value == 2
    (tmp_path / "words.yaml").write_text("much: {value: two}\n")
    raises(InputError, r"words\.yaml:1: much\.value: must be a number", load_claims, tmp_path)


def test_conditions():
    names = ("a", "b")
    assert Condition("a < b < 3 and b == 2 or a > 9", names)(a=1, b=2)
    assert not Condition("a < b and b > 2", names)(a=1, b=2)
    assert Condition("a >= 1 and a <= 1", names)(a=1, b=2)
