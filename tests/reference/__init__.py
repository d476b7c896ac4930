"""Each algorithm, line by line from its paper: slow, plain, and independent of the engine."""
