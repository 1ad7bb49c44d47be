"""The support vector machine: margin, slack, and the two curves that meet."""

from __future__ import annotations

from typing import Any

import numpy as np

import gapless
from gapless.lab.drawing import Drawing, Layer, Panel, area, line, points, tones_of
from gapless.lab.scene import Scene, falling_gap, level_line, plane, rows_and, rows_of, two_clouds
from gapless.lab.state import Slider, State, Switch


def study(X, y, C, hard, alone):
    numbers, parts = {}, {"model": None, "error": None}
    if len(set(y.tolist())) < 2:
        return numbers, parts
    svm = gapless.LinearSVC(loss="hinge", C=float("inf") if hard else C, tol=1e-6, time_limit=2.0)
    try:
        model = svm.fit(X, y)
    except gapless.NotSeparable as error:
        numbers = {"rows that prove it": len(error.rows)}
        return numbers, {"model": None, "error": error}
    certificate = model.certificate_
    margin = gapless.margins(model, X, y)
    kept = gapless.reduce(model, X, y)
    numbers = {
        "primal P": certificate.primal,
        "dual D": certificate.dual,
        "gap": certificate.gap,
        "margin 1/|w|": margin.width,
        "support vectors": len(kept.support),
        "inside the margin": int(margin.violates.sum()),
        "wrong side": int((~margin.correct).sum()),
    }
    parts = {"model": model, "error": None, "margin": margin, "kept": kept, "slackness": model.slackness_}
    if alone:
        again = gapless.LinearSVC(loss="hinge", C=svm.C, tol=1e-6, time_limit=2.0).fit(X[kept.rows], y[kept.rows])
        numbers["largest change of w"] = float(np.abs(again.coef_ - model.coef_).max())
        parts["again"] = again
    return numbers, parts


def draw(state: State, numbers: dict[str, Any], parts: dict[str, Any]) -> Drawing:
    X, y = rows_of(state)
    model = parts["model"]
    if model is None:
        ring: tuple[int, ...] = ()
        sentence = "Draw points of both classes: a margin needs two sides."
        if parts["error"] is not None:
            ring = tuple(int(i) for i in parts["error"].rows)
            sentence = (
                "There is no hard margin: the ringed points prove that no line separates the classes. Move them apart."
            )
        return Drawing(sentence, (plane(points(X, tones_of(y), drag=True, ring=ring)),))
    w, b = model.coef_[0], float(model.intercept_[0])
    low, high = level_line(w, b, -1.0), level_line(w, b, 1.0)
    alpha = np.asarray(parts["slackness"].alpha, dtype=float).ravel()
    support = {int(i) for i in parts["kept"].support}
    bound = np.asarray(parts["slackness"].c, dtype=float).ravel() * np.ones_like(alpha)
    look, size = [], []
    for i in range(len(y)):
        inside = i in support
        full = inside and alpha[i] >= bound[i]
        look.append("solid" if full else ("ringed" if inside else "faint"))
        size.append(1.25 if inside else 1.0)
    if state["alone"]:
        kept = {int(i) for i in parts["kept"].rows}
        look = [kind if i in kept else "ghost" for i, kind in enumerate(look)]
    layers: list[Layer] = []
    if len(low):
        layers.append(area(np.vstack([low, high[::-1]]), "accent", "margin"))
        layers += [
            line(low, "mute", "dashed"),
            line(high, "mute", "dashed"),
            line(level_line(w, b, 0.0), "ink", "solid"),
        ]
        for i in support:
            score = float(y[i]) * float(parts["margin"].score[i]) if parts["margin"].score.ndim == 1 else 1.0
            if score < 1.0:
                away = (1.0 - score) / float(w @ w)
                layers.append(line([X[i], X[i] + away * y[i] * w], "mute", "thin"))
    layers.append(points(X, tones_of(y), look, size, drag=True))
    return Drawing(_sentence(state, parts), (plane(*layers), *_curves(model)))


def _curves(model: Any) -> tuple[Panel, ...]:
    """P falls, D rises, pass by pass, and the difference on a scale of powers."""
    rows = [(float(k), float(p), float(d)) for k, _, p, d, *_ in model.history_ if np.isfinite([p, d]).all()]
    if len(rows) < 2:
        return ()
    table = np.array(rows)
    table[:, 0] = np.arange(len(table))
    end = float(table[-1, 0])
    span = (min(0.0, float(table[:, 2].min())), float(table[:, 1].max()) * 1.05 + 1e-12)
    curves = Panel(
        "duality", "Two curves that meet", (0.0, end), span,
        (line(table[:, [0, 1]], "minus", "solid", "P"), line(table[:, [0, 2]], "plus", "solid", "D")), "looks at the gap",
    )  # fmt: skip
    return curves, *falling_gap(model)


def _sentence(state: State, parts: dict[str, Any]) -> str:
    if state["alone"]:
        left = len(parts["kept"].rows)
        return (
            f"Only {left} of {len(state.points)} points are left, and the line is the same: the others never mattered."
        )
    if state["hard"]:
        return "The widest street between the classes. Only the points on its edge hold it up; no point stands inside."
    return (
        "Filled points have α = C (inside the margin or wrong), ringed ones 0 < α < C (on its edge), pale ones α = 0: "
        "the line does not need them."
    )


def make_scene() -> Scene:
    return Scene(
        "margin",
        "Margin and C",
        "C says what a point inside the margin costs. The gap proves how far the line is from the best one.",
        (
            Slider("C", "C", 1e-3, 1e3, 1.0, log=True),
            Switch("hard", "hard margin (C = ∞)"),
            Switch("alone", "support vectors only"),
        ),
        lambda seed: two_clouds(seed, 40, 1.0),
        study,
        rows_and("C", "hard", "alone"),
        draw,
        rounding=lambda parts: parts["model"].certificate_.rounding or 0.0 if parts["model"] is not None else 0.0,
    )
