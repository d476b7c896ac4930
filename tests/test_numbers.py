"""Every number on README.md and docs/*.md is the one that the committed results give."""

import importlib.util
import re
from pathlib import Path

import pytest
import yaml

from budgetrun import config

TOP = Path(__file__).resolve().parent.parent
SCRIPT = TOP / "scripts" / "write_numbers.py"
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
        assert script.page(text, texts) == text, f"{path.name}: type python scripts/write_numbers.py"


@pytest.mark.committed
def test_a_changed_number_is_put_right(script, texts):
    text = "The Projectron ends with 793<!-- a9a_support --> examples.\n<!-- begin mpu -->\nwrong\n<!-- end -->\n"
    written = script.page(text, texts)
    assert f"with {texts['a9a_support']}<!--" in written
    assert "wrong" not in written


def untraced(name: str, text: str, given: list[str]) -> list[str]:
    """Return what looks like a measurement in the sentences of a page and has no name that computes it."""
    text = re.sub(r"^```.*?^```$|<!-- begin .*?<!-- end -->", "", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"\S+<!-- \w+ -->", "", text)
    text = re.sub(r"`[^`]*`|\]\([^)]*\)", "", text)
    # A phrase may be broken across lines.
    text = " ".join(text.split())
    for phrase in given:
        assert phrase in text, f"{name} does not say {phrase!r}; remove it from docs/numbers.yaml"
        text = text.replace(phrase, "")
    return [found for found in MEASURED.findall(text) if re.search(r"[.,e%a-z]", found)]


def test_no_measurement_is_typed(script):
    given = yaml.safe_load(script.NUMBERS.read_text(encoding="utf-8"))["given"]
    assert {path.name for path in script.PAGES} >= given.keys()
    for path in script.PAGES:
        assert untraced(path.name, path.read_text(encoding="utf-8"), given.get(path.name, [])) == [], path.name


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("It errs on 7.25% of 11,055 rounds.", ["7.25%", "11,055"]),
        ("It takes 57 times as long, or 3 s, within 1e-6.", ["57 times", "3 s", "1e-6"]),
        ("It ends with 774<!-- a9a_support --> of 793 examples, in 2009.", []),
        ("A `gamma` of `0.04`, [here](a_0.1.md).", []),
    ],
)
def test_what_looks_like_a_measurement(text, found):
    assert untraced("a page", text, []) == found


@pytest.mark.parametrize("path", sorted((TOP / "configs").glob("*.yaml")), ids=lambda path: path.stem)
def test_findings_type_no_error_that_was_measured(path):
    report = config.load(path).report
    # These come from changed algorithms, which no config can name.
    texts = [one.text for one in report.findings if not {one.label, *(one.label or ())} & {"nogd", "pomdr"}]
    for text in (*texts, *report.choices):
        assert not re.search(r"\d\.\d+ ?%", text)


@pytest.mark.committed
def test_every_name_is_used(script, texts):
    text = "".join(path.read_text(encoding="utf-8") for path in script.PAGES)
    numbers = yaml.safe_load(script.NUMBERS.read_text(encoding="utf-8"))["numbers"]
    formulas = " ".join(spec.get("formula", "") for spec in numbers.values())
    for name in texts:
        assert f"<!-- {name} -->" in text or re.search(rf"\b{name}\b", formulas), name
