"""Hard margins that can be worked out by hand, and the statuses of what has none."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from gapless.solvers.hard_margin.solve import hard_margin

#: X, y, offset, scale, w, b, 1/2 |w|^2 (with the offset where it is penalised)
KNOWN = {
    "two points": ([[0.0], [2.0]], [-1, 1], "free", 1.0, [1.0], -1.0, 0.5),
    "two points, no offset": ([[-1.0], [2.0]], [-1, 1], "none", 1.0, [1.0], 0.0, 0.5),
    # min 1/2 w^2 + 1/2 v^2 with 2w + v >= 1, v <= -1: v = -1, w = 1
    "two points, penalised": ([[0.0], [2.0]], [-1, 1], "penalised", 1.0, [1.0], -1.0, 1.0),
    # b = 10 v: min 1/2 w^2 + 1/2 v^2 with 2w + 10v >= 1, 10v <= -1: v = -0.1, w = 1
    "two points, long constant": ([[0.0], [2.0]], [-1, 1], "penalised", 10.0, [1.0], -1.0, 0.505),
    # the nearest points of a segment and a point: (0, 1) and (0, 0)
    "segment": ([[-3.0, 1.0], [5.0, 1.0], [0.0, 0.0]], [1, 1, -1], "free", 1.0, [0.0, 2.0], -1.0, 2.0),
    # support vectors that depend on each other: the corners of two squares
    "squares": (
        [[1, 1], [1, -1], [3, 1], [3, -1], [-1, 1], [-1, -1], [-3, 1], [-3, -1]],
        [1, 1, 1, 1, -1, -1, -1, -1],
        "free",
        1.0,
        [1.0, 0.0],
        0.0,
        0.5,
    ),
}


@pytest.mark.parametrize("name", KNOWN)
@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_known_answers(name, form):
    X, y, offset, scale, w, b, value = KNOWN[name]
    X = np.array(X, float)
    found = hard_margin(
        sparse.csr_matrix(X) if form == "sparse" else X, np.array(y, np.int8), offset=offset, offset_scale=scale
    )
    assert found.status == "converged"
    np.testing.assert_allclose(found.w, w, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found.b, b, rtol=1e-12, atol=1e-12)
    assert 0.5 / found.lower**2 == pytest.approx(value, rel=1e-12)
    assert 0.5 / found.upper**2 == pytest.approx(value, rel=1e-12)


#: No margin, for the offsets named: overlap, touching hulls, equal points with both labels, a zero row.
NONE = {
    "overlap": ([[0.0], [1.0], [2.0], [3.0]], [1, -1, 1, -1], ("none", "free", "penalised")),
    "touching": ([[0.0], [1.0], [1.0], [2.0]], [-1, -1, 1, 1], ("none", "free", "penalised")),
    "zero row": ([[0.0], [1.0], [-1.0]], [1, 1, -1], ("none",)),
    "same side": ([[1.0], [2.0]], [-1, 1], ("none",)),
}


@pytest.mark.parametrize(("name", "offset"), [(name, offset) for name in NONE for offset in NONE[name][2]])
def test_nothing_separates(name, offset):
    X, y = np.array(NONE[name][0]), np.array(NONE[name][1], np.int8)
    found = hard_margin(X, y, offset=offset)
    assert found.status == "infeasible"
    assert found.alpha.min() >= 0.0
    assert found.alpha.sum() == pytest.approx(1.0, abs=1e-15)
    rows = np.column_stack([X, np.ones(len(y))]) if offset == "penalised" else X
    assert np.linalg.norm((found.alpha * y) @ rows) <= 1e-10
    if offset == "free":
        assert (found.alpha * y).sum() == 0.0
