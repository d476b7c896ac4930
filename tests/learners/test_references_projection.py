"""The references of the projecting learners, compared with linear algebra and with each other."""

import math

import numpy as np
import pytest
from cases import STREAMS
from reference import kernel_expansion
from reference.alma import alma
from reference.projected_alma import projected_alma
from reference.projection import Basis, gram
from reference.structured_projectron_pp import structured_projectron_pp

KERNELS = {
    "gaussian": kernel_expansion.gaussian(0.5),
    "linear": kernel_expansion.linear(),
    "polynomial": kernel_expansion.polynomial(2, 0.5, 1.0),
}

N_CLASSES = 5


def classes_of(stream, seed=7):
    """A stream of the same examples with codes 0..4: those of the random one in groups, else drawn."""
    X, y = STREAMS[stream]()
    codes = np.random.default_rng(seed).integers(N_CLASSES, size=len(y))
    if stream == "random":
        X = X + np.array([[0, 0], [2, 0], [0, 2], [-2, 0], [0, -2]])[codes]
    return X, codes


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("stream", STREAMS)
def test_recursive_inverse_is_the_inverse(stream, kernel):
    X, _ = STREAMS[stream]()
    k = KERNELS[kernel]
    K = gram(X, k)
    S = Basis()
    for t in range(len(X)):
        k_t, k_tt = K[S.members, t], K[t, t]
        d, square, residual = S.project(k_t, k_tt)
        if S.members and t % 10 == 0:
            exact = np.linalg.solve(K[np.ix_(S.members, S.members)], k_t)
            np.testing.assert_allclose(d, exact, rtol=1e-6, atol=1e-6)
            assert square == pytest.approx(k_t @ exact, rel=1e-8, abs=1e-10)
        # Before clipping, it is below zero by rounding at most.
        assert k_tt - square >= -1e-9 * max(1, k_tt)
        if residual > 1e-3 * k_tt:
            S.add(t, k_t, k_tt)
    inverse = np.linalg.inv(K[np.ix_(S.members, S.members)])
    np.testing.assert_allclose(S.inverse.astype(float), inverse, rtol=1e-8, atol=1e-10 * np.abs(inverse).max())


def test_label_kernel_shares_what_is_learnt():
    """Labels that the label kernel does not distinguish have equal scores, which is a mistake for both."""
    X, codes = classes_of("random")
    alike = np.eye(N_CLASSES)
    alike[:2, :2] = 1
    trace = structured_projectron_pp(X, codes, KERNELS["gaussian"], N_CLASSES, 0.1, label_kernel=alike)
    scores = np.array(trace.scores)
    np.testing.assert_allclose(scores[:, 0], scores[:, 1], atol=1e-9)
    assert all(m for m, c in zip(trace.mistakes, codes, strict=True) if c < 2)


# Not on the far stream: there scores are tiny. ALMA calls one 0 if its own terms cancel, the projected version if it is
# below 1e-9, and the two part on scores between.
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("stream", ["duplicated", "tied"])
def test_projected_alma_without_a_threshold_is_alma(stream, kernel):
    X, y = STREAMS[stream]()
    full = alma(X, y, KERNELS[kernel], alpha=0.9, B=1.0, C=math.sqrt(1.01) - 0.1)
    short = projected_alma(X, y, KERNELS[kernel], eta=0.0, alpha=0.9, B=1.0, C=math.sqrt(1.01) - 0.1)
    assert short.mistakes == full.mistakes
    assert short.updates == full.updates
    np.testing.assert_allclose(short.scores, full.scores, atol=1e-8)
