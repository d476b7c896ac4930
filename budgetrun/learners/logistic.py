"""Online logistic regression: a baseline without a kernel, in the memory of one example."""

import math
from typing import Any, Literal

from budgetrun.base.params import Natural, Positive
from budgetrun.engine.hypotheses.linear import Linear, StandardisedLinear
from budgetrun.engine.pool import Pool
from budgetrun.learners.base import BinaryLearner, Learner, RegressionLearner, as_fields
from budgetrun.learners.steps import logistic_slope


@as_fields
class OfInputs(Learner):
    """Gradient descent for a linear function with an intercept, for two classes or numbers.

    Parameters:
    step : float, > 0
        eta.
    rates : {"adagrad", "constant", "normalised"}
        Every weight has a rate of its own, eta over the root of the sum of its squared derivatives so far, including
        this round's (adagrad, default); or all have the rate eta (constant), or eta / (1 + ||x||^2) (normalised).
    inputs : {"as_given", "standardised"}
        Features as they are (default), or standardised by the mean and deviation of the rows before and cut to [-10,
        10], unless all are bits.
    splines : bool
        False (default): f is linear in the inputs. True: f is a sum of functions of single inputs, which are linear
        between the knots 0 and +-1/4, 1/2, 1, 3/2, 2, 3, 5 and 10, and constant beyond.
    pairs : int, >= 0
        f has weights for the products of any two of so many first inputs, too, and for their squares; with splines, for
        those of any two of their functions. 0 (default): for none.

    Notes: O(d) per round, or O(stored values) for sparse rows; with pairs, half the square of these. There is no
    support set and no budget; memory is needed for the weights, 2 d numbers, or 34 d for splines, and with pairs the
    square of half of that. The kernel is not used. The learner acts in every round, and a prediction of at most 1e-9
    eta counts as 0. Features should have similar sizes. With adagrad, and with features and weights that are bounded,
    the regret against the best fixed weights is O(sqrt(T)) in the loss, not in mistakes.

    References: Duchi, Hazan & Singer (2011), "Adaptive subgradient methods for online learning and stochastic
    optimization", JMLR 12, with the diagonal and without a regulariser; for normalised rates, Nagumo & Noda (1967), "A
    learning method for system identification", IEEE Transactions on Automatic Control 12; for splines, de Boor (1978),
    "A practical guide to splines", chapter III.
    """

    form = Linear
    family = "linear"
    added = {"inputs": "as_given", "splines": False, "pairs": 0}
    margin = math.inf
    holds = 0.0

    step: Positive = 0.1
    rates: Literal["adagrad", "constant", "normalised"] = "adagrad"
    inputs: Literal["as_given", "standardised"] = "as_given"
    splines: bool = False
    pairs: Natural = 0

    def __post_init__(self) -> None:
        self.adapts = self.rates == "adagrad"

    def start(self, pool: Pool) -> Linear:
        form = StandardisedLinear if self.inputs == "standardised" else Linear
        return form(pool, self.step, splines=self.splines, pairs=self.pairs)

    def descend(self, f: Linear, slope: float) -> None:
        """Take a step; ``slope`` is minus the derivative of the loss at f(x)."""
        if self.adapts:
            f.adapt(slope, self.step)
        else:
            f.step(self.step * slope / (f.squared_length if self.rates == "normalised" else 1.0))


class Logistic(OfInputs, BinaryLearner):
    """Gradient descent on the logistic loss, log(1 + exp(-y f(x))), for a linear function with an intercept.

    >>> breast_cancer(Logistic(), gamma=0.03).mistakes
    27
    """

    name = "logistic"
    title = "Logistic regression"

    @property
    def alike_but_for_labels(self) -> Any:
        plain = type(self) is Logistic and self.inputs == "as_given" and self.rates != "normalised"
        return (self.step, self.rates, self.splines, self.pairs) if plain else None

    def slope(self, y: int, score: float) -> float:
        """Return minus the derivative of the loss at f(x)."""
        return y * logistic_slope(y * score)

    def update(self, f: Linear, y: int, score: float) -> None:
        self.descend(f, self.slope(y, score))


class LeastSquares(OfInputs, RegressionLearner):
    """Gradient descent on the squared error, (y - f(x))^2 / 2, for a linear function with an intercept.

    >>> diabetes(LeastSquares(), gamma=10).updates
    442
    """

    name = "least_squares"
    title = "Least squares"

    def update(self, f: Linear, y: float, score: float) -> None:
        self.descend(f, y - score)
