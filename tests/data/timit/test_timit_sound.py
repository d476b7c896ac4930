"""Sound files: SPHERE and RIFF."""

import numpy as np
import pytest
from faults import message
from made_speech import RATE, riff, sphere

from budgetrun.data.timit.sound import parse_sound

NOISE = np.random.default_rng(3).integers(-3000, 3000, 1500).astype(np.int16)


@pytest.mark.parametrize(
    "content", [sphere(NOISE), sphere(NOISE, "10"), riff(NOISE), sphere(NOISE) + b"more"], ids=range(4)
)
def test_samples_are_read_as_written(content):
    samples = parse_sound(content, "a.wav", RATE)
    assert samples.dtype == np.int16
    assert samples.tolist() == NOISE.tolist()


ASKED = "a.wav: not one channel of 16-bit samples at 16,000 Hz; replace it with the original"


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"ID3 music", "a.wav: neither a NIST SPHERE nor a RIFF sound file; replace it with the original"),
        (sphere(NOISE)[:500], "a.wav: truncated: 0 of 1,500 samples; replace it with a whole copy"),
        (sphere(NOISE)[:60], "a.wav: truncated SPHERE header (no end_head); replace it with a whole copy"),
        (b"NIST_1A\n", "a.wav: truncated SPHERE header (no end_head); replace it with a whole copy"),
        (sphere(NOISE)[:-2], "a.wav: truncated: 1,499 of 1,500 samples; replace it with a whole copy"),
        (sphere(NOISE, sample_rate="-i 8000"), ASKED),
        (sphere(NOISE, channel_count="-i 2"), ASKED),
        (sphere(NOISE, sample_n_bytes="-i 1"), ASKED),
        (sphere(NOISE, sample_count=None), ASKED),
        (
            sphere(NOISE, sample_coding="-s26 pcm,embedded-shorten-v2.00"),
            "a.wav: its samples are coded as 'pcm,embedded-shorten-v2.00'; decode it to plain PCM first (sph2pipe)",
        ),
        (riff(NOISE, rate=8000), ASKED),
        (riff(NOISE, channels=2), ASKED),
        (riff(NOISE)[:-2], "a.wav: truncated: 1,499 of 1,500 samples; replace it with a whole copy"),
        (riff(NOISE)[:30], "a.wav: not a complete RIFF file of PCM samples (it ends early); replace it"),
    ],
    ids=range(14),
)
def test_sound_faults(content, told):
    assert message(parse_sound, content, "a.wav", RATE) == told
