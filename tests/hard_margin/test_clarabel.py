"""200 hard margins against Clarabel, of which 100 are reduced to their support vectors and fitted again."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import gapless
from tests.hard_margin.problems import by_clarabel, separable

#: About one in ten is too ill-conditioned for Clarabel to reach 1e-13: those do not count.
SEEDS = range(240)


@pytest.mark.parametrize("offset", ["none", "free", "penalised"])
def test_same_as_clarabel(offset):
    compared = 0
    for seed in SEEDS:
        p = separable(seed)
        if p.offset != offset:
            continue
        model = gapless.LinearSVC(C=np.inf, tol=1e-9, **p.parameters).fit(p.X, p.y)
        w, b = model.coef_[0], float(model.intercept_[0])
        assert model.status_ == "converged", seed
        wanted, wanted_b, content = by_clarabel(p, float(np.linalg.norm(w)))
        if not content:
            continue
        compared += 1
        size = np.linalg.norm(wanted)
        np.testing.assert_allclose(w, wanted, rtol=0, atol=1e-8 * size, err_msg=str(seed))
        assert b == pytest.approx(wanted_b, rel=1e-8, abs=1e-8), seed
        assert (p.y * (p.X @ w + b)).min() >= 1.0 - 1e-13 * (1.0 + abs(b))
        assert abs(model.certificate_.relative_gap) <= 1e-9
        assert gapless.verify(model, p.X, p.y)
    assert compared >= 67


@pytest.mark.parametrize("seed", range(100))
def test_support_vectors_alone(seed):
    p = separable(seed, largest=100)
    model = gapless.LinearSVC(C=np.inf, **p.parameters).fit(p.X, p.y)
    found = gapless.reduce(model, p.X, p.y)
    assert found.ends.size == 0
    assert set(found.support.tolist()) == set(np.flatnonzero(model.alpha_).tolist())
    X, y = p.X[found.rows], p.y[found.rows]
    again = found.estimator().fit(X, y)
    np.testing.assert_allclose(again.coef_, model.coef_, rtol=0, atol=1e-9 * np.linalg.norm(model.coef_))
    np.testing.assert_allclose(again.intercept_, model.intercept_, rtol=1e-9, atol=1e-9)
    assert gapless.verify(found.certificate, X, y)
    # No more than independent rows can hold the plane (equal ones share, and every class keeps one).
    rows = X.toarray() if sparse.issparse(X) else X
    assert len(np.unique(rows, axis=0)) <= rows.shape[1] + 2
