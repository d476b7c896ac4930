"""Problems for the solvers."""

import numpy as np
import pytest
import scipy.sparse as sp


def blobs(T=300, d=5, overlap=1.0, seed=0):
    """Two clouds that overlap, as real numbers."""
    rng = np.random.default_rng(seed)
    y = rng.choice([-1, 1], T)
    return rng.normal(size=(T, d)) + (y / overlap)[:, None] / np.sqrt(d), y


def grid(T=60, d=3, seed=1):
    """Small whole numbers, with duplicates of either label, and some rows of zeros."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, size=(T, d)).astype(float)
    X[::11] = 0
    return X, np.where(X[:, 0] + rng.normal(size=T) > 0, 1, -1)


def binary(T=200, d=30, seed=2):
    """Zeros and ones, sparse, with rows of zeros."""
    rng = np.random.default_rng(seed)
    X = (rng.random((T, d)) < 0.1).astype(float)
    X[::17] = 0
    y = np.where(X[:, :5].sum(axis=1) - X[:, 5:12].sum(axis=1) + rng.normal(size=T) > 0, 1, -1)
    return sp.csr_array(X), y


def uneven(T=250, d=40, seed=3):
    """Sparse real numbers of different sizes, few of one label."""
    rng = np.random.default_rng(seed)
    X = sp.random_array((T, d), density=0.15, rng=rng, format="csr")
    X.data *= rng.choice([0.1, 1, 4], X.nnz)
    return X, np.where(X[:, [0]].toarray().ravel() + 0.3 * rng.random(T) > 0.3, 1, -1)


def separable(T=400, d=4, margin=0.3, seed=4):
    """Two clouds whose largest margin is known: each example has a mirror image about the best direction."""
    rng = np.random.default_rng(seed)
    side = rng.normal(size=(T // 2, d))
    along = margin + rng.exponential(size=T // 2)
    along[0] = margin
    direction = np.zeros(d)
    direction[0] = 1
    side[:, 0] = 0
    Y = np.vstack([side, -side]) + np.concatenate([along, along])[:, None] * direction
    y = rng.choice([-1, 1], len(Y))
    return Y * y[:, None], y


PROBLEMS = {"blobs": blobs, "grid": grid, "binary": binary, "uneven": uneven}


@pytest.fixture(params=PROBLEMS)
def problem(request):
    """Return examples and labels."""
    return PROBLEMS[request.param]()
