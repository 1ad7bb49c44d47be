"""Kernels: what no line can do, a curve does; and the map under which that curve is a line again."""

from __future__ import annotations

from typing import Any

import numpy as np

import gapless
from gapless.lab.drawing import Drawing, Panel, contour, histogram, image, line, points, tones_of
from gapless.lab.scene import Scene, cells, falling_gap, level_line, plane, rows_and, rows_of
from gapless.lab.state import BOX, Choice, Slider, State, Switch


def lifted(X):
    """(x₁, x₂) to (x₁, x₁x₂): the map under which xor is two halves."""
    return np.column_stack([X[:, 0], X[:, 0] * X[:, 1]])


def study(X, y, kernel, C, gamma, degree, lift, hard):
    numbers, parts = {}, {"model": None, "error": None}
    if len(set(y.tolist())) < 2:
        return numbers, parts
    if lift:
        before, after = gapless.separability(X, y), gapless.separability(lifted(X), y)
        model = gapless.LinearSVC(loss="hinge", C=C, time_limit=2.0).fit(lifted(X), y)
        certificate = model.certificate_
        numbers = {
            "before the map": before.status,
            "after the map": after.status,
            "margin after the map": after.margin,
            "gap": certificate.gap,
            "training errors": int((model.predict(lifted(X)) != y).sum()),
        }
        return numbers, {"model": model, "before": before, "after": after}
    most = float("inf") if hard and kernel != "sigmoid" else C
    machine = gapless.SVC(kernel=kernel, C=most, gamma=gamma, degree=degree, coef0=1.0, time_limit=2.0)
    try:
        model = machine.fit(X, y)
    except gapless.NotSeparable as error:
        numbers = {"rows that prove it": len(error.rows)}
        return numbers, {"model": None, "error": error}
    certificate = model.certificate_
    numbers = {
        "gap": certificate.gap,
        "primal P": certificate.primal,
        "dual D": certificate.dual,
        "support vectors": int(model.n_support_.sum()),
        "training errors": int((model.predict(X) != y).sum()),
    }
    return numbers, {"model": model}


def draw(state: State, numbers: dict[str, Any], parts: dict[str, Any]) -> Drawing:
    X, y = rows_of(state)
    model = parts["model"]
    if model is None:
        error = parts.get("error")
        ring = () if error is None else tuple(int(i) for i in error.rows)
        said = "Draw points of both classes."
        if error is not None:
            said = "With C = ∞ no point may be wrong, and this kernel cannot do that: the ringed points prove it."
        return Drawing(said, (plane(points(X, tones_of(y), drag=True, ring=ring)),))
    across = 80  #: cells of the surface, each way
    grid = cells(across)
    score = model.decision_function(lifted(grid) if state["lift"] else grid).reshape(across, across)
    look: Any = "solid"
    if not state["lift"]:
        support = {int(i) for i in model.support_}
        look = ["ringed" if i in support else "faint" for i in range(len(y))]
    surface = image(np.tanh(score), (-BOX, BOX), (-BOX, BOX), "score")
    box = ((-BOX, BOX), (-BOX, BOX))
    edges = (
        contour(score, -1.0, *box, "mute", "thin", "score ±1"),
        contour(score, 1.0, *box, "mute", "thin"),
        contour(score, 0.0, *box, "ink", "solid", "score 0: the boundary"),
    )
    picture = plane(surface, *edges, points(X, tones_of(y), look, drag=True))
    if not state["lift"]:
        return Drawing(_sentence(state, numbers), (picture, _scores(model, X, y), *falling_gap(model)))
    mapped = lifted(X)
    top = max(1.0, float(np.abs(mapped[:, 1]).max()) * 1.1)
    w, b = model.coef_[0], float(model.intercept_[0])
    layers = (line(level_line(w, b, 0.0, 20.0), "ink"), points(mapped, tones_of(y)))
    right = Panel("mapped", "After the map", (-BOX, BOX), (-top, top), layers, "x₁", "x₁ · x₂")
    said = "a line separates them" if numbers["after the map"] == "complete" else "no line separates them there either"
    return Drawing(f"In the plane: {numbers['before the map']}. After (x₁, x₂) ↦ (x₁, x₁x₂): {said}.", (picture, right))


def _scores(model: Any, X: np.ndarray, y: np.ndarray) -> Panel:
    """Where the points stand between the two edges of the margin."""
    score = np.asarray(model.decision_function(X), dtype=float)
    far = 1.1 * max(1.5, float(np.abs(score[np.isfinite(score)]).max(initial=0.0)))
    marks = [line([[at, 0.0], [at, 1.0]], tone, "dashed") for at, tone in ((-1.0, "mute"), (0.0, "ink"), (1.0, "mute"))]
    return histogram("scores", "Scores of the points", score, y, {-1: "minus", 1: "plus"}, (-far, far), "score", marks)


def _sentence(state: State, numbers: dict[str, Any]) -> str:
    if state["kernel"] == "sigmoid":
        return "The sigmoid is not a kernel: its matrix can have negative eigenvalues. No gap can be proved, and none is claimed."
    share = numbers["support vectors"] / len(state.points)
    few = (
        "Few points carry the curve."
        if share < 0.34
        else "Many points carry the curve: a sign of overfitting, or of overlap."
    )
    return f"Ringed points are support vectors. {few} A larger γ lets the curve bend more, a larger C lets it give way less."


def _xor(seed: int) -> list[list[float]]:
    rng = np.random.default_rng(seed)
    X = (rng.normal(size=(60, 2)) * 0.55 + 1.7 * rng.choice([-1, 1], size=(60, 2))).round(2)
    X = np.clip(X, -3.9, 3.9)
    return [[float(a), float(b), 1 if a * b > 0 else -1] for a, b in X]


def make_scene() -> Scene:
    kernels = (("rbf", "RBF"), ("poly", "polynomial"), ("sigmoid", "sigmoid"))
    return Scene(
        "kernels",
        "Kernels",
        "A kernel draws a curve in the plane by drawing a straight line somewhere else.",
        (
            Choice("kernel", "kernel", kernels, "rbf", when=("lift", (False,))),
            Slider("C", "C", 1e-3, 1e4, 1.0, log=True),
            Slider("gamma", "γ", 1e-2, 1e1, 0.5, log=True, when=("lift", (False,))),
            Slider("degree", "degree", 1, 6, 2, 1, whole=True, when=("kernel", ("poly",))),
            Switch("hard", "C = ∞: no point may be wrong", when=("lift", (False,))),
            Switch("lift", "show the map for xor"),
        ),
        _xor,
        study,
        rows_and("kernel", "C", "gamma", "degree", "lift", "hard"),
        draw,
        release_above=200,
        helpers=(lifted,),
        rounding=lambda parts: parts["model"].certificate_.rounding or 0.0 if parts["model"] is not None else 0.0,
    )
