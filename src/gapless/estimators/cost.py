"""What a fit of a kernel machine will take, before it is made: seconds, bytes, advice.

Nearly all the time of such a fit goes into kernel values: each variable that moves needs n of them, and those that are
support vectors in the end move a few times.  How many these are is not known before; half of the fits have between a twentieth
and all of the rows.  How fast kernel values come is measured, here and now, on a part of X.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils import check_array

from gapless._runtime.clock import now
from gapless._runtime.results import result
from gapless._runtime.threads import one_blas_thread, thread_team
from gapless.encode.gamma import resolve_gamma
from gapless.errors import short
from gapless.estimators.shared.kernel_machine import KernelMachine
from gapless.gram.blocks import build_gram
from gapless.kernels.named import named_kernel


@result
class Cost(NamedTuple):
    """``seconds`` is a guess between ``seconds_low`` and ``seconds_high``; ``bytes`` is what the fit adds to X.

    Attributes
    ----------
    seconds : guess of the seconds that the fit takes
    seconds_low : lower end of the guess
    seconds_high : upper end of the guess
    bytes : memory that the fit adds to X
    kernel_values_per_second : speed that was measured on this machine
    advice : what to do where the fit is large
    """

    seconds: float
    seconds_low: float
    seconds_high: float
    bytes: int
    kernel_values_per_second: float
    advice: str

    def __str__(self) -> str:
        return (
            f"about {short(self.seconds)} s (between {short(self.seconds_low)} and {short(self.seconds_high)}), "
            f"{self.bytes / 2**20:.0f} MB. {self.advice}"
        )


def estimate_cost(model: Any, X: Any) -> Cost:
    """Seconds and bytes of ``model.fit(X, y)``, before it is made.

    Parameters
    ----------
    model : an SVC, NuSVC, SVR, NuSVR or OneClassSVM, fitted or not
    X : the rows that it is to be fitted on (kernel="precomputed": the matrix); a part of them is timed

    Returns
    -------
    Cost : seconds, seconds_low, seconds_high, bytes, kernel_values_per_second, advice
    """
    if not isinstance(model, KernelMachine):
        raise TypeError(f"estimate_cost knows kernel machines, not {type(model).__name__}")
    model._check_parameters()
    if callable(model.kernel):
        raise TypeError(
            "estimate_cost cannot know what a function of yours takes: time model.kernel(X[:1000], X[:1000])"
        )
    X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32], order="C")
    n, d = X.shape
    some = np.random.default_rng(0).permutation(n)[:4096]  # rows that are timed
    part = X[np.ix_(some, some)] if model.kernel == "precomputed" else X[np.sort(some)]
    gamma = resolve_gamma(model.gamma, part, np.ones(part.shape[0])) if model.kernel != "precomputed" else 1.0
    kernel = named_kernel(model.kernel, int(model.degree), gamma, float(model.coef0))
    cache = int(float(model.cache_size) * 2**20)
    columns = np.arange(min(part.shape[0], 512))
    with one_blas_thread(), thread_team(model.n_jobs), np.errstate(all="ignore"):
        pilot = build_gram(kernel, part, cache)
        pilot.block(columns[:8], columns[:8])  # compiled, if it was not
        v = np.ones(columns.size)
        work = (lambda: pilot.block(np.arange(part.shape[0]), columns)) if model.kernel == "linear" else None
        seconds = min(_timed(work or (lambda: pilot.product(columns, v))) for _ in range(3))
    rate = part.shape[0] * columns.size / max(seconds, 1e-9)
    if model.kernel == "linear" and model._kind == "c_svc":
        values = [float(n) * passes for passes in (5.0, 30.0, 200.0)]  # the linear solver reads the rows a few times
    else:
        # Support vectors as a share of the rows: few, usual, all; and how often each of them moves.
        values = [float(n) * n * share * moves for share, moves in ((0.05, 2.0), (0.3, 3.0), (1.0, 5.0))]
    low, usual, high = (value / rate for value in values)
    width = 8 * n * d if not sparse.issparse(X) else 12 * X.nnz
    needed = int(width * 1.5 + min(cache, 8 * n * n) + 200 * n)
    if model.kernel == "precomputed":
        needed = int(8 * n * n * 1.5)
    return Cost(usual, low, high, needed, rate, _advice(model, usual, n))


def _timed(function: Any) -> float:
    started = now()
    function()
    return now() - started


def _advice(model: Any, seconds: float, n: int) -> str:
    parts = []
    if seconds > 60.0:
        parts.append("set time_limit: the model that comes back then is usable and says how far it is from the optimum")
        if model.n_jobs in (None, 1):
            parts.append("n_jobs=-1 uses all cores")
        if model.kernel != "linear":
            parts.append("try a part of the rows first, or LinearSVC")
    if not parts:
        return "Nothing stands in the way."
    text = "; ".join(parts) + "."
    return text[0].upper() + text[1:]
