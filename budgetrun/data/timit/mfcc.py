"""Mel-frequency cepstral coefficients and their derivatives."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from scipy.fft import dct
from scipy.ndimage import correlate1d

SAMPLE_RATE = 16_000  # Hz
FRAME = 400  # samples: 25 ms
STEP = 160  # samples: 10 ms
N_FFT = 512
N_FILTERS = 26
N_COEFFICIENTS = 13
PRE_EMPHASIS = 0.97
Features = NDArray[np.float64]


def mfcc(samples: NDArray[Any]) -> Features:
    """Return the cepstrum of every frame.

    The samples are pre-emphasised (x_t - 0.97 x_{t-1}, the first one kept) and cut into frames of 25 ms every 10 ms,
    as many as lie within the samples. Each frame is weighted by a Hamming window. Its power spectrum (FFT of 512
    points) passes 26 triangular filters with corners equally spaced on the mel scale from 0 to 8,000 Hz. The result is
    the first 13 coefficients of the orthonormal cosine transform of the natural logarithms of the filter outputs, each
    output taken as at least 1: c0, which stands for the energy, to c12, not liftered.

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
    energies = np.abs(np.fft.rfft(frames, N_FFT)) ** 2 @ _mel_filters().T
    cepstrum: Features = dct(np.log(np.maximum(energies, 1.0)), norm="ortho")[:, :N_COEFFICIENTS]
    return cepstrum


def derivatives(features: Features) -> Features:
    """Return the least-squares slope of every feature over five frames; the end frames are repeated beyond the ends.

    Parameters
    ----------
    features : ndarray, shape (n, d), n >= 1

    Returns
    -------
    ndarray, shape (n, d)
    """
    slopes: Features = correlate1d(features, np.array([-0.2, -0.1, 0.0, 0.1, 0.2]), axis=0, mode="nearest")
    return slopes


@cache
def _mel_filters() -> Features:
    """Return the weight of every frequency in every filter, shape (26, 257)."""
    highest = 2595.0 * np.log10(1.0 + SAMPLE_RATE / 2 / 700.0)
    corners = 700.0 * (10.0 ** (np.linspace(0.0, highest, N_FILTERS + 2) / 2595.0) - 1.0)
    low, center, high = corners[:-2, None], corners[1:-1, None], corners[2:, None]
    frequency = np.arange(N_FFT // 2 + 1) * SAMPLE_RATE / N_FFT
    weights: Features = np.minimum((frequency - low) / (center - low), (high - frequency) / (high - center))
    return np.maximum(weights, 0.0)
