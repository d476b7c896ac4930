"""What every solver is: a way to the minimum of J(w) = ||w||^2 / 2 + C sum_k max(0, 1 - y_k <w, x_k>)."""

from __future__ import annotations

import importlib
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from budgetrun.errors import InputError
from budgetrun.kernels import Kernel
from budgetrun.params import Positive, Seed

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = [
    "Clock",
    "Count",
    "Positive",
    "Progress",
    "Seed",
    "Solution",
    "Solver",
    "Watch",
    "checkpoints",
    "loading",
    "objective",
    "prepared",
    "relative_gap",
    "too_long",
    "with_constant",
]

Count = Annotated[int, Field(ge=1, strict=True)]


@dataclass(frozen=True)
class Progress:
    """Where a solver stands.

    Attributes
    ----------
    seconds : float
        Of the processor, since it began, without compilation and without the time that watching takes. Solvers use
        one thread, so that on an idle core these are seconds of the wall clock.
    objective : float
        J of the weights in hand.
    gap : float
        The solver's own upper bound of J / J_opt - 1; nan if it has none.
    steps, unlearning_steps : int
        Updates so far, as the solver counts them, and how many of them took back.
    epochs : int
        Passes over all the data so far, or the solver's own rounds.
    """

    seconds: float
    objective: float
    gap: float
    steps: int
    unlearning_steps: int
    epochs: int


@dataclass(frozen=True, kw_only=True)
class Solution:
    """Where a solver ended.

    Attributes
    ----------
    weights : ndarray, shape (d,), or None
        w; None where the kernel gives no weight vector.
    dual : ndarray, shape (T,), or None
        The dual variables, 0 <= alpha_k <= C (no upper end for a hard margin), with w = sum_k alpha_k y_k x_k; None
        where the solver keeps none.
    bias : float
        What to add to <w, x>, or to sum_k alpha_k y_k k(x_k, x): 0 but for solvers that were given a constant feature.
    objective : float
        J(w), computed anew from the weights; for a hard margin ||w||^2 / 2 of weights scaled to a margin of 1.
    lower_bound : float
        A dual objective, below the minimum of J; nan if the solver has none.
    steps, unlearning_steps, epochs : int
        As in `Progress`.
    seconds : float
        As in `Progress`.
    compile_seconds : float
        What the first call in a process takes for compiling, or for loading what was compiled before.
    converged : bool
        Whether the solver stopped because it was done.
    note : str
        Why it stopped if it is not converged; else empty.
    margin : float or None
        min_k y_k (<w, x_k> + bias) / ||(w, bias / rho)||, for a hard margin only.
    """

    weights: np.ndarray | None
    dual: np.ndarray | None = None
    bias: float = 0.0
    objective: float
    lower_bound: float = math.nan
    steps: int
    unlearning_steps: int = 0
    epochs: int
    seconds: float
    compile_seconds: float = 0.0
    converged: bool
    note: str = ""
    margin: float | None = None

    @property
    def gap(self) -> float:
        """Return objective / lower_bound - 1, which bounds J / J_opt - 1; nan without a lower bound."""
        return relative_gap(self.objective, self.lower_bound)


Watch = Callable[[Progress], None]


class Solver(ABC):
    """A solver of the soft-margin problem without bias: all the examples at hand, passed over as often as it takes.

    Its parameters are the keyword-only arguments of ``__init__``, annotated with the types that configs are checked
    against. All have ``C``, the penalty, and ``accuracy``, the relative accuracy of the objective at which to stop.

    Attributes
    ----------
    name : str
        The name in configs, e.g. ``mpu``.
    added : dict of str to value
        As in `budgetrun.learners.base.Learner`.
    revision : int, >= 1
        Raised whenever the solver's outcomes change; part of every run id (`budgetrun.runner.identity`).
    draws : bool
        It draws random numbers; such a solver takes a parameter ``seed``.
    kernels : tuple of str
        The names of the kernels that it knows.
    passes : float
        About how often it reads all examples for an accuracy of 1e-4, traces included, to an order of magnitude.
    passes_grow_with_accuracy : bool
        Whether that number is inversely proportional to ``accuracy``.
    """

    name: ClassVar[str]
    revision: ClassVar[int] = 1
    added: ClassVar[Mapping[str, Any]] = {}
    draws: ClassVar[bool] = False
    kernels: ClassVar[tuple[str, ...]] = ("linear",)
    passes: ClassVar[float] = 500
    passes_grow_with_accuracy: ClassVar[bool] = False

    @abstractmethod
    def solve(self, X: np.ndarray | csr_array, y: np.ndarray, kernel: Kernel, watch: Watch | None = None) -> Solution:
        """Minimise J on these examples.

        Parameters
        ----------
        X : ndarray or csr_array, shape (T, d)
            The examples; rows of zeros are legal, if there are others. Never changed.
        y : ndarray, shape (T,)
            Their labels, -1 or +1; both must occur.
        kernel : Kernel
            One of `kernels`.
        watch : callable, optional
            Is told the `Progress` now and then, with objectives that never count as the solver's time.

        Raises
        ------
        InputError
            If the data or the parameters cannot be used.
        """


class Clock:
    """Seconds of the processor since it was made, without those spent in its ``with`` blocks.

    What else runs on the machine takes the wall clock's seconds, but not these.
    """

    def __init__(self) -> None:
        self._start = time.process_time()
        self._stopped: float | None = None

    @property
    def seconds(self) -> float:
        """The time that counts, so far."""
        now = time.process_time() if self._stopped is None else self._stopped
        return now - self._start

    def __enter__(self) -> None:
        self._stopped = time.process_time()

    def __exit__(self, *exception: object) -> None:
        assert self._stopped is not None
        self._start += time.process_time() - self._stopped
        self._stopped = None


def prepared(solver: Solver, X: np.ndarray | csr_array, y: np.ndarray, kernel: Kernel) -> np.ndarray | csr_array:
    """Check what a solver was given, and return the examples as it wants them.

    Returns
    -------
    X : ndarray or csr_array, shape (T, d)
        float64; C-contiguous, or CSR with int32 indices.

    Raises
    ------
    InputError
        A kernel the solver does not know, a number that is not finite, rows of zeros only, labels other than -1 and
        +1, one class only.
    """
    import scipy.sparse as sp

    if kernel.name not in solver.kernels:
        raise InputError(f"{solver.name} solves with the kernel {', '.join(solver.kernels)} only, got {kernel.name}")
    if X.ndim != 2 or y.shape != X.shape[:1]:
        raise InputError(f"the labels must be one for each example, got {y.shape} for examples of {X.shape}")
    odd = np.setdiff1d(y, [-1, 1])
    if odd.size:
        raise InputError(f"labels must be -1 or +1, got {odd[0]}")
    if len(np.unique(y)) < 2:
        only = f"all are {y[0]:+g}" if len(y) else "there are no examples"
        raise InputError(f"{solver.name} needs examples of both classes, but {only}")
    if sp.issparse(X):
        if X.nnz > np.iinfo(np.int32).max:
            raise InputError(f"{solver.name} takes at most 2^31 - 1 non-zero values, got {X.nnz}")
        # Without the caller's values twice in memory: a CSR array is three arrays.
        X = sp.csr_array(
            (
                np.ascontiguousarray(X.data, dtype=np.float64),
                np.ascontiguousarray(X.indices, dtype=np.int32),
                np.ascontiguousarray(X.indptr, dtype=np.int32),
            ),
            shape=X.shape,
        )
        values = X.data
    else:
        X = values = np.ascontiguousarray(X, dtype=np.float64)
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


# Of the largest value: products of a hundred million such numbers, and sums of them, neither vanish nor overflow.
_LEAST, _MOST = 1e-150, 1e146


def relative_gap(objective: float, lower_bound: float) -> float:
    """Return objective / lower_bound - 1: infinite for a bound that is not above 0, nan without a bound."""
    if math.isnan(lower_bound):
        return math.nan
    return objective / lower_bound - 1 if lower_bound > 0 else math.inf


def too_long(largest_square: float, C: float) -> str:
    """Return what to add to a solver's note of why it stopped, where its examples are too long for this C; else "".

    The problem depends on C ||x||^2 alone, but for a factor. Where that is large, losses outweigh ||w||^2 / 2 so much
    that each solver but the cutting planes needs more passes by orders of magnitude.

    Parameters
    ----------
    largest_square : float
        The largest k(x, x).
    C : float
    """
    if C * largest_square < _LONG:
        return ""
    return (
        f"; examples of norms up to {math.sqrt(largest_square):.3g} are too long for C = {C:g}: scale them (in a "
        "config, give the dataset scale: minmax or scale: unit_norm), or take a smaller C"
    )


# cod-rna in its raw units, for an accuracy of 1e-4: at 350 both MPU and LIBLINEAR converge, at 3.5e3 LIBLINEAR stops at
# its limit, at 3.5e4 MPU too.
_LONG = 1e3


def checkpoints(last: int) -> list[int]:
    """Return the numbers of steps or passes at which a trace has a point: three an octave, and the last."""
    return sorted({round(2 ** (i / 3)) for i in range(int(3 * math.log2(last)) + 1)} | {last})


def objective(X: np.ndarray | csr_array, y: np.ndarray, weights: np.ndarray, C: float) -> float:
    """Return J(w), its two sums without rounding errors of their own.

    Parameters
    ----------
    X : ndarray or csr_array, shape (T, d), float64
    y : ndarray, shape (T,), -1 or +1
    weights : ndarray, shape (d,)
    C : float
    """
    losses = 1 - y * (X @ weights)
    return math.fsum(np.square(weights)) / 2 + C * math.fsum(losses[losses > 0])


def with_constant(X: np.ndarray | csr_array, value: float) -> np.ndarray | csr_array:
    """Return examples with one more feature, the same for all."""
    import scipy.sparse as sp

    column = np.full((X.shape[0], 1), value)
    if isinstance(X, np.ndarray):
        return np.hstack([X, column])
    return sp.csr_array(sp.hstack([X, column], format="csr"))


def loading(loops: str) -> float:
    """Import a module of compiled loops, and return the seconds that took; next to nothing the second time."""
    start = time.perf_counter()
    importlib.import_module(f"budgetrun.solvers.loops.{loops}")
    return time.perf_counter() - start
