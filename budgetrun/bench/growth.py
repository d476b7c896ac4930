"""How time grows with the rounds, the budget, the features, the learners and the support size, on generated streams."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from budgetrun.bench import loops
from budgetrun.bench.sizes import Sizes
from budgetrun.bench.timing import (
    Loop,
    Maker,
    RoundsOf,
    Side,
    alternate,
    check_equal,
    check_rounds,
    engine_mistakes,
    engine_rounds,
)
from budgetrun.kernels import Gaussian, Kernel
from budgetrun.learners import BinaryLearner
from budgetrun.learners.cks import CKS
from budgetrun.learners.forgetron import GreedyForgetron, SelfTunedForgetron
from budgetrun.learners.perceptron import Perceptron
from budgetrun.learners.projectron_pp import ProjectronPlusPlus
from budgetrun.learners.rbp import RBP

GAMMA = 1.0
FLIPPED = 0.1
TURNS, PROJECTION_TURNS = 3, 2

FORGETRON, PERCEPTRON, PROJECTRON = "self-tuned Forgetron", "Perceptron", "Projectron++"
# Only the engine runs these.
OTHERS: dict[str, Callable[..., BinaryLearner]] = {
    "greedy Forgetron": GreedyForgetron,
    "CKS": CKS,
    "RBP": partial(RBP, seed=0),
}


@dataclass
class Point:
    """One timed point; a row of growth.csv."""

    panel: str  # what varies: the name of one of the columns below
    learner: str
    side: str  # plain loop, engine, or engine with products by BLAS
    rounds: int
    budget: int | None
    features: int
    learners: int
    mistakes: int  # of all learners
    # Both sides make the same mistakes there; then rounding matters (`loops.agreed_rounds`). 0 if there is one side.
    agreed_rounds: int
    seconds: float  # the best time
    support_size: int | None = None  # examples held at the end, by a learner that projects
    eta: float | None = None  # the largest loss of its projections, as a squared distance

    @property
    def x(self) -> int:
        """The value of what varies."""
        value = getattr(self, self.panel)
        assert isinstance(value, int)
        return value


def made_stream(n_rounds: int, n_features: int, n_learners: int) -> tuple[np.ndarray, np.ndarray]:
    """Return normal examples of squared norm about 1, labeled for each learner by a random plane, with 10% flipped.

    Returns
    -------
    X : ndarray, shape (n_rounds, n_features)
    Y : ndarray, shape (n_learners, n_rounds), -1 or +1
    """
    rng = np.random.default_rng([n_rounds, n_features, n_learners])
    X = rng.normal(size=(n_rounds, n_features)) / np.sqrt(n_features)
    planes = rng.normal(size=(n_learners, n_features))
    flips = np.where(rng.random((n_learners, n_rounds)) < FLIPPED, -1, 1)
    return X, np.where(planes @ X.T > 0, 1, -1) * flips


def measure_growth(sizes: Sizes) -> Iterator[Point]:
    """Time both sides at every point of the five panels; their mistakes must be equal until rounding matters."""
    T, B, d = sizes.base_rounds, sizes.base_budget, sizes.base_features
    for n_rounds in sizes.growth_rounds:
        yield from _forgetron("rounds", n_rounds, B, d, 1)
        if n_rounds <= sizes.perceptron_rounds:
            stream = made_stream(n_rounds, d, 1)
            plain = partial(loops.perceptron, gamma=GAMMA)
            yield from _both("rounds", PERCEPTRON, Perceptron, plain, stream, n_rounds, None)
    for budget in sizes.growth_budgets:
        # Long enough for the largest budget to be full early.
        yield from _forgetron("budget", 2 * T, budget, d, 1)
        yield from _others("budget", OTHERS, Gaussian(gamma=GAMMA), "engine", 2 * T, budget, d)
    for n_features in sizes.growth_features:
        yield from _forgetron("features", T, B, n_features, 1)
        kernel = Gaussian(gamma=GAMMA, products="blas")
        yield from _others("features", {FORGETRON: SelfTunedForgetron}, kernel, "engine, BLAS", T, B, n_features)
    for n_learners in sizes.growth_learners:
        yield from _forgetron("learners", T // 2, B, d, n_learners)
    for eta in sizes.growth_etas:
        yield from _projectron(2 * T, d, eta)


def _forgetron(panel: str, n_rounds: int, budget: int, n_features: int, n_learners: int) -> Iterator[Point]:
    X, Y = made_stream(n_rounds, n_features, n_learners)
    n_agreed = min(loops.agreed_rounds(X, y, GAMMA, budget) for y in Y)
    make = partial(SelfTunedForgetron, budget=budget)
    plain = partial(loops.self_tuned_forgetron, gamma=GAMMA, budget=budget)
    return _both(panel, FORGETRON, make, plain, (X, Y), n_agreed, budget)


def _others(
    panel: str,
    learners: Mapping[str, Callable[..., BinaryLearner]],
    kernel: Kernel,
    called: str,
    n_rounds: int,
    budget: int,
    n_features: int,
) -> Iterator[Point]:
    X, Y = made_stream(n_rounds, n_features, 1)
    sides = {
        name: Side(partial(engine_mistakes, kernel, partial(learner, budget=budget), X, Y))
        for name, learner in learners.items()
    }
    alternate(list(sides.values()), TURNS)
    for name, side in sides.items():
        yield Point(panel, name, called, *_sizes(X, Y, budget), sum(side.mistakes), 0, side.seconds)


def _projectron(n_rounds: int, n_features: int, eta: float) -> Iterator[Point]:
    X, Y = made_stream(n_rounds, n_features, 1)
    make = partial(ProjectronPlusPlus, eta=eta, threshold="squared_distance")
    engine = partial(engine_rounds, Gaussian(gamma=GAMMA), make, X, Y[0])
    plain = partial(loops.projectron_pp, X, Y[0], GAMMA, eta)
    runs = {"plain loop": RoundsOf(plain), "engine": RoundsOf(engine)}
    sides = {name: Side(run) for name, run in runs.items()}
    alternate(list(sides.values()), PROJECTION_TURNS)
    mistakes, held = runs["engine"].rounds
    check_rounds(f"{PROJECTRON}, {n_rounds} rounds, eta = {eta:g}", (mistakes, held), runs["plain loop"].rounds)
    for name, side in sides.items():
        shape = _sizes(X, Y, None)
        yield Point("support_size", PROJECTRON, name, *shape, len(mistakes), n_rounds, side.seconds, len(held), eta)


def _both(
    panel: str,
    learner: str,
    make: Maker,
    loop: Loop,
    stream: tuple[np.ndarray, np.ndarray],
    n_agreed: int,
    budget: int | None,
) -> Iterator[Point]:
    X, Y = stream
    run = partial(engine_mistakes, Gaussian(gamma=GAMMA), make)
    plain = Side(lambda: [len(loop(X, y)) for y in Y])
    engine = Side(partial(run, X, Y))
    alternate([plain, engine], TURNS)
    what = f"{learner}, {X.shape[0]} rounds, B = {budget}, d = {X.shape[1]}"
    check_equal(what, run(X[:n_agreed], Y[:, :n_agreed]), [len(loop(X[:n_agreed], y[:n_agreed])) for y in Y])
    for name, side in (("plain loop", plain), ("engine", engine)):
        yield Point(panel, learner, name, *_sizes(X, Y, budget), sum(side.mistakes), n_agreed, side.seconds)


def _sizes(X: np.ndarray, Y: np.ndarray, budget: int | None) -> tuple[int, int | None, int, int]:
    return X.shape[0], budget, X.shape[1], len(Y)
