"""Each algorithm, line by line from its paper: slow, simple, and independent of the engine."""
