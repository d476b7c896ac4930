"""The solvers' inner loops, compiled on import: only running a solver imports them."""
