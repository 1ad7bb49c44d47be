"""Two wells and a saddle: where a descent ends depends on where it began; a grid sees everything, and what it costs."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import check_grad, minimize_scalar

from gapless import descend
from gapless.theory.optimisation.global_minimum import ends, grid_cost, grid_search, random_search, saddle, two_wells


@pytest.mark.parametrize("tilt", [0.01, 0.2, 1.0, 1.5])
def test_the_minima_are_where_it_says(tilt):
    f = two_wells(1, tilt)
    for (x,), bounds in zip(f.minima, ((-3.0, -0.6), (0.4, 3.0))):
        found = minimize_scalar(
            lambda t: f.value(np.array([t])), bounds=bounds, method="bounded", options={"xatol": 1e-10}
        )
        assert x == pytest.approx(found.x, abs=1e-5)
        assert abs(4 * x**3 - 4 * x + tilt) <= 1e-12
    assert f.kind(f.minima[0]) == "global minimum"
    assert f.kind(f.minima[1]) == "local minimum"


def test_gradients_are_derivatives():
    random = np.random.default_rng(0)
    for f, d in ((two_wells(3), 3), (saddle(), 2)):
        for _ in range(10):
            x = random.normal(size=d)
            assert check_grad(f.value, f.gradient, x) <= 1e-5
            numeric = np.array([(f.gradient(x + 1e-6 * e) - f.gradient(x - 1e-6 * e)) / 2e-6 for e in np.eye(d)])
            assert f.hessian(x) == pytest.approx(numeric, abs=1e-5)


def test_the_end_depends_on_the_start():
    f = two_wells(2)
    top = 0.05006  # the maximum between the wells: the middle root of 4 x^3 - 4 x + 0.2
    found = ends(f, [[-2.0, 1.0], [2.0, 1.0], [top - 0.01, 1.0], [top + 0.01, 1.0]])
    assert found.kinds == ("global minimum", "local minimum", "global minimum", "local minimum")
    assert [d.theta[0] < 0 for d in found.descents] == [True, False, True, False]
    assert "local minimum" in str(found)


def test_a_start_on_the_ridge_ends_on_the_saddle():
    found = ends(saddle(), [[1.0, 0.0], [1.0, 1e-3], [1.0, -1e-3]])
    assert found.kinds == ("saddle", "global minimum", "global minimum")
    assert found.descents[0].converged  # its gradient is 0: nothing local tells it from a minimum
    assert [np.sign(d.theta[1].round(3)) for d in found.descents] == [0.0, 1.0, -1.0]


def test_newton_is_local_too():
    found = ends(two_wells(1), [[-2.0], [2.0]], "newton", "backtracking")
    assert found.kinds == ("global minimum", "local minimum")


def test_grid_and_random_search_see_the_whole_box():
    f = two_wells(2)
    grid = grid_search(f, [(-2, 2)] * 2)
    assert grid.evaluations == 17**2 == 289
    assert grid.cost == "17^2 = 289 evaluations"
    assert f.value(grid.theta) == grid.value == pytest.approx(-0.2)
    assert descend(f, grid.theta, schedule=0.02).theta == pytest.approx(f.global_minimum, abs=1e-6)
    points = np.linspace(-2, 2, 17)
    assert grid.value == min(f.value(np.array([a, b])) for a in points for b in points)
    drawn = random_search(f, [(-2, 2)] * 2, 289, seed=1)
    assert drawn.evaluations == 289
    assert drawn.theta[0] < 0
    assert "289" in str(drawn)


def test_the_cost_is_written_out():
    assert grid_cost(1) == "17^1 = 17 evaluations"
    assert grid_cost(3) == "17^3 = 4,913 evaluations"
    assert grid_cost(10) == "17^10 = 2,015,993,900,449 evaluations"
    assert grid_cost(100).startswith("17^100 = about 1.10e123")
    with pytest.raises(ValueError, match=r"17\^10 = 2,015,993,900,449 evaluations, at a microsecond each 23.3 days"):
        grid_search(two_wells(10), [(-2, 2)] * 10)


def test_bad_input():
    with pytest.raises(ValueError, match="tilt"):
        two_wells(1, 1.6)
    with pytest.raises(ValueError, match="low < high"):
        grid_search(saddle(), [(1, 1), (0, 1)])
    with pytest.raises(ValueError, match="shape"):
        grid_search(saddle(), [0, 1])
    with pytest.raises(ValueError, match="at least 2"):
        grid_search(saddle(), [(0, 1)] * 2, points=1)
    with pytest.raises(ValueError, match="not a number"):
        random_search(lambda x: float("nan"), [(0, 1)], 3)
