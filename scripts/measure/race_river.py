"""Compare the learners with the nearest models of river, on data sets that come with river; write results/river/.

All sides see the same stream: river's order, standardized by river's StandardScaler as the stream goes, outside the
time. Each predicts an example, then learns it. Parameters are the defaults of both libraries. Where there is a gamma, a
second row has the one with the fewest errors on the first tenth of the stream, and then plays the whole stream afresh.

Times are the least processor time of several turns, after some rounds that are not counted, in which ours compile.
The ratio is that to river's LogisticRegression, which is timed right before each turn; it is the median of the turns.
Where the logarithmic loss is not needed, ours play with probabilities=False. Memory is river's own measure
(`_raw_memory_usage`) after the last example, which counts the contents of arrays twice. With --data DIR, the script
also measures one round of a9a given as dicts, and what the dict costs.

Usage: python scripts/measure/race_river.py [--turns N] [--data DIR]
"""

from __future__ import annotations

import argparse
import lzma
import platform
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib.metadata import version
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from river import datasets, feature_extraction, linear_model, metrics, multiclass, neighbors, preprocessing, tree
from sklearn.datasets import load_svmlight_file
from threadpoolctl import threadpool_limits

from benchmarks.pages import markdown_table
from budgetrun import river as budgetrun_river
from budgetrun.kernels import compiling

FOLDER = Path(__file__).resolve().parents[2] / "results" / "river"
GAMMAS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
# Rounds that are played before the time is taken, in which code is compiled.
_WARM = 300
Rounds = list[tuple[dict[Any, float], Any]]
# Ours with two classes only are wrapped by river's OneVsRestClassifier when there are more; those of river as well.
OURS = ("Forgetron", "RBP", "Perceptron", "PassiveAggressive", "ProjectronPlusPlus")


def standardized(dataset: Any) -> Rounds:
    """Return a stream, standardized by what came before and the example itself."""
    scaler, rounds = preprocessing.StandardScaler(), []
    for x, y in dataset:
        scaler.learn_one(x)
        rounds.append((scaler.transform_one(x), y))
    return rounds


def sides(labels: list[Any]) -> Iterator[tuple[str, str, Callable[..., Any], bool]]:
    """Yield library, name, a function that makes the model, and whether that takes gamma."""
    several = len(labels) > 2

    def wrapped(model: Any) -> Any:
        return multiclass.OneVsRestClassifier(model) if several else model

    classes = {"classes": labels} if several else {}
    for name in OURS:
        made = budgetrun_river.CLASSIFIERS[name]
        yield "budgetrun", name, lambda made=made, **given: made(**classes, **given), True
    yield "budgetrun", "AutoClassifier", lambda **given: budgetrun_river.AutoClassifier(**classes, **given), False
    sampler, plain = feature_extraction.RBFSampler, linear_model.LogisticRegression
    yield "river", "RBFSampler + LogisticRegression", lambda **given: sampler(seed=0, **given) | wrapped(plain()), True
    for kind in (plain, linear_model.PAClassifier, linear_model.ALMAClassifier, linear_model.Perceptron):
        yield "river", kind.__name__, lambda kind=kind: wrapped(kind()), False
    for kind in (tree.HoeffdingTreeClassifier, neighbors.KNNClassifier):
        yield "river", kind.__name__, kind, False


def play(model: Any, rounds: Rounds) -> tuple[np.ndarray, float]:
    """Play a stream; return which rounds are errors, and the processor time in seconds."""
    wrong = np.zeros(len(rounds), dtype=bool)
    began = time.process_time()
    for t, (x, y) in enumerate(rounds):
        wrong[t] = model.predict_one(x) != y
        model.learn_one(x, y)
    return wrong, time.process_time() - began


def race(make: Callable[[], Any], plain: Callable[[], Any], streams: list[Rounds]) -> tuple[np.ndarray, list[float]]:
    """Play each stream with a model, right after a plain one.

    Return which rounds are errors, shape (streams, T); and rounds per second, the ratio of the times, and the last kB.
    """
    play(make(), streams[0][:_WARM])
    wrongs, times, ratios = [], [], []
    for rounds in streams:
        _, alone = play(plain(), rounds)
        model = make()
        wrong, seconds = play(model, rounds)
        wrongs.append(wrong)
        times.append(seconds)
        ratios.append(seconds / alone)
    return np.array(wrongs), [len(wrong) / min(times), statistics.median(ratios), model._raw_memory_usage / 1000]


def log_loss(model: Any, rounds: Rounds) -> float | None:
    """Play a stream; return the mean logarithmic loss, or None if the model has no probabilities."""
    loss = metrics.LogLoss() if len({y for _, y in rounds}) == 2 else metrics.CrossEntropy()
    for x, y in rounds:
        try:
            p = model.predict_proba_one(x)
        except NotImplementedError:
            return None
        # A label that is not known yet.
        loss.update(y, p if y in p else {y: 0.0, **p})
        model.learn_one(x, y)
    return float(loss.get())


def measured(dataset: str, side: Any, rounds: Rounds, labels: list[Any], turns: int) -> Iterator[dict[str, Any]]:
    """Yield the row of a side with its default gamma, and the row with the gamma chosen on the first tenth."""
    plain = next(make for library, name, make, _ in sides(labels) if (library, name) == ("river", "LogisticRegression"))
    library, name, make, has_gamma = side
    # OneVsRestClassifier predicts by probabilities; AutoClassifier needs none.
    several = getattr(budgetrun_river.CLASSIFIERS.get(name), "_several", lambda: True)
    alone = len(labels) == 2 or several()
    timed: dict[str, Any] = {"probabilities": False} if library == "budgetrun" and alone else {}
    choices: list[tuple[str, dict[str, Any]]] = [("default" if has_gamma else "", {})]
    if has_gamma:
        tenth = rounds[: len(rounds) // 10]
        best = min(GAMMAS, key=lambda gamma: play(make(gamma=gamma, **timed), tenth)[0].sum())
        choices.append(("first tenth", {"gamma": best}))
    for gamma_from, given in choices:
        wrongs, (speed, ratio, memory) = race(partial(make, **given, **timed), plain, [rounds] * turns)
        errors = int(wrongs[-1].sum())
        yield {
            "dataset": dataset,
            "library": library,
            "model": name,
            "gamma": given.get("gamma", "auto" if library == "budgetrun" else 1.0) if has_gamma else None,
            "gamma_from": gamma_from,
            "rounds": len(rounds),
            "classes": len(labels),
            "errors": errors,
            "error_percent": 100 * errors / len(rounds),
            "log_loss": log_loss(make(**given), rounds),
            "rounds_per_second": speed,
            "memory_kb": memory,
            "time_ratio": 1.0 if name == "LogisticRegression" else ratio,
        }


def costs(data: Path, turns: int) -> Iterator[tuple[str, str, float]]:
    """Yield what one round of a9a costs, given as an array, and as dicts of the features that are not 0 or of all."""
    content = lzma.decompress((data / "libsvm" / "a9a.xz").read_bytes())
    X, y = load_svmlight_file(BytesIO(content), n_features=123)
    X, y = X[:10_000].toarray(), (y[:10_000] > 0).tolist()
    given = {"budget": 100, "gamma": 0.05}

    def best(make: Callable[[], Any], rows: Any, act: str = "learn_one") -> float:
        times = []
        for _ in range(turns + 1):
            model = make()
            model.learn_one(rows[0], y[0], *([[False, True]] if isinstance(rows, np.ndarray) else []))
            for x, label in zip(rows[1:2000], y[1:2000], strict=True):
                model.learn_one(x, label)
            call = getattr(model, act)
            began = time.process_time()
            for x, label in zip(rows[2000:], y[2000:], strict=True):
                call(*((x, label) if act == "learn_one" else (x,)))
            times.append(1e6 * (time.process_time() - began) / len(rows[2000:]))
        return min(times[1:])

    made = budgetrun_river.CLASSIFIERS["Forgetron"]
    yield "array", "estimators learn_one", best(lambda: made._made(**given), X)
    dicts = {"not zero": [{int(j): 1.0 for j in np.flatnonzero(x)} for x in X]}
    dicts["all"] = [dict(enumerate(x.tolist())) for x in X]
    for keys, rows in dicts.items():
        yield keys, "dict to row", best(lambda: made(**given), rows, "_row")
        yield keys, "learn_one without probabilities", best(lambda: made(**given, probabilities=False), rows)
        yield keys, "learn_one", best(lambda: made(**given), rows)
        yield keys, "predict_one", best(lambda: made(**given), rows, "predict_one")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--data", type=Path)
    arguments = parser.parse_args()
    FOLDER.mkdir(parents=True, exist_ok=True)
    rows = []
    with threadpool_limits(1), compiling.first():
        if arguments.data:
            found = pd.DataFrame(costs(arguments.data, arguments.turns), columns=["rows", "part", "microseconds"])
            found.to_csv(FOLDER / "learn_one.csv", index=False, float_format="%.6g")
        for dataset in (datasets.Phishing, datasets.Bananas, datasets.ImageSegments):
            rounds = standardized(dataset())
            labels = sorted({y for _, y in rounds})
            for side in sides(labels):
                for row in measured(dataset.__name__, side, rounds, labels, arguments.turns):
                    rows.append(row)
                    print(*row.values(), sep="\t", file=sys.stderr, flush=True)
    pd.DataFrame(rows).to_csv(FOLDER / "race.csv", index=False, float_format="%.6g")
    text = (__doc__ or "").split("\n\n")
    (FOLDER / "race.md").write_text("\n\n".join([f"# {text[0]}", *text[1:3], markdown(rows), versions()]) + "\n")


def speed_of(row: dict[str, Any]) -> list[str]:
    """Return rounds per second, the time ratio and kB, as tables have them."""
    return [f"{row['rounds_per_second']:,.0f}", f"{row['time_ratio']:.1f}", f"{row['memory_kb']:,.0f}"]


def versions() -> str:
    """Return the versions of what was measured as a list."""
    found = {name: version(name) for name in ("river", "numpy", "numba", "scikit-learn")}
    return "\n".join(f"- {key}: {value}" for key, value in (found | {"python": platform.python_version()}).items())


def markdown(rows: list[dict[str, Any]]) -> str:
    head = ["data set", "library", "model", "gamma", "error, %", "log loss", "rounds/s", "time ratio", "memory, kB"]
    lines = []
    for row in rows:
        gamma = "" if row["gamma"] is None else f"{row['gamma']} ({row['gamma_from']})"
        # A model without probabilities has none.
        loss = "" if row["log_loss"] is None else f"{row['log_loss']:.3f}"
        cells = [row["dataset"], row["library"], row["model"], gamma, f"{row['error_percent']:.1f}", loss]
        lines.append([*cells, *speed_of(row)])
    return markdown_table(head, lines)


if __name__ == "__main__":
    main()
