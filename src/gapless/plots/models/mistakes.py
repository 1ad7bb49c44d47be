"""MistakesDisplay: how many mistakes a perceptron makes as the classes close up, beside the most it can make."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gapless._runtime.written import written
from gapless.estimators.perceptron import Perceptron
from gapless.plots.style import COLOURS, DASHES, INK, Display, say

__all__ = ["MistakesDisplay"]


@dataclass(eq=False, repr=False)
class MistakesDisplay(Display):
    """k <= (R/γ)² from a start of 0: R the longest row (x, 1), γ the margin of a direction of length 1.

    The second panel, of a perceptron with ``trace=True``, is the proof: ⟨t, θ⟩ grows by γ a mistake at least, ‖θ‖ like R√k at
    most, and the first cannot exceed the second.

    Attributes
    ----------
    ratio : γ/R, falling
    mistakes : updates that each perceptron made
    bounds : most updates that each could make
    trace : k, ⟨t, θ⟩, its least value, |θ|, its largest value
    plain_start : all from 0: the bound is (R/γ)²
    made_, bound_ : lines; along_, least_, norm_, most_ : lines of the proof, None without a trace
    """

    ratio: np.ndarray
    mistakes: np.ndarray
    bounds: np.ndarray
    trace: tuple[np.ndarray, ...] | None
    plain_start: bool

    @classmethod
    def from_models(cls, models: Sequence[Any]) -> MistakesDisplay:
        """Of fitted perceptrons of two classes whose certificates have a bound; the proof is that of the longest trace.

        ``models`` is a list.
        """
        found, trace, plain_start = [], None, True
        for model in models:
            certificate = model.certificate_
            if certificate.bound is None or len(certificate.subproblems) != 1:
                why = certificate.subproblems[0].why or "more than two classes"
                raise ValueError(f"there is no bound on the mistakes of a perceptron: {why}")
            found.append((certificate.margin / certificate.radius, certificate.mistakes, certificate.bound))
            steps = getattr(model, "trace_", None)
            if steps and (trace is None or len(steps) > len(trace[0])):
                columns = ("k", "along", "along_least", "norm", "norm_most")
                trace = tuple(np.array([getattr(step, name) for step in steps], dtype=np.float64) for name in columns)
            plain_start = (
                plain_start and abs(certificate.bound * (certificate.margin / certificate.radius) ** 2 - 1.0) < 1e-3
            )
        if not found:
            raise ValueError("there is no model to draw")
        ratio, mistakes, bounds = np.array(sorted(found, reverse=True)).T
        return cls(ratio, mistakes, bounds, trace, plain_start)

    @classmethod
    def from_gaps(
        cls, gaps: Any = (2.0, 1.0, 0.5, 0.25, 0.12, 0.06, 0.03), *, n: int = 300, d: int = 10, seed: int = 0
    ) -> MistakesDisplay:
        """Two clouds on the two sides of a hyperplane, moved together: at each gap between them, a perceptron from 0.

        ``gaps`` are distances between the clouds, which have ``n`` rows of ``d`` features, drawn by ``seed``.
        """
        random = np.random.default_rng(seed)
        wide = np.asarray(gaps, dtype=np.float64).ravel()
        if wide.size == 0 or not (wide > 0.0).all():
            raise ValueError(f"gaps are positive numbers; got {written(gaps)}")
        direction = random.normal(size=d)
        direction /= np.linalg.norm(direction)
        y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
        base = random.normal(size=(n, d))
        base -= np.outer(base @ direction, direction)
        depth = np.abs(random.normal(size=n))
        depth[:2] = 0.0  # one row of each class at the very edge of its cloud
        models = []
        for gap in sorted(wide, reverse=True):
            X = base + np.outer(y * (depth + gap / 2.0), direction)
            models.append(Perceptron(tol=None, max_iter=None, trace=True, random_state=seed).fit(X, y))
        return cls.from_models(models)

    @property
    def title(self) -> str:
        """What the picture says, in one sentence."""
        times = float(self.ratio[0] / self.ratio[-1])
        return (
            f"as γ/R falls by {times:.3g}, mistakes go from {self.mistakes[0]:,.0f} to {self.mistakes[-1]:,.0f}, the bound "
            f"from {self.bounds[0]:,.3g} to {self.bounds[-1]:,.3g}"
        )

    @property
    def _widths(self) -> tuple[float, ...]:
        return (4.6,) if self.trace is None else (4.6, 4.6)

    def _draw(self) -> None:
        ax = self.axes_[0]
        name = "bound (R/γ)²" if self.plain_start else "bound"
        (self.bound_,) = ax.plot(
            self.ratio, self.bounds, "s", color=INK, linestyle=DASHES[1], label=name, markerfacecolor="white"
        )
        (self.made_,) = ax.plot(
            self.ratio, np.maximum(self.mistakes, 0.5), "o-", color=COLOURS[0], label="mistakes made"
        )
        ax.set(xscale="log", yscale="log", xlabel="γ/R, the margin in units of the longest row", ylabel="mistakes")
        ax.invert_xaxis()
        ax.legend(loc="upper left")
        say(ax, self.title)
        self.along_ = self.least_ = self.norm_ = self.most_ = None
        if self.trace is None:
            return
        ax = self.axes_[1]
        k, along, least, norm, most = self.trace
        (self.most_,) = ax.plot(k, most, linestyle=DASHES[1], color=INK, label="R√k, |θ| at most")
        (self.norm_,) = ax.plot(k, norm, color=COLOURS[0], label="|θ| after mistake k")
        (self.along_,) = ax.plot(k, along, color=COLOURS[1], linestyle=DASHES[3], label="⟨t, θ⟩ after mistake k")
        (self.least_,) = ax.plot(k, least, linestyle=DASHES[2], color=INK, label="kγ, ⟨t, θ⟩ at least")
        ax.set(xlabel="mistake k", ylabel="length", xlim=(0.0, None), ylim=(0.0, None))
        ax.legend(loc="upper left")
        last = float(along[-1] / norm[-1])
        say(ax, f"why it ends: kγ ≤ ⟨t, θ⟩ ≤ |θ| ≤ R√k; the cosine is {last:.2f} after {int(k[-1]):,} mistakes")
