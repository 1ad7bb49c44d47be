"""GapDisplay: primal, dual and the gap between them, as the fit went on."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from gapless._runtime.written import written
from gapless.plots.style import COLOURS, GREY, INK, PALE, Display, plain, say

__all__ = ["GapDisplay"]


@dataclass(eq=False, repr=False)
class GapDisplay(Display):
    """The optimum lies between the two curves at every moment; their distance is the gap.

    The last point is the certificate's: primal and dual recomputed from what is returned. Where the gap is not above its
    rounding bound it is drawn at that bound, as a triangle that points down.

    Attributes
    ----------
    x : passes or seconds
    primal : P at each point
    dual : NaN where nothing is known yet
    rounding : of the last gap
    tol : tolerance of the fit, None where it is not known
    by : "passes" or "seconds"
    name : name of the estimator
    certified : the last point is that of the certificate
    primal_, dual_, between_, gap_, floor_ (None where no gap is below its rounding), tol_ : artists
    """

    x: np.ndarray
    primal: np.ndarray
    dual: np.ndarray
    rounding: float
    tol: float | None
    by: str
    name: str
    certified: bool
    _widths = (4.2, 4.2)
    _height = 3.4

    @classmethod
    def from_estimator(cls, estimator: Any, *, by: str = "passes") -> GapDisplay:
        """Of a fitted model with ``history_``, by "passes" over the rows, which every machine counts alike, or "seconds".

        ``estimator`` is fitted.
        """
        # Late: it loads scikit-learn and numba, 1.1 s, which the process that draws the pictures of a page does not need.
        from gapless.certificates.verify import last_step

        model, _ = last_step(estimator, None)
        name = type(model).__name__
        certificate = getattr(model, "certificate_", None)
        if certificate is None:
            raise ValueError(f"{name} is not fitted: there is no certificate")
        if getattr(certificate, "gap", None) is None:
            raise ValueError(f"{name} has no gap: its certificate is of kind {certificate.kind!r}")
        subs: Any = getattr(certificate, "subproblems", ())
        history = list(getattr(model, "history_", []))
        end: Any = None
        if len(subs) == 1:  # of several, the history is that of the longest and the certificate the sum
            sub, last = subs[0], history[-1] if history else (0, 0.0)
            end = (max(sub.n_iter, last[0]), max(sub.seconds, last[1]), sub.primal, sub.dual)
        if not history and end is None:
            raise ValueError(f"this {name} has no history_: it was loaded from a file, or made no pass")
        tol = getattr(model, "tol", None)
        return cls.from_history(history, end=end, rounding=subs[0].rounding if end else 0.0, tol=tol, by=by, name=name)

    @classmethod
    def from_history(
        cls,
        history: Any,
        *,
        end: tuple[int, float, float, float] | None = None,
        rounding: float = 0.0,
        tol: float | None = None,
        by: str = "passes",
        name: str = "fit",
    ) -> GapDisplay:
        """Of rows (pass, seconds, primal, dual, ...), and the certified last one.

        ``history`` has these rows; ``end`` is such a row, of the certificate, ``rounding`` and ``tol`` its
        figures; ``by`` is "passes" or "seconds"; ``name`` stands in the title.
        """
        if by not in ("seconds", "passes"):
            raise ValueError(f'by is "passes" or "seconds"; got {written(by)}')
        rows = [tuple(row)[:4] for row in history] + ([] if end is None else [end])
        if not rows:
            raise ValueError("there is no row to draw")
        table = np.array(rows, dtype=np.float64)
        table[~np.isfinite(table)] = np.nan
        return cls(
            table[:, 1 if by == "seconds" else 0],
            table[:, 2],
            table[:, 3],
            float(rounding),
            tol,
            by,
            name,
            end is not None,
        )

    @property
    def gap(self) -> np.ndarray:
        """P - D at each point."""
        return self.primal - self.dual

    @property
    def title(self) -> str:
        """What the picture says, in one sentence."""
        last = float(self.gap[-1])
        size = max(abs(float(self.primal[-1])), abs(float(self.dual[-1])))
        found = f"{last:.2g}" if last > self.rounding else f"{last:.1g}, within its rounding of {self.rounding:.1g}"
        relative = f" (relative {max(last, 0.0) / size:.1e})" if size > 0.0 and last > self.rounding else ""
        return f"{plain(self.name)}: the gap ends at {found}{relative}"

    def _draw(self) -> None:
        left, right = self.axes_
        x, unit = _in_units(self.x) if self.by == "seconds" else (self.x, "passes")
        known = np.isfinite(self.dual)
        (self.primal_,) = left.plot(x, self.primal, "o-", color=COLOURS[0], markersize=3.5, label="primal P")
        (self.dual_,) = left.plot(x[known], self.dual[known], "s--", color=COLOURS[1], markersize=3.5, label="dual D")
        self.between_ = left.fill_between(
            x[known], self.dual[known], self.primal[known], facecolor="none", edgecolor=PALE, hatch="////", linewidth=0.0,
            label="the optimum is in here",
        )  # fmt: skip
        level = max(abs(float(self.primal[-1])), 1e-300)
        values = np.concatenate([self.primal, self.dual[known]])
        # Values far above the last one are drawn on a scale that is logarithmic beyond it.
        if np.nanmax(np.abs(values)) > 20.0 * level:
            left.set_yscale("symlog", linthresh=2.0 * level)
        left.set(xlabel=unit, ylabel="objective")
        self._whole_passes(left)
        left.legend(loc="best")
        a, b = float(self.primal[-1]), float(self.dual[-1])
        say(left, f"the optimum lies between D = {b:.6g} and P = {a:.6g}" if math.isfinite(b) else f"P = {a:.6g}")
        self._draw_gap(right, x, unit)

    def _draw_gap(self, ax: Any, x: np.ndarray, unit: str) -> None:
        gap = self.gap
        seen = np.isfinite(gap) & (gap > self.rounding)
        (self.gap_,) = ax.plot(x[seen], gap[seen], "o-", color=INK, markersize=3.5, label="gap P − D")
        self.floor_ = self.tol_ = None
        if not seen[-1] and self.rounding > 0.0:
            (self.floor_,) = ax.plot(
                x[-1:], [self.rounding], "v", color=INK, label=f"at most its rounding, {self.rounding:.1g}"
            )
            if seen.any():
                last = np.flatnonzero(seen)[-1]
                ax.plot([x[last], x[-1]], [gap[last], self.rounding], ":", color=GREY, linewidth=1.0)
        if self.tol is not None and math.isfinite(float(self.primal[-1])):
            size = max(abs(float(self.primal[-1])), abs(float(np.nan_to_num(self.dual[-1]))))
            self.tol_ = ax.axhline(
                self.tol * size, color=GREY, linestyle="--", linewidth=1.0, label=f"tol = {self.tol:g} of P"
            )
        ax.set_yscale("log")
        ax.set(xlabel=unit, ylabel="gap P − D")
        self._whole_passes(ax)
        ax.legend(loc="best")
        say(ax, self.title)

    def _whole_passes(self, ax: Any) -> None:
        """There is no half of a pass: ticks stand at whole numbers."""
        if self.by == "passes":
            from matplotlib.ticker import MaxNLocator

            ax.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))


def _in_units(seconds: np.ndarray) -> tuple[np.ndarray, str]:
    most = float(np.nanmax(seconds)) if seconds.size else 0.0
    for factor, unit in ((1e6, "microseconds"), (1e3, "milliseconds")):
        if most * factor < 1000.0:
            return seconds * factor, unit
    return seconds, "seconds"
