"""Speech: sound files, cepstra against plain loops, labels, the choice of utterances, and the corpus as a stream."""

import hashlib
import math

import numpy as np
import pytest
from made_speech import PHONES, RATE, riff, speakers, sphere, tone, transcript, write_part

from budgetrun.config.schema import DatasetSpec
from budgetrun.data import card, open_stream, stream_info, verify
from budgetrun.data.timit import reader as timit
from budgetrun.data.timit.reader import CORE_TEST, FOLD, chosen_utterances, mfcc, read_timit
from budgetrun.data.timit.sound import parse_sound
from budgetrun.errors import DataMissingError, InputError

NOISE = np.random.default_rng(3).integers(-3000, 3000, 1500).astype(np.int16)


def fault(call, *args, **kwargs):
    with pytest.raises(InputError) as caught:
        call(*args, **kwargs)
    return str(caught.value)


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


# Sound files


@pytest.mark.parametrize(
    "content", [sphere(NOISE), sphere(NOISE, "10"), riff(NOISE), sphere(NOISE) + b"more"], ids=range(4)
)
def test_samples_are_read_as_written(content):
    samples = parse_sound(content, "a.wav", RATE)
    assert samples.dtype == np.int16
    assert samples.tolist() == NOISE.tolist()


ASKED = "a.wav: not one channel of 16-bit samples at 16,000 Hz; replace the file by the original"


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"ID3 music", "a.wav: neither a NIST SPHERE nor a RIFF sound file; replace it by the original"),
        (sphere(NOISE)[:500], "a.wav: torn: 0 of 1,500 samples; replace the file by a whole copy"),
        (sphere(NOISE)[:60], "a.wav: torn SPHERE header (no end_head); replace the file by a whole copy"),
        (b"NIST_1A\n", "a.wav: torn SPHERE header (no end_head); replace the file by a whole copy"),
        (sphere(NOISE)[:-2], "a.wav: torn: 1,499 of 1,500 samples; replace the file by a whole copy"),
        (sphere(NOISE, sample_rate="-i 8000"), ASKED),
        (sphere(NOISE, channel_count="-i 2"), ASKED),
        (sphere(NOISE, sample_n_bytes="-i 1"), ASKED),
        (sphere(NOISE, sample_count=None), ASKED),
        (
            sphere(NOISE, sample_coding="-s26 pcm,embedded-shorten-v2.00"),
            "a.wav: its samples are coded as 'pcm,embedded-shorten-v2.00'; "
            "decode the file to plain PCM first (sph2pipe)",
        ),
        (riff(NOISE, rate=8000), ASKED),
        (riff(NOISE, channels=2), ASKED),
        (riff(NOISE)[:-2], "a.wav: torn: 1,499 of 1,500 samples; replace the file by a whole copy"),
        (riff(NOISE)[:30], "a.wav: not a whole RIFF file of PCM samples (it ends early); replace it"),
    ],
    ids=range(14),
)
def test_sound_faults(content, told):
    assert fault(parse_sound, content, "a.wav", RATE) == told


# Cepstra


def cepstrum_by_definition(samples):
    """One frame at a time, one sum for each frequency, filter and coefficient."""
    x = [float(v) for v in samples]
    signal = [x[0]] + [x[t] - 0.97 * x[t - 1] for t in range(1, len(x))]

    def hertz(mel):
        return 700 * (10 ** (mel / 2595) - 1)

    top = 2595 * math.log10(1 + 8000 / 700)
    corners = [hertz(top * k / 27) for k in range(28)]
    angle = -2j * np.pi * np.outer(np.arange(257), np.arange(400)) / 512
    rows = []
    for begin in range(0, len(x) - 400 + 1, 160):
        window = [0.54 - 0.46 * math.cos(2 * math.pi * t / 399) for t in range(400)]
        frame = [signal[begin + t] * window[t] for t in range(400)]
        power = abs(np.exp(angle) @ np.array(frame)) ** 2
        logs = []
        for low, centre, high in zip(corners, corners[1:], corners[2:], strict=False):
            energy = 0.0
            for k in range(257):
                f = k * 16000 / 512
                if low < f <= centre:
                    energy += power[k] * (f - low) / (centre - low)
                elif centre < f < high:
                    energy += power[k] * (high - f) / (high - centre)
            logs.append(math.log(max(energy, 1.0)))
        rows.append(
            [
                math.sqrt((1 if k == 0 else 2) / 26)
                * sum(logs[j] * math.cos(math.pi * k * (j + 0.5) / 26) for j in range(26))
                for k in range(13)
            ]
        )
    return np.array(rows)


def test_cepstrum_is_that_of_the_definition():
    # A ramp lets the level vary; the silence at the end reaches the floor of the logarithm.
    samples = np.concatenate([tone(1200, 1000) // 7 + NOISE[:1200] // 3, np.zeros(500, dtype=np.int16)])
    found = mfcc.mfcc(samples)
    assert found.shape == (1 + (1700 - 400) // 160, 13)
    np.testing.assert_allclose(found, cepstrum_by_definition(samples), rtol=1e-9, atol=1e-9)
    assert found[-1].tolist() == [0.0] * 13


@pytest.mark.parametrize(("n", "frames"), [(0, 0), (399, 0), (400, 1), (559, 1), (560, 2), (16_000, 98)])
def test_frames_lie_within_the_samples(n, frames):
    assert mfcc.mfcc(tone(n)).shape == (frames, 13)


def test_derivatives():
    assert (mfcc.derivatives(np.full((6, 2), 3.25)) == 0).all()
    ramp = np.arange(8.0)[:, None] * [1.0, -2.5]
    slopes = mfcc.derivatives(ramp)
    np.testing.assert_allclose(slopes[2:-2], np.broadcast_to([1.0, -2.5], (4, 2)))
    drawn = np.random.default_rng(0).normal(size=(7, 3))
    for t in range(7):
        at = [drawn[min(max(t + k, 0), 6)] for k in (-2, -1, 0, 1, 2)]
        np.testing.assert_allclose(mfcc.derivatives(drawn)[t], (2 * (at[4] - at[0]) + at[3] - at[1]) / 10)


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
    X, y, _ = read_timit(small, "train")
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
    assert read_timit(small, "train")[1].tolist() == 3 * (["s"] * 3 + ["iy"])


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"0 800 h#\n800 x ix\n", ":2: '800 x ix' is not 'first-sample end-sample phone'"),
        (b"0 800\n", ":1: '0 800' is not 'first-sample end-sample phone'"),
        (b"0 800 h#\n800 900 xx\n", ":2: 'xx' is none of TIMIT's 61 phones"),
        (b"0 800 h#\n800 700 s\n", ":2: samples 800 to 700 are not in order"),
        (b"700 800 h#\n0 700 s\n", ":2: samples 0 to 700 are not in order"),
        (b"\n", ": no phones; replace it by the original"),
        (b"", ": the file is empty"),
    ],
)
def test_transcript_faults(small, content, told):
    first = chosen_utterances(small, "train")[0].phones
    first.write_bytes(content)
    assert fault(read_timit, small, "train") == f"{first}{told}"


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
    X, y, sha256 = read_timit(small, "train")
    write_part(tmp_path / "lower", ["FCJF0"], lower=True)
    same = read_timit(tmp_path / "lower", "train")
    assert (same[0] == X).all()
    assert (same[1] == y).all()
    assert same[2] == sha256
    write_part(tmp_path / "riff", ["FCJF0"], sound=riff(tone(2640)))
    converted = read_timit(tmp_path / "riff", "train")
    assert (converted[0] == X).all()
    assert converted[2] != sha256
    for path in list((tmp_path / "riff").rglob("*.WAV")):
        path.rename(f"{path}.wav")
    assert read_timit(tmp_path / "riff", "train")[2] == converted[2]
    # Beside the original, a converted copy does not count.
    for path in list(small.rglob("*.WAV")):
        path.with_name(f"{path.name}.wav").write_bytes(riff(tone(2640)))
    assert read_timit(small, "train")[2] == sha256


def test_the_hash_is_of_names_and_contents(small):
    lines = sorted(
        f"TRAIN/DR1/FCJF0/{path.stem}{path.suffix} {hashlib.sha256(path.read_bytes()).hexdigest()}\n"
        for utterance in chosen_utterances(small, "train")
        for path in (utterance.sound, utterance.phones)
    )
    assert read_timit(small, "train")[2] == hashlib.sha256("".join(lines).encode()).hexdigest()


def test_a_corpus_that_is_not_whole(small, monkeypatch):
    used = chosen_utterances(small, "train")[0]
    used.phones.unlink()
    told = f"{used.sound}: no {used.phones.name} beside it; put the whole corpus there"
    assert fault(read_timit, small, "train") == told
    used.sound.unlink()
    assert fault(read_timit, small, "train") == (
        f"{small}: 7 training utterances (such as DR1/FCJF0/SX127.WAV, SA sentences apart) where TIMIT has 8; "
        "put the whole corpus there"
    )
    assert fault(read_timit, small, "test") == (
        f"{small}: 0 utterances of the core test set (such as DR1/FCJF0/SX127.WAV, SA sentences apart) where TIMIT "
        "has 192; put the whole corpus there"
    )


def test_a_torn_or_short_sound_is_named(small):
    used = chosen_utterances(small, "train")[1]
    used.sound.write_bytes(sphere(tone(2640))[:-10])
    assert fault(read_timit, small, "train").startswith(f"{used.sound}: torn: 2,635 of 2,640 samples; ")
    used.sound.write_bytes(sphere(tone(399)))
    assert fault(read_timit, small, "train").startswith(f"{used.sound}: shorter than a frame of 400 samples; ")


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
        "dataset 'timit': 1 of 1 files are not on this machine (TIMIT needs a licence and is never downloaded; the "
        "Linguistic Data Consortium has it as LDC93S1, https://catalog.ldc.upenn.edu/LDC93S1)\n"
        f"  put the folder timit/TRAIN at {empty_cache / 'timit/TRAIN'}\n"
        "  or name a folder that holds them with --data or $BUDGETRUN_DATA"
    )
