"""Random honest problems: every public estimator with drawn options, on drawn rows of every awkward kind.

``problem(seed)`` is one of them; ``ending(seed)`` fits it and says what became of it:

    true            every claim holds, plain and rigorous
    not_finite      the fit says so itself, and its certificate claims nothing
    unconfirmed     the same, because scales are odd and the fit's own question to the judge was answered by no
    refused         the fit says in a clear error why there is no such model
    FAULT: ...      anything else, with what was seen

``endings(seeds, workers)`` runs many in processes of their own, each of which is killed where one problem takes too long.
"""

from __future__ import annotations

import math
import multiprocessing
import os
from collections.abc import Callable, Iterable, Iterator
from multiprocessing.connection import wait
from typing import Any, NamedTuple

import numpy as np
from judge_zoo import Data, fitted
from scipy import sparse

import gapless
from gapless.certificates.confirmation import odd_scales
from gapless.judge import CertificateError, check

#: Seconds after which a problem counts as hanging.
PATIENCE = 120.0


class Problem(NamedTuple):
    family: str
    options: dict[str, Any]
    traits: list[str]
    data: Data

    def __str__(self) -> str:
        options = ", ".join(f"{key}={value!r}" for key, value in self.options.items())
        n, d = self.data.X.shape
        return f"{self.family}({options}) on {n} x {d}: {', '.join(self.traits)}"


# -- rows, labels, weights


def _decades(rng: np.random.Generator, low: float, high: float, size: Any = None) -> Any:
    return 10.0 ** rng.uniform(low, high, size=size)


def _rows(rng: np.random.Generator, sparse_too: bool) -> tuple[Any, list[str]]:
    """X and the words for what is awkward about it."""
    n = int(rng.choice([2, 3, 4, 5, 8, 12, 20, 40, 90]))
    d = int(rng.choice([1, 2, 3, 5, 9, n, n + 1, 2 * n + 3]))
    kind, traits = rng.integers(6), list[str]()
    if kind == 0:
        X = rng.integers(-2, 3, size=(n, d)).astype(np.float64)
        traits.append("small integers")
    elif kind == 1:
        X = np.where(rng.random((n, d)) < 0.6, 0.0, rng.normal(size=(n, d)))
        traits.append("mostly zeros")
    else:
        X = rng.normal(size=(n, d))
    if rng.random() < 0.15 and d > 1:
        X[:, rng.integers(d)] = X[:, rng.integers(d)]
        X[:, -1] = X[:, 0]
        traits.append("equal columns")
    if rng.random() < 0.15:
        X[rng.integers(n, size=max(1, n // 2))] = X[rng.integers(n)]
        traits.append("equal rows")
    if rng.random() < 0.15:
        X[:, rng.integers(d)] = rng.choice([0.0, 0.1, 1e8, 1.0 / 3.0])
        traits.append("constant column")
    if rng.random() < 0.02:
        X[:] = rng.choice([0.0, 0.1, 7.0])
        traits.append("all rows equal")
    single = rng.random() < 0.2
    far = rng.random()
    if far < 0.15:
        X *= _decades(rng, -8, 8, d)
        traits.append("columns over 16 decades")
    elif far < 0.25:
        shift = _decades(rng, 0, 8)
        X += shift
        traits.append(f"shifted by {shift:.1e}")
    if rng.random() < 0.5:
        scale = _decades(rng, *((-30, 28) if single else (-150, 150) if rng.random() < 0.6 else (-12, 12)))
        X *= scale
        traits.append(f"times {scale:.1e}")
    if single:
        with np.errstate(over="ignore"):
            X = X.astype(np.float32)
        X[~np.isfinite(X)] = 1.0
        traits.append("float32")
    if sparse_too and rng.random() < 0.2:
        X = sparse.csr_matrix(X)
        traits.append("CSR")
    return X, traits


def _gram(rng: np.random.Generator, X: np.ndarray) -> np.ndarray:
    """Inner products, on every third draw less than nothing along some axis."""
    K = (X / max(1.0, float(np.abs(X).max()) / 1e70)) @ X.T if np.abs(X).max() > 1e70 else X @ X.T
    K = 0.5 * (K + K.T)
    return K - 0.3 * float(np.diagonal(K).max()) * np.eye(len(K)) if rng.integers(3) == 0 else K


def _labels(rng: np.random.Generator, X: Any) -> tuple[np.ndarray, list[str]]:
    n = X.shape[0]
    K = int(min(n, rng.choice([2, 2, 2, 3, 4])))
    if rng.random() < 0.5 and K == 2:  # by the rows: separable, or nearly
        scores = np.asarray(X @ (rng.normal(size=X.shape[1]) / max(1.0, abs(X).max()))).ravel()
        index = (scores > np.median(scores)).astype(np.int64)
        index[:2] = [0, 1]
    else:
        index = np.concatenate([np.arange(K), rng.integers(K, size=n - K)])
        rng.shuffle(index)
    traits = [f"{K} classes"]
    form = rng.integers(5)
    if form == 0:
        return np.array(["ash", "birch", "cedar", "date"])[index], traits
    if form == 1:
        return 2.0 * index - 1.0, traits
    if form == 2 and K == 2:
        return index == 1, traits
    return index, traits


def _targets(rng: np.random.Generator, X: Any, several: bool) -> tuple[np.ndarray, list[str]]:
    n, T = X.shape[0], int(rng.integers(1, 4)) if several and rng.random() < 0.3 else 1
    whole = max(float(abs(X).max()), 1e-300)
    y = np.asarray(X @ rng.normal(size=(X.shape[1], T))) / whole + 0.3 * rng.normal(size=(n, T))
    traits, kind = [f"{T} targets"], rng.random()
    if kind < 0.3:
        scale = _decades(rng, -150, 150) if kind < 0.15 else _decades(rng, -8, 8)
        y *= scale
        traits.append(f"targets times {scale:.1e}")
    elif kind < 0.4:
        y[:] = rng.choice([0.0, 0.1, 1e6])
        traits.append("targets constant")
    elif kind < 0.5:
        y += 1e7
        traits.append("targets shifted")
    return (y if T > 1 else y[:, 0]), traits


def _weights(rng: np.random.Generator, y: np.ndarray, labelled: bool) -> tuple[np.ndarray | None, list[str]]:
    n, kind = len(y), rng.random()
    if kind < 0.55:
        return None, []
    if kind < 0.8:
        return _decades(rng, -8, 8, n), ["weights over 16 decades"]
    if kind < 0.9:
        return rng.random(n) + 0.1, ["weights"]
    if kind < 0.95:
        scale = _decades(rng, -100, 100)
        return (rng.random(n) + 0.1) * scale, [f"weights times {scale:.1e}"]
    weights = rng.integers(0, 3, n).astype(np.float64)
    for value in np.unique(y) if labelled else (None,):  # each class keeps a row
        weights[int(np.argmax(y == value)) if labelled else 0] = 1.0
    return weights, ["weights 0, 1, 2"]


# -- options


def _some(rng: np.random.Generator, **choices: Any) -> dict[str, Any]:
    """Some of the options, each drawn from its list or by its function; the others stay as they are."""
    drawn = {}
    for name, values in choices.items():
        if rng.random() < 0.5:
            drawn[name] = values() if callable(values) else values[int(rng.integers(len(values)))]
    return drawn


def _kernel(rng: np.random.Generator, **more: Any) -> dict[str, Any]:
    return _some(
        rng,
        kernel=["linear", "poly", "rbf", "sigmoid", "linear", "poly"],
        degree=[1, 2, 3, 4],
        gamma=["scale", "auto", 1.0, 1e-3, 10.0],
        coef0=[0.0, 1.0, -0.5],
        tol=[1e-3, 1e-8],
        max_iter=[-1, 3],
        **more,
    )


def _tree(rng: np.random.Generator, **more: Any) -> dict[str, Any]:
    return _some(
        rng,
        splitter=["best", "random"],
        max_depth=[1, 3, None],
        min_samples_leaf=[1, 2, 0.2],
        min_samples_split=[2, 5, 0.3],
        min_weight_fraction_leaf=[0.0, 0.1, 0.4],
        max_features=[None, 1, "sqrt"],
        max_leaf_nodes=[None, 2, 5],
        min_impurity_decrease=[0.0, 0.0, 0.01],
        ccp_alpha=[0.0, 0.0, 0.01],
        max_bins=["auto", 4],
        **more,
    ) | {"random_state": 0}


def _classes(K: int, y: np.ndarray) -> list[Any]:
    values = np.unique(y).tolist()
    return [None, "balanced", {value: 10.0 ** (3 * k - 3) for k, value in enumerate(values)}]


def _priors(K: int) -> list[Any]:
    share = np.arange(1.0, K + 1.0)
    return [None, (share / share.sum()).tolist()]


class _Family(NamedTuple):
    make: Any
    options: Callable[[np.random.Generator, int, np.ndarray], dict[str, Any]]
    labelled: bool = True
    sparse: bool = True
    targets: bool = False
    weighted: bool = True


_EVER = {  # descents that never end on such rows are stopped
    "time_limit": [1e-9, 0.05, None],
}

FAMILIES: dict[str, _Family] = {
    "LinearSVC": _Family(
        gapless.LinearSVC,
        lambda rng, K, y: _some(
            rng, loss=["hinge", "squared_hinge"], C=lambda: _decades(rng, -8, 8), tol=[1e-2, 1e-9],
            class_weight=_classes(K, y), max_iter=[2, 1000], solver=["coordinate_descent", "gd", "sgd"], **_EVER,
        ) | _offset(rng),
    ),
    "LinearSVC hard margin": _Family(
        gapless.LinearSVC,
        lambda rng, K, y: _some(rng, fit_intercept=[False], tol=[1e-8], **_EVER) | {"loss": "hinge", "C": math.inf},
    ),
    "LogisticRegression": _Family(
        gapless.LogisticRegression,
        lambda rng, K, y: _some(
            rng, C=lambda: _decades(rng, -8, 8), tol=[1e-2, 1e-9], class_weight=_classes(K, y), max_iter=[2, 100],
            solver=["newton", "coordinate_descent", "adam"], **_EVER,
        ) | _offset(rng),
    ),
    "LogisticRegression no penalty": _Family(
        gapless.LogisticRegression,
        lambda rng, K, y: _some(
            rng, tol=[1e-2, 1e-8], fit_intercept=[False], class_weight=_classes(K, y), **_EVER
        ) | {"C": math.inf, "on_separation": "warn"},
    ),
    "LinearRegression": _Family(
        gapless.LinearRegression,
        lambda rng, K, y: _some(rng, fit_intercept=[False], tol=[1e-3, 1e-10]), labelled=False, targets=True,
    ),
    "Ridge": _Family(
        gapless.Ridge,
        lambda rng, K, y: _some(rng, alpha=lambda: _decades(rng, -12, 12), fit_intercept=[False], tol=[1e-2, 1e-10]),
        labelled=False, targets=True,
    ),
    "Lasso": _Family(
        gapless.Lasso,
        lambda rng, K, y: _some(
            rng, fit_intercept=[False], tol=[1e-2, 1e-9], positive=[True], max_iter=[2, 1000], **_EVER
        ) | {"alpha": _decades(rng, -6, 4)}, labelled=False, targets=True,
    ),
    "ElasticNet": _Family(
        gapless.ElasticNet,
        lambda rng, K, y: _some(
            rng, l1_ratio=[0.01, 0.9, 1.0], fit_intercept=[False], tol=[1e-2, 1e-9], positive=[True], **_EVER
        ) | {"alpha": _decades(rng, -6, 4)}, labelled=False, targets=True,
    ),
    "LeastSquaresClassifier": _Family(
        gapless.LeastSquaresClassifier,
        lambda rng, K, y: _some(
            rng, alpha=[0.0, 1e-6, 10.0], fit_intercept=[False], tol=[1e-3], class_weight=_classes(K, y)
        ),
    ),
    "SVC": _Family(
        gapless.SVC, lambda rng, K, y: _kernel(rng, C=lambda: _decades(rng, -6, 6), class_weight=_classes(K, y), **_EVER)
    ),
    "SVC precomputed": _Family(
        gapless.SVC, lambda rng, K, y: _some(rng, C=lambda: _decades(rng, -6, 6), tol=[1e-8]) | {"kernel": "precomputed"},
        sparse=False,
    ),
    "SVC hard margin": _Family(gapless.SVC, lambda rng, K, y: _kernel(rng, **_EVER) | {"C": math.inf}),
    "NuSVC": _Family(gapless.NuSVC, lambda rng, K, y: _kernel(rng, nu=[0.05, 0.3], **_EVER)),
    "SVR": _Family(
        gapless.SVR, lambda rng, K, y: _kernel(rng, C=lambda: _decades(rng, -6, 6), epsilon=[0.0, 1e-3, 3.0], **_EVER),
        labelled=False,
    ),
    "NuSVR": _Family(
        gapless.NuSVR, lambda rng, K, y: _kernel(rng, C=lambda: _decades(rng, -6, 6), nu=[0.1, 0.9], **_EVER), labelled=False
    ),
    "OneClassSVM": _Family(gapless.OneClassSVM, lambda rng, K, y: _kernel(rng, nu=[0.1, 0.9], **_EVER), labelled=False),
    "Perceptron": _Family(
        gapless.Perceptron,
        lambda rng, K, y: _some(
            rng, max_iter=[1, 20, 200], eta0=[1.0, 0.1], fit_intercept=[False], shuffle=[False], certify=[True, False],
            class_weight=_classes(K, y), **_EVER,
        ) | [{"variant": "averaged"}, {"variant": "voted"}, {"variant": "pocket"}, {"penalty": "l2"},
             {"early_stopping": True}, {}][int(rng.integers(6))],
    ),
    "GaussianDiscriminant": _Family(
        gapless.GaussianDiscriminant,
        lambda rng, K, y: _some(
            rng, covariance=["shared", "spherical", "per_class"], shrinkage=[None, 0.1, "auto"], priors=_priors(K)
        ),
        sparse=False,
    ),
    "LinearDiscriminantAnalysis": _Family(
        gapless.LinearDiscriminantAnalysis,
        lambda rng, K, y: _shrunk(rng, _some(rng, solver=["svd", "lsqr", "eigen"], priors=_priors(K), tol=[1e-4, 1e-8])),
        sparse=False, weighted=False,
    ),
    "QuadraticDiscriminantAnalysis": _Family(
        gapless.QuadraticDiscriminantAnalysis,
        lambda rng, K, y: _shrunk(
            rng, _some(rng, solver=["svd", "eigen"], priors=_priors(K), reg_param=[0.0, 0.1, 0.5], tol=[1e-4])
        ),
        sparse=False, weighted=False,
    ),
    "AdaBoostClassifier": _Family(
        gapless.AdaBoostClassifier,
        lambda rng, K, y: _some(
            rng, n_estimators=[1, 5, 20], learning_rate=[0.3, 1.7], estimator=[gapless.DecisionTreeClassifier(max_depth=2)]
        ) | {"random_state": 0},
    ),
    "AdaBoostRegressor": _Family(
        gapless.AdaBoostRegressor,
        lambda rng, K, y: _some(rng, n_estimators=[1, 5], learning_rate=[0.3], loss=["linear", "square", "exponential"])
        | {"random_state": 0},
        labelled=False, sparse=False,
    ),
    "BaggingClassifier": _Family(
        gapless.BaggingClassifier,
        lambda rng, K, y: _some(
            rng, n_estimators=[1, 4], max_samples=[0.5, 1.0], max_features=[0.5], bootstrap=[False], bootstrap_features=[True]
        ) | {"random_state": 0},
        sparse=False,
    ),
    "BaggingRegressor": _Family(
        gapless.BaggingRegressor,
        lambda rng, K, y: _some(
            rng, n_estimators=[1, 4], max_samples=[0.5, 1.0], max_features=[0.5], bootstrap=[False], bootstrap_features=[True]
        ) | {"random_state": 0},
        labelled=False, sparse=False,
    ),
    "DecisionTreeClassifier": _Family(
        gapless.DecisionTreeClassifier,
        lambda rng, K, y: _tree(rng, criterion=["gini", "entropy", "log_loss"], class_weight=_classes(K, y)),
        sparse=False,
    ),
    "DecisionTreeRegressor": _Family(
        gapless.DecisionTreeRegressor, lambda rng, K, y: _tree(rng, criterion=["squared_error", "absolute_error"]),
        labelled=False, sparse=False, targets=True
    ),
}  # fmt: skip


def _offset(rng: np.random.Generator) -> dict[str, Any]:
    """None, free, or penalised."""
    kinds = [
        {},
        {"fit_intercept": False},
        {"penalize_intercept": True, "intercept_scaling": float(_decades(rng, -3, 2))},
    ]
    return kinds[int(rng.integers(3))]


def _shrunk(rng: np.random.Generator, options: dict[str, Any]) -> dict[str, Any]:
    """Shrinkage goes with the solvers that know it."""
    return options | (_some(rng, shrinkage=[0.0, 0.2, "auto"]) if options.get("solver") in ("lsqr", "eigen") else {})


def family_of(seed: int) -> str:
    """Families take turns."""
    return list(FAMILIES)[seed % len(FAMILIES)]


def problem(seed: int) -> Problem:
    """The problem of that number."""
    rng = np.random.default_rng([22, seed])
    name = family_of(seed)
    family = FAMILIES[name]
    X, traits = _rows(rng, family.sparse)
    y, more = _labels(rng, X) if family.labelled else _targets(rng, X, family.targets)
    weights, heavy = _weights(rng, y, family.labelled) if family.weighted else (None, [])
    if weights is not None and name.startswith("Bagging"):  # their sum is the number of draws
        weights *= len(weights) / weights.sum()
    if name.endswith("precomputed"):
        X = _gram(rng, np.asarray(X, dtype=np.float64))
    options = family.options(rng, np.unique(y).size if family.labelled else 0, y)
    return Problem(name, options, [*traits, *more, *heavy], Data(X, y, weights))


# -- what becomes of them


def ending(seed: int) -> str:
    """What became of the problem of that number."""
    asked: list[Any] = []
    real = odd_scales.without_claims
    odd_scales.without_claims = lambda certificate: asked.append(certificate) or real(certificate)
    try:
        said = _ending(seed)
    finally:
        odd_scales.without_claims = real
    return "unconfirmed" if asked and said == "not_finite" else said


def _ending(seed: int) -> str:
    posed = problem(seed)
    try:
        model = fitted(lambda: FAMILIES[posed.family].make(**posed.options), posed.data)
    except (ValueError, gapless.DataError) as error:
        clear = len(str(error)) > 20 and "internal" not in str(error)
        return f"refused: {error}" if clear else f"FAULT: an unclear error, {error!r}"
    except Exception as error:
        return f"FAULT: the fit raised {type(error).__name__}: {error}"
    if not hasattr(model, "certificate_"):  # boosting whose first round is useless says so, and claims nothing
        useless = "no round is kept" in getattr(model, "stop_reason_", "")
        return "not_finite" if useless else "FAULT: no certificate, and no reason"
    certificate = model.certificate_
    document, arrays = certificate.document(), dict(certificate.arrays)
    status = document["certificate"]["status"]
    if status != "not_finite" and not all(
        np.isfinite(a).all() for k, a in arrays.items() if k in ("coef", "dual", "means")
    ):
        return f"FAULT: numbers that are not finite, status {status}"
    for rigorous in (False, True):
        try:
            found = check(document, arrays, *posed.data, rigorous)
        except CertificateError as error:
            return f"FAULT: the judge fell, rigorous={rigorous}: {error}"
        except Exception as error:
            return f"FAULT: the judge raised, rigorous={rigorous}: {error!r}"
        if not found:
            if claims_nothing(document["certificate"], [c.name for c in found.failed]):
                return "not_finite"
            shown = "; ".join(f"{c.name}: {c.claimed!r:.40} not {c.recomputed!r:.40} ({c.note})" for c in found.failed)
            return f"FAULT: false, rigorous={rigorous}, status {status}: {shown}"
    return "not_finite" if status == "not_finite" else "true"


def claims_nothing(block: dict[str, Any], failed: list[str]) -> bool:
    """The parts that say ``not_finite`` say nothing else, and what does not hold is said of them alone, or of the sum of all."""
    parts = block.get("subproblems", block.get("targets", [block]))
    silent = [k for k, part in enumerate(parts) if part["status"] == "not_finite"]
    if any(_finite(parts[k].get(key)) for k in silent for key in ("gap", "relative_gap", "bound")):
        return False
    names = (*(f"[{k}] " for k in silent), "total ")
    return (
        bool(silent)
        and block["status"] != "converged"
        and (len(parts) == len(silent) or all(name.startswith(names) for name in failed))
    )


def _finite(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


# -- many of them


def _work(pipe: Any) -> None:
    os.environ["OMP_NUM_THREADS"] = "1"
    while True:
        seed = pipe.recv()
        if seed is None:
            return
        pipe.send(ending(seed))


def endings(seeds: Iterable[int], workers: int) -> Iterator[tuple[int, str]]:
    """(seed, ending) in the order in which they end; a worker that falls or hangs is replaced."""
    import time

    context, waiting = multiprocessing.get_context("spawn"), list(seeds)[::-1]
    busy: dict[Any, tuple[Any, int, float]] = {}

    def start(process: Any = None, pipe: Any = None) -> None:
        if not waiting:
            if process is not None:
                pipe.send(None)
                process.join()
            return
        if process is None:
            pipe, other = context.Pipe()
            process = context.Process(target=_work, args=(other,), daemon=True)
            process.start()
            other.close()
        seed = waiting.pop()
        pipe.send(seed)
        busy[pipe] = process, seed, time.monotonic()

    for _ in range(workers):
        start()
    while busy:
        for pipe in wait(list(busy), timeout=1.0):
            process, seed, _since = busy.pop(pipe)
            try:
                yield seed, pipe.recv()
                start(process, pipe)
            except EOFError:
                process.join()
                yield seed, f"FAULT: the process ended with {process.exitcode}"
                start()
        for pipe, (process, seed, since) in list(busy.items()):
            if time.monotonic() - since > PATIENCE:
                del busy[pipe]
                process.kill()
                process.join()
                yield seed, f"FAULT: more than {PATIENCE:g} s"
                start()
