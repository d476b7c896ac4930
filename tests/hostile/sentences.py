"""What every refusal looks like: one short line without control characters."""

import contextlib
import unicodedata

from budgetrun.base.errors import InputError


@contextlib.contextmanager
def or_one_sentence(most=600, lines=1, kinds=InputError):
    """Let what is done succeed, or be refused with one sentence."""
    try:
        yield
    except kinds as error:
        one_sentence(error, most, lines)


def one_sentence(error, most=600, lines=1):
    """Check the message of an InputError, and return it."""
    told = str(error)
    assert told.strip()
    assert len(told) <= most, f"{len(told)} characters: {told[:200]!r} ..."
    assert told.count("\n") < lines, told
    # Cc: control characters; Cs: lone surrogates, which no terminal can print.
    assert not [sign for sign in told if sign != "\n" and unicodedata.category(sign) in ("Cc", "Cs")], repr(told)
    return told
