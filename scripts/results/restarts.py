"""Count where PROS-N-KONS errs on cod-rna in field_second, and with a wider kernel; write results/restarts.csv.

Usage: python scripts/results/restarts.py          (in some ten seconds, with the data of cod-rna)

Rounds are counted by their score: 0 right after the dictionary has grown, when PROS-N-KONS begins again (restarted); 0
otherwise, as kernel values with all examples since are tiny (far); or not 0 (other). CON-KONS keeps its hypothesis.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from budgetrun import config
from budgetrun.data.streams import open_stream
from budgetrun.engine import Group
from budgetrun.kernels import Gaussian
from budgetrun.runner.identity import build
from budgetrun.runner.plan import make_plan

TOP = Path(__file__).resolve().parents[2]
TABLE = TOP / "results" / "restarts.csv"
SIGMAS = (1, 10)
ALPHA, PERMUTATIONS = 0.01, 3


def main() -> None:
    found = config.load(TOP / "configs" / "field_second.yaml")
    dataset = next(one for one in found.datasets if one.label == "cod_rna")
    rows: list[dict[str, Any]] = []
    for run in make_plan(found).runs:
        spec = run.spec
        if run.dataset != "cod_rna" or spec.parameters.get("alpha") != ALPHA or run.repetition >= PERMUTATIONS:
            continue
        stream = open_stream(dataset, found.seed, run.repetition, None)
        for sigma in SIGMAS:
            counts = parts(build(spec), Gaussian(sigma=sigma), stream.X, stream.tasks["-"], found.tie)
            rows += [{"label": spec.label, "sigma": sigma, "part": part, **own} for part, own in counts.items()]
    keys = ["label", "sigma", "part"]
    pd.DataFrame(rows).groupby(keys, sort=False, as_index=False).mean().round(4).to_csv(TABLE, index=False)


def parts(learner: Any, kernel: Gaussian, X: Any, y: np.ndarray, tie: str) -> dict[str, dict[str, float]]:
    """Return the rounds and mistakes of each part of a run, in percent of all rounds."""
    T, grown = len(y), np.zeros(len(y) + 1, dtype=bool)
    group = Group(kernel, [learner], tie=tie)
    go_on = learner.go_on

    def counted(f: Any, grows: bool) -> None:
        # Rounds are counted from 0 here, so this is the next one.
        grown[f.now] = True
        go_on(f, grows)

    learner.go_on = counted
    blocks = [group.feed(X[start : start + 256], y[None, start : start + 256])[0] for start in range(0, T, 256)]
    scores, after = np.concatenate(blocks), grown[:T]
    wrong = np.where(scores == 0, (y < 0) | (tie == "mistake"), scores * y < 0)
    assert wrong.sum() == group.members[0].count.mistakes
    of = {"all": np.ones(T, dtype=bool), "restarted": after & (scores == 0), "far": ~after & (scores == 0)}
    of["other"] = scores != 0
    return {
        part: {"rounds_percent": 100 * rounds.mean(), "mistakes_percent": 100 * (wrong & rounds).mean()}
        for part, rounds in of.items()
    }


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    main()
