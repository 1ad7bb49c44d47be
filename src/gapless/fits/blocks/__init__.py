"""Fits of rows that lie in blocks: in files, or with the workers of a cluster."""
