"""``python -m benchmarks --check``: compare how much faster than a plain loop the engine is with committed ratios."""

from functools import partial
from pathlib import Path

import numpy as np
import yaml

from benchmarks import loops
from benchmarks.growth import made_stream
from benchmarks.loops import Loop
from benchmarks.sides import Engine, Maker, Plain, alternate
from budgetrun.base.errors import InputError
from budgetrun.kernels import Gaussian
from budgetrun.learners.forgetron import SelfTunedForgetron
from budgetrun.learners.perceptron import Perceptron

RATIOS = "ratios.yaml"
# A ratio fails below this share of the committed one, in the best of several attempts; on some machines, it is 0.7.
LEAST, ATTEMPTS = 0.6, 3
TURNS = 3
ROUNDS, BUDGET = 8000, 200


def run_check(results: Path) -> list[str]:
    """Measure the ratios again; return a sentence for each that is too small, and print all."""
    path = results / RATIOS
    if not path.is_file():
        raise InputError(f"{path}: not found; `make bench` writes it")
    known: dict[str, float] = yaml.safe_load(path.read_text())
    best = dict.fromkeys(known, 0.0)
    for _ in range(ATTEMPTS):
        slow = [name for name in known if best[name] < LEAST * known[name]]
        best |= {name: max(ratio, best[name]) for name, ratio in measured(slow).items()}
    for name, ratio in best.items():
        print(f"{name}: {ratio:.1f} times faster than the plain loop (committed: {known[name]:.1f})")
    return [
        f"{name}: the engine is {ratio:.1f} times faster than the plain loop; expected at least "
        f"{LEAST * known[name]:.1f}, {LEAST:g} times the committed {known[name]:.1f}"
        for name, ratio in best.items()
        if ratio < LEAST * known[name]
    ]


def measured(names: list[str] | None = None) -> dict[str, float]:
    """Return how many times faster than the plain loop the engine is, by case; only of some cases if given."""
    forgetron = partial(SelfTunedForgetron, budget=BUDGET), partial(loops.self_tuned_forgetron, budget=BUDGET)
    learners: dict[str, tuple[Maker, Loop]] = {
        "Perceptron": (Perceptron, loops.perceptron),
        f"self-tuned Forgetron, B = {BUDGET}": forgetron,
    }
    ratios = {}
    for kind, (X, y, gamma) in streams().items():
        for learner, (make, loop) in learners.items():
            if names is None or f"{learner}, on {kind}" in names:
                plain = Plain(loop, X, y[None], gamma)
                engine = Engine(Gaussian(gamma=gamma), make, X, y[None])
                # What is compiled in the first run is not timed.
                engine.run()
                alternate([plain, engine], TURNS)
                ratios[f"{learner}, on {kind}"] = plain.seconds / engine.seconds
    return ratios


def write_ratios(path: Path) -> None:
    """Measure the ratios several times, and write the least, with two digits."""
    attempts = [measured() for _ in range(ATTEMPTS)]
    lines = ["# How many times faster the engine is than a plain loop, at least: `make bench` writes, CI compares."]
    lines += [f'"{name}": {min(ratios[name] for ratios in attempts):.2g}' for name in attempts[0]]
    path.write_text("\n".join(lines) + "\n")


def streams() -> dict[str, tuple[np.ndarray, np.ndarray, float]]:
    """Return generated examples, their labels and gamma, by kind of examples: like a9a, USPS and ijcnn1."""
    floats, (y,) = made_stream(ROUNDS, 20, 1)
    wide, (wide_y,) = made_stream(ROUNDS, 256, 1)
    many, (many_y,) = made_stream(ROUNDS, 120, 1)
    return {
        "bits": ((many > 0.1).astype(float), many_y, 0.04),
        "integers": (np.rint(4000 * wide), wide_y, 1e-7),
        "floats": (floats, y, 1.0),
    }
