"""Base of the batch solvers, which minimize J(w) = ||w||^2 / 2 + C sum_k max(0, 1 - y_k <w, x_k>)."""

import importlib
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from budgetrun.base.errors import InputError
from budgetrun.kernels import Kernel
from budgetrun.kernels.kinds import Matrix, Rows, floats

Floats = NDArray[np.float64]
Labels = NDArray[Any]


@dataclass(frozen=True)
class Progress:
    """The progress of a solver."""

    # Processor time since the start, without compilation and without the time spent on watching. Solvers use one
    # thread, so on an idle core these are wall-clock seconds.
    seconds: float
    objective: float  # J of the current weights
    gap: float  # the solver's own upper bound on J / J_opt - 1; nan if it has none
    steps: int  # updates so far, as the solver counts them
    unlearning_steps: int  # how many of them were unlearning
    epochs: int  # passes over all the data so far, or the solver's own kind of rounds


@dataclass(frozen=True, kw_only=True)
class Solution:
    """The result of a solver; ``steps``, ``unlearning_steps``, ``epochs`` and ``seconds`` are as in `Progress`."""

    weights: Floats | None  # w, shape (d,); None where the kernel gives no weight vector
    # The dual variables, shape (T,), 0 <= alpha_k <= C (unbounded above for a hard margin), with
    # w = sum_k alpha_k y_k x_k; None where the solver keeps none.
    dual: Floats | None = None
    # To be added to <w, x>, or to sum_k alpha_k y_k k(x_k, x); 0 unless the solver was given a constant feature.
    bias: float = 0.0
    objective: float  # J(w) of the final weights; for a hard margin ||w||^2 / 2 of weights scaled to a margin of 1
    lower_bound: float = math.nan  # a dual objective, a lower bound on the minimum of J; nan if the solver has none
    steps: int
    unlearning_steps: int = 0
    epochs: int
    seconds: float
    compile_seconds: float = 0.0  # to compile the loops, or to load compiled ones, in the first call of a process
    converged: bool  # whether the solver met its own criterion
    note: str = ""  # why it stopped if it did not converge
    margin: float | None = None  # min_k y_k (<w, x_k> + bias) / ||(w, bias / rho)||, for a hard margin only

    @property
    def gap(self) -> float:
        """An upper bound on J / J_opt - 1; nan without a lower bound."""
        return relative_gap(self.objective, self.lower_bound)


Watch = Callable[[Progress], None]


class Solver(ABC):
    """A solver of the soft-margin problem without bias, which sees all the examples and passes over them repeatedly.

    A solver is a dataclass: its parameters are its fields, annotated with the types that configs are checked against.
    All have ``C``, the penalty, and ``accuracy``, the relative accuracy of the objective at which to stop.
    """

    name: ClassVar[str]  # in configs, e.g. ``mpu``
    title: ClassVar[str] = ""  # on pages and in figures, by default the name
    revision: ClassVar[int] = 1  # raised whenever the solver's outcomes change; part of every run id
    added: ClassVar[Mapping[str, Any]] = {}  # as in `budgetrun.learners.base.Learner`
    draws: ClassVar[bool] = False  # it draws random numbers, and has a parameter ``seed``
    kernels: ClassVar[tuple[str, ...]] = ("linear",)  # the names of those that it supports
    # About how often it reads all examples for an accuracy of 1e-4, traces included, to an order of magnitude.
    passes: ClassVar[float] = 500
    passes_grow_with_accuracy: ClassVar[bool] = False  # that number is inversely proportional to ``accuracy``

    def solve(self, X: Rows, y: Labels, kernel: Kernel, watch: Watch | None = None) -> Solution:
        """Minimize J on these examples.

        Parameters:
        X : ndarray, csr_array or IntegerRows, shape (T, d)
            The examples; some rows may be all zeros, but not every row. Never changed.
        y : ndarray, shape (T,)
            Their labels, -1 or +1; both must occur.
        kernel : Kernel
            One of `kernels`.
        watch : callable, optional
            Called with the `Progress` now and then; computing the objectives for it does not count as solver time.

        Raises InputError: if the data or the parameters cannot be used.
        """
        return self._solve(_checked(self, X, y, kernel), y, kernel, watch)

    @abstractmethod
    def _solve(self, X: Matrix, y: Labels, kernel: Kernel, watch: Watch | None) -> Solution:
        """Minimize J on examples that have been checked: float64; C-contiguous, or CSR with int32 indices."""


class Clock:
    """Processor seconds since it was created, without those in its ``with`` blocks; other load does not change them."""

    def __init__(self) -> None:
        self._start = time.process_time()
        self._stopped: float | None = None

    @property
    def seconds(self) -> float:
        now = time.process_time() if self._stopped is None else self._stopped
        return now - self._start

    def __enter__(self) -> None:
        self._stopped = time.process_time()

    def __exit__(self, *exception: object) -> None:
        assert self._stopped is not None
        self._start += time.process_time() - self._stopped
        self._stopped = None


def _checked(solver: Solver, given: Rows, y: Labels, kernel: Kernel) -> Matrix:
    """Check the arguments of `Solver.solve`, and return the examples as `Solver._solve` needs them."""
    if kernel.name not in solver.kernels:
        raise InputError(f"{solver.name} supports only the kernel {', '.join(solver.kernels)}, got {kernel.name}")
    X = floats(given)
    if X.ndim != 2 or y.shape != X.shape[:1]:
        raise InputError(f"the labels must be one for each example, got {y.shape} for examples of {X.shape}")
    odd = np.setdiff1d(y, [-1, 1])
    if odd.size:
        raise InputError(f"labels must be -1 or +1, got {odd[0]}")
    if len(np.unique(y)) < 2:
        only = f"all are {y[0]:+g}" if len(y) else "there are no examples"
        raise InputError(f"{solver.name} needs examples of both classes, but {only}")
    if isinstance(X, np.ndarray):
        X = values = np.ascontiguousarray(X, dtype=np.float64)
    else:
        if X.nnz > np.iinfo(np.int32).max:
            raise InputError(f"{solver.name} takes at most 2^31 - 1 non-zero values, got {X.nnz}")
        # From the three arrays, so that the caller's values are not copied.
        values = np.ascontiguousarray(X.data, dtype=np.float64)
        indices, indptr = (np.ascontiguousarray(of, dtype=np.int32) for of in (X.indices, X.indptr))
        X = sp.csr_array((values, indices, indptr), shape=X.shape)
    largest = max(abs(values.min()), abs(values.max())) if values.size else 0.0
    if not math.isfinite(largest):
        raise InputError("the examples must be finite numbers, but a nan or an infinity is among them")
    if largest == 0:
        raise InputError(f"{solver.name} has nothing to learn from: every example is a row of zeros")
    if not _LEAST < largest < _MOST:
        raise InputError(
            f"the largest value of the examples is {largest:.0e}, and a sum of squares of such numbers is beyond "
            "float64: scale the examples"
        )
    return X


# Limits of the largest value: squares of such numbers, and sums of 1e8 of them, neither underflow nor overflow.
_LEAST, _MOST = 1e-150, 1e146


def relative_gap(objective: float, lower_bound: float) -> float:
    """Return objective / lower_bound - 1: infinite for a bound that is not above 0, nan without a bound."""
    if math.isnan(lower_bound):
        return math.nan
    return objective / lower_bound - 1 if lower_bound > 0 else math.inf


def too_long(largest_square: float, C: float) -> str:
    """Return the end of a solver's note if its examples, of squared norms up to this, are too long for C; or "".

    Up to a factor the problem depends only on C ||x||^2. Where that is large, losses outweigh ||w||^2 / 2 so much that
    all solvers except cutting planes need orders of magnitude more passes.
    """
    if C * largest_square < _LONG:
        return ""
    return (
        f"; examples of norms up to {math.sqrt(largest_square):.3g} are too long for C = {C:g}: scale them (in a "
        "config, give the dataset scale: minmax or scale: unit_norm), or take a smaller C"
    )


# On cod-rna in its raw units, with accuracy 1e-4: at 350 both MPU and LIBLINEAR converge, at 3.5e3 LIBLINEAR stops at
# its limit of passes, at 3.5e4 MPU does too.
_LONG = 1e3


def checkpoints(last: int) -> list[int]:
    """Return the numbers of steps or passes at which a trace has a point: three per octave, and the last."""
    return sorted({round(2 ** (i / 3)) for i in range(int(3 * math.log2(last)) + 1)} | {last})


def objective(X: Matrix, y: Labels, weights: Floats, C: float) -> float:
    """Return J(w), with exactly rounded sums, for examples X and labels y of -1 and +1."""
    losses = 1 - y * (X @ weights)
    return math.fsum(np.square(weights)) / 2 + C * math.fsum(losses[losses > 0])


def with_constant(X: Matrix, value: float) -> Matrix:
    """Return examples with one more feature that has the same value in all."""
    column = np.full((X.shape[0], 1), value)
    if isinstance(X, np.ndarray):
        return np.hstack([X, column])
    return sp.csr_array(sp.hstack([X, column], format="csr"))


def loading(loops: str) -> float:
    """Import a module of compiled loops, and return the seconds it took: almost none the second time."""
    start = time.perf_counter()
    importlib.import_module(f"budgetrun.papers.solvers.loops.{loops}")
    return time.perf_counter() - start
