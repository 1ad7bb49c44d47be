"""Contributions add up to the score of any linear model."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler
from sklearn.svm import LinearSVC

from gapless.readings.explain import explain


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix, sparse.csr_array, sparse.csc_matrix, pd.DataFrame])
@pytest.mark.parametrize(
    ("data", "model"),
    [
        (load_breast_cancer, LinearSVC(C=0.01, tol=1e-2, max_iter=10_000)),
        (load_breast_cancer, LogisticRegression(max_iter=5000)),
        (load_iris, LinearSVC(C=0.1)),
        (load_iris, LogisticRegression(max_iter=1000)),
    ],
)
def test_contributions_and_offset_give_the_score(data, model, form):
    X, y = data(return_X_y=True)
    X = MaxAbsScaler().fit_transform(X)
    fitted = model.fit(X, y)
    if form is pd.DataFrame:
        fitted = model.fit(pd.DataFrame(X).rename(columns=str), y)
        e = explain(fitted, pd.DataFrame(X).rename(columns=str))
    else:
        e = explain(fitted, form(X))
    f = fitted.decision_function(X if form is not pd.DataFrame else pd.DataFrame(X).rename(columns=str))
    np.testing.assert_allclose(e.scores(), f, rtol=1e-9, atol=1e-9)
    for k, name in enumerate(fitted.classes_ if e.n_scores > 1 else [None]):
        total = np.asarray(e.contributions(name).sum(axis=1)).ravel() + e.intercept[k]
        np.testing.assert_allclose(total, f if e.n_scores == 1 else f[:, k], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("model", [LinearRegression(), Ridge()])
def test_regression_too(model):
    X, y = load_diabetes(return_X_y=True)
    e = explain(model.fit(X, y), X)
    np.testing.assert_allclose(e.contributions().sum(axis=1) + e.intercept[0], model.predict(X))
    several = explain(model.fit(X, np.column_stack([y, -y])), X)
    np.testing.assert_allclose(several.contributions(1).sum(axis=1) + several.intercept[1], model.predict(X)[:, 1])
    with pytest.raises(ValueError, match="2 scores: say which"):
        several.contributions()


def test_by_hand():
    frame = pd.DataFrame({"age": [0.0, 1.0, 2.0, 3.0], "size": [1.0, 1.0, 0.0, 0.0]})
    fitted = LogisticRegression().fit(frame, ["low", "low", "high", "high"])
    fitted.coef_ = np.array([[3.0, -4.0]])
    fitted.intercept_ = np.array([0.5])
    e = explain(fitted, frame)
    assert e.norm.tolist() == [5.0]
    assert e.ranking() == [("size", -0.8, -4.0), ("age", 0.6, 3.0)]
    assert e.contributions().tolist() == [[0, -4], [3, -4], [6, 0], [9, 0]]
    assert e.row(1) == [("size", 1.0, -4.0), ("age", 1.0, 3.0)]
    assert e.row(-1)[0] == ("age", 3.0, 9.0)
    assert e.describe(1).splitlines() == [
        "row 1: score of 'low' (+) against 'high' (-) -0.5",
        "  +0.5  offset",
        "  -4  size = 1",
        "  +3  age = 1",
    ]
    assert str(e).splitlines() == [
        "LogisticRegression: 2 features",
        "score of 'low' (+) against 'high' (-): |w| = 5, offset 0.5",
        "  -0.8000  size  (w = -4)",
        "  +0.6000  age  (w = 3)",
    ]


def test_what_is_not_shown_is_summed_up():
    X, y = load_breast_cancer(return_X_y=True)
    e = explain(LogisticRegression(max_iter=5000).fit(X, y), X, top=3)
    text = e.describe(0).splitlines()
    assert len(text) == 6
    rest = float(text[-1].split()[0])
    shown = [float(line.split()[0]) for line in text[1:-1]]
    assert sum(shown) + rest == pytest.approx(e.scores()[0], rel=1e-4)
    assert "length of the other 27 together" in str(e)
    np.testing.assert_allclose(np.linalg.norm(e.direction, axis=1), 1.0)


def test_one_against_the_rest():
    data = load_iris()
    e = explain(
        LinearSVC().fit(data.data, data.target_names[data.target]),
        data.data,
        feature_names=data.feature_names,
    )
    assert e.n_scores == 3
    assert e.ranking("setosa")[0][0] in data.feature_names
    predicted = e.describe(0)
    assert "of 'setosa' against the rest" in predicted
    assert e.row(0) == e.row(0, "setosa")
    with pytest.raises(ValueError, match="say which, of=one of"):
        e.ranking()
    with pytest.raises(ValueError, match="does not know"):
        e.ranking("rose")


def test_pipeline_names_what_the_last_step_sees():
    frame = pd.DataFrame({"a": [0.0, 1.0, 2.0, 3.0], "b": [5.0, 1.0, 0.0, 2.0]})
    pipe = make_pipeline(StandardScaler(), LogisticRegression()).fit(frame, [0, 0, 1, 1])
    e = explain(pipe, frame)
    assert set(e.feature_names) == {"a", "b"}
    np.testing.assert_allclose(e.contributions().sum(axis=1) + e.intercept[0], pipe.decision_function(frame))


def test_without_names_and_with_zero_w():
    fitted = LogisticRegression().fit([[0.0], [1.0]], [0, 1])
    assert explain(fitted).feature_names == ["x0"]
    assert explain(fitted, feature_names=["one"]).ranking()[0][0] == "one"
    fitted.coef_ = np.zeros((1, 1))
    e = explain(fitted)
    assert e.direction.tolist() == [[0.0]]
    assert "w is zero" in str(e)
    with pytest.raises(ValueError, match="explain\\(model, X\\)"):
        e.contributions()
    with pytest.raises(ValueError, match="2 feature names for 1 features"):
        explain(fitted, feature_names=["a", "b"])
    with pytest.raises(IndexError):
        explain(fitted, [[1.0]]).row(5)


def _score(model, X):
    return model.decision_function(X) if hasattr(model, "classes_") else model.predict(X)


@pytest.mark.parametrize("kind", ["pipeline", "table"])
@pytest.mark.parametrize("task", ["two classes", "three classes", "numbers"])
def test_weights_in_units_and_per_deviation(kind, task):
    """What one unit, and one standard deviation, of a column do to the score: measured by moving the column."""
    import gapless
    from gapless.files import Dataset, Encoding

    random = np.random.default_rng(3)
    X = random.normal(size=(90, 3)) * [1.0, 200.0, 0.01] + [5.0, -1000.0, 0.2]
    hidden = (X - X.mean(axis=0)) / X.std(axis=0) @ [1.0, 2.0, -1.0] + 0.3 * random.normal(size=90)
    y = {"two classes": hidden > 0, "three classes": np.digitize(hidden, [-1, 1]), "numbers": hidden}[task]
    make = gapless.Ridge if task == "numbers" else gapless.LogisticRegression
    if kind == "pipeline":
        model = make_pipeline(StandardScaler(), make()).fit(X, y)
        found = gapless.explain(model, X)

        def score(rows):
            return _score(model, rows)
    else:
        encoding = Encoding.fit(Dataset(X, names=["a", "b", "c"]))
        step = make().fit(encoding.transform(Dataset(X)), y)
        step.encoding_ = encoding
        found = gapless.explain(step, encoding.transform(Dataset(X)), feature_names=encoding.names)

        def score(rows):
            return _score(step, encoding.transform(Dataset(rows)))

    before = score(X).reshape(90, -1)
    np.testing.assert_allclose(found.intercept_in_units, score(np.zeros((1, 3))).ravel(), rtol=1e-9)
    for j in range(3):
        for step_size, weights in ((1.0, found.weights_per_unit), (X[:, j].std(), found.weights_per_deviation)):
            moved = X.copy()
            moved[:, j] += step_size
            change = (score(moved).reshape(90, -1) - before).mean(axis=0)
            np.testing.assert_allclose(weights[:, j], change, rtol=1e-7)
    np.testing.assert_allclose(found.deviations, X.std(axis=0))
    text = str(found)
    largest = int(np.argmax(np.abs(found.weights[0])))
    assert f"w = {found.weights_per_unit[0, largest]:.4g} per unit of the column" in text
    assert f"{found.weights[0, largest]:.4g} per standard deviation of {X[:, largest].std():.4g}" in text
