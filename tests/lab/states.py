"""States of the lab's scenes, drawn at random, with the shapes of points that break programs."""

from __future__ import annotations

from typing import Any

import numpy as np

from gapless.lab.scene import Scene
from gapless.lab.state import Choice, Slider, State, Switch

SHAPES = ("clouds", "one class", "equal points", "on a line", "none", "two", "many")
FORMULAS = ("x^2", "abs(x)", "log(x)", "1/x", "exp(x^2)", "sin(x", "", "x", "3", "max(x, -x) - 2", "x^x", "((x))")


def points(shape: str, most: int, rng: np.random.Generator) -> list[list[float]]:
    n = {"none": 0, "two": 2, "many": most}.get(shape, int(rng.integers(3, 60)))
    n = min(n, most)
    xy = rng.normal(size=(n, 2)) * 1.4
    if shape == "equal points":
        xy[:] = rng.normal(size=2)
    if shape == "on a line":
        xy[:, 1] = 0.5 * xy[:, 0]
    label = rng.choice([-1, 1], size=n)
    if shape == "one class":
        label[:] = 1
    return [[float(a), float(b), int(c)] for (a, b), c in zip(np.clip(xy, -4.0, 4.0).round(3), label)]


def value(control: Any, rng: np.random.Generator) -> Any:
    if isinstance(control, Slider):
        at = float(rng.choice([0.0, 1.0, rng.random(), rng.random()]))
        if control.log:
            found = control.low * (control.high / control.low) ** at
        else:
            found = control.low + at * (control.high - control.low)
        found = min(control.high, max(control.low, float(f"{found:.4g}")))
        return int(found) if control.whole else found
    if isinstance(control, Choice):
        return str(rng.choice([word for word, _ in control.options]))
    if isinstance(control, Switch):
        return bool(rng.integers(2))
    return str(rng.choice(FORMULAS))


def random_state(scene: Scene, seed: int) -> State:
    rng = np.random.default_rng([seed, len(scene.name)])
    shape = SHAPES[seed % len(SHAPES)]
    most = min(scene.most, 300 if seed % 2 else 2000)
    drawn = scene.start(seed) if scene.points == "handles" else points(shape, most, rng)
    values = {control.name: value(control, rng) for control in scene.controls}
    return scene.check({"points": drawn, "values": values})
