"""Small data by numpy: without numba, with the same optimum as kernels find, and the same fingerprint."""

from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pytest

import gapless
from tests.package.processes import environment

#: Families with a way in numpy: estimator, its parameters, classes of the targets (0: numbers).
FITS = {
    "least squares": ("LinearRegression", {}, 0),
    "ridge": ("Ridge", {"alpha": 2.0}, 0),
    "least squares, classes": ("LeastSquaresClassifier", {}, 3),
    "linear discriminant": ("LinearDiscriminantAnalysis", {}, 3),
    "quadratic discriminant": ("QuadraticDiscriminantAnalysis", {}, 2),
    "squared hinge": ("LinearSVC", {}, 2),
    "squared hinge, classes": ("LinearSVC", {"C": 10.0}, 3),
    "squared hinge, penalised offset": ("LinearSVC", {"penalize_intercept": True}, 2),
    "squared hinge, weights": ("LinearSVC", {"class_weight": "balanced", "C": 0.1}, 2),
    "logistic": ("LogisticRegression", {}, 2),
    "logistic, no offset": ("LogisticRegression", {"fit_intercept": False, "C": 100.0}, 2),
    "softmax": ("LogisticRegression", {}, 3),
    "hinge": ("LinearSVC", {"loss": "hinge"}, 2),
    "hinge, classes": ("LinearSVC", {"loss": "hinge", "C": 0.05}, 3),
    "kernel": ("SVC", {}, 2),
    "kernel, classes": ("SVC", {"C": 10.0, "class_weight": "balanced"}, 3),
    "kernel, products": ("SVC", {"kernel": "poly", "degree": 2, "coef0": 1.0}, 2),
    "kernel, linear": ("SVC", {"kernel": "linear", "C": 0.1}, 3),
    "kernel, nu": ("NuSVC", {"nu": 0.6}, 2),
    "kernel, numbers": ("SVR", {"C": 10.0}, 0),
    "kernel, numbers, nu": ("NuSVR", {}, 0),
    "kernel, one class": ("OneClassSVM", {"nu": 0.2}, 0),
}

#: Fits that need no numba either, and have no optimum that both backends must find.
ALONE_TOO = {"perceptron": ("Perceptron", {}, 2), "perceptron, classes": ("Perceptron", {}, 3)}

#: Trees by numpy have the kernels' bits, and say nothing of how they were grown.
TREES = {
    "tree": ("DecisionTreeClassifier", {}, 3),
    "regression tree": ("DecisionTreeRegressor", {}, 0),
    "bags": ("BaggingClassifier", {"n_estimators": 3}, 2),
    "bags of regression trees": ("BaggingRegressor", {"n_estimators": 3}, 0),
    "boosted regression trees": ("AdaBoostRegressor", {"n_estimators": 5}, 0),
}

ALONE = """
import sys
import numpy as np
import gapless
from tests.package.test_numpy_backend import ALONE_TOO, FITS, TREES, draw
for family, (name, parameters, classes) in {**FITS, **ALONE_TOO, **TREES}.items():
    X, y = draw(7, 200, 6, classes)
    model = getattr(gapless, name)(**parameters).fit(X, y)
    model.predict(X)
    assert gapless.verify(model, X, y), family
    assert family in TREES or model.certificate_.backend == "cpu numpy", family
    assert "numba" not in sys.modules, family
    assert "llvmlite" not in sys.modules, family
"""


def draw(seed: int, n: int, d: int, classes: int, separation: float = 0.7):
    """Rows of unequal columns, some of them equal, and targets that depend on the first ones."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, d)) * np.linspace(0.5, 2.0, d) + random.normal(size=d)
    X[n // 2] = X[0]
    score = separation * (X - X.mean(axis=0)) @ np.linspace(1.0, -0.5, d) + random.normal(size=n)
    if classes == 0:
        return X, score
    return X, np.searchsorted(np.quantile(score, np.arange(1, classes) / classes), score)


def test_a_small_fit_imports_no_numba():
    done = subprocess.run(
        [sys.executable, "-c", ALONE], env=environment(), capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""


def both(family: str, X, y):
    """The model by numpy and that by kernels."""
    name, parameters, _ = FITS[family]
    models = []
    for backend in ("numpy", "numba"):
        with gapless.config_context(backend=backend):
            models.append(getattr(gapless, name)(**parameters).fit(X, y))
    return models


#: Each family on each shape; a class of fewer rows than columns has no covariance of full rank.
CASES = [
    (family, shape)
    for family in FITS
    for shape in ((40, 3), (300, 12), (60, 90), (1500, 2))
    if shape[0] > shape[1] or not family.endswith("discriminant")
]


@pytest.mark.parametrize(("family", "shape"), CASES, ids=str)
def test_backends_agree(family, shape):
    """The optima differ by at most the sum of the gaps, and the judge accepts both."""
    X, y = draw(sum(shape), *shape, FITS[family][2])
    ours, theirs = both(family, X, y)
    assert (ours.certificate_.backend, theirs.certificate_.backend[:9]) == (
        "cpu numpy",
        theirs.certificate_.backend[:9],
    )
    assert theirs.certificate_.backend != "cpu numpy"
    assert ours.certificate_.fingerprint == theirs.certificate_.fingerprint
    for model in (ours, theirs):
        assert gapless.verify(model, X, y)
        assert model.certificate_.status == "converged"
    primal = [getattr(model.certificate_, "primal", None) for model in (ours, theirs)]
    if None in primal:  # the solution is unique, and rounding is all that differs
        np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-7, atol=1e-7)
        return
    gaps = sum(abs(model.certificate_.gap) for model in (ours, theirs))
    assert abs(primal[0] - primal[1]) <= gaps + 1e-12 * abs(primal[0])
    assert math.isfinite(gaps)


#: Shapes on either side of the border of 400,000 values, tall and wide; of each family one is in the default run.
BORDER = [
    pytest.param(family, shape, marks=() if k % 4 == at else pytest.mark.slow)
    for k, family in enumerate(f for f in FITS if not f.startswith("kernel"))
    for at, shape in enumerate(((19_900, 20), (20_100, 20), (625, 639), (625, 641)))
    if shape[0] > 4 * shape[1] or not family.endswith("discriminant")
]


@pytest.mark.parametrize(("family", "shape"), BORDER, ids=str)
def test_backends_agree_on_either_side_of_the_border(family, shape):
    """Which backend a fit asks for changes its optimum by no more than the sum of the gaps, and the judge accepts both."""
    name, parameters, classes = FITS[family]
    X, y = draw(sum(shape), *shape, classes)
    chosen = getattr(gapless, name)(**parameters).fit(X, y)
    if not family.endswith("discriminant"):  # LAPACK has them on any size
        assert (chosen.certificate_.backend == "cpu numpy") == (X.size < 400_000)
    models = both(family, X, y)
    claims = [model.certificate_ for model in (*models, chosen)]
    for model in models:
        assert gapless.verify(model, X, y)
        assert model.certificate_.status == "converged"
    primal = [getattr(claim, "primal", None) for claim in claims]
    if None in primal:
        np.testing.assert_allclose(models[0].predict(X), models[1].predict(X), rtol=1e-7, atol=1e-7)
        return
    gaps = [abs(claim.gap) + claim.rounding for claim in claims]
    for k in (0, 1):
        assert abs(primal[k] - primal[2]) <= gaps[k] + gaps[2]
        assert min(claim.primal for claim in claims) >= claims[k].dual - claims[k].rounding


@pytest.mark.parametrize("family", ["squared hinge, classes", "softmax", "ridge"])
def test_threads_change_no_bit(family):
    name, parameters, classes = FITS[family]
    X, y = draw(3, 400, 9, classes)
    one, two = (getattr(gapless, name)(n_jobs=n_jobs, **parameters).fit(X, y) for n_jobs in (1, 2))
    assert one.coef_.tobytes() == two.coef_.tobytes()
    assert one.certificate_.arrays["dual"].tobytes() == two.certificate_.arrays["dual"].tobytes()


def test_float32_and_fortran_order_are_read():
    X, y = draw(5, 150, 7, 2)
    usual = gapless.LinearSVC().fit(X, y)
    assert gapless.LinearSVC().fit(np.asfortranarray(X), y).coef_.tobytes() == usual.coef_.tobytes()
    single = gapless.LinearSVC().fit(X.astype(np.float32), y)
    assert gapless.verify(single, X.astype(np.float32), y)
    np.testing.assert_allclose(single.coef_, usual.coef_, rtol=1e-4, atol=1e-5)


def test_sparse_rows_and_forced_solvers_run_on_kernels():
    from scipy import sparse

    X, y = draw(9, 100, 5, 2)
    assert gapless.LinearSVC().fit(sparse.csr_matrix(X), y).certificate_.backend == "cpu numpy"  # written out
    assert gapless.LogisticRegression().fit(sparse.csr_matrix(X), y).certificate_.backend != "cpu numpy"
    wide = sparse.csr_matrix((X[:, 0], (np.arange(100), np.arange(100))), shape=(100, 1_501))
    assert gapless.LinearSVC().fit(wide, y).certificate_.backend != "cpu numpy"
    assert gapless.LinearSVC(solver="coordinate_descent").fit(X, y).certificate_.backend != "cpu numpy"
