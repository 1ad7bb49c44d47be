"""Pictures of theory, descents and paths."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from gapless import (
    LinearRegression,
    LinearSVC,
    LogisticRegression,
    Schedule,
    Until,
    descend,
    linear_risk,
    losses,
    path,
    theory,
)
from gapless.plots import (
    BiasVarianceDisplay,
    CrossEntropyDisplay,
    LearningCurveDisplay,
    LossDisplay,
    OverfittingDisplay,
    PathDisplay,
    ReliabilityDisplay,
    ScheduleDisplay,
    TraceDisplay,
)
from gapless.theory.samples.bias_variance import decompose
from gapless.theory.samples.hoeffding import clopper_pearson
from gapless.theory.samples.learning_curve import learning_curve
from gapless.theory.samples.overfitting import overfitting
from gapless.tuning.calibrate import reliability


def sine(x):
    return np.sin(np.pi * np.asarray(x).ravel())


def two_points(random):
    x = random.uniform(-1.0, 1.0, 2)
    return x, sine(x)


def constant(x, y):
    return lambda t: np.full(len(t), y.mean())


def line(x, y):
    a = (y[1] - y[0]) / (x[1] - x[0])
    return lambda t: a * (t - x[0]) + y[0]


def test_bars_are_bias_and_variance():
    x = np.linspace(-1.0, 1.0, 41)
    display = BiasVarianceDisplay.from_learners(
        {"constant": constant, "line": line}, two_points, x, sine, draws=300
    ).plot()
    for name, learner in (("constant", constant), ("line", line)):
        found = decompose(learner, two_points, x, sine, draws=300)
        bias, variance, noise = display.bars_[name]
        assert bias.get_height() == pytest.approx(found.bias)
        assert variance.get_height() == pytest.approx(found.variance)
        assert variance.get_y() == pytest.approx(found.bias)
        assert noise is None
        assert np.allclose(display.mean_[name].get_ydata(), found.mean)
        assert np.allclose(display.truth_[name].get_ydata(), sine(x))
    assert display.title.startswith("constant errs least")
    bars = BiasVarianceDisplay.from_decompositions(
        {"line": decompose(line, two_points, x, sine, draws=50, noise=0.1)}
    ).plot()
    assert len(bars.axes_) == 1
    assert bars.bars_["line"][2].get_height() == pytest.approx(0.1)
    with pytest.raises(ValueError, match="one feature"):
        BiasVarianceDisplay.from_learners(constant, two_points, np.ones((4, 2)), np.ones(4))


def test_learning_curves_both_ways():
    w = np.array([1.0, -2.0])

    def data(n, random):
        X = random.normal(size=(n, 2))
        return X, X @ w + random.normal(size=n)

    model = LinearRegression(fit_intercept=False)
    known = {"truth": lambda X: X @ w, "noise": 1.0}
    curve = learning_curve(model, data, (6, 12, 24), loss="squared", repeats=20, test=100, **known)
    display = LearningCurveDisplay.from_curve(curve).plot()
    assert len(display.axes_) == 3
    assert np.array_equal(display.e_in_[0].get_ydata(), curve.e_in)
    assert np.array_equal(display.e_out_[0].get_ydata(), curve.e_out)
    top = display.variance_.get_paths()[0].vertices[:, 1].max()
    assert top == pytest.approx((1.0 + np.maximum(curve.bias, 0.0) + curve.variance).max())
    assert np.allclose(display.root_.get_ydata(), curve.constant / np.sqrt(curve.n))
    assert (display.root_.get_ydata() >= curve.gap - 1e-12).all()
    assert f"{curve.gap[0]:.3g} to {curve.gap[-1]:.3g}" in display.title
    X, y = data(120, np.random.default_rng(0))
    plain = LearningCurveDisplay.from_estimator(LinearSVC(loss="hinge"), (X, y > 0), (10, 40), repeats=4).plot()
    assert len(plain.axes_) == 2
    assert plain.bias_ is None


def test_a_study_of_overfitting():
    study = overfitting("depth", (1, 3, 9), n=40, repetitions=3)
    display = OverfittingDisplay.from_study(study).plot()
    for name in ("train", "test", "squared_bias", "variance"):
        assert np.array_equal(getattr(display, f"{name}_").get_ydata(), getattr(study, name))
    assert display.best_.get_xdata()[0] == study.best
    assert np.array_equal(display.predictions_[9].get_ydata(), study.example[2])


def test_steps_on_the_surface():
    random = np.random.default_rng(0)
    X = random.normal(size=(40, 2))
    y = np.where(X @ [1.0, -1.0] + random.normal(size=40) > 0, 1, -1)
    risk = linear_risk(X, y, loss="logistic", lam=0.1, offset="none")
    runs = {
        "long": descend(risk, [3.0, 3.0], schedule=40.0, stop=12),
        "short": descend(risk, [3.0, 3.0], schedule=0.5, stop=12),
    }
    display = TraceDisplay.from_descent(runs, risk, resolution=11).plot()
    for name, run in runs.items():
        assert np.array_equal(display.values_[name].get_ydata(), run.trace.loss)
        assert np.allclose(display.ways_[name].get_xydata(), run.trace.theta)
        assert np.allclose(display.starts_[name].get_xydata(), [[3.0, 3.0]])
    held = runs["long"].trace.held
    assert len(display.broken_["long"].get_xdata()) == int((held == 0.0).sum()) > 0
    assert display.broken_["short"] is None
    # the surface is the objective, by hand
    for i, j in ((0, 0), (3, 7)):
        theta = np.array([display.xs[j], display.ys[i]])
        by_hand = 0.05 * theta @ theta + np.mean(np.logaddexp(0.0, -y * (X @ theta)))
        assert display.surface[i, j] == pytest.approx(by_hand)
    free = linear_risk(X, y, loss="logistic", lam=0.1)
    three = TraceDisplay.from_descent(descend(free, [3.0, 3.0, 1.0], stop=10), free, resolution=5).plot()
    assert "direction" in three.ax_.figure.axes[1].get_xlabel()
    assert three.surface.min() >= free.value(free.hidden(descend(free).theta)) - 1e-9
    entries = TraceDisplay.from_descent(descend(free, [3.0, 3.0, 1.0], stop=10), free, entries=(2, 0), resolution=5)
    assert entries.names == ("θ3", "θ1")
    with pytest.raises(ValueError, match="trace"):
        TraceDisplay.from_descent(descend(free, trace=False))


def test_groups_of_probabilities():
    random = np.random.default_rng(4)
    p = random.uniform(size=400)
    y = np.where(random.uniform(size=400) < p**2, "yes", "no")
    display = ReliabilityDisplay.from_predictions(y, {"raw": p, "squared": p**2}, bins=8).plot()
    bins = display.groups["raw"]
    assert bins.n.tolist() == [50] * 8
    order = np.argsort(p)
    for k, rows in enumerate(np.split(order, 8)):
        hits = int((y[rows] == "yes").sum())
        assert bins.positive[k] == hits
        assert bins.mean[k] == pytest.approx(p[rows].mean())
        exact = clopper_pearson(hits, 50, 0.05)
        assert (bins.low[k], bins.high[k]) == (exact.low, exact.high)
    curve = display.curves_["raw"]
    assert np.allclose(curve[0].get_ydata(), bins.share)
    assert np.allclose([s[:, 1] for s in curve[2][0].get_segments()], np.column_stack([bins.low, bins.high]))
    assert bins.error > display.groups["squared"].error
    assert bins.histogram.sum() == 400
    model = LogisticRegression().fit(p[:, None], y)
    fitted = ReliabilityDisplay.from_estimator(model, p[:, None], y, strategy="uniform", bins=5).plot()
    assert fitted.what == "yes"
    assert fitted.groups["LogisticRegression"].n.sum() == 400
    assert (
        ReliabilityDisplay.from_predictions([0, 1, 1], [0.9, 0.9, 0.9], strategy="uniform").groups["probabilities"].n
        == [3]
    ).all()
    given = reliability(np.column_stack([1.0 - p, p]), (y == "yes").astype(int), 6, 0.1)
    told = ReliabilityDisplay.from_reliability({"raw": given}).plot()
    assert np.array_equal(told.curves_["raw"][0].get_ydata(), [i.rate for i in given.observed])
    assert np.array_equal(told.counts_["raw"].get_data().values, given.counts)
    assert "together" in told.axes_[1].get_title(loc="left")
    with pytest.raises(TypeError, match="calibrate"):
        ReliabilityDisplay.from_estimator(LinearSVC().fit(p[:, None], y), p[:, None], y)
    with pytest.raises(ValueError, match="between 0 and 1"):
        ReliabilityDisplay.from_predictions(y, 2.0 * p)


def test_a_path_of_plain_numbers():
    Cs = np.array([0.1, 1.0, 10.0])
    coef = np.array([[[0.1, 0.2]], [[0.5, 0.1]], [[2.0, -1.0]]])
    score = {"train": np.array([0.6, 0.8, 0.9]), "test": np.array([0.5, 0.7, 0.6])}
    result = SimpleNamespace(
        Cs=Cs, relative_gap=np.array([1e-5, 2e-5, 0.0]), between=np.array([3e-4, 2e-4]), coef=coef, parameter="C",
        scores=lambda X, y, at: score[y], best=lambda X, y, at: 1.0, trained_on=lambda X: X == "fitted",
    )  # fmt: skip
    display = PathDisplay.from_path(result, "fitted", "train", X_test=0, y_test="test").plot()
    assert np.array_equal(display.scores_["training rows"].get_ydata(), score["train"])
    assert display.best_.get_xdata()[0] == 1.0
    assert "0.7 at C = 1" in display.title()
    drawn = {tuple(line.get_ydata()) for line in display.coefficients_}
    assert drawn == {(0.1, 0.5, 2.0), (0.2, 0.1, -1.0)}
    assert np.array_equal(display.between_.get_data().values, result.between)
    exact = SimpleNamespace(
        Cs=Cs, breaks=Cs, relative_gap=np.zeros(3), parameter="C", dual_at=lambda C: np.array([0.0, 0.5, C, -C])
    )
    shares = PathDisplay.from_path(exact).plot()
    assert np.allclose(shares.shares[-1], [0.25, 0.25, 0.5])
    assert len(shares.axes_) == 2


def test_paths_of_models():
    random = np.random.default_rng(6)
    X = random.normal(size=(40, 2))
    y = X @ [1.0, 0.5] + 0.7 * random.normal(size=40) > 0.0
    Cs = np.array([0.01, 0.1, 1.0])
    result = path(LinearSVC(loss="hinge", tol=1e-10), X, y, Cs, between=np.inf)
    display = PathDisplay.from_path(result, X, y).plot()
    models = [LinearSVC(loss="hinge", C=C).fit(X, y) for C in Cs]
    assert np.allclose(display.scores_["training rows"].get_ydata(), [model.score(X, y) for model in models])
    last = sorted(line.get_ydata()[-1] for line in display.coefficients_)
    assert np.allclose(last, np.sort(models[-1].coef_[0]), atol=1e-4)
    exact = path(LinearSVC(loss="hinge"), X, y, (0.01, 1.0), exact=True)
    display = PathDisplay.from_path(exact, X[::-1], y[::-1], X_test=X[:30] + 0.1, y_test=y[:30]).plot()
    assert list(display.scores_) == ["training rows", "other rows"]  # the order of the rows does not matter
    assert list(PathDisplay.from_path(exact, X[:30], y[:30]).scores) == ["given rows"]
    assert list(PathDisplay.from_path(result, X + 0.1, y).scores) == ["given rows"]
    steps = exact.score_steps(X[:30] + 0.1, y[:30])
    assert np.array_equal(display.scores_["other rows"].get_data().values, steps.scores)
    assert display.best_.get_xdata()[0] == steps.best
    low, high = steps.best_interval
    assert f"the same from {low:.4g} to {high:.4g}" in display.title()
    shares = PathDisplay.from_path(exact).plot()
    found = LinearSVC(loss="hinge", C=float(shares.at[-1])).fit(X, y).slackness_.from_dual
    assert np.allclose(shares.shares[-1], [(found == kind).mean() for kind in (0, 1, 2)], atol=1.5 / len(X))


# -- losses, schedules, cross-entropy


def test_losses_are_drawn_as_they_are():
    display = LossDisplay.from_losses().plot()
    names = {"Perceptron", "Hinge", "SquaredHinge", "Logistic", "Exponential", "Squared"}
    assert set(display.values_) == set(display.slopes_) == set(display.conjugates_) == names
    assert set(display.residuals_) == {"Squared", "EpsilonInsensitive(0.5)"}
    for name in names:
        loss = getattr(losses, name)()
        z, value = display.values_[name].get_data()
        assert np.array_equal(value, loss.value(z, 1.0))
        v, conjugate = display.conjugates_[name].get_data()
        inside = np.isfinite(loss.conjugate(v, 1.0))
        assert np.array_equal(np.isfinite(conjugate), inside)
        assert np.array_equal(conjugate[inside], loss.conjugate(v, 1.0)[inside])
    colours = [line.get_color() for line in display.values_.values()]
    assert len(set(colours)) == len(colours)
    one = LossDisplay.from_losses([losses.Hinge()], [losses.EpsilonInsensitive(0.1)], reach=4.0).plot()
    assert list(one.residuals_) == ["EpsilonInsensitive(0.1)"]
    with pytest.raises(ValueError, match="a loss of one score"):
        LossDisplay.from_losses([losses.Softmax()])


def test_every_schedule_is_drawn():
    display = ScheduleDisplay.from_objective(steps=30).plot()
    assert set(display.rates_) == set(display.values_) == {
        "constant", "inverse", "inverse_root", "pegasos", "cosine", "backtracking", "exact", "polyak",
    }  # fmt: skip
    assert display.limit_.get_ydata()[0] == pytest.approx(0.2)  # curvatures 1 and 10
    for name in ("constant", "inverse", "inverse_root", "pegasos", "cosine"):
        run = display.runs[name]
        steps, rates = display.rates_[name].get_data()
        assert np.array_equal(steps, np.arange(1, 31))
        wanted = {
            "constant": np.full(30, 0.1),
            "inverse": 0.1 / steps,
            "inverse_root": 0.1 / np.sqrt(steps),
            "pegasos": 1.0 / (steps + 10.0),
            "cosine": 0.075 * (1.0 + np.cos(np.pi * steps / 30)),
        }[name]
        assert rates == pytest.approx(wanted, rel=1e-12, abs=1e-15), run.schedule
    X = np.random.default_rng(0).normal(size=(40, 2))
    risk = linear_risk(X, np.where(X[:, 0] > 0, 1, -1), loss="logistic", lam=0.1)
    some = ScheduleDisplay.from_objective(risk, schedules={"short": 0.1, "own": Schedule.exact()}, steps=20).plot()
    assert set(some.values_) == {"short", "own"}
    assert some.lowest == max(run.dual for run in some.runs.values())


def test_cross_entropy_is_entropy_and_divergence():
    display = CrossEntropyDisplay.from_probability(0.3, 0.65).plot()
    q, cross = display.cross_.get_data()
    assert cross == pytest.approx([theory.cross_entropy(0.3, x) for x in q])
    assert display.entropy_.get_ydata()[0] == theory.entropy(0.3)
    low, high = display.divergence_.get_ydata()
    assert high - low == pytest.approx(theory.kl(0.3, 0.65))
    assert "H(p, q) = 0.864 = H(p) 0.611 + KL(p, q) 0.253 nats" in display.title
    for told, y in zip(display.labels_, (1, -1)):
        z, value = display.labels_[told].get_data()
        assert value == pytest.approx(losses.Logistic().value(z, y), abs=1e-14)
        assert display.slopes_[told].get_ydata() == pytest.approx(losses.Logistic().slope(z, y), abs=1e-15)
    with pytest.raises(ValueError, match="must be a probability"):
        CrossEntropyDisplay.from_probability(1.3)
    with pytest.raises(ValueError, match="q must be a float in the range"):
        CrossEntropyDisplay.from_probability(0.3, 1.0)


def test_the_lowest_of_a_trace_is_the_lowest():
    """A run may have been lower on the way than where it ended, and lower than all others: that one is named."""
    X = np.random.default_rng(1).normal(size=(40, 2))
    y = np.where(X[:, 0] + 0.5 * np.random.default_rng(2).normal(size=40) > 0, 1, -1)
    risk = linear_risk(X, y, loss="logistic", lam=0.01, offset="none")
    swing = {"method": "momentum", "schedule": 4.0, "betas": 0.97}
    whole = descend(risk, stop=60, **swing).trace.loss
    high = int(np.argmax(whole - np.minimum.accumulate(whole)))  # where it has swung farthest up from its lowest
    runs = {
        "short": descend(risk, schedule=0.05, stop=40),
        "swings": descend(risk, stop=high, **swing),
        "sgd": descend(risk, method="sgd", schedule=2.0, stop=Until(epochs=5), trace=7),
    }
    display = TraceDisplay.from_descent(runs, risk, resolution=5).plot()
    seen = {name: min(run.trace.loss.min(), run.value) for name, run in runs.items()}
    name = min(seen, key=seen.get)
    assert display.lowest[:2] == (name, seen[name])
    assert runs["swings"].trace.loss.min() < 0.99 * runs["swings"].value  # the end of a run is not its lowest
    assert display.title.startswith(f"lowest: {name}, {seen[name]:.4g} after {display.lowest[2]}")
    assert display.bound == max(run.dual for run in runs.values())
    alone = TraceDisplay.from_descent(runs["swings"], risk, resolution=5)
    assert f"lowest {runs['swings'].trace.loss.min():.4g} at step" in alone.title
    assert "2/L" in display.axes_[0].get_title(loc="left")
