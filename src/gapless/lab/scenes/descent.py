"""Descent on the surface of a loss: how far a step goes, and what happens when it is too far."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

import gapless
from gapless.lab.drawing import Drawing, Layer, Panel, contour, image, line, points
from gapless.lab.scene import Scene
from gapless.lab.state import BOX, Choice, Slider, State


def sample():
    """40 rows of two classes, always the same: the surface stands still while the knobs move."""
    rng = np.random.default_rng(3)
    y = np.where(np.arange(40) % 2 == 0, 1, -1)
    return rng.normal(size=(40, 2)) * [1.0, 0.45] + np.outer(y, [0.7, 0.3]), y


def study(start, loss, method, schedule, rate, batch, steps, seed):
    X, y = sample()
    risk = gapless.linear_risk(X, y, loss=loss, lam=0.1, offset="none")
    rates = {
        "constant": gapless.Schedule.constant(rate),
        "inverse": gapless.Schedule.inverse(rate),
        "inverse_root": gapless.Schedule.inverse_root(rate),
        "backtracking": gapless.Schedule.backtracking(),
    }[schedule]
    if method in ("newton",) or (schedule == "backtracking" and method not in ("gd", "newton")):
        rates = None
    numbers = {}
    if method == "newton" and not risk.smooth:
        return numbers, {"walk": None, "risk": risk}
    walk = gapless.descend(
        risk, start=start, method=method, schedule=rates, batch=batch if method == "minibatch" else None,
        stop=gapless.Until(steps=steps), seed=seed, trace=1,
    )  # fmt: skip
    numbers = {
        "value": walk.value,
        "slope |∇J|": walk.gradient_norm,
        "gap": walk.gap,
        "steps": walk.steps,
        "longest sure rate 2/L": 2.0 / risk.smoothness if risk.smooth else None,
    }
    return numbers, {"walk": walk, "risk": risk, "rate": rates}


def arguments(state: State) -> dict[str, Any]:
    start = np.array(state.points[0][:2] if state.points else (0.0, 0.0))
    names = ("loss", "method", "schedule", "rate", "batch", "steps", "seed")
    return {"start": start, **{name: state[name] for name in names}}


@functools.cache
def surface(loss: str) -> tuple[tuple[Layer, ...], float]:
    """A loss as a surface with contours, and its lowest value there. The rows never change, so it is kept."""
    X, y = sample()
    risk = gapless.linear_risk(X, y, loss=loss, lam=0.1, offset="none")
    across = 48  #: cells of the surface, each way
    levels = (
        0.06,
        0.12,
        *np.arange(0.2, 1.0, 0.1).round(1).tolist(),
    )  #: of the contours, as shares of the highest loss
    side = np.linspace(-BOX, BOX, across + 1)
    side = 0.5 * (side[:-1] + side[1:])
    values = np.array([[risk.value(np.array([a, b])) for a in side] for b in side])
    low, high = float(values.min()), float(values.max())
    height = np.sqrt((values - low) / max(high - low, 1e-300))
    box = ((-BOX, BOX), (-BOX, BOX))
    return (image(0.9 * height, *box, "loss"), *(contour(height, at, *box, "mute", "thin") for at in levels)), low


def draw(state: State, numbers: dict[str, Any], parts: dict[str, Any]) -> Drawing:
    walk = parts["walk"]
    ground, low = surface(state["loss"])
    start = [state.points[0][:2]] if state.points else [(0.0, 0.0)]
    handle = points(start, "accent", "solid", 1.3, drag=bool(state.points))
    if walk is None:
        said = "Newton's method needs a curvature, and the hinge has none: take another loss, or another method."
        still = Panel("plane", "", (-BOX, BOX), (-BOX, BOX), (*ground, handle), "w₁", "w₂", pointer="points")
        return Drawing(said, (still,))
    theta = np.asarray(walk.trace.theta)[:, :2]
    layers = (
        *ground,
        line(theta, "ink", "solid", "the walk"),
        points(theta[1:], "ink", "solid", 0.45),
        points(theta[-1:], "good", "solid", 1.2),
        handle,
    )
    plane = Panel("plane", "", (-BOX, BOX), (-BOX, BOX), layers, "w₁", "w₂", pointer="points")
    loss = np.asarray(walk.trace.loss, dtype=float)
    step = np.asarray(walk.trace.step, dtype=float)
    seen = [low, *loss[np.isfinite(loss)].tolist(), *([float(walk.value)] if np.isfinite(walk.value) else [])]
    proved = walk.value - walk.gap if walk.gap is not None and np.isfinite([walk.value, walk.gap]).all() else -np.inf
    sure = proved >= min(seen) - 1e-3  # else the bound is so weak that it would hide the fall
    over = np.maximum(loss - (proved if sure else min(seen)), 1e-16)
    end = max(1.0, float(step[-1]))
    top = float(np.nanmax(over[np.isfinite(over)])) * 3.0 if np.isfinite(over).any() else 1.0
    title, name = (
        ("Loss above its proved lower bound", "J − bound")
        if sure
        else ("Loss above the lowest value seen", "J − lowest")
    )
    span = (max(1e-12, 1e-9 * top), max(top, 1e-8))
    curve = line(np.column_stack([step, over]), "accent", "solid", name)
    fall = Panel("trace", title, (0.0, end), span, (curve,), "steps", y_log=True)
    limit = numbers["longest sure rate 2/L"]
    marks = {} if limit is None else {"rate": (limit, "2/L")}
    return Drawing(_sentence(state, numbers, walk), (plane, fall), marks=marks)


def _sentence(state: State, numbers: dict[str, Any], walk: Any) -> str:
    limit = numbers["longest sure rate 2/L"]
    fixed = state["schedule"] == "constant" and state["method"] in ("gd", "momentum")
    if walk.status == "diverged" or not np.isfinite(walk.value):
        return "The steps are too long: each one lands higher than the one before, and the walk runs away."
    if fixed and limit is not None and state["rate"] > limit:
        return f"The rate {state['rate']:.3g} is above 2/L = {limit:.3g}: descent is no longer sure."
    if fixed and limit is not None:
        return (
            f"The rate {state['rate']:.3g} is below 2/L = {limit:.3g}: every full step goes downhill. Drag the start."
        )
    why = walk.why or f"{walk.steps} steps of {dict(METHODS)[state['method']]}"
    return f"{why[0].upper()}{why[1:]}. Drag the start, change the method, and watch the path."


METHODS = (
    ("gd", "gradient"),
    ("sgd", "stochastic"),
    ("minibatch", "mini-batch"),
    ("momentum", "momentum"),
    ("adam", "Adam"),
    ("newton", "Newton"),
)


def make_scene() -> Scene:
    losses = (("logistic", "logistic"), ("squared", "squared"), ("squared_hinge", "squared hinge"), ("hinge", "hinge"))
    schedules = (
        ("constant", "constant"),
        ("inverse", "1/t"),
        ("inverse_root", "1/√t"),
        ("backtracking", "line search"),
    )
    return Scene(
        "descent",
        "Descent",
        "A full step shorter than 2/L always goes downhill; a longer one may not. L is the curvature of the loss.",
        (
            Choice("loss", "loss", losses, "logistic"),
            Choice("method", "method", METHODS, "gd"),
            Choice("schedule", "rates", schedules, "constant"),
            Slider("rate", "rate", 1e-2, 20.0, 1.0, log=True),
            Slider("steps", "steps", 1, 200, 40, 1, whole=True, plays=True),
            Slider("batch", "rows a step", 1, 40, 8, 1, whole=True, when=("method", ("minibatch",))),
            Slider(
                "seed",
                "order of rows",
                0,
                99,
                0,
                1,
                whole=True,
                when=("method", ("sgd", "minibatch", "momentum", "adam")),
            ),
        ),
        lambda seed: [[-3.0, 3.0, 1]],
        study,
        arguments,
        draw,
        points="handles",
        most=1,
        helpers=(sample,),
        saves=False,
    )
