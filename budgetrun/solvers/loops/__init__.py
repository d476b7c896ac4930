"""The solvers' inner loops, compiled by numba when they are imported: only solvers that run import them."""
