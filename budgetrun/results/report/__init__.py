"""Tables, figures and one HTML page of a results folder, computed from its files alone."""

from budgetrun.results.report.page import Report, write_index

__all__ = ["Report", "write_index"]
