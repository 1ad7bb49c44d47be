"""The perceptron, mistake by mistake: the line turns at each, and the proof counts how many there can be."""

from __future__ import annotations

from typing import Any

import numpy as np

import gapless
from gapless.lab.drawing import Drawing, Layer, Panel, line, points, tones_of
from gapless.lab.scene import Scene, level_line, plane, rows_and, rows_of
from gapless.lab.state import Slider, State, Switch


def study(X, y, seed, rate, two_starts):
    numbers, parts = {}, {"model": None, "other": None}
    if len(set(y.tolist())) < 2:
        return numbers, parts
    passes = 300 if gapless.separability(X, y).status == "complete" else 8
    model = gapless.Perceptron(
        trace=True, certify=True, random_state=seed, eta0=rate, max_iter=passes, tol=None, time_limit=2.0
    )
    model.fit(X, y)
    certificate = model.certificate_
    numbers = {
        "mistakes": model.mistakes_,
        "most mistakes": certificate.bound,
        "R": certificate.radius,
        "margin": certificate.margin,
        "passes": model.passes_,
        "training errors": certificate.errors,
    }
    parts = {"model": model, "other": None, "certificate": certificate}
    if two_starts:
        other = gapless.Perceptron(
            trace=True, random_state=seed, eta0=rate, max_iter=passes, init=([[3.0, -3.0]], [1.0]), time_limit=2.0
        )
        parts["other"] = other.fit(X, y)
        numbers["mistakes, other start"] = other.mistakes_
    return numbers, parts


def draw(state: State, numbers: dict[str, Any], parts: dict[str, Any]) -> Drawing:
    X, y = rows_of(state)
    model = parts["model"]
    if model is None:
        alone = plane(points(X, tones_of(y), drag=True))
        return Drawing("Draw points of both classes: there is nothing to separate yet.", (alone,))
    trace, certificate = model.trace_, parts["certificate"]
    step = min(state["step"], len(trace))
    layers: list[Layer] = []
    if parts["other"] is not None:
        other = parts["other"]
        layers.append(
            line(level_line(other.coef_[0], float(other.intercept_[0]), 0.0), "third", "dashed", "the other start")
        )
    now = trace[step - 1] if step else None
    if step > 1:
        layers.append(
            line(level_line(trace[step - 2].theta[:2], trace[step - 2].theta[2], 0.0), "mute", "dashed", "before")
        )
    if now is not None:
        layers.append(line(level_line(now.theta[:2], now.theta[2], 0.0), "ink", "solid", f"after mistake {step}"))
    rows = certificate.witness.rows if certificate.witness is not None else ()
    ring = (*rows, *(() if now is None else (now.row,)))
    look = ["solid" if not rows or i in rows else "faint" for i in range(len(y))]
    layers.append(points(X, tones_of(y), look, drag=True, ring=ring))
    proof = (_proof(trace, step),) if certificate.bound is not None and trace else ()
    return Drawing(_sentence(numbers, certificate, now), (plane(*layers), *proof), limits={"step": (0, len(trace))})


def _proof(trace: Any, step: int) -> Panel:
    """⟨t, θ⟩ grows at least as fast as k, |θ| at most as fast as √k: they have to meet."""
    k = np.array([s.k for s in trace], dtype=float)
    along, norm = np.array([s.along for s in trace]), np.array([s.norm for s in trace])
    least, most = np.array([s.along_least for s in trace]), np.array([s.norm_most for s in trace])
    top = float(np.nanmax(np.concatenate([most, norm, along])))
    layers = [
        line(np.column_stack([k, most]), "mute", "dashed", "|θ| at most"),
        line(np.column_stack([k, norm]), "minus", "solid", "|θ|"),
        line(np.column_stack([k, along]), "plus", "solid", "⟨t, θ⟩"),
        line(np.column_stack([k, least]), "mute", "dotted", "⟨t, θ⟩ at least"),
    ]
    if step:
        layers.append(line([[step, 0.0], [step, top]], "accent", "thin"))
    right = max(2.0, float(k[-1]))
    return Panel("proof", "Why it ends", (0.0, right), (0.0, 1.05 * top), tuple(layers), "mistakes", "")


def _sentence(numbers: dict[str, Any], certificate: Any, now: Any) -> str:
    if certificate.witness is not None:
        rows = len(certificate.witness.rows)
        return f"No line separates these classes. {rows} ringed points prove it: the perceptron would never stop."
    if now is None:
        return "Before the first mistake the weights are 0, and every point counts as wrong."
    done = "It has stopped: a whole pass without a mistake." if now.k == numbers["mistakes"] else ""
    count = (
        f"{numbers['mistakes']} mistakes of at most {int(certificate.bound):,}" if certificate.bound is not None else ""
    )
    broke = (
        f"{len(now.broke)} points that were right are wrong now"
        if now.broke
        else "no point that was right is wrong now"
    )
    return f"Mistake {now.k}, in pass {now.pass_}: the ringed point turned the line; {broke}. {done} {count}".strip()


def _close(seed: int) -> list[list[float]]:
    """Two clouds with a narrow street between them, so that some mistakes are made."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(30) % 2 == 0, 1, -1)
    along, away = rng.uniform(-2.6, 2.6, 30), rng.uniform(0.18, 2.2, 30)
    X = np.clip(np.outer(along, [0.8, -0.6]) + np.outer(y * away, [0.6, 0.8]) + [0.5, 0.3], -3.9, 3.9).round(2)
    return [[float(a), float(b), int(label)] for (a, b), label in zip(X, y)]


def make_scene() -> Scene:
    last = 100_000  #: a step beyond every run: the end
    return Scene(
        "perceptron",
        "Perceptron",
        "Each mistake turns the line. If a line separates the classes, the number of mistakes is at most (R/γ)².",
        (
            Slider("step", "after mistake", 0, last, last, 1, whole=True, plays=True),
            Slider("rate", "rate ρ", 0.05, 5.0, 1.0, log=True),
            Slider("seed", "order of visits", 0, 99, 0, 1, whole=True),
            Switch("two_starts", "a second start"),
        ),
        lambda seed: _close(seed),
        study,
        rows_and("seed", "rate", "two_starts"),
        draw,
        release_above=400,
    )
