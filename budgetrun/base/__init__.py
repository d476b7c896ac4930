"""Foundations that every other part uses: errors, files, parameters, the registry."""
