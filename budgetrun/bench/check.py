"""`budgetrun bench --check`: whether the engine is as much faster than a plain loop as it was."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import yaml
from threadpoolctl import threadpool_limits

from budgetrun.base.errors import InputError
from budgetrun.base.files import write
from budgetrun.bench import loops
from budgetrun.bench.growth import made_stream
from budgetrun.bench.timing import Loop, Maker, Side, alternate, engine_mistakes
from budgetrun.kernels import Gaussian
from budgetrun.learners.forgetron import SelfTunedForgetron
from budgetrun.learners.perceptron import Perceptron

RATIOS = "ratios.yaml"
# A ratio fails below this share of the committed one, in the best of several attempts.
LEAST, ATTEMPTS = 0.7, 3
TURNS = 3
ROUNDS, BUDGET = 8000, 200


def run_check(results: Path) -> list[str]:
    """Measure the ratios again; return a sentence for each that is too small, and print all.

    Raises
    ------
    InputError
        There are no committed ratios.
    """
    path = results / RATIOS
    if not path.is_file():
        raise InputError(f"{path}: not found; `budgetrun bench` writes it")
    known: dict[str, float] = yaml.safe_load(path.read_text())
    best: dict[str, float] = {}
    for _ in range(ATTEMPTS):
        slow = [name for name in known if best.get(name, 0.0) < LEAST * known[name]]
        if not slow:
            break
        best |= {name: max(ratio, best.get(name, 0.0)) for name, ratio in measured(slow).items()}
    for name, ratio in best.items():
        print(f"{name}: {ratio:.1f} times faster than the plain loop (committed: {known[name]:.1f})")
    return [
        f"{name}: the engine is {best[name]:.1f} times faster than the plain loop; expected at least "
        f"{LEAST * known[name]:.1f}, {LEAST:g} times the committed {known[name]:.1f}"
        for name in known
        if best[name] < LEAST * known[name]
    ]


def measured(names: list[str] | None = None) -> dict[str, float]:
    """Return how many times faster than the plain loop the engine is, by case; only of some cases if given."""
    ratios = {}
    with threadpool_limits(1):
        for kind, (X, y, gamma) in _streams().items():
            forgetron = partial(loops.self_tuned_forgetron, gamma=gamma, budget=BUDGET)
            cases: dict[str, tuple[Maker, Loop]] = {
                "Perceptron": (Perceptron, partial(loops.perceptron, gamma=gamma)),
                f"self-tuned Forgetron, B = {BUDGET}": (partial(SelfTunedForgetron, budget=BUDGET), forgetron),
            }
            for learner, (make, loop) in cases.items():
                name = f"{learner}, on {kind}"
                if names is None or name in names:
                    ratios[name] = _ratio(make, loop, X, y, gamma)
    return ratios


def write_ratios(path: Path) -> None:
    """Measure the ratios several times, and write the least, with two digits."""
    attempts = [measured() for _ in range(ATTEMPTS)]
    ratios = {name: min(ratios[name] for ratios in attempts) for name in attempts[0]}
    lines = ["# How many times faster the engine is than a plain loop, at least: `budgetrun bench --check` compares."]
    write(path, "\n".join([*lines, *(f'"{name}": {ratio:.2g}' for name, ratio in ratios.items())]) + "\n")


def _ratio(make: Maker, loop: Loop, X: np.ndarray, y: np.ndarray, gamma: float) -> float:
    plain = Side(lambda: [len(loop(X, y))])
    engine = Side(partial(engine_mistakes, Gaussian(gamma=gamma), make, X, y[None]))
    # What is compiled in the first run is not timed.
    engine.run()
    alternate([plain, engine], TURNS)
    return plain.seconds / engine.seconds


def _streams() -> dict[str, tuple[np.ndarray, np.ndarray, float]]:
    """Return generated examples, their labels and gamma, by kind of examples: like a9a, USPS and ijcnn1."""
    floats, (y,) = made_stream(ROUNDS, 20, 1)
    wide, (wide_y,) = made_stream(ROUNDS, 256, 1)
    many, (many_y,) = made_stream(ROUNDS, 120, 1)
    return {
        "bits": ((many > 0.1).astype(float), many_y, 0.04),
        "integers": (np.rint(4000 * wide), wide_y, 1e-7),
        "floats": (floats, y, 1.0),
    }
