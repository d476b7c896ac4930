"""Sound files: NIST SPHERE, the format of speech corpora, and RIFF (.wav), to which copies are often converted."""

from __future__ import annotations

import io
import re
import wave

import numpy as np
from numpy.typing import NDArray

from budgetrun.errors import InputError

_SPHERE = b"NIST_1A\n"
_BYTE_ORDERS = {"01": "<i2", "10": ">i2"}
# Channels, bytes per sample and samples per second; the number of samples; the samples; their type.
_Sound = tuple[tuple[int, int, int], int, bytes, str]


def parse_sound(content: bytes, where: str, rate: int) -> NDArray[np.int16]:
    """Parse a sound file with one channel of uncompressed 16-bit samples, in SPHERE or RIFF format.

    Parameters
    ----------
    content : bytes
    where : str
        The file's name, for messages.
    rate : int
        The number of samples per second that the file must have.

    Returns
    -------
    ndarray, shape (n,), int16

    Raises
    ------
    InputError
        The file has another format or another kind of samples, or ends before its last sample.
    """
    if content.startswith(_SPHERE):
        shape, n, stored, dtype = _sphere(content, where)
    elif content.startswith(b"RIFF"):
        shape, n, stored, dtype = _riff(content, where)
    else:
        raise InputError(f"{where}: neither a NIST SPHERE nor a RIFF sound file; replace it with the original")
    if shape != (1, 2, rate) or not dtype:
        raise InputError(f"{where}: not one channel of 16-bit samples at {rate:,} Hz; replace it with the original")
    if len(stored) != 2 * n:
        raise InputError(f"{where}: truncated: {len(stored) // 2:,} of {n:,} samples; replace it with a whole copy")
    return np.frombuffer(stored, dtype=dtype).astype(np.int16)


def _sphere(content: bytes, where: str) -> _Sound:
    size = content[len(_SPHERE) : 16].strip()
    n_header = int(size) if size.isdigit() else 0
    header, end, _ = content[:n_header].partition(b"end_head")
    if not end:
        raise InputError(f"{where}: truncated SPHERE header (no end_head); replace it with a whole copy")
    fields = dict(re.findall(r"^(\S+) -\S+ (.*)$", header.decode("latin-1"), re.MULTILINE))
    coding = fields.get("sample_coding", "pcm")
    if coding != "pcm":
        raise InputError(f"{where}: its samples are coded as '{coding}'; decode it to plain PCM first (sph2pipe)")
    counts = [fields.get("channel_count", "1")]
    counts += [fields.get(name, "") for name in ("sample_n_bytes", "sample_rate", "sample_count")]
    channels, n_bytes, rate, n = (int(text) if text.isdecimal() else -1 for text in counts)
    order = _BYTE_ORDERS.get(fields.get("sample_byte_format", "01"), "") if n >= 0 else ""
    return (channels, n_bytes, rate), n, content[n_header:][: 2 * max(n, 0)], order


def _riff(content: bytes, where: str) -> _Sound:
    try:
        with wave.open(io.BytesIO(content)) as opened:
            n = opened.getnframes()
            shape = (opened.getnchannels(), opened.getsampwidth(), opened.getframerate())
            return shape, n, opened.readframes(n), "<i2"
    except (wave.Error, EOFError) as error:
        reason = str(error) or "it ends early"
        raise InputError(f"{where}: not a complete RIFF file of PCM samples ({reason}); replace it") from error
