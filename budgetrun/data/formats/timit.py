"""TIMIT: a user's own copy of the corpus, read as frames of speech labelled with their phones."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from budgetrun.data.formats import Content, Examples, Layout
from budgetrun.data.text import shown
from budgetrun.errors import InputError

REVISION = 1
SUFFIXES = ()
# The whole training set except the SA sentences, which every speaker reads.
N_TRAIN = 3696
N_DRAWN = 500
DRAW = "budgetrun timit 0"
CORE_TEST = (
    "MDAB0", "MWBT0", "FELC0", "MTAS1", "MWEW0", "FPAS0", "MJMP0", "MLNT0", "FPKT0", "MLLL0", "MTLS0", "FJLM0",
    "MBPM0", "MKLT0", "FNLP0", "MCMJ0", "MJDH0", "FMGD0", "MGRT0", "MNJM0", "FDHC0", "MJLN0", "MPAM0", "FMLD0",
)  # fmt: skip
N_CORE_TEST = 8 * len(CORE_TEST)
CONTEXT = 4  # frames on each side
DROPPED = "q"

# The 61 phones of the transcriptions -> the 39 of Lee & Hon (1989), and `DROPPED`.
FOLD = {
    phone: folded
    for folded, phones in {
        "aa": ["aa", "ao"], "ae": ["ae"], "ah": ["ah", "ax", "ax-h"], "aw": ["aw"], "ay": ["ay"], "b": ["b"],
        "ch": ["ch"], "d": ["d"], "dh": ["dh"], "dx": ["dx"], "eh": ["eh"], "er": ["er", "axr"], "ey": ["ey"],
        "f": ["f"], "g": ["g"], "hh": ["hh", "hv"], "ih": ["ih", "ix"], "iy": ["iy"], "jh": ["jh"], "k": ["k"],
        "l": ["l", "el"], "m": ["m", "em"], "n": ["n", "en", "nx"], "ng": ["ng", "eng"], "ow": ["ow"], "oy": ["oy"],
        "p": ["p"], "r": ["r"], "s": ["s"], "sh": ["sh", "zh"], "t": ["t"], "th": ["th"], "uh": ["uh"],
        "uw": ["uw", "ux"], "v": ["v"], "w": ["w"], "y": ["y"], "z": ["z"],
        "sil": ["bcl", "dcl", "gcl", "pcl", "tcl", "kcl", "epi", "pau", "h#"],
        DROPPED: ["q"],
    }.items()
    for phone in phones
}  # fmt: skip


def read(files: Sequence[Content], layout: Layout) -> Examples:
    """Return the frames of some utterances and their phones.

    A frame is 25 ms of speech, one every 10 ms. Its features are 13 cepstral coefficients with first and second
    derivatives, of nine adjacent frames, the earliest first; the end frames of an utterance are repeated beyond its
    ends. A frame's label is the phone at its center, one of 39. Frames labelled ``q`` and frames that no phone covers
    are left out, but appear among the features of their neighbours. Reading 150,000 frames takes some seconds.

    Parameters
    ----------
    files : sequence of Content
        Transcript and sound of each utterance in turn, as `members` lists them.

    Returns
    -------
    Examples
        X of shape (n, 351), float64, and y of str.

    Raises
    ------
    InputError
        A file is at fault.
    """
    from budgetrun.data.timit.mfcc import FRAME, SAMPLE_RATE, STEP, derivatives, mfcc
    from budgetrun.data.timit.sound import parse_sound

    features, neighbors, labels = [], [], []
    n_before = 0
    for phones, sound in zip(files[0::2], files[1::2], strict=True):
        cepstrum = mfcc(parse_sound(*sound, SAMPLE_RATE))
        n = len(cepstrum)
        if not n:
            raise InputError(f"{sound.where}: shorter than a frame of {FRAME} samples; replace it with a whole copy")
        slopes = derivatives(cepstrum)
        features.append(np.hstack([cepstrum, slopes, derivatives(slopes)]))
        found = _labels(*phones, FRAME // 2 + STEP * np.arange(n))
        kept = found != DROPPED
        labels.append(found[kept])
        adjacent = np.clip(np.arange(n)[kept, None] + np.arange(-CONTEXT, CONTEXT + 1), 0, n - 1)
        neighbors.append(n_before + adjacent)
        n_before += n
    rows = np.concatenate(neighbors)
    return Examples(np.concatenate(features)[rows].reshape(len(rows), -1), np.concatenate(labels))


def members(folder: Path, part: str) -> dict[str, Path]:
    """Return the files that are read of a part of the corpus: transcript and sound of each utterance, sorted by name.

    Of the training set, 500 utterances are drawn: those whose names, each written after `DRAW`, have the smallest
    sha256, so that the draw depends on nothing but the names. Of the test set, the 192 utterances of the 24 core
    speakers are taken. Neither includes SA sentences.

    Parameters
    ----------
    folder : Path
        The corpus's own TRAIN or TEST folder; the names below it may be in any case.
    part : 'train' or 'test'

    Returns
    -------
    dict of name to Path
        Names in capitals, such as ``TRAIN/DR1/FCJF0/SX127.PHN``.

    Raises
    ------
    InputError
        The corpus is not complete, or the transcript of a chosen utterance is missing.
    """
    files = _files(folder)
    names = sorted(
        name.removesuffix(".WAV")
        for name in files
        if name.endswith(".WAV") and not name.rpartition("/")[2].startswith("SA")
    )
    if part == "test":
        names = [name for name in names if name.split("/")[1] in CORE_TEST]
    expected = N_TRAIN if part == "train" else N_CORE_TEST
    if len(names) != expected:
        which = "training utterances" if part == "train" else "utterances of the core test set"
        raise InputError(
            f"{folder}: {len(names):,} {which} (such as DR1/FCJF0/SX127.WAV, not counting SA sentences) where TIMIT "
            f"has {expected:,}; put the whole corpus there"
        )
    if part == "train":
        names = sorted(sorted(names, key=lambda name: hashlib.sha256(f"{DRAW} {name}".encode()).digest())[:N_DRAWN])
    for name in names:
        if f"{name}.PHN" not in files:
            raise InputError(
                f"{files[name + '.WAV']}: {Path(name).name}.PHN is missing beside it; put the whole corpus there"
            )
    used = [f"{name}.{suffix}" for name in names for suffix in ("PHN", "WAV")]
    return {f"{part.upper()}/{name}": files[name] for name in used}


def _files(folder: Path) -> dict[str, Path]:
    """Return the files two folders down by their names in capitals; X.WAV is preferred to a converted X.WAV.WAV."""
    files: dict[str, Path] = {}
    for path in sorted(folder.glob("*/*/*"), key=lambda path: -len(path.name)):
        name = path.relative_to(folder).as_posix().upper()
        files[name.replace(".WAV.WAV", ".WAV")] = path
    return files


def _labels(content: bytes, where: str, centers: NDArray[np.int64]) -> NDArray[Any]:
    """Return the folded phone at every center (in samples), `DROPPED` where there is none.

    Returns
    -------
    ndarray of str, shape of ``centers``
    """
    starts: list[int] = []
    ends: list[int] = []
    phones: list[str] = []
    for number, line in enumerate(content.decode("utf-8", errors="replace").split("\n"), start=1):
        fields = line.split()
        if not fields:
            continue
        if len(fields) != 3 or not (fields[0].isdecimal() and fields[1].isdecimal()):
            raise InputError(f"{where}:{number}: {shown(line)} is not 'first-sample end-sample phone'")
        start, end, phone = int(fields[0]), int(fields[1]), fields[2].lower()
        if phone not in FOLD:
            raise InputError(f"{where}:{number}: {shown(phone)} is not one of TIMIT's 61 phones")
        if end < start or (starts and start < starts[-1]):
            raise InputError(f"{where}:{number}: samples {start} to {end} are not in order")
        starts.append(start)
        ends.append(end)
        phones.append(FOLD[phone])
    if not phones:
        raise InputError(f"{where}: no phones; replace it with the original")
    at = np.searchsorted(starts, centers, side="right") - 1
    covered = (at >= 0) & (centers < np.array(ends)[at])
    return np.where(covered, np.array(phones)[at], DROPPED)
