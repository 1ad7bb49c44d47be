"""ConvexSetDisplay: a set of the plane, and a segment between two of its points that leaves it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gapless._runtime.written import written
from gapless.plots.style import COLOURS, GREY, INK, WASH, Display, below, say
from gapless.theory.optimisation.convexity import Evidence, of_set

__all__ = ["ConvexSetDisplay"]


@dataclass(eq=False, repr=False)
class ConvexSetDisplay(Display):
    """The set hatched, the segment of the witness, and the part of it that lies outside; without a witness segments that stay
    inside.

    Attributes
    ----------
    xs, ys : the grid
    inside : (ys, xs), whether each point of the grid is in the set
    segments : (m, 2, 2): ends of the segments that are drawn
    outside : for each segment, which of its points are not in the set
    found : `Evidence` of `theory.convexity.of_set`
    names : names of the two axes
    set_, segments_, outside_ : artists
    """

    xs: np.ndarray
    ys: np.ndarray
    inside: np.ndarray
    segments: np.ndarray
    outside: np.ndarray
    found: Evidence
    names: tuple[str, str]
    _widths = (4.6,)
    _height = 5.7

    @classmethod
    def from_set(
        cls,
        inside: Callable[[np.ndarray], bool],
        box: Any,
        *,
        points: Any = None,
        names: tuple[str, str] = ("x1", "x2"),
        trials: int = 2000,
        resolution: int = 241,
        seed: int = 0,
    ) -> ConvexSetDisplay:
        """Ask ``theory.convexity.of_set`` first.

        Parameters
        ----------
        inside : point of the plane -> whether it is in the set
        box : ((low, high), (low, high)), the part of the plane that is drawn and tried
        points : at least two points of the set; None draws them from the box
        names : names of the two axes
        trials, seed : of `theory.convexity.of_set`
        resolution : points of the grid along each axis
        """
        ends = np.asarray(box, dtype=np.float64)
        if ends.shape != (2, 2):
            raise ValueError(
                f"this picture is of the plane: box is a pair (low, high) for each of two axes; got {written(box)}"
            )
        found = of_set(inside, ends, trials=trials, points=points, seed=seed)
        xs, ys = (np.linspace(low, high, int(resolution)) for low, high in ends.tolist())
        grid = np.array([[bool(inside(np.array([x, y]))) for x in xs] for y in ys])
        if found.witness is not None:
            segments = _lengthened(found.witness.points, inside, ends)[None]
        else:
            known = np.argwhere(grid)
            picked = known[np.random.default_rng(seed).integers(len(known), size=(6, 2))]
            segments = np.stack([xs[picked[..., 1]], ys[picked[..., 0]]], axis=-1)
        lams = _shares()
        outside = np.array([[not inside(p) for p in lams * a + (1.0 - lams) * b] for a, b in segments])
        return cls(xs, ys, grid, segments, outside, found, names)

    @property
    def title(self) -> str:
        """What the picture says, in one sentence."""
        if self.found.witness is None:
            return f"no segment left the set in {self.found.trials:,} trials: evidence, not a proof"
        return (
            f"not convex: both ends are in the set, {100 * float(self.outside[0].mean()):.0f} % of the segment are not"
        )

    def _draw(self) -> None:
        ax = self.ax_
        level = self.inside.astype(np.float64)
        self.set_ = ax.contourf(self.xs, self.ys, level, levels=[0.5, 1.5], colors=[WASH], hatches=["////"])
        ax.contour(self.xs, self.ys, level, levels=[0.5], colors=[GREY], linewidths=1.0)
        self.segments_, self.outside_ = [], []
        lams = _shares()
        for k, ((a, b), out) in enumerate(zip(self.segments, self.outside)):
            path = lams * a + (1.0 - lams) * b
            label = "segment between two points of the set" if k == 0 else None
            self.segments_ += ax.plot(*path.T, color=INK, label=label)
            ax.plot(*np.array([a, b]).T, "o", color=INK, linestyle="none")
            if out.any():
                hidden = np.where(out[:, None], path, np.nan)
                self.outside_ += ax.plot(
                    *hidden.T, color=COLOURS[5], linewidth=3.2, linestyle="-", label="outside the set"
                )
        ax.set(xlabel=self.names[0], ylabel=self.names[1], aspect="equal")
        from matplotlib.patches import Patch

        handles = [Patch(facecolor=WASH, edgecolor=GREY, hatch="////", label="the set")]
        handles += [*self.segments_[:1], *self.outside_[:1]]
        below(ax, columns=1, handles=handles)
        say(ax, self.title)


def _lengthened(segment: np.ndarray, inside: Callable[[np.ndarray], bool], box: np.ndarray) -> np.ndarray:
    """The same line, its ends moved outwards to the middle of the stretch of it that stays in the set and in the box."""
    a, b = segment
    moved = []
    for near, far in ((a, b), (b, a)):
        steps = near + _shares(2.0) * (near - far)
        kept = [bool(((box[:, 0] <= p) & (p <= box[:, 1])).all() and inside(p)) for p in steps]
        last = kept.index(False) if False in kept else len(kept)
        moved.append(steps[last // 2])
    return np.array(moved)


def _shares(end: float = 1.0) -> np.ndarray:
    """The places on a segment that are tried and drawn, as shares of its length."""
    return np.linspace(0.0, end, 401)[:, None]
