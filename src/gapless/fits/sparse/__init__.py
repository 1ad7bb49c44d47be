"""Fits with a sparse or signed penalty."""
