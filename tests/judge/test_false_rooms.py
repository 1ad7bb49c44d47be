"""Rooms that a forger made wide: by sums that overflow, by what the data cannot see, by a type that the rows have not."""

from __future__ import annotations

import numpy as np
import pytest
from judge_accepts import accepted, honest, of

import gapless

RNG = np.random.default_rng(5)
X = RNG.normal(size=(60, 3))
TWO = (X[:, 0] + 0.7 * RNG.normal(size=60) > 0).astype(int)
THREE = np.digitize(X[:, 0] + 0.5 * RNG.normal(size=60), [-0.5, 0.5])
TARGET = X @ [1.0, -2.0, 0.5] + RNG.normal(size=60)
#: Arrays that are of the type that a document names.
TYPED = ("coef", "intercept", "means", "priors", "scalings", "ratio", "xbar")


def narrowed(document, arrays):
    """The same model, as if it had been fitted to float32."""
    document["dtype"] = "float32"
    arrays.update({name: arrays[name].astype(np.float32) for name in TYPED if name in arrays})


@pytest.mark.parametrize("weight", [1e308, 1e307, 0.0])
def test_weights_whose_sum_overflows_bound_no_margin(weight):
    fit = of(gapless.AdaBoostClassifier(n_estimators=4), X, TWO)

    def change(document, arrays):
        document["certificate"]["best"] = 0.0
        arrays["against"] = np.full(60, weight)

    assert fit.document["certificate"]["best"] > 0.1
    assert honest(fit)
    assert not accepted(fit, change)


@pytest.mark.parametrize("size", [1e12, 1e13, 1e14, 1e15, 1e18])
@pytest.mark.parametrize("share", [1e-4, 0.5, 0.8])
def test_coefficients_that_cancel_excuse_no_residuals(size, share):
    fit = of(gapless.LinearRegression(), np.column_stack([X, X[:, 0]]), TARGET + 1e5)

    def change(document, arrays):
        arrays["coef"][0, 0] += size
        arrays["coef"][0, 3] -= size
        target = document["certificate"]["targets"][0]
        target["rss"] *= share
        target["r2"] = 1.0 - (1.0 - target["r2"]) * share

    assert honest(fit)
    assert not accepted(fit, change)
    assert not accepted(fit, change, True)


@pytest.mark.parametrize("common", [1e7, 1e10, 1e12])
@pytest.mark.parametrize("model", [gapless.LinearRegression(), gapless.Ridge(alpha=0.3)])
def test_what_targets_have_in_common_excuses_no_r2(common, model):
    y = common + np.round(TARGET, 2)  # of the numbers as they are read r2 is known as well as without the common part
    fit = of(model, X, y)

    def change(document, arrays):
        document["certificate"]["targets"][0]["r2"] *= 1 - 1e-7

    assert honest(fit)
    assert not accepted(fit, change)
    assert not accepted(fit, change, True)


@pytest.mark.parametrize("share", [1e-9, 1e-6, -1e-6])
@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf", "precomputed"])
def test_the_price_of_a_missed_equality_excuses_no_dual_point(kernel, share):
    rows = X @ X.T if kernel == "precomputed" else X
    fit = of(gapless.SVC(kernel=kernel, coef0=1.0, gamma=0.3), rows, TWO)
    free = np.flatnonzero((fit.arrays["dual"][0] != 0.0) & (np.abs(fit.arrays["dual"][0]) < 1.0))[0]

    def change(document, arrays):
        arrays["dual"][0, free] *= 1.0 + share

    assert honest(fit)
    assert not accepted(fit, change)


def test_a_type_that_the_rows_do_not_have_excuses_nothing():
    y = TARGET + 1e8
    fit = of(gapless.LinearRegression(), X, y)

    def change(document, arrays):
        narrowed(document, arrays)
        arrays["coef"] *= -1.0
        r = y - X @ arrays["coef"][0].astype(float) - float(arrays["intercept"][0])
        columns = np.column_stack([X - X.mean(axis=0), np.ones(60)])
        cosines = np.abs(columns.T @ r) / np.linalg.norm(columns, axis=0) / np.linalg.norm(r)
        r2 = 1.0 - float(r @ r) / float(((y - y.mean()) ** 2).sum())
        figures = {"rss": float(r @ r), "r2": r2, "orthogonality": float(cosines.max()), "rounding": 2.0}
        document["certificate"]["targets"][0].update(figures)

    assert honest(fit)
    assert not accepted(fit, change)
    assert not accepted(fit, narrowed)


@pytest.mark.parametrize("solver", ["svd", "lsqr", "eigen"])
@pytest.mark.parametrize("shift", [1e4, 1e6, 1e8])
@pytest.mark.parametrize("off", [0.1, 1.0, 50.0])
def test_classes_far_from_zero_excuse_no_intercept(solver, shift, off):
    fit = of(gapless.LinearDiscriminantAnalysis(solver=solver), X + shift, THREE)

    def change(document, arrays):
        arrays["intercept"][1] += off

    def change_narrowed(document, arrays):
        narrowed(document, arrays)
        arrays["intercept"][1] += off

    assert honest(fit)
    assert not accepted(fit, change)
    assert not accepted(fit, change_narrowed)


@pytest.mark.parametrize("solver", ["svd", "lsqr", "eigen"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shift", [0.0, 30.0, 1e4, 1e5])
def test_scores_of_classes_far_from_zero(solver, dtype, shift):
    rows = (X + shift).astype(dtype)
    model = gapless.LinearDiscriminantAnalysis(solver=solver).fit(rows, THREE)
    near = rows.astype(float) - shift
    wanted = gapless.LinearDiscriminantAnalysis().fit(near, THREE).decision_function(near)
    scores = model.decision_function(rows).astype(float)
    off = (scores - scores[:, :1]) - (wanted - wanted[:, :1])
    assert np.abs(off).max() <= 1e-4 + 16.0 * np.finfo(dtype).eps * (shift + 1.0)
    assert gapless.verify(model, rows, THREE)


@pytest.mark.parametrize("size", [1e10, 1e12, 1e14, 1e16])
@pytest.mark.parametrize("shift", [0.0, 1e3])
def test_columns_in_other_units_excuse_no_rounding(shift, size):
    """A multiple and a constant more are no direction beside an offset: rounding of scores along it is the forger's own."""
    celsius = shift + X[:, 0]
    fit = of(gapless.LinearRegression(), np.column_stack([celsius, 1.75 * celsius + 32.0, X[:, 2]]), TARGET)

    def change(document, arrays):
        arrays["coef"][0, :2] += [1.75 * size, -size]
        arrays["intercept"][0] += 32.0 * size
        target = document["certificate"]["targets"][0]
        target["rounding"] = 2.0

    assert honest(fit)
    assert not accepted(fit, change)


def test_a_stump_is_no_drawn_tree_that_was_pruned():
    """Pruning at a price of next to nothing leaves every cut that takes off more."""
    fit = of(gapless.DecisionTreeClassifier(max_depth=1, splitter="random", random_state=0), X, TWO)

    def change(document, arrays):
        document["parameters"] |= {"max_depth": None, "ccp_alpha": 1e-9}

    assert honest(fit)
    assert not accepted(fit, change)
