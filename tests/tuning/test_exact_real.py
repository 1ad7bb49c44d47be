"""The exact path on real data: how many break points, P = D at each, and the direct fit's scores between them."""

from __future__ import annotations

import numpy as np
import pytest

import gapless
from tests.shared_data import load, needs_data

#: Data, model, the largest C, and break points as counted here.
CASES = [
    ("heart_scale", gapless.LinearSVC(loss="hinge"), np.inf),
    ("heart_scale", gapless.SVC(kernel="rbf", gamma=1 / 13), np.inf),
    ("svmguide1_scaled", gapless.LinearSVC(loss="hinge"), 100.0),
    ("svmguide1_scaled", gapless.SVC(kernel="rbf", gamma=2.0), 100.0),
]


@needs_data
@pytest.mark.slow
@pytest.mark.parametrize(("name", "model", "high"), CASES)
def test_real_data(name, model, high):
    X, y = load(name)
    X = np.asarray(X, dtype=np.float64)
    found = gapless.path(model, X, y, (0.0, high), exact=True)
    print(
        f"\n{name} {type(model).__name__}: {len(found)} break points, gap {found.relative_gap.max():.1e}, {found.seconds:.2f} s"
    )
    assert found.relative_gap.max() <= 1e-9
    assert found.reach[0] == 0.0
    assert found.reach[1] >= min(high, 1e6) * 0.999
    random = np.random.default_rng(0)
    middles = np.sqrt(found.breaks[:-1] * found.breaks[1:])[np.diff(np.log(found.breaks)) > 1e-6]
    for C in random.choice(middles[middles < 100.0], 4, replace=False).tolist():
        direct = type(model)(**{**model.get_params(), "C": C, "tol": 1e-12}).fit(X, y)
        off = np.abs(found.decision_function(X, C) - direct.decision_function(X)).max()
        print(
            f"    C = {C:.6g}: scores differ by {off:.1e}; the direct fit's gap {direct.certificate_.relative_gap:.1e}"
        )
        assert off <= 1e-8
