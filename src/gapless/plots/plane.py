"""The plane in which rows of more than two features are drawn, and what of the picture is exact there.

two features   the plane is the space
a slice        two named features; the others stand still at ``at``.  Boundaries are those of the slice; rows are shown
               by their two features, wherever they are in the others
along w        linear scores: the first axis is the distance to the boundary, the second the direction of the largest
               spread across it.  The score depends on the first alone, so that every row is on its true side of the lines
main axes      other scores: the two directions of the largest spread, through the mean; boundaries are those of this plane
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from gapless._runtime.results import result
from gapless._runtime.written import written
from gapless.plots.style import plain

__all__ = ["Plane", "ask", "dense", "grid", "names_of", "plane_of", "segment", "window"]


@result
@dataclass(frozen=True, eq=False)
class Plane:
    """Rows x have coordinates (x - origin) @ axes.T; a point p of the plane is the row origin + p @ lift.

    Attributes
    ----------
    origin : (d,): the row at the origin of the plane
    axes : (2, d)
    lift : (2, d)
    names : names of the two axes
    kind : "features", "slice", "along w" or "main axes"
    said : for the title; empty where the plane is the space
    """

    origin: np.ndarray
    axes: np.ndarray
    lift: np.ndarray
    names: tuple[str, str]
    kind: str
    said: str = ""

    @property
    def exact(self) -> bool:
        """Whether every row is on its true side of a boundary that is drawn here."""
        return self.kind in ("features", "along w")

    def place(self, X: np.ndarray) -> np.ndarray:
        """(n, 2): where rows lie in the plane."""
        return (X - self.origin) @ self.axes.T

    def rows(self, points: np.ndarray) -> np.ndarray:
        """(n, d): the rows that lie at ``points`` of the plane."""
        return self.origin + points @ self.lift

    def line(self, w: np.ndarray, b: float) -> tuple[np.ndarray, float]:
        """(v, c) with <w, x> + b = <v, p> + c for the rows of the plane."""
        return self.lift @ w, float(w @ self.origin + b)

    def __str__(self) -> str:
        return f"the plane of {self.names[0]} and {self.names[1]} ({self.kind})"


def dense(X: Any) -> np.ndarray:
    """X as numbers; a picture has few columns."""
    if hasattr(X, "toarray"):
        X = X.toarray()
    elif hasattr(X, "to_numpy"):
        X = X.to_numpy()
    X = np.asarray(X, dtype=np.float64)
    if X.ndim != 2 or X.shape[0] == 0 or X.shape[1] == 0:
        raise ValueError(f"X must have rows and columns; got shape {X.shape}")
    return X


def ask(model: Any, method: str, rows: Any) -> np.ndarray:
    """What a model says of rows in the order of its columns, though they may be no frame."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        return np.asarray(getattr(model, method)(rows))


def names_of(X: Any, model: Any = None) -> list[str]:
    """The names of the columns: the model's, the frame's, or x0, x1 ..."""
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        names = getattr(X, "columns", None)
    d = X.shape[1] if hasattr(X, "shape") else len(X[0])
    return [f"x{j}" for j in range(d)] if names is None or len(names) != d else [str(n) for n in names]


def plane_of(
    X: np.ndarray, names: list[str], features: Any = None, at: Any = None, w: np.ndarray | None = None
) -> Plane:
    """The plane of two named features, or the one that shows most.

    Parameters
    ----------
    features : two names or numbers of columns, or None
    at : values of the other features in a slice: one for each column of X, or a dictionary by name; medians where nothing is said
    w : the direction of a linear score
    """
    d = X.shape[1]
    if features is None and at is not None:
        raise ValueError("at= fixes the other features of a slice: say features=, the two that are drawn")
    if features is not None or d == 2:
        first, second = (0, 1) if features is None else _pair(features, names)
        return _slice(X, names, first, second, at)
    if d == 1:
        return Plane(np.zeros(1), np.array([[1.0], [0.0]]), np.array([[1.0], [0.0]]), (plain(names[0]), ""), "features")
    centre = X.mean(axis=0)
    if w is not None and np.linalg.norm(w) > 0.0:
        u = w / np.linalg.norm(w)
        rest = X - centre
        rest = rest - np.outer(rest @ u, u)
        v = plane_directions(rest, 1)[0]
        v -= (v @ u) * u
        axes = np.stack([u, v / np.linalg.norm(v)])
        # The origin is the foot of the mean on <w, x> = 0 shifted by nothing: coordinates of the first axis are <u, x>.
        origin = centre - (centre @ u) * u
        names_ = ("along w", "largest spread across w")
        return Plane(origin, axes, axes, names_, "along w", f"{d} features seen along w")
    axes = plane_directions(X - centre, 2)
    share = ((X - centre) @ axes.T).var(axis=0).sum() / max(float((X - centre).var(axis=0).sum()), 1e-300)
    said = f"the plane of the two main axes of {d} features ({100 * share:.0f} % of the spread)"
    return Plane(centre, axes, axes, ("first main axis", "second main axis"), "main axes", said)


def plane_directions(rows: np.ndarray, k: int) -> np.ndarray:
    """The k directions of the largest spread, of length 1, signs fixed so that the picture is always the same."""
    _, vectors = np.linalg.eigh(rows.T @ rows)
    found = vectors[:, ::-1][:, :k].T.copy()
    for v in found:
        v *= np.sign(v[np.argmax(np.abs(v))]) or 1.0
    return found


def _pair(features: Any, names: list[str]) -> tuple[int, int]:
    chosen = list(features) if not isinstance(features, str) else [features]
    if len(chosen) != 2:
        raise ValueError(f"features= names two columns; got {written(features)}")
    numbers = []
    for one in chosen:
        if isinstance(one, str):
            if one not in names:
                from difflib import get_close_matches

                close = get_close_matches(one, names, n=1)
                raise ValueError(
                    f"no feature {written(one)}" + (f"; did you mean {close[0]!r}?" if close else f": {names[:20]}")
                )
            numbers.append(names.index(one))
        elif 0 <= int(one) < len(names):
            numbers.append(int(one))
        else:
            raise ValueError(f"no feature number {written(one)}: there are {len(names)}")
    if numbers[0] == numbers[1]:
        raise ValueError(f"features= names two different columns; got {written(features)}")
    return numbers[0], numbers[1]


def _slice(X: np.ndarray, names: list[str], first: int, second: int, at: Any) -> Plane:
    d = X.shape[1]
    axes = np.zeros((2, d))
    axes[0, first] = axes[1, second] = 1.0
    shown = (plain(names[first]), plain(names[second]))
    if d == 2:
        return Plane(np.zeros(2), axes, axes, shown, "features")
    origin = np.median(X, axis=0)
    if isinstance(at, dict):
        for name, value in at.items():
            if name not in names:
                raise ValueError(f"at= has no feature {name!r}")
            origin[names.index(name)] = float(value)
    elif at is not None:
        given = np.asarray(at, dtype=np.float64).ravel()
        if given.size != d:
            raise ValueError(f"at= has {given.size} values for {d} features")
        origin = given.copy()
    fixed = [j for j in range(d) if j not in (first, second)]
    values = ", ".join(f"{plain(names[j])} = {origin[j]:.3g}" for j in fixed[:3])
    said = f"slice at {values}" + (f" and {len(fixed) - 3} more" if len(fixed) > 3 else "")
    origin[first] = origin[second] = 0.0
    return Plane(origin, axes, axes, shown, "slice", said)


def window(points: np.ndarray, room: float = 0.08) -> tuple[np.ndarray, np.ndarray]:
    """The limits of a picture of these points."""
    low, high = points.min(axis=0), points.max(axis=0)
    span = np.where(high > low, high - low, np.maximum(1.0, np.abs(high)))
    return low - room * span, high + room * span


def segment(v: np.ndarray, c: float, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """The two ends of <v, p> + c = 0 within a window, (2, 2); NaN where the line does not cross it."""
    found = []
    for k in (0, 1):
        for edge in (low[k], high[k]):
            if v[1 - k] != 0.0:
                p = np.empty(2)
                p[k], p[1 - k] = edge, -(c + v[k] * edge) / v[1 - k]
                room = 1e-12 * (high[1 - k] - low[1 - k])
                if low[1 - k] - room <= p[1 - k] <= high[1 - k] + room:
                    found.append(p)
    if len(found) < 2:
        return np.full((2, 2), np.nan)
    ends = np.array(found)
    far = int(np.argmax(((ends - ends[0]) ** 2).sum(axis=1)))
    return ends[[0, far]]


def grid(low: np.ndarray, high: np.ndarray, resolution: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Coordinates of the two axes, and all points (resolution^2, 2), the second axis slow."""
    xs, ys = np.linspace(low[0], high[0], resolution), np.linspace(low[1], high[1], resolution)
    first, second = np.meshgrid(xs, ys)
    return xs, ys, np.column_stack([first.ravel(), second.ravel()])
