"""Least squares, with and without a penalty."""
