"""The noisy sine: many data sets, one average hypothesis, and the two numbers that add up to the error."""

from __future__ import annotations

from typing import Any

import numpy as np

import gapless
from gapless.lab.drawing import Drawing, Panel, area, bars, line, points, shown, text
from gapless.lab.scene import Scene
from gapless.lab.state import Slider, State


def powers(x, degree):
    """1, x, …, x^degree without the 1: the offset is the model's."""
    return np.column_stack([x**k for k in range(1, degree + 1)])


def study(degree, n, noise, sets, seed):
    at = np.linspace(-1.0, 1.0, 60)
    truth = np.sin(np.pi * at)

    def sample(rng):
        x = rng.uniform(-1.0, 1.0, n)
        return powers(x, degree), np.sin(np.pi * x) + noise * rng.normal(size=n)

    curves = []

    def fit(X, y):
        model = gapless.LinearRegression().fit(X, y)
        if len(curves) < 8:  # the first ones are drawn
            curves.append((X[:, 0], y, model.predict(powers(at, degree))))
        return model

    found = gapless.theory.bias_variance.decompose(
        fit, sample, powers(at, degree), truth, draws=sets, noise=noise**2, seed=seed
    )
    numbers = {
        "bias²": found.bias,
        "variance": found.variance,
        "bias² + variance": found.expected,
        "noise": found.noise,
    }
    return numbers, {"found": found, "at": at, "truth": truth, "curves": curves}


def arguments(state: State) -> dict[str, Any]:
    return {name: state[name] for name in ("degree", "n", "noise", "sets", "seed")}


def draw(state: State, numbers: dict[str, Any], parts: dict[str, Any]) -> Drawing:
    at, found = parts["at"], parts["found"]
    layers = [line(np.column_stack([at, np.clip(curve, -9, 9)]), "mute", "thin") for _, _, curve in parts["curves"]]
    x, y, _ = parts["curves"][0]
    mean = np.asarray(found.mean, dtype=float)
    spread = np.std([curve for _, _, curve in parts["curves"]], axis=0)
    band = np.vstack([np.column_stack([at, mean + spread]), np.column_stack([at, mean - spread])[::-1]])
    layers = [
        area(np.clip(band, -9, 9), "minus", f"spread of {len(parts['curves'])} fits"),
        *layers,
        line(np.column_stack([at, parts["truth"]]), "ink", "dashed", "the truth"),
        line(np.column_stack([at, mean]), "minus", "solid", f"mean of {state['sets']} fits"),
        points(np.column_stack([x, y]), "plus", "solid", 0.8, name="one data set"),
    ]
    plane = Panel("plane", "", (-1.0, 1.0), (-2.5, 2.5), tuple(layers), "x", "y")
    return Drawing(_sentence(state, numbers), (plane, _shares(numbers)))


def _shares(numbers: dict[str, Any]) -> Panel:
    """The parts of the expected error side by side."""
    heights = [numbers["bias²"], numbers["variance"], numbers["noise"]]
    top = 1.25 * max(*heights, 1e-9)
    layers = [
        layer
        for k, (name, tone, height) in enumerate(
            zip(("bias²", "variance", "noise"), ("third", "minus", "mute"), heights)
        )
        for layer in (
            bars([k + 0.15, k + 0.85], [height], tone, name),
            text(k + 0.5, height + 0.04 * top, shown(height, 3), tone, "middle"),
        )
    ]
    return Panel("shares", "Where the expected error comes from", (0.0, 3.0), (0.0, top), tuple(layers), x_ticks=False)


def _sentence(state: State, numbers: dict[str, Any]) -> str:
    if numbers["bias²"] > 2.0 * numbers["variance"]:
        return "The mean curve misses the truth: bias rules. More data will not help, a higher degree will."
    if numbers["variance"] > 2.0 * numbers["bias²"]:
        return (
            "The fits differ more from each other than their mean from the truth: variance rules. "
            "More data helps, or a lower degree."
        )
    return "Bias and variance are of one size: about the best that this degree and this much data can do."


def make_scene() -> Scene:
    return Scene(
        "bias_variance",
        "Bias and variance",
        "What the average fit gets wrong is bias; how much one fit differs from that average is variance.",
        (
            Slider("degree", "degree", 1, 12, 3, 1, whole=True, plays=True),
            Slider("n", "rows in a data set", 3, 100, 20, 1, whole=True),
            Slider("noise", "noise σ", 0.0, 1.0, 0.3),
            Slider("sets", "data sets", 5, 40, 20, 5, whole=True),
            Slider("seed", "seed", 0, 99, 0, 1, whole=True),
        ),
        lambda seed: [],
        study,
        arguments,
        draw,
        points="",
        most=0,
        saves=False,
        helpers=(powers,),
    )
