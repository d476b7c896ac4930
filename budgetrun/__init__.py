"""Online kernel learning under a memory budget."""

__version__ = "0.1.0"
