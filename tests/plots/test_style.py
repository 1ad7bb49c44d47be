"""One style: lazily loaded, readable in grey, on axes of anybody's."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from gapless import GaussianDiscriminant, LinearRegression, LinearSVC, plots
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


def drawn(figure):
    """Where panels, legends and titles lie, in pixels."""
    figure.canvas.draw()
    boxes = [axes.get_window_extent() for axes in figure.axes]
    legends = [axes.get_legend().get_window_extent() for axes in figure.axes if axes.get_legend() is not None]
    titles = [axes.title.get_window_extent() for axes in figure.axes] + [
        axes._left_title.get_window_extent() for axes in figure.axes if axes._left_title.get_text()
    ]
    return boxes, legends, titles


@pytest.mark.parametrize("shape", [(1, 1), (1, 3), (2, 2)])
def test_legends_on_plain_subplots_hide_no_other_panel(shape):
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(*shape, figsize=(4.5 * shape[1], 4.0 * shape[0]), squeeze=False)
    for ax, covariance in zip(axes.ravel(), ("spherical", "shared", "per_class", "shared")):
        rows = np.random.default_rng(0).normal(size=(40, 2)) + np.repeat([[0.0], [2.0]], 20, axis=0)
        y = np.repeat(["first", "second"], 20)
        model = GaussianDiscriminant(covariance=covariance).fit(rows, y)
        plots.GaussianDisplay.from_estimator(model, rows, y).plot(ax)
    boxes, legends, titles = drawn(figure)
    assert len(legends) == shape[0] * shape[1]
    for k, legend in enumerate(legends):
        assert not any(legend.overlaps(box) for j, box in enumerate(boxes) if j != k)
    edge = figure.bbox
    for box in [*legends, *titles]:
        assert edge.x0 - 1 <= box.x0
        assert box.x1 <= edge.x1 + 1
        assert edge.y0 - 1 <= box.y0
        assert box.y1 <= edge.y1 + 1


def test_figures_laid_out_by_hand_stay_as_they_are():
    from matplotlib import pyplot

    model = LinearSVC(loss="hinge").fit(X, Y)
    display = MarginDisplay.from_estimator(model, X, Y)
    figure = pyplot.figure(figsize=(8, 4))
    left, right = figure.add_axes((0.1, 0.1, 0.35, 0.7)), figure.add_axes((0.6, 0.1, 0.35, 0.7))
    display.plot(left)
    assert figure.get_layout_engine() is None
    boxes, legends, _ = drawn(figure)
    assert not legends[0].overlaps(boxes[1])
    assert right.get_position().x0 == 0.6
    figure, ax = pyplot.subplots()
    figure.subplots_adjust(left=0.3)
    display.plot(ax)
    assert figure.get_layout_engine() is None
    assert ax.get_position().x0 == pytest.approx(0.3)


def test_titles_tell_one_variance_from_one_covariance():
    random = np.random.default_rng(1)
    rows, y = random.normal(size=(40, 2)) * [1.0, 3.0], np.repeat([0, 1], 20)
    titles = {
        covariance: plots.GaussianDisplay.from_estimator(
            GaussianDiscriminant(covariance=covariance).fit(rows, y), rows, y
        ).title
        for covariance in ("spherical", "shared", "per_class")
    }
    assert len({title.split("; ")[0] for title in titles.values()}) == 3
    centred = rows - np.repeat([rows[:20].mean(axis=0), rows[20:].mean(axis=0)], 20, axis=0)
    model = GaussianDiscriminant(covariance="spherical").fit(rows, y)
    assert f"one variance σ² = {float(model.covariance_):.3g} for all classes and directions" in titles["spherical"]
    assert float(model.covariance_) == pytest.approx(np.square(centred).mean(), rel=0.1)
    assert "one covariance for all classes" in titles["shared"]
    assert "a covariance for each class" in titles["per_class"]


@pytest.mark.parametrize("name", plots.__all__)
def test_no_display_prints_its_arrays(name):
    display = getattr(plots, name)
    assert display.__repr__ is style.Display.__repr__  # dataclass writes one of its own unless told not to
    assert display.__str__ is style.Display.__str__


def test_displays_print_as_their_title():
    rows = np.arange(10.0)[:, None]
    line = plots.RegressionDisplay.from_estimator(
        LinearRegression().fit(rows, np.sqrt(rows[:, 0])), rows, np.sqrt(rows[:, 0])
    )
    assert str(line) == repr(line) == f"RegressionDisplay: {line.title()}"
    margin = MarginDisplay.from_estimator(LinearSVC().fit(X, Y), X, Y)
    assert str(margin) == f"MarginDisplay: {margin.title}"
    mapped = plots.FeatureMapDisplay.from_data(X, Y, np.abs)
    assert "columns" in str(mapped)
    xor = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
    offsets = plots.OffsetsDisplay.from_data(xor, [1, 1, -1, -1])
    assert str(offsets).count("no such line separates the classes") == 3
    assert "N^d e^(-N) = " in str(plots.CrudeBoundDisplay.from_dimensions((2, 5)))
    named = plots.RegressionDisplay.from_predictions([1.0, 2.0], [1.0, 2.0], name="costs in $")
    assert str(named).startswith("RegressionDisplay: costs in $:")
    assert str(offsets.sides[0]).endswith("no such hyperplane separates the rows")


def test_legends_do_not_press_the_panels_of_others_together():
    """On plt.subplots() of its usual size: no panel is a stripe, no legend lies beyond the edge."""
    import matplotlib.pyplot as plt

    for display in (plots.LossDisplay.from_losses(), plots.CrossEntropyDisplay.from_probability()):
        figure, axes = plt.subplots(1, len(display._widths))
        display.plot(ax=list(axes))
        figure.canvas.draw()
        wide, tall = figure.canvas.get_width_height()
        for ax in figure.axes:
            assert ax.get_window_extent().width > 40.0
            if (legend := ax.get_legend()) is not None:
                box = legend.get_window_extent()
                assert min(box.x0, box.y0) > -2.0
                assert box.x1 < wide + 2.0
                assert box.y1 < tall + 2.0
        plt.close(figure)
