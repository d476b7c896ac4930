"""The solvers' inner loops, compiled by numba on import: only running a solver imports them."""
