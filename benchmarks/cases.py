"""The comparisons on real streams. Each raises `DataMissingError` without its data."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import SGDClassifier

from benchmarks import loops
from benchmarks.loops import Loop
from benchmarks.sides import BLOCK_SIZE, Engine, Plain, Side, Sizes, alternate, check_equal
from budgetrun.config.schema import DatasetSpec
from budgetrun.data import open_stream
from budgetrun.kernels import Gaussian
from budgetrun.kernels.kinds import IntegerRows, floats
from budgetrun.learners import BinaryLearner
from budgetrun.learners.avm import SphereAVM
from budgetrun.learners.bogd import BOGD
from budgetrun.learners.bsgd import RemovingBSGD
from budgetrun.learners.fogd import FOGD
from budgetrun.learners.forgetron import SelfTunedForgetron
from budgetrun.learners.nogd import NOGD
from budgetrun.learners.perceptron import Perceptron
from budgetrun.learners.projectron_2024 import AlwaysAddingProjectron
from budgetrun.learners.projectron_pp import ProjectronPlusPlus

SEED = 0
BUDGET = 200


@dataclass(frozen=True)
class Case:
    """A learner and its plain loop, which take the same parameters, on a stream."""

    learner: Callable[..., BinaryLearner]
    loop: Loop
    data: DatasetSpec
    gamma: float
    given: dict[str, Any] = field(default_factory=dict)
    goal: float | None = None  # how many times faster than the loop the engine is to be
    turns: int | None = None  # the most turns; None means those of the sizes
    # Also time the engine on examples as they are stored, and scikit-learn on as many features as the budget.
    beside: bool = False
    amplifies: bool = False  # it amplifies rounding errors, so mistakes are compared only until these matter


@dataclass
class Record:
    """One timed side of a comparison; a row of bench.csv."""

    benchmark: str  # a name in `CASES`
    side: str  # plain loop, engine, or another library
    input: str  # dense, csr or integers
    rounds: int
    features: int
    learners: int
    timed_learners: int  # those that were run; `seconds` is scaled up from them to all learners
    timed_rounds: int  # all
    mistakes: int  # of all timed learners
    mistakes_difference: int | None  # the engine's, minus those of the plain loop
    error_rate: float  # mistakes per timed learner and round
    seconds: float  # the best processor time
    times_faster: float | None  # than the plain loop
    goal: float | None  # for `times_faster`


@dataclass
class Comparison:
    """The outcome of a case."""

    title: str
    records: list[Record]
    notes: list[str]


USPS = DatasetSpec(name="usps", task="equal_splits", scale="unit_norm")
A9A, IJCNN1 = DatasetSpec(name="a9a"), DatasetSpec(name="ijcnn1")
COD_RNA = DatasetSpec(name="cod_rna", parts=("test",))
_forgetron = partial(
    Case, SelfTunedForgetron, loops.self_tuned_forgetron, given={"budget": BUDGET}, beside=True, amplifies=True
)
_squared = partial(ProjectronPlusPlus, threshold="squared_distance")
_projectron = partial(Case, _squared, loops.projectron_pp, goal=4.0, turns=2)
_a9a = partial(Case, data=A9A, gamma=0.04)
CASES = {
    "usps_perceptrons": Case(Perceptron, loops.perceptron, USPS, 0.78, goal=90.0),
    "a9a_SelfTunedForgetron": _forgetron(A9A, 0.04, goal=7.0),
    "a9a_Perceptron": _a9a(Perceptron, loops.perceptron, goal=15.0, beside=True),
    "ijcnn1_SelfTunedForgetron": _forgetron(IJCNN1, 8.0, goal=2.0),
    "ijcnn1_projectron_pp": _projectron(IJCNN1, 8.0, {"eta": 0.05}),
    "a9a_projectron_pp": _projectron(A9A, 0.04, {"eta": 0.05}),
    # This one holds more than 3,000 examples.
    "a9a_projectron_pp_large": _projectron(A9A, 0.04, {"eta": 0.01}),
    # This one holds about 5,000, and the plain loop takes minutes.
    "cod_rna_projectron_2024": Case(
        AlwaysAddingProjectron, loops.always_adding_projectron, COD_RNA, 0.5, {"eta": 0.9}, goal=4.0, turns=1
    ),
    # One learner of the field for every form of hypothesis, at one setting.
    "a9a_bsgd": _a9a(RemovingBSGD, loops.bsgd, given={"budget": BUDGET, "regulariser": 1e-3}),
    "a9a_bogd": _a9a(BOGD, loops.bogd, given={"budget": BUDGET, "step": 1.0, "regulariser": 1e-3}),
    "a9a_avm": _a9a(SphereAVM, loops.avm, given={"delta": 1.9, "max_size": BUDGET, "regulariser": 1e-3}),
    "a9a_fogd": _a9a(FOGD, loops.fogd, given={"features": BUDGET, "step": 0.1}),
    "a9a_nogd": _a9a(NOGD, loops.nogd, given={"budget": BUDGET, "step": 0.1, "rank": 40}),
}


def compare(name: str, case: Case, sizes: Sizes, data_dir: Path | None) -> Comparison:
    """Time both sides of a case, which must make the same mistakes."""
    stream = open_stream(case.data.model_copy(update={"n_examples": sizes.rounds}), SEED, 0, data_dir)
    stored, Y = stream.X, np.stack(list(stream.tasks.values()))
    matrix = floats(stored)
    X = matrix if isinstance(matrix, np.ndarray) else matrix.toarray()
    kernel, make = Gaussian(gamma=case.gamma), partial(case.learner, **case.given)
    loop = partial(case.loop, **case.given)
    sample = np.unique(np.linspace(0, len(Y) - 1, min(sizes.sampled, len(Y))).astype(int))
    scale = len(Y) / len(sample)

    plain, engine = Plain(loop, X, Y[sample], case.gamma), Engine(kernel, make, X, Y)
    # As sweeps have them.
    form = "integers" if isinstance(stored, IntegerRows) else "csr"
    kept = [Engine(kernel, make, stored, Y)] if stored is not X and (case.beside or form == "integers") else []
    alternate([plain, engine, *kept], min(case.turns or sizes.turns, sizes.turns))
    found, expected, n_agreed = [engine.mistakes[i] for i in sample], plain.mistakes, len(X)
    if case.amplifies:
        n_agreed = loops.agreed_rounds(loop, X, Y[0], case.gamma)
        first = X[:n_agreed], Y[:, :n_agreed]
        found, expected = Engine(kernel, make, *first).run(), Plain(loop, *first, case.gamma).run()
    check_equal(name, found, expected)
    notes = [f"The engine and the plain loop make the same mistakes over {n_agreed:,} rounds."]
    if n_agreed < len(X):
        notes[0] += (
            " After these, a change of gamma in the 12th digit changes a prediction: on this stream the learner "
            "amplifies differences whenever it shrinks strongly. The engine gives the same bits on every machine; the "
            "plain loop adds in another order."
        )
    if scale > 1:
        notes.append(f"The plain loop ran {len(sample)} of {len(Y)} splits, evenly chosen; the engine all, as a group.")

    def record(side: Side, form: str = "dense") -> Record:
        n, mistakes = len(side.mistakes), sum(side.mistakes)
        seconds = side.seconds * len(Y) / n
        return Record(
            benchmark=name,
            side=side.name,
            input=form,
            rounds=len(X),
            features=X.shape[1],
            learners=len(Y),
            timed_learners=n,
            timed_rounds=len(X),
            mistakes=mistakes,
            mistakes_difference=mistakes - sum(plain.mistakes) if isinstance(side, Engine) and scale == 1 else None,
            error_rate=mistakes / (n * len(X)),
            seconds=seconds,
            times_faster=None if side is plain else scale * plain.seconds / seconds,
            goal=case.goal if side is engine and sizes.rounds is None else None,
        )

    records = [record(plain), record(engine), *(record(side, form) for side in kept)]
    if case.beside:
        name_of_peer = f"scikit-learn: Nystroem({BUDGET}) + SGDClassifier"
        peer = Side(name_of_peer, partial(sgd_on_features, X, Y[0], case.gamma))
        peer.turn()
        records.append(record(peer))
    given = ", ".join(f"{key} = {value}" for key, value in case.given.items())
    title = f"{make().title}{f' ({given})' * bool(given)} on {case.data.label}"
    return Comparison(f"{title}, gaussian kernel, gamma = {case.gamma:g}", records, notes)


def sgd_on_features(X: np.ndarray, y: np.ndarray, gamma: float) -> list[int]:
    """Fit features on the first block; predict each block, then learn it; the first predictions are +1."""
    features = Nystroem(gamma=gamma, n_components=min(BUDGET, len(y)), random_state=0).fit(X[:BLOCK_SIZE])
    classifier, mistakes = SGDClassifier(random_state=0), 0
    for start in range(0, len(y), BLOCK_SIZE):
        Z, labels = features.transform(X[start : start + BLOCK_SIZE]), y[start : start + BLOCK_SIZE]
        predicted = classifier.predict(Z) if start else np.ones(len(labels))
        mistakes += int((predicted != labels).sum())
        classifier.partial_fit(Z, labels, classes=[-1, 1])
    return [mistakes]
