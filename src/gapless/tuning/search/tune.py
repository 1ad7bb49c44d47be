"""`tune`: the setting with the best cross-validated score, on a lattice that is fixed before the rows are read."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.metrics import get_scorer
from sklearn.pipeline import Pipeline

from gapless._runtime.clock import now
from gapless._runtime.written import written
from gapless.solvers.loop import interruptible

from .chains import FittedOnTest, score_fold
from .evaluate import Evaluation, SearchRows, SearchSettings, Step
from .folds import Folds, make_folds, take
from .journal import Journal
from .lattice import Lattice, default_lattice, from_grid, from_space
from .methods import METHODS, budget
from .outcome import Nested, Tuning, attach
from .progress import reporter


def tune(
    model: Any,
    X: Any,
    y: Any,
    param_grid: Any = None,
    *,
    space: Any = None,
    points: int = 17,
    method: str = "grid",
    cv: Any = 5,
    scoring: Any = None,
    sample_weight: Any = None,
    groups: Any = None,
    n_iter: int | None = None,
    refit: bool = True,
    nested: Any = None,
    time_limit: float | None = None,
    progress: bool | Callable[[Step], None] = False,
    file: Any = None,
    seed: int = 0,
    n_jobs: int | None = None,
) -> Any:
    """Choose parameters by cross-validation and fit them: the fitted model, with ``tuning_`` on it.

    Folds share what they can: the kernel matrix of an SVC for every C and every fold, the decomposition of a ridge for every
    alpha; elsewhere each C starts from the model of the one before. ``model.tuning_.n_candidates`` is the number of settings that
    could have been chosen, and `gapless.bounds` pays for them.

    Parameters
    ----------
    points : values of a range of ``space``
    groups : group of each row, for splitters that keep groups together
    model : an estimator, or a pipeline (the names of its parameters are ``step__name``); its steps are fitted inside each fold
    X, y, sample_weight : the rows; a weight counts how often a row stands, in fits and in scores
    param_grid : dict of lists, or a list of such dicts, as in scikit-learn's GridSearchCV
    space : dict of ranges instead: (low, high), (low, high, "log" or "linear"), or a list to choose from
        A range has ``points`` values, in equal ratios where its ends are a factor of 10 or more apart. Without both: C and gamma
        of kernel machines over the grid of the LIBSVM guide (C and epsilon of an SVR in standard deviations of y), C of linear
        ones, alpha of ridge.
    method : {"grid", "bisection", "bayes", "random"}
        All candidates; one parameter after the other by halving; a Gaussian process with expected improvement, which needs the
        extra ``tune``; some at random.
    cv : folds (shuffled, stratified for classifiers), a share to hold out (0.3), a splitter of scikit-learn, or splits
    scoring : None (share of correct rows, R2), a name or a scorer of scikit-learn
    n_iter : candidates that "bayes" and "random" visit; by default a quarter of all, at most 60
    refit : False leaves the model fitted on the training part of a single split (cv=0.3), so that the rows held out bound its
        error: ``tuning_.bound()``
    nested : outer folds: the score of the whole procedure, choice included, in ``tuning_.nested``
    time_limit : seconds of work for the search (compiling does not count); the fit of what was chosen comes after
    progress : True prints lines to stderr, a function is called with a `Step`
    file : keeps what is scored; a search that was killed goes on from it, and ends with the same answer
    seed : of folds and of random choices
    n_jobs : threads

    Ctrl-C ends the search, and the best so far is fitted and returned.
    """
    _check_method(method, time_limit)
    started = now()
    lattice = _build_lattice(model, param_grid, space, points, y)
    _check_parameter_names(model, lattice)
    scorer = _resolve_scorer(scoring)
    classifier = bool(is_classifier(model))
    folds = make_folds(cv, X, y, classifier=classifier, seed=seed, groups=groups)
    if not refit and not folds.single:
        raise ValueError("refit=False keeps the model of a single split: give a share to hold out, cv=0.3")
    outer = None if nested is None else make_folds(nested, X, y, classifier=classifier, seed=seed + 1, groups=groups)
    journal = Journal(file, _describe_search(model, lattice, folds, outer, X, y, sample_weight, scoring, method, seed))
    deadline = None if time_limit is None else started + float(time_limit)
    with interruptible() as interruption:
        settings = SearchSettings(n_jobs, deadline, reporter(progress), interruption)
        ev = Evaluation(model, SearchRows(X, y, sample_weight, folds), lattice, scorer, journal, settings)
        complete = _run_search(ev, method, n_iter, seed)
        _require_a_score(ev)
        checked = None
        if outer is not None and complete:
            checked, complete = _score_nested(ev, outer, cv, method, n_iter, seed, settings)
    # A Ctrl-C after the last score is heard, too: the caller wants the end, and is told so.
    status = "interrupted" if interruption.requested else ("complete" if complete else "time_limit")
    best = _best_candidate(ev)
    fitted = fit_rows(ev.with_candidate(best), X, y, sample_weight, None if refit else folds.splits[0][0])
    record = _record(ev, best, started, method=method, status=status, refit=bool(refit), nested=checked)
    return attach(fitted, record, None if refit else take(X, folds.splits[0][1]))


def _best_candidate(ev: Evaluation) -> int:
    """The candidate with the best score; of equal scores the first."""
    return min(ev.visited, key=lambda k: (-_or_least(ev.score(k)), k))


def _record(ev: Evaluation, best: int, started: float, **outcome: Any) -> Tuning:
    return Tuning(
        lattice=ev.lattice,
        best_index=best,
        scores={k: ev.scores(k) for k in ev.visited},
        entries={k: [ev.entry(k, fold) for fold in range(len(ev.folds))] for k in ev.visited},
        folds=ev.folds,
        n_fits=ev.n_fits,
        resumed=ev.journal.resumed,
        seconds=now() - started,
        counted=ev.classifier and ev.weights is None,
        failed=dict(ev.errors),
        **outcome,
    )


def _check_method(method: str, time_limit: Any) -> None:
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(map(repr, METHODS))}; got {written(method)}")
    if time_limit is not None and not float(time_limit) > 0.0:
        raise ValueError(f"time_limit must be a number of seconds above 0, or None; got {written(time_limit)}")


def _require_a_score(ev: Evaluation) -> None:
    if not any(np.isfinite(ev.score(k)) for k in ev.visited):
        _raise_no_score(ev)


def _run_search(ev: Evaluation, method: str, n_iter: int | None, seed: int) -> bool:
    """Run the method; whether it came to its end."""
    most = budget(ev.lattice, n_iter)
    if method in ("grid", "random", "bayes"):
        ev.total = (len(ev.lattice) if method == "grid" else most) * len(ev.folds)
    for asked in METHODS[method](ev.lattice, ev.score, most, seed):
        if not ev.run(asked) or ev.stopped:
            return all(map(ev.is_scored, ev.lattice)) if method == "grid" else False
    return True


def _score_nested(
    ev: Evaluation, outer: Folds, cv: Any, method: str, n_iter: int | None, seed: int, settings: SearchSettings
) -> tuple[Nested | None, bool]:
    """Run the whole search inside each outer fold; its choices, and their scores on rows that had no part in the choice."""
    scores, chosen = [], []
    for number, (train, test) in enumerate(outer.splits):
        X, y = take(ev.X, train), take(ev.y, train)
        weights = None if ev.weights is None else ev.weights[train]
        folds = make_folds(cv, X, y, classifier=ev.classifier, seed=seed)
        rows = SearchRows(X, y, weights, folds)
        inner = Evaluation(ev.model, rows, ev.lattice, ev.scoring, ev.journal, settings, prefix=f"outer {number}/")
        if not _run_search(inner, method, n_iter, seed):
            return None, False
        best = _best_candidate(inner)
        ev.n_fits += inner.n_fits + 1
        fitted = fit_rows(inner.with_candidate(best), X, y, weights, None)
        scores.append(score_fold(ev, FittedOnTest(fitted, take(ev.X, test)), train, test))
        chosen.append(ev.lattice.parameters(best))
    return Nested(tuple(chosen), tuple(tuple(entry) for entry in scores)), True


def _or_least(score: float) -> float:
    return -np.inf if np.isnan(score) else score


def _raise_no_score(ev: Evaluation) -> None:
    if ev.first_error is not None:
        raise ev.first_error
    if ev.interruption.requested:
        raise KeyboardInterrupt("no candidate was scored on every fold before the interruption")
    if ev.out_of_time:
        raise TimeoutError("time_limit: no candidate was scored on every fold in that time")
    raise ValueError("no candidate has a score that is a number")


def fit_rows(model: Any, X: Any, y: Any, weights: Any, rows: np.ndarray | None) -> Any:
    """Fit on some rows, or on all, with the weights at the last step of a pipeline."""
    if rows is not None:
        X, y = take(X, rows), take(y, rows)
        weights = None if weights is None else np.asarray(weights)[rows]
    name = "sample_weight"
    step = model
    while isinstance(step, Pipeline):
        name = name.replace("sample_weight", f"{step.steps[-1][0]}__sample_weight")
        step = step.steps[-1][1]
    return model.fit(X, y, **({} if weights is None else {name: weights}))


def _build_lattice(model: Any, param_grid: Any, space: Any, points: int, y: Any) -> Lattice:
    if param_grid is not None and space is not None:
        raise ValueError("param_grid and space exclude each other")
    if param_grid is not None:
        return from_grid(param_grid)
    return default_lattice(model, y) if space is None else from_space(space, points)


def _check_parameter_names(model: Any, lattice: Lattice) -> None:
    known = model.get_params()
    for name in lattice.names:
        if name not in known:
            raise ValueError(
                f"Invalid parameter {name!r} for estimator {type(model).__name__}. Valid parameters are: {sorted(known)}."
            )


def _resolve_scorer(scoring: Any) -> Any:
    if scoring is None:
        return None
    if callable(scoring):
        return scoring
    return get_scorer(scoring)


def _describe_search(
    model: Any, lattice: Lattice, folds: Folds, outer: Folds | None, X: Any, y: Any, weights: Any, scoring: Any,
    method: str, seed: int,
) -> dict[str, Any]:  # fmt: skip
    """The entries by which a journal file recognises its search."""
    parameters = {key: _repr_without_address(value) for key, value in clone(model).get_params().items()}
    return {
        "model": type(model).__name__,
        "parameters": repr(sorted((k, v) for k, v in parameters.items() if k not in ("n_jobs", "verbose"))),
        "lattice": lattice.document(),
        "folds": folds.digest() + (outer.digest() if outer is not None else ""),
        "rows": hash_values(X),
        "targets": hash_values(y),
        "weights": "none" if weights is None else hash_values(weights),
        "scoring": "default" if scoring is None else getattr(scoring, "__name__", None) or str(scoring),
        "method": method,
        "seed": int(seed),
    }


def _repr_without_address(value: Any) -> str:
    """The repr; the type's name where the repr holds an address."""
    return type(value).__name__ if " at 0x" in repr(value) else repr(value)


def hash_values(values: Any) -> str:
    """A hash of the values, which is the same for every container of them."""
    found = hashlib.sha256()
    if sparse.issparse(values):
        csr = values.tocsr()
        csr.sum_duplicates()
        parts = [np.asarray(csr.shape), csr.indptr.astype(np.int64), csr.indices.astype(np.int64), csr.data]
    else:
        parts = [np.asarray(values)]
    for part in parts:
        part = np.ascontiguousarray(part)
        found.update(f"{part.dtype.kind}{part.shape}".encode())
        found.update(repr(part.tolist()).encode() if part.dtype.kind == "O" else part.tobytes())
    return found.hexdigest()[:32]
