"""Least squares, logistic regression and a support vector machine on the same points; an outlier pulls one of them away."""

from __future__ import annotations

from typing import Any

import numpy as np

import gapless
from gapless.lab.drawing import Drawing, Layer, Panel, histogram, line, points, tones_of
from gapless.lab.scene import Scene, level_line, plane, rows_and, rows_of, two_clouds
from gapless.lab.state import Choice, Slider, State


def study(X, y, third, C, missed, alarm, at):
    numbers, parts = {}, {"models": {}, "model": None}
    if len(set(y.tolist())) < 2:
        return numbers, parts
    squares = gapless.LeastSquaresClassifier().fit(X, y)
    logistic = gapless.LogisticRegression(C=C, max_iter=1000, time_limit=2.0).fit(X, y)
    if third == "svm":
        last = gapless.LinearSVC(loss="hinge", C=C, time_limit=2.0).fit(X, y)
    else:
        last = gapless.Perceptron(random_state=0, time_limit=2.0).fit(X, y)
    cut = gapless.threshold_for(logistic, {"false_positive": alarm, "false_negative": missed}, X, y, at=at)
    numbers = {
        "errors, least squares": int((squares.predict(X) != y).sum()),
        "errors, logistic": int((logistic.predict(X) != y).sum()),
        "errors, third": int((last.predict(X) != y).sum()),
        "cost at your threshold": cut.fixed.cost,
        "cost at one half": cut.as_it_is.cost,
        "the costs ask for": cut.probability,
        "cost there": cut.theory.cost,
    }
    return numbers, {"models": {"squares": squares, "logistic": logistic, "third": last}, "model": logistic, "cut": cut}


def draw(state: State, numbers: dict[str, Any], parts: dict[str, Any]) -> Drawing:
    X, y = rows_of(state)
    layers: list[Layer] = []
    if parts["models"]:
        named = (("squares", "fourth", "least squares"), ("logistic", "accent", "logistic"))
        last = ("third", "third", "support vector machine" if state["third"] == "svm" else "perceptron")
        for key, tone, name in (*named, last):
            model = parts["models"][key]
            layers.append(line(level_line(model.coef_[0], float(model.intercept_[0]), 0.0), tone, "solid", name))
        model = parts["models"]["logistic"]
        moved = (("fixed", "dashed", "logistic at your threshold"), ("theory", "dotted", "where the costs ask for it"))
        for which, look, name in moved:
            at = getattr(parts["cut"], which).score
            if np.isfinite(at) and abs(at) > 1e-9:  # at one half it is the line itself
                there = level_line(model.coef_[0], float(model.intercept_[0]), at)
                layers.append(line(there, "accent", look, name))
    layers.append(points(X, tones_of(y), drag=True))
    if not parts["models"]:
        return Drawing("Draw points of both classes.", (plane(*layers),))
    marks = {"at": (parts["cut"].probability, "p*")}
    panels = (plane(*layers), _probabilities(state, parts, X, y))
    return Drawing(_sentence(state, numbers), panels, marks=marks)


def _probabilities(state: State, parts: dict[str, Any], X: np.ndarray, y: np.ndarray) -> Panel:
    """What the logistic model says of each point, and the two cuts."""
    model = parts["models"]["logistic"]
    said = model.predict_proba(X)[:, list(model.classes_).index(1)]
    cuts = (
        (state["at"], "ink", "dashed", "your threshold"),
        (parts["cut"].probability, "bad", "dotted", "where the costs ask for it"),
    )
    marks = [line([[at, 0.0], [at, 1.0]], tone, look, name) for at, tone, look, name in cuts]
    return histogram(
        "probabilities",
        "Probability of +, logistic",
        said,
        y,
        {-1: "minus", 1: "plus"},
        (0.0, 1.0),
        "probability",
        marks,
    )


def _sentence(state: State, numbers: dict[str, Any]) -> str:
    worst = numbers["errors, least squares"] - min(numbers["errors, logistic"], numbers["errors, third"])
    if worst > 0:
        return (
            f"Least squares makes {worst} more errors than the best of the three: it punishes points for being too right, "
            "and far points pull its line."
        )
    moved = (
        ""
        if state["missed"] == state["alarm"]
        else " The dotted line is where the costs ask for the cut; move the threshold there."
    )
    return f"Drag a point far to its own side: least squares follows it, the others do not.{moved}"


def _with_outlier(seed: int) -> list[list[float]]:
    return [*two_clouds(seed, 36, 0.8, 0.55), [3.6, 0.2, 1], [3.8, -0.4, 1], [3.4, -0.2, 1]]


def make_scene() -> Scene:
    return Scene(
        "three_models",
        "Three linear models",
        "Three ways to draw one line. What a loss does with points that are far on the right side makes the difference.",
        (
            Choice("third", "third model", (("svm", "SVM"), ("perceptron", "perceptron")), "svm"),
            Slider("C", "C", 1e-2, 1e2, 1.0, log=True),
            Slider("at", "threshold on the probability", 0.02, 0.98, 0.5),
            Slider("missed", "cost of a missed +", 0.1, 20.0, 1.0, log=True),
            Slider("alarm", "cost of a false alarm", 0.1, 20.0, 1.0, log=True),
        ),
        _with_outlier,
        study,
        rows_and("third", "C", "missed", "alarm", "at"),
        draw,
    )
