"""Compare `auto` with what people use on streams of their own; write results/auto/race.csv.

All sides see the same rows in the order of the file, as they are in it, and predict each one before they learn it. None
has a setting of its own for a stream. Errors are those of all rows so far, in percent; of regression, the root of the
mean squared error. Slow sides play the first rows of a stream only, and `auto` is measured after as many. Times are
processor time per row, after compiling.

Usage: python scripts/measure/race_auto.py [--most N] [--slow N] [--sides NAME...] [--streams NAME...]

Needs river; vowpalwabbit (pip install vowpalwabbit) is left out where it is missing.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from river import datasets, forest, linear_model, multiclass, preprocessing, rules, tree
from river.datasets import synth
from sklearn import datasets as made
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import SGDClassifier
from threadpoolctl import threadpool_limits

from budgetrun.config import DatasetSpec
from budgetrun.data import open_stream
from budgetrun.engine import Group
from budgetrun.engine.standardised import Standardised
from budgetrun.kernels import Linear
from budgetrun.kernels.kinds import floats
from budgetrun.kernels.width import median_gamma
from budgetrun.learners import find

TABLE = Path(__file__).resolve().parents[2] / "results" / "auto" / "race.csv"
OURS = ("auto", "logistic", "least_squares")
SLOW = {"adaptive random forest", "SGD", "Nystroem + SGD", "forest", "AMRules"}
CARDS = ("phishing", "a9a", "susy_30000", "ijcnn1", "cod_rna", "covtype_92962", "census_income", "usps")
# Rows from which the features of Nystroem are made.
FIRST = 300
# One side after some rows of a stream, which has 0 classes if its labels are numbers.
COLUMNS = ("stream", "classes", "side", "library", "rows", "error", "microseconds")
# A side plays rows and labels, and yields what it predicts for each before its label.
Side = Callable[[np.ndarray, np.ndarray, int], Iterator[Any]]


def streams() -> Iterator[tuple[str, Callable[[], tuple[np.ndarray, np.ndarray, int]]]]:
    """Yield names, and functions that return rows, labels from 0 or numbers, and the number of classes."""
    for name in CARDS:
        yield name, lambda name=name: of_card(name)
    yield "digits", lambda: (*made.load_digits(return_X_y=True), 10)
    yield "ImageSegments", lambda: table(datasets.ImageSegments(), 7)
    at: dict[str, Any] = {"seed": 1, "position": 5000}
    drifting: dict[str, Any] = {
        "SEA, drift": lambda: synth.ConceptDriftStream(synth.SEA(0, seed=1), synth.SEA(3, seed=1), **at),
        "Agrawal, drift": lambda: synth.ConceptDriftStream(synth.Agrawal(0, seed=1), synth.Agrawal(4, seed=1), **at),
        "Hyperplane": lambda: synth.Hyperplane(seed=1, n_drift_features=5, mag_change=0.01),
        "RandomRBFDrift": lambda: synth.RandomRBFDrift(1, 1, n_classes=4, change_speed=0.001),
    }
    for name, make in drifting.items():
        yield name, lambda name=name, make=make: table(make().take(10_000), 4 if "RBF" in name else 2)
    yield from unseen()
    numbers: dict[str, Any] = {
        "TrumpApproval": datasets.TrumpApproval,
        "FriedmanDrift": lambda: synth.FriedmanDrift(drift_type="gra", position=(2000, 4000), seed=1).take(6000),
        "Planes2D": lambda: synth.Planes2D(seed=1).take(6000),
        "Mv": lambda: synth.Mv(seed=1).take(6000),
        "Friedman": lambda: synth.Friedman(seed=11).take(6000),
        "ChickWeights": datasets.ChickWeights,
    }
    for name, make in numbers.items():
        yield name, lambda make=make: table(make(), 0)
    yield "Friedman 2", lambda: (*made.make_friedman2(6000, noise=50, random_state=11), 0)
    yield "Friedman 3", lambda: (*made.make_friedman3(6000, noise=0.1, random_state=11), 0)
    # Played last, and for the first time after the last choice.
    yield "swiss roll", lambda: (*made.make_swiss_roll(6000, noise=0.5, random_state=13), 0)
    yield "sparse uncorrelated", lambda: (*made.make_sparse_uncorrelated(6000, random_state=13), 0)
    yield "long tails, numbers", lambda: with_long_tails(*made.make_friedman1(6000, 8, noise=1, random_state=13))
    yield "S curve", lambda: (*made.make_s_curve(6000, noise=0.3, random_state=17), 0)
    yield "product of three", lambda: of_three(numbers=True)
    yield from numbers_with_squares()


def unseen() -> Iterator[tuple[str, Callable[[], tuple[np.ndarray, np.ndarray, int]]]]:
    """Yield the streams on which nothing was chosen: they were played for the first time after the last choice."""

    def drift(kind: Any, first: int, second: int, **options: Any) -> Any:
        parts = kind(first, seed=7, **options), kind(second, seed=8, **options)
        return synth.ConceptDriftStream(*parts, seed=7, position=5000).take(10_000)

    def hastie() -> tuple[np.ndarray, np.ndarray, int]:
        X, y = made.make_hastie_10_2(10_000, random_state=7)
        return X, (y > 0).astype(int), 2

    yield "Bananas", lambda: table(datasets.Bananas(), 2)
    yield "Phishing of river", lambda: table(datasets.Phishing(), 2)
    yield "Hastie 10.2", hastie
    yield "circles", lambda: (*made.make_circles(10_000, noise=0.2, factor=0.6, random_state=7), 2)
    options: dict[str, Any] = {"n_informative": 10, "n_classes": 5, "random_state": 7}
    yield "clusters", lambda: (*made.make_classification(10_000, **options), 5)
    yield "Mixed, drift", lambda: table(drift(synth.Mixed, 0, 1), 2)
    yield "Sine, drift", lambda: table(drift(synth.Sine, 0, 2, has_noise=True), 2)
    yield "STAGGER, drift", lambda: table(drift(synth.STAGGER, 0, 2), 2)
    yield "LED, drift", lambda: table(synth.LEDDrift(seed=7, noise_percentage=0.1, n_drift_features=4).take(10_000), 10)
    yield from later()


def later() -> Iterator[tuple[str, Callable[[], tuple[np.ndarray, np.ndarray, int]]]]:
    """Yield the unseen streams that were played later; between those and these, nothing was chosen."""
    seed = 11

    def swap(first: Any, second: Any) -> Any:
        return synth.ConceptDriftStream(first, second, seed=seed, position=5000, width=500).take(10_000)

    def forest(trees: int, samples: int) -> Any:
        return synth.RandomTree(seed_tree=trees, seed_sample=samples)

    yield "moons", lambda: (*made.make_moons(10_000, noise=0.3, random_state=seed), 2)
    quantiles: dict[str, Any] = {"n_samples": 10_000, "n_features": 10, "n_classes": 3, "random_state": seed}
    yield "Gaussian quantiles", lambda: (*made.make_gaussian_quantiles(**quantiles), 3)
    few: dict[str, Any] = {"n_features": 30, "n_informative": 6, "weights": [0.9], "flip_y": 0.03, "random_state": seed}
    yield "rare class", lambda: (*made.make_classification(10_000, **few), 2)
    yield "Waveform", lambda: table(synth.Waveform(seed=seed, has_noise=True).take(10_000), 3)
    yield "RandomTree", lambda: table(forest(seed, seed).take(10_000), 2)
    centres: dict[str, Any] = {"n_classes": 6, "n_features": 15, "n_centroids": 60}
    yield "RandomRBF", lambda: table(synth.RandomRBF(seed, seed, **centres).take(10_000), 6)
    yield "RandomTree, drift", lambda: table(swap(forest(seed, 1), forest(seed + 1, 2)), 2)
    noiseless = synth.Waveform(seed=4, has_noise=False)
    yield "Waveform, drift", lambda: table(swap(synth.Waveform(seed=3), noiseless), 3)
    turning: dict[str, Any] = {"n_features": 20, "n_drift_features": 10, "mag_change": 0.01, "noise_percentage": 0.1}
    yield "Hyperplane, noisy", lambda: table(synth.Hyperplane(seed=seed, **turning).take(10_000), 2)
    yield "Agrawal 7", lambda: table(synth.Agrawal(7, seed=seed, perturbation=0.1).take(10_000), 2)
    yield from latest()


def with_long_tails(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
    return np.exp(5 * X), y, 0


def latest() -> Iterator[tuple[str, Callable[[], tuple[np.ndarray, np.ndarray, int]]]]:
    """Yield the unseen streams that were played last, after members on inputs by rank were added."""
    seed = 13

    def tailed() -> tuple[np.ndarray, np.ndarray, int]:
        X, y = made.make_classification(10_000, n_features=12, n_informative=6, random_state=seed)
        return np.sinh(2 * X), y, 2

    def blobs() -> tuple[np.ndarray, np.ndarray, int]:
        X, centres = made.make_blobs(10_000, n_features=5, centers=12, cluster_std=3, random_state=seed)
        return X, centres % 3, 3

    for function in (2, 5):
        agrawal = synth.Agrawal(function, seed=seed, perturbation=0.05)
        yield f"Agrawal {function}", lambda agrawal=agrawal: table(agrawal.take(10_000), 2)
    options: dict[str, Any] = {"n_features": 16, "n_informative": 8, "n_classes": 8, "random_state": seed}
    yield "eight classes", lambda: (*made.make_classification(10_000, **options), 8)
    yield "blobs in thirds", blobs
    yield "long tails", tailed
    yield from with_pairs()


def with_pairs() -> Iterator[tuple[str, Callable[[], tuple[np.ndarray, np.ndarray, int]]]]:
    """Yield the unseen streams that were played last, after members on pairs of features were added."""
    seed = 17

    def spirals() -> tuple[np.ndarray, np.ndarray, int]:
        rng = np.random.default_rng(seed)
        y, turns = rng.integers(0, 2, 10_000), 3 * np.pi * np.sqrt(rng.random(10_000))
        points = turns * np.stack((np.cos(turns + np.pi * y), np.sin(turns + np.pi * y)))
        return points.T + 0.4 * rng.normal(size=(10_000, 2)), y, 2

    for function in (4, 9):
        agrawal = synth.Agrawal(function, seed=seed, perturbation=0.05)
        yield f"Agrawal {function}", lambda agrawal=agrawal: table(agrawal.take(10_000), 2)
    trees: dict[str, Any] = {"n_classes": 5, "n_num_features": 6, "n_cat_features": 2}
    yield "RandomTree, five classes", lambda: table(synth.RandomTree(seed, seed, **trees).take(10_000), 5)
    options: dict[str, Any] = {"n_features": 40, "n_informative": 20, "n_classes": 3, "random_state": seed}
    yield "wide clusters", lambda: (*made.make_classification(10_000, **options), 3)
    centres: dict[str, Any] = {"n_classes": 3, "n_features": 40, "n_centroids": 30}
    yield "RandomRBF, wide", lambda: table(synth.RandomRBF(seed, seed, **centres).take(10_000), 3)
    yield "spirals", spirals
    yield "parity of three", lambda: of_three(numbers=False)
    yield from with_squares()
    yield from wide()


def with_squares() -> Iterator[tuple[str, Callable[[], tuple[np.ndarray, np.ndarray, int]]]]:
    """Yield the unseen streams that were played later still, after KRLS was added for two classes."""
    seed = 19

    def of_rng(make: Callable[[np.random.Generator], tuple[np.ndarray, np.ndarray, int]]) -> Any:
        return lambda: make(np.random.default_rng(seed))

    def checkerboard(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, int]:
        X = 4 * rng.random((10_000, 2))
        return X, (np.floor(X).sum(axis=1) % 2 != (rng.random(10_000) < 0.1)).astype(int), 2

    def rules_of_bits(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, int]:
        X = (rng.random((10_000, 30)) < 0.4).astype(float)
        y = X[:, 0:3].all(axis=1) | X[:, 3:6].all(axis=1) | X[:, 6:9].all(axis=1)
        return X, (y != (rng.random(10_000) < 0.05)).astype(int), 2

    def shells(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, int]:
        y, X = rng.integers(0, 5, 10_000), rng.normal(size=(10_000, 3))
        return X * ((1 + y + 0.25 * rng.normal(size=10_000)) / np.linalg.norm(X, axis=1))[:, None], y, 5

    yield "breast cancer", lambda: (*made.load_breast_cancer(return_X_y=True), 2)
    yield "wine", of_rng(lambda rng: (*shuffled(rng, *made.load_wine(return_X_y=True)), 3))
    yield "checkerboard", of_rng(checkerboard)
    yield "rules of bits", of_rng(rules_of_bits)
    yield "shells", of_rng(shells)
    options: dict[str, Any] = {"n_samples": 10_000, "n_features": 20, "n_classes": 2, "random_state": seed}
    yield "Gaussian quantiles, two", lambda: (*made.make_gaussian_quantiles(**options), 2)
    clusters: dict[str, Any] = {"n_features": 60, "n_informative": 20, "n_clusters_per_class": 3, "random_state": seed}
    yield "many clusters", lambda: (*made.make_classification(10_000, flip_y=0.02, **clusters), 2)
    six: dict[str, Any] = {"n_features": 30, "n_informative": 12, "n_classes": 6, "random_state": seed}
    yield "six classes", lambda: (*made.make_classification(10_000, **six), 6)
    yield "Sine, noisy", lambda: table(synth.Sine(3, seed=seed, balance_classes=True, has_noise=True).take(10_000), 2)
    yield "SEA, noisy", lambda: table(synth.SEA(2, noise=0.1, seed=seed).take(10_000), 2)
    parts = (synth.RandomTree(seed_tree=tree, seed_sample=tree, n_classes=3) for tree in (seed, seed + 1))
    swap = synth.ConceptDriftStream(*parts, seed=seed, position=5000, width=1000)
    yield "RandomTree, three, drift", lambda: table(swap.take(10_000), 3)


def wide() -> Iterator[tuple[str, Callable[[], tuple[np.ndarray, np.ndarray, int]]]]:
    """Yield the unseen streams that were played last, after two classes got products of up to 128 features."""
    seed = 23

    def of_rng(label: Callable[[np.ndarray, np.random.Generator], np.ndarray], bits: bool = False) -> Any:
        def stream() -> tuple[np.ndarray, np.ndarray, int]:
            rng = np.random.default_rng(seed)
            X = (rng.random((10_000, 100)) < 0.15).astype(float) if bits else rng.normal(size=(10_000, 100))
            return X, (label(X, rng) + rng.logistic(size=10_000) > 0).astype(int), 2

        return stream

    def linear(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return 0.3 * X @ rng.normal(size=100)

    def with_products(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return linear(X, rng) + 2 * (X[:, 0] * X[:, 1] - X[:, 2] * X[:, 3])

    def of_bits(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        left, right = rng.integers(0, 100, (2, 30))
        return 4 * linear(X, rng) + (X[:, left] * X[:, right]) @ (4 * rng.normal(size=30))

    yield "linear, wide", of_rng(linear)
    yield "products, wide", of_rng(with_products)
    yield "bits, wide", of_rng(of_bits, bits=True)
    options: dict[str, Any] = {"n_features": 100, "n_informative": 15, "n_redundant": 20, "random_state": seed}
    yield "clusters, wide", lambda: (*made.make_classification(10_000, n_clusters_per_class=4, **options), 2)
    yield "Gaussians, wide", lambda: (*made.make_blobs(10_000, 100, centers=6, cluster_std=9, random_state=seed), 6)


def shuffled(rng: np.random.Generator, X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    order = rng.permutation(len(y))
    return X[order], y[order]


def numbers_with_squares() -> Iterator[tuple[str, Callable[[], tuple[np.ndarray, np.ndarray, int]]]]:
    """Yield such streams of numbers."""
    seed = 19

    def sines(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, int]:
        X = rng.normal(size=(6000, 6))
        return X, np.sin(2 * X).sum(axis=1) + 0.3 * rng.normal(size=6000), 0

    def distance(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, int]:
        X = rng.normal(size=(6000, 8))
        return X, np.linalg.norm(X[:, :4], axis=1) + 0.1 * rng.normal(size=6000), 0

    options: dict[str, Any] = {"n_features": 20, "n_informative": 10, "noise": 50, "random_state": seed}
    yield "linear", lambda: (*made.make_regression(6000, **options), 0)
    yield "Friedman, wide", lambda: (*made.make_friedman1(6000, 30, noise=1, random_state=seed), 0)
    yield "sines", lambda: sines(np.random.default_rng(seed))
    yield "distance", lambda: distance(np.random.default_rng(seed))
    yield "diabetes", lambda: (*made.load_diabetes(return_X_y=True), 0)


def of_three(numbers: bool) -> tuple[np.ndarray, np.ndarray, int]:
    """Return rows with a target that no two of their features determine: the product of three, or its sign."""
    rng = np.random.default_rng(17)
    X = rng.normal(size=(10_000, 6))
    product = X[:, :3].prod(axis=1)
    return X, product + 0.1 * rng.normal(size=10_000) if numbers else (product > 0).astype(int), 0 if numbers else 2


def of_card(name: str) -> tuple[np.ndarray, np.ndarray, int]:
    stream = open_stream(DatasetSpec(name=name, order="file", task="multiclass"), 0, 0)
    X: Any = floats(stream.X)
    (y,) = stream.tasks.values()
    return X if isinstance(X, np.ndarray) else X.toarray(), np.unique(y, return_inverse=True)[1], len(np.unique(y))


def table(rows: Any, n_classes: int) -> tuple[np.ndarray, np.ndarray, int]:
    """Return a stream of river as arrays; text is one column for each value."""
    found = [({k if not isinstance(v, str) else f"{k}={v}": v for k, v in x.items()}, y) for x, y in rows]
    names = list(dict.fromkeys(name for x, _ in found for name in x))
    X = np.array([[1.0 if isinstance(x.get(n), str) else float(x.get(n, 0)) for n in names] for x, _ in found])
    y = [y for _, y in found]
    return X, np.unique(y, return_inverse=True)[1] if n_classes else np.array(y, dtype=float), n_classes


def scores_of(
    name: str, X: np.ndarray, y: np.ndarray, n_classes: int, form: type[Any] | None = None, **given: Any
) -> Iterator[np.ndarray]:
    """Yield the scores of one of our learners before each label, 256 rows at a time, shape (n,) or (n_classes, n)."""
    learner: Any = find(name, task="multiclass" if n_classes > 2 else "binary" if n_classes else "regression")(**given)
    if form is not None:
        learner.form = form
    group = Group(Linear(), [learner], n_classes=n_classes if n_classes > 2 else None)
    labels = 2 * y - 1 if n_classes == 2 else y
    Z = X if name == "auto" else Standardised(X.shape[1]).scaled(X)
    for start in range(0, len(y), 256):
        yield group.feed(Z[start : start + 256], labels[None, start : start + 256])[0]


def ours(name: str, X: np.ndarray, y: np.ndarray, n_classes: int, **given: Any) -> Iterator[Any]:
    for scores in scores_of(name, X, y, n_classes, **given):
        yield from (scores.argmax(axis=0) if n_classes > 2 else scores > 0 if n_classes else scores)


def of_river(make: Callable[[int], Any], X: np.ndarray, y: np.ndarray, n_classes: int) -> Iterator[Any]:
    model, labels = make(n_classes), y.tolist() if n_classes != 2 else (y > 0).tolist()
    for x, label in zip(X.tolist(), labels, strict=True):
        row = dict(enumerate(x))
        yield model.predict_one(row) or 0
        model.learn_one(row, label)


def of_scikit(with_features: bool, X: np.ndarray, y: np.ndarray, n_classes: int) -> Iterator[Any]:
    Z, model, features = Standardised(X.shape[1]).scaled(X), SGDClassifier(loss="log_loss", random_state=0), None
    for t in range(len(y)):
        if with_features and t == FIRST:
            features = Nystroem(gamma=median_gamma(Z[:FIRST]), n_components=FIRST, random_state=0).fit(Z[:FIRST])
            model = SGDClassifier(loss="log_loss", random_state=0)
            model.partial_fit(features.transform(Z[:FIRST]), y[:FIRST], range(n_classes))
        row = Z[t : t + 1] if features is None else features.transform(Z[t : t + 1])
        yield model.predict(row)[0] if t else 0
        model.partial_fit(row, y[t : t + 1], range(n_classes))


def of_vowpal(options: str, X: np.ndarray, y: np.ndarray, n_classes: int) -> Iterator[Any]:
    from vowpalwabbit import Workspace

    several = f" --oaa {n_classes}" if n_classes > 2 else ""
    loss = "logistic" if n_classes else "squared"
    model = Workspace(f"--quiet --loss_function {loss}{several} {options}")
    for x, label in zip(X, y.tolist(), strict=True):
        pairs = " ".join(f"{j}:{x[j]:.9g}" for j in np.flatnonzero(x))
        given = label + 1 if n_classes > 2 else 2 * label - 1 if n_classes else label
        found = model.predict(f"| {pairs}")
        yield found - 1 if n_classes > 2 else found > 0 if n_classes else found
        model.learn(f"{given} | {pairs}")
    model.finish()


def largest(X: np.ndarray, y: np.ndarray, n_classes: int) -> Iterator[Any]:
    """The largest class so far, or the mean."""
    counts, total = np.zeros(n_classes), 0.0
    for t, label in enumerate(y.tolist()):
        yield counts.argmax() if n_classes else total / max(1, t)
        if n_classes:
            counts[label] += 1
        total += label


def logistic(n_classes: int) -> Any:
    plain = linear_model.LogisticRegression()
    return preprocessing.StandardScaler() | (multiclass.OneVsRestClassifier(plain) if n_classes > 2 else plain)


def linear(n_classes: int) -> Any:
    return preprocessing.StandardScaler() | linear_model.LinearRegression()


def sides(of_classes: bool) -> dict[str, tuple[str, Side]]:
    """Return the sides by name, each with its library."""
    if not of_classes:
        return {
            "mean": ("", largest),
            "auto": ("budgetrun", partial(ours, "auto")),
            "least_squares": ("budgetrun", partial(ours, "least_squares", rates="normalised", step=0.2)),
            "LinearRegression": ("river", partial(of_river, linear)),
            "AMRules": ("river", partial(of_river, lambda _: rules.AMRules())),
            "forest": ("river", partial(of_river, lambda _: forest.ARFRegressor(seed=1))),
            "squared": ("vowpalwabbit", partial(of_vowpal, "")),
        }
    return {
        "largest class": ("", largest),
        "auto": ("budgetrun", partial(ours, "auto")),
        "logistic": ("budgetrun", partial(ours, "logistic")),
        "LogisticRegression": ("river", partial(of_river, logistic)),
        "Hoeffding tree": ("river", partial(of_river, lambda _: tree.HoeffdingTreeClassifier())),
        "adaptive random forest": ("river", partial(of_river, lambda _: forest.ARFClassifier(seed=1))),
        "plain": ("vowpalwabbit", partial(of_vowpal, "")),
        "-q ::": ("vowpalwabbit", partial(of_vowpal, "-q ::")),
        "--nn 20": ("vowpalwabbit", partial(of_vowpal, "--nn 20 --inpass")),
        "SGD": ("scikit-learn", partial(of_scikit, False)),
        "Nystroem + SGD": ("scikit-learn", partial(of_scikit, True)),
    }


def measured(name: str, library: str, side: Side, stream: Any, stops: list[int]) -> Iterator[tuple[int, float, float]]:
    """Yield rows, error and microseconds per row at some stops."""
    X, y, n_classes = stream
    if library == "budgetrun":
        list(side(X[:600], y[:600], n_classes))
    total, began, played = 0.0, time.process_time(), side(X[: stops[-1]], y[: stops[-1]], n_classes)
    for t, found in enumerate(played, 1):
        total += found != y[t - 1] if n_classes else (found - y[t - 1]) ** 2
        if t in stops:
            error = 100 * total / t if n_classes else (total / t) ** 0.5
            yield t, error, 1e6 * (time.process_time() - began) / t


def main() -> None:
    # What is compiled is compiled before the clock starts.
    os.environ["BUDGETRUN_COMPILED"] = "1"
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--most", type=int, default=60_000, help="rows of a stream at most")
    parser.add_argument("--slow", type=int, default=10_000, help="rows that slow sides play")
    parser.add_argument("--sides", nargs="*")
    parser.add_argument("--streams", nargs="*")
    given = parser.parse_args()
    rows: dict[tuple[str, str, int], dict[str, Any]] = {}
    if TABLE.is_file():
        known = pd.read_csv(TABLE, dtype=str, keep_default_na=False).to_dict("records")
        rows = {(row["stream"], row["side"], int(row["rows"])): row for row in known}
    for name, load in streams():
        if given.streams and name not in given.streams:
            continue
        stream = load()
        n, n_classes = min(len(stream[1]), given.most), stream[2]
        for side, (library, play) in sides(n_classes > 0).items():
            if given.sides and side not in given.sides:
                continue
            try:
                shown = f"{library} {version(library)}" if library else ""
            except PackageNotFoundError:
                continue
            stops = sorted({min(n, given.slow), n}) if side not in SLOW else [min(n, given.slow)]
            with threadpool_limits(1):
                for t, error, seconds in measured(side, library, play, stream, stops):
                    row = (name, n_classes, side, shown, t, round(error, 4), round(seconds, 1))
                    print(*row, sep="\t", file=sys.stderr, flush=True)
                    rows[name, side, t] = dict(zip(COLUMNS, row, strict=True))
            TABLE.parent.mkdir(parents=True, exist_ok=True)
            pd.DataFrame(rows.values()).to_csv(TABLE, index=False)


if __name__ == "__main__":
    main()
