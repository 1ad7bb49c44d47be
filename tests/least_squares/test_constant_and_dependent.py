"""A y that does not vary, one row, and columns that are combinations of others: said, and the same everywhere."""

from __future__ import annotations

import warnings
from fractions import Fraction

import numpy as np
import pytest

from gapless import IllConditionedWarning, LeastSquaresClassifier, LinearRegression, Ridge, judge, plots, verify


@pytest.mark.parametrize("value", [0.0, 0.1, 1 / 3, 7.0, -1e10 / 3, 1e-30])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_r2_of_a_constant_y_is_one_number(value, dtype):
    X, y = np.random.default_rng(0).normal(size=(20, 3)).astype(dtype), np.full(20, value)
    # With an offset y is predicted: 1. Without one it is not, unless it is 0: 0 (0/0 as scikit-learn has it, without rounding).
    for model, wanted in ((LinearRegression(), 1.0), (LinearRegression(fit_intercept=False), float(value == 0.0))):
        model.fit(X, y)
        assert model.certificate_.r2 == model.score(X, y) == wanted
        assert verify(model, X, y)
        display = plots.RegressionDisplay.from_estimator(model, X, y)
        assert display.r2 == wanted
        assert "nan" not in display.title()
        assert "y is constant" in display.title()


def test_a_false_r2_of_a_constant_y_is_refused():
    X, y = np.random.default_rng(0).normal(size=(20, 3)), np.full(20, 0.1)
    for offset, wrong in ((True, 0.0), (True, 0.5), (False, 1.0)):
        model = LinearRegression(fit_intercept=offset).fit(X, y)
        document = model.certificate_.document()
        document["certificate"]["targets"][0]["r2"] = wrong
        assert not judge.check(document, dict(model.certificate_.arrays), X, y)


def test_r2_as_files_of_0_1_0_have_it():
    """NaN, "not defined", of a constant y; of a y that varies NaN is false."""
    X = np.random.default_rng(0).normal(size=(20, 3))
    for y, holds in ((np.full(20, 0.1), True), (X[:, 0], False)):
        model = LinearRegression().fit(X, y)
        document = model.certificate_.document()
        document["certificate"]["targets"][0]["r2"] = "nan"
        assert bool(judge.check(document, dict(model.certificate_.arrays), X, y)) is holds


def test_one_target_of_two_is_constant():
    random = np.random.default_rng(1)
    X = random.normal(size=(30, 2))
    Y = np.column_stack([X @ [1.0, 2.0] + random.normal(size=30), np.full(30, 0.7)])
    model = LinearRegression().fit(X, Y)
    alone = LinearRegression().fit(X, Y[:, 0]).score(X, Y[:, 0])
    assert model.score(X, Y) == pytest.approx((alone + 1.0) / 2.0)
    assert model.certificate_.r2 == pytest.approx(model.score(X, Y))
    weight = np.where(Y[:, 0] > 0.0, 1.0, 0.0)
    assert model.score(X, np.where(weight[:, None] > 0.0, 0.7, Y), weight) <= 1.0


def test_the_picture_of_one_row():
    model = LinearRegression().fit([[2.0]], [5.0])
    display = plots.RegressionDisplay.from_estimator(model, [[2.0]], [5.0]).plot()
    assert display.r2 == 1.0
    assert "One row" in display.title()
    assert np.ptp(display.line_.get_xdata()) > 0.0
    assert plots.RegressionDisplay.from_predictions([5.0], [4.0]).r2 == 0.0
    with pytest.raises(ValueError, match="there are 0 targets and 0 predictions"):
        plots.RegressionDisplay.from_predictions([], [])


def dependent_rows(seed, n, d, dependent):
    """Independent columns, then combinations of a few of them; the columns that take part, found by exact arithmetic below."""
    random = np.random.default_rng(seed)
    X = random.integers(-9, 10, (n, d)).astype(float)
    for target, parts in dependent.items():
        X[:, target] = X[:, parts] @ random.choice([-2.0, 1.0, 3.0], len(parts))
    return X, X @ np.arange(1.0, d + 1.0) + random.normal(size=n)


def exact_null_columns(X):
    """Columns with a nonzero entry in a vector of the null space of the centred columns, by elimination in fractions."""
    rows = [[Fraction(int(entry)) for entry in row] for row in len(X) * X - X.sum(axis=0)]
    d, pivots, top = X.shape[1], [], 0
    for j in range(d):
        place = next((i for i in range(top, len(rows)) if rows[i][j] != 0), None)
        if place is None:
            continue
        rows[top], rows[place] = rows[place], rows[top]
        rows[top] = [entry / rows[top][j] for entry in rows[top]]
        for i in range(len(rows)):
            if i != top and rows[i][j] != 0:
                rows[i] = [a - rows[i][j] * b for a, b in zip(rows[i], rows[top])]
        pivots.append(j)
        top += 1
    free = [j for j in range(d) if j not in pivots]
    return sorted({*free, *(pivot for i, pivot in enumerate(pivots) for j in free if rows[i][j] != 0)})


@pytest.mark.parametrize("dependent", [{3: [0, 1]}, {2: [0], 5: [1, 4]}, {4: [0, 1, 2, 3]}])
@pytest.mark.parametrize("n", [15, 30_000])
def test_exactly_dependent_columns_are_named(dependent, n):
    X, y = dependent_rows(3, n, 6, dependent)
    wanted = sorted({j for target, parts in dependent.items() for j in [target, *parts]})
    if n < 100:
        assert exact_null_columns(X) == wanted
    shown = ", ".join(map(str, wanted))
    with pytest.warns(
        IllConditionedWarning, match=f"the columns {shown} are linearly dependent up to rounding"
    ) as told:
        model = LinearRegression().fit(X, y)
    assert f"(rank {6 - len(dependent)} of 6 columns)" in str(told[0].message)
    assert model.rank_ == 6 - len(dependent)
    with pytest.warns(IllConditionedWarning, match=f"the columns {shown} are linearly dependent"):
        Ridge(0.0).fit(X, y)
    with pytest.warns(IllConditionedWarning, match=f"the columns {shown} are linearly dependent"):
        LeastSquaresClassifier().fit(X, y > 0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # what the warning advises leads to none
        Ridge(1.0).fit(X, y)
        LinearRegression().fit(np.delete(X, list(dependent), axis=1), y)


def test_names_of_frames_and_of_many_columns():
    pandas = pytest.importorskip("pandas")
    X, y = dependent_rows(4, 40, 4, {3: [0, 2]})
    with pytest.warns(IllConditionedWarning, match="the columns 'a', 'c', 'd' are linearly dependent"):
        LinearRegression().fit(pandas.DataFrame(X, columns=list("abcd")), y)
    X, y = dependent_rows(4, 40, 12, {11: list(range(11))})
    with pytest.warns(IllConditionedWarning, match="the columns 0, 1, 2, 3, 4, 5 and 6 more are linearly dependent"):
        LinearRegression().fit(X, y)


def test_fewer_rows_than_columns_tell_their_rank_alone():
    wide = np.random.default_rng(5).normal(size=(8, 20))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = LinearRegression().fit(wide, wide[:, 0])
    assert "rank 7 of 20" in str(model.certificate_)


def test_a_constant_column_is_no_dependence():
    X, y = dependent_rows(6, 40, 3, {})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = LinearRegression().fit(np.column_stack([X, np.full(40, 3.3)]), y)
    assert model.coef_[3] == 0.0
