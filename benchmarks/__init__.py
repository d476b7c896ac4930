"""The engine compared with plain loops, other libraries and the rates of this machine: ``python -m benchmarks``."""
