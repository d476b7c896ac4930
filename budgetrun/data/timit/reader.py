"""TIMIT: a user's own copy of the corpus, as frames of speech with their phones."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import NamedTuple

import numpy as np

from budgetrun.data.content import Stamp, read_content
from budgetrun.data.formats.tokens import shown
from budgetrun.data.timit.mfcc import FRAME, SAMPLE_RATE, STEP, adjacent, derivatives, mfcc
from budgetrun.data.timit.sound import parse_sound
from budgetrun.errors import InputError

# All of the corpus but its SA sentences, which every speaker reads.
N_TRAIN = 3696
N_DRAWN = 500
DRAW = "budgetrun timit 0"
CORE_TEST = (
    "MDAB0", "MWBT0", "FELC0", "MTAS1", "MWEW0", "FPAS0", "MJMP0", "MLNT0", "FPKT0", "MLLL0", "MTLS0", "FJLM0",
    "MBPM0", "MKLT0", "FNLP0", "MCMJ0", "MJDH0", "FMGD0", "MGRT0", "MNJM0", "FDHC0", "MJLN0", "MPAM0", "FMLD0",
)  # fmt: skip
N_CORE_TEST = 8 * len(CORE_TEST)
CONTEXT = 4  # frames on either side
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


class Utterance(NamedTuple):
    """A sentence that a speaker reads.

    Attributes
    ----------
    name : str
        In capitals, e.g. ``DR1/FCJF0/SX127``.
    sound, phones : Path
    """

    name: str
    sound: Path
    phones: Path


def chosen_utterances(folder: Path, part: str) -> list[Utterance]:
    """Return the utterances of a part of the corpus, sorted by name.

    Of the training set, 500 are drawn: those whose names, each after the words of `DRAW`, have the smallest sha256. So
    the draw depends on nothing but the names. Of the test set, the 192 of the 24 core speakers are taken. SA sentences
    count in neither.

    Parameters
    ----------
    folder : Path
        The corpus' own TRAIN or TEST; what is below it may be named in any case.
    part : 'train' or 'test'

    Raises
    ------
    InputError
        The part is not whole, or the phones of a chosen utterance are missing.
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
            f"{folder}: {len(names):,} {which} (such as DR1/FCJF0/SX127.WAV, SA sentences apart) where TIMIT has "
            f"{expected:,}; put the whole corpus there"
        )
    if part == "train":
        names = sorted(sorted(names, key=lambda name: hashlib.sha256(f"{DRAW} {name}".encode()).digest())[:N_DRAWN])
    for name in names:
        if f"{name}.PHN" not in files:
            raise InputError(f"{files[name + '.WAV']}: no {Path(name).name}.PHN beside it; put the whole corpus there")
    return [Utterance(name, files[f"{name}.WAV"], files[f"{name}.PHN"]) for name in names]


def stamp(folder: Path, part: str) -> Stamp:
    """Return the stamp of a part: the size of all its chosen files together, and the latest of their times."""
    stamps = [Stamp.of(path) for used in chosen_utterances(folder, part) for path in used[1:]]
    return Stamp(folder, sum(one.size for one in stamps), max(one.mtime_ns for one in stamps))


def read_timit(folder: Path, part: str) -> tuple[np.ndarray, np.ndarray, str]:
    """Return the frames of a part, their phones, and the hash of the files used.

    A frame is 25 ms of speech, one every 10 ms: 13 cepstral coefficients, their first and second derivatives, of nine
    adjacent frames, the earliest first. Beyond the ends of an utterance, its end frames are repeated. A frame's label
    is the phone at its centre, one of 39; frames of ``q``, and those that no phone covers, are left out, but their
    neighbours see them. Some seconds for 150,000 frames, which is why nothing is kept on disk.

    Returns
    -------
    X : ndarray, shape (n, 351), float64
    y : ndarray of str, shape (n,)
    sha256 : str
        Of the lines ``name sha256`` of the files used, sorted by name; names as in `Utterance`, after TRAIN/ or TEST/.

    Raises
    ------
    InputError
        A file is missing or at fault.
    """
    features, neighbours, labels, lines = [], [], [], []
    n_frames = 0
    for utterance in chosen_utterances(folder, part):
        sound, phones = read_content(utterance.sound), read_content(utterance.phones)
        for suffix, content in (("PHN", phones), ("WAV", sound)):
            lines.append(f"{part.upper()}/{utterance.name}.{suffix} {hashlib.sha256(content).hexdigest()}\n")
        cepstrum = mfcc(parse_sound(sound, str(utterance.sound), SAMPLE_RATE))
        if not len(cepstrum):
            raise InputError(f"{utterance.sound}: shorter than a frame of {FRAME} samples; replace it by a whole copy")
        slopes = derivatives(cepstrum)
        features.append(np.hstack([cepstrum, slopes, derivatives(slopes)]))
        found = _labels(phones, str(utterance.phones), FRAME // 2 + STEP * np.arange(len(cepstrum)))
        kept = found != DROPPED
        labels.append(found[kept])
        neighbours.append(n_frames + adjacent(len(cepstrum), CONTEXT)[kept])
        n_frames += len(cepstrum)
    around = np.concatenate(neighbours)
    X = np.concatenate(features)[around].reshape(len(around), -1)
    return X, np.concatenate(labels), hashlib.sha256("".join(sorted(lines)).encode()).hexdigest()


def _files(folder: Path) -> dict[str, Path]:
    """Return the files two folders down, by their names in capitals; of X.WAV and X.WAV.WAV the first."""
    files: dict[str, Path] = {}
    for path in sorted(folder.glob("*/*/*"), key=lambda path: -len(path.name)):
        name = path.relative_to(folder).as_posix().upper()
        files[name.replace(".WAV.WAV", ".WAV")] = path
    return files


def _labels(content: bytes, where: str, centres: np.ndarray) -> np.ndarray:
    """Return the folded phone at every centre (in samples), `DROPPED` where there is none.

    Returns
    -------
    ndarray of str, shape of ``centres``
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
            raise InputError(f"{where}:{number}: {shown(phone)} is none of TIMIT's 61 phones")
        if end < start or (starts and start < starts[-1]):
            raise InputError(f"{where}:{number}: samples {start} to {end} are not in order")
        starts.append(start)
        ends.append(end)
        phones.append(FOLD[phone])
    if not phones:
        raise InputError(f"{where}: no phones; replace it by the original")
    at = np.searchsorted(starts, centres, side="right") - 1
    covered = (at >= 0) & (centres < np.array(ends)[at])
    return np.where(covered, np.array(phones)[at], DROPPED)
