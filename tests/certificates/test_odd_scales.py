"""Which data are of odd scales, and what becomes of a certificate there that the judge refuses."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine

import gapless
from gapless import judge
from gapless.certificates.confirmation.odd_scales import is_odd
from gapless.judge.verdict import Claim, Verdict

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(40, 3))
y = (X[:, 0] + 0.5 * RANDOM.normal(size=40) > 0).astype(int)

#: Ordinary, if awkward: X, targets, weights.
ORDINARY = {
    "iris": (load_iris().data, None, None),
    "wine": (load_wine().data, None, None),
    "breast cancer": (load_breast_cancer().data, None, None),
    "digits, with columns of zeros": (load_digits().data, None, None),
    "diabetes": (load_diabetes().data, load_diabetes().target, None),
    "a date in seconds, a flag and a share": (
        np.column_stack([1.7e9 + 1e5 * X[:, 0], X[:, 1] > 0, 0.4 + 0.1 * np.abs(X[:, 2])]), None, None,
    ),
    "a constant": (np.column_stack([X, np.full(40, 1e8)]), None, None),
    "incomes, and targets far from 0": (X * [1e5, 1.0, 1e-3] + [2e5, 0, 0], 1e7 + X[:, 0], None),
    "weights over six decades": (X, X[:, 0], 10.0 ** RANDOM.uniform(-3, 3, 40)),
    "weights of 0": (X, X[:, 0], (X[:, 0] > 0).astype(float)),
    "zeros": (np.zeros((5, 2)), np.zeros(5), None),
    "float32": (X.astype(np.float32) * np.float32(1e9), None, None),
    "CSR": (sparse.csr_matrix(np.where(X > 1, X, 0.0)), None, None),
    "NaN": (np.where(X > 2, np.nan, X), None, None),
}  # fmt: skip

ODD = {
    "large": (X * 1e20, None, None),
    "small": (X * 1e-25, None, None),
    "columns of very different size": (X * [1e6, 1.0, 1e-6], None, None),
    "far from 0": (X + 1e9, None, None),
    "large targets": (X, X[:, 0] * 1e40, None),
    "targets far from 0": (X, X[:, 0] + 1e9, None),
    "one of two targets": (X, X[:, :2] * [1.0, 1e-60], None),
    "weights over sixteen decades": (X, None, 10.0 ** np.linspace(-8, 8, 40)),
    "large weights": (X, None, np.full(40, 1e70)),
    "large in CSR": (sparse.csr_matrix(X * 1e20), None, None),
}


@pytest.mark.parametrize("name", ORDINARY)
def test_ordinary_data_are_not_odd(name):
    assert not is_odd(*ORDINARY[name])


@pytest.mark.parametrize("name", ODD)
def test_odd_data_are(name):
    assert is_odd(*ODD[name])


MAKERS = {
    "LinearSVC": (gapless.LinearSVC, "labels"),
    "LogisticRegression": (gapless.LogisticRegression, "labels"),
    "LogisticRegression without a penalty": (lambda: gapless.LogisticRegression(C=np.inf), "labels"),
    "LinearRegression": (gapless.LinearRegression, "numbers"),
    "Ridge": (gapless.Ridge, "numbers"),
    "LeastSquaresClassifier": (gapless.LeastSquaresClassifier, "labels"),
    "SVC": (gapless.SVC, "labels"),
    "SVR": (gapless.SVR, "numbers"),
    "OneClassSVM": (gapless.OneClassSVM, "numbers"),
    "Perceptron": (gapless.Perceptron, "labels"),
    "GaussianDiscriminant": (gapless.GaussianDiscriminant, "labels"),
    "LinearDiscriminantAnalysis": (gapless.LinearDiscriminantAnalysis, "labels"),
    "QuadraticDiscriminantAnalysis": (gapless.QuadraticDiscriminantAnalysis, "labels"),
    "DecisionTreeClassifier": (gapless.DecisionTreeClassifier, "labels"),
    "DecisionTreeRegressor": (gapless.DecisionTreeRegressor, "numbers"),
    "AdaBoostClassifier": (lambda: gapless.AdaBoostClassifier(n_estimators=3), "labels"),
    "AdaBoostRegressor": (lambda: gapless.AdaBoostRegressor(n_estimators=3), "numbers"),
    "BaggingClassifier": (lambda: gapless.BaggingClassifier(n_estimators=3), "labels"),
    "BaggingRegressor": (lambda: gapless.BaggingRegressor(n_estimators=3), "numbers"),
}  # fmt: skip


@pytest.mark.parametrize("name", MAKERS)
def test_what_the_judge_refuses_is_claimed_at_ordinary_scales_alone(name, monkeypatch, tmp_path):
    """There it is a fault, and is to be seen; elsewhere the model is there, can be used and kept, and claims nothing."""
    make, wants = MAKERS[name]
    targets = y if wants == "labels" else X[:, 0] + 0.1 * X[:, 1]
    calls = []

    def refuse(*everything):
        calls.append(everything)
        return Verdict([Claim("planted", 1, 2, False)], [])

    monkeypatch.setattr(judge, "check", refuse)
    odd = X * [1e10, 1.0, 1.0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ordinary = make().fit(X, targets).certificate_
    assert calls == []
    assert ordinary.status != "not_finite"
    with pytest.warns(gapless.ConvergenceWarning):
        model = make().fit(odd, targets)
    monkeypatch.undo()
    assert len(calls) > 0
    assert model.certificate_.status == "not_finite"
    assert not model.certificate_.converged
    assert getattr(model, "status_", "not_finite") == "not_finite"
    assert "nan" not in str(model.predict(odd[:3]))
    assert str(model.certificate_)
    assert repr(model.certificate_)
    assert isinstance(gapless.verify(model, odd, targets), Verdict)
    gapless.save(model, tmp_path / "model.gapless")
    assert gapless.load(tmp_path / "model.gapless").certificate_.status == "not_finite"


def test_what_the_judge_accepts_stays_as_it_is(monkeypatch):
    before = gapless.LinearSVC().fit(X * [1e7, 1.0, 1e-4], y).certificate_
    assert before.status == "converged"
    monkeypatch.setattr(judge, "check", None)  # is not asked
    from gapless.certificates.confirmation import odd_scales

    monkeypatch.setattr(odd_scales, "is_odd", lambda *data: False)
    after = gapless.LinearSVC().fit(X * [1e7, 1.0, 1e-4], y).certificate_
    assert (after.primal, after.dual, after.status) == (before.primal, before.dual, before.status)


def test_many_rows_are_not_asked_about(monkeypatch):
    monkeypatch.setattr(judge, "check", None)
    rows = RANDOM.normal(size=(2_001, 2)) * [1e12, 1.0]
    assert gapless.LinearRegression().fit(rows, rows[:, 1]).certificate_.converged


class Alarm(ValueError):
    """What a signal handler raises."""


def test_what_a_signal_handler_raises_while_the_judge_works_is_passed_on(monkeypatch):
    real = judge.check

    def interrupted(document, *data):
        def ring():
            raise Alarm("now")

        class Ringing(dict):
            def __iter__(self):
                ring()

        return real(document, Ringing(), *data[1:])

    monkeypatch.setattr(judge, "check", interrupted)
    with pytest.raises(Alarm):
        gapless.Ridge().fit(X * [1e6, 1.0, 1e-6], X[:, 0])


def test_what_the_judge_itself_falls_over_claims_nothing(monkeypatch):
    def fall(*everything):
        raise judge.CertificateError("it does not fit in memory")

    monkeypatch.setattr(judge, "check", fall)
    with pytest.warns(gapless.ConvergenceWarning):
        assert gapless.Ridge().fit(X * [1e6, 1.0, 1e-6], X[:, 0]).certificate_.status == "not_finite"
