"""One style: lazily loaded, readable in grey, on axes of anybody's."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from gapless import LinearSVC, plots
from gapless.plots import GapDisplay, MarginDisplay, style

X = np.array([[-1.0, 0.0], [-2.0, 1.0], [1.0, 0.2], [2.0, -1.0]])
Y = np.array([0, 0, 1, 1])


def test_nothing_is_loaded_before_something_is_drawn():
    code = (
        "import sys, numpy as np, gapless\n"
        "from gapless.plots import *\n"
        "X, y = np.array([[0.0], [1.0]]), [0, 1]\n"
        "display = MarginDisplay.from_estimator(gapless.LinearSVC().fit(X, y), X, y)\n"
        "print('matplotlib' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "False", done.stderr


@pytest.mark.parametrize("name", plots.__all__)
def test_every_display_is_there_and_says_what_it_is(name):
    display = getattr(plots, name)
    assert issubclass(display, style.Display)
    assert display.__name__ == name
    assert "Attributes" in display.__doc__
    assert any(made.startswith("from_") for made in dir(display))
    with pytest.raises(AttributeError, match="MarginDisplay"):
        plots.MarginsDisplay  # noqa: B018


def test_without_matplotlib_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"gapless\[plots\]"):
        style.matplotlib()


def test_axes_of_the_user_are_used_or_divided():
    from matplotlib.figure import Figure

    model = LinearSVC().fit(X, Y)
    figure = Figure()
    ax = figure.subplots()
    display = MarginDisplay.from_estimator(model, X, Y).plot(ax=ax)
    assert (display.ax_, display.figure_) == (ax, figure)
    two = Figure().subplots(1, 2)
    assert GapDisplay.from_estimator(model).plot(ax=two).axes_ == list(two)
    one = Figure().subplots()
    divided = GapDisplay.from_estimator(model).plot(ax=one)
    assert len(divided.axes_) == 2
    assert one not in divided.axes_
    with pytest.raises(ValueError, match="2 panels"):
        GapDisplay.from_estimator(model).plot(ax=Figure().subplots(1, 3))
    with pytest.raises(ValueError, match="give 2 axes"):
        GapDisplay.from_estimator(model).plot(ax=Figure().add_axes((0.0, 0.0, 1.0, 1.0)))


def test_settings_of_the_user_are_left_alone():
    import matplotlib

    before = dict(matplotlib.rcParams)
    MarginDisplay.from_estimator(LinearSVC().fit(X, Y), X, Y).plot()
    assert dict(matplotlib.rcParams) == before


def test_classes_differ_in_grey():
    from matplotlib.colors import to_rgb

    def lightness(colour):
        rgb = np.array(to_rgb(colour))
        linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
        return linear @ [0.2126, 0.7152, 0.0722]

    first, second = (lightness(c) for c in style.COLOURS[:2])
    assert max(first, second) / min(first, second) > 2.0  # and the markers differ as well
    assert len(set(style.MARKERS)) == len(style.COLOURS)
    assert style.plain("a $x$\nb") == r"a \$x\$ b"
    assert style.short("x" * 40, 10) == "x" * 9 + "…"
