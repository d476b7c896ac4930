"""Time against the rounds, the budget, the features, the learners and the support size, on generated streams."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from benchmarks import loops
from benchmarks.loops import Loop
from benchmarks.sides import Engine, Plain, Side, alternate, check_equal
from budgetrun.kernels import Gaussian
from budgetrun.learners import BinaryLearner
from budgetrun.learners.cks import CKS
from budgetrun.learners.forgetron import GreedyForgetron, SelfTunedForgetron
from budgetrun.learners.perceptron import Perceptron
from budgetrun.learners.projectron_pp import ProjectronPlusPlus
from budgetrun.learners.rbp import RBP

GAMMA = 1.0
PLAIN, BLAS = Gaussian(gamma=GAMMA), Gaussian(gamma=GAMMA, products="blas")
FLIPPED = 0.1
TURNS = 3

FORGETRON, PERCEPTRON, PROJECTRON = "self-tuned Forgetron", "Perceptron", "Projectron++"
# Only the engine runs these.
OTHERS: dict[str, Callable[..., BinaryLearner]] = {
    "greedy Forgetron": GreedyForgetron,
    "CKS": CKS,
    "RBP": partial(RBP, seed=0),
}
# The points of the panels; the etas are the largest losses of a projection, from which the support size follows.
ROUNDS = (1000, 2000, 4000, 8000, 16_000, 32_000, 64_000)
BUDGETS = (10, 20, 50, 100, 200, 500, 1000, 2000)
FEATURES = (2, 5, 10, 20, 50, 100, 200, 500, 1000)
LEARNERS = (1, 2, 4, 8, 16, 32, 64, 128)
ETAS = (0.9, 0.8, 0.7, 0.6, 0.45, 0.3, 0.2, 0.1)
# The fixed values in other panels, and the longest stream for the Perceptron.
T, B, D, LONGEST = 8000, 100, 20, 32_000
AXES = {
    "rounds": f"rounds T; B = {B}, d = {D}",
    "budget": f"budget B; T = {2 * T:,}, d = {D}",
    "features": f"features d; T = {T:,}, B = {B}",
    "learners": f"learners on one stream; T = {T // 2:,}, B = {B}, d = {D}",
    "support_size": f"support examples at the end, by eta; T = {2 * T:,}, d = {D}",
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

    Their shapes are (n_rounds, n_features) and (n_learners, n_rounds).
    """
    rng = np.random.default_rng([n_rounds, n_features, n_learners])
    X = rng.normal(size=(n_rounds, n_features)) / np.sqrt(n_features)
    planes = rng.normal(size=(n_learners, n_features))
    flips = np.where(rng.random((n_learners, n_rounds)) < FLIPPED, -1, 1)
    return X, np.where(planes @ X.T > 0, 1, -1) * flips


def measure_growth(most: int | None) -> Iterator[Point]:
    """Time both sides at the first ``most`` points of the panels; mistakes must be equal until rounding matters."""
    for n_rounds in ROUNDS[:most]:
        yield from _forgetron("rounds", n_rounds, B, D)
        if n_rounds <= LONGEST:
            yield from _timed("rounds", PERCEPTRON, Perceptron, made_stream(n_rounds, D, 1), loops.perceptron)
    for budget in BUDGETS[:most]:
        # Long enough for the largest budget to be full early.
        yield from _forgetron("budget", 2 * T, budget, D)
        for name, learner in OTHERS.items():
            make = partial(learner, budget=budget)
            yield from _timed("budget", name, make, made_stream(2 * T, D, 1), budget=budget)
    for n_features in FEATURES[:most]:
        yield from _forgetron("features", T, B, n_features)
        forgetron, stream = partial(SelfTunedForgetron, budget=B), made_stream(T, n_features, 1)
        yield from _timed("features", FORGETRON, forgetron, stream, budget=B, kernel=BLAS, called="engine, BLAS")
    for n_learners in LEARNERS[:most]:
        yield from _forgetron("learners", T // 2, B, D, n_learners)
    for eta in ETAS[:most]:
        projectron = partial(ProjectronPlusPlus, eta=eta, threshold="squared_distance")
        plain = partial(loops.projectron_pp, eta=eta)
        yield from _timed("support_size", PROJECTRON, projectron, made_stream(2 * T, D, 1), plain, eta=eta)


def _forgetron(panel: str, n_rounds: int, budget: int, n_features: int, n_learners: int = 1) -> Iterator[Point]:
    X, Y = made_stream(n_rounds, n_features, n_learners)
    plain = partial(loops.self_tuned_forgetron, budget=budget)
    n_agreed = min(loops.agreed_rounds(plain, X, y, GAMMA) for y in Y)
    return _timed(panel, FORGETRON, partial(SelfTunedForgetron, budget=budget), (X, Y), plain, n_agreed, budget)


def _timed(
    panel: str,
    learner: str,
    make: Callable[[], BinaryLearner],
    stream: tuple[np.ndarray, np.ndarray],
    loop: Loop | None = None,
    n_agreed: int | None = None,
    budget: int | None = None,
    eta: float | None = None,
    kernel: Gaussian = PLAIN,
    called: str = "engine",
) -> Iterator[Point]:
    X, Y = stream
    engine = Engine(kernel, make, X, Y, called)
    sides: list[Side] = [Plain(loop, X, Y, GAMMA), engine] if loop else [engine]
    alternate(sides, TURNS)
    if loop:
        until, what = slice(n_agreed), f"{learner}, {len(X)} rounds, B = {budget}, d = {X.shape[1]}, eta = {eta}"
        again = Engine(kernel, make, X[until], Y[:, until])
        check_equal(what, again.run(), Plain(loop, X[until], Y[:, until], GAMMA).run())
    held = None if eta is None else engine.group.members[0].hypothesis.size
    shape, agreed = (len(X), budget, X.shape[1], len(Y)), (n_agreed or len(X)) if loop else 0
    for side in sides:
        yield Point(panel, learner, side.name, *shape, sum(side.mistakes), agreed, side.seconds, held, eta)
