"""Pictures of fits: what the artists hold is what the model says."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from gapless import SVC, AdaBoostClassifier, LinearSVC, LogisticRegression, NuSVC, Perceptron, bounds
from gapless.plots import BoostingDisplay, BoundDisplay, ConfusionDisplay, GapDisplay, MarginDisplay
from gapless.theory.samples.confusion import confusion


def two(n=60, d=2, seed=0, apart=1.2):
    random = np.random.default_rng(seed)
    y = np.arange(n) % 2
    return random.normal(size=(n, d)) + apart * np.where(y, 1.0, -1.0)[:, None], np.where(y, "up", "down")


def rings(n=80, seed=1):
    random = np.random.default_rng(seed)
    angle, y = random.uniform(0.0, 2.0 * np.pi, n), np.arange(n) % 2
    radius = np.where(y, random.normal(2.0, 0.3, n), random.normal(0.9, 0.3, n))
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]), y


# -- margins


def lines_of(display):
    return [(display.boundary_, 0.0), *zip(display.margins_, (-1.0, 1.0))]


@pytest.mark.parametrize("model", [LinearSVC(loss="hinge", C=0.5), SVC(kernel="linear", C=0.5), LogisticRegression()])
def test_linear_boundary_and_margins_are_where_f_is_0_and_1(model):
    X, y = two(apart=0.8)
    model.fit(X, y)
    display = MarginDisplay.from_estimator(model, X, y).plot()
    for line, level in lines_of(display):
        assert np.allclose(model.decision_function(line.get_xydata()), level, atol=1e-9)


@pytest.mark.parametrize("model", [LinearSVC(loss="hinge", C=0.5), SVC(C=0.7), NuSVC(nu=0.4)])
def test_markers_are_the_slackness_classes_and_rings_are_alpha(model):
    X, y = two(apart=0.7) if isinstance(model, LinearSVC) else rings()
    model.fit(X, y)
    display = MarginDisplay.from_estimator(model, X, y).plot()
    found, up = model.slackness_.from_dual, np.asarray(y) == model.classes_[1]
    assert set(np.unique(found)) == {0, 1, 2}
    for which in (0, 1):
        for kind in (0, 1, 2):
            rows = (up == bool(which)) & (found == kind)
            assert np.array_equal(np.asarray(display.rows_[which, kind].get_offsets()), X[rows])
    sizes, alpha = display.rings_.get_sizes(), model.alpha_[found > 0]
    assert np.allclose(sizes / sizes.max(), alpha / alpha.max(), rtol=1e-12)
    wrong = model.predict(X) != y
    assert wrong.any()
    assert np.array_equal(np.asarray(display.mistakes_.get_offsets()), X[wrong])
    assert f"{int((found > 0).sum())} of {len(X)} rows are support vectors" in display.title
    assert f"{int(wrong.sum())} on the wrong side" in display.title
    shown = [text.get_text() for text in display.legend_.get_texts()]
    assert [f"{name}: {int((found == k).sum())}" for k, name in enumerate(("α = 0", "0 < α < C", "α = C"))] == shown[
        2:5
    ]


def test_contours_of_a_kernel_machine_follow_its_score():
    X, y = rings()
    model = SVC(C=2.0).fit(X, y)
    display = MarginDisplay.from_estimator(model, X, y, resolution=200).plot()
    cell = float(np.max(np.diff(display.xs)))
    for contour, levels in ((display.boundary_, [0.0]), (display.margins_, [-1.0, 1.0])):
        for level, path in zip(levels, contour.get_paths()):
            assert len(path.vertices) > 20
            f = model.decision_function(path.vertices)
            steep = np.abs(model.decision_function(path.vertices + np.array([1e-4, 0.0])) - f).max() / 1e-4
            assert np.abs(f - level).max() < 0.1 * steep * cell


def test_more_features_along_w_keep_every_row_on_its_true_side():
    X, y = two(d=5, apart=0.5)
    model = LinearSVC(loss="hinge").fit(X, y)
    display = MarginDisplay.from_estimator(model, X, y).plot()
    v, c = display.line
    assert np.allclose(display.points @ v + c, model.decision_function(X), atol=1e-9)
    assert abs(v[1]) < 1e-9  # the lines are upright
    # distances along the first axis are true ones
    ends = display.margins_[1].get_xdata()[0] - display.margins_[0].get_xdata()[0]
    assert ends == pytest.approx(2.0 / np.linalg.norm(model.coef_), rel=1e-9)
    assert "5 features seen along w" in display.title


def test_slice_is_the_score_with_the_others_fixed():
    X, y = two(d=4, apart=0.5)
    model = SVC().fit(X, y)
    display = MarginDisplay.from_estimator(model, X, y, features=(2, 0), at=[9.0, 0.5, 9.0, -0.25], resolution=5).plot()
    rows = np.array([[b, 0.5, a, -0.25] for b in display.ys for a in display.xs])
    assert np.allclose(display.surface.ravel(), model.decision_function(rows))
    assert np.array_equal(display.points, X[:, [2, 0]])
    assert "slice at x1 = 0.5, x3 = -0.25" in display.title
    medians = MarginDisplay.from_estimator(model, X, y, features=(2, 0), resolution=5)
    assert np.allclose(medians.plane.origin[[1, 3]], np.median(X, axis=0)[[1, 3]])
    wide = MarginDisplay.from_estimator(model, X, y, resolution=5)
    assert wide.plane.kind == "main axes"
    assert "main axes" in wide.title


def test_rows_that_were_not_trained_on_have_no_alpha():
    X, y = two(apart=0.7)
    model = LinearSVC(loss="hinge").fit(X, y)
    new, labels = two(apart=0.7, seed=9)
    display = MarginDisplay.from_estimator(model, new, labels).plot()
    assert (display.source, display.rings_, display.alpha) == ("primal", None, None)
    yf = np.where(labels == "up", 1.0, -1.0) * model.decision_function(new)
    assert np.array_equal(display.reading == 2, yf < 1.0 - 1e-3)
    assert f"{int((yf < 1.0 - 1e-3).sum())} of {len(new)} rows have yf < 1" in display.title


def test_models_without_margins_pairs_rest_names_and_pipelines():
    X, y = two()
    display = MarginDisplay.from_estimator(Perceptron(variant="pocket").fit(X, y), X, y).plot()
    assert display.margins_ is None
    assert "margin" not in display.title
    three = np.where(X[:, 0] > 1.5, "far", y)
    with pytest.raises(ValueError, match="positive=one of"):
        MarginDisplay.from_estimator(LinearSVC().fit(X, three), X, three)
    rest = LinearSVC(loss="hinge").fit(X, three)
    display = MarginDisplay.from_estimator(rest, X, three, positive="far").plot()
    assert np.allclose(rest.decision_function(display.boundary_.get_xydata())[:, 1], 0.0, atol=1e-9)
    assert np.array_equal(display.reading, rest.slackness_.from_dual[1])
    pairs = SVC(kernel="linear").fit(X, three)
    display = MarginDisplay.from_estimator(pairs, X, three, positive=("up", "down")).plot()
    assert len(display.points) == int((three != "far").sum())
    assert np.array_equal(display.scores > 0, pairs.predict(X[three != "far"]) == "up") or display.wrong.any()
    assert display.wrong.mean() < 0.2
    import pandas

    frame = pandas.DataFrame(X, columns=["price in $", "cost in $"])
    pipe = make_pipeline(StandardScaler().set_output(transform="pandas"), LinearSVC()).fit(frame, y)
    display = MarginDisplay.from_estimator(pipe, frame, y).plot()
    display.figure_.canvas.draw()
    assert display.ax_.get_xlabel() == r"price in \$"
    with pytest.raises(ValueError, match="did you mean 'cost in"):
        MarginDisplay.from_estimator(pipe, frame, y, features=("price in $", "cost in €"))
    one = MarginDisplay.from_estimator(LinearSVC().fit(X[:, :1], y), X[:, :1], y).plot()
    assert np.isfinite(one.boundary_.get_xydata()).all()


# -- gap, bounds, confusion, boosting


def test_gap_curves_are_the_history_and_the_certificate():
    X, y = two(400, 5, apart=0.3)
    model = LinearSVC(loss="hinge").fit(X, y)
    for by, column in (("seconds", 1), ("passes", 0)):
        display = GapDisplay.from_estimator(model, by=by).plot()
        rows, found = np.array(model.history_), model.certificate_
        assert np.array_equal(display.primal_.get_ydata(), [*rows[:, 2], found.primal])
        assert np.array_equal(display.x[:-1], rows[:, column])
        assert np.array_equal(display.dual_.get_ydata()[-1:], [found.dual])
        gap = display.gap_.get_ydata()
        assert (gap > found.rounding).all()
        assert (display.floor_ is not None) == (found.gap <= found.rounding)
        assert display.tol_.get_ydata()[0] == pytest.approx(1e-4 * max(abs(found.primal), abs(found.dual)))
    display = GapDisplay.from_estimator(model).plot()
    assert np.array_equal(display.x[:-1], np.array(model.history_)[:, 0])  # passes, unless seconds are asked for
    for ax in display.axes_:
        assert ax.get_xlabel() == "passes"
        assert all(tick == int(tick) for tick in ax.get_xticks())
    drawn = GapDisplay.from_history([(0, 0.0, 5.0, -np.inf), (1, 2.0, 3.0, 1.0)], tol=0.1).plot()
    assert drawn.dual_.get_ydata().tolist() == [1.0]
    assert drawn.gap_.get_ydata().tolist() == [2.0]
    with pytest.raises(ValueError, match="no gap"):
        GapDisplay.from_estimator(Perceptron(variant="pocket").fit(X, y))


@pytest.mark.parametrize("model", [LinearSVC(loss="hinge", C=0.1), SVC()])
def test_a_model_of_a_frame_gives_bounds_without_a_word_of_its_names(model):
    pandas = pytest.importorskip("pandas")
    X, y = two(60)
    frame = pandas.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        BoundDisplay.from_estimator(model.fit(frame, y), frame, y).plot()
        # The same rows as an array: the fingerprint knows them, and nobody warns.
        rows = frame.to_numpy()
        BoundDisplay.from_estimator(model, rows, y, X_test=rows[::-1] + 0.01, y_test=np.asarray(y)[::-1]).plot()


def test_bars_are_the_bounds():
    X, y = two(200)
    new, labels = two(100, seed=5)
    model = LinearSVC(loss="hinge", C=0.1).fit(X, y)
    found = bounds(model, X, y, X_test=new, y_test=labels)
    display = BoundDisplay.from_estimator(model, X, y, X_test=new, y_test=labels).plot()
    assert {row.method: min(1.0, row.value) for row in found.rows} == {
        m: b.get_width() for m, b in display.bars_.items()
    }
    assert [bar.get_y() for bar in display.bars_.values()] == sorted(bar.get_y() for bar in display.bars_.values())
    assert display.bars_["leave-one-out"].get_hatch() == "////"
    assert display.bars_[found.best.method].get_hatch() == ""
    assert len(display.refused_) == len(found.refused) == 1
    assert display.training_.get_xdata()[0] == np.mean(model.predict(X) != y)
    assert display.test_.get_xdata()[0] == np.mean(model.predict(new) != labels)
    assert f"at most {found.best.value:.4g} ({found.best.method})" in display.title
    alone = BoundDisplay.from_bounds(found).plot()
    assert alone.training_ is None


def test_cells_are_the_counts_and_bars_the_exact_intervals():
    X, y = two(120)
    model = LinearSVC().fit(X, y)
    new, labels = two(70, seed=4, apart=0.6)
    display = ConfusionDisplay.from_estimator(model, new, labels).plot()
    found = confusion(model, new, labels)
    assert np.array_equal(display.image_.get_array(), found.counts / found.counts.sum(axis=1, keepdims=True))
    shown = [[int(display.texts_[i, j].get_text().split("\n")[0]) for j in (0, 1)] for i in (0, 1)]
    assert shown == found.counts.tolist()
    for bars, rate in ((display.recall_, found.recall), (display.precision_, found.precision)):
        ends = np.array([path[:, 0] for path in bars[2][0].get_segments()])
        want = [[rate(c).low, rate(c).high] for c in found.classes]
        assert np.allclose(ends, want)
    assert f"between {found.error.low:.3g} and {found.error.high:.3g}" in display.title
    with pytest.warns(UserWarning, match="trained on"):
        seen = ConfusionDisplay.from_estimator(model, X, y).plot()
    assert len(seen.axes_) == 1
    assert "nothing of new rows" in seen.title
    given = ConfusionDisplay.from_predictions(labels, model.predict(new))
    assert np.array_equal(given.found.counts, found.counts)


def test_rounds_of_boosting():
    X, y = rings()
    new, labels = rings(60, 7)
    model = AdaBoostClassifier(n_estimators=30).fit(X, y)
    display = BoostingDisplay.from_estimator(model, X, y, X_test=new, y_test=labels, stages=(4, 30)).plot()
    found = model.certificate_
    assert np.array_equal(display.training_.get_ydata(), found.training)
    assert np.array_equal(display.bound_.get_ydata(), np.cumprod(found.factors))
    assert (display.training_.get_ydata() <= display.bound_.get_ydata() + 1e-12).all()
    assert np.allclose(display.edges_.get_ydata(), 0.5 - model.estimator_errors_)
    assert np.allclose(display.test_.get_ydata(), 1.0 - np.array(list(model.staged_score(new, labels))))
    last = display.margins_[-1].get_xdata()
    assert last.min() == pytest.approx(found.margin, abs=1e-12)
    assert np.median(last) == pytest.approx(found.median_margin, abs=1e-12)
    assert display.guarantee_.get_xdata()[0] == found.bracket[1] >= last.min()
    a = model.estimator_weights_[:4]  # the margins after four rounds, by hand
    votes = np.array([np.where(e.predict(X) == model.classes_[1], 1.0, -1.0) for e in model.estimators_[:4]])
    by_hand = np.sort(np.where(y == model.classes_[1], 1.0, -1.0) * (a @ votes) / a.sum())
    assert np.allclose(display.margins_[0].get_xdata(), by_hand)
    assert len(BoostingDisplay.from_estimator(model).plot().axes_) == 2
    with pytest.raises(ValueError, match="AdaBoostClassifier"):
        BoostingDisplay.from_estimator(LinearSVC().fit(X, y))
