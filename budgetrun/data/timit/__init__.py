"""TIMIT: speech files to frames of features."""
