"""Kernels, rows of examples, and blocks of kernel values."""

from functools import cache
from typing import Any

from budgetrun.base.registry import defined_in
from budgetrun.kernels import kernel, multitask
from budgetrun.kernels.kernel import Gaussian, Kernel, Linear, Polynomial
from budgetrun.kernels.kinds import Rows, squares

__all__ = ["Gaussian", "Kernel", "Linear", "Polynomial", "Rows", "make", "registry", "squares"]


@cache
def registry() -> dict[str, type[Kernel]]:
    """Return the kernels by name."""
    found = [one for home in (kernel, multitask) for one in defined_in(home, Kernel)]  # type: ignore[type-abstract]
    return {one.name: one for one in found}


def make(name: str, **parameters: Any) -> Kernel:
    """Return the kernel of that name with these parameters."""
    return registry()[name](**parameters)
