"""Readers of file formats: bytes to examples and labels."""
