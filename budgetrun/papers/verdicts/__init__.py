"""Verdicts on the claims of the papers, computed from committed results."""
