"""Measure the probabilities of `auto`, its errors with balanced classes and long tails, and ways to follow drift.

Writes results/auto/reliability.csv, balance.csv, tails.csv and drift.csv, and draws docs/auto_reliability.png. Every
row is predicted before it is learned, on streams of race_auto.py. Two ways to follow drift are tried, and `auto` has
neither: its sums of squared derivatives fade by a factor per round; or two stacks, one with fading sums, are weighted
by their losses with a fixed share.

Usage: python scripts/measure/check_auto.py [reliability] [balance] [tails] [drift]

Needs river.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import race_auto
from matplotlib.figure import Figure
from threadpoolctl import threadpool_limits

from budgetrun.config import DatasetSpec
from budgetrun.data import open_stream
from budgetrun.engine.hypotheses import stacked
from budgetrun.kernels.kinds import floats
from budgetrun.play.metrics import Calibration, Tally
from budgetrun.results import plotting

FOLDER = race_auto.TABLE.parent
TOP = FOLDER.parents[1]
# The rows of a stream at most, for balanced classes and otherwise; and the bins of probabilities.
BALANCE, MOST, BINS = 20_000, 10_000, 10
OF_CLASSES = ("phishing", "a9a", "ijcnn1", "digits", "Agrawal, drift", "RandomRBFDrift")
DRIFTING = ("SEA, drift", "Agrawal, drift", "Hyperplane", "RandomRBFDrift", "FriedmanDrift")
STEADY = ("phishing", "ijcnn1", "digits", "Planes2D")
# Labels of rows whose logarithms are given; and streams of others with long tails.
MADE: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "log-normal, product": lambda Z: Z[:, 0] * Z[:, 1] > 0,
    "log-normal, sum": lambda Z: Z @ np.arange(1, 7) > 0,
    "log-normal, ring": lambda Z: (Z[:, :3] ** 2).sum(axis=1) > 2.4,
}
TAILED = ("cod_rna", "susy_30000", "usps", "ImageSegments")
FADE, SHARE = 0.999, 0.001


def scores(name: str, stream: Any, form: type[Any] | None = None, **given: Any) -> np.ndarray:
    """Return the scores of a learner before each label, shape (T,) or (T, n_classes)."""
    return np.concatenate(list(race_auto.scores_of(name, *stream, form, **given)), axis=-1).T


def shortened(stream: Any, most: int) -> Any:
    X, y, n_classes = stream
    return X[:most], y[:most], n_classes


def reliability(name: str, stream: Any) -> Iterator[dict[str, Any]]:
    """Yield the bins of the probabilities of all classes, with the metrics of the whole stream."""
    _, y, n_classes = stream
    for side in ("auto", "logistic"):
        f, calibration = scores(side, stream), Calibration()
        rounds = zip(f if f.ndim > 1 else f.tolist(), y.tolist(), strict=True)
        p = np.array([calibration.learn(one, code) for one, code in rounds])
        true = y[:, None] == np.arange(n_classes)
        tally = Tally(["log_loss", "brier"], n_classes if n_classes > 2 else None, "mistake")
        tally.add(f.T, y if n_classes > 2 else 2 * y - 1)
        at = np.minimum((p * BINS).astype(int), BINS - 1)
        bins = [(b, int((at == b).sum()), p[at == b].mean(), true[at == b].mean()) for b in np.unique(at)]
        error = sum(n * abs(mean - share) for _, n, mean, share in bins) / p.size
        for b, n, mean, share in bins:
            yield {"stream": name, "side": side, "rows": len(y), **tally.columns(), "calibration_error": error} | {
                "bin": b, "probabilities": n, "mean": mean, "share": share,
            }  # fmt: skip


def balance(name: str) -> Iterator[dict[str, Any]]:
    """Yield errors and balanced errors on the rows in random order."""
    stream = open_stream(DatasetSpec(name=name, order="permuted"), 0, 0)
    (y,) = stream.tasks.values()
    X, codes = floats(stream.X)[:BALANCE], (y[:BALANCE] > 0).astype(int)
    for side, given in (("auto", {}), ("auto", {"class_weight": "balanced"}), ("logistic", {})):
        wrong = (scores(side, (X, codes, 2), **given) > 0) != codes
        each = [100 * wrong[codes == c].mean() for c in (0, 1)]
        row = {"stream": name, "side": f"{side}, balanced" if given else side, "rows": len(codes)}
        row["smaller_class"] = 100 * min(codes.mean(), 1 - codes.mean())
        yield row | {"error": 100 * wrong.mean(), "balanced_error": np.mean(each)}


def tails(name: str, stream: Any) -> Iterator[dict[str, Any]]:
    """Yield the errors of `auto` as it is and without twins, and on logarithms of rows that were made."""
    X, y, n_classes = stream
    sides = {"": (X, stacked.SEEN), "no twins": (X, sys.maxsize)}
    if name in MADE:
        sides["logarithms"] = (np.log(X), stacked.SEEN)
    for way, (rows, seen) in sides.items():
        with mock.patch.object(stacked, "SEEN", seen):
            wrong = error(scores("auto", (rows, y, n_classes)), stream)
            yield {"stream": name, "way": way, "rows": len(y), "error": wrong}


def log_normal(name: str, n: int = 8000) -> Any:
    """Return rows of six columns whose logarithms are normal, and a label that depends on these."""
    Z = np.random.default_rng(0).normal(size=(n, 6))
    return np.exp(1.5 * Z), MADE[name](Z).astype(int), 2


def fading(of: type[Any], fade: float) -> type[Any]:
    """Return a form whose sums of squared derivatives fade."""

    class Fading(of):  # type: ignore[misc]
        compiled = False

        def fade(self) -> None:
            for name in ("_squared", "_u_squared", "_v_squared"):
                if name in vars(self):
                    getattr(self, name)[:] *= fade

        def adapt(self, slope: float, step: float) -> None:
            self.fade()
            super().adapt(slope, step)

        def adapt_each(self, slopes: np.ndarray, step: float) -> None:
            self.fade()
            super().adapt_each(slopes, step)

    return Fading


def drift(name: str, stream: Any) -> Iterator[dict[str, Any]]:
    """Yield the errors of `auto` as it is, with fading sums, and with a fixed share."""
    _, y, n_classes = stream
    of = stacked.StackedClasses if n_classes > 2 else stacked.Stacked
    found = {"": scores("auto", stream), f"fading {FADE}": scores("auto", stream, fading(of, FADE))}
    if n_classes:
        logs = [log_shares(f, n_classes) for f in found.values()]
        found[f"fixed share {SHARE}"] = shared(np.stack(logs), y)
    for way, f in found.items():
        yield {"stream": name, "drifts": name in DRIFTING, "way": way, "rows": len(y), "error": error(f, stream)}


def error(f: np.ndarray, stream: Any) -> float:
    """Return the error of scores in percent, or of numbers the root of the mean squared one."""
    _, y, n_classes = stream
    guess = f.argmax(axis=1) if f.ndim > 1 else (f > 0).astype(int) if n_classes else f
    return float(100 * np.mean(guess != y) if n_classes else np.sqrt(np.mean((guess - y) ** 2)))


def log_shares(f: np.ndarray, n_classes: int) -> np.ndarray:
    """Return the logarithms of the probabilities, shape (T, n_classes)."""
    f = f if n_classes > 2 else np.stack((np.zeros(len(f)), f), axis=1)
    return f - np.logaddexp.reduce(f, axis=1, keepdims=True)


def shared(logs: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the probabilities of a mixture by exponential weights with a fixed share, shape (T, n_classes)."""
    p, weights = np.exp(logs), np.full(len(logs), 1 / len(logs))
    mixed = np.empty(p.shape[1:])
    for t, label in enumerate(y):
        mixed[t] = weights @ p[:, t]
        weights = weights * p[:, t, label]
        weights = (1 - SHARE) * weights / weights.sum() + SHARE / len(logs)
    return mixed


def draw() -> None:
    found = pd.read_csv(FOLDER / "reliability.csv")
    names = list(found["stream"].unique())
    figure = Figure(figsize=(10, 5.4), layout="constrained")
    for axes, name in zip(figure.subplots(2, len(names) // 2, sharex=True, sharey=True).flat, names, strict=True):
        axes.plot([0, 1], [0, 1], color="lightgrey", zorder=0)
        for side, look in plotting.hand_out(["auto", "logistic"]).items():
            # Of few probabilities, the share says little.
            own = found[(found["stream"] == name) & (found["side"] == side) & (found["probabilities"] >= 50)]
            axes.plot(own["mean"], own["share"], label=side, markersize=4, **look.line)
        axes.set_title(name.replace("_", "-"), fontsize=10)
    axes.legend()
    figure.supxlabel("Mean predicted probability of a class")
    figure.supylabel("Share of rounds with that class")
    plotting.save(figure, TOP / "docs" / "auto_reliability.png")


def main() -> None:
    os.environ["BUDGETRUN_COMPILED"] = "1"
    known = dict(race_auto.streams())
    measures: dict[str, Any] = {
        "reliability": (OF_CLASSES, reliability),
        "tails": ((*MADE, *TAILED), tails),
        "drift": ((*DRIFTING, *STEADY), drift),
    }
    with threadpool_limits(1):
        for what in sys.argv[1:] or ("reliability", "balance", "tails", "drift"):
            rows: list[dict[str, Any]] = []
            if what == "balance":
                rows = [row for name in ("census_income", "w8a", "ijcnn1") for row in balance(name)]
            names, measure = measures.get(what, ((), None))
            for name in names:
                stream = log_normal(name) if name in MADE else shortened(known[name](), MOST)
                rows += measure(name, stream)
                print(rows[-1], file=sys.stderr, flush=True)
            pd.DataFrame(rows).round(6).to_csv(FOLDER / f"{what}.csv", index=False, lineterminator="\n")
            if what == "reliability":
                draw()


if __name__ == "__main__":
    main()
