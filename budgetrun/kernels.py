"""Kernels, on dense or CSR rows.

A kernel is a function of inner products. `left` and `right` put norms and offsets into extra columns, so that one
matrix product and one pass in place, `finish`, give a whole block of kernel values.
"""

from __future__ import annotations

import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cache
from typing import Annotated, Any, ClassVar, TypeAlias

import numpy as np
import scipy.sparse as sp
from pydantic import Field

from budgetrun.params import InRange, Positive
from budgetrun.registry import defined_in

Rows: TypeAlias = np.ndarray | sp.csr_array
Degree = Annotated[int, Field(ge=1, le=1000, strict=True)]
Offset = Annotated[
    float,
    Field(ge=0, allow_inf_nan=False, description="a number >= 0, or the kernel is not positive definite"),
    InRange,
]


class Kernel(ABC):
    """A positive semidefinite kernel k(a, b) = g(<left(a), right(b)>).

    Attributes
    ----------
    name : str
        The name in configs, e.g. ``gaussian``.
    revision : int, >= 1
        Raised whenever the kernel's values change; part of every run id (`budgetrun.runner.identity`).
    """

    name: ClassVar[str]
    revision: ClassVar[int] = 1

    @abstractmethod
    def left(self, X: Rows, norms: np.ndarray) -> Rows:
        """Return the rows to store for the examples ``X``, shape (n, d); the first d columns are ``X``.

        ``norms`` are their `squares`, shape (n,).
        """

    @abstractmethod
    def right(self, X: Rows, norms: np.ndarray) -> Rows:
        """Return the rows to multiply with stored rows, for examples ``X``, shape (n, d), and their `squares`."""

    @abstractmethod
    def finish(self, products: np.ndarray) -> np.ndarray:
        """Turn inner products of left and right rows into kernel values, in place."""

    @abstractmethod
    def diagonal(self, norms: np.ndarray) -> np.ndarray:
        """Return k(x, x) for examples with these `squares`, shape (n,), float64."""

    @abstractmethod
    def row(self, X: Rows, x: Rows) -> np.ndarray:
        """Return k(a, x) for each row a of ``X``, shape (n,), float64, for one example ``x``, shape (1, d).

        Each value depends on its own row only, so that equal examples have exactly equal values; a matrix product does
        not guarantee that. These values decide rounds whose score is too close to the threshold.
        """

    @abstractmethod
    def magnitude(self, largest_square: float) -> float:
        """Return how large the numbers can be that a kernel value is computed from.

        The rounding error of a kernel value is at most about four unit roundoffs times this.

        Parameters
        ----------
        largest_square : float
            The largest ||x||^2 among the examples.
        """

    def far(self, blocks: Sequence[Rows], norms: Sequence[np.ndarray]) -> np.ndarray:
        """Return the features, ascending, that must not be multiplied out, given the examples and their `squares`.

        Their values are so large that the rounding errors of products exceed the differences that the kernel depends
        on. `left` and `right` are then called with the squares of the other features (`near_squares`), `right` with
        examples in which these are 0 (`without`), and `separate` is called before `finish`.
        """
        return np.empty(0, dtype=np.intp)

    def separate(self, products: np.ndarray, A: np.ndarray, B: np.ndarray) -> None:  # noqa: B027 (most have none)
        """Take account of the `far` features, by their values in the left examples ``A`` and the right ones ``B``."""

    def between(self, A: Rows, B: Rows) -> np.ndarray:
        """Return the matrix of k(a, b), shape (rows of A, rows of B)."""
        norms = squares(A), squares(B)
        far = self.far((A, B), norms)
        if not len(far):
            return self.finish(product(self.left(A, norms[0]), self.right(B, norms[1])))
        near = self.left(A, near_squares(A, far)), self.right(without(B, far), near_squares(B, far))
        products = product(*near)
        self.separate(products, columns(A, far), columns(B, far))
        return self.finish(products)

    def __str__(self) -> str:
        given = ", ".join(f"{key}={value:g}" for key, value in self.__dict__.items() if value is not None)
        return f"{self.name}({given})" if given else self.name

    def __repr__(self) -> str:
        return str(self)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash(str(self))


class Gaussian(Kernel):
    """k(a, b) = exp(-gamma ||a - b||^2); give gamma > 0, or sigma > 0 for gamma = 1 / (2 sigma^2)."""

    name = "gaussian"

    def __init__(self, *, gamma: Positive | None = None, sigma: Positive | None = None) -> None:
        if (gamma is None) == (sigma is None):
            raise ValueError("the gaussian kernel takes either gamma or sigma (gamma = 1 / (2 sigma^2))")
        self.gamma = gamma
        self.sigma = sigma

    @property
    def rate(self) -> float:
        """The factor of ||a - b||^2: gamma, or 1 / (2 sigma^2)."""
        if self.gamma is not None:
            return self.gamma
        assert self.sigma is not None
        return 1.0 / (2.0 * self.sigma**2)

    def left(self, X: Rows, norms: np.ndarray) -> Rows:
        return _with_columns(X, -self.rate * norms, 1.0)

    def right(self, X: Rows, norms: np.ndarray) -> Rows:
        return _with_columns(X * X.dtype.type(2 * self.rate), 1.0, -self.rate * norms)

    def finish(self, products: np.ndarray) -> np.ndarray:
        return np.exp(products, out=products)

    def diagonal(self, norms: np.ndarray) -> np.ndarray:
        return np.ones(len(norms))

    def row(self, X: Rows, x: Rows) -> np.ndarray:
        with np.errstate(over="ignore"):
            if isinstance(X, np.ndarray):
                distances = np.square(X.astype(np.float64) - x).sum(axis=1)
            else:
                assert not isinstance(x, np.ndarray)
                held = np.unique(x.indices)
                distances = np.square(columns(X, held) - columns(x, held)).sum(axis=1) + near_squares(X, held)
            return np.exp(-self.rate * distances)

    def magnitude(self, largest_square: float) -> float:
        return 0.25 + self.rate * largest_square

    def far(self, blocks: Sequence[Rows], norms: Sequence[np.ndarray]) -> np.ndarray:
        finfo = np.finfo(blocks[0].dtype)
        limit = COARSEST[finfo.dtype.name] / (2 * float(finfo.eps) * self.rate)
        if max(norm.max(initial=0.0) for norm in norms) <= limit:
            return np.empty(0, dtype=np.intp)
        with np.errstate(over="ignore"):
            sizes = np.square(np.max([_largest(X) for X in blocks], axis=0))
            order = np.argsort(sizes)
            kept = np.count_nonzero(np.cumsum(sizes[order]) <= limit)
        return np.sort(order[kept:])

    def separate(self, products: np.ndarray, A: np.ndarray, B: np.ndarray) -> None:
        factor = math.sqrt(self.rate)
        with np.errstate(over="ignore"):
            for a, b in zip(A.T, B.T, strict=True):
                products -= np.square(np.subtract.outer(a, b) * factor)
        np.minimum(products, 0, out=products)


class Polynomial(Kernel):
    """k(a, b) = (gamma <a, b> + coef0)^degree, with degree >= 1, gamma > 0, coef0 >= 0."""

    name = "polynomial"

    def __init__(self, *, degree: Degree = 3, gamma: Positive = 1.0, coef0: Offset = 1.0) -> None:
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0

    def left(self, X: Rows, norms: np.ndarray) -> Rows:
        return _with_columns(X, 1.0)

    def right(self, X: Rows, norms: np.ndarray) -> Rows:
        return _with_columns(X * X.dtype.type(self.gamma), self.coef0)

    def finish(self, products: np.ndarray) -> np.ndarray:
        base = products.copy()
        for _ in range(self.degree - 1):
            np.multiply(products, base, out=products)
        return products

    def diagonal(self, norms: np.ndarray) -> np.ndarray:
        return (self.gamma * norms + self.coef0) ** self.degree

    def row(self, X: Rows, x: Rows) -> np.ndarray:
        return (self.gamma * _dots(X, x) + self.coef0) ** self.degree

    def magnitude(self, largest_square: float) -> float:
        try:
            return self.degree * (self.gamma * largest_square + self.coef0) ** self.degree
        except OverflowError:
            return math.inf


class Linear(Kernel):
    """k(a, b) = <a, b>."""

    name = "linear"

    def __init__(self) -> None:
        pass

    def left(self, X: Rows, norms: np.ndarray) -> Rows:
        return X

    def right(self, X: Rows, norms: np.ndarray) -> Rows:
        return X

    def finish(self, products: np.ndarray) -> np.ndarray:
        return products

    def diagonal(self, norms: np.ndarray) -> np.ndarray:
        return norms

    def row(self, X: Rows, x: Rows) -> np.ndarray:
        return _dots(X, x)

    def magnitude(self, largest_square: float) -> float:
        return largest_square


def product(left: Rows, right: Rows, out: np.ndarray | None = None) -> np.ndarray:
    """Return the dense matrix of inner products of rows, shape (rows of left, rows of right).

    ``out`` is used if one of them is dense; a product of two sparse matrices allocates its result.
    """
    if isinstance(left, np.ndarray) or isinstance(right, np.ndarray):
        return np.matmul(left, right.T, out=out)
    # A dense right side is several times faster, provided that it is small compared with the result.
    if right.shape[1] <= _DENSE_COLUMNS:
        return left @ np.ascontiguousarray(right.toarray().T)
    return (left @ right.T.tocsr()).toarray()


def squares(X: Rows) -> np.ndarray:
    """Return ||x||^2 for each row of ``X``, shape (n,), float64."""
    with np.errstate(over="ignore"):
        if isinstance(X, np.ndarray):
            return np.einsum("ij,ij->i", X, X, dtype=np.float64)
        square = sp.csr_array((np.square(X.data.astype(np.float64)), X.indices, X.indptr), shape=X.shape)
        return np.asarray(square @ np.ones(X.shape[1]))


def columns(X: Rows, chosen: np.ndarray) -> np.ndarray:
    """Return some features of the examples as a dense matrix, float64, shape (n, len(chosen))."""
    part = X[:, chosen]
    return (part if isinstance(part, np.ndarray) else part.toarray()).astype(np.float64, copy=False)


def without(X: Rows, dropped: np.ndarray) -> Rows:
    """Return a copy of the examples in which some features are 0."""
    X = X.copy()
    if isinstance(X, np.ndarray):
        X[:, dropped] = 0
    else:
        X.data[np.isin(X.indices, dropped)] = 0
    return X


def near_squares(X: Rows, dropped: np.ndarray) -> np.ndarray:
    """Return the `squares` of the examples without some of their features."""
    return squares(without(X, dropped))


@cache
def registry() -> dict[str, type[Kernel]]:
    """Return the kernels by name."""
    found = defined_in(sys.modules[__name__], Kernel)  # type: ignore[type-abstract]  # as a bound, never instantiated
    return {kernel.name: kernel for kernel in found}


def make(name: str, **parameters: Any) -> Kernel:
    """Return the kernel of that name with these parameters."""
    return registry()[name](**parameters)


# The largest rounding error of values of the Gaussian kernel that is accepted, by type.
COARSEST = {"float64": 1e-10, "float32": 1e-4}
# With at most this many columns, a dense block of 256 float64 rows takes at most 16 MB.
_DENSE_COLUMNS = 8192


def _largest(X: Rows) -> np.ndarray:
    """Return the largest |x_j| of each feature, shape (d,), float64."""
    largest = abs(X).max(axis=0) if X.shape[0] else np.zeros(X.shape[1])
    return (largest if isinstance(largest, np.ndarray) else largest.toarray().ravel()).astype(np.float64)


def _dots(X: Rows, x: Rows) -> np.ndarray:
    if isinstance(X, np.ndarray) or isinstance(x, np.ndarray):
        return (X.astype(np.float64) * x).sum(axis=1)
    # A CSR product sums each row on its own, in the order of the columns.
    return np.asarray(X.astype(np.float64) @ x.toarray().ravel().astype(np.float64))


def _with_columns(X: Rows, *columns: np.ndarray | float) -> Rows:
    if isinstance(X, np.ndarray):
        out = np.empty((X.shape[0], X.shape[1] + len(columns)), dtype=X.dtype)
        out[:, : X.shape[1]] = X
        for i, column in enumerate(columns, start=X.shape[1]):
            out[:, i] = column
        return out
    extra = sp.csr_array(np.stack([np.broadcast_to(c, X.shape[:1]) for c in columns], axis=1).astype(X.dtype))
    return sp.hstack([X, extra], format="csr")
