"""Compare learners with 200 examples and a linear learner on 200 Nystroem features on a9a; write results/tuned.csv.

Each side has the setting with the lowest log loss (of online probabilities) on the first tenth of a permutation, and
errors are those of the other nine tenths: the means over the permutations, and their standard deviations.

Usage: python scripts/results/tuned.py [--data DIR]            (two minutes)
"""

from __future__ import annotations

import argparse
import os
from collections import Counter
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import SGDClassifier

from budgetrun.config.schema import DatasetSpec
from budgetrun.data import open_stream
from budgetrun.kernels import Gaussian
from budgetrun.kernels.kinds import floats
from budgetrun.learners import find
from budgetrun.play.metrics import Tally
from budgetrun.play.session import BLOCK_SIZE, Session, prefix_of

TABLE = Path(__file__).resolve().parents[2] / "results" / "tuned.csv"
PERMUTATIONS, BUDGET, GAMMA = 10, 200, 0.04
GEOMETRIC = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
# Sides: the learner, the swept parameter with its values, and others.
SIDES: dict[str, tuple[str, str | None, dict[str, Any]]] = {
    "majority": ("majority", None, {}),
    "logistic": ("logistic", None, {"inputs": "standardised", "step": (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)}),
    "forgetron(self_tuned)": ("forgetron", "self_tuned", {"budget": BUDGET}),
    "bpa(nearest)": ("bpa", "nearest", {"budget": BUDGET, "C": GEOMETRIC}),
    "ahpatron": ("ahpatron", None, {"budget": BUDGET, "epsilon": (0.1, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9)}),
}
NYSTROEM = "nystroem + sgd"
OF_SGD = {
    "loss": ("hinge", "log_loss"),
    "average": (False, True),
    "alpha": (1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2),
}
# A log loss on the first tenth, and an error after it.
Outcome = tuple[float, float]


def main(data: Path | None) -> None:
    rows = []
    for repetition in range(PERMUTATIONS):
        stream = open_stream(DatasetSpec(name="a9a", parts=("train",), order="permuted"), 0, repetition, data)
        y = stream.tasks["-"]
        found = {side: of_learner(*given, stream.X, y) for side, given in SIDES.items()}
        dense: Any = floats(stream.X)
        found[NYSTROEM] = dict(of_sgd(np.asarray(dense if isinstance(dense, np.ndarray) else dense.toarray()), y))
        for side, outcomes in found.items():
            chosen = min(outcomes, key=lambda setting: outcomes[setting][0])
            rows.append({"side": side, "setting": chosen, "error": 100 * outcomes[chosen][1]})
    frame, written = pd.DataFrame(rows), []
    for side, own in frame.groupby("side", sort=False):
        (setting, n), *_ = Counter(own["setting"]).most_common(1)
        numbers = {"error_percent": round(own["error"].mean(), 3), "sd": round(own["error"].std(), 3)}
        written.append({"side": side, "n": len(own), "setting": setting, "streams that chose it": n, **numbers})
    pd.DataFrame(written).to_csv(TABLE, index=False)


def settings(given: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Return each combination of the values in tuples."""
    lists = [value if isinstance(value, tuple) else (value,) for value in given.values()]
    return (dict(zip(given, values, strict=True)) for values in product(*lists))


def text(setting: dict[str, Any], given: dict[str, Any]) -> str:
    """Return the swept values of a setting in words."""
    return ", ".join(f"{name}={value}" for name, value in setting.items() if isinstance(given[name], tuple))


def of_learner(name: str, variant: str | None, given: dict[str, Any], X: Any, y: np.ndarray) -> dict[str, Outcome]:
    """Return the outcome of a learner of this package with each setting."""
    made = [(text(one, given), find(name, variant)(**one)) for one in settings(given)]
    options: dict[str, Any] = {"task": "binary", "n_classes": 2, "tie": "positive", "dtype": "float64"}
    learners = [(Gaussian(gamma=GAMMA), learner) for _, learner in made]
    session = Session(learners, **options, metrics=("prefix_log_loss",), labels=y[None])
    session.run([(X, y[None])])
    found = {}
    for i, (setting, _) in enumerate(made):
        one = session.columns(i)
        rest = (one["mistakes"] - one["prefix_mistakes"]) / (len(y) - one["prefix_examples"])
        found[setting] = one["prefix_log_loss"], rest
    return found


def of_sgd(X: np.ndarray, y: np.ndarray) -> Iterator[tuple[str, Outcome]]:
    """Return the same of SGDClassifier on features of the first block; each block is predicted, then learned."""
    Z = Nystroem(gamma=GAMMA, n_components=BUDGET, random_state=0).fit(X[:BLOCK_SIZE]).transform(X)
    n = prefix_of(len(y))
    for setting in settings(OF_SGD):
        classifier, scores = SGDClassifier(random_state=0, **setting), np.zeros(len(y))
        for start in range(0, len(y), BLOCK_SIZE):
            block = slice(start, start + BLOCK_SIZE)
            if start:
                scores[block] = classifier.decision_function(Z[block])
            classifier.partial_fit(Z[block], y[block], classes=[-1, 1])
        tally = Tally(["log_loss"], None, "positive")
        tally.add(scores[:n], y[:n])
        yield text(setting, OF_SGD), (tally.columns()["log_loss"], float(((scores >= 0) != (y > 0))[n:].mean()))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=os.environ.get("BUDGETRUN_DATA"))
    main(parser.parse_args().data)
