"""The kernels of single tasks, as functions of ||a - b||^2 or of <a, b>."""

import inspect
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from budgetrun.base.params import InRange, Positive
from budgetrun.base.registry import parameters
from budgetrun.kernels.arithmetic import exp
from budgetrun.kernels.compiling import Compilable
from budgetrun.kernels.kinds import Encoded, Kind, Rows, filled, kind_of

Degree = Annotated[int, Field(ge=1, le=1000, strict=True)]
Offset = Annotated[
    float,
    Field(ge=0, allow_inf_nan=False, description="a number >= 0, or the kernel is not positive definite"),
    InRange,
]
# How inner products of dense floats are computed: in the order of the features, or by BLAS.
Products = Literal["blas"] | None


class Kernel(Compilable, ABC):
    """A positive semidefinite kernel.

    Attributes
    ----------
    name : str
        The name in configs, e.g. ``gaussian``.
    revision : int, >= 1
        Raised whenever the kernel's values change; part of every run id (`budgetrun.runner.identity`).
    of_distance : bool
        True for a function of ||a - b||^2, False for one of <a, b>.
    by_place : bool
        True if values depend on the columns of features.
    products : "blas" or None
        How inner products of dense floats are computed: by BLAS, which is faster with many features, but whose last
        bits depend on the machine and the sizes of blocks; or by this package, in the order of the features.
    """

    name: ClassVar[str]
    revision: ClassVar[int] = 1
    of_distance: ClassVar[bool] = False
    by_place: ClassVar[bool] = False
    products: Products = None

    @classmethod
    def parameters_with(cls, given: Mapping[str, Any]) -> dict[str, inspect.Parameter]:
        """Return the parameters that the kernel takes, if it is given these values."""
        return parameters(cls)

    @property
    @abstractmethod
    def numbers(self) -> tuple[float, ...]:
        """The further arguments of `formula`."""

    @staticmethod
    @abstractmethod
    def formula(s: Any, *numbers: Any) -> Any:
        """Return k(a, b) for s = ||a - b||^2 or <a, b>, a number or an array. It is also compiled."""

    def diagonal(self, norms: np.ndarray) -> np.ndarray:
        """Return k(x, x) for examples with these ||x||^2, shape (n,), float64."""
        s = np.zeros_like(norms) if self.of_distance else norms
        return self.formula(s, *self.numbers)

    def rough(self, n_features: int, largest: float) -> tuple[float, float]:
        """Return a factor c for which k(a, b) is exp(-||c a - c b||^2), and a bound on the error of that in float32.

        Examples have ||x||^2 <= ``largest``. Of other kernels, the bound is infinite.
        """
        return 0.0, math.inf

    def kind_of(self, X: Rows) -> tuple[Kind, Encoded]:
        """Choose the most compact storage that holds these examples; return it, empty, and the encoded examples."""
        return kind_of(X)

    def between(self, A: Rows, B: Rows) -> np.ndarray:
        """Return the matrix of k(a, b), shape (rows of A, rows of B)."""
        return filled(*self.kind_of(A)).between(self, B)

    def __str__(self) -> str:
        given = ", ".join(f"{key}={_exact(value)}" for key, value in self._given().items() if value is not None)
        return f"{self.name}({given})" if given else self.name

    __repr__ = __str__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Kernel) and type(self) is type(other) and self._given() == other._given()

    def __hash__(self) -> int:
        return hash(str(self))

    def _given(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if not key.startswith("_")}


class Gaussian(Kernel):
    """k(a, b) = exp(-gamma ||a - b||^2); give gamma > 0, or sigma > 0 for gamma = 1 / (2 sigma^2)."""

    name = "gaussian"
    of_distance = True

    def __init__(
        self, *, gamma: Positive | None = None, sigma: Positive | None = None, products: Products = None
    ) -> None:
        if (gamma is None) == (sigma is None):
            raise ValueError("the gaussian kernel takes either gamma or sigma (gamma = 1 / (2 sigma^2))")
        self.gamma = gamma
        self.sigma = sigma
        self.products = products
        self._rate: float = gamma if gamma is not None else 1.0 / (2.0 * sigma**2)  # type: ignore[operator]

    @property
    def rate(self) -> float:
        """The factor of ||a - b||^2: gamma, or 1 / (2 sigma^2)."""
        return self._rate

    @property
    def numbers(self) -> tuple[float, ...]:
        return (self._rate,)

    @staticmethod
    def formula(s: Any, rate: float) -> Any:
        return exp(-(rate * s))

    def rough(self, n_features: int, largest: float) -> tuple[float, float]:
        if self.products is not None:
            return super().rough(n_features, largest)
        # Of u = ||c a - c b||, features that are rounded change exp(-u^2) by at most sqrt(2 / e) times the change of u;
        # a relative error of u^2 by at most 1 / e times that. The rest is the exponential's own.
        factor = math.sqrt(self._rate)
        rounded = math.sqrt(2 / math.e) * 2 * factor * math.sqrt(largest)
        return factor, 2.0**-24 * (rounded + (n_features + 4) / math.e + 8)


class Polynomial(Kernel):
    """k(a, b) = (gamma <a, b> + coef0)^degree, with degree >= 1, gamma > 0, coef0 >= 0."""

    name = "polynomial"

    def __init__(
        self, *, degree: Degree = 3, gamma: Positive = 1.0, coef0: Offset = 1.0, products: Products = None
    ) -> None:
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.products = products

    @property
    def numbers(self) -> tuple[float, ...]:
        return (self.gamma, self.coef0, self.degree)

    @staticmethod
    def formula(s: Any, gamma: float, coef0: float, degree: int) -> Any:
        base = gamma * s + coef0
        power = base
        for _ in range(degree - 1):
            power = power * base
        return power


class Linear(Kernel):
    """k(a, b) = <a, b>."""

    name = "linear"

    def __init__(self, *, products: Products = None) -> None:
        self.products = products

    @property
    def numbers(self) -> tuple[float, ...]:
        return ()

    @staticmethod
    def formula(s: Any) -> Any:
        return s


def _exact(value: float | str | Kernel) -> str:
    if isinstance(value, Kernel | str):
        return str(value)
    return f"{value:g}" if float(f"{value:g}") == value else repr(value)
