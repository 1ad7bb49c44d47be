"""Pictures of data: the lines, hulls, squares and boxes are where the numbers say."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from sklearn.preprocessing import PolynomialFeatures

from gapless import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    GaussianDiscriminant,
    LeastSquaresClassifier,
    LinearRegression,
    LinearSVC,
    LogisticRegression,
    Perceptron,
    QuadraticDiscriminantAnalysis,
    Ridge,
    separability,
)
from gapless.plots import (
    FeatureMapDisplay,
    GaussianDisplay,
    MistakesDisplay,
    OffsetsDisplay,
    RegressionDisplay,
    SeparationDisplay,
    StartsDisplay,
    ThreeModelsDisplay,
    TreeDisplay,
)


def clouds(apart=2.0, n=30, d=2, seed=0):
    random = np.random.default_rng(seed)
    y = np.arange(n) % 2
    return 0.5 * random.normal(size=(n, d)) + apart * np.where(y, 0.5, -0.5)[:, None], y


def scores(X, theta):
    return np.asarray(X) @ theta[:2] + theta[2]


# -- separation


def test_complete_separation_is_the_widest_strip():
    X, y = clouds()
    found = separability(X, y)
    display = SeparationDisplay.from_separability(found, X, y).plot()
    assert found.status == "complete"
    assert np.allclose(display.boundary_.get_xydata() @ found.w + found.b, 0.0, atol=1e-9)
    # the segment between the hulls is as long as the strip is wide, and stands upright on it
    a, b = display.nearest_.get_xydata()
    assert np.linalg.norm(b - a) == pytest.approx(2.0 * found.margin, rel=1e-6)
    assert np.allclose(np.cross([*(b - a), 0.0], [*found.w, 0.0]), 0.0, atol=1e-9 * np.linalg.norm(found.w))
    for line, side in zip(display.margins_, (-1.0, 1.0)):
        distance = (line.get_xydata() @ found.w + found.b) / np.linalg.norm(found.w)
        assert np.allclose(distance, side * found.margin, rtol=1e-9)
    assert f"margin {found.margin:.4g}, and none is larger" in display.title
    assert np.array_equal(np.asarray(display.rings_.get_offsets()), X[found.rows])


@pytest.mark.parametrize("d", [2, 4])
def test_overlap_is_a_point_of_both_hulls(d):
    X, y = clouds(0.1, 60, d, seed=2)
    display = SeparationDisplay.from_data(X, y).plot()
    found = display.found
    assert found.status == "overlap"
    # the means of the two classes agree exactly, in fractions, in every column
    side = y[found.rows] == found.classes[1]
    for j in range(d):
        means = []
        for which in (False, True):
            rows = [
                (Fraction(float(X[i, j])), m)
                for i, m, s in zip(found.rows, found.multipliers, side)
                if bool(s) == which
            ]
            means.append(sum(x * m for x, m in rows) / sum(m for _, m in rows))
        assert means[0] == means[1]
    assert np.allclose(display.centres[0], display.centres[1], atol=1e-9)
    assert np.allclose(display.star_.get_xydata()[0], display.centres[0])
    assert len(display.spokes_) == found.rows.size
    sizes = display.rings_.get_sizes()
    shares = np.array([float(m) for m in found.multipliers])
    shares[side] /= shares[side].sum()
    shares[~side] /= shares[~side].sum()
    assert np.allclose(sizes / sizes.max(), shares / shares.max())
    assert ("main axes" in display.title) == (d == 4)


def test_quasi_separation_and_refusals():
    X, y = (
        np.array([[-1.0, 0.0], [-1.0, 1.0], [0.0, 0.5], [0.0, 0.5], [1.0, 0.0], [1.0, 1.0]]),
        np.array([0, 0, 0, 1, 1, 1]),
    )
    display = SeparationDisplay.from_data(X, y).plot()
    assert display.found.status == "quasi"
    assert np.allclose(display.star_.get_xydata()[0], [0.0, 0.5])
    assert "2 rows on the hyperplane" in display.title
    with pytest.raises(ValueError, match="two classes"):
        SeparationDisplay.from_data(X, [0, 1, 2, 0, 1, 2])
    with pytest.raises(ValueError, match="6"):
        SeparationDisplay.from_separability(display.found, X[:3], y[:3])


# -- three models, starts, offsets, mistakes


def test_three_models_and_the_rows_that_pull():
    X, y = clouds(2.4, 40, seed=5)
    far, labels = np.array([[9.0, -3.0], [9.5, -2.5], [8.5, -3.5]]), [1, 1, 1]
    display = ThreeModelsDisplay.from_data(X, y, far, labels).plot()
    models = {
        "least squares": LeastSquaresClassifier(),
        "logistic": LogisticRegression(),
        "SVM": LinearSVC(loss="hinge"),
    }
    for name, model in models.items():
        for lines, rows, targets in ((display.before_, X, y), (display.after_, np.vstack([X, far]), [*y, *labels])):
            model.fit(rows, np.where(np.asarray(targets) == 1, 1.0, -1.0))
            assert np.allclose(model.decision_function(lines[name].get_xydata()), 0.0, atol=1e-6)
        assert display.errors[name][1] == int((model.predict(X) != np.where(y == 1, 1.0, -1.0)).sum())
    assert display.turned("least squares") > 5.0 > display.turned("SVM")
    assert f"least squares turns by {display.turned('least squares'):.0f}°" in display.title
    s, made = display.outputs_["logistic"].get_data()
    assert np.allclose(made, np.tanh(s / 2.0))
    with pytest.raises(ValueError, match="label"):
        ThreeModelsDisplay.from_data(X, y, far, [7, 7, 7])
    pocket = ThreeModelsDisplay.from_data(X, y, far, labels, third="perceptron").plot()
    assert set(pocket.before_) == {"least squares", "logistic", "perceptron"}


def test_every_start_ends_on_a_line_that_separates():
    X, y = clouds(2.4, 40, seed=5)
    display = StartsDisplay.from_data(X, y, starts=[[5.0, -5.0, 1.0], [-9.0, 2.0, 0.0], [0.0, 0.0, 0.0]]).plot()
    sign = np.where(y == 1, 1.0, -1.0)
    for line, theta, start in zip(display.lines_, display.ends, display.starts):
        assert np.allclose(scores(line.get_xydata(), theta), 0.0, atol=1e-9 * np.linalg.norm(theta))
        assert (sign * scores(X, theta) > 0.0).all()
        model = Perceptron(shuffle=False, tol=None).fit(X, sign, coef_init=start[None, :2], intercept_init=start[2:])
        assert np.allclose([*model.coef_[0], *model.intercept_], theta)
    flat = LeastSquaresClassifier().fit(X, sign)
    assert np.allclose(flat.decision_function(display.least_squares_.get_xydata()), 0.0, atol=1e-9)
    angles = np.arctan2(display.ends[:, 1], display.ends[:, 0])
    assert display.spread == pytest.approx(np.degrees(np.ptp(angles)), abs=1e-9)
    assert "none has a row on its wrong side" in display.title
    assert len(StartsDisplay.from_data(X, y, starts=4).plot().lines_) == 4


def test_only_a_free_offset_does_not_care_where_the_origin_is():
    X, y = clouds(1.5, 20, seed=3)
    X = X @ np.array([[1.0, 0.3], [0.0, 0.6]]) + np.array([0.9, 0.2])
    display = OffsetsDisplay.from_data(X, y, shift=(3.0, -1.0)).plot()
    sign, sides = np.where(y == 1, 1.0, -1.0), {side.kind: side for side in display.sides}
    assert np.allclose(sides["free"].w, sides["free"].moved_w, rtol=1e-5)
    assert sides["free"].b == pytest.approx(sides["free"].moved_b, rel=1e-4)
    assert "shifted or not" in display.title(sides["free"])
    assert abs(sides["penalised"].b - sides["penalised"].moved_b) > 1e-3
    assert sides["free"].margin >= sides["penalised"].margin * (1.0 - 1e-9)
    for kind, (line, moved) in display.lines_.items():
        side = sides[kind]
        if side.w is None:
            assert line is None
            assert "no such line separates" in display.title(side)
        else:
            assert np.allclose(line.get_xydata() @ side.w + side.b, 0.0, atol=1e-6)
            assert (sign * (X @ side.w + side.b)).min() == pytest.approx(1.0, abs=1e-4)
        if moved is not None and np.isfinite(moved.get_xydata()).all():
            assert np.allclose(moved.get_xydata() @ side.moved_w + side.moved_b, 0.0, atol=1e-6)


def test_mistakes_stay_below_their_bound_and_the_proof_holds():
    display = MistakesDisplay.from_gaps((1.0, 0.3, 0.1), n=60, d=3).plot()
    assert (display.made_.get_ydata() <= display.bound_.get_ydata()).all()
    assert (np.diff(display.ratio) < 0.0).all()
    assert np.allclose(display.bounds * display.ratio**2, 1.0, rtol=1e-3)
    along, least, norm, most = (
        line.get_ydata() for line in (display.along_, display.least_, display.norm_, display.most_)
    )
    assert (least <= along + 1e-9).all()
    assert (along <= norm + 1e-9).all()
    assert (norm <= most + 1e-9).all()
    X, y = clouds(2.4)
    models = [Perceptron(random_state=k).fit(X, y) for k in range(2)]
    other = MistakesDisplay.from_models(models).plot()
    assert sorted(other.mistakes) == sorted(model.mistakes_ for model in models)
    assert len(other.axes_) == 1
    weighted = Perceptron().fit(X, y, sample_weight=np.linspace(1.0, 2.0, len(X)))
    with pytest.raises(ValueError, match="no bound"):
        MistakesDisplay.from_models([weighted])


# -- feature maps, Gaussian classes


def test_xor_and_the_quadratic_picture():
    X, y = np.array([[-1.0, -1.0], [-1.0, 1.0], [1.0, -1.0], [1.0, 1.0]]), np.array(["equal", "not", "not", "equal"])
    product = PolynomialFeatures(2, interaction_only=True, include_bias=False)
    display = FeatureMapDisplay.from_data(X, y, product).plot()
    assert (display.before.status, display.after.status) == ("overlap", "complete")
    v, c = display.line
    sign = np.where(display.positive, 1.0, -1.0)
    assert (sign * (display.mapped @ v + c) > 0.0).all()
    assert np.allclose(display.line_.get_xydata() @ v + c, 0.0, atol=1e-9)
    assert "x0·x1" in (display.axes_[1].get_xlabel(), display.axes_[1].get_ylabel())
    x = np.linspace(-2.0, 2.0, 12)[:, None]
    flat = FeatureMapDisplay.from_data(
        x, np.abs(x[:, 0]) > 1.0, lambda z: np.column_stack([z[:, 0], z[:, 0] ** 2])
    ).plot()
    cuts = np.sort([path[0, 0] for path in flat.curve_.get_segments()])
    v, c = flat.line
    roots = np.sort(np.roots([v[1], v[0], c]).real)
    assert np.allclose(cuts, roots, atol=1e-3)
    with pytest.raises(ValueError, match="one or two features"):
        FeatureMapDisplay.from_data(np.ones((4, 3)), y, product)


@pytest.mark.parametrize("covariance", ["spherical", "shared", "per_class"])
def test_ellipses_and_the_boundary_of_gaussian_classes(covariance):
    random = np.random.default_rng(0)
    X = np.vstack([random.normal(size=(40, 2)) @ [[1.0, 0.5], [0.0, 0.6]], random.normal(size=(30, 2)) * 0.5 + 2.0])
    y = np.repeat([0, 1], [40, 30])
    model = GaussianDiscriminant(covariance=covariance).fit(X, y)
    display = GaussianDisplay.from_estimator(model, X, y).plot()
    conic = model.boundary()
    (contour,) = display.boundary_
    points = np.vstack([path.vertices for path in contour.get_paths()])
    odds = conic.log_odds(points)
    steep = np.abs(conic.log_odds(points + 1e-5) - odds).max() / 1e-5
    assert np.abs(odds).max() < 0.02 * max(steep, 1.0)
    matrices = np.broadcast_to(
        model.covariance_ * np.eye(2) if covariance == "spherical" else model.covariance_, (2, 2, 2)
    )
    for k in (0, 1):
        for line, radius in zip(display.ellipses_[k], (1.0, 2.0)):
            away = line.get_xydata() - model.means_[k]
            assert np.allclose(np.einsum("ij,ij->i", away @ np.linalg.inv(matrices[k]), away), radius**2)
    assert display.wrong == int((model.predict(X) != y).sum())
    assert ("lines" in display.title) == (covariance != "per_class")


def test_marginals_more_classes_and_the_logistic_line():
    random = np.random.default_rng(1)
    y = np.arange(90) % 3
    X = random.normal(size=(90, 4)) + np.array([[0, 0, 0, 0], [3, 0, 1, 0], [0, 3, 0, 1]])[y]
    model = QuadraticDiscriminantAnalysis(store_covariance=True).fit(X, y)
    display = GaussianDisplay.from_estimator(model, X, y, features=(1, 0)).plot()
    alone = QuadraticDiscriminantAnalysis().fit(
        X[:, [1, 0]], y
    )  # the marginal of a Gaussian has the corner of its covariance
    assert display.wrong == int((alone.predict(X[:, [1, 0]]) != y).sum())
    assert len(display.boundary_) >= 2
    assert "marginals" in display.title
    with pytest.raises(ValueError, match="features="):
        GaussianDisplay.from_estimator(model, X, y)
    pair, two = X[y < 2][:, :2], y[y < 2]
    logistic = LogisticRegression().fit(pair, two)
    both = GaussianDisplay.from_estimator(GaussianDiscriminant().fit(pair, two), pair, two, logistic=logistic).plot()
    assert np.allclose(logistic.decision_function(both.logistic_.get_xydata()), 0.0, atol=1e-9)


# -- regression, trees


def test_the_squares_of_r2():
    random = np.random.default_rng(2)
    x = random.uniform(0.0, 10.0, (15, 1))
    y = 0.7 * x[:, 0] + random.normal(size=15)
    model = LinearRegression().fit(x, y)
    display = RegressionDisplay.from_estimator(model, x, y).plot()
    residuals = y - model.predict(x)
    assert np.allclose([box.get_height() for box in display.about_line_], residuals)
    assert np.allclose([box.get_height() for box in display.about_mean_], y - y.mean())
    assert display.r2 == pytest.approx(model.score(x, y), rel=1e-12)
    ratio = sum(box.get_height() ** 2 for box in display.about_line_) / sum(
        b.get_height() ** 2 for b in display.about_mean_
    )
    assert 1.0 - ratio == pytest.approx(model.score(x, y))
    display.figure_.canvas.draw()  # and they look like squares
    for axes, boxes in ((display.axes_[0], display.about_mean_), (display.axes_[1], display.about_line_)):
        for box in boxes:
            sides = np.abs(np.diff(axes.transData.transform(box.get_bbox().get_points()), axis=0))[0]
            assert sides[0] == pytest.approx(sides[1], rel=1e-6)
    along, values = display.line_.get_data()
    assert np.allclose(values, model.predict(np.asarray(along)[:, None]))
    assert f"R² = {display.r2:.3g}" in display.axes_[1].get_title(loc="left").replace("\n", " ").replace(
        "\N{NO-BREAK SPACE}", " "
    )
    wide = random.normal(size=(80, 3))
    many = RegressionDisplay.from_estimator(
        Ridge().fit(wide, wide @ [1.0, 2.0, 0.0]), wide, wide @ [1.0, 2.0, 0.0]
    ).plot()
    assert (many.about_line_, len(many.axes_)) == ([], 2)
    with pytest.raises(ValueError, match="targets"):
        RegressionDisplay.from_predictions([1.0, 2.0], [1.0])


def test_boxes_are_the_nodes():
    random = np.random.default_rng(3)
    X = random.normal(size=(120, 3))
    y = np.where(X[:, 0] > 0.3, "a", np.where(X[:, 1] > 0, "b", "c $ d"))
    model = DecisionTreeClassifier(max_depth=3).fit(X, y)
    display = TreeDisplay.from_estimator(model, feature_names=["first", "second", "third"]).plot()
    display.figure_.canvas.draw()
    tree = model.tree_
    assert set(display.boxes_) == set(range(tree.node_count))
    for k, node in display.nodes.items():
        assert node.n == tree.n_node_samples[k]
        widths = [bar.get_width() for bar in display.bars_[k]]
        assert np.allclose(np.array(widths) / sum(widths), tree.value[k][0] / tree.value[k][0].sum())
        if tree.children_left[k] >= 0:
            left, right = display.nodes[tree.children_left[k]], display.nodes[tree.children_right[k]]
            assert left.x < node.x < right.x
            assert left.depth == right.depth == node.depth + 1
            assert f"{tree.threshold[k]:.3f}" in display.texts_[k].get_text().replace("\n", " ")
            thick = [display.edges_[child.number].get_linewidth() - 0.6 for child in (left, right)]
            assert np.allclose(thick, 4.0 * np.array([left.n, right.n]) / len(X))
    for depth in range(4):  # boxes of a level do not touch
        level = sorted(node.x for node in display.nodes.values() if node.depth == depth)
        assert (np.diff(level) > 0.9).all()
    value = DecisionTreeRegressor(max_depth=5).fit(X, X[:, 0] ** 2)
    cut = TreeDisplay.from_estimator(value, max_depth=2).plot()
    assert max(node.depth for node in cut.nodes.values()) == 2
    assert len(cut.nodes) + sum(node.hidden for node in cut.nodes.values()) == value.tree_.node_count
    with pytest.raises(ValueError, match="no fitted tree"):
        TreeDisplay.from_estimator(DecisionTreeClassifier())


def test_starts_have_colours_that_no_class_has():
    from matplotlib.colors import to_hex

    X, y = clouds()
    display = StartsDisplay.from_data(X, y, starts=9).plot()
    classes = {
        to_hex(colour) for rows in display.rows_ for colour in (rows.get_edgecolor()[0], rows.get_facecolor()[0])
    }
    lines = {to_hex(line.get_color()) for line in [*display.lines_, display.least_squares_]}
    assert not classes & lines
    looks = [(to_hex(line.get_color()), line.get_linestyle(), str(line._dash_pattern)) for line in display.lines_]
    assert len(set(looks)) == len(looks)
