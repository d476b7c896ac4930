"""Shards: a division of the runs of a config among machines that know nothing of one another."""

import heapq
import re
import zlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from budgetrun.base import limits
from budgetrun.base.errors import InputError
from budgetrun.config.schema import Config
from budgetrun.runner.estimate import check_budgets, job_seconds
from budgetrun.runner.plan import Options, Plan, Run, Shard, make_plan, sources

# The largest part of a dataset may take so much longer than the mean, by estimate, before streams are divided.
_UNEVEN = 1.1
_MOST_SHARDS = 10_000


def parse(text: str | None) -> Shard | None:
    """Return a shard given as ``3/20``; None stays None.

    Raises InputError: it is not such a text, or no such part.
    """
    if text is None:
        return None
    found = re.fullmatch(r"(\d{1,9})/(\d{1,9})", text, re.ASCII)
    shard = Shard(int(found[1]), int(found[2])) if found else Shard(0, 0)
    if not 1 <= shard.part <= shard.of <= _MOST_SHARDS:
        raise InputError(f"--shard {text}: must be PART/OF, such as 3/20, with 1 <= PART <= OF <= {_MOST_SHARDS:,}")
    return shard


def planned(config: Config, options: Options, download: bool = True) -> tuple[Plan, Plan]:
    """Return the plan of a config, and that of the options' shard, within the memory of the options.

    Raises InputError: as `make_plan`, or a budget takes more memory.
    """
    with limits.memory(options.memory):
        whole = make_plan(config, options.data_dir, download, options.only.get("dataset"))
        plan = of_shard(whole, options.shard)
        check_budgets(plan)
    return whole, plan


def of_shard(plan: Plan, shard: Shard | None) -> Plan:
    """Return the plan of one shard, preceded by the runs that its budgets are fractions of; None is the whole plan.

    Each dataset is divided by itself, by estimated seconds, so that a machine without the files of one divides the
    others as all do. Streams stay whole, because runs that share one share kernel values, unless that is too uneven.
    """
    if shard is None:
        return plan
    streams: dict[str, dict[tuple[int, str], list[Run]]] = defaultdict(lambda: defaultdict(list))
    for run in plan.runs:
        kernel = run.spec.kernel.text if run.spec.kernel else ""
        streams[run.dataset][run.repetition, kernel].append(run)
    chosen: list[Run] = []
    for label, own in streams.items():
        # Many runs share a spec.
        of_spec = {id(run.spec): run for runs in own.values() for run in runs}
        seconds = {key: job_seconds([run], plan.infos[label]) for key, run in of_spec.items()}
        # Not every dataset gives its largest part to the same shard.
        part = (shard.part - 1 + zlib.crc32(label.encode())) % shard.of
        chosen += _divided(list(own.values()), seconds, shard.of)[part]
    wanted = {run.run_id for run in [*chosen, *sources(chosen)]}
    return replace(plan, runs=[run for run in plan.runs if run.run_id in wanted])


def _divided(streams: Sequence[list[Run]], seconds: Mapping[int, float], n: int) -> list[list[Run]]:
    """Return n parts of the runs of some streams, of about equal cost: the largest piece goes to the cheapest part.

    ``seconds`` has the cost of a run by the ``id`` of its spec.
    """
    longest, pieces = max(map(len, streams)), 1
    while True:
        cut = [runs[len(runs) * i // pieces : len(runs) * (i + 1) // pieces] for runs in streams for i in range(pieces)]
        costs = [sum(seconds[id(run.spec)] for run in runs) for runs in cut]
        parts: list[list[Run]] = [[] for _ in range(n)]
        cheapest = [(0.0, part) for part in range(n)]
        for i in sorted(range(len(cut)), key=lambda i: -costs[i]):
            before, part = cheapest[0]
            heapq.heapreplace(cheapest, (before + costs[i], part))
            parts[part] += cut[i]
        if pieces >= longest or max(cheapest)[0] <= _UNEVEN * sum(costs) / n:
            return parts
        pieces = min(2 * pieces, longest)
