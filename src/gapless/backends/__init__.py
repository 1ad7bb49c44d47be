"""The verbs that drivers ask of a problem, beside numpy and numba: streams, Dask, GPU. Kept for them; nothing is here yet."""
