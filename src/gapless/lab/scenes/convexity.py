"""Convexity: chord above, tangent below, Jensen between; a set that is not convex; networks whose low points are all lowest."""

from __future__ import annotations

from typing import Any

import numpy as np

import gapless
from gapless.lab.drawing import Drawing, Panel, area, line, points
from gapless.lab.grammar import Formula, FormulaError, parse
from gapless.lab.scene import Scene
from gapless.lab.state import BOX, Choice, Slider, State, Words

#: word of a function, its name on the page, and its formula.
SHAPES = (
    ("square", "x²", "x^2"),
    ("hinge", "hinge", "max(0, 1-x)"),
    ("softplus", "logistic loss", "log(1+exp(-x))"),
    ("cubic", "x³", "x^3/6"),
    ("sine", "sine", "sin(2*x)"),
    ("well", "two wells", "(x^2-1)^2/4"),
)


def doughnut(point):
    return 1.2 <= float(np.hypot(*point)) <= 3.4


def study(what, f, a, b, weight, width):
    if what == "set":
        evidence = gapless.theory.convexity.of_set(doughnut, [(-4, 4), (-4, 4)], trials=300)
        middle = weight * a + (1 - weight) * b
        numbers = {
            "a in the set": doughnut(a),
            "b in the set": doughnut(b),
            "the point between": doughnut(middle),
            "a witness was found": evidence.witness is not None,
        }
        return numbers, {"middle": middle, "evidence": evidence}
    if what == "network":
        x = np.linspace(-1.0, 1.0, 8)[:, None]
        y = np.sin(3.0 * x[:, 0])
        network = gapless.theory.global_minimum.wide(x, width)
        theta = gapless.theory.global_minimum.fit(network, y, steps=60)
        found = gapless.theory.global_minimum.at_point(network.model, network.jacobian, theta, y)
        numbers = {
            "verdict": found.verdict,
            "rank of the Jacobian": found.rank,
            "rows": found.n,
            "loss": found.value,
            "slope": found.gradient,
        }
        return numbers, {"network": network, "theta": theta, "x": x, "y": y, "found": found}
    numbers = {}
    if f is None:
        return numbers, {}
    x1, x2 = float(a[0]), float(b[0])
    between = weight * x1 + (1 - weight) * x2
    numbers = {
        "f at the mean": float(f(np.array([between]))[0]),
        "mean of f (the chord)": float(weight * f(np.array([x1]))[0] + (1 - weight) * f(np.array([x2]))[0]),
    }
    try:
        evidence = gapless.theory.convexity.of_function(lambda x: float(f(x)[0]), [(-4, 4)], trials=300)
    except ValueError as error:  # as log(x) left of 0
        return numbers, {"between": between, "evidence": None, "error": str(error)}
    numbers["a witness against convexity"] = evidence.witness is not None
    numbers["trials"] = evidence.trials
    return numbers, {"between": between, "evidence": evidence}


def arguments(state: State) -> dict[str, Any]:
    a, b = [np.array(point[:2]) for point in (*state.points, (-2.0, 0.0, 1), (2.0, 0.0, 1))[:2]]
    return {
        "what": state["what"],
        "f": _function(state),
        "a": a,
        "b": b,
        "weight": state["weight"],
        "width": state["width"],
    }


def _function(state: State) -> Any:
    if state["what"] != "function":
        return None
    try:
        return _parsed(state)
    except FormulaError:
        return None


def _parsed(state: State) -> Formula:
    formulas = {word: formula for word, _, formula in SHAPES}
    return parse(formulas.get(state["shape"], state["typed"]))


def draw(state: State, numbers: dict[str, Any], parts: dict[str, Any]) -> Drawing:
    if state["what"] == "set":
        return _set(state, numbers, parts)
    if state["what"] == "network":
        return _network(state, numbers, parts)
    return _curve(state, numbers, parts)


def _curve(state: State, numbers: dict[str, Any], parts: dict[str, Any]) -> Drawing:
    try:
        f = _parsed(state)
    except FormulaError as error:
        plane = Panel("plane", "", (-BOX, BOX), (-1.0, 5.0), (), "x", "f(x)")
        return Drawing(f"This is not a formula: {error}.", (plane,))
    x = np.linspace(-BOX, BOX, 241)
    y = f(x)
    finite = y[np.isfinite(y)]
    low, high = (float(np.percentile(finite, 2)), float(np.percentile(finite, 98))) if finite.size else (-1.0, 1.0)
    room = 0.15 * max(high - low, 1.0)
    span = (low - room, high + room)
    a, b = (float(point[0]) for point in (*state.points, (-2.0, 0.0, 1), (2.0, 0.0, 1))[:2])
    fa, fb = float(f(np.array([a]))[0]), float(f(np.array([b]))[0])
    m = parts["between"]
    slope = (float(f(np.array([m + 1e-5]))[0]) - float(f(np.array([m - 1e-5]))[0])) / 2e-5
    fm = numbers["f at the mean"]
    tangent = [[-BOX, fm - slope * (m + BOX)], [BOX, fm + slope * (BOX - m)]]
    above = np.vstack([np.column_stack([x, y]), [[BOX, span[1] * 4 + 99], [-BOX, span[1] * 4 + 99]]])
    layers = (
        area(above[np.isfinite(above).all(axis=1)], "accent", "epigraph"),
        line(np.column_stack([x, y]), "ink", "solid", "f"),
        line([[a, fa], [b, fb]], "minus", "solid", "chord"),
        line(tangent, "good", "dashed", "tangent"),
        line([[m, fm], [m, numbers["mean of f (the chord)"]]], "bad", "thin"),
        points([[m, fm], [m, numbers["mean of f (the chord)"]]], ["ink", "minus"], "solid", 0.9),
        points([[a, fa], [b, fb]], "minus", "solid", 1.3, drag=True),
    )
    plane = Panel("plane", "", (-BOX, BOX), span, layers, "x", "f(x)", pointer="points")
    panels = (plane, _jensen(f, a, b, state["weight"]))
    if parts["evidence"] is None:
        return Drawing(f"Convexity is asked on all of [−4, 4], and {parts['error']}.", panels)
    witness = parts["evidence"].witness
    if witness is not None:
        return Drawing(f"Not convex: {witness}.", panels)
    said = "The chord lies above the curve and the tangent below it: no witness against convexity in these trials."
    return Drawing(f"{said} That is evidence, not a proof.", panels)


def _jensen(f: Any, a: float, b: float, weight: float) -> Panel:
    """How far the chord lies above the curve, for every weight."""
    share = np.linspace(0.0, 1.0, 61)

    def above(t: np.ndarray) -> np.ndarray:
        ends = f(np.array([a, b]))
        return np.asarray(t * ends[0] + (1.0 - t) * ends[1] - f(t * a + (1.0 - t) * b), dtype=float)

    height = above(share)
    finite = height[np.isfinite(height)]
    far = 1.15 * max(float(np.abs(finite).max(initial=0.0)), 1e-9)
    layers = (
        line([[0.0, 0.0], [1.0, 0.0]], "bad", "dashed", "below: not convex"),
        line(np.column_stack([share, height]), "minus", "solid", "chord − f"),
        points([[weight, above(np.array([weight]))[0]]], "minus", "solid", 0.9),
    )
    low = -far if finite.size and finite.min() < -1e-12 else -0.1 * far
    return Panel("jensen", "The chord above the curve", (0.0, 1.0), (low, far), layers, "λ")


def _set(state: State, numbers: dict[str, Any], parts: dict[str, Any]) -> Drawing:
    t = np.linspace(0.0, 2.0 * np.pi, 90)
    outer, inner = (np.column_stack([r * np.cos(t), r * np.sin(t)]) for r in (3.4, 1.2))
    a, b = (np.array(point[:2]) for point in (*state.points, (-2.0, 0.0, 1), (2.0, 0.0, 1))[:2])
    inside = numbers["the point between"]
    layers = (
        area(np.vstack([outer, inner[::-1]]), "accent", "the set"),
        line(outer, "mute", "thin"), line(inner, "mute", "thin"),
        line([a, b], "minus", "solid", "segment"),
        points([parts["middle"]], "good" if inside else "bad", "solid", 1.2),
        points([a, b], "minus", "solid", 1.3, drag=True),
    )  # fmt: skip
    plane = Panel("plane", "", (-BOX, BOX), (-BOX, BOX), layers, pointer="points")
    if numbers["a in the set"] and numbers["b in the set"] and not inside:
        return Drawing("Both ends lie in the doughnut, a point between them does not: the set is not convex.", (plane,))
    return Drawing(
        "Drag the ends of the segment: a convex set would hold every point between two of its own.", (plane,)
    )


def _network(state: State, numbers: dict[str, Any], parts: dict[str, Any]) -> Drawing:
    x, y = parts["x"][:, 0], parts["y"]
    fitted = np.asarray(parts["network"].model(parts["theta"]), dtype=float).ravel()
    layers = (
        line(np.column_stack([x, fitted]), "accent", "solid", "the network at the rows"),
        points(np.column_stack([x, y]), "plus", name="the rows"),
    )
    plane = Panel("plane", "", (-1.1, 1.1), (-1.6, 1.6), layers, "x", "y")
    full = numbers["rank of the Jacobian"] == numbers["rows"]
    said = (
        "The Jacobian has full rank: any point with slope 0 is a global minimum."
        if full
        else "The rank is below the number of rows: a point with slope 0 may be a bad one."
    )
    return Drawing(
        f"Width {state['width']}, {numbers['rows']} rows, rank {numbers['rank of the Jacobian']}. {said}", (plane,)
    )


def make_scene() -> Scene:
    shapes = (*((word, name) for word, name, _ in SHAPES), ("typed", "typed below"))
    return Scene(
        "convexity",
        "Convexity",
        "A function is convex when every chord lies above it. Then a point with slope 0 is the lowest of all.",
        (
            Choice("what", "of", (("function", "a function"), ("set", "the doughnut"), ("network", "a network")), "function"),
            Choice("shape", "function", shapes, "square", when=("what", ("function",))),
            Words("typed", "formula in x", "abs(x) + x^2/4", when=("shape", ("typed",))),
            Slider("weight", "weight λ of the left end", 0.0, 1.0, 0.4, plays=True, when=("what", ("function", "set"))),
            Slider("width", "width of the network", 1, 12, 8, 1, whole=True, when=("what", ("network",))),
        ),
        lambda seed: [[-2.2, 0.0, 1], [1.8, 0.0, 1]],
        study,
        arguments,
        draw,
        points="handles",
        most=2,
        saves=False,
        helpers=(doughnut,),
    )  # fmt: skip
