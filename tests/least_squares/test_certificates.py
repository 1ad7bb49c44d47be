"""What a least squares fit claims, and that the judge confirms what is true and nothing else."""

from __future__ import annotations

import copy
import warnings

import numpy as np
import pytest
from scipy import linalg, sparse
from sklearn import linear_model

from gapless import (
    CertificateError,
    ConvergenceWarning,
    IllConditionedWarning,
    LeastSquaresClassifier,
    LinearRegression,
    Ridge,
    judge,
    verify,
)
from gapless.certificates.least_squares import LeastSquaresCertificate
from tests.least_squares.test_answers import not_claimed, problem_of


@pytest.mark.filterwarnings("ignore:the columns .* are linearly dependent")
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("form", ["dense", "csr"])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("shape", [(70, 5), (3000, 120), (9, 25)])
def test_every_fit_is_verified(shape, fit_intercept, weighted, form, dtype):
    X, Y, s = problem_of(20, *shape)
    X, s = X.astype(dtype), s if weighted else None
    X = sparse.csr_matrix(X) if form == "csr" else X
    for model, y in (
        (LinearRegression(fit_intercept=fit_intercept), Y),
        (Ridge([0.5, 3.0], fit_intercept=fit_intercept), Y),
        (Ridge(1.0, fit_intercept=fit_intercept), Y[:, 0]),
        (Ridge([0.0, 3.0], fit_intercept=fit_intercept), Y),
        (LeastSquaresClassifier(fit_intercept=fit_intercept), Y[:, 0] > np.median(Y[:, 0])),
        (LeastSquaresClassifier(0.5, fit_intercept=fit_intercept, class_weight="balanced"), np.argsort(Y[:, 0]) % 3),
    ):
        model.fit(X, y, s)
        assert model.status_ == "converged"
        for rigorous in (False, True):
            verdict = verify(model, X, y, s, rigorous=rigorous)
            assert verdict, verdict
            verdict.to_json()


def test_without_a_penalty_there_is_no_gap():
    X, Y, _ = problem_of(21)
    certificate = LinearRegression().fit(X, Y).certificate_
    assert certificate.kind == "orthogonality"
    assert certificate.gap is certificate.primal is certificate.dual is certificate.relative_gap is None
    assert "no duality gap" in str(certificate)
    assert certificate.orthogonality < 1e-12
    assert certificate.r2 == pytest.approx(LinearRegression().fit(X, Y).score(X, Y))
    assert Ridge(0.0).fit(X, Y).certificate_.kind == "orthogonality"
    ridge = Ridge(1.0).fit(X, Y).certificate_
    assert ridge.kind == "gap"
    assert ridge.orthogonality is None
    assert abs(ridge.relative_gap) < 1e-12


def test_the_gap_of_ridge_is_its_objective():
    """2 alpha times the gap is the distance of sklearn's objective, at any model."""
    X, Y, s = problem_of(22)
    y = Y[:, 0]
    with pytest.warns(ConvergenceWarning, match="time_limit"):
        early = Ridge(3.0, time_limit=1e-9).fit(X, y, s)
    best = Ridge(3.0).fit(X, y, s)

    def objective(m):
        return s @ (y - m.predict(X)) ** 2 + 3.0 * m.coef_ @ m.coef_

    assert early.certificate_.primal * 6.0 == pytest.approx(objective(early))
    assert objective(early) - objective(best) <= 6.0 * early.certificate_.gap * (1 + 1e-12)
    assert early.status_ == "time_limit"
    assert verify(early, X, y, s)


def test_proved_bounds_enclose_the_optimum():
    random = np.random.default_rng(23)
    for _ in range(10):
        X = random.normal(size=(40, 4)) + random.normal(size=4) * 10
        y = random.normal(size=40)
        model = LinearRegression().fit(X, y)
        optimum = model.certificate_.rss
        model.coef_ = model.coef_ + random.normal(size=4) * 1e-3
        arrays = dict(model.certificate_.arrays, coef=model.coef_[None, :])
        verdict = judge.check(model.certificate_.document(), arrays, X, y, rigorous=True)
        assert not verdict
        high, low, excess = verdict.bounds[0]
        rss = ((y - X @ model.coef_ - model.intercept_) ** 2).sum()
        assert low <= optimum * (1 + 1e-13)
        assert rss <= high * (1 + 1e-12)
        assert rss - optimum <= excess <= 100 * (rss - optimum) + 1e-9


@pytest.mark.filterwarnings("ignore:the columns .* are linearly dependent")
def test_where_nothing_is_proved_the_optimum_is_at_least_zero():
    X, Y, _ = problem_of(24)
    X = np.column_stack([X, X[:, 0]])
    high, low, excess = verify(LinearRegression().fit(X, Y), X, Y, rigorous=True).bounds[0]
    assert low == 0.0
    assert excess == high


@pytest.mark.parametrize("model", [LinearRegression(), Ridge(1.0)])
def test_forgeries(model):
    X, Y, s = problem_of(25)
    model.fit(X, Y, s)
    document, arrays = model.certificate_.document(), dict(model.certificate_.arrays)
    assert judge.check(document, arrays, X, Y, s)

    def forged(change):
        other = copy.deepcopy(document)
        change(other)
        return judge.check(other, arrays, X, Y, s)

    target = document["certificate"]["targets"][0]
    for name in target:
        if name == "status":
            assert not forged(lambda d: d["certificate"]["targets"][0].update(status="stalled"))
            continue
        factor = 1e6 if name in ("rounding", "orthogonality", "gap", "relative_gap") else 0.999
        extra = 1.0 if name in ("gap", "relative_gap", "orthogonality") else 0.0
        value = target[name] * factor + extra
        assert not forged(lambda d, name=name, value=value: d["certificate"]["targets"][0].update({name: value})), name
    assert not forged(lambda d: d["certificate"].update(status="max_iter"))
    assert not forged(lambda d: d["certificate"].update(rank=1))
    assert not forged(lambda d: d["problem"].update(alpha=[7.0, 7.0]))
    assert not forged(lambda d: d["problem"].update(offset="none"))
    assert not forged(lambda d: d["certificate"].update(tol=1.0))
    assert not forged(lambda d: d["parameters"].update(positive=True))
    moved = dict(arrays, coef=arrays["coef"] + 1e-4)
    assert not judge.check(document, moved, X, Y, s)
    for change in (
        lambda d: d["certificate"].pop("targets"),
        lambda d: d["certificate"].update(kind="bound"),
        lambda d: d["certificate"].update(surprise=1),
        lambda d: d["problem"].update(loss="hinge"),
        lambda d: d.update(schema=99),
        lambda d: d["certificate"]["targets"][0].update(rss="much"),
    ):
        with pytest.raises(CertificateError):
            forged(change)


def test_a_changed_model_is_seen():
    X, Y, _ = problem_of(26)
    model = LinearRegression().fit(X, Y)
    model.coef_[0, 0] += 1e-7
    assert not verify(model, X, Y)


def test_other_data_raise():
    X, Y, s = problem_of(27)
    model = LinearRegression().fit(X, Y, s)
    other = X.copy()
    other[3, 1] += 1e-9
    for args in ((other, Y, s), (X, Y + 1e-9, s), (X, Y, s + 1.0), (X, Y), (X[:-1], Y[:-1], s[:-1]), (X, Y[:, :1], s)):
        with pytest.raises(CertificateError):
            verify(model, *args)


def test_document_round_trip():
    X, Y, _ = problem_of(28)
    for model in (LinearRegression(), Ridge([1.0, 2.0])):
        certificate = model.fit(X, Y).certificate_
        again = LeastSquaresCertificate.from_document(certificate.document(), certificate.arrays)
        assert again == certificate
        assert verify(again, X, Y)
        assert certificate._repr_html_()
        assert repr(certificate)
        assert "rows" in model.objective_


# -- conditioning ------------------------------------------------------------------------------------------------------


def collinear(k, n=300):
    random = np.random.default_rng(30)
    X = random.normal(size=(n, 5))
    X[:, 4] = X[:, 1] + k * random.normal(size=n)
    return X, X @ np.ones(5) + random.normal(size=n)


def test_the_warning_names_the_columns():
    pandas = pytest.importorskip("pandas")
    X, y = collinear(1e-10)
    with pytest.warns(IllConditionedWarning, match="the columns 1, 4 are nearly collinear"):
        model = LinearRegression().fit(X, y)
    assert model.condition_ > 1e8
    frame = pandas.DataFrame(X, columns=list("abcde"))
    with pytest.warns(IllConditionedWarning, match="the columns 'b', 'e' are"):
        LinearRegression().fit(frame, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Ridge(1.0).fit(X, y)  # the advice of the warning leads to no warning
        LinearRegression().fit(X[:, :4], y)


@pytest.mark.parametrize("k", [1e-3, 1e-6])
def test_no_warning_where_the_digits_are_right(k):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        X, y = collinear(k)
        model = LinearRegression().fit(X, y)
        assert model.rank_ == 5
        assert verify(model, X, y)


def test_wild_scales_are_judged_true():
    """Columns, means, weights and penalties over many orders: claims are true; figures that are rounding are not claimed."""
    random = np.random.default_rng(31)
    for draw in range(60):
        n, d, K = (int(random.integers(1, top)) for top in (60, 10, 4))
        X = random.normal(size=(n, d)) * 10.0 ** random.uniform(-6, 6, d) + 10.0 ** random.uniform(-3, 5)
        Y = random.normal(size=(n, K)) * 10.0 ** random.uniform(-6, 6) + 10.0 ** random.uniform(-3, 6)
        s = 10.0 ** random.uniform(-6, 6, n) if draw % 2 else None
        for model in (LinearRegression(fit_intercept=bool(draw % 3)), Ridge(10.0 ** random.uniform(-12, 8, K))):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model.fit(X, Y, s)
            verdict = verify(model, X, Y, s, rigorous=draw % 5 == 0)
            assert verdict or not_claimed(model.certificate_, verdict), verdict


# -- tol ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tol", [1e-1, 1e-3, 1e-6])
@pytest.mark.parametrize("form", ["dense", "csr", "csr, conjugate gradients"])
def test_tol_is_the_precision_of_scikit_learn(form, tol):
    """|X'r| <= tol |X| |r|, columns and rows about their means: where scikit-learn stops, and what we reach."""
    random = np.random.default_rng(32)
    if form == "csr, conjugate gradients":
        X = sparse.random_array((2500, 1600), density=0.01, rng=random, format="csr")
    else:
        dense = random.normal(size=(200, 6)) * [1.0, 3.0, 10.0, 1.0, 0.01, 0.1]
        X = dense if form == "dense" else sparse.csr_matrix(dense)
    filled = X if form == "dense" else X.toarray()
    y = filled @ random.normal(size=X.shape[1]) + random.normal(size=X.shape[0])
    A = filled - filled.mean(axis=0)
    # LSQR, which scikit-learn takes for sparse rows, stops by an estimate of |X|, and can end above the tolerance.
    for fit, room in (LinearRegression(tol=tol), 1.0), (linear_model.LinearRegression(tol=tol), 3.0):
        r = y - fit.fit(X, y).predict(X)
        reached = np.linalg.norm(A.T @ r) / (np.linalg.norm(A) * np.linalg.norm(r))
        assert reached <= room * tol
    ours = LinearRegression(tol=tol).fit(X, y)
    assert ours.status_ == "converged"
    if form == "csr, conjugate gradients":
        assert ours.certificate_.solver == "sparse_cg"
    # What it means for us is the stronger of the two: no column is left out, however small.
    wanted = linalg.lstsq(A, y - y.mean(), lapack_driver="gelsy")[0]  # by QR: a tenth of the time of singular values
    np.testing.assert_allclose(ours.coef_, wanted, rtol=1e-6, atol=1e-8)
