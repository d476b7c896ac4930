"""Classifiers of river."""

import pickle
from typing import Any

import numpy as np

from budgetrun.base.params import Seed
from budgetrun.papers.arena.base import ProgramLearner, log_odds, model_of


class River(ProgramLearner):
    """A classifier of river: it predicts each example, then learns it.

    Parameters:
    model : str
        Its path in river, such as ``tree.HoeffdingTreeClassifier``; its parameters have their defaults.
    seed : int, >= 0
        Its seed, if it takes one.

    Notes: O(d) per round, and what the program takes. Its score is the log-odds of its probability. Its bytes are those
    of its pickle.

    References: Montiel et al. (2021), "River: machine learning for streaming data in Python", JMLR 22.
    """

    name = "river"
    title = "river"
    draws = True
    packages = ("river",)
    calls = 900

    def __init__(self, *, model: str = "linear_model.LogisticRegression", seed: Seed = 0) -> None:
        self.model, self.seed = model, seed

    def begin(self) -> "Model":
        return Model(model_of("river", self.model, "river", seed=self.seed))


class Model:
    """A model of river as a `Program`."""

    def __init__(self, model: Any) -> None:
        self._model = model

    def score(self, x: np.ndarray) -> float:
        p = self._model.predict_proba_one(dict(enumerate(x.tolist())))
        # Before the first label it knows no class, and before the first of a class not that one.
        return log_odds(p.get(True, 0.0) / (sum(p.values()) or 1.0)) if p else 0.0

    def learn(self, x: np.ndarray, y: int) -> None:
        self._model.learn_one(dict(enumerate(x.tolist())), y > 0)

    def size(self) -> int:
        return len(pickle.dumps(self._model))
