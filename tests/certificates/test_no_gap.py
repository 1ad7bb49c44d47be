"""Where there is no gap, primal, dual, gap and relative_gap say None: in the model, the file, the judge and the page."""

from __future__ import annotations

import json

import numpy as np
import pytest

import gapless
from gapless import judge

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(40, 2))
SIDE = (X[:, 0] + 0.3 * RANDOM.normal(size=40) > 0.0).astype(int)
THREE = np.arange(40) % 3
FIGURES = ("dual", "gap", "relative_gap")


def sigmoid(y, **options):
    return gapless.SVC(kernel="sigmoid", gamma=1.0, coef0=-1.0, **options).fit(X, y)


@pytest.mark.filterwarnings("ignore::gapless.IllConditionedWarning", "ignore::gapless.ConvergenceWarning")
@pytest.mark.parametrize("y", [SIDE, THREE], ids=["two", "three"])
@pytest.mark.parametrize("options", [{}, {"max_iter": 1}], ids=["converged", "stopped"])
def test_kernels_without_a_dual_bound(y, options, tmp_path):
    model = sigmoid(y, **options)
    # K has a negative eigenvalue, by another library: the dual bounds nothing.
    assert np.linalg.eigvalsh(np.tanh(X @ X.T - 1.0)).min() < -0.1
    certificate = model.certificate_
    assert certificate.kind == "heuristic"
    for part in (certificate, *certificate.subproblems):
        assert [getattr(part, name) for name in FIGURES] == [None, None, None]
        assert np.isfinite(part.primal)
    assert gapless.verify(model, X, y)
    gapless.save(model, tmp_path / "model.gapless")
    back = gapless.load(tmp_path / "model.gapless")
    assert back.certificate_ == certificate
    assert back.certificate_.gap is None
    assert "nan" not in certificate.to_json()
    assert json.loads(certificate.to_json())["certificate"]["gap"] is None
    assert "nan" not in repr(certificate) + certificate._repr_html_() + str(certificate)
    assert np.isnan(gapless.gap_scorer(model))
    page = gapless.report(model, X, y, pictures=False).html
    assert "There is no gap" in page


@pytest.mark.filterwarnings("ignore::gapless.IllConditionedWarning")
@pytest.mark.parametrize("value", [0.0, "inf", 1e-9])
@pytest.mark.parametrize("name", FIGURES)
def test_the_judge_takes_no_gap_from_a_kernel_without_one(name, value):
    certificate = sigmoid(SIDE).certificate_
    arrays = {key: np.asarray(array) for key, array in certificate.arrays.items()}
    for part in ("whole", "first"):
        document = certificate.document()
        block = document["certificate"]
        (block if part == "whole" else block["subproblems"][0])[name] = value
        with pytest.raises(judge.CertificateError, match="null for the kind heuristic, and for no other"):
            judge.check(document, arrays, X, SIDE)
    document = certificate.document()
    document["certificate"][name] = "nan"  # as files of before say it
    assert judge.check(document, arrays, X, SIDE)
    other = gapless.SVC().fit(X, SIDE).certificate_
    document = other.document()
    document["certificate"][name] = None
    with pytest.raises(judge.CertificateError, match="null for the kind heuristic, and for no other"):
        judge.check(document, dict(other.arrays), X, SIDE)


@pytest.mark.parametrize(
    "model",
    [
        gapless.GaussianDiscriminant(),
        gapless.LinearDiscriminantAnalysis(),
        gapless.QuadraticDiscriminantAnalysis(),
        gapless.DecisionTreeClassifier(max_depth=2),
        gapless.DecisionTreeRegressor(max_depth=2),
        gapless.BaggingClassifier(n_estimators=3, random_state=0),
        gapless.BaggingRegressor(n_estimators=3, random_state=0),
        gapless.AdaBoostClassifier(n_estimators=3),
        gapless.AdaBoostRegressor(n_estimators=3, random_state=0),
        gapless.Perceptron(max_iter=50),
        gapless.LinearRegression(),
    ],
    ids=lambda model: type(model).__name__,
)
@pytest.mark.filterwarnings("ignore::gapless.ConvergenceWarning")
def test_kinds_without_a_gap(model):
    certificate = model.fit(X, SIDE).certificate_
    assert certificate.kind != "gap"
    assert [getattr(certificate, name) for name in FIGURES] == [None, None, None]
    assert np.isnan(gapless.gap_scorer(model))
