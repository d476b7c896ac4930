"""Every number on README.md and docs/*.md is the one that the committed results give."""

import importlib.util
import re

import pytest
from sweeping import TOP

from budgetrun import config

SCRIPT = TOP / "scripts" / "pages" / "write_numbers.py"
# What looks like a measurement: decimals, thousands, powers of ten, and integers with a unit.
MEASURED = re.compile(r"(?<![\w.,/])\d+(?:,\d{3})*(?:\.\d+)?(?:e-?\d+)?(?:%| times| s\b| seconds)?(?![\w,]\d)")


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("write_numbers", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def texts(script):
    return script.numbers()


@pytest.mark.committed
def test_pages_are_as_the_script_writes_them(script, texts):
    for path in script.PAGES:
        text = path.read_text(encoding="utf-8")
        assert script.page(path.name, text, texts) == text, f"{path.name}: type python scripts/pages/write_numbers.py"


@pytest.mark.committed
def test_changed_numbers_and_tables_are_put_right(script, texts):
    text = (TOP / "docs" / "agreement.md").read_text(encoding="utf-8")
    changed = text.replace("are 793 on a9a", "are 794 on a9a").replace("| phishing | 0.5 |", "| phishing | 0.6 |")
    assert changed.count("\n") == text.count("\n")
    assert changed != text
    assert script.page("agreement.md", changed, texts) == text


@pytest.mark.committed
def test_a_sentence_that_is_gone_is_named(script, texts):
    with pytest.raises(ValueError, match=r"agreement.md must have this sentence once, and has it 0 times"):
        script.page("agreement.md", "No sentences.", texts)


def untraced(name: str, text: str, given: list[str]) -> list[str]:
    """Return what looks like a measurement in the sentences of a page."""
    text = re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"`[^`]*`|\]\([^)]*\)", "", text)
    # A phrase may be broken across lines.
    text = " ".join(text.split())
    for phrase in given:
        assert phrase in text, f"{name} does not say {phrase!r}; remove it from docs/numbers.yaml"
        text = text.replace(phrase, "")
    return [found for found in MEASURED.findall(text) if re.search(r"[.,e%a-z]", found)]


@pytest.mark.committed
def test_no_measurement_is_typed(script, texts):
    declared = script.declared()
    assert {path.name for path in script.PAGES} >= declared["given"].keys()
    for path in script.PAGES:
        # Neither tables and parts that are generated, nor the numbers that are computed.
        text = path.read_text(encoding="utf-8")
        # tests/engine/test_tolerances.py compares these with the code.
        text = re.sub(r"^## Tolerances$.*?(?=^## |\Z)", "", text, flags=re.DOTALL | re.MULTILINE)
        for name in declared["tables"].get(path.name, ()):
            text = text.replace(script.TABLES[name](), "")
        for name in declared["parts"].get(path.name, ()):
            text = text.replace(script.PARTS[name](), "")
        text = script.page(path.name, text, dict.fromkeys(texts, "?"), generated=False)
        assert untraced(path.name, text, declared["given"].get(path.name, [])) == [], path.name


@pytest.mark.parametrize(("text", "found"), [
    ("It errs on 7.25% of 11,055 rounds.", ["7.25%", "11,055"]),
    ("It takes 57 times as long, or 3 s, within 1e-6.", ["57 times", "3 s", "1e-6"]),
    ("It ends with 774 of 793 examples, in 2009.", []),
    ("A `gamma` of `0.04`, [here](a_0.1.md).", []),
])  # fmt: skip
def test_what_looks_like_a_measurement(text, found):
    assert untraced("a page", text, []) == found


@pytest.mark.parametrize("path", sorted((TOP / "configs").glob("*.yaml")), ids=lambda path: path.stem)
def test_findings_type_no_error_that_was_measured(path):
    report = config.load(path).report
    # These come from changed algorithms, which no config can name.
    texts = [one.text for one in report.findings if not {one.label, *(one.label or ())} & {"nogd", "pomdr"}]
    for text in (*texts, *report.choices):
        assert not re.search(r"\d\.\d+ ?%", text)


def test_every_name_is_used(script):
    declared = script.declared()
    sentences = " ".join(sentence for of_page in declared["sentences"].values() for sentence in of_page)
    formulas = " ".join(spec.get("formula", "") for spec in declared["numbers"].values())
    for name in declared["numbers"]:
        assert f"{{{name}}}" in sentences or re.search(rf"\b{name}\b", formulas), name
    assert set(script.TABLES) == {name for names in declared["tables"].values() for name in names}
    assert set(script.PARTS) == {name for names in declared["parts"].values() for name in names}
