"""Cepstra and derivatives against plain loops."""

import math

import numpy as np
import pytest
from made_speech import tone

from budgetrun.data.timit import mfcc

NOISE = np.random.default_rng(3).integers(-3000, 3000, 1500).astype(np.int16)


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
