"""The multitask kernel: examples of several tasks share one support set."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp
from pydantic import Field

from budgetrun.base.errors import InputError
from budgetrun.base.params import Countable, NotNegative, Positive
from budgetrun.base.registry import parameters
from budgetrun.kernels.kernel import Degree, Gaussian, Kernel, Linear, Offset, Polynomial
from budgetrun.kernels.kinds import Encoded, Formula, IntegerRows, Kind, Needed, Rows, dense, floats, kind_of

_LEAST_TASKS = 2
_BASES: dict[str, type[Kernel]] = {kernel.name: kernel for kernel in (Gaussian, Polynomial, Linear)}
_OF_BASES = {name for kernel in _BASES.values() for name in parameters(kernel)}


Tasks = Annotated[int, Field(ge=_LEAST_TASKS, strict=True), Countable]


class Multitask(Kernel):
    """k((x, i), (x', j)) = w_ij k(x, x') for K tasks, with w_ij = 1 if i = j, and b / (K + b) otherwise.

    The task, a whole number from 0 to K - 1, is in the last column of an example, and x in the others. With b = 0 the
    tasks are independent; the larger b, the more they share. This is (A^-1)_ij k(x, x') of Cavallanti, Cesa-Bianchi &
    Gentile (2010), A = (1 + b) I - (b / K) 1 1^T, times (1 + b) K / (K + b), so that the weight within a task is 1.
    """

    name = "multitask"
    by_place = True

    def __init__(
        self,
        *,
        n_tasks: Tasks,
        b: NotNegative = 1.0,
        base: Literal["gaussian", "polynomial", "linear"] = "gaussian",
        gamma: Positive | None = None,
        sigma: Positive | None = None,
        degree: Degree | None = None,
        coef0: Offset | None = None,
    ) -> None:
        if n_tasks < _LEAST_TASKS:
            raise ValueError(f"n_tasks must be at least {_LEAST_TASKS}, got {n_tasks}")
        given = {"gamma": gamma, "sigma": sigma, "degree": degree, "coef0": coef0}
        given = {key: value for key, value in given.items() if value is not None}
        for key in given.keys() - self.parameters_with({"base": base}).keys():
            raise ValueError(f"{key} is not a parameter of base: {base}; leave {key} out")
        self.n_tasks = n_tasks
        self.b = b
        self._base: Kernel = _BASES[base](**given)
        self.of_distance = self._base.of_distance  # type: ignore[misc]  # that of the kernel of x
        self._shared = b / (n_tasks + b)

    @classmethod
    def parameters_with(cls, given: Mapping[str, Any]) -> dict[str, inspect.Parameter]:
        own = parameters(cls)
        if given["base"] not in list(_BASES):
            return own
        base = parameters(_BASES[given["base"]])
        return {name: parameter for name, parameter in own.items() if name in base or name not in _OF_BASES}

    @property
    def numbers(self) -> tuple[float, ...]:
        return self._base.numbers

    @staticmethod
    def formula(s: Any, *numbers: Any) -> Any:
        raise NotImplementedError("values depend on the tasks, too")

    def _given(self) -> dict[str, Any]:
        return {"n_tasks": self.n_tasks, "b": self.b, "base": self._base}

    def diagonal(self, norms: np.ndarray) -> np.ndarray:
        return self._base.diagonal(norms)

    def kind_of(self, X: Rows) -> tuple[Kind, Encoded]:
        tasks, rest = self.split(X)
        inner, examples = kind_of(rest)
        return OfTasks(X.shape[1], self, inner), examples._replace(tasks=tasks)

    def split(self, X: Rows) -> tuple[np.ndarray, Rows]:
        """Return the tasks, shape (n,), of int, and the other columns of examples.

        Raises:
        InputError
            A value in the last column is not a task.
        """
        matrix: Any = floats(X)
        column = dense(matrix[:, [matrix.shape[1] - 1]]).astype(np.float64).ravel()
        are_tasks = (column >= 0) & (column < self.n_tasks) & (column == np.floor(column))
        if X.shape[1] < _LEAST_TASKS or not are_tasks.all():
            wrong = next((f"{v:g}" for v in column if v not in range(self.n_tasks)), "no other column")
            raise InputError(
                f"the {self} kernel needs the task in the last column, a whole number from 0 to {self.n_tasks - 1}, "
                f"got {wrong}; do not scale that column, and set n_tasks to the number of tasks"
            )
        return column.astype(np.intp), _without_last(X)

    def weights(self, tasks: np.ndarray, others: np.ndarray) -> np.ndarray:
        """Return w between tasks, shape (len(tasks), len(others))."""
        return np.where(np.equal.outer(tasks, others), 1.0, self._shared)


class OfTasks(Kind):
    """Storage for examples with tasks: any kind, without the last column, and the tasks."""

    name: ClassVar[str] = "tasks"

    def __init__(self, n_features: int, kernel: Multitask, inner: Kind) -> None:
        super().__init__(n_features)
        self._kernel = kernel
        self._inner = inner
        self._tasks = np.zeros(0, dtype=np.intp)

    def encode(self, X: Rows) -> Encoded | None:
        tasks, rest = self._kernel.split(X)
        examples = self._inner.encode(rest)
        return None if examples is None else examples._replace(tasks=tasks)

    def put(self, slots: np.ndarray, examples: Encoded) -> None:
        self._tasks[slots] = examples.tasks
        self._inner.put(slots, examples)

    def resize(self, capacity: int) -> None:
        super().resize(capacity)
        self._tasks = np.concatenate([self._tasks, np.zeros(capacity - len(self._tasks), dtype=np.intp)])
        self._inner.resize(capacity)

    def fill(self, kernel: Formula, examples: Encoded, out: np.ndarray, needed: Needed | None = None) -> None:
        tiles, used, width = out.shape
        self._inner.fill(self._kernel._base, examples, out, needed)
        weights = self._kernel.weights(self._tasks[:used], examples.tasks)
        out *= weights.reshape(used, tiles, width).transpose(1, 0, 2)

    def rows(self, slots: np.ndarray) -> Any:
        return self._inner.rows(slots)

    def encoded(self, slots: np.ndarray) -> Encoded:
        return self._inner.encoded(slots)._replace(tasks=self._tasks[slots])

    def given(self, slots: np.ndarray) -> Rows:
        rest = floats(self._inner.given(slots))
        column = self._tasks[slots].astype(np.float64)[:, None]
        if isinstance(rest, np.ndarray):
            return np.hstack([rest, column])
        return sp.csr_array(sp.hstack([rest, sp.csr_array(column)], format="csr"))

    def taken(self, slots: np.ndarray) -> Kind:
        return self._with(self._inner.taken(slots), self._tasks[slots])

    def widened(self, X: Rows) -> tuple[Kind, Encoded]:
        tasks, rest = self._kernel.split(X)
        inner, examples = self._inner.widened(rest)
        return self._with(inner, self._tasks), examples._replace(tasks=tasks)

    def _with(self, inner: Kind, tasks: np.ndarray) -> OfTasks:
        kind = OfTasks(self.n_features, self._kernel, inner)
        kind.scaled, kind._tasks = inner.scaled.copy(), tasks.copy()
        return kind


def _without_last(X: Rows) -> Rows:
    if isinstance(X, IntegerRows):
        return IntegerRows(_without_last(X.integers), X.factors)
    return X[:, :-1] if isinstance(X, np.ndarray) else sp.csr_array(X)[:, : X.shape[1] - 1]
