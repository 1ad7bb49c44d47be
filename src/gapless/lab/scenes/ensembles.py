"""Trees, bagging and boosting: depth, votes, and weights that follow the hard points."""

from __future__ import annotations

from typing import Any

import numpy as np

import gapless
from gapless.lab.drawing import Drawing, Panel, image, line, points, tones_of
from gapless.lab.scene import Scene, cells, plane, rows_of
from gapless.lab.state import BOX, Choice, Slider, State

MOST_ROUNDS = 60  #: rounds of the one fit over which the slider moves


def study(X, y, learner, depth, rounds, most, seed):
    numbers, parts = {}, {"model": None}
    if len(set(y.tolist())) < 2:
        return numbers, parts
    tree = gapless.DecisionTreeClassifier(max_depth=depth, random_state=seed)
    if learner == "tree":
        model = tree.fit(X, y)
        numbers = {
            "training errors": int((model.predict(X) != y).sum()),
            "leaves": model.get_n_leaves(),
            "depth": model.get_depth(),
        }
        return numbers, {"model": model}
    if learner == "bagging":
        model = gapless.BaggingClassifier(tree, n_estimators=rounds, oob_score=rounds >= 20, random_state=seed).fit(
            X, y
        )
        numbers = {
            "training errors": int((model.predict(X) != y).sum()),
            "in a bag, share": model.in_bag_share_,
            "in a bag, probability": model.in_bag_probability_,
            "out-of-bag accuracy": model.oob_score_ if rounds >= 20 else None,
        }
        return numbers, {"model": model}
    model = gapless.AdaBoostClassifier(
        tree if depth > 1 else None, n_estimators=most, random_state=seed, time_limit=2.0
    )
    model.fit(X, y)
    if not len(model.estimators_):  # no rule is better than chance
        numbers = {"rounds shown": len(model.estimators_)}
        return numbers, {"model": None, "made": 0}
    certificate = model.certificate_
    made = min(rounds, len(certificate.training))
    numbers = {
        "rounds shown": made,
        "training error": float(certificate.training[made - 1]),
        "bound ∏Z": float(certificate.bounds[made - 1]),
        "weighted error, this round": float(certificate.errors[made - 1]),
        "least margin, all rounds": certificate.margin,
        "median margin, all rounds": certificate.median_margin,
    }
    return numbers, {"model": model, "made": made}


def arguments(state: State) -> dict[str, Any]:
    X, y = rows_of(state)
    return {
        "X": X,
        "y": y,
        **{name: state[name] for name in ("learner", "depth", "rounds")},
        "most": MOST_ROUNDS,
        "seed": state["seed"],
    }


def draw(state: State, numbers: dict[str, Any], parts: dict[str, Any]) -> Drawing:
    X, y = rows_of(state)
    model = parts["model"]
    if model is None:
        said = (
            "No rule is better than chance on these points: boosting ends before its first round."
            if "made" in parts
            else "Draw points of both classes."
        )
        return Drawing(said, (plane(points(X, tones_of(y), drag=True)),))
    across = 80  #: cells of the surface, each way
    grid = cells(across)
    size: Any = 1.0
    panels: tuple[Panel, ...] = ()
    if state["learner"] == "boosting":
        made = parts["made"]
        score = next(s for k, s in enumerate(model.staged_decision_function(grid), 1) if k == made)
        weights = next(w for k, w in enumerate(model.staged_weights(X, y), 1) if k == made)
        size = [float(s) for s in np.clip(np.sqrt(weights * len(y)), 0.35, 2.6)]
        score = np.asarray(score) * 3.0
        held = next(s for k, s in enumerate(model.staged_decision_function(X), 1) if k == made)
        panels = (_falls(model, made), _margins(np.asarray(held) * np.where(y == model.classes_[1], 1.0, -1.0)))
    else:
        place = int(np.flatnonzero(model.classes_ == 1)[0])
        score = 2.0 * (2.0 * model.predict_proba(grid)[:, place] - 1.0)
    votes = image(np.tanh(score).reshape(across, across), (-BOX, BOX), (-BOX, BOX), "vote", smooth=False)
    picture = plane(votes, points(X, tones_of(y), "solid", size, drag=True))
    return Drawing(_sentence(state, numbers), (picture, *panels))


def _falls(model: Any, made: int) -> Panel:
    """The training error under its bound, round by round."""
    certificate = model.certificate_
    training, bound = np.asarray(certificate.training, dtype=float), np.asarray(certificate.bounds, dtype=float)
    k = np.arange(1, len(training) + 1)
    layers = (
        line(np.column_stack([k, bound]), "mute", "dashed", "∏Z"),
        line(np.column_stack([k, training]), "accent", "solid", "training error"),
        line([[made, 0.0], [made, 1.0]], "ink", "thin"),
    )
    return Panel("rounds", "Error under its bound", (1.0, max(2.0, float(len(k)))), (0.0, 1.0), layers, "rounds")


def _margins(margin: np.ndarray) -> Panel:
    """The share of rows whose margin is at most so large: later rounds push it to the right."""
    steps = np.sort(margin)
    x = np.concatenate([[-1.0], np.repeat(steps, 2), [1.0]])
    share = np.repeat(np.arange(len(steps) + 1) / len(steps), 2)
    layers = (
        line(np.column_stack([x, share]), "accent", "solid", "share of points with at most this margin"),
        line([[0.0, 0.0], [0.0, 1.0]], "bad", "dashed", "wrong to the left"),
    )
    return Panel("margins", "Margins of the points", (-1.0, 1.0), (0.0, 1.0), layers, "margin")


def _sentence(state: State, numbers: dict[str, Any]) -> str:
    if state["learner"] == "tree":
        return f"One tree with {numbers['leaves']} leaves. Deep enough, it learns every point by heart, noise included."
    if state["learner"] == "bagging":
        return f"{state['rounds']} trees vote, each grown on a sample with repetition: the edges of one tree blur into a vote."
    return (
        "The size of a point is its weight: it grows where the rules so far were wrong, and the next one looks there. "
        "The error stays under the product of the Z."
    )


def _moons(seed: int) -> list[list[float]]:
    rng = np.random.default_rng(seed)
    t = rng.uniform(0.0, np.pi, 40)
    up = np.column_stack([2.2 * np.cos(t) - 1.0, 2.2 * np.sin(t) - 0.4])
    down = np.column_stack([1.0 - 2.2 * np.cos(t), 0.4 - 2.2 * np.sin(t)])
    X = np.clip(np.vstack([up, down]) + rng.normal(size=(80, 2)) * 0.35, -3.9, 3.9).round(2)
    return [[float(a), float(b), 1 if i < 40 else -1] for i, (a, b) in enumerate(X)]


def make_scene() -> Scene:
    return Scene(
        "ensembles",
        "Trees, bagging, boosting",
        "One tree overfits; many trees vote; weak rules, weighted by what they got right, become strong.",
        (
            Choice(
                "learner",
                "learner",
                (("tree", "one tree"), ("bagging", "bagging"), ("boosting", "boosting")),
                "boosting",
            ),
            Slider("depth", "depth of a tree", 1, 12, 1, 1, whole=True, on_release=True),
            Slider(
                "rounds",
                "rounds",
                1,
                MOST_ROUNDS,
                20,
                1,
                whole=True,
                plays=True,
                when=("learner", ("bagging", "boosting")),
            ),
            Slider("seed", "seed", 0, 99, 0, 1, whole=True),
        ),
        _moons,
        study,
        arguments,
        draw,
        release_above=0,
    )
