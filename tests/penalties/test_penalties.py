"""Penalties: their conjugate, prox and subdifferential against the definitions, on a grid."""

from __future__ import annotations

import numpy as np
import pytest

from gapless.penalties import Separable, box, elastic_net, l1, l2

KINDS = {
    "l1": l1(0.7),
    "l1 positive": l1(0.7, positive=True),
    "l2": l2(1.3),
    "l2 positive": l2(1.3, positive=True),
    "elastic net": elastic_net(0.9, 0.6),
    "elastic net positive": elastic_net(0.9, 0.6, positive=True),
    "box": box(-0.5, 2.0),
    "l1 in a box": Separable(0.4, 0.0, -1.0, 1.5),
    "elastic net in a box": Separable(0.4, 0.3, -1.0, 1.5),
}
GRID = np.arange(-20_000, 20_001) / 2000.0
POINTS = np.array([-3.0, -1.3, -0.7, -0.3, 0.0, 0.2, 0.7, 1.1, 2.5])


def omega(penalty, w):
    """The definition."""
    value = penalty.l1 * np.abs(w) + 0.5 * penalty.l2 * w * w
    return np.where((w >= penalty.low) & (w <= penalty.high), value, np.inf)


@pytest.mark.parametrize("name", KINDS)
def test_value_is_the_definition(name):
    penalty = KINDS[name]
    for w in POINTS:
        assert penalty.value([w]) == pytest.approx(float(omega(penalty, w)), rel=1e-15)
    inside = np.clip(POINTS, penalty.low, penalty.high)
    assert penalty.value(inside) == pytest.approx(float(omega(penalty, inside).sum()), rel=1e-14)


@pytest.mark.parametrize("name", KINDS)
def test_conjugate_is_the_largest_difference(name):
    penalty = KINDS[name]
    for v in POINTS:
        largest = float((v * GRID - omega(penalty, GRID)).max())
        if penalty.excess([v])[0] > 0.0:
            assert penalty.conjugate([v]) == np.inf
            assert largest > 1.0 * penalty.excess([v])[0]  # it grows with the grid
        else:
            assert penalty.conjugate([v]) == pytest.approx(largest, abs=1e-6)


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("step", [0.3, 1.0, 4.0])
def test_prox_is_the_minimiser(name, step):
    penalty = KINDS[name]
    for v in POINTS:
        best = GRID[np.argmin(0.5 * (GRID - v) ** 2 + step * omega(penalty, GRID))]
        assert penalty.prox([v], step)[0] == pytest.approx(best, abs=6e-4)


@pytest.mark.parametrize("name", KINDS)
def test_distance_is_zero_exactly_at_the_optimum(name):
    penalty = KINDS[name]
    for v in POINTS:
        w = penalty.prox([v])
        assert penalty.distance(w, w - v)[0] <= 1e-15
        away = np.clip(w + 0.1, penalty.low, penalty.high)
        if away[0] != w[0]:
            assert penalty.distance(away, away - v)[0] >= 0.1 - 1e-12


@pytest.mark.parametrize("name", KINDS)
def test_fenchel_and_young(name):
    penalty, r = KINDS[name], np.random.default_rng(0)
    for _ in range(200):
        w, v = np.clip(2.0 * r.normal(size=3), penalty.low, penalty.high), 2.0 * r.normal(size=3)
        assert penalty.value(w) + penalty.conjugate(v) >= float(w @ v) - 1e-12
        equal = penalty.prox(v)
        assert penalty.value(equal) + penalty.conjugate((v - equal) * (1.0 - 1e-13)) == pytest.approx(
            float(equal @ (v - equal)), abs=1e-11
        )


@pytest.mark.parametrize("wrong", [{"l1": -1.0}, {"l2": np.inf}, {"low": 1.0}, {"high": -1.0}, {"l1": np.nan}])
def test_what_is_no_penalty_is_refused(wrong):
    with pytest.raises(ValueError, match="have to be finite|has to lie between"):
        Separable(**wrong)
