"""What users would pick instead of a budget learner: scikit-learn's and river's linear learners on random features."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import SGDClassifier

from budgetrun.bench.sizes import Sizes
from budgetrun.bench.timing import BLOCK_SIZE, Side

Peer = tuple[str, Side, int]


def peers(X: np.ndarray, y: np.ndarray, gamma: float, n_features: int, sizes: Sizes) -> tuple[list[Peer], list[str]]:
    """Return the peers that are installed, each with the rounds that it runs; and a sentence for each missing one.

    Each predicts a round, or a block of rounds, before it learns it, and returns its number of mistakes.
    """
    found: list[Peer] = []
    missing: list[str] = []
    n = min(len(y), sizes.river_rounds)
    title = f"scikit-learn: Nystroem({n_features}) + SGDClassifier"
    found.append((title, Side(lambda: [_sklearn_mistakes(X, y, gamma, n_features)]), len(y)))
    title = f"river: RBFSampler({n_features}) + LogisticRegression"
    try:
        from river import feature_extraction, linear_model
    except ImportError:
        missing.append(f"{title}: not installed; `pip install budgetrun[bench]` installs it.")
    else:
        sampler = feature_extraction.RBFSampler(gamma=gamma, n_components=n_features, seed=0)
        model = sampler | linear_model.LogisticRegression()
        found.append((title, Side(lambda: [_river_mistakes(model, X[:n], y[:n])]), n))
    return found, missing


def _sklearn_mistakes(X: np.ndarray, y: np.ndarray, gamma: float, n_features: int) -> int:
    """Fit the features on the first block; predict each block, then learn it. The first predictions are all +1."""
    features = Nystroem(gamma=gamma, n_components=min(n_features, len(y)), random_state=0).fit(X[:BLOCK_SIZE])
    classifier = SGDClassifier(random_state=0)
    mistakes = 0
    for start in range(0, len(y), BLOCK_SIZE):
        Z, labels = features.transform(X[start : start + BLOCK_SIZE]), y[start : start + BLOCK_SIZE]
        predicted = classifier.predict(Z) if start else np.ones(len(labels))
        mistakes += int((predicted != labels).sum())
        classifier.partial_fit(Z, labels, classes=[-1, 1])
    return mistakes


def _river_mistakes(model: Any, X: np.ndarray, y: np.ndarray) -> int:
    mistakes = 0
    for x, label in zip(X, y > 0, strict=True):
        example = {int(j): float(x[j]) for j in np.flatnonzero(x)}
        mistakes += model.predict_one(example) is not bool(label)
        model.learn_one(example, bool(label))
    return mistakes
