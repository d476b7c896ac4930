"""`budgetrun bench`: the engine compared with plain loops, and with the rates that this machine allows."""

from budgetrun.bench.run import run_benchmarks

__all__ = ["run_benchmarks"]
