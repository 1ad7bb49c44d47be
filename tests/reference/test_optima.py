"""Published optima, reached to 1e-9 and enclosed by our own certificates.

The table is C = 1 without offset: LIBLINEAR run far beyond its defaults, with the error that was left stated beside
each value (the gap for the hinge, |grad|^2/2 for the smooth losses).  The last value is an exact active-set solution in
40 digits.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import gapless
from tests.shared_data import decimals, load, needs_data

pytestmark = needs_data

#: data -> loss -> (optimum as printed, the error stated for it)
OPTIMA = {
    "heart_scale": {
        "hinge": ("96.498277995", 1e-12 * 96.5),
        "squared_hinge": ("121.134724437", 1e-15),
        "logistic": ("98.226799508", 3e-16),
    },
    "a1a": {
        "hinge": ("540.9647549", 7e-12 * 541),
        "squared_hinge": ("637.905580211", 2e-12),
        "logistic": ("516.343890158", 4e-13),
    },
    "a9a": {
        "hinge": ("11433.807698", 1.4e-10 * 11434),
        "squared_hinge": ("13742.3973044", 1.4e-10),
        "logistic": ("10529.5625846", 2.4e-8),
    },
    "w8a": {
        "hinge": ("6604.8866211", 1.9e-11 * 6605),
        "squared_hinge": ("7816.1697191", 1e-9),
        "logistic": ("6277.3629732", 5e-11),
    },
    "ijcnn1": {
        "hinge": ("8596.0042393", 1.8e-11 * 8596),
        "squared_hinge": ("11023.1900492", 1.4e-8),
        "logistic": ("9404.1240310", 2e-11),
    },
}


def fitted(loss, **given):
    if loss == "logistic":
        return gapless.LogisticRegression(tol=1e-9, **given)
    return gapless.LinearSVC(loss=loss, tol=1e-9, **given)


def half_unit(printed: str) -> float:
    return 0.5 * 10.0 ** -len(printed.partition(".")[2])


#: numpy reads rows in full. Nobody computes the three large sets so but who asks: they are slow.
ON_BOTH = [
    pytest.param(name, backend, marks=pytest.mark.slow if backend == "numpy" and large else ())
    for name, large in {"heart_scale": False, "a1a": False, "a9a": True, "w8a": True, "ijcnn1": True}.items()
    for backend in ("numba", "numpy")
]


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic"])
@pytest.mark.parametrize(("name", "backend"), ON_BOTH)
def test_published_optimum(name, backend, loss):
    X, y = load(name)
    if name == "ijcnn1":
        X = decimals(X)  # the set is stored as float32; the table is of the decimals of the file
    X = X.astype(np.float64)
    X = X.toarray() if backend == "numpy" and sparse.issparse(X) else X
    printed, error = OPTIMA[name][loss]
    with gapless.config_context(backend=backend):
        model = fitted(loss, fit_intercept=False).fit(X, y)
    certificate = model.certificate_
    assert certificate.backend == {"numba": "cpu", "numpy": "cpu numpy"}[backend]
    assert gapless.verify(model, X, y)
    assert certificate.status == "converged"
    assert certificate.relative_gap <= 1e-9
    room = error + half_unit(printed) + certificate.rounding
    assert certificate.dual - room <= float(printed) <= certificate.primal + room
    assert abs(certificate.primal - float(printed)) <= max(certificate.gap, 0.0) + room


def test_heart_scale_with_a_free_offset_to_the_last_digit():
    X, y = load("heart_scale")
    model = fitted("hinge").fit(X, y)
    certificate = model.certificate_
    exact = 92.4733746201696032677
    assert abs(certificate.primal - exact) <= max(certificate.gap, 0.0) + certificate.rounding
    assert certificate.rounding <= 1e-9
    assert model.intercept_[0] == pytest.approx(1.049096905765469, rel=1e-12)
    assert float(model.coef_[0] @ model.coef_[0]) == pytest.approx(4.25181257006695, rel=1e-12)
    alpha = model.alpha_
    assert np.count_nonzero((alpha > 0) & (alpha < 1)) == 13
    assert np.count_nonzero(alpha == 1) == 88
    assert int((model.predict(X) != y).sum()) == 41
