"""The whole path of the hinge loss in C, exactly: every break point, and what is linear between them.

    minimise over a   1/2 a'Qa - lam 1'a,    Q_ij = y_i y_j K_ij,   0 <= a <= s,   free offset: y'a = 0

is the dual of the SVM with c = C s in other units: lam = 1/C, a = alpha/C, w/C = sum a y phi, beta = lam b.  The feasible set
does not move and lam enters linearly, so that a solution a(lam) can be chosen piecewise linear in lam, hence alpha = a/lam
piecewise linear in C (Hastie, Rosset, Tibshirani and Zhu 2004).  With nu = ya, f = K nu and h_i = lam - y_i (f_i + beta):

    h < 0: a = 0        h > 0: a = s        h = 0: anything between (the elbow)

Between two break points a set of rows with h = 0 moves and all other rows stand still: `hinge_walk` goes from one to the next.
The start is a solution at one C, to machine precision, from which the path is followed both ways.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from gapless._runtime.cached import lazy
from gapless.solvers.linear.hinge_walk import Place, Segment, Stalled, Walk


@dataclass(frozen=True, eq=False)
class HingePath:
    """Segments in the order of C, from the smallest to the largest.  ``breaks``: the C between two of them."""

    K: np.ndarray
    y: np.ndarray
    s: np.ndarray
    free: bool
    segments: list[Segment]
    breaks: np.ndarray
    stalled: str | None
    start: float  #: the C from which it was followed

    @property
    def reach(self) -> tuple[float, float]:
        """The smallest and the largest C on the path; 0 and infinity where it has no end."""
        first, last = self.segments[0], self.segments[-1]
        top, bottom = max(first.start, first.end), min(last.start, last.end)
        return 1.0 / top if top < np.inf else 0.0, 1.0 / bottom if bottom > 0.0 else np.inf

    def find_segment(self, C: float) -> Segment:
        """The segment that C is in; at a break point the segment of larger C."""
        return self.segments[max(0, int(np.searchsorted(self._ends, C, side="right")) - 1)]

    @lazy
    def _ends(self) -> np.ndarray:
        """The smaller end of each segment."""
        return np.array([1.0 / max(segment.start, segment.end) for segment in self.segments])

    def solution_at(self, C: float, segment: Segment | None = None) -> tuple[np.ndarray, float]:
        """u = alpha y and b at C."""
        nu, beta = (segment or self.find_segment(C)).solution_at(1.0 / C, self.y, self.s)
        return C * nu, C * beta

    def limit_at_zero(self) -> tuple[np.ndarray, float]:
        """u and b as C falls to 0, on a path that reaches 0: u = C nu with nu bounded, b = C beta with beta linear in 1/C."""
        return np.zeros(self.y.size), self.segments[0].beta_slope

    def refine(self, C: float) -> tuple[np.ndarray, float]:
        """u and b at C, corrected so that yz = 1 on the basis: rounding has moved it where C is far from the break points."""
        segment = self.find_segment(C)
        u, b = self.solution_at(C, segment)
        basis = np.flatnonzero(segment.status == Place.BASIC)
        if basis.size == 0:
            return u, b
        e = 1 if self.free else 0
        system = np.zeros((basis.size + e, basis.size + e))
        system[e:, e:] = self.K[np.ix_(basis, basis)]
        if e:
            system[0, 1:] = system[1:, 0] = 1.0
        c = C * self.s[basis]
        for _ in range(2):
            residual = self.y[basis] - self.K[basis] @ u - b
            right = np.concatenate([[-float(u.sum())], residual]) if e else residual
            try:
                step = np.linalg.solve(system, right)
            except np.linalg.LinAlgError:
                return self.solution_at(C, segment)
            u[basis] += step[e:]
            b += float(step[0]) if e else 0.0
        alpha = self.y[basis] * u[basis]
        if np.any((alpha < -1e-9 * c) | (alpha > (1.0 + 1e-9) * c)) or not np.isfinite(alpha).all():
            return self.solution_at(C, segment)  # the correction made it worse: the basis is nearly dependent
        u[basis] = self.y[basis] * np.clip(alpha, 0.0, c)
        return u, b

    def cut_to_certified(self, kept: float) -> tuple[HingePath, np.ndarray]:
        """The path as far as P = D to the relative gap ``kept`` at each break point, and P, D and the gap there.

        Both segments of a break point are evaluated, and the figures are those of the worse one.
        """
        if len(self.segments) < 2:
            return self, np.empty((0, 3))
        pairs = list(zip(self.segments[:-1], self.segments[1:]))
        Cs = np.array([1.0 / min(first.start, first.end) for first, _ in pairs])
        sides = np.stack([self.certify(Cs, [pair[k] for pair in pairs]) for k in (0, 1)])
        worse = np.argmax(sides[:, :, 2], axis=0)
        figures = sides[worse, np.arange(Cs.size)]
        good = figures[:, 2] <= kept * np.maximum(np.abs(figures[:, 0]), np.abs(figures[:, 1]))
        first, last = 0, len(self.segments)
        if not good.all():
            # From the start, where both walks began, to the first break point that is not good on either side.
            begin = int(np.searchsorted(Cs, self.start))
            below, above = np.flatnonzero(~good[:begin]), np.flatnonzero(~good[begin:])
            first = int(below[-1]) + 1 if below.size else 0
            last = begin + int(above[0]) + 1 if above.size else last
        inner = np.isin(Cs, self.breaks)
        keep = np.zeros(Cs.size, bool)
        keep[first : last - 1] = True
        stalled = self.stalled if good.all() else "double precision does not tell more"
        path = replace(self, segments=self.segments[first:last], breaks=Cs[keep & inner], stalled=stalled)
        return path, figures[keep & inner]

    def certify(self, Cs: np.ndarray, segments: list[Segment], tick: Callable[[], None] = lambda: None) -> np.ndarray:
        """P, D and the gap at each C, from the points themselves: rows (P, D, gap).

        With w = sum u phi the gap is a sum over rows of (c - alpha)[1 - yz]+ + alpha [yz - 1]+, and b sum u, which should be 0.
        """
        out = np.empty((len(Cs), 3))
        for first in range(0, len(Cs), 256):
            part = range(first, min(len(Cs), first + 256))
            points = [self.solution_at(float(Cs[k]), segments[k]) for k in part]
            U = np.stack([u for u, _ in points])
            tick()
            F = U @ self.K
            for k, (u, b), f in zip(part, points, F):
                c = Cs[k] * self.s
                h = 1.0 - self.y * (f + b)
                alpha = self.y * u
                gap = float((np.where(h > 0.0, (c - alpha) * h, -alpha * h)).sum())
                missed = abs(float(u.sum())) if self.free else 0.0
                square = float(u @ f)
                primal = 0.5 * square + float(c @ np.maximum(h, 0.0))
                price = (1.0 + np.sqrt(2.0 * max(primal, 0.0) * float(self.K.diagonal().max()))) * missed
                gap += price + abs(b) * missed
                out[k] = primal, float(alpha.sum()) - 0.5 * square - price, gap
        return out


def hinge_path(
    K: np.ndarray,
    y: np.ndarray,
    s: np.ndarray,
    free: bool,
    start: tuple[float, np.ndarray],
    low: float = 0.0,
    high: float = np.inf,
    tick: Callable[[], None] = lambda: None,
) -> HingePath:
    """The path for all C in [low, high] from ``start`` = (C, u), a solution at a C between them."""
    C, u = start
    walks = []
    stalled = None
    for sigma, last in ((1.0, 1.0 / low if low > 0.0 else np.inf), (-1.0, 1.0 / high if high < np.inf else 0.0)):
        walk = Walk(K, y, s, free, u / C, 1.0 / C, sigma, tick)
        try:
            walk.run(last)
        except Stalled as error:
            stalled = f"{error}, at C = {1.0 / walk.lam:.6g}"
        walks.append(walk.segments)
    segments = walks[0][::-1] + walks[1]
    # Where the two walks began is no break point, nor is where they end.
    breaks = [1.0 / segment.end for part in walks for segment in part[:-1]]
    return HingePath(K, y, s, free, segments, np.sort(breaks), stalled, C)
