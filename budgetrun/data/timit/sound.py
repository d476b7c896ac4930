"""Sound files: NIST SPHERE, the format of speech corpora, and RIFF (.wav), into which copies are often converted."""

from __future__ import annotations

import io
import wave

import numpy as np

from budgetrun.errors import InputError

_SPHERE = b"NIST_1A\n"
_ORDERS = {"01": "<i2", "10": ">i2"}


def parse_sound(content: bytes, where: str, rate: int) -> np.ndarray:
    """Parse a sound file of one channel of uncompressed 16-bit samples, SPHERE or RIFF by its first bytes.

    Parameters
    ----------
    content : bytes
    where : str
        The file's name, for messages.
    rate : int
        The samples a second that the file must have.

    Returns
    -------
    ndarray, shape (n,), int16

    Raises
    ------
    InputError
        Neither format, another kind of samples, or a file that ends before its last sample.
    """
    if content.startswith(_SPHERE):
        return _sphere(content, where, rate)
    if content.startswith(b"RIFF"):
        return _riff(content, where, rate)
    raise InputError(f"{where}: neither a NIST SPHERE nor a RIFF sound file; replace it by the original")


def _sphere(content: bytes, where: str, rate: int) -> np.ndarray:
    size = content[len(_SPHERE) : 16].strip()
    header, end, _ = content[: int(size) if size.isdigit() else 0].partition(b"end_head")
    if not end:
        raise InputError(f"{where}: torn SPHERE header (no end_head); replace the file by a whole copy")
    fields = {}
    for line in header.decode("latin-1").split("\n")[2:]:
        name, _, rest = line.partition(" ")
        fields[name] = rest.partition(" ")[2].strip()
    order = fields.get("sample_byte_format", "01")
    coding = fields.get("sample_coding", "pcm")
    if coding != "pcm":
        raise InputError(f"{where}: its samples are coded as '{coding}'; decode the file to plain PCM first (sph2pipe)")
    n = fields.get("sample_count", "")
    kind = [fields.get("channel_count", "1"), fields.get("sample_n_bytes"), fields.get("sample_rate")]
    if kind != ["1", "2", str(rate)] or order not in _ORDERS or not n.isdigit():
        raise InputError(f"{where}: {_asked(rate)}")
    samples = content[int(size) :][: 2 * int(n)]
    return _samples(samples, int(n), _ORDERS[order], where)


def _riff(content: bytes, where: str, rate: int) -> np.ndarray:
    try:
        with wave.open(io.BytesIO(content)) as opened:
            n = opened.getnframes()
            kind = (opened.getnchannels(), opened.getsampwidth(), opened.getframerate())
            samples = opened.readframes(n)
    except (wave.Error, EOFError) as error:
        reason = str(error) or "it ends early"
        raise InputError(f"{where}: not a whole RIFF file of PCM samples ({reason}); replace it") from error
    if kind != (1, 2, rate):
        raise InputError(f"{where}: {_asked(rate)}")
    return _samples(samples, n, "<i2", where)


def _samples(stored: bytes, n: int, order: str, where: str) -> np.ndarray:
    if len(stored) != 2 * n:
        raise InputError(f"{where}: torn: {len(stored) // 2:,} of {n:,} samples; replace the file by a whole copy")
    return np.frombuffer(stored, dtype=order).astype(np.int16)


def _asked(rate: int) -> str:
    return f"not one channel of 16-bit samples at {rate:,} Hz; replace the file by the original"
