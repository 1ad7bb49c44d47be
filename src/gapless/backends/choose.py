"""Which backend a fit asks for, and the problems that answer by it.

Sparse rows, and losses that numpy has no way for, run on kernels.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from gapless._runtime.backend import choose_backend, numpy_in_use
from gapless._runtime.config import get_config
from gapless._runtime.lazy import load
from gapless.backends.numpy.kernel_predict import predict_few
from gapless.backends.numpy.least_squares import NumpyLeastSquares
from gapless.backends.numpy.linear import NumpyLinearProblem
from gapless.backends.numpy.multinomial import NumpyMultinomial
from gapless.backends.stream.source import Blocks, blocks_of
from gapless.backends.stream.walk import StreamWalk
from gapless.gram.predict import predict_scores_by_part
from gapless.kernels.linear import Linear
from gapless.losses.vectors import has_vectors
from gapless.problems.least_squares import LeastSquares
from gapless.problems.linear import LinearProblem
from gapless.problems.multinomial import Multinomial


def backend_for(X: Any, loss: Any = None) -> str:
    """The backend of a fit to X; ``loss`` is that of a linear classifier."""
    written_out = 150_000  # values, zeros included, 1.2 MB: products of zeros cost less than calls
    if sparse.issparse(X) and (loss is None or loss.entropic or X.shape[0] * X.shape[1] > written_out):
        return "numba"
    if loss is not None and not has_vectors(type(loss)):
        return "numba"
    return choose_backend(*X.shape)


def rows_for(backend: str, X: Any) -> Any:
    """X as the backend reads it: numpy has no way for sparse rows."""
    return X.toarray() if backend == "numpy" and sparse.issparse(X) else X


def kernel_backend(X: Any, distinct: int, largest: int, nu_form: bool) -> str:
    """The backend of a kernel machine's fit to X, of so many distinct rows, and so many rows of its largest problem."""
    # Rows whose matrix takes milliseconds and 32 MB ...
    most_rows = 2_000
    # ... and rows of a problem beyond which LIBSVM needs twice the time of working sets where C is large; in the nu forms, which
    # have two equalities, it needs less.
    most_of_problem = 2_000 if nu_form else 700
    found = backend_for(X)
    if get_config()["backend"] != "auto":
        return found
    return found if distinct <= most_rows and largest <= most_of_problem else "numba"


def kernel_predictor(kernel: Any, X: Any, vectors: Any) -> Callable[..., np.ndarray]:
    """What predicts the rows of X by these support vectors: numpy for few kernel values, tiles for many."""
    most_values = 1_000_000  # kernel values: some 5 ms
    dense = isinstance(X, np.ndarray) and isinstance(vectors, np.ndarray)
    if not dense or isinstance(kernel, Linear) or backend_for(X) != "numpy":
        return predict_scores_by_part
    few = X.shape[0] * vectors.shape[0] <= most_values and vectors.size <= most_values
    return predict_few if few or get_config()["backend"] == "numpy" else predict_scores_by_part


def linear_problem() -> type[LinearProblem]:
    """The kind of linear problem that the backend in use computes."""
    return NumpyLinearProblem if numpy_in_use() else LinearProblem


def multinomial_problem() -> type[Multinomial]:
    """The same for all classes at once."""
    return NumpyMultinomial if numpy_in_use() else Multinomial


def least_squares_problem() -> type[LeastSquares]:
    """The same for least squares."""
    return NumpyLeastSquares if numpy_in_use() else LeastSquares


def walk_for(X: Any, y: Any, sample_weight: Any) -> Any:
    """The walk over rows in blocks, of a Dask collection or of a source; None where X is neither."""
    if hasattr(X, "__dask_graph__"):
        make: Any = load("gapless.backends.dask.walk", "walk_of_collections")
        return make(X, y, sample_weight)
    source = blocks_of(X) if y is None or isinstance(X, Blocks) else None
    return None if source is None else StreamWalk(source)


def blocks_for_judge(X: Any, y: Any, sample_weight: Any) -> Any:
    """The blocks of a source or of a Dask collection, to be read one after the other here; None where X is neither."""
    if hasattr(X, "__dask_graph__"):
        read: Any = load("gapless.backends.dask.walk", "blocks_of_collections")
        return read(X, y, sample_weight)
    return blocks_of(X) if y is None or isinstance(X, Blocks) else None
