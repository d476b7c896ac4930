"""Mel-frequency cepstral coefficients, their derivatives, and windows of adjacent frames."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

SAMPLE_RATE = 16_000  # Hz
FRAME = 400  # samples: 25 ms
STEP = 160  # samples: 10 ms
N_FFT = 512
N_FILTERS = 26
N_COEFFICIENTS = 13
PRE_EMPHASIS = 0.97
REACH = 2  # frames on either side that a derivative looks at


def mfcc(samples: np.ndarray) -> np.ndarray:
    """Return the cepstrum of every frame.

    The samples are pre-emphasised (x_t - 0.97 x_{t-1}, the first one kept) and cut into frames of 25 ms every 10 ms,
    as many as lie within the samples; each is weighted by a Hamming window. The power spectrum (FFT of 512 points)
    passes 26 triangular filters whose corners are equally far apart on the mel scale, from 0 to 8,000 Hz. Of the
    natural logarithms of their outputs, each taken as at least 1, the orthonormal cosine transform's first 13
    coefficients are kept: c0, which stands for the energy, to c12, not liftered.

    Parameters
    ----------
    samples : ndarray, shape (n,), real
        16-bit samples at 16 kHz, from -32,768 to 32,767.

    Returns
    -------
    ndarray, shape (1 + (n - 400) // 160, 13), float64; no rows if n < 400
    """
    signal = samples.astype(np.float64)
    signal[1:] -= PRE_EMPHASIS * signal[:-1].copy()
    if len(signal) < FRAME:
        return np.empty((0, N_COEFFICIENTS))
    frames = sliding_window_view(signal, FRAME)[::STEP] * np.hamming(FRAME)
    power = np.abs(np.fft.rfft(frames, N_FFT)) ** 2
    energies = power @ _filters().T
    return np.log(np.maximum(energies, 1.0)) @ _cosines().T


def derivatives(features: np.ndarray) -> np.ndarray:
    """Return the slope of every feature over five frames, by least squares.

    That is sum_k k (c_{t+k} - c_{t-k}) / (2 sum_k k^2) for k = 1, 2; beyond the ends, the end frames are repeated.

    Parameters
    ----------
    features : ndarray, shape (n, d), n >= 1

    Returns
    -------
    ndarray, shape (n, d), a frame's slope in each
    """
    n = len(features)
    padded = np.pad(features, ((REACH, REACH), (0, 0)), mode="edge")
    steps = range(1, REACH + 1)
    slopes = sum(k * (padded[REACH + k :][:n] - padded[REACH - k :][:n]) for k in steps)
    return np.asarray(slopes) / (2 * sum(k * k for k in steps))


def adjacent(n: int, reach: int) -> np.ndarray:
    """Return the numbers of each frame's neighbours, itself among them; beyond the ends, the end frames are repeated.

    Returns
    -------
    ndarray, shape (n, 2 reach + 1), int
    """
    return np.clip(np.arange(n)[:, None] + np.arange(-reach, reach + 1), 0, n - 1)


@cache
def _filters() -> np.ndarray:
    """Return the weight of every frequency in every filter, shape (26, 257)."""

    def hertz(mel: np.ndarray) -> np.ndarray:
        return 700.0 * (10.0 ** (mel / 2595.0) - 1.0)

    highest = 2595.0 * np.log10(1.0 + SAMPLE_RATE / 2 / 700.0)
    edges = hertz(np.linspace(0.0, highest, N_FILTERS + 2))
    low, centre, high = edges[:-2, None], edges[1:-1, None], edges[2:, None]
    frequency = np.arange(N_FFT // 2 + 1) * SAMPLE_RATE / N_FFT
    return np.maximum(0.0, np.minimum((frequency - low) / (centre - low), (high - frequency) / (high - centre)))


@cache
def _cosines() -> np.ndarray:
    """Return the first rows of the orthonormal cosine transform (type II), shape (13, 26)."""
    k = np.arange(N_COEFFICIENTS)[:, None]
    cosines = np.sqrt(2.0 / N_FILTERS) * np.cos(np.pi * k * (np.arange(N_FILTERS) + 0.5) / N_FILTERS)
    cosines[0] /= np.sqrt(2.0)
    return cosines
