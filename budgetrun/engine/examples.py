"""Small streams for the examples in docstrings, from the datasets that come with scikit-learn."""

from typing import Any

from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
from sklearn.preprocessing import scale

from budgetrun.engine.group import Count, run
from budgetrun.kernels import Gaussian


def breast_cancer(learner: Any, *, gamma: float) -> Count:
    """Run a binary learner over 569 tumors with 30 standardized features."""
    X, y = load_breast_cancer(return_X_y=True)
    return run(learner, Gaussian(gamma=gamma), scale(X), 2 * y - 1)


def digits(learner: Any, *, gamma: float) -> Count:
    """Run a multiclass learner over 720 images of the digits 0 to 3, with 64 pixels from 0 to 1."""
    X, y = load_digits(n_class=4, return_X_y=True)
    return run(learner, Gaussian(gamma=gamma), X / 16, y, n_classes=4)


def diabetes(learner: Any, *, gamma: float) -> Count:
    """Run a regression learner over 442 patients with 10 features, and labels from 0.25 to 3.46."""
    X, y = load_diabetes(return_X_y=True)
    return run(learner, Gaussian(gamma=gamma), X, y / 100)
