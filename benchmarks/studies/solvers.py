"""gapless and its peers, each as a function from (data, C, tolerance) to the weights that it returns.

All minimise  P(w) = 1/2 |w|^2 + C * sum_i l(y_i <w, x_i>):  where a peer counts otherwise, its parameter is converted
here. The tolerances go from loose to tight in the peer's own meaning.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module, metadata
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.core.limits import THREADS

ENDLESS = 10_000_000  # passes: the tolerance, or the clock, ends a fit
DECADES = tuple(10.0**-k for k in range(13))
LOOSE = (100.0, 10.0, *DECADES)  # for violations of the dual, which grow with the rows
COLUMNS = 5_000  # a dense Hessian of more columns than this does not fit


#: (data, C, tolerance, seed); who draws nothing at random ignores the seed.
Fit = Callable[[Any, float, float, int], Any]


@dataclass(frozen=True)
class Solver:
    name: str
    package: str  # the distribution it comes from
    module: str  # what must be importable
    fit: Fit  # the weights; or the weights and a word about the way
    tolerances: tuple[float, ...]
    most_columns: int | None = None
    dense_only: bool = False

    def declines(self, X: Any) -> str | None:
        """Why it cannot take part, None where it can."""
        if self.most_columns and X.shape[1] > self.most_columns:
            return f"its matrix of {X.shape[1]} x {X.shape[1]} does not fit"
        if self.dense_only and sparse.issparse(X):
            return "hands sparse rows to scikit-learn"
        try:
            import_module(self.module)
        except ImportError as error:
            return f"not installed ({error})"
        return None

    @property
    def version(self) -> str:
        try:
            return metadata.version(self.package)
        except metadata.PackageNotFoundError:
            return "not installed"


# gapless. Its tol is the relative gap, so a target is a tolerance.


def ours(
    loss: str, C: float, tol: float, seed: int = 0, n_jobs: int | None = THREADS, fit_intercept: bool = False
) -> Any:
    import gapless

    options: dict[str, Any] = {"C": C, "tol": tol, "n_jobs": n_jobs, "fit_intercept": fit_intercept, "max_iter": None}
    options["random_state"] = seed
    if loss == "logistic":
        return gapless.LogisticRegression(**options)
    return gapless.LinearSVC(loss=loss, **options)


def _gapless(loss: str, **options: Any) -> Fit:
    def fit(data: Any, C: float, tol: float, seed: int) -> Any:
        model = ours(loss, C, tol, seed, **options).fit(*data)
        return model.coef_, model.certificate_.solver

    return fit


# scikit-learn


def _sklearn_svc(data: Any, C: float, tol: float, seed: int) -> Any:
    from sklearn.svm import LinearSVC

    model = LinearSVC(loss="hinge", dual=True, C=C, tol=tol, fit_intercept=False, max_iter=ENDLESS, random_state=seed)
    return model.fit(*data).coef_


def _sklearn_logistic(solver: str, dual: bool = False, passes: int = ENDLESS) -> Fit:
    def fit(data: Any, C: float, tol: float, seed: int) -> Any:
        from sklearn.linear_model import LogisticRegression

        # liblinear draws rows for the dual; the others ignore the seed
        options: dict[str, Any] = {"C": C, "tol": tol, "fit_intercept": False, "max_iter": passes, "random_state": seed}
        return LogisticRegression(solver=solver, dual=dual, **options).fit(*data).coef_

    return fit


# scikit-learn-intelex. What it does not support (sparse rows) it hands to scikit-learn: then it is no peer of its own.


def _sklearnex_logistic(data: Any, C: float, tol: float, seed: int) -> Any:
    from sklearnex.linear_model import LogisticRegression

    return LogisticRegression(C=C, tol=tol, fit_intercept=False, max_iter=ENDLESS).fit(*data).coef_


# snapml minimises regularizer / 2 |w|^2 + sum of losses, with its own float32 copy of X.


def _snapml(class_name: str, jobs: int, **options: Any) -> Fit:
    def fit(data: Any, C: float, tol: float, seed: int) -> Any:
        import snapml

        make = getattr(snapml, class_name)
        model = make(
            regularizer=1.0 / C,
            tol=tol,
            n_jobs=jobs,
            fit_intercept=False,
            max_iter=1_000_000,
            random_state=seed,
            **options,
        )
        return model.fit(*data).coef_

    return fit


# skglm. With its default working set the hinge ends far from the optimum, so the set is all rows.


def _skglm_svc(data: Any, C: float, tol: float, seed: int) -> Any:
    from skglm import LinearSVC

    X, y = data
    return LinearSVC(C=C, tol=tol, fit_intercept=False, p0=X.shape[0], max_iter=1000).fit(X, y).coef_


def _skglm_logistic(data: Any, C: float, tol: float, seed: int) -> Any:
    """Its loss is a mean: alpha = 1 / (C n), and its gradient is the n-th part of ours times C."""
    from skglm.datafits import Logistic
    from skglm.penalties import L2
    from skglm.solvers import LBFGS

    X = data[0].tocsc() if sparse.issparse(data[0]) else np.asfortranarray(data[0])  # what it takes
    y = data[1].astype(np.float64)
    solver = LBFGS(max_iter=1_000_000, tol=tol / X.shape[0])
    return solver.solve(X, y, Logistic(), L2(1.0 / (C * X.shape[0])))[0]


# liblinear, the authors' own package: from the arrays, as everybody; turning them into its own lists is part of the call.


def _liblinear(kind: int) -> Fit:
    def fit(data: Any, C: float, tol: float, seed: int) -> Any:  # it goes on drawing where the last fit ended
        from liblinear.liblinear import problem
        from liblinear.liblinearutil import train

        X, y = data
        model = train(problem(y.astype(np.float64), X), f"-s {kind} -c {C!r} -e {tol!r} -q")
        w = np.zeros(X.shape[1])  # it knows the columns up to the last one that is not empty
        w[: model.get_nr_feature()] = np.ctypeslib.as_array(model.w, shape=(model.get_nr_feature(),))
        return w * model.get_labels()[0]  # its positive side is the label it lists first

    return fit


def _scikit(name: str, fit: Fit, tolerances: Any = DECADES, **options: Any) -> Solver:
    return Solver(f"sklearn {name}", "scikit-learn", "sklearn", fit, tolerances, **options)


def _snap(name: str, class_name: str, jobs: int = THREADS, **options: Any) -> Solver:
    return Solver(f"snapml {name}", "snapml", "snapml", _snapml(class_name, jobs, **options), DECADES[1:])


def _lib(name: str, kind: int) -> Solver:
    tolerances = DECADES if kind == 0 else LOOSE
    return Solver(f"liblinear-official {name}", "liblinear-official", "liblinear", _liblinear(kind), tolerances)


# Those that are often fastest come first: who is much slower then is not swept to its end.
PEERS: dict[str, tuple[Solver, ...]] = {
    "hinge": (
        _scikit("LinearSVC", _sklearn_svc, LOOSE),
        _lib("-s 3", 3),
        _snap("svm 1 thread", "SupportVectorMachine", 1, loss="hinge"),
        _snap("svm", "SupportVectorMachine", loss="hinge"),
        Solver("skglm LinearSVC", "skglm", "skglm", _skglm_svc, DECADES),
    ),
    "logistic": (
        Solver("sklearnex lbfgs", "scikit-learn-intelex", "sklearnex", _sklearnex_logistic, DECADES, dense_only=True),
        _lib("-s 0", 0),
        _lib("-s 7", 7),
        _scikit("newton-cholesky", _sklearn_logistic("newton-cholesky"), most_columns=COLUMNS),
        _scikit("lbfgs", _sklearn_logistic("lbfgs")),
        _scikit("newton-cg", _sklearn_logistic("newton-cg")),
        # 100 Newton steps, its default: with more it may go round at the end of its precision
        _scikit("liblinear", _sklearn_logistic("liblinear", passes=100)),
        _scikit("liblinear dual", _sklearn_logistic("liblinear", dual=True), LOOSE),
        _snap("logistic 1 thread", "LogisticRegression", 1),
        _snap("logistic", "LogisticRegression"),
        Solver("skglm lbfgs", "skglm", "skglm", _skglm_logistic, DECADES),
    ),
}


def _own(name: str, loss: str, **options: Any) -> Solver:
    return Solver(name, "gapless", "gapless", _gapless(loss, **options), DECADES[1:10])


OURS = {loss: _own("gapless", loss) for loss in PEERS}
VARIANTS = {
    loss: (_own("gapless offset", loss, fit_intercept=True), _own("gapless 1 thread", loss, n_jobs=1)) for loss in PEERS
}


def by_name(name: str, loss: str) -> Solver:
    return next(solver for solver in (OURS[loss], *VARIANTS[loss], *PEERS[loss]) if solver.name == name)
