"""What a sample can promise: Hoeffding against the urn, the VC bound, and which labellings of drawn points a line gives."""

from __future__ import annotations

from typing import Any

import numpy as np

import gapless
from gapless.lab.drawing import Drawing, Panel, bars, line, points
from gapless.lab.scene import Scene, level_line, plane, rows_of
from gapless.lab.state import Slider, State


def study(X, n, epsilon, delta, mu, dimension, seed):
    urn = gapless.theory.hoeffding.urn(mu, n, epsilon, draws=5000, seed=seed)
    enough = gapless.theory.hoeffding.solve(epsilon=epsilon, delta=delta)
    rows = gapless.theory.vc.sample_size(epsilon, delta, dimension)
    bound = gapless.theory.vc.bound(n, dimension, delta)
    numbers = {
        "samples off by more than ε": urn.seen,
        "the binomial says": urn.exact,
        "Hoeffding says at most": urn.hoeffding,
        "rows for one hypothesis": enough.n,
        "rows for the VC dimension": rows.n,
        "E_out − E_in at most": bound.value,
    }
    sizes = np.unique(np.geomspace(10, 100_000, 40).astype(int))
    falls = [gapless.theory.vc.bound(int(size), dimension, delta).value for size in sizes]
    lines = [gapless.theory.growth.growth("halfspaces", size, d=2) for size in range(1, 11)]
    parts = {"urn": urn, "dichotomies": None, "sizes": sizes, "falls": falls, "lines": lines}
    if len(X):
        found = gapless.theory.growth.dichotomies(X)
        numbers["labellings by a line"] = found.count
        numbers["of all 2ᴺ"] = 2 ** len(X)
        parts["dichotomies"] = found
        parts["shattering"] = gapless.theory.vc.shatters(X)
    return numbers, parts


def arguments(state: State) -> dict[str, Any]:
    names = ("n", "epsilon", "delta", "mu", "dimension", "seed")
    return {"X": rows_of(state)[0], **{name: state[name] for name in names}}


def draw(state: State, numbers: dict[str, Any], parts: dict[str, Any]) -> Drawing:
    X, _ = rows_of(state)
    found, urn = parts["dichotomies"], parts["urn"]
    tones: Any = "ink"
    layers = []
    if found is not None and found.count:
        k = min(state["labelling"], found.count - 1)
        tones = ["plus" if bit > 0 else "minus" for bit in np.asarray(found.labels[k])]
        line_of = _line(X, np.asarray(found.labels[k]))
        if line_of is not None:
            layers.append(line(line_of, "ink", "solid", f"labelling {k + 1} of {found.count}"))
    layers.append(points(X, tones, "solid", 1.3, drag=True))
    nu = np.asarray(urn.nu, dtype=float)
    edges = np.linspace(0.0, 1.0, 51)
    heights, _ = np.histogram(nu, edges)
    share = heights / max(1, heights.sum())
    top = float(share.max()) * 1.15
    marks = [
        line([[v, 0.0], [v, top]], "bad", "dashed")
        for v in (state["mu"] - state["epsilon"], state["mu"] + state["epsilon"])
    ]
    drawn = Panel(
        "urn", f"{urn.draws:,} samples of {state['n']} marbles", (0.0, 1.0), (0.0, max(top, 1e-9)),
        (bars(edges, share, "accent", "share of samples"), *marks), "ν, the share in a sample",
    )  # fmt: skip
    limits = {"labelling": (0.0, float(found.count - 1))} if found is not None and found.count else {}
    side = (drawn, _growth(len(X), numbers, parts), _falls(state, numbers, parts))
    return Drawing(_sentence(numbers, parts), (plane(*layers), *side), limits=limits)


def _growth(drawn: int, numbers: dict[str, Any], parts: dict[str, Any]) -> Panel:
    """All labellings against those that lines can give."""
    k = np.arange(1, 11)
    layers = [
        line(np.column_stack([k, 2.0**k]), "mute", "dashed", "all, 2ᴺ"),
        line(np.column_stack([k, parts["lines"]]), "accent", "solid", "most that lines give"),
    ]
    if drawn:
        layers.append(points([[drawn, numbers["labellings by a line"]]], "minus", name="your points"))
    return Panel("growth", "Growth function of lines", (1.0, 10.0), (1.0, 1200.0), tuple(layers), "points", y_log=True)


def _falls(state: State, numbers: dict[str, Any], parts: dict[str, Any]) -> Panel:
    """How many rows are needed: where the VC bound comes down to ε."""
    top = max(4.0, float(max(parts["falls"])))
    layers = (
        line(np.column_stack([parts["sizes"], parts["falls"]]), "accent", "solid", "E_out − E_in at most"),
        line([[10.0, state["epsilon"]], [1e5, state["epsilon"]]], "bad", "dashed", "ε"),
        line([[state["n"], 0.01], [state["n"], top]], "mute", "thin", "your N"),
    )
    return Panel("falls", "How many rows do I need?", (10.0, 1e5), (0.01, top), layers, "rows", x_log=True, y_log=True)


def _line(X: np.ndarray, labels: np.ndarray) -> np.ndarray | None:
    """A line that gives these labels, from `separability`."""
    if len(set(labels.tolist())) < 2:
        return None
    found = gapless.separability(X, labels)
    return level_line(found.w, float(found.b), 0.0) if found.w is not None and found.status == "complete" else None


def _sentence(numbers: dict[str, Any], parts: dict[str, Any]) -> str:
    if parts["dichotomies"] is None:
        return "Draw up to 10 points: how many of their labellings can a line give?"
    n = numbers["of all 2ᴺ"]
    if parts["shattering"].shattered:
        return f"A line gives all {n} labellings: these points are shattered."
    given = numbers["labellings by a line"]
    return f"A line gives {given} of {n} labellings. It never gives all 16 of four points: the VC dimension is 3."


def make_scene() -> Scene:
    most_points = 10  #: drawn points
    return Scene(
        "generalisation",
        "Generalisation",
        "How many rows make a sample tell the truth, for one hypothesis and for all lines at once.",
        (
            Slider("labelling", "labelling, one by one", 0, 1023, 5, 1, whole=True, plays=True),
            Slider("n", "rows N", 10, 2000, 100, 1, whole=True, log=True),
            Slider("epsilon", "ε", 0.02, 0.4, 0.1),
            Slider("delta", "δ", 0.001, 0.5, 0.05, 0.001, log=True),
            Slider("mu", "μ, the urn's share", 0.02, 0.98, 0.4),
            Slider("dimension", "VC dimension", 1, 50, 3, 1, whole=True),
            Slider("seed", "seed", 0, 99, 0, 1, whole=True),
        ),
        lambda seed: [[-1.5, -1.0, 1], [1.6, -1.2, 1], [0.2, 1.7, 1], [0.1, -0.2, 1]],
        study,
        arguments,
        draw,
        points="plain",
        most=most_points,
        saves=False,
    )
