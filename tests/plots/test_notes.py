"""Pictures that the notes draw of convexity, Hoeffding's inequality and the VC bound."""

from __future__ import annotations

import math
from math import comb

import numpy as np
import pytest

from gapless.plots import (
    ConvexityDisplay,
    ConvexSetDisplay,
    CrudeBoundDisplay,
    HoeffdingDisplay,
    SplitDisplay,
    TradeoffDisplay,
    UrnDisplay,
)
from gapless.theory.generalisation import growth, vc
from gapless.theory.samples import hoeffding

PLANE = [(-2.2, 2.2), (-2.2, 2.2)]


def test_a_convex_function_lies_below_its_chord_and_above_its_tangent():
    display = ConvexityDisplay.from_function(
        np.exp, (-1.0, 2.0), gradient=np.exp, chord=(-1.0, 1.0), tangent=0.0
    ).plot()
    assert np.allclose(display.chord_.get_ydata(), [math.exp(-1.0), math.exp(1.0)])
    assert np.allclose(display.tangent_.get_ydata(), 1.0 + display.xs)  # e^x at 0: 1 + x
    assert display.found.convex is None
    assert "no witness" in display.title
    of_mean, mean = display.jensen
    assert of_mean == pytest.approx(math.exp(np.mean(display.points)))
    assert mean == pytest.approx(np.mean(np.exp(display.points)))
    assert [ax.get_title(loc="left") for ax in display.axes_][1].replace("\n", " ").endswith("nowhere above f")
    weighted = ConvexityDisplay.from_function(np.square, (-1.0, 2.0), points=[0.0, 1.0], weights=[1.0, 3.0])
    assert weighted.jensen == pytest.approx((9.0 / 16.0, 3.0 / 4.0))


def test_a_witness_is_drawn_where_there_is_one():
    display = ConvexityDisplay.from_function(lambda x: x**4 - 2.0 * x**2, (-1.6, 1.6)).plot()
    (a, b), w = display.chord, display.weight
    x = w * a + (1.0 - w) * b
    f = display.value
    assert f(x) > w * f(a) + (1.0 - w) * f(b)
    assert "not convex" in display.title
    titles = " ".join(ax.get_title(loc="left").replace("\n", " ") for ax in display.axes_)
    assert "leaves it" in titles
    assert "above f at" in titles
    with pytest.raises(ValueError, match="weight"):
        ConvexityDisplay.from_function(np.exp, (-1.0, 1.0), weight=1.0)
    with pytest.raises(ValueError, match="Jensen"):
        ConvexityDisplay.from_function(np.exp, (-1.0, 1.0), points=[0.0, 1.0], weights=[1.0])


def test_a_segment_leaves_the_doughnut_and_none_leaves_the_disc():
    doughnut = ConvexSetDisplay.from_set(lambda x: 1.0 <= x @ x <= 4.0, PLANE, resolution=41).plot()
    for end in doughnut.segments[0]:
        assert 1.0 <= end @ end <= 4.0
    assert doughnut.outside.any()
    assert len(doughnut.outside_) == 1
    share = doughnut.inside.mean() * 4.4**2
    assert share == pytest.approx(3.0 * math.pi, rel=0.1)  # the area of the doughnut
    disc = ConvexSetDisplay.from_set(lambda x: x @ x <= 4.0, PLANE, resolution=41).plot()
    assert not disc.outside.any()
    assert "no segment left" in disc.title
    with pytest.raises(ValueError, match="of the plane"):
        ConvexSetDisplay.from_set(lambda x: True, [(0.0, 1.0)])


def test_hoeffding_is_above_the_binomial_at_every_n():
    display = HoeffdingDisplay.from_simulation(0.5, 0.2, sizes=(40, 10, 20), draws=4000).plot()
    assert display.n.tolist() == [10, 20, 40]
    exact = [
        2 * sum(comb(n, k) for k in range(math.ceil(0.3 * n))) / 2**n for n in (10, 20, 40)
    ]  # k/n < 0.3, by symmetry
    assert np.allclose(display.exact_.get_ydata(), exact)
    assert np.allclose(display.bound_.get_ydata(), np.minimum(1.0, 2.0 * np.exp(-2.0 * 0.04 * display.n)))
    assert (display.bound_.get_ydata() >= exact).all()
    seen = display.seen_[0].get_ydata()
    assert np.all(np.abs(seen - exact) < 5.0 * np.sqrt(np.array(exact) / 4000))
    assert len(HoeffdingDisplay.from_simulation(0.3, 0.1, draws=10).urns) == 24
    with pytest.raises(ValueError, match="sizes"):
        HoeffdingDisplay.from_simulation(sizes=())


def test_the_bars_of_an_urn_are_its_draws():
    found = hoeffding.urn(0.5, 10, 0.25, draws=5000)
    display = UrnDisplay.from_urn(found).plot()
    heights = {
        round(10 * (bar.get_x() + bar.get_width() / 2)): bar.get_height() for bar in (*display.bars_, *display.far_)
    }
    assert sum(heights.values()) == pytest.approx(1.0)
    for k, height in heights.items():
        assert height == pytest.approx(np.mean(np.rint(10 * found.nu) == k))
    assert sum(bar.get_height() for bar in display.far_) == pytest.approx(found.seen)
    points = dict(zip(np.rint(10 * display.binomial_.get_xdata()).astype(int), display.binomial_.get_ydata()))
    assert points[5] == pytest.approx(comb(10, 5) / 2**10)
    many = UrnDisplay.from_urn(hoeffding.urn(0.3, 100_000, 0.005, draws=2000)).plot()
    assert len(many.bars_) + len(many.far_) <= 150
    assert sum(bar.get_height() for bar in (*many.bars_, *many.far_)) == pytest.approx(1.0, abs=1e-3)
    assert UrnDisplay.from_urn(hoeffding.urn(0.0, 10, 0.1, draws=10)).plot().normal_ is None


def test_the_sum_of_error_and_penalty_has_its_lowest_point_marked():
    found = vc.tradeoff([3, 1, 2], [0.05, 0.5, 0.1], n=50_000)
    display = TradeoffDisplay.from_tradeoff(found).plot()
    assert display.total_.get_xdata().tolist() == [1, 2, 3]
    assert np.allclose(display.total_.get_ydata(), display.e_in_.get_ydata() + display.penalty_.get_ydata())
    assert display.best_.get_xdata()[0] == found.best
    assert "vacuous" in TradeoffDisplay.from_tradeoff(vc.tradeoff([5], [0.1], n=50)).title


def test_the_crude_bound_falls_to_its_value():
    display = CrudeBoundDisplay.from_dimensions((5, 2), value=0.1).plot()
    assert display.dimensions == (2, 5)
    for d, n in zip(display.dimensions, display.sizes):
        assert n > d
        assert n**d * math.exp(-n) == pytest.approx(0.1, rel=1e-9)
    assert display.thumb_.get_ydata().tolist() == [20.0, 50.0]
    with pytest.raises(ValueError, match="at least one"):
        CrudeBoundDisplay.from_dimensions(())


def test_the_split_is_written_out():
    display = SplitDisplay.from_points([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]).plot()  # 14 = 2 + 2 * 6
    assert (display.found.alpha, display.found.beta) == (2, 6)
    assert len(display.cells_) == 14 * 4
    assert {place: text.get_text() for place, text in display.entries_.items()}[4, 4] == "15"
    assert "14 ≤ 15" in " ".join(display.axes_[1].get_title(loc="left").split())
    many = SplitDisplay.from_points(np.random.default_rng(0).normal(size=(9, 2))).plot()
    assert len(many.cells_) == 9 * sum(min(14, size) for size in (many.found.alpha, many.found.beta, many.found.beta))
    one = SplitDisplay.from_split(growth.split(labels=[[1, 1], [1, -1]])).plot()
    assert (one.found.alpha, one.found.beta) == (0, 1)
