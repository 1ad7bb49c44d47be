"""`path`: a model for every C, not for one."""

from __future__ import annotations

from typing import Any

import numpy as np

from gapless._runtime.clock import now
from gapless._runtime.config import report_convergence
from gapless._runtime.written import written
from gapless.errors import at_zero
from gapless.estimators.least_squares import Ridge
from gapless.estimators.linear_svc import LinearSVC
from gapless.estimators.shared.linear_classifier import LinearClassifier
from gapless.estimators.svc import SVC
from gapless.solvers.loop import audible

from .exact import exact_path
from .kernel import KernelSession
from .linear import LinearSession
from .points import Session, follow
from .result import ExactPath, Path
from .ridge import RidgeSession


def path(
    model: Any,
    X: Any,
    y: Any,
    Cs: Any = None,
    *,
    sample_weight: Any = None,
    exact: bool | None = None,
    between: float | None = None,
) -> Path | ExactPath:
    """The models of all C (of all alpha, for Ridge), each with a certified gap, and a bound on the gap at every C between them.

    Parameters
    ----------
    model : LinearSVC, LogisticRegression, SVC or Ridge
        Its own C (Ridge: alpha) does not matter; its ``tol`` is the relative gap at each point. It is not changed.
    X, y, sample_weight : as in ``fit``
    Cs : array, optional
        The points. By default 50 from 1e-3 to 100, evenly spaced in log C. With ``exact`` two numbers, the ends of the path,
        where 0, a limit with alpha = 0 and w = 0, and infinity are allowed; by default all C there are.
    exact : bool, optional
        Follow every break point of the hinge, where the solution is piecewise linear in C: LinearSVC(loss="hinge") and SVC with
        two classes, in memory for n x n numbers. By default where there are at most 2,000 rows and no ``Cs``.
    between : float, optional
        The relative gap that the interpolated model shall keep everywhere between two points; points are added where it would
        not. By default ten times ``tol``; ``numpy.inf`` adds none. What holds is ``result.between``.

    Returns
    -------
    Path or ExactPath
        ``Cs``, ``certificates``, ``between``, ``model_at(C)``, ``decision_function(X, C)``, ``scores(X, y)``, ``best(X, y)``; it
        prints as a table. An ExactPath has ``breaks`` as well.

    Notes
    -----
    Each point starts from the line through its neighbours (the dual point and the coefficients are taken as linear in C, which
    for the hinge they are between break points), and only what that misses is solved for. ``between`` is proved, not
    measured: with w and u linear in C, gap(t) <= (1 - t) gap_1 + t gap_2 + t (1 - t) k for a k that the two points give.
    """
    with audible():
        started = now()
        if _exact_is_wanted(exact, model, X, y, Cs):
            return exact_path(model, X, y, sample_weight, *_path_ends(Cs))
        session = _open_session(model, X, y, sample_weight)
        grid = _check_grid(Cs, session)
        asked = 10.0 * session.tol if between is None else float(between)
        if not asked > 0.0:
            raise ValueError(f"between must be a relative gap above 0, or numpy.inf. Got {written(between)} instead.")
        points, bounds = follow(session, grid, asked)
        found = Path(session, points, bounds, asked, now() - started)
        open_ = [point for point in points if not point.certificate.converged]
        if open_:
            worst = max(open_, key=lambda point: point.certificate.relative_gap)
            report_convergence(
                f"path: {len(open_)} of {len(points)} points did not reach tol; the worst is {session.parameter} = "
                f"{worst.C:.4g}: {worst.certificate}",
                stacklevel=3,
            )
        return found


def _exact_is_wanted(exact: bool | None, model: Any, X: Any, y: Any, Cs: Any) -> bool:
    """Whether every break point is followed: where ``exact`` says so and, by default, for the hinge on at most 2,000 rows."""
    hinge = _is_hinge(model)
    if exact is None:
        return bool(hinge and Cs is None and np.shape(X)[0] <= 2000 and len(np.unique(np.asarray(y))) == 2)
    if exact and not hinge:
        raise ValueError(
            f"exact=True: only the hinge has a path of finitely many straight pieces; {type(model).__name__} as it is "
            "set has not. Use LinearSVC(loss='hinge') or SVC, or leave exact=False."
        )
    return bool(exact)


def _is_hinge(model: Any) -> bool:
    return (isinstance(model, LinearSVC) and model.loss == "hinge") or isinstance(model, SVC)


def _open_session(model: Any, X: Any, y: Any, sample_weight: Any) -> Session:
    if isinstance(model, LinearClassifier):
        return LinearSession(model, X, y, sample_weight)
    if isinstance(model, SVC):
        return KernelSession(model, X, y, sample_weight)
    if isinstance(model, Ridge):
        return RidgeSession(model, X, y, sample_weight)
    raise TypeError(
        f"path follows LinearSVC, LogisticRegression, SVC and Ridge, not {type(model).__name__}; use tune for other models."
    )


def _check_grid(Cs: Any, session: Session) -> np.ndarray:
    grid = np.unique(np.asarray(np.logspace(-3, 2, 50) if Cs is None else Cs, dtype=np.float64).ravel())
    if grid.size == 0 or not (np.isfinite(grid).all() and grid[0] > 0.0):
        zero = session.parameter == "C" and grid.size > 0 and grid[0] == 0.0
        raise ValueError(
            f"the values of {session.parameter} must be positive and finite numbers, at least one of them."
            + (f" {at_zero()}" if zero else "")
        )
    return grid


def _path_ends(Cs: Any) -> tuple[float, float]:
    if Cs is None:
        return 0.0, np.inf
    ends = np.asarray(Cs, dtype=np.float64).ravel()
    if ends.size < 2 or np.isnan(ends).any() or not 0.0 <= ends.min() < ends.max():
        raise ValueError(
            f"exact=True: Cs has the two ends of the path, 0 <= low < high (numpy.inf is allowed). Got {written(Cs)} instead."
        )
    return float(ends.min()), float(ends.max())
