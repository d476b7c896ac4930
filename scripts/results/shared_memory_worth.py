"""Say what a shared memory is worth, in memory; write results/shared_memory/worth.csv.

For each run of the best policy (`harmless` where rows are shared, else `younger_half`): the bytes with which the equal
split makes as few mistakes, divided by those of the run; the mistakes of a memory that is filled once, after which
nobody learns any more; and those with unlimited memory.

Usage: python scripts/results/shared_memory_worth.py  (two hours of processor time)
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable

import numpy as np
import pandas as pd
from shared_memory import FOLDER, Row, streams_of

from budgetrun.fleet import make
from budgetrun.kernels import Kernel, compiling
from budgetrun.papers.fleets import measure
from budgetrun.papers.fleets.measure import Events

_UNLIMITED = 2**62
BEST = {
    "shared_memory_digits": "harmless",
    "shared_memory_fleet": "younger half",
    "shared_memory_keys": "younger half",
    "shared_memory_covertype": "younger half",
}


def main() -> None:
    """Write a row for each run of the best policies."""
    rows: list[Row] = []
    for name, policy in BEST.items():
        for place, runs, events, kernel in streams_of(name, policy):
            limits = [json.loads(given)["shared_memory"] for given in runs["parameters"]]
            found = worth(events, kernel, limits, [*runs["mistakes"]])
            rows += [place | {"bytes": limit} | one for limit, one in zip(limits, found, strict=True)]
            pd.DataFrame(rows).to_csv(FOLDER / "worth.csv", index=False, float_format="%.6g")


def worth(events: Events, kernel: Kernel, limits: list[int], mistakes: list[int]) -> list[dict[str, float]]:
    """Return for each limit, and the mistakes of a policy in it: times the bytes, mistakes once filled, unlimited."""
    equal, T = make("equal_split"), len(events.labels)
    sizes = events.bytes_of(equal)
    played: dict[int, tuple[int, int]] = {}

    def split(budget: int) -> tuple[int, int]:
        """Return mistakes and bytes of the equal split, of so many entries in all; where rows are shared, in each."""
        if budget not in played:
            if events.keys is None:
                found = measure.play_floors(events, equal, kernel, _UNLIMITED, np.full(events.m, budget))
                n_bytes = found.peak_bytes
            else:
                each = budget // events.m + (np.arange(events.m) < budget % events.m)
                found = measure.play_split(events, kernel, each)
                n_bytes = budget * sum(sizes)
            played[budget] = int(found.mistakes.sum()), n_bytes
        return played[budget]

    players = players_of(events)
    erred = np.zeros(events.labels.shape, dtype=bool)
    for rounds, X, Y in players:
        erred[rounds] = perceptrons(X, Y, kernel).reshape(erred[rounds].shape)
    by_round = erred.reshape(T, -1)
    used = np.cumsum(by_round.sum(axis=1) * sizes[0] + by_round.any(axis=1) * sizes[1])
    unlimited = int(erred.sum())
    played[T] = unlimited, int(used[-1])
    found = []
    for limit, reached in zip(limits, mistakes, strict=True):
        full = int(np.searchsorted(used, limit, side="right"))
        filled_once = int(erred[:full].sum())
        for rounds, X, Y in players:
            before = int(np.searchsorted(rounds, full))
            filled_once += later_mistakes(X, Y, kernel, erred[rounds].reshape(Y.shape), before)
        times = bytes_for(split, reached, T) / limit
        found.append({"times": times, "filled_once": filled_once, "unlimited": unlimited})
    return found


def bytes_for(split: Callable[[int], tuple[int, int]], mistakes: int, most: int) -> float:
    """Return the bytes with which the equal split makes so many mistakes, by logarithms between two budgets.

    They are infinite for about as few mistakes as without a limit.
    """
    if mistakes <= 1.01 * split(most)[0]:
        return math.inf
    low, high = 1, most
    while high - low > max(1, low // 20):
        # Budgets differ by factors, so the middle is a geometric mean.
        middle = max(low + 1, min(high - 1, round(math.sqrt(low * high))))
        low, high = (low, middle) if split(middle)[0] <= mistakes else (middle, high)
    (many, few_bytes), (few, many_bytes) = split(low), split(high)
    part = math.log(many / mistakes) / math.log(many / few)
    return math.exp((1 - part) * math.log(few_bytes) + part * math.log(many_bytes))


def players_of(events: Events) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Return rounds, examples and labels, shape (T, m), of learners that share rows, or of each key."""
    if events.keys is None:
        return [(np.arange(len(events.labels)), events.X, events.labels)]
    order = np.argsort(events.keys, kind="stable")
    each = np.split(order, np.searchsorted(events.keys[order], np.arange(1, events.m)))
    return [(own, events.X[events.rows[own]], events.labels[own, None]) for own in each if len(own)]


def values(kernel: Kernel, A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Return the kernel values of rows of the norm 1."""
    return kernel.formula(np.maximum(0.0, 2.0 - 2.0 * (A @ B.T).astype(np.float64)), *kernel.numbers)


def perceptrons(X: np.ndarray, Y: np.ndarray, kernel: Kernel) -> np.ndarray:
    """Return which of the learners that play all rounds err in each, if they never forget."""
    held, weights, n = np.empty_like(X), np.zeros(Y.shape), 0
    erred = np.zeros(Y.shape, dtype=bool)
    for t, (x, y) in enumerate(zip(X, Y, strict=True)):
        erred[t] = y * (values(kernel, x[None], held[:n])[0] @ weights[:n]) <= 0
        if erred[t].any():
            held[n], weights[n] = x, y * erred[t]
            n += 1
    return erred


def later_mistakes(X: np.ndarray, Y: np.ndarray, kernel: Kernel, erred: np.ndarray, full: int) -> int:
    """Return the mistakes from round ``full`` on, if nobody learns any more; ``erred`` in the rounds before."""
    rows = np.flatnonzero(erred[:full].any(axis=1))
    weights, found = (Y * erred)[rows].astype(np.float64), 0
    for start in range(full, len(X), 1000):
        part = slice(start, start + 1000)
        found += int((Y[part] * (values(kernel, X[part], X[rows]) @ weights) <= 0).sum())
    return found


if __name__ == "__main__":
    with compiling.first():
        main()
