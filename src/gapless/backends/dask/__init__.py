"""Blocks held by the workers of a Dask cluster."""
