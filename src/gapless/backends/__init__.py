"""Problems by another backend than numba's kernels: numpy for small data; place is kept for streams, Dask and GPU."""
