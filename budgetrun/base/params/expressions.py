"""Formulas in configs, e.g. ``1 - 1 / (m + 1)``, and conditions, e.g. ``a < b``: numbers, names, a few functions."""

from __future__ import annotations

import ast
import math
import operator
import warnings
from collections.abc import Callable


def _rounded(value: float) -> float:
    return float(math.floor(value + 0.5))


_FUNCTIONS: dict[str, Callable[..., float]] = {
    "sqrt": math.sqrt,
    "log": math.log,
    "exp": math.exp,
    "min": min,
    "max": max,
    "round": _rounded,
}
_OF_SEVERAL = ("min", "max")
_OPERATORS: dict[type, Callable[..., float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
}

_COMPARISONS: dict[type, Callable[[float, float], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
}

# Longer formulas nest too deeply for Python's parser, or for the recursion below.
_LONGEST = 200


class Formula:
    """A checked arithmetic expression.

    Parameters
    ----------
    text : str
        The expression: numbers, ``+ - * / **``, parentheses, ``sqrt log exp min max round`` and the given names.
        ``round`` rounds to the nearest integer, halves up; ``min`` and ``max`` take two or more values.
    names : tuple of str
        The allowed variables.

    Raises
    ------
    ValueError
        The text is not such an expression.

    Examples
    --------
    >>> Formula("1 - 1 / (m + 1)", ("m",))(m=3)
    0.75
    """

    def __init__(self, text: str, names: tuple[str, ...]) -> None:
        self.text = text
        self.names = names
        if len(text) > _LONGEST:
            raise ValueError(f"{text[:20]!r}... has {len(text):,} characters, and a formula may have {_LONGEST}")
        try:
            with warnings.catch_warnings():
                # Of odd literals, which are refused below or evaluated as Python reads them.
                warnings.simplefilter("ignore")
                self._tree = ast.parse(text.strip(), mode="eval").body
        except (SyntaxError, ValueError):
            raise ValueError(f"{text!r} is not a formula") from None
        self._check_top(self._tree)

    def __getstate__(self) -> dict[str, object]:
        return {"text": self.text, "names": self.names}

    def __setstate__(self, state: dict[str, object]) -> None:
        """Check the text again: it may come from a file."""
        Formula.__init__(self, **state)  # type: ignore[arg-type]

    def __call__(self, **values: float) -> float:
        return self._value(self._tree, values)

    @property
    def used(self) -> set[str]:
        """The variables that occur in the expression."""
        names = {node.id for node in ast.walk(self._tree) if isinstance(node, ast.Name)}
        return names & set(self.names)

    def _check_top(self, node: ast.AST) -> None:
        self._check(node)

    def _check(self, node: ast.AST) -> None:
        if isinstance(node, ast.Constant) and type(node.value) in (int, float):
            return
        if isinstance(node, ast.Name) and node.id in self.names:
            return
        if isinstance(node, ast.BinOp | ast.UnaryOp) and type(node.op) in _OPERATORS:
            for child in (node.left, node.right) if isinstance(node, ast.BinOp) else (node.operand,):
                self._check(child)
            return
        called = node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else None
        if isinstance(node, ast.Call) and called in _FUNCTIONS and node.args and not node.keywords:
            if (len(node.args) > 1) != (called in _OF_SEVERAL):
                wanted = "two values or more" if called in _OF_SEVERAL else "one value"
                raise ValueError(f"{self.text!r}: {called} takes {wanted}, got {len(node.args)}")
            for child in node.args:
                self._check(child)
            return
        raise ValueError(
            f"{self.text!r} may use only numbers, + - * / **, {' '.join(_FUNCTIONS)} and {', '.join(self.names)}"
        )

    def _value(self, node: ast.AST, values: dict[str, float]) -> float:
        if isinstance(node, ast.Constant):
            return float(node.value)  # type: ignore[arg-type]
        if isinstance(node, ast.Name):
            return values[node.id]
        if isinstance(node, ast.BinOp):
            return _OPERATORS[type(node.op)](self._value(node.left, values), self._value(node.right, values))
        if isinstance(node, ast.UnaryOp):
            return _OPERATORS[type(node.op)](self._value(node.operand, values))
        assert isinstance(node, ast.Call)
        assert isinstance(node.func, ast.Name)
        return _FUNCTIONS[node.func.id](*(self._value(child, values) for child in node.args))


class Condition(Formula):
    """Comparisons of formulas, joined by ``and`` and ``or``.

    Parameters
    ----------
    text : str
        Formulas between ``< <= > >= ==``, also several in a row.
    names : tuple of str
        The allowed variables.

    Raises
    ------
    ValueError
        The text is not such a condition.

    Examples
    --------
    >>> Condition("0.9 < a / b < 1.1 and a > 2", ("a", "b"))(a=3, b=3)
    True
    """

    def __call__(self, **values: float) -> bool:
        return self._holds(self._tree, values)

    def _holds(self, node: ast.AST, values: dict[str, float]) -> bool:
        if isinstance(node, ast.BoolOp):
            join = all if isinstance(node.op, ast.And) else any
            return join(self._holds(child, values) for child in node.values)
        assert isinstance(node, ast.Compare)
        sides = [self._value(side, values) for side in (node.left, *node.comparators)]
        return all(
            _COMPARISONS[type(op)](left, right) for op, left, right in zip(node.ops, sides[:-1], sides[1:], strict=True)
        )

    def _check_top(self, node: ast.AST) -> None:
        if isinstance(node, ast.BoolOp):
            for child in node.values:
                self._check_top(child)
        elif isinstance(node, ast.Compare) and all(type(op) in _COMPARISONS for op in node.ops):
            for side in (node.left, *node.comparators):
                self._check(side)
        else:
            raise ValueError(f"{self.text!r} must compare formulas with < <= > >= ==, joined by 'and' and 'or'")
