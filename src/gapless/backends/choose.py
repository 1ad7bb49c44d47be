"""Which backend a fit asks for, and the problems that answer by it.

Sparse rows, and losses that numpy has no way for, run on kernels.
"""

from __future__ import annotations

from typing import Any

from scipy import sparse

from gapless._runtime.backend import choose_backend, numpy_in_use
from gapless.backends.numpy.least_squares import NumpyLeastSquares
from gapless.backends.numpy.linear import NumpyLinearProblem
from gapless.backends.numpy.multinomial import NumpyMultinomial
from gapless.losses.vectors import has_vectors
from gapless.problems.least_squares import LeastSquares
from gapless.problems.linear import LinearProblem
from gapless.problems.multinomial import Multinomial


def backend_for(X: Any, loss: Any = None) -> str:
    """The backend of a fit to X; ``loss`` is that of a linear classifier."""
    if sparse.issparse(X) or (loss is not None and not has_vectors(type(loss))):
        return "numba"
    return choose_backend(*X.shape)


def linear_problem() -> type[LinearProblem]:
    """The kind of linear problem that the backend in use computes."""
    return NumpyLinearProblem if numpy_in_use() else LinearProblem


def multinomial_problem() -> type[Multinomial]:
    """The same for all classes at once."""
    return NumpyMultinomial if numpy_in_use() else Multinomial


def least_squares_problem() -> type[LeastSquares]:
    """The same for least squares."""
    return NumpyLeastSquares if numpy_in_use() else LeastSquares
