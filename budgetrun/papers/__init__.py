"""Plug-ins for the five papers: batch solvers, mistake bounds, and verdicts on their claims."""
