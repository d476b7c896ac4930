"""TIMIT: labels, the choice of utterances, and the corpus as a stream."""

import hashlib
from typing import NamedTuple

import numpy as np
import pytest
from faults import message
from made_speech import PHONES, riff, speakers, sphere, tone, transcript, write_part

from budgetrun.config.schema import DatasetSpec
from budgetrun.data import card, open_stream, stream_info, verify
from budgetrun.data.dataset import load_card
from budgetrun.data.formats import timit
from budgetrun.data.formats.timit import CORE_TEST, FOLD, members
from budgetrun.data.timit import mfcc
from budgetrun.errors import DataMissingError


class Utterance(NamedTuple):
    name: str
    phones: object
    sound: object


def chosen_utterances(folder, part):
    files = list(members(folder, part).items())
    pairs = zip(files[0::2], files[1::2], strict=True)
    return [Utterance(name.split("/", 1)[1][:-4], phones, sound) for (name, phones), (_, sound) in pairs]


def read_timit(top):
    """Return the examples, labels and hash of the training set below a data folder."""
    dataset = load_card(card("timit"), ("train",), top)
    return dataset.X, np.array(dataset.classes)[dataset.codes], dataset.sha256s["timit/TRAIN"]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """A whole TRAIN and TEST below a folder ``timit``; nothing may change it."""
    top = tmp_path_factory.mktemp("corpus")
    write_part(top / "timit" / "TRAIN", speakers(462))
    write_part(top / "timit" / "TEST", [*CORE_TEST, *speakers(4)])
    return top


@pytest.fixture
def small(tmp_path, monkeypatch):
    """One speaker's eight sentences as the whole training set, of which three are drawn."""
    monkeypatch.setattr(timit, "N_TRAIN", 8)
    monkeypatch.setattr(timit, "N_DRAWN", 3)
    folder = tmp_path / "timit" / "TRAIN"
    write_part(folder, ["FCJF0"])
    return folder


# Labels


def test_the_61_phones_become_39():
    assert len(FOLD) == 61
    assert len(set(FOLD.values()) - {"q"}) == 39
    assert FOLD["q"] == timit.DROPPED
    silent = {phone for phone, folded in FOLD.items() if folded == "sil"}
    assert silent == {"bcl", "dcl", "gcl", "pcl", "tcl", "kcl", "epi", "pau", "h#"}
    changed = {phone: folded for phone, folded in FOLD.items() if phone != folded and phone not in silent}
    assert changed == {
        "ao": "aa", "ax": "ah", "ax-h": "ah", "axr": "er", "hv": "hh", "ix": "ih", "el": "l", "em": "m", "en": "n",
        "nx": "n", "eng": "ng", "zh": "sh", "ux": "uw",
    }  # fmt: skip
    # Nothing is folded into what is itself folded.
    assert all(FOLD.get(folded, folded) == folded for folded in FOLD.values())


def test_a_frame_has_the_phone_at_its_centre_and_its_neighbours_features(small):
    X, y, _ = read_timit(small.parents[1])
    centres = 200 + 160 * np.arange(15)
    phones = [next(FOLD[p] for start, end, p in PHONES if start <= c < end) for c in centres]
    kept = [t for t, phone in enumerate(phones) if phone != "q"]
    assert phones.count("q") == 4
    assert y.tolist() == 3 * [phones[t] for t in kept]
    assert X.shape == (3 * 11, 351)
    cepstrum = mfcc.mfcc(tone(2640))
    slopes = mfcc.derivatives(cepstrum)
    frames = np.hstack([cepstrum, slopes, mfcc.derivatives(slopes)])
    for row, t in enumerate(kept):
        wanted = np.concatenate([frames[min(max(t + k, 0), 14)] for k in range(-4, 5)])
        np.testing.assert_array_equal(X[row], wanted)
        np.testing.assert_array_equal(X[row + 11], wanted)


def test_frames_that_no_phone_covers_are_left_out(small):
    for path in small.rglob("*.PHN"):
        path.write_bytes(transcript([(800, 1300, "s"), (1900, 2100, "iy")]))
    assert read_timit(small.parents[1])[1].tolist() == 3 * (["s"] * 3 + ["iy"])


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"0 800 h#\n800 x ix\n", ":2: '800 x ix' is not 'first-sample end-sample phone'"),
        (b"0 800\n", ":1: '0 800' is not 'first-sample end-sample phone'"),
        (b"0 800 h#\n800 900 xx\n", ":2: 'xx' is not one of TIMIT's 61 phones"),
        (b"0 800 h#\n800 700 s\n", ":2: samples 800 to 700 are not in order"),
        (b"700 800 h#\n0 700 s\n", ":2: samples 0 to 700 are not in order"),
        (b"\n", ": no phones; replace it with the original"),
        (b"", ": the file is empty"),
    ],
)
def test_transcript_faults(small, content, told):
    first = chosen_utterances(small, "train")[0].phones
    first.write_bytes(content)
    assert message(read_timit, small.parents[1]) == f"{first}{told}"


# The choice of utterances


def test_training_utterances_are_drawn_by_their_names(corpus):
    chosen = chosen_utterances(corpus / "timit" / "TRAIN", "train")
    names = [utterance.name for utterance in chosen]
    assert len(set(names)) == 500
    assert names == sorted(names)
    assert not any("/SA" in name for name in names)
    assert len({name.split("/")[1] for name in names}) > 250
    for utterance in chosen:
        assert str(utterance.sound).endswith(f"TRAIN/{utterance.name}.WAV")
        assert utterance.phones == utterance.sound.with_suffix(".PHN")
    kinds = [f"SX{k}" for k in range(1, 6)] + [f"SI{k}" for k in range(1, 4)]
    every = [f"DR{n % 8 + 1}/{who}/{kind}" for n, who in enumerate(speakers(462)) for kind in kinds]
    ranked = sorted(every, key=lambda name: hashlib.sha256(f"budgetrun timit 0 {name}".encode()).hexdigest())
    assert set(names) == set(ranked[:500])


def test_test_utterances_are_those_of_the_core_speakers(corpus):
    chosen = chosen_utterances(corpus / "timit" / "TEST", "test")
    assert len(chosen) == 192
    assert len(set(CORE_TEST)) == 24
    assert {utterance.name.split("/")[1] for utterance in chosen} == set(CORE_TEST)


def test_names_may_be_in_any_case_and_sounds_converted(small, tmp_path):
    X, y, sha256 = read_timit(small.parents[1])
    write_part(tmp_path / "lower" / "timit" / "TRAIN", ["FCJF0"], lower=True)
    same = read_timit(tmp_path / "lower")
    assert (same[0] == X).all()
    assert (same[1] == y).all()
    assert same[2] == sha256
    write_part(tmp_path / "riff" / "timit" / "TRAIN", ["FCJF0"], sound=riff(tone(2640)))
    converted = read_timit(tmp_path / "riff")
    assert (converted[0] == X).all()
    assert converted[2] != sha256
    for path in list((tmp_path / "riff").rglob("*.WAV")):
        path.rename(f"{path}.wav")
    assert read_timit(tmp_path / "riff")[2] == converted[2]
    # Beside the original, a converted copy does not count.
    for path in list(small.rglob("*.WAV")):
        path.with_name(f"{path.name}.wav").write_bytes(riff(tone(2640)))
    assert read_timit(small.parents[1])[2] == sha256


def test_the_hash_is_of_names_and_contents(small):
    lines = sorted(
        f"TRAIN/DR1/FCJF0/{path.stem}{path.suffix} {hashlib.sha256(path.read_bytes()).hexdigest()}\n"
        for utterance in chosen_utterances(small, "train")
        for path in (utterance.sound, utterance.phones)
    )
    assert read_timit(small.parents[1])[2] == hashlib.sha256("".join(lines).encode()).hexdigest()


def test_a_corpus_that_is_not_whole(small, monkeypatch):
    used = chosen_utterances(small, "train")[0]
    used.phones.unlink()
    told = f"{used.sound}: {used.phones.name} is missing beside it; put the whole corpus there"
    assert message(read_timit, small.parents[1]) == told
    used.sound.unlink()
    assert message(read_timit, small.parents[1]) == (
        f"{small}: 7 training utterances (such as DR1/FCJF0/SX127.WAV, not counting SA sentences) where TIMIT "
        "has 8; put the whole corpus there"
    )
    assert message(members, small, "test") == (
        f"{small}: 0 utterances of the core test set (such as DR1/FCJF0/SX127.WAV, not counting SA sentences) where "
        "TIMIT has 192; put the whole corpus there"
    )


def test_a_truncated_or_short_sound_is_named(small):
    used = chosen_utterances(small, "train")[1]
    used.sound.write_bytes(sphere(tone(2640))[:-10])
    assert message(read_timit, small.parents[1]).startswith(f"{used.sound}: truncated: 2,635 of 2,640 samples; ")
    used.sound.write_bytes(sphere(tone(399)))
    assert message(read_timit, small.parents[1]).startswith(f"{used.sound}: shorter than a frame of 400 samples; ")


# As a stream


def spec(**fields):
    return DatasetSpec(name="timit", task="multiclass", **fields)


def test_timit_as_a_stream(corpus):
    info = stream_info(spec(test=("test",)), corpus)
    assert (info.n_examples, info.n_features, info.nnz_per_row) == (500 * 11, 351, None)
    assert (info.n_test, info.n_classes, info.classes) == (192 * 11, 3, ["ih", "sh", "sil"])
    assert list(info.files) == ["timit/TRAIN", "timit/TEST"]
    assert any(note.startswith("Unverified: the checksum of timit/TEST is not known; ") for note in info.notes)
    stream = open_stream(spec(test=("test",), scale="standard", n_examples=500), 0, 0, corpus)
    assert stream.X.shape == (500, 351)
    assert stream.test.X.shape == (192 * 11, 351)
    assert stream.tasks["-"].dtype == np.int16
    np.testing.assert_allclose(stream.X.mean(axis=0), 0, atol=1e-9)


def test_a_changed_file_is_read_again(small):
    top = small.parents[1]
    before = stream_info(spec(), top)
    for used in chosen_utterances(small, "train"):
        used.phones.write_bytes(transcript([(0, 800, "iy"), (800, 2640, "s")]))
    after = stream_info(spec(), top)
    assert (before.n_examples, after.n_examples) == (33, 45)
    assert before.sha256 != after.sha256


@pytest.mark.parametrize("name", ["timit/TRAIN", "TIMIT/train", "timit/TIMIT/TRAIN"])
@pytest.mark.usefixtures("empty_cache")
def test_the_corpus_is_found_in_any_case(tmp_path, name):
    (tmp_path / name).mkdir(parents=True)
    states = {file.file: (path, state) for file, path, state in verify(card("timit"), tmp_path)}
    assert states["timit/TRAIN"] == (tmp_path / name, "unverified")
    assert states["timit/TEST"] == (None, "missing")


def test_without_the_corpus_one_is_told_how_to_get_it(tmp_path, empty_cache):
    with pytest.raises(DataMissingError) as caught:
        stream_info(spec(), tmp_path)
    assert str(caught.value) == (
        "dataset 'timit': 1 of 1 files are missing, and TIMIT needs a licence and is never downloaded; the "
        "Linguistic Data Consortium distributes it as LDC93S1, https://catalog.ldc.upenn.edu/LDC93S1\n"
        f"  put the folder timit/TRAIN at {empty_cache / 'timit/TRAIN'}\n"
        "  or name a folder that has them with --data or $BUDGETRUN_DATA"
    )
