"""The same forgeries, made of real fits, whose certificates are sharper than hand-made ones: not one is accepted."""

from __future__ import annotations

import numpy as np
import pytest
from judge_cases import Case
from judge_forgeries import forgeries
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_iris, load_wine

import gapless
from gapless._runtime.config import config_context
from gapless.judge import CertificateError, check

FITS = {
    "hinge, free, weights": (gapless.LinearSVC(loss="hinge"), load_wine, "weights"),
    "hinge, no offset, stopped early": (
        gapless.LinearSVC(loss="hinge", fit_intercept=False, max_iter=3, solver="coordinate_descent"),
        load_breast_cancer,
        "",
    ),
    "hinge, C = 1e3, sparse": (gapless.LinearSVC(loss="hinge", C=1e3), load_iris, "sparse"),
    "squared hinge, penalised, strings": (
        gapless.LinearSVC(penalize_intercept=True, intercept_scaling=2.0, class_weight="balanced"),
        load_iris,
        "strings",
    ),
    "squared hinge, free": (gapless.LinearSVC(C=0.01), load_breast_cancer, ""),
    "logistic, float32": (gapless.LogisticRegression(), load_breast_cancer, "float32"),
    "logistic, weights": (gapless.LogisticRegression(C=0.1, class_weight={0: 2.0}), load_iris, "two weights"),
    "softmax, weights": (gapless.LogisticRegression(class_weight="balanced"), load_iris, "weights"),
    "softmax, no offset, strings": (gapless.LogisticRegression(C=10.0, fit_intercept=False), load_iris, "strings"),
}


def case_of(model, load, how):
    X, y = load(return_X_y=True)
    if how.startswith("two"):
        X, y = X[y < 2], y[y < 2]
    rng = np.random.default_rng(0)
    weights = rng.integers(0, 4, y.size).astype(float) if "weights" in how else None
    if how == "float32":
        X = X.astype(np.float32)
    if how == "sparse":
        X = sparse.csr_matrix(X)
    if how == "strings":
        y = np.array(["a", "b", "c"])[y]
    with config_context(convergence="ignore"):
        model.fit(X, y, sample_weight=weights)
    certificate = model.certificate_
    return Case(certificate.document(), dict(certificate.arrays), X, y, weights)


def accepted(case):
    try:
        return bool(check(case.document, case.arrays, case.X, case.y, case.sample_weight))
    except CertificateError:
        return False


@pytest.mark.parametrize("name", FITS)
def test_forged_fits_are_refused(name):
    case = case_of(*FITS[name])
    assert accepted(case)
    made = [what for what, forged in forgeries(case, np.random.default_rng(1)) if accepted(forged)]
    assert made == []
