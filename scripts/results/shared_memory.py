"""Check the theory of docs/shared-memory.md on adversarial streams; write results/shared_memory/.

These are a table, checks.csv, and two figures. With --sweeps, draw the figures of the sweeps shared_memory_digits,
shared_memory_fleet and shared_memory_keys instead, which need their curves/ for who holds how much over time. With
--keys M, write rows of keys.csv: the bounds on a fleet of M keys with floors of 83, for some policies. With --splits,
write splits.csv: the mistakes of the best fixed split in hindsight, on the streams of 100 and 1,000 keys.

Usage: python scripts/results/shared_memory.py [--sweeps | --keys M POLICY... | --splits]  (two minutes of processor
time; with --splits an hour)
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy.stats import t

from budgetrun.config.schema import DatasetSpec
from budgetrun.data import open_stream
from budgetrun.fleet import make
from budgetrun.kernels import Gaussian, Kernel
from budgetrun.papers.fleets import measure
from budgetrun.papers.fleets.algorithm import SharedMemory
from budgetrun.papers.fleets.bounds import competitors, verdicts
from budgetrun.results.plotting import save
from budgetrun.results.store.read import load

TOP = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TOP / "tests")]

from reference import fleet_adversaries as adversaries  # noqa: E402
from reference.fleet import POLICIES, U_of, split  # noqa: E402

FOLDER = TOP / "results" / "shared_memory"
EVERY: dict[str, Any] = {**POLICIES, "spiteful": adversaries.Spiteful, "restless": adversaries.Restless}
Row = dict[str, Any]


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    rows = [*adversarial(), *paging(), *norms(), *small_kappa(), *covering()]
    pd.DataFrame(rows).to_csv(FOLDER / "checks.csv", index=False, float_format="%.6g")
    draw_norms(FOLDER / "norms.png")
    draw_slack(FOLDER / "slack.png")


def adversarial() -> Iterator[Row]:
    """Yield, for each stream, the largest ratios over all policies: small floors, floors of 83, and no floors."""
    for stream, play in adversaries.STREAMS.items():
        found: dict[str, list[float]] = {}
        removals = n_fleets = 0
        closest = -math.inf
        for policy in EVERY.values():
            if policy is POLICIES["equal_split"]:
                settings: list[tuple[float, Any, int, int]] = [(25, 6, 1, 4), (3 * 83, 83, 3, 3)]
            else:
                settings = [(25, 0, 1, 4), (25, 5, 1, 4), (3 * 83 + 6, 83, 3, 3), (90, 0, 2, 4)]
            for limit, floors, size, m in settings:
                shared = stream == "shared rows"
                sizes = {"entry": int(not shared), "row": int(shared)}
                made = adversaries.Watched(adversaries.K, limit, policy(), floors, **sizes)
                play(made, size, m)
                n_fleets, removals = n_fleets + 1, removals + len(made.removals)
                closest = max(closest, made.closest)
                for name, ratio in adversaries.ratios(made).items():
                    found.setdefault(name, []).append(ratio)
        values = {"fleets": n_fleets, "removals": removals, "Q - A": closest}
        for name, value in (values | {name: max(ratios) for name, ratios in found.items()}).items():
            yield {"check": "adversarial", "case": stream, "quantity": name, "value": value}


def paging() -> Iterator[Row]:
    """Yield the mistakes of every policy, and of the best split, if the example that is missing is always asked for."""
    T = 4000
    for m in (2, 5, 10):
        for name, policy in POLICIES.items():
            floors = split(2 * m - 1, range(m)) if name == "equal_split" else 1
            made, best = adversaries.paging(m, T, policy(), floors=floors)
            yield {"check": "paging", "case": m, "policy": name, "quantity": "mistakes", "value": made.M}
            yield {"check": "paging", "case": m, "policy": name, "quantity": "best split", "value": best}


def largest(b: int, most: float = 0.5) -> tuple[float, float]:
    """Return the largest U with kappa + eps <= 1/2 for a floor b, and its kappa."""
    s = np.geomspace(1e-6, 0.5, 20_001)
    low, high = 0.0, 1e3
    for _ in range(60):
        U = (low + high) / 2
        ok = (s * s + 2 * s * (1 + U) + U * U * np.log(1 / s) / (b + 1)).min() <= most
        low, high = (U, high) if ok else (low, U)
    at = (s * s + 2 * s * (1 + low) + low * low * np.log(1 / s) / (b + 1)).argmin()
    return low, float(s[at] ** 2 + 2 * s[at] * (1 + low))


def norms() -> Iterator[Row]:
    """Yield the largest norms of competitors, for several floors."""
    for b in (9, 20, 83, 1000):
        U, kappa = largest(b)
        for name, value in (("U", U), ("kappa", kappa), ("published U", U_of(b))):
            yield {"check": "norms", "case": b, "quantity": name, "value": value}


def small_kappa() -> Iterator[Row]:
    """Yield what a small kappa costs: mistakes and shrinkings on streams without malice."""
    for stream in ("own rows", "shared rows", "noise"):
        for kappa in (15 / 32, 0.2, 0.1, 0.05):
            made = adversaries.Watched(adversaries.K, 60, POLICIES["oldest"](), 5, kappa=kappa)
            adversaries.STREAMS[stream](made, 6, 4)
            shrinkings = sum(phi < 1 for *_, phi in made.removals)
            what = {"check": "kappa", "case": stream, "kappa": kappa}
            yield what | {"quantity": "mistakes", "value": made.M}
            yield what | {"quantity": "shrinkings", "value": shrinkings / len(made.removals)}


def covering() -> Iterator[Row]:
    """Yield how much more memory the sum bound needs to cover the class of every split of B with equal parts."""
    for m, b in ((2, 100), (126, 100), (10_000, 100), (126, 1000)):
        wanted, size = m * (b + 1) / math.log(b + 1), float(m * b)
        while (size + 1) / math.log(size + 1) < wanted:
            size *= 1.0001
        yield {"check": "covering", "case": m, "policy": f"b={b}", "quantity": "times", "value": size / (m * b)}


def draw_norms(path: Path) -> None:
    """Draw U over the floor."""
    floors = np.unique(np.geomspace(4, 2000, 60).astype(int))
    figure = Figure(figsize=(6, 3.6), layout="constrained")
    axes = figure.subplots()
    axes.loglog(floors, [math.sqrt(b + 1) for b in floors], "k:", label="no algorithm: sqrt(b + 1)")
    axes.loglog(floors, [largest(b)[0] for b in floors], label="small kappa")
    proved = floors[floors >= 83]
    axes.loglog(proved, [U_of(b) for b in proved], label="kappa = 15/32, b >= 83")
    axes.set(xlabel="floor b", ylabel="largest ||g|| of the bound")
    axes.legend()
    save(figure, path)


def draw_slack(path: Path) -> None:
    """Draw Q and A of the learners of two fleets over their mistakes."""
    figure = Figure(figsize=(9, 3.6), layout="constrained")
    both = figure.subplots(1, 2, sharey=True)
    for axes, (title, policy) in zip(both, {"globally oldest": "oldest", "spiteful": "spiteful"}.items(), strict=True):
        made = _Traced(adversaries.K, 40, EVERY[policy](), 5)
        adversaries.STREAMS["malicious"](made, 3, 3)
        for key in range(3):
            M, Q, A = np.array(made.traced[key]).T
            axes.plot(M, Q, f"C{key}", label=f"Q, learner {key}")
            axes.plot(M, A, f"C{key}:", label=f"A, learner {key}")
        axes.set(xlabel="mistakes of the learner", title=title)
    both[0].set_ylabel("sum of damages")
    both[1].legend(fontsize=8)
    save(figure, path)


class _Traced(adversaries.Watched):
    """A fleet that notes M, Q and A of each learner after each round."""

    def play(self, row: int, x: Any, labels: Any) -> None:
        super().play(row, x, labels)
        self.traced: dict[Any, list[tuple[float, float, float]]] = getattr(self, "traced", {})
        for key, f in self.learners.items():
            self.traced.setdefault(key, []).append((f.M, f.Q, f.allowed()))


def draw_sweep(name: str, dataset: str, policy: str) -> None:
    """Draw mistakes and the worst tenth of the learners over bytes, and who holds how much over time with a policy."""
    results = load(FOLDER.parent / name)
    runs = results.runs[results.runs["dataset"] == dataset]
    facts, limits = map_json(runs["facts"]), [given["shared_memory"] for given in map_json(runs["parameters"])]
    runs = runs.assign(bytes=limits, worst=[fact["worst_tenth"] for fact in facts])
    figure = Figure(figsize=(13, 4), layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    for label, own in runs.groupby("label", sort=False):
        for axes, column in ((left, "mistakes"), (middle, "worst")):
            found = own.groupby("bytes")[column].agg(["mean", "std", "count"])
            half = t.ppf(0.975, found["count"] - 1) * found["std"] / np.sqrt(found["count"])
            axes.errorbar(found.index, found["mean"], half, label=label, capsize=2, lw=1)
    for axes, title in ((left, "mistakes of all"), (middle, "error of the worst tenth")):
        axes.set(xscale="log", yscale="log", xlabel="bytes", title=title)
    left.legend(fontsize=8)
    chosen = runs[(runs["label"] == policy) & (runs["repetition"].astype(int) == 0)].sort_values("bytes")
    draw_held(right, results.folder, chosen.iloc[len(chosen) // 2])
    save(figure, FOLDER / f"{dataset}.png")


def draw_held(axes: Any, folder: Path, run: Any) -> None:
    """Draw the sizes of the largest, the median and the smallest learners over time."""
    for path in sorted((folder / "curves").glob("*.npz")):
        with np.load(path) as curves:
            if run["run_id"] not in curves["run_id"]:
                continue
            held = np.sort(curves["held"][0], axis=1)[:, ::-1]
            shares = 100 * np.cumsum(held, axis=1) / held.sum(axis=1, keepdims=True)
            m = held.shape[1]
            for part, name in {0.01: "hundredth", 0.1: "tenth", 0.5: "half"}.items():
                axes.plot(curves["rounds"][0], shares[:, max(1, round(part * m)) - 1], label=f"largest {name}")
    axes.set(xlabel="rounds", title=f"% held, {run['bytes']:,} bytes", ylim=(0, 105))
    axes.legend(fontsize=8)


# Rounds of each key, the keys whose competitors are computed, and the floor.
ROUNDS, COMPETED, FLOOR = 400, 200, 83


def check_keys(path: Path, m: int, policies: list[str]) -> None:
    """Write the bounds on a fleet of m keys with floors of 83: the learner with the largest ratio of each.

    A key learns one of the classes of Covertype, against the others, on examples of its own. Its labels are wrong with
    a probability of up to 0.4. The memory has room for 2% more than the floors.
    """
    stream = open_stream(DatasetSpec(name="covtype_92962", task="multiclass", scale="unit_norm"), 0, 0)
    X = np.ascontiguousarray(stream.X.toarray() if hasattr(stream.X, "toarray") else stream.X, dtype=np.float32)
    codes, kernel, random = stream.tasks["-"], Gaussian(gamma=1.0), np.random.default_rng(m)
    order, keys = random.integers(0, len(X), m * ROUNDS), random.permutation(np.arange(m * ROUNDS) % m)
    wrong = random.random(len(keys)) < random.uniform(0, 0.4, m)[keys]
    y = np.where((codes[order] == random.choice([0, 1], m)[keys]) != wrong, 1, -1).astype(np.int8)
    events = measure.Events(X, y, m, keys, order)
    found = competitors(events, kernel, COMPETED)
    for policy in policies:
        entry = sum(events.bytes_of(make(policy)))
        algorithm = SharedMemory(policy=policy, shared_memory=int(1.02 * m * FLOOR) * entry, floor=FLOOR, keys=m)
        played = measure.play(events, algorithm, kernel)
        about = {"keys": m, "policy": policy, "mistakes": played.mistakes.sum(), "removed": 0}
        about["removed"] = about["mistakes"] - played.sizes.sum()
        about["least held"] = np.minimum(played.sizes, FLOOR)[played.mistakes >= FLOOR].min()
        rows = [
            about | {"bound": one.theorem, "ratio": one.ratio, "reason": one.reason}
            for one in verdicts(json.loads(measure.facts(played, m)), algorithm, entry, found)
        ]
        known = [pd.read_csv(path)] if path.is_file() else []
        table = pd.concat([*known, pd.DataFrame(rows)]).drop_duplicates(["keys", "policy", "bound"], keep="last")
        table.sort_values("keys", kind="stable").to_csv(path, index=False, float_format="%.4g")


def best_splits(path: Path) -> None:
    """Write the mistakes of the best fixed split of each run of the equal split: one Forgetron per key, of any budgets.

    Budgets are 0 to 8 entries, and from there on each is a fifth larger than the one before.
    """
    rows = []
    for name in ("shared_memory_fleet", "shared_memory_keys"):
        for place, runs, events, kernel in streams_of(name, "equal split", without="keys_10000"):
            rows += [place | found for found in best_of_stream(runs, events, kernel)]
            pd.DataFrame(rows).to_csv(path, index=False)


def streams_of(name: str, label: str, without: str = "") -> Iterator[tuple[Row, pd.DataFrame, measure.Events, Kernel]]:
    """Yield each stream of a sweep: what it is, its runs with a label, its rounds and the kernel."""
    results = load(FOLDER.parent / name)
    config, specs = results.config, {dataset.label: dataset for dataset in results.config.datasets}
    runs = results.runs[(results.runs["label"] == label) & (results.runs["dataset"] != without)]
    for (dataset, repetition), own in runs.groupby(["dataset", "repetition"], sort=False):
        seeds = [config.seed, int(repetition)]
        algorithm = SharedMemory(**json.loads(own["parameters"].iloc[0]))
        events = measure.events_of(open_stream(specs[dataset], *seeds), algorithm, config.dtype, seeds)
        yield {"dataset": dataset, "repetition": repetition}, own, events, config.datasets[0].kernel.build()


def best_of_stream(runs: pd.DataFrame, events: measure.Events, kernel: Kernel) -> Iterator[Row]:
    """Yield the bytes and mistakes of the best splits of one stream."""
    algorithms = [SharedMemory(**given) for given in map_json(runs["parameters"])]
    seen = np.bincount(events.keys, minlength=events.m)

    def mistakes_of(budgets: np.ndarray) -> np.ndarray:
        return measure.play_split(events, kernel, np.minimum(budgets, seen)).mistakes

    entry = sum(events.bytes_of(make("equal_split")))
    limits = [algorithm.shared_memory // entry for algorithm in algorithms]
    grid = [*range(9)]
    while grid[-1] < min(max(limits), seen.max()):
        grid.append(math.ceil(1.2 * grid[-1]))
    table = np.stack([mistakes_of(np.full(events.m, budget)) for budget in grid], axis=1)
    for algorithm, limit, known in zip(algorithms, limits, runs["mistakes"], strict=True):
        equal = measure.play(events, algorithm, kernel)
        assert equal.mistakes.sum() == known, "not the stream of the sweep"
        best = cheapest(table, grid, limit)
        mistakes = int(mistakes_of(best).sum())
        assert mistakes == sum(table[range(events.m), [grid.index(budget) for budget in best]])
        yield {"bytes": algorithm.shared_memory, "mistakes": mistakes}


def cheapest(costs: np.ndarray, sizes: list[int], room: int) -> np.ndarray:
    """Return a size for each row of ``costs``, whose sum is at most ``room``, with the least sum of costs."""
    least, chosen = np.zeros(room + 1), np.zeros((len(costs), room + 1), dtype=np.int16)
    for own, choice in zip(costs, chosen, strict=True):
        before, least = least, np.full(room + 1, np.inf)
        for k, (size, cost) in enumerate(zip(sizes, own, strict=True)):
            if size <= room:
                total = before[: room + 1 - size] + cost
                better = total < least[size:]
                least[size:][better], choice[size:][better] = total[better], k
    left, found = int(least.argmin()), np.zeros(len(costs), dtype=np.int64)
    for i in range(len(costs) - 1, -1, -1):
        found[i] = sizes[chosen[i, left]]
        left -= found[i]
    return found


def map_json(column: Any) -> list[Any]:
    return [json.loads(text) if isinstance(text, str) else text for text in column]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sweeps", action="store_true", help="draw the figures of the sweeps")
    parser.add_argument("--keys", nargs="+", metavar="M POLICY", help="check a fleet of M keys with floors of 83")
    parser.add_argument("--splits", action="store_true", help="find the best fixed splits in hindsight")
    options = parser.parse_args()
    if options.splits:
        best_splits(FOLDER / "splits.csv")
        sys.exit()
    if options.keys:
        check_keys(FOLDER / "keys.csv", int(options.keys[0]), options.keys[1:])
    elif options.sweeps:
        draw_sweep("shared_memory_digits", "usps", "square root")
        draw_sweep("shared_memory_fleet", "keys_100", "younger half")
        draw_sweep("shared_memory_keys", "keys_1000", "younger half")
    else:
        main()
