"""One honest fit of every estimator with its options, on small data: what the forger and the schema's tests work on.

Every entry of ``ZOO`` is a name, a function that makes the model, and the kind of data it is fitted on.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

import gapless
from gapless._runtime.config import config_context
from gapless.certificates.verify import rows_as_named
from gapless.readings.training_rows import RowHashes


class Data(NamedTuple):
    X: Any
    y: Any
    sample_weight: Any = None


class Fit(NamedTuple):
    """A document with its arrays and the data that it speaks of."""

    name: str
    document: dict[str, Any]
    arrays: dict[str, np.ndarray]
    data: Data
    model: Any = None
    new: Data | None = None  #: the test rows of a held-out bound


def rows_of(kind: str) -> Data:
    """The data of a fit, by a word for each of their traits."""
    rng = np.random.default_rng(7)
    n, d, traits = 30, 3, kind.split()
    K = 3 if "three" in traits else 2
    index = np.concatenate([np.arange(K), rng.integers(K, size=n - K)])
    X = rng.normal(size=(n, d)) + 1.2 * rng.normal(size=(K, d))[index]
    if "rare" in traits:
        index[index == 0] = 1
        index[-2:] = 0
    if "twins" in traits:
        X[5:8], index[5:8] = X[4], index[4]
    if "columns" in traits:  # the first one twice
        X = np.column_stack([X, X[:, 0]])
    if "apart" in traits:
        X[:, 0] += 12.0 * index
    if "steps" in traits:
        X[:, 0], X[:, 1] = X[:, 0] + 12.0 * index, 30.0 * (index == 1) + X[:, 1]
    if "touch" in traits:
        X[:, 0] = np.where(np.arange(n) < 6, 0.0, np.abs(X[:, 0]) * np.where(index == 1, 1.0, -1.0))
        X[:6, 1:] = np.round(X[:6, 1:])
        X[1], X[2], index[1], index[2] = X[0], X[0], 1 - index[0], index[0]
    if "kernel" in traits:
        K_ = X @ X.T + 1.0
        X = K_ - 6.0 * np.eye(n) if "indefinite" in traits else K_
    if "float32" in traits:
        X = X.astype(np.float32)
    if "gaps" in traits:
        X[rng.random(X.shape) < 0.1] = np.nan
    if "codes" in traits:
        X[:, 1] = rng.integers(5, size=n)
    if "sparse" in traits:
        X = sparse.csr_matrix(np.where(rng.random(X.shape) < 0.4, 0.0, X))
    y: Any = index
    if "texts" in traits:
        y = np.array(["ash", "birch", "cedar"])[index]
    if "bools" in traits:
        y = index == 1
    if "floats" in traits:
        y = index - 0.5
    if "numbers" in traits or "targets" in traits or "positive" in traits:
        dense = np.asarray(X.todense()) if sparse.issparse(X) else np.nan_to_num(np.asarray(X, dtype=float))
        y = dense[:, :3] @ np.array([1.0, -2.0, 0.5]) + rng.normal(size=n)
        if "targets" in traits:
            y = np.column_stack([y, dense[:, 0] ** 2])
        y = y + 1e8 if "far" in traits else np.floor(np.abs(y)) if "positive" in traits else y
    weights = rng.integers(0, 4, n) * 0.5 + 0.25 if "weights" in traits else None
    weights = (index != 2).astype(float) if "weightless" in traits else weights
    weights = np.where(np.arange(n) % 4 == 3, 0.0, 1.5) if "zeros" in traits else weights
    return Data(X, y, weights)


Make = Callable[[], Any]
ZOO: dict[str, tuple[Make, str]] = {
    "LinearSVC": (lambda: gapless.LinearSVC(), "two"),
    "LinearSVC hinge three": (lambda: gapless.LinearSVC(loss="hinge"), "three weights"),
    "LinearSVC penalised": (
        lambda: gapless.LinearSVC(penalize_intercept=True, intercept_scaling=3.0, class_weight="balanced"),
        "two texts",
    ),
    "LinearSVC no offset sparse": (lambda: gapless.LinearSVC(fit_intercept=False, C=10.0), "two sparse"),
    "LinearSVC hard margin": (lambda: gapless.LinearSVC(loss="hinge", C=np.inf), "two apart"),
    "LinearSVC hard margin stopped at once": (lambda: gapless.LinearSVC(C=np.inf, time_limit=1e-9), "three apart"),
    "LinearSVC stopped": (
        lambda: gapless.LinearSVC(loss="hinge", max_iter=2, solver="coordinate_descent", tol=1e-12),
        "two bools",
    ),
    "LinearSVC of the command line": (lambda: gapless.LinearSVC(), "two twins hashes"),
    "LogisticRegression": (lambda: gapless.LogisticRegression(class_weight={0: 2.0}), "two"),
    "LogisticRegression softmax": (lambda: gapless.LogisticRegression(), "three weights float32"),
    "LogisticRegression no penalty": (lambda: gapless.LogisticRegression(C=np.inf), "two"),
    "LogisticRegression no penalty three": (lambda: gapless.LogisticRegression(C=np.inf), "three weights"),
    "LogisticRegression no penalty separable": (lambda: gapless.LogisticRegression(C=np.inf), "two apart"),
    "LinearRegression": (lambda: gapless.LinearRegression(), "numbers"),
    "LinearRegression targets": (lambda: gapless.LinearRegression(), "targets weights"),
    "Ridge": (lambda: gapless.Ridge(alpha=0.7), "numbers weights"),
    "Ridge targets": (lambda: gapless.Ridge(alpha=[0.5, 2.0], fit_intercept=False), "targets"),
    "Ridge alpha 0": (lambda: gapless.Ridge(alpha=0.0), "numbers float32"),
    "Ridge shifted": (lambda: gapless.Ridge(alpha=0.7), "numbers far"),
    "LinearRegression shifted": (lambda: gapless.LinearRegression(), "targets far weights"),
    "Lasso": (lambda: gapless.Lasso(alpha=0.3), "numbers weights"),
    "Lasso positive": (lambda: gapless.Lasso(alpha=0.2, positive=True, tol=1e-9), "numbers columns"),
    "Lasso targets": (lambda: gapless.Lasso(alpha=0.5, fit_intercept=False), "targets sparse"),
    "Lasso stopped at once": (lambda: gapless.Lasso(alpha=0.01, time_limit=1e-9), "numbers float32"),
    "ElasticNet": (lambda: gapless.ElasticNet(alpha=0.4), "numbers zeros"),
    "ElasticNet shifted": (lambda: gapless.ElasticNet(alpha=0.1, l1_ratio=0.99), "numbers far"),
    "LogisticRegression l1": (lambda: gapless.LogisticRegression(l1_ratio=1.0, C=0.5), "two weights"),
    "LogisticRegression elastic net": (
        lambda: gapless.LogisticRegression(l1_ratio=0.3, class_weight="balanced", fit_intercept=False), "two float32 texts",
    ),
    "LinearSVC l1 three": (lambda: gapless.LinearSVC(penalty="l1", C=0.2), "three sparse"),
    "LinearSVC l1 penalised": (
        lambda: gapless.LinearSVC(penalty="l1", penalize_intercept=True, intercept_scaling=3.0), "two bools",
    ),
    "LeastSquaresClassifier": (lambda: gapless.LeastSquaresClassifier(class_weight="balanced"), "three"),
    "LeastSquaresClassifier ridge": (lambda: gapless.LeastSquaresClassifier(alpha=1.0), "two texts"),
    "SVC": (lambda: gapless.SVC(), "two"),
    "SVC three": (lambda: gapless.SVC(C=3.0, class_weight="balanced"), "three weights"),
    "SVC linear sparse": (lambda: gapless.SVC(kernel="linear"), "two sparse"),
    "SVC poly": (lambda: gapless.SVC(kernel="poly", degree=2, coef0=1.0, gamma=0.5), "two"),
    "SVC sigmoid": (lambda: gapless.SVC(kernel="sigmoid", gamma=0.1), "two"),
    "SVC precomputed": (lambda: gapless.SVC(kernel="precomputed"), "two kernel"),
    "SVC precomputed indefinite": (lambda: gapless.SVC(kernel="precomputed"), "two kernel indefinite"),
    "SVC hard margin": (lambda: gapless.SVC(C=np.inf, kernel="linear"), "two apart"),
    "SVC hard margin stopped at once": (lambda: gapless.SVC(C=np.inf, time_limit=1e-9), "three apart"),
    "SVC float32": (lambda: gapless.SVC(gamma="auto"), "two float32"),
    "NuSVC": (lambda: gapless.NuSVC(nu=0.4), "two"),
    "SVR": (lambda: gapless.SVR(C=2.0, epsilon=0.2), "numbers"),
    "SVR sigmoid": (lambda: gapless.SVR(kernel="sigmoid", gamma=0.05), "numbers"),
    "NuSVR": (lambda: gapless.NuSVR(nu=0.4), "numbers weights"),
    "OneClassSVM": (lambda: gapless.OneClassSVM(nu=0.3), "two"),
    "Perceptron": (lambda: gapless.Perceptron(), "two apart"),
    "Perceptron overlap": (lambda: gapless.Perceptron(max_iter=20), "two"),
    "Perceptron stopped at once": (lambda: gapless.Perceptron(time_limit=1e-9, shuffle=False), "two rare"),
    "Perceptron three": (lambda: gapless.Perceptron(max_iter=8, eta0=0.5), "three apart"),
    "Perceptron averaged": (lambda: gapless.Perceptron(variant="averaged", max_iter=6), "two"),
    "Perceptron voted": (lambda: gapless.Perceptron(variant="voted", max_iter=3), "two"),
    "Perceptron pocket": (lambda: gapless.Perceptron(variant="pocket", max_iter=6, certify=False), "two weights"),
    "Perceptron penalty": (lambda: gapless.Perceptron(penalty="l2", max_iter=5), "two"),
    "Perceptron early": (lambda: gapless.Perceptron(early_stopping=True, max_iter=30), "two"),
    "GaussianDiscriminant": (lambda: gapless.GaussianDiscriminant(), "three"),
    "GaussianDiscriminant spherical": (lambda: gapless.GaussianDiscriminant(covariance="spherical"), "two weights"),
    "GaussianDiscriminant per class": (
        lambda: gapless.GaussianDiscriminant(covariance="per_class", shrinkage=0.2),
        "three texts",
    ),
    "LinearDiscriminantAnalysis": (lambda: gapless.LinearDiscriminantAnalysis(), "three"),
    "LinearDiscriminantAnalysis lsqr": (
        lambda: gapless.LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto", priors=[0.2, 0.3, 0.5]),
        "three",
    ),
    "LinearDiscriminantAnalysis eigen": (
        lambda: gapless.LinearDiscriminantAnalysis(solver="eigen", shrinkage=0.3),
        "two float32",
    ),
    "QuadraticDiscriminantAnalysis": (lambda: gapless.QuadraticDiscriminantAnalysis(reg_param=0.1), "three"),
    "AdaBoostClassifier": (lambda: gapless.AdaBoostClassifier(n_estimators=6), "two"),
    "AdaBoostClassifier three": (
        lambda: gapless.AdaBoostClassifier(n_estimators=5, learning_rate=0.7),
        "three weights texts",
    ),
    "AdaBoostClassifier trees": (
        lambda: gapless.AdaBoostClassifier(gapless.DecisionTreeClassifier(max_depth=2), n_estimators=4),
        "two",
    ),
    "AdaBoostRegressor": (lambda: gapless.AdaBoostRegressor(n_estimators=4, random_state=0), "numbers"),
    "BaggingClassifier": (lambda: gapless.BaggingClassifier(n_estimators=3, random_state=0, oob_score=True), "two"),
    "BaggingClassifier without replacement": (
        lambda: gapless.BaggingClassifier(n_estimators=3, random_state=0, bootstrap=False, max_samples=0.6),
        "three texts",
    ),
    "BaggingRegressor": (
        lambda: gapless.BaggingRegressor(n_estimators=3, random_state=0, bootstrap_features=True, max_features=0.7),
        "numbers weights",
    ),
    "DecisionTreeClassifier": (lambda: gapless.DecisionTreeClassifier(), "three weights"),
    "DecisionTreeClassifier limits": (
        lambda: gapless.DecisionTreeClassifier(
            criterion="entropy", max_depth=3, min_samples_leaf=2, class_weight="balanced"
        ),
        "two texts",
    ),
    "DecisionTreeClassifier leaves": (lambda: gapless.DecisionTreeClassifier(max_leaf_nodes=4), "three float32"),
    "DecisionTreeClassifier decrease": (lambda: gapless.DecisionTreeClassifier(min_impurity_decrease=0.05), "three"),
    "DecisionTreeClassifier pruned": (lambda: gapless.DecisionTreeClassifier(ccp_alpha=0.02), "three"),
    "DecisionTreeClassifier missing": (lambda: gapless.DecisionTreeClassifier(max_depth=4), "two gaps"),
    "DecisionTreeClassifier categories": (
        lambda: gapless.DecisionTreeClassifier(categorical_features=[1], max_depth=3),
        "two codes",
    ),
    "DecisionTreeClassifier random": (
        lambda: gapless.DecisionTreeClassifier(splitter="random", random_state=1, max_features=2),
        "two",
    ),
    "DecisionTreeRegressor of the command line": (
        lambda: gapless.DecisionTreeRegressor(max_depth=2),
        "numbers twins hashes",
    ),
    "DecisionTreeRegressor": (lambda: gapless.DecisionTreeRegressor(max_depth=3), "numbers weights"),
    "DecisionTreeRegressor medians": (
        lambda: gapless.DecisionTreeRegressor(criterion="absolute_error", max_depth=3),
        "numbers weights",
    ),
    "DecisionTreeRegressor counts": (
        lambda: gapless.DecisionTreeRegressor(criterion="poisson", min_samples_leaf=3),
        "positive zeros",
    ),
    "DecisionTreeRegressor rising": (
        lambda: gapless.DecisionTreeRegressor(monotonic_cst=[1, -1, 0], max_depth=3),
        "numbers weights",
    ),
    "DecisionTreeRegressor rising medians": (
        lambda: gapless.DecisionTreeRegressor(criterion="absolute_error", monotonic_cst=[1, -1, 0], max_leaf_nodes=5),
        "numbers",
    ),
    "DecisionTreeClassifier rising": (
        lambda: gapless.DecisionTreeClassifier(monotonic_cst=[1, 0, -1], max_depth=4),
        "two weights",
    ),
    "DecisionTreeRegressor targets": (lambda: gapless.DecisionTreeRegressor(min_samples_leaf=3), "targets"),
    "LinearSVC bounds": (lambda: gapless.LinearSVC(loss="hinge"), "two bounds"),
    "LogisticRegression bounds": (lambda: gapless.LogisticRegression(), "two bounds"),
    "SVC linear bounds": (lambda: gapless.SVC(kernel="linear"), "two bounds trained"),
    "BaggingClassifier bounds": (lambda: gapless.BaggingClassifier(n_estimators=3, random_state=0), "two bounds trained"),
    "SVC class without weight": (lambda: gapless.SVC(gamma=0.2), "three weightless"),
    "SVC sigmoid class without weight": (lambda: gapless.SVC(kernel="sigmoid", gamma=0.1), "three weightless"),
    "NuSVC class without weight": (lambda: gapless.NuSVC(nu=0.3), "three weightless"),
    "LinearSVC zeros": (lambda: gapless.LinearSVC(loss="hinge", class_weight="balanced"), "three zeros"),
    "LinearRegression equal columns": (lambda: gapless.LinearRegression(), "numbers columns"),
    "LogisticRegression no penalty equal columns": (lambda: gapless.LogisticRegression(C=np.inf), "two columns"),
    "LinearDiscriminantAnalysis equal columns": (lambda: gapless.LinearDiscriminantAnalysis(), "three columns"),
    "LinearDiscriminantAnalysis lsqr equal columns": (
        lambda: gapless.LinearDiscriminantAnalysis(solver="lsqr"),
        "three columns",
    ),
    "SVC poly negative": (lambda: gapless.SVC(kernel="poly", degree=2, coef0=-0.01, gamma=0.5), "two"),
    "NuSVR zeros": (lambda: gapless.NuSVR(kernel="linear"), "numbers zeros"),
    "AdaBoostClassifier zeros": (lambda: gapless.AdaBoostClassifier(n_estimators=4), "two zeros"),
    "BaggingClassifier some features": (
        lambda: gapless.BaggingClassifier(n_estimators=3, max_features=2, random_state=1),
        "two",
    ),
    "DecisionTreeClassifier leaves zeros": (
        lambda: gapless.DecisionTreeClassifier(max_leaf_nodes=5, criterion="entropy"),
        "three zeros",
    ),
    "DecisionTreeRegressor leaves": (lambda: gapless.DecisionTreeRegressor(max_leaf_nodes=6), "numbers zeros"),
    "LinearDiscriminantAnalysis directions": (lambda: gapless.LinearDiscriminantAnalysis(tol=0.3), "three"),
}  # fmt: skip
#: Proofs of separation: the kind of data, and whether there is an offset.
PROOFS: dict[str, tuple[str, bool]] = {
    "separability complete": ("two apart", True),
    "separability overlap": ("two weights", True),
    "separability overlap three": ("three", False),
    "separability complete three": ("three steps", True),
    "separability quasi": ("two touch", True),
}

#: Fits of one session, made once.
_MADE: dict[str, Fit] = {}


def fitted(make: Make, data: Data) -> Any:
    model = make()
    with warnings.catch_warnings(), config_context(convergence="ignore"):
        warnings.simplefilter("ignore")
        y = None if isinstance(model, gapless.OneClassSVM) else data.y
        weights = {} if data.sample_weight is None else {"sample_weight": data.sample_weight}
        return model.fit(data.X, y, **weights)


def fit_of(name: str) -> Fit:
    """The honest fit of that name; nobody changes it."""
    if name not in _MADE and name in PROOFS:
        kind, offset = PROOFS[name]
        data = rows_of(kind)
        proof = gapless.separability(data.X, data.y, fit_intercept=offset, sample_weight=data.sample_weight)
        _MADE[name] = Fit(name, proof.document(), {}, data)
    elif name not in _MADE:
        make, kind = ZOO[name]
        data = rows_of(kind)
        model = fitted(make, data)
        new = None
        if "bounds" in kind.split():
            seen = data.X[:12] + np.arange(12)[:, None] % 4 * 0.3  # three of these occur in training
            new = None if "trained" in kind.split() else Data(seen, data.y[:12])
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                gapless.bounds(model, data.X, data.y, **({} if new is None else {"X_test": new.X, "y_test": new.y}))
        certificate = model.certificate_
        document, arrays = certificate.document(), dict(certificate.arrays)
        if "hashes" in kind.split():  # as in the files of the command line
            known = RowHashes.of(certificate.fingerprint["rows"], rows_as_named(certificate, data.X))
            document["training_rows"] = {"distinct": known.hashes.size, "twins": known.twins}
            arrays["training_rows"] = known.hashes
        _MADE[name] = Fit(name, document, arrays, data, model, new)
    return _MADE[name]
