"""Columns of results, and reading and writing them without losing a finished run."""
