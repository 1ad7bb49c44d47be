"""Perceptrons that are fitted a pass at a time, their start values, and the rows that early stopping holds out."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.utils import check_random_state

from gapless._runtime.threads import map_threads, one_blas_thread
from gapless._runtime.written import written
from gapless.encode.labels import Labels
from gapless.fits.perceptron_proofs import PerceptronRequest
from gapless.rows import as_rows
from gapless.solvers.perceptron import Run


class PassState(NamedTuple):
    """The state of a perceptron between passes; arrays have a line for each class (one for two classes)."""

    last: np.ndarray  #: (S, d + 1): the weights (w, b) after the last visit
    lag: np.ndarray  #: (S, d + 1) for averages, else (S, 0)
    visits: int


def start_values_of(init: Any) -> tuple[Any, Any]:
    """coef and intercept of a model, a certificate or a pair."""
    if hasattr(init, "coef_"):
        return init.coef_, getattr(init, "intercept_", None)
    if hasattr(init, "arrays"):
        return init.arrays["coef"], init.arrays["intercept"]
    if isinstance(init, tuple | list) and len(init) == 2:
        return init[0], init[1]
    raise ValueError(
        "The 'init' parameter of Perceptron must be a fitted linear model, a certificate, a pair (coef, intercept) or None. "
        f"Got {written(init)} instead."
    )


def read_start(coef: Any, intercept: Any, shape: tuple[int, int], fit_intercept: bool) -> np.ndarray:
    """Start values (S, d + 1) from ``coef_init`` and ``intercept_init``; None stands for 0. ``shape`` is (S, d)."""
    S, d = shape
    start = np.zeros((S, d + 1))
    if coef is not None:
        coef = coef.toarray() if sparse.issparse(coef) else np.asarray(coef, dtype=np.float64)
        coef = coef.reshape(1, -1) if S == 1 else coef
        if coef.shape != (S, d):
            raise ValueError(f"Provided coef_init does not match dataset: shape {coef.shape}, expected {(S, d)}.")
        start[:, :d] = coef
    if intercept is not None and fit_intercept:
        intercept = np.asarray(intercept, dtype=np.float64)
        intercept = intercept.reshape(1) if S == 1 and intercept.size == 1 else intercept
        if intercept.shape != (S,):
            raise ValueError(
                f"Provided intercept_init does not match dataset: shape {intercept.shape}, expected {(S,)}."
            )
        start[:, d] = intercept
    if not np.isfinite(start).all():
        raise ValueError("the start values are not finite")
    return start


def hold_out_rows(labels: Labels, c: np.ndarray, fraction: float, random_state: Any) -> np.ndarray:
    """Whether each row, of weight c, is held out for validation, as scikit-learn draws them."""
    held_out = np.zeros(c.size, dtype=bool)
    split = StratifiedShuffleSplit(test_size=fraction, random_state=random_state)
    learns, validation = next(split.split(np.zeros((c.size, 1)), labels.index))
    if not (c[validation] > 0.0).any():
        raise ValueError("The sample weights for validation set are all zero, consider using a different random state.")
    if not (c[learns] > 0.0).any():
        raise ValueError("The sample weights for the rows to learn from are all zero.")
    held_out[validation] = True
    return held_out


def visit_seeds(random_state: Any, subproblems: int) -> np.ndarray:
    """The seed of the visits of each subproblem, drawn as in scikit-learn: after the seed of its rows, which is not used."""
    most = int(np.iinfo(np.int32).max)
    random = check_random_state(random_state)
    each = [random] if subproblems == 1 else [check_random_state(s) for s in random.randint(most, size=subproblems)]
    return np.array([[one.randint(1, most), one.randint(most)][1] for one in each])


def make_pass(
    task: PerceptronRequest, X: Any, labels: Labels, c: np.ndarray, state: PassState, seeds: np.ndarray
) -> tuple[PassState, np.ndarray, np.ndarray]:
    """Visit the rows once, with steps c: the new state, the model (S, d + 1), and the mistakes of each subproblem."""
    rows = as_rows(X, 1.0 if task.fit_intercept else 0.0)
    weighted = bool((c != 1.0).any())

    def run_one(k: int) -> Run:
        run = Run(
            rows, np.where(labels.index == labels.positives[k], np.int8(1), np.int8(-1)), np.flatnonzero(c > 0.0),
            state.last[k].copy(), task.rate, c if weighted else np.empty(0), task.shuffle, int(seeds[k]),
            task.variant, task.shrinks,
        )  # fmt: skip
        run.lag, run.visits = state.lag[k].copy(), state.visits
        run.advance(lambda: None)
        return run

    with one_blas_thread(), np.errstate(all="ignore"):
        runs = map_threads(run_one, range(len(labels.positives)), task.n_jobs)
    model = np.array([run.weights() for run in runs])
    if not np.isfinite(model).all():
        raise ValueError(
            "Floating-point under-/overflow occurred at epoch #1. Scaling input data with StandardScaler or "
            "MinMaxScaler might help."
        )
    after = PassState(
        np.array([run.theta for run in runs]), np.array([run.lag for run in runs]), runs[0].visits
    )  # fmt: skip
    return after, model, np.array([run.mistakes for run in runs])
