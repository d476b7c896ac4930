"""The script that makes mutants, and the record of those that survived."""

import ast
import importlib.util
import sys
from collections import Counter

import pytest

from budgetrun.base.files import checkout

TOP = checkout()
if TOP is None or not (TOP / "scripts" / "attack" / "mutate.py").is_file():
    pytest.skip("needs a checkout", allow_module_level=True)

spec = importlib.util.spec_from_file_location("mutate", TOP / "scripts" / "attack" / "mutate.py")
mutate = sys.modules["mutate"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(mutate)

SOURCE = '''"""A docstring with 1 < 2."""
def f(a, b=0.5):
    """é"""
    if a < b and not a.ok:
        a.total += min(b, 1)
        check(a)
        raise ValueError(f"{a + 1} is wrong")
    return -a if a.ok else (a
                            + b)
'''
MUTATED = """\
def f(a, b=0.75):
if a <= b and not a.ok:
if a >= b and not a.ok:
if a < b or not a.ok:
if a < b and a.ok:
pass
a.total -= min(b, 1)
a.total += max(b, 1)
a.total += min(b, 2)
pass
pass
return -a if (not a.ok) else (a
return a if a.ok else (a
- b)
"""


def test_every_kind_of_change_is_made_once():
    source = SOURCE.encode()
    found = mutate.mutants("x.py", source)
    assert Counter(m.after for m in found) == Counter(MUTATED.splitlines())
    assert len({m.key for m in found}) == len(found)
    for mutant in found:
        changed = mutant.apply(source)
        assert changed != source
        ast.parse(changed)
    (bound,) = [m for m in found if m.after == "a.total += min(b, 2)"]
    assert (bound.function, bound.before, bound.lines) == ("f", "a.total += min(b, 1)", range(5, 6))


def test_every_part_of_the_package_has_tests():
    parts = [path for path in (TOP / "budgetrun").iterdir() if path.suffix == ".py" or (path / "__init__.py").is_file()]
    assert mutate.TESTS.keys() == {path.name for path in parts}
    assert all((TOP / path).exists() for path in mutate.tests_of([f"budgetrun/{path.name}/x" for path in parts]))


def test_at_most_2_percent_of_the_recorded_mutants_survive():
    record, equivalent = mutate.read_record(), mutate.read_equivalent()
    assert [file for file in {key[0] for key in [*record, *equivalent]} if not (TOP / file).is_file()] == []
    assert all(len(reason) > 20 for reason in equivalent.values())
    counted = [outcome for key, outcome in record.items() if key not in equivalent]
    tried = Counter(key[0].split("/")[1] for key in record)
    assert tried.keys() == mutate.TESTS.keys() - {"__init__.py", "__main__.py"}
    assert min(tried.values()) >= 20
    assert counted.count("survived") <= 0.02 * len(counted)
