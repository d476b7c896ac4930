"""The sizes of the benchmarks: full, and quick."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Sizes:
    """Sizes of the benchmarks."""

    rounds: int | None  # the most of each real stream; None for all
    sampled_tasks: int  # splits of USPS that the plain loop runs
    turns: int  # how many times each side runs
    river_rounds: int  # those of a stream that river runs
    # The points of the five panels of learners; the last is over the support size, which follows from eta, the largest
    # loss of a projection.
    growth_rounds: tuple[int, ...]
    growth_budgets: tuple[int, ...]
    growth_features: tuple[int, ...]
    growth_learners: tuple[int, ...]
    growth_etas: tuple[float, ...]
    perceptron_rounds: int  # the longest stream for the Perceptron in the first panel
    # The fixed values in the other panels.
    base_rounds: int
    base_budget: int
    base_features: int
    # The points of the two panels of the batch solvers.
    solver_examples: tuple[int, ...]
    solver_deltas: tuple[float, ...]
    solver_base: int  # examples in the second of them
    solver_steps: int  # the most steps of Pegasos
    goals: bool  # whether the goals apply to these sizes


FULL = Sizes(
    rounds=None,
    sampled_tasks=6,
    turns=5,
    river_rounds=2000,
    growth_rounds=(1000, 2000, 4000, 8000, 16_000, 32_000, 64_000),
    growth_budgets=(10, 20, 50, 100, 200, 500, 1000, 2000),
    growth_features=(2, 5, 10, 20, 50, 100, 200, 500, 1000),
    growth_learners=(1, 2, 4, 8, 16, 32, 64, 128),
    growth_etas=(0.9, 0.8, 0.7, 0.6, 0.45, 0.3, 0.2, 0.1),
    perceptron_rounds=32_000,
    base_rounds=8000,
    base_budget=100,
    base_features=20,
    solver_examples=(1000, 2000, 4000, 8000, 16_000, 32_000, 64_000),
    solver_deltas=(1e-1, 3e-2, 1e-2, 3e-3, 1e-3, 3e-4, 1e-4, 3e-5, 1e-5, 3e-6, 1e-6),
    solver_base=16_000,
    solver_steps=2_000_000,
    goals=True,
)

QUICK = Sizes(
    rounds=2500,
    sampled_tasks=2,
    turns=2,
    river_rounds=500,
    growth_rounds=(500, 1000, 2000, 4000),
    growth_budgets=(20, 50, 100, 200),
    growth_features=(5, 20, 100, 500),
    growth_learners=(1, 2, 4, 8),
    growth_etas=(0.9, 0.7, 0.5, 0.3),
    perceptron_rounds=4000,
    base_rounds=2000,
    base_budget=50,
    base_features=20,
    solver_examples=(1000, 2000, 4000),
    solver_deltas=(1e-1, 1e-2, 1e-3, 1e-4),
    solver_base=2000,
    solver_steps=100_000,
    goals=False,
)
