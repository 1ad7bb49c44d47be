"""Which device and backend a fit asks for, and the problems that answer by it.

Sparse rows, and losses that numpy has no way for, run on kernels. What runs on a card is loaded here, when a fit asks for it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from gapless._runtime.backend import card_in_use, choose_backend, numpy_in_use
from gapless._runtime.config import get_config
from gapless._runtime.lazy import load
from gapless.backends.gpu.device import card_title, stands_in, why_no_card
from gapless.backends.numpy.kernel_gram import hold_distinct, hold_matrix
from gapless.backends.numpy.kernel_predict import predict_few, predict_one
from gapless.backends.numpy.least_squares import NumpyLeastSquares
from gapless.backends.numpy.linear import NumpyLinearProblem
from gapless.backends.numpy.multinomial import NumpyMultinomial
from gapless.backends.stream.source import Blocks, blocks_of
from gapless.backends.stream.walk import StreamWalk
from gapless.encode.equal_rows import EqualRows
from gapless.errors import BackendWarning, backend_message
from gapless.gram.blocks import Gram, build_gram
from gapless.gram.predict import predict_scores_by_part
from gapless.kernels.linear import Linear
from gapless.kernels.precomputed import Precomputed
from gapless.losses.vectors import has_vectors
from gapless.problems.least_squares import LeastSquares
from gapless.problems.linear import LinearProblem
from gapless.problems.multinomial import Multinomial


def require_card(asked: str) -> None:
    """Refuse device="cuda" where there is no card."""
    missing = why_no_card() if asked == "cuda" else None
    if missing is not None:
        raise RuntimeError(
            f"device='cuda': {missing}. Use device='auto' or 'cpu'; 'gapless doctor' says what is there."
        )


def choose_device(asked: str, *, worth: bool, hindrance: str | None) -> str:
    """ "cuda" or "cpu": the one place that chooses.

    ``worth``: the card wins on a problem of this shape, transfers counted; ``hindrance``: why this fit has no way on a card.
    """
    if asked == "cpu" or (asked == "auto" and (not worth or hindrance is not None)):
        return "cpu"
    require_card(asked)
    if asked == "auto":
        return "cpu" if why_no_card() is not None else "cuda"
    if hindrance is not None:
        warnings.warn(backend_message("cuda", "cpu", hindrance), BackendWarning, stacklevel=2)
        return "cpu"
    return "cuda"


def device_title(device: str) -> str:
    """What a certificate says of the card."""
    return card_title() if device == "cuda" else device


def kernel_device(asked: str, kernel: Any, X: Any, largest: int, hard: bool) -> str:
    """The device of a kernel machine's fit to X; ``largest``: rows of its largest problem."""
    worth_rows = 20_000  # beyond these the pairs of two cores take longer than the card's first products and factors
    most_values = 4_000_000_000  # of X written out: 32 GB in float64
    hindrance = None
    if kernel in ("precomputed", "sigmoid") or callable(kernel):
        hindrance = "a kernel that is given as a matrix or need not be positive semidefinite has no way on a card"
    elif hard:
        hindrance = "a hard margin has no way on a card"
    elif X.shape[0] * X.shape[1] > most_values:
        hindrance = "X, written out, is too large for a card"
    return choose_device(asked, worth=largest >= worth_rows, hindrance=hindrance)


def lay_out_gram(
    kernel: Any, X: Any, groups: EqualRows | None, centre: np.ndarray | None, backend: str, cache_bytes: int
) -> tuple[Gram, Gram]:
    """The matrix that the problem is solved with, and the one that the certificate is about: K + shift I."""
    whole: Gram
    judged: Gram
    matrix = isinstance(kernel, Precomputed)
    if backend == "numpy":
        whole = hold_matrix(Precomputed(), X) if matrix else hold_distinct(kernel, X, groups, centre)
        judged = hold_matrix(kernel, X) if matrix and kernel.shift else whole
    elif backend == "cuda":
        whole = judged = _card_gram(kernel, X, cache_bytes)
    else:
        whole = build_gram(Precomputed() if matrix else kernel, X, cache_bytes, centre)
        judged = build_gram(kernel, X, cache_bytes) if matrix else whole
    if not np.isfinite(getattr(whole, "norms2", 0.0)).all():
        raise ValueError(
            "The dual coefficients or intercepts are not finite. The input data may contain large values and need to be "
            "preprocessed: the squares of the values of X overflow. Scale the columns (StandardScaler, MaxAbsScaler)."
        )
    return whole, judged


def _card_gram(kernel: Any, X: Any, cache_bytes: int) -> Gram:
    """The Gram matrix of rows on the card."""
    make: Any = load("gapless.backends.gpu.kernel_gram", "CardGram")
    found: Gram = make(kernel, X, cache_bytes)
    return found


def solve_kernel_on_card(*args: Any, **options: Any) -> Any:
    """`solve_kernel` for a problem whose rows are on the card."""
    run: Any = load("gapless.backends.gpu.kernel", "solve_kernel_on_card")
    return run(*args, **options)


def start_pairs_on_card(*args: Any) -> Any:
    """First points of all pairs of classes at once."""
    run: Any = load("gapless.backends.gpu.kernel_pairs", "start_pairs_on_card")
    return run(*args)


def backend_for(X: Any, loss: Any = None) -> str:
    """The backend of a fit to X; ``loss`` is that of a linear classifier."""
    written_out = 150_000  # values, zeros included, 1.2 MB: products of zeros cost less than calls
    if sparse.issparse(X) and (loss is None or loss.entropic or X.shape[0] * X.shape[1] > written_out):
        return "numba"
    if loss is not None and not has_vectors(type(loss)):
        return "numba"
    return choose_backend(*X.shape)


def rows_for(backend: str, X: Any) -> Any:
    """X as the backend reads it: numpy has no way for sparse rows, a card has its own."""
    if backend == "cuda":
        send: Any = load("gapless.backends.gpu.rows", "send")
        return send(X)
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


def kernel_predictor(kernel: Any, X: Any, vectors: Any, device: str = "cpu") -> Callable[..., np.ndarray]:
    """What predicts the rows of X by these support vectors: numpy for few kernel values, tiles for many, a card for very many."""
    worth_values = 1_000_000_000  # kernel values: a second of two cores
    worth = X.shape[0] * vectors.shape[0] >= worth_values
    if (device == "cuda" or worth) and choose_device(device, worth=worth, hindrance=None) == "cuda":
        on_card: Any = load("gapless.backends.gpu.kernel_predict", "predict_on_card")
        found: Callable[..., np.ndarray] = on_card
        return found
    most_values = 1_000_000  # kernel values: some 5 ms
    dense = isinstance(X, np.ndarray) and isinstance(vectors, np.ndarray)
    if dense and X.shape[0] == 1 and vectors.size <= most_values and backend_for(X) == "numpy":
        return predict_one
    if not dense or isinstance(kernel, Linear) or backend_for(X) != "numpy":
        return predict_scores_by_part
    few = X.shape[0] * vectors.shape[0] <= most_values and vectors.size <= most_values
    return predict_few if few or get_config()["backend"] == "numpy" else predict_scores_by_part


def linear_device(request: Any, X: Any, several: Callable[[], bool]) -> str:
    """The device of a linear classifier's fit to X; ``several``: whether there are more than two classes."""
    worth_values = 50_000_000  # of X: sending 200 MB and reading them some tens of times costs the card 0.1 s
    asked, (n, d) = request.device, X.shape
    on_host = isinstance(X, np.ndarray) or sparse.issparse(X)
    worth = n * d >= worth_values
    if on_host and not worth and asked == "auto":
        return "cpu"
    hindrance = None
    if sparse.issparse(X):
        hindrance = "sparse rows have no way on a card yet"
    elif np.isinf(request.C) or request.solver not in ("auto", "newton", "semismooth"):
        hindrance = "this solver, or a fit without a penalty, has no way on a card"
    elif n < d:
        hindrance = "more columns than rows have no way on a card"
    elif request.loss == "logistic" and several():
        hindrance = "logistic regression of several classes has no way on a card yet"
    if on_host:
        return choose_device(asked, worth=worth, hindrance=hindrance)
    if hindrance is not None:
        raise ValueError(f"X lies on a card, and {hindrance}: bring it to the host (X.cpu())")
    return "cuda"


def receive_from_card(X: Any) -> Any:
    """Rows that lie on a card, as a fit reads them; None where X is no such array."""
    if isinstance(X, np.ndarray) or not hasattr(X, "__dlpack_device__"):
        return None
    cuda = 2  # in DLPack
    if X.__dlpack_device__()[0] != cuda and not stands_in():
        return None
    take: Any = load("gapless.backends.gpu.rows", "receive")
    return take(X)


def kind_of_card(given: Any, found: Any) -> Any:
    """What was found on the card as the kind of array that ``given`` is."""
    turn: Any = load("gapless.backends.gpu.rows", "like")
    return turn(given, found)


def as_labels(y: Any) -> Any:
    """Labels that lie on a card as an array of the host."""
    return y.cpu().numpy() if hasattr(y, "cpu") else y.get() if hasattr(y, "get") and hasattr(y, "__dlpack__") else y


def classes_of_scores(classes: np.ndarray, scores: Any) -> Any:
    """The classes of scores on a card: an array of their kind where classes are numbers, else one of the host."""
    index = (scores > 0).astype(int) if hasattr(scores, "astype") else (scores > 0).long()
    index = index if scores.ndim == 1 else scores.argmax(1)
    if classes.dtype.kind not in "iufb":
        return np.take(classes, as_labels(index))
    numbers: Any = load("gapless.backends.gpu.rows", "take_like")
    return numbers(scores, classes, index)


def on_host(handle: Any) -> np.ndarray:
    """A vector with an entry for each example, as an array."""
    return handle if isinstance(handle, np.ndarray) else np.asarray(handle.cpu().numpy())


def linear_problem() -> type[LinearProblem]:
    """The kind of linear problem that the backend in use computes."""
    if card_in_use() is not None:
        found: Any = load("gapless.backends.gpu.linear", "CardLinear")
        return found  # type: ignore[no-any-return]
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
