"""Every picture of gapless.plots on small data, written as docs/gallery/NAME.png (needs matplotlib).

python examples/gallery.py              all of them
python examples/gallery.py margin tree  some
"""

from __future__ import annotations

import sys
from io import BytesIO
from pathlib import Path

import numpy as np
from gapless.theory.overfitting import overfitting as overfitting_study
from sklearn.datasets import load_breast_cancer, load_digits, load_iris
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

import gapless as gp
from gapless import plots

FOLDER = Path(__file__).parents[1] / "docs" / "gallery"
#: Dots an inch, and colours that a file keeps.
DPI, PALETTE = 100, 160


def clouds(n=60, apart=1.2, seed=0):
    """Two Gaussian clouds."""
    random = np.random.default_rng(seed)
    y = np.arange(n) % 2
    return random.normal(size=(n, 2)) + apart * np.where(y, 1.0, -1.0)[:, None], np.where(y, "ill", "healthy")


def rings(n=120, seed=1):
    """A disc and the ring around it."""
    random = np.random.default_rng(seed)
    angle, inside = random.uniform(0.0, 2.0 * np.pi, n), np.arange(n) % 2 == 0
    radius = np.where(inside, random.uniform(0.0, 1.0, n), random.uniform(1.5, 2.5, n))
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]), np.where(inside, "disc", "ring")


def cancer():
    """569 rows in two halves, standardised by the first."""
    data = load_breast_cancer(as_frame=True)
    rows = np.random.default_rng(0).permutation(len(data.target))
    scale = StandardScaler().set_output(transform="pandas").fit(data.data.iloc[rows[:300]])
    X, y = scale.transform(data.data), np.where(data.target == 1, "benign", "malignant")
    return X.iloc[rows[:300]], y[rows[:300]], X.iloc[rows[300:]], y[rows[300:]]


def margin():
    X, y = clouds(80, 0.9)
    model = gp.LinearSVC(loss="hinge", C=0.5).fit(X, y)
    return plots.MarginDisplay.from_estimator(model, X, y)


def margin_kernel():
    X, y = rings()
    X = X + 0.25 * np.random.default_rng(2).normal(size=X.shape)
    return plots.MarginDisplay.from_estimator(gp.SVC(C=1.0).fit(X, y), X, y)


def margin_many():
    X, y, _, _ = cancer()
    return plots.MarginDisplay.from_estimator(gp.LinearSVC(loss="hinge", C=0.05).fit(X, y), X, y)


def gap():
    random = np.random.default_rng(0)
    X = random.normal(size=(4000, 30))
    y = X @ random.normal(size=30) + 3.0 * random.normal(size=4000) > 0.0
    return plots.GapDisplay.from_estimator(gp.LinearSVC(loss="hinge", C=1.0).fit(X, y))


def bound():
    X, y, X_test, y_test = (np.asarray(part) for part in cancer())
    model = gp.LinearSVC(loss="hinge", C=0.05).fit(X, y)
    return plots.BoundDisplay.from_estimator(model, X, y, X_test=X_test, y_test=y_test)


def confusion():
    data = load_digits()
    model = gp.LogisticRegression(C=0.01).fit(data.data[:1200], data.target[:1200])
    return plots.ConfusionDisplay.from_estimator(model, data.data[1200:], data.target[1200:])


def boosting():
    X, y, X_test, y_test = cancer()
    model = gp.AdaBoostClassifier(n_estimators=150).fit(X, y)
    return plots.BoostingDisplay.from_estimator(model, X, y, X_test=X_test, y_test=y_test)


def separation():
    X, y = clouds(40, 2.0, seed=3)
    return plots.SeparationDisplay.from_data(X, y)


def separation_overlap():
    X, y = clouds(40, 0.5, seed=4)
    return plots.SeparationDisplay.from_data(X, y)


def path():
    X, y, X_test, y_test = cancer()
    result = gp.path(gp.LinearSVC(loss="hinge"), X, y, np.logspace(-4, 2, 31))
    return plots.PathDisplay.from_path(result, X, y, X_test=X_test, y_test=y_test)


def path_exact():
    X, y, X_test, y_test = cancer()
    result = gp.path(gp.LinearSVC(loss="hinge"), X, y, exact=True)
    return plots.PathDisplay.from_path(result, X, y, X_test=X_test, y_test=y_test)


def trace():
    random = np.random.default_rng(3)
    X = random.normal(size=(60, 2)) @ np.array([[1.0, 0.9], [0.0, 0.5]])
    y = np.where(X @ [1.0, -0.5] + 0.5 * random.normal(size=60) > 0.0, 1, -1)
    risk = gp.linear_risk(X, y, loss="logistic", lam=0.01, offset="none")
    runs = {
        "rate 2": gp.descend(risk, [-3.0, 3.0], schedule=2.0, stop=40),
        "rate 16": gp.descend(risk, [-3.0, 3.0], schedule=16.0, stop=40),
        "Newton": gp.descend(risk, [-3.0, 3.0], method="newton"),
    }
    return plots.TraceDisplay.from_descent(runs, risk)


def loss():
    return plots.LossDisplay.from_losses()


def cross_entropy():
    return plots.CrossEntropyDisplay.from_probability(0.3, 0.65)


def schedule():
    return plots.ScheduleDisplay.from_objective()


def reliability():
    X, y, X_test, y_test = cancer()
    few = X.columns[:3]
    model = gp.AdaBoostClassifier(n_estimators=60).fit(X[few], y)
    models = {"boosting": model, "calibrated": gp.calibrate(model, X[few], y, cv=5)}
    return plots.ReliabilityDisplay.from_estimator(models, X_test[few], y_test, positive="malignant", bins=8)


def regression():
    random = np.random.default_rng(5)
    x = random.uniform(0.0, 10.0, (14, 1))
    y = 0.7 * x[:, 0] + 1.0 + random.normal(size=14)
    return plots.RegressionDisplay.from_estimator(gp.LinearRegression().fit(x, y), x, y)


def gaussian():
    random = np.random.default_rng(3)
    X = np.vstack([
        random.multivariate_normal([0.0, 0.0], [[1.0, 0.6], [0.6, 1.0]], 80),
        random.multivariate_normal([2.0, 1.0], [[0.3, -0.1], [-0.1, 0.8]], 60),
    ])  # fmt: skip
    y = np.repeat(["first", "second"], [80, 60])
    model = gp.GaussianDiscriminant(covariance="per_class").fit(X, y)
    return plots.GaussianDisplay.from_estimator(model, X, y, logistic=gp.LogisticRegression(C=10.0).fit(X, y))


def tree():
    data = load_iris(as_frame=True)
    model = gp.DecisionTreeClassifier(max_depth=3).fit(data.data, data.target_names[data.target])
    return plots.TreeDisplay.from_estimator(model)


def learning_curve():
    w = np.array([1.0, -2.0, 0.5, 0.0, 1.0])

    def data(n, random):
        X = random.normal(size=(n, 5))
        return X, X @ w + random.normal(size=n)

    model = gp.LinearRegression(fit_intercept=False)
    known = {"truth": lambda X: X @ w, "noise": 1.0}
    return plots.LearningCurveDisplay.from_estimator(
        model, data, (10, 20, 40, 80, 160, 320), loss="squared", repeats=100, test=500, **known
    )


def bias_variance():
    def sine(x):
        return np.sin(np.pi * x)

    def draw(random):
        x = random.uniform(-1.0, 1.0, 2)
        return x, sine(x)

    def constant(x, y):
        return lambda t: np.full(len(t), y.mean())

    def line(x, y):
        slope = (y[1] - y[0]) / (x[1] - x[0])
        return lambda t: slope * (t - x[0]) + y[0]

    learners = {"constant": constant, "line": line}
    return plots.BiasVarianceDisplay.from_learners(learners, draw, np.linspace(-1.0, 1.0, 101), sine, draws=2000)


def overfitting():
    return plots.OverfittingDisplay.from_study(overfitting_study("depth", repetitions=20))


def three_models():
    random = np.random.default_rng(7)
    y = np.arange(60) % 2
    X = random.normal(size=(60, 2)) * [1.3, 0.4] + np.where(y[:, None], [0.0, 1.0], [0.0, -1.0])
    far = 0.4 * random.normal(size=(10, 2)) + np.array([5.0, 5.0])
    return plots.ThreeModelsDisplay.from_data(X, y, far, np.ones(10))


def starts():
    X, y = clouds(40, 1.7, seed=3)
    return plots.StartsDisplay.from_data(X, y)


def offsets():
    random = np.random.default_rng(2)
    y = np.arange(24) % 2
    X = 0.4 * random.normal(size=(24, 2)) + np.where(y[:, None], [2.6, 1.4], [-0.4, 0.6])
    return plots.OffsetsDisplay.from_data(X, y, shift=(0.0, 3.0))


def mistakes():
    return plots.MistakesDisplay.from_gaps()


def feature_map():
    X, y = rings()
    return plots.FeatureMapDisplay.from_data(X, y, PolynomialFeatures(2, include_bias=False))


def feature_map_xor():
    X, y = [[-1.0, -1.0], [-1.0, 1.0], [1.0, -1.0], [1.0, 1.0]], ["equal", "different", "different", "equal"]
    product = PolynomialFeatures(2, interaction_only=True, include_bias=False)
    return plots.FeatureMapDisplay.from_data(X, y, product)


def convexity():
    return plots.ConvexityDisplay.from_function(np.exp, (-1.5, 1.5), gradient=np.exp, name="exp(x)")


def convexity_broken():
    return plots.ConvexityDisplay.from_function(lambda x: x**4 - 2.0 * x**2, (-1.6, 1.6), name="x⁴ − 2x²")


def convex_set():
    return plots.ConvexSetDisplay.from_set(lambda x: 1.0 <= x @ x <= 4.0, [(-2.2, 2.2), (-2.2, 2.2)])


def hoeffding():
    return plots.HoeffdingDisplay.from_simulation(mu=0.4, epsilon=0.1)


def urn():
    return plots.UrnDisplay.from_urn(gp.theory.hoeffding.urn(0.4, 50, 0.1))


def tradeoff():
    dimensions = np.arange(1, 31)
    return plots.TradeoffDisplay.from_tradeoff(
        gp.theory.vc.tradeoff(dimensions, 0.05 + 0.6 * np.exp(-dimensions / 4.0), n=20_000)
    )


def crude_bound():
    return plots.CrudeBoundDisplay.from_dimensions()


def split():
    return plots.SplitDisplay.from_points([[0.0, 0.0], [2.0, 0.2], [1.0, 1.8], [0.2, 1.0], [1.4, -0.9]])


FIGURES = (
    convexity, convexity_broken, convex_set, hoeffding, urn, tradeoff, crude_bound, split,
    margin, margin_kernel, margin_many, gap, bound, confusion, boosting, separation, separation_overlap, path, path_exact, trace,
    loss, cross_entropy, schedule, reliability, regression, gaussian, tree, learning_curve, bias_variance, overfitting,
    three_models, starts, offsets, mistakes, feature_map, feature_map_xor,
)  # fmt: skip


def write(display, file: Path) -> None:
    """A small PNG: few colours, no date."""
    from PIL import Image

    buffer = BytesIO()
    display.plot().figure_.savefig(buffer, dpi=DPI, format="png", metadata={"Software": None})
    Image.open(buffer).convert("RGB").quantize(
        PALETTE, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE
    ).save(file, optimize=True)


def main(names: list[str]) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    FOLDER.mkdir(exist_ok=True)
    known = {figure.__name__: figure for figure in FIGURES}
    for name in names or known:
        write(known[name](), FOLDER / f"{name}.png")
        pyplot.close("all")
        print(f"{name}: {(FOLDER / f'{name}.png').stat().st_size / 1000:.0f} kB", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
