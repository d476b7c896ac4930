"""Types of parameters, for configs and estimators: which values are allowed; and formulas and conditions as text."""

import ast
import math
import warnings
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field


def _even(value: int) -> int:
    if value % 2:
        raise ValueError(f"must be even, because halving removes half of it, got {value}")
    return value


def _in_range(value: float) -> float:
    if value and not _SMALLEST <= value <= 1 / _SMALLEST:
        raise ValueError(f"must be between {_SMALLEST:g} and {1 / _SMALLEST:g}, got {value}")
    return value


def _countable(value: int) -> int:
    if value > _MOST:
        raise ValueError(f"must be at most {_MOST:,}")
    return value


# Far beyond what is useful; squares, and products of two such numbers, neither overflow nor underflow to 0.
_SMALLEST = 1e-100
_MOST = 10**15
InRange = AfterValidator(_in_range)
# A learner learns labels -1 and +1, classes, or numbers.
Task = Literal["binary", "multiclass", "regression"]
Countable = AfterValidator(_countable)
Count = Annotated[int, Field(ge=1, strict=True), Countable]
Budget = Count
EvenBudget = Annotated[int, Field(ge=2, strict=True), Countable, AfterValidator(_even)]
Natural = Annotated[int, Field(ge=0, strict=True), Countable]
Seed = Natural
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False), InRange]
NotNegative = Annotated[float, Field(ge=0, allow_inf_nan=False), InRange]
AtLeastOne = Annotated[float, Field(ge=1, allow_inf_nan=False), InRange]
# Numbers between 0 and 1, with or without the ends.
Share = Annotated[float, Field(ge=0, le=1)]
PositiveShare = Annotated[float, Field(gt=0, le=1), InRange]
ProperShare = Annotated[float, Field(gt=0, lt=1), InRange]
# The widths of several kernels, each by a factor of the gamma of one Gaussian kernel.
Factors = Annotated[tuple[Positive, ...], Field(min_length=1)]
# Values of parameters that learners require, where a user names none: starting points, to be chosen for the data.
STARTING = {"eta": 0.1, "epsilon": 0.6, "step": 0.5, "features": 300, "phi": 0.999, "delta": 1.0}

_FUNCTIONS: dict[str, Any] = {"sqrt": math.sqrt, "log": math.log, "exp": math.exp, "min": min, "max": max}
_FUNCTIONS["round"] = lambda value: float(math.floor(value + 0.5))
_OF_SEVERAL = ("min", "max")
_OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow, ast.USub, ast.UAdd)
_COMPARISONS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq)
# Longer formulas nest too deeply for Python's parser, or for the recursion below.
_LONGEST = 200


class Formula:
    """A checked arithmetic expression of numbers, ``+ - * / **``, parentheses, functions, and variables in ``names``.

    The functions are ``sqrt log exp min max round``; ``round`` rounds to the nearest integer, halves up, and ``min``
    and ``max`` take two or more values. Raises ValueError: the text is not such an expression.

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
                # About odd literals, which are refused below or evaluated as Python reads them.
                warnings.simplefilter("ignore")
                tree = ast.parse(text.strip(), mode="eval")
        except (SyntaxError, ValueError):
            raise ValueError(f"{text!r} is not a formula") from None
        self._check_top(tree.body)
        # The variables that occur in the expression.
        self.used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} & set(names)
        # After the check, the expression consists of floats, names, operators and functions from above.
        self._code = compile(tree, "<formula>", "eval")

    def __getstate__(self) -> dict[str, object]:
        return {"text": self.text, "names": self.names}

    def __setstate__(self, state: dict[str, object]) -> None:
        """Check the text again: it may come from a file."""
        Formula.__init__(self, **state)  # type: ignore[arg-type]

    def __call__(self, **values: float) -> float:
        value: float = eval(self._code, {"__builtins__": {}}, _FUNCTIONS | values)
        return value

    def _check_top(self, node: ast.AST) -> None:
        self._check(node)

    def _check(self, node: ast.AST) -> None:
        if isinstance(node, ast.Constant) and isinstance(node.value, int | float) and type(node.value) is not bool:
            node.value = float(node.value)
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


class Condition(Formula):
    """Comparisons of formulas, ``< <= > >= ==``, also several in a row, joined by ``and`` and ``or``.

    Raises ValueError: the text is not such a condition.

    >>> Condition("0.9 < a / b < 1.1 and a > 2", ("a", "b"))(a=3, b=3)
    True
    """

    def __call__(self, **values: float) -> bool:
        return bool(super().__call__(**values))

    def _check_top(self, node: ast.AST) -> None:
        if isinstance(node, ast.BoolOp):
            for child in node.values:
                self._check_top(child)
        elif isinstance(node, ast.Compare) and all(type(op) in _COMPARISONS for op in node.ops):
            for side in (node.left, *node.comparators):
                self._check(side)
        else:
            raise ValueError(f"{self.text!r} must compare formulas with < <= > >= ==, joined by 'and' and 'or'")
