"""MPU: the Margin Perceptron with Unlearning, in the primal and in its kernel form."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from budgetrun.base.errors import InputError
from budgetrun.base.params import AtLeastOne, Count, Countable, InRange, Positive, Seed
from budgetrun.kernels import Kernel, Linear, registry, squares
from budgetrun.kernels.kinds import Matrix
from budgetrun.papers.solvers import base

if TYPE_CHECKING:
    from budgetrun.papers.solvers.loops.rows import SignedRows

_ABOVE_ONE = "a number > 1 (in units of R^2, or learning and unlearning may cycle)"
Ratio = Annotated[float, Field(gt=1, allow_inf_nan=False, description=_ABOVE_ONE), InRange]
Rounds = Annotated[int, Field(ge=0, strict=True), Countable]


@dataclass(kw_only=True, eq=False)
class MarginPerceptronWithUnlearning(base.Solver):
    """The Perceptron with margin that also unlearns: it reverts updates on examples now classified with excess margin.

    Parameters:
    C : float, > 0
        The penalty C_p; the counts I_k of the examples are at most I = C b.
    accuracy : float, > 0
        delta_stop: stop when delta_aft, eq. (24), does not exceed it at the end of a pass over all the data.
    delta : float, > 0, optional
        The accuracy guaranteed before running, eq. (23), from which I and b follow (remark 4); by default the smaller
        of 1e-5 and a tenth of ``accuracy``.
    delta_b : float, > 1
        The gap between the two thresholds, in units of R^2.
    hard_margin : bool
        I = infinity: find the largest margin instead. ``C`` is then unused; see the notes for the other parameters.
    rho : float, > 0, optional
        The value of a constant feature added to every example, which gives a bias; the bias counts in ||w||.
    c_bar : float, >= 1
        Examples with scores up to c_bar b belong to the first-level active set.
    first_level, second_level : int, >= 0
        N_ep1, the number of presentations of the first-level active set after each pass over all the data, and N_ep2,
        the number of presentations of the second-level active set after each of those.
    max_epochs : int, >= 1
        The most passes over all the data.
    seed : int, >= 0
        For the order of each pass.

    Notes: With a hard margin, b is chosen so that the guarantee (11) is f >= (1 + delta)^(-1/2) for the fraction f of
    the largest margin. The objective ||w||^2 / 2 at margin 1 is then within 1 + delta of its minimum, as with a soft
    margin; the solver stops early when the bound (12) guarantees ``accuracy``. The paper stops when that bound "falls
    below" (11), which must mean "reaches". Examples are refused if their margin is shown to be at most 1e-4 R, or if no
    separating weights are found in ``max_epochs`` passes.

    A pass takes O(T d) for a linear kernel, whatever the features. A row of zeros cannot be learned, and gets I_k = I
    at once. The kernel form keeps the whole Gram matrix: an update takes O(T), and memory is 8 T^2 bytes.

    References: Panagiotakopoulos & Tsampouka (2010), "The margin Perceptron with unlearning", ICML. Algorithm 1;
    sections 3-4.

    Examples:
    >>> X, y = np.array([[2.0], [-1.0]]), np.array([1, -1])
    >>> solution = MarginPerceptronWithUnlearning().solve(X, y, Linear())
    >>> round(solution.objective, 3), solution.gap <= 1e-4
    (0.5, True)
    """

    name = "mpu"
    title = "MPU"
    draws = True
    passes = 30
    kernels = tuple(registry())

    C: Positive = 1.0
    accuracy: Positive = 1e-4
    delta: Positive | None = None
    delta_b: Ratio = 3.0
    hard_margin: bool = False
    rho: Positive | None = None
    c_bar: AtLeastOne = 1.01
    first_level: Rounds = 3
    second_level: Rounds = 10
    max_epochs: Count = 1000
    seed: Seed = 0

    def __post_init__(self) -> None:
        if not self.delta_b > 1:
            raise InputError(f"delta_b must be {_ABOVE_ONE}, got {self.delta_b}")
        if self.delta is None:
            self.delta = min(1e-5, self.accuracy / 10)

    def _solve(self, X: Matrix, y: base.Labels, kernel: Kernel, watch: base.Watch | None) -> base.Solution:
        compile_seconds = base.loading("perceptron")
        clock = base.Clock()
        run = _Run(self, X, y, kernel)
        done = False
        for updated in run.epochs():
            gap = run.gap()
            done = gap <= self.accuracy or not updated
            if watch is not None:
                with clock:
                    watch(base.Progress(clock.seconds, run.objective(), gap, run.steps, run.unlearned, run.n_epochs))
            if done:
                break
            if self.hard_margin:
                run.refuse_inseparable()
        return run.solution(done, clock.seconds, compile_seconds)


class _Run:
    """The state of a run: the weight vector, or with a Gram matrix all scores; the counts I_k; the thresholds."""

    def __init__(self, solver: MarginPerceptronWithUnlearning, X: Matrix, y: base.Labels, k: Kernel) -> None:
        from budgetrun.papers.solvers.loops.rows import signed_gram, signed_rows

        self.solver = solver
        self.T, self.d = X.shape
        self.linear = k.name == Linear.name
        if self.linear:
            X = X if solver.rho is None else base.with_constant(X, solver.rho)
            self.rows: SignedRows = signed_rows(X, y)
            self.squares = squares(X)
            self.a = np.zeros(X.shape[1])
        else:
            if self.T > _MOST_IN_GRAM:
                raise InputError(
                    f"mpu keeps the kernel values of all pairs of examples: at most {_MOST_IN_GRAM} examples with a "
                    f"kernel that is not linear, got {self.T}; give the dataset n_examples"
                )
            self.rows = signed_gram(k.between(X, X), y, solver.rho)
            self.squares = self.rows[0].diagonal().copy()
            self.a = np.zeros(self.T)
        self.X, self.y = X, y
        R_squared = float(self.squares.max())
        delta_b, delta = solver.delta_b * R_squared, solver.delta
        assert delta is not None
        if solver.hard_margin:
            if not self.squares.all():
                raise InputError(f"example {np.argmin(self.squares)} is a row of zeros, which no hard margin allows")
            self.limit = _NO_LIMIT
            self.b = delta_b / (math.sqrt(1 + delta) - 1)
        else:
            # Remark 4.
            self.limit = int(solver.C * delta_b * (2 + delta) / delta) + 1
            self.b = self.limit / solver.C
            if self.limit * self.T > _NO_LIMIT:
                raise InputError(
                    f"delta {delta:g} is too small for mpu to count with 64 bits: with R^2 = {R_squared:.3g}, I would "
                    f"be {self.limit:.0e} for each of {self.T} examples; scale the data, or take a larger delta"
                )
        self.upper = self.b + delta_b
        self.counts = np.zeros(self.T, dtype=np.int64)
        self.scores = np.zeros(self.T)
        self.total = self.steps = self.unlearned = self.n_epochs = 0

    def epochs(self) -> Iterator[bool]:
        """Repeat: pass over all the data, yield whether anything changed, then pass over the active sets."""
        solver = self.solver
        rng = np.random.default_rng(solver.seed)
        order = np.arange(self.T, dtype=np.uint32)
        near, moved, ignored = np.empty_like(order), np.empty_like(order), np.empty_like(order)
        while self.n_epochs < solver.max_epochs:
            rng.shuffle(order)
            changed, n_near, _ = self._present(order, near, ignored)
            self.n_epochs += 1
            self._score()
            yield changed
            for _ in range(solver.first_level):
                changed, _, n_moved = self._present(near[:n_near], ignored, moved)
                if not changed:
                    break
                for _ in range(solver.second_level):
                    if not self._present(moved[:n_moved], ignored, ignored)[0]:
                        break

    def _present(
        self, order: NDArray[np.uint32], near: NDArray[np.uint32], moved: NDArray[np.uint32]
    ) -> tuple[bool, int, int]:
        """Present examples once; return whether any count changed, and how far the two arrays were filled."""
        from budgetrun.papers.solvers.loops.perceptron import present

        thresholds = self.b, self.upper, self.solver.c_bar * self.b
        learned, unlearned, n_near, n_moved = present(
            self.rows, self.squares, order, self.a, self.counts, self.limit, *thresholds, near, moved
        )
        self.total += learned - unlearned
        self.steps += learned + unlearned
        self.unlearned += unlearned
        return learned + unlearned > 0, n_near, n_moved

    def _score(self) -> None:
        from budgetrun.papers.solvers.loops.rows import scores

        scores(self.rows, self.a, self.scores)
        self.norm_squared = float(self.a @ self.a if self.linear else self.counts @ self.scores)

    def objective(self) -> float:
        """Return J(a / b), or for a hard margin the objective of ``a`` scaled to a margin of 1."""
        if self.solver.hard_margin:
            margin = self.scores.min()
            return float(self.norm_squared / margin**2 / 2) if margin > 0 else math.inf
        losses = np.maximum(self.b - self.scores, 0).sum()
        return float((self.norm_squared / 2 / self.b + self.solver.C * losses) / self.b)

    def bound(self) -> float:
        """Return the dual objective."""
        if self.solver.hard_margin:
            return self.total**2 / self.norm_squared / 2
        return (self.total - self.norm_squared / 2 / self.b) / self.b

    def gap(self) -> float:
        """Return delta_aft, eq. (24), or for a hard margin the bound on the objective's gap that follows from (12)."""
        return base.relative_gap(self.objective(), self.bound())

    @property
    def largest_margin(self) -> float:
        """An upper bound on the largest margin, eq. (13)."""
        return math.sqrt(self.norm_squared) / self.total

    def refuse_inseparable(self) -> None:
        """Raise an error once the largest margin is known to be tiny."""
        if self.largest_margin < _LEAST_MARGIN * math.sqrt(self.squares.max()):
            raise InputError(
                f"the examples cannot be separated, or only with a margin below {self.largest_margin:.1g}; "
                "hard_margin: true is for separable examples, leave it out"
            )

    def solution(self, done: bool, seconds: float, compile_seconds: float) -> base.Solution:
        """Return the solution, computed from the counts I_k."""
        solver = self.solver
        if self.linear:
            # The weights on the scale of the counts, so that they are whole numbers if the examples are.
            self.a = np.asarray(self.X.T @ (self.y * self.counts.astype(np.float64)))
        else:
            self.a = self.rows[0] @ self.counts.astype(np.float64)
        self._score()
        margin = None
        scale = self.b
        if solver.hard_margin:
            scale = float(self.scores.min())
            if scale <= 0:
                raise InputError(
                    f"no weights that separate the examples were found in {self.n_epochs} epochs; the margin, if "
                    f"there is one, is at most {self.largest_margin:.2g}, for examples of norms up to "
                    f"{math.sqrt(self.squares.max()):.3g}: leave hard_margin out, or give more max_epochs"
                )
            margin = scale / math.sqrt(self.norm_squared)
        dual = self.counts / scale
        # The part of the constant feature, in either form.
        bias = 0.0 if solver.rho is None else solver.rho**2 * math.fsum(dual * self.y)
        weights = self.a[: self.d] / scale if self.linear else None
        objective = self.objective()
        if self.linear and not solver.hard_margin:
            objective = base.objective(self.X, self.y, self.a / scale, solver.C)
        return base.Solution(
            weights=weights,
            dual=dual,
            bias=bias,
            objective=objective,
            lower_bound=self.bound(),
            steps=self.steps,
            unlearning_steps=self.unlearned,
            epochs=self.n_epochs,
            seconds=seconds,
            compile_seconds=compile_seconds,
            converged=done,
            note="" if done else self._note(),
            margin=margin,
        )

    def _note(self) -> str:
        note = f"stopped at its limit of {self.n_epochs} epochs"
        if self.solver.hard_margin:
            return f"{note} with at least {100 / math.sqrt(1 + self.gap()):.0f}% of the largest margin"
        return note + base.too_long(self.squares.max(), self.solver.C)


# The steps of one presentation of all examples must fit in 64 bits.
_NO_LIMIT = 2**62
# Smaller margins are refused; in units of R.
_LEAST_MARGIN = 1e-4
# Examples whose Gram matrix takes 3.2 GB.
_MOST_IN_GRAM = 20_000
