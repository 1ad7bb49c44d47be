"""The judge of kernel machines: true claims hold, altered ones do not, and its bounds contain what is exact."""

from __future__ import annotations

import copy
from fractions import Fraction

import numpy as np
import pytest

from gapless import SVC, SVR, NuSVC, NuSVR, OneClassSVM, verify
from gapless.judge import CertificateError, check
from gapless.judge.kernel.values import Values, proved_positive
from gapless.judge.rows import as_rows

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 3))
Y = np.where(X[:, 0] + 0.5 * rng.normal(size=60) > 0, "yes", "no")
Y3 = np.array(["a", "b", "c"])[np.digitize(X[:, 1], [-0.5, 0.5])]
T = np.sin(2.0 * X[:, 0]) + 0.1 * rng.normal(size=60)

MODELS = {
    "SVC": (SVC(), Y),
    "three classes": (SVC(C=3.0, class_weight="balanced"), Y3),
    "poly": (SVC(kernel="poly", coef0=1.0), Y),
    "linear": (SVC(kernel="linear", gamma="auto"), Y),
    "sigmoid": (SVC(kernel="sigmoid", gamma=0.1), Y),
    "hard": (SVC(C=np.inf, gamma=4.0), Y),
    "NuSVC": (NuSVC(nu=0.3), Y),
    "SVR": (SVR(), T),
    "NuSVR": (NuSVR(), T),
    "OneClassSVM": (OneClassSVM(nu=0.2), None),
}


@pytest.fixture(scope="module", params=MODELS)
def fitted(request):
    model, y = MODELS[request.param]
    return request.param, copy.deepcopy(model).fit(X, y), y


def claims(model):
    return model.certificate_.document(), dict(model.certificate_.arrays)


def test_true_claims_hold(fitted):
    name, model, y = fitted
    assert model.certificate_.kind == ("heuristic" if name == "sigmoid" else "gap")
    for rigorous in (False, True):
        verdict = verify(model, X, y, rigorous=rigorous)
        assert verdict, verdict.failed
    if name != "sigmoid":
        upper, lower, gap = verdict.bounds[0]
        assert lower <= upper
        assert gap >= 0.0


def forged(document, arrays, what):
    """One thing altered, so that the certificate says something better, or something else, than is true."""
    block = document["certificate"]
    sub = block["subproblems"][0]
    if what in ("primal", "dual", "gap"):
        by = 1e-3 * (1.0 + abs(sub["primal"])) * (-1.0 if what in ("primal", "gap") else 1.0)
        for place in (sub, block):
            place[what] += by
    elif what == "relative_gap":
        sub[what] = block[what] = sub[what] / 2.0 - 1e-17
    elif what == "rounding":
        sub[what] = block[what] = 1.0 + abs(sub["primal"])
    elif what == "dual point":
        arrays["dual"] = arrays["dual"].copy()
        row = int(np.argmax(np.abs(arrays["dual"][0])))
        arrays["dual"][0, row] *= 0.9
    elif what == "outside the box":
        arrays["dual"] = arrays["dual"].copy()
        arrays["dual"][0, np.argmax(np.abs(arrays["dual"][0]))] *= 1e3
    elif what == "offset":
        arrays["scalars"] = arrays["scalars"] + 0.5
    elif what == "gamma":
        document["problem"]["kernel"]["gamma"] *= 1.5
    elif what == "kernel":
        document["problem"]["kernel"]["name"] = "linear" if document["problem"]["kernel"]["name"] != "linear" else "rbf"
    elif what == "C":
        document["problem"]["C"] = 77.0
    elif what == "status":
        other = "stalled" if sub["status"] == "converged" else "converged"
        sub["status"] = block["status"] = other
    elif what == "support vectors":
        arrays["vectors"] = arrays["vectors"] + 1e-9
    elif what == "shift":
        document["problem"]["kernel"]["shift"] = 0.5
    elif what == "violation":
        sub["violation"] = -1.0
    return document, arrays


WHAT = [
    "primal", "dual", "gap", "relative_gap", "rounding", "dual point", "outside the box", "offset", "gamma", "kernel", "C",
    "status", "support vectors", "shift", "violation",
]  # fmt: skip


@pytest.mark.parametrize("what", WHAT)
def test_forgeries_are_found(fitted, what):
    name, model, y = fitted
    if (name == "sigmoid" and what in ("dual", "gap", "relative_gap")) or (name == "linear" and what == "gamma"):
        pytest.skip("nothing to alter")
    document, arrays = forged(*claims(model), what)
    try:
        verdict = check(document, arrays, X, y)
    except CertificateError:
        return
    assert not verdict


def test_a_fake_gap_of_a_sigmoid_is_refused():
    model = SVC(kernel="sigmoid", gamma=0.1).fit(X, Y)
    document, arrays = claims(model)
    block = document["certificate"]
    block["kind"] = "gap"
    for place in (block, *block["subproblems"]):
        place.update(dual=place["primal"], gap=0.0, relative_gap=0.0)
    verdict = check(document, arrays, X, Y)
    assert "positive semidefinite" in [claim.name for claim in verdict.failed]


def test_other_data_raise():
    model = SVC().fit(X, Y)
    for bad in ((X + 1e-12, Y, None), (X, Y[::-1], None), (X, Y, np.full(60, 2.0)), (X[:50], Y[:50], None)):
        with pytest.raises(CertificateError, match="other"):
            verify(model, *bad)
    with pytest.raises(CertificateError, match="not finite"):
        verify(model, np.where(X > 2.0, np.nan, X), Y)


def test_an_attribute_that_was_changed_is_not_what_was_certified():
    model = SVC().fit(X, Y)
    model.dual_coef_ = model.dual_coef_ * 2.0
    assert not verify(model, X, Y)
    model = SVC().fit(X, Y)
    model.intercept_ = model.intercept_ + 1.0
    assert not verify(model, X, Y)


def test_scores_are_enclosed():
    """Sums of polynomial kernel values in fractions lie within the judge's reach of its figure."""
    Z = np.round(rng.normal(size=(12, 3)), 3)
    u = rng.normal(size=12)
    for name, degree, coef0 in (("linear", 0, 0.0), ("poly", 3, 0.7), ("poly", 7, 0.0)):
        kernel = {"name": name, "degree": degree, "gamma": 0.3, "coef0": coef0, "shift": 0.0}
        f, off = Values(as_rows(Z), kernel, np.arange(12), True).sums(u)
        F = [[Fraction(v) for v in row] for row in Z.tolist()]
        for i in range(12):
            exact = Fraction(0)
            for j in range(12):
                inner = sum((a * b for a, b in zip(F[i], F[j])), Fraction(0))
                value = inner if name == "linear" else (Fraction(0.3) * inner + Fraction(coef0)) ** degree
                exact += Fraction(u[j]) * value
            assert abs(Fraction(f[i]) - exact) <= Fraction(off[i])
            assert off[i] <= 1e-12 * max(1.0, 12.0 * float(np.abs(Z).max()) ** 2) ** max(1, degree)


def test_gaussian_scores_are_enclosed():
    """Against exp in 60 digits, far from the origin too."""
    mpmath = pytest.importorskip("mpmath")
    mpmath.mp.dps = 60
    for centre in (0.0, 1e4):
        Z = centre + rng.normal(size=(10, 4))
        u = rng.normal(size=10)
        kernel = {"name": "rbf", "degree": 0, "gamma": 0.7, "coef0": 0.0, "shift": 0.0}
        for proved in (False, True):
            f, off = Values(as_rows(Z), kernel, np.arange(10), proved).sums(u)
            for i in range(10):
                exact = sum(
                    mpmath.mpf(float(u[j]))
                    * mpmath.exp(
                        -mpmath.mpf(0.7)
                        * sum((mpmath.mpf(float(a)) - mpmath.mpf(float(b))) ** 2 for a, b in zip(Z[i], Z[j]))
                    )
                    for j in range(10)
                )
                assert abs(mpmath.mpf(float(f[i])) - exact) <= mpmath.mpf(float(off[i]))
                assert off[i] <= 1e-9


def test_matrices_that_are_positive_and_matrices_that_are_not():
    for seed in range(20):
        local = np.random.default_rng(seed)
        A = local.normal(size=(8, 8))
        K = A @ A.T
        values, vectors = np.linalg.eigh(K)
        assert proved_positive(K, 0.0)
        assert not proved_positive(K - 1.001 * values[0] * np.eye(8), 0.0)
        low = vectors @ np.diag([*np.zeros(4), *values[4:]]) @ vectors.T
        low = 0.5 * (low + low.T)
        assert proved_positive(low, 1e-10 * values[-1])
        assert not proved_positive(low - 1e-6 * values[-1] * np.eye(8), 1e-10 * values[-1])


@pytest.mark.parametrize("width", [0.03, 0.3, 3.0, 100.0])
@pytest.mark.parametrize("n", [60, 240])
def test_a_fit_is_believed_whatever_its_width(width, n):
    """Of a narrow kernel few values count: a stated rounding that bounds all of them by 1 is large beside what they need."""
    random = np.random.default_rng(n)
    X = random.normal(size=(n, 4))
    y = (X[:, 0] + 0.5 * random.normal(size=n) > 0).astype(int)
    assert verify(SVC(gamma=width).fit(X, y), X, y)
