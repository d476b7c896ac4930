"""Foundations that every other part uses: errors, files, problems, parameters, the registry."""
