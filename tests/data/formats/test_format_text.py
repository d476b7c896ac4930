"""Both text formats on many damaged files."""

import random
import re

import pytest
from cases import EXHAUSTIVE

from budgetrun.base.errors import InputError
from budgetrun.data.formats.csv import parse_table
from budgetrun.data.formats.libsvm import parse_libsvm


@pytest.mark.parametrize(
    ("parse", "text"),
    [
        (parse_libsvm, b"1 1:0.5 3:-2e-1\n-1\n1.0\t2:.25  3:0\n-1 4:7.\n"),
        (parse_table, b"y,a,b\n1,0.5,-2\n-1,1e-3,.5\n1,7.,+3\n"),
        (parse_table, b"1 0.5 -2\n-1  1e-3 .5 \n1 7. +3\n"),
    ],
)
def test_a_mutated_file_is_read_or_refused_never_a_crash(parse, text):
    draw = random.Random(0)
    alphabet = b'0123456789+-.eE:,; \t\n\rx"#n\xff\x00'
    for _ in range(3000 if EXHAUSTIVE else 500):
        mutant = bytearray(text)
        for _ in range(draw.randint(1, 3)):
            at = draw.randrange(len(mutant))
            mutant[at : at + draw.randint(0, 2)] = bytes(draw.choices(alphabet, k=draw.randint(0, 2)))
        try:
            X, y = parse(bytes(mutant), "f")
        except InputError:
            continue
        lines = mutant.decode(errors="replace").removeprefix("\ufeff").removesuffix("\n").split("\n")
        if parse is parse_table:
            lines = [line for line in lines if line.strip()]
        assert len(y) in ((len(lines),) if parse is parse_libsvm else (len(lines), len(lines) - 1))
        for line, x, label in zip(lines[-len(y) :], X, y, strict=True):
            assert plainly(line, parse is parse_libsvm) == [label, *stated(x, line, parse is parse_libsvm)]


def plainly(line, libsvm):
    """Read a line that is known to be good in the simplest way: the label, then the features that it states."""
    label, *rest = (float(token) for token in re.split(r"[\s,;:]+", line.replace('"', "").strip()))
    return [label, *(rest[1::2] if libsvm else rest)]


def stated(x, line, libsvm):
    if not libsvm:
        return x.tolist()
    dense = x.toarray().ravel()
    return [dense[int(index) - 1] for index in re.findall(r"(\d+):", line)]
