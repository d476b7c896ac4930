"""The bounds of docs/shared-memory.md on the runs of fleets: of the worst learner, and of the sum over all."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np

from budgetrun.config.schema import Config
from budgetrun.data import Stream
from budgetrun.fleet import make
from budgetrun.fleet import memory as arrays
from budgetrun.kernels import Kernel
from budgetrun.learners.forgetron import largest_competitor
from budgetrun.papers import theory
from budgetrun.papers.fleets.algorithm import SharedMemory
from budgetrun.papers.fleets.measure import Events, events_of
from budgetrun.papers.theory import Bound, Competitors, Run, Verdict
from budgetrun.papers.theory.base import Condition, Counted, Floats, at_least, short_examples
from budgetrun.papers.theory.forgetron import ForgetronLemma6

_LEAST = 84
# The policies that shrink for nothing but the oldest entry of all.
_OLDEST_OF_ALL = ("sum_bound", "harmless")
_NOT_LISTED = "facts of each learner are kept for 200 learners at most"


class Measured(ForgetronLemma6):
    """M <= ||g||^2 (1 + sum of log(1 / Phi)) + 2 D + Q, whatever the floor."""

    name = "Shared memory, measured"
    learners = ()
    counts = "mistakes of a learner"


class OfFloor(Bound):
    """M <= 2 ||g||^2 + 4 D - 15/16 max(0, n - b), for a floor b >= 83 and ||g|| <= U of b."""

    name = "Shared memory, Theorem 1"
    learners = ()
    counts: ClassVar[Counted] = "mistakes of a learner"
    within = "U"

    def conditions(self, run: Run) -> list[Condition]:
        return [at_least("the floor", _LEAST - 1, run.fact("floor")), short_examples(run)]

    def value(self, run: Run, norm: Floats, loss: Floats, shift: Floats) -> Floats:
        return 2 * norm**2 + 4 * loss - 15 / 16 * run.fact("excess")


class OfHeld(OfFloor):
    """The same for N - 1 in place of the floor: the fewest entries before a removal that shrank, N >= 84."""

    name = "Shared memory, sizes held"

    def conditions(self, run: Run) -> list[Condition]:
        return [at_least("N", _LEAST, run.fact("fewest")), short_examples(run)]

    def largest_norm(self, run: Run) -> float:
        fewest = run.fact("fewest")
        return largest_competitor(int(fewest) - 1) if fewest < math.inf else math.inf


BOUNDS = (Measured(), OfFloor(), OfHeld())


def check(
    rows: list[dict[str, Any]], stream: Stream, kernel: Kernel, config: Config
) -> Iterator[tuple[dict[str, Any], Verdict]]:
    """Yield the verdicts on the fleets that played a stream, with their rows."""
    known: dict[Any, list[Any]] = {}
    dtype = config.dtype
    for row in rows:
        facts = json.loads(row["facts"])
        algorithm = SharedMemory(**json.loads(row["parameters"]), seed=int(row["seed"]))
        dealt = algorithm.keys, algorithm.passes, algorithm.noise
        if "damage" in facts and dealt not in known:
            seeds = [config.seed, int(row["repetition"])]
            known[dealt] = competitors(events_of(stream, algorithm, dtype, seeds), kernel)
        shares = algorithm.keys is None
        policy = make("oldest" if algorithm.policy == "multitask" else algorithm.policy)
        entry = sum(arrays.bytes_of(policy, stream.n_features, dtype, shares))
        for verdict in verdicts(facts, algorithm, entry, known.get(dealt, [])):
            yield row, verdict


def competitors(events: Events, kernel: Kernel, most_keys: int | None = None) -> list[Any]:
    """Return the competitors on the stream of each learner; None for a key without examples, or after the first."""
    if events.keys is None:
        return [*theory.find(events.X, {str(i): y for i, y in enumerate(events.labels.T)}, kernel).values()]
    assert events.rows is not None
    of_keys: list[Any] = []
    for key in range(events.m):
        own = np.flatnonzero(events.keys == key) if most_keys is None or key < most_keys else ()
        one = theory.find(events.X[events.rows[own]], {"-": events.labels[own]}, kernel) if len(own) else {"-": None}
        of_keys.append(one["-"])
    return of_keys


def verdicts(
    facts: Mapping[str, Any], algorithm: SharedMemory, entry: int, found: Sequence[Competitors | None]
) -> list[Verdict]:
    """Return the invariant, step 3, and each bound for the learner with the largest ratio, and the sum bound.

    ``entry`` is the size of an entry with its row, ``found`` has the competitors of each learner.
    """
    if "invariant" not in facts:
        return []
    # Of the learner with the largest Q - A; what is negative has room.
    checked = [Verdict("Shared memory, Q <= A", "damage", max(0.0, round(facts["invariant"], 9)), 0.0, "any policy")]
    if "damage" not in facts:
        return [*checked, *(Verdict(bound.name, bound.counts, math.nan, reason=_NOT_LISTED) for bound in BOUNDS)]
    runs = [_run(facts, i, one) for i, one in enumerate(found) if one is not None]
    known = [one for one in found if one is not None]
    for bound in (Product(), *BOUNDS):
        each = [bound.check(run, one) for run, one in zip(runs, known, strict=True)]
        applied = [verdict for verdict in each if verdict.applies]
        checked.append(max(applied, key=lambda verdict: verdict.ratio) if applied else each[0])
    return [*checked, _of_sum(algorithm, entry, facts, runs, known)]


class Product(OfFloor):
    """The sum of log(1 / Phi) is at most M log(b + 1) / (2 (b + 1)), for a floor b >= 83."""

    name = "Shared memory, step 3"
    counts = "shrinking"
    compares = False

    def count(self, run: Run) -> float:
        return run.fact("shrinking")

    def value(self, run: Run, norm: Floats, loss: Floats, shift: Floats) -> Floats:
        b = run.fact("floor")
        return np.full(len(norm), run.mistakes * math.log(b + 1) / (2 * (b + 1)))


def _run(facts: Mapping[str, Any], i: int, found: Competitors) -> Run:
    floor, M, fewest = int(facts["floor"][i]), facts["mistakes"][i], facts["fewest"][i]
    own = {
        "floor": floor,
        "damage": facts["damage"][i],
        "shrinking": facts["shrinking"][i],
        "fewest": fewest or math.inf,
        "excess": max(0, facts["sizes"][i] - floor),
    }
    return Run(SimpleNamespace(U=largest_competitor(max(floor, 1))), M, M, found.largest_square, own)


def _of_sum(
    algorithm: SharedMemory, entry: int, facts: Mapping[str, Any], runs: Sequence[Run], found: Sequence[Competitors]
) -> Verdict:
    """Return sum M <= 2 sum ||g||^2 + 4 sum D - 15/16 sum of excess, for sum ||g||^2 <= U(N - 1)^2."""
    name, count = "Shared memory, sum", float(sum(facts["mistakes"]))
    if algorithm.policy not in _OLDEST_OF_ALL:
        return Verdict(name, "mistakes", count, reason=f"the bound is about {' and '.join(_OLDEST_OF_ALL)}")
    N = algorithm.shared_memory // entry + 1 - algorithm.floor * (len(facts["mistakes"]) - 1)
    conditions = [at_least("N", _LEAST, N), short_examples(runs[0])]
    if reason := "; ".join(str(condition) for condition in conditions if not condition.holds):
        return Verdict(name, "mistakes", count, reason=reason)
    U = largest_competitor(N - 1)
    # Norms and losses to choose from, for each learner.
    grids = []
    for one in found:
        pairs = [(norms, g.losses(norms)) for g in one.fixed for norms in [g.grid(U)]]
        grids.append(tuple(map(np.concatenate, zip(*pairs, strict=True))))
    low, high, best = 0.0, 1e9, (math.inf, 0.0, 0.0)
    for _ in range(60):
        # The price of norm, with which all together are short enough.
        price = math.sqrt(low * high) if low else high / 1e6
        at = [int(np.argmin((2 + price) * norms**2 + 4 * losses)) for norms, losses in grids]
        square = sum(float(norms[i]) ** 2 for (norms, _), i in zip(grids, at, strict=True))
        loss = sum(float(losses[i]) for (_, losses), i in zip(grids, at, strict=True))
        if square <= U * U:
            high, best = price, min(best, (2 * square + 4 * loss, math.sqrt(square), loss))
        else:
            low = price
    # A learner whose competitors are not known has g = 0, with a loss of 1 on each of its mistakes.
    rest = count - sum(run.mistakes for run in runs)
    excess = sum(max(0, n - b) for n, b in zip(facts["sizes"], facts["floor"], strict=True))
    value = best[0] + 4 * rest - 15 / 16 * excess
    text = f"N >= {_LEAST}; k(x, x) <= 1; ||g|| <= {U:.4g} of all together"
    return Verdict(name, "mistakes", count, value, text, norm=best[1], loss=best[2])
