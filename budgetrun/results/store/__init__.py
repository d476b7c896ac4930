"""Results folders: their columns, and reading and writing them without losing a finished run."""
