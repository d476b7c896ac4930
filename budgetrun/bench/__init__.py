"""`budgetrun bench`: the engine compared with plain loops, other libraries and the rates that this machine allows."""

from budgetrun.bench.check import run_check
from budgetrun.bench.run import run_benchmarks

__all__ = ["run_benchmarks", "run_check"]
