"""`budgetrun bench`: the engine beside plain loops, and beside what this machine's own rates allow."""

from budgetrun.bench.run import run_benchmarks

__all__ = ["run_benchmarks"]
