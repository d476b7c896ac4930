"""Classifiers of scikit-learn that learn by ``partial_fit``."""

import pickle
from typing import Any

import numpy as np

from budgetrun.base.params import Count, Seed
from budgetrun.papers.arena.base import ProgramLearner, model_of


class ScikitLearn(ProgramLearner):
    """A classifier of scikit-learn with ``partial_fit``, which learns an example at a time.

    Parameters:
    model : str
        Its path in scikit-learn, such as ``linear_model.SGDClassifier``; its parameters have their defaults.
    components : int, >= 1, optional
        Its examples are as many Nystroem features, made from the first so many rounds with gamma = 1 / the median of
        ||a - b||^2 there; by default the examples themselves.
    seed : int, >= 0
        Its ``random_state``, if it takes one.

    Notes: O(d) per round, and what the program takes. Its score is that of ``decision_function``. Its bytes are those
    of its pickle.

    References: Pedregosa et al. (2011), "Scikit-learn: machine learning in Python", JMLR 12.
    """

    name = "scikit_learn"
    title = "scikit-learn"
    draws = True
    calls = 1300

    def __init__(
        self, *, model: str = "linear_model.SGDClassifier", components: Count | None = None, seed: Seed = 0
    ) -> None:
        self.model, self.components, self.seed = model, components, seed

    def begin(self) -> "Model":
        model = model_of("sklearn", self.model, "scikit-learn", random_state=self.seed)
        return Model(model, self.components, self.seed)


class Model:
    """A model of scikit-learn as a `Program`."""

    def __init__(self, model: Any, components: int | None, seed: int) -> None:
        self._model, self._components, self._seed = model, components, seed
        self._features: Any = None
        self._first: list[tuple[np.ndarray, int]] = []
        self._begun = False
        # The features of the example of the last score.
        self._row = np.zeros((0, 0))

    def score(self, x: np.ndarray) -> float:
        if not self._begun:
            return 0.0
        with _unchecked():
            self._row = self._map(x[None])
            return float(self._model.decision_function(self._row)[0])

    def learn(self, x: np.ndarray, y: int) -> None:
        if self._components is None or self._features is not None:
            self._fit(self._row if self._begun else x[None], [y])
            return
        self._first.append((x.copy(), y))
        if len(self._first) == self._components:
            from sklearn.kernel_approximation import Nystroem

            from budgetrun.kernels.width import median_gamma

            X, labels = np.array([x for x, _ in self._first]), [label for _, label in self._first]
            gamma = median_gamma(X)
            self._features = Nystroem(gamma=gamma, n_components=self._components, random_state=self._seed).fit(X)
            self._first = []
            self._fit(self._map(X), labels)

    def size(self) -> int:
        return len(pickle.dumps((self._model, self._features, self._first)))

    def _fit(self, mapped: np.ndarray, y: list[int]) -> None:
        with _unchecked():
            self._model.partial_fit(mapped, y, classes=[-1, 1])
        self._begun = True

    def _map(self, X: np.ndarray) -> np.ndarray:
        mapped: np.ndarray = X if self._features is None else self._features.transform(X)
        return mapped


def _unchecked() -> Any:
    """Leave out checks of arguments, which take most of the time of a single example."""
    from sklearn import config_context

    return config_context(assume_finite=True, skip_parameter_validation=True)
