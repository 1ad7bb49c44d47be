"""CrossEntropyDisplay: H(p, q) = H(p) + KL(p, q), and the two forms of a label that have one loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit

from gapless._runtime.written import written
from gapless.plots.style import COLOURS, GREY, INK, Display, below, say
from gapless.theory.samples.information import cross_entropy, entropy, kl

__all__ = ["CrossEntropyDisplay"]


@dataclass(eq=False, repr=False)
class CrossEntropyDisplay(Display):
    """Left, the cross-entropy of a model that says q where the truth is p: what is above H(p) is KL(p, q), 0 at q = p. Right, a
    label is a truth without doubt: its cross-entropy against the score z is the logistic loss, however the label is written.

    Attributes
    ----------
    p : the true probability
    q : a model that is pointed at
    shares : the q of the curve
    cross : H(p, q) at each of ``shares``
    z : scores of the right panel
    cross_, entropy_, divergence_ : of the left panel; labels_ : dictionary label -> line; slopes_ : the same of the slopes
    """

    p: float
    q: float
    shares: np.ndarray
    cross: np.ndarray
    z: np.ndarray
    _widths = (4.8, 5.2)
    _height = 4.2

    @classmethod
    def from_probability(cls, p: float = 0.3, q: float = 0.65, *, points: int = 401) -> CrossEntropyDisplay:
        """Of a truth p, the probability of one of two outcomes, and of a model q that is pointed at.

        Parameters
        ----------
        p, q : floats in [0, 1], q in (0, 1)
        points : how many q the curve has
        """
        entropy(p)  # refuses what is no probability
        if not 0.0 < q < 1.0:
            raise ValueError(f"q must be a float in the range (0.0, 1.0); got {written(q)}")
        shares = np.linspace(0.004, 0.996, points)
        both = np.stack([1.0 - shares, shares], axis=-1)
        return cls(float(p), float(q), shares, cross_entropy([1.0 - p, p], both), np.linspace(-5.0, 5.0, points))

    @property
    def title(self) -> str:
        """The identity, with its numbers."""
        whole, own, more = (f"{x:.3f}" for x in (cross_entropy(self.p, self.q), entropy(self.p), kl(self.p, self.q)))
        return f"p = {self.p:g}, q = {self.q:g}: H(p, q) = {whole} = H(p) {own} + KL(p, q) {more} nats"

    def _draw(self) -> None:
        left, right = self.axes_
        own, at = entropy(self.p), cross_entropy(self.p, self.q)
        left.fill_between(self.shares, own, self.cross, color=COLOURS[4], alpha=0.25, linewidth=0.0)
        (self.cross_,) = left.plot(self.shares, self.cross, color=COLOURS[0], label="H(p, q)")
        self.entropy_ = left.axhline(own, color=INK, linestyle="--", linewidth=1.2, label=f"H(p) = {own:.3f}")
        (self.divergence_,) = left.plot(
            [self.q, self.q], [own, at], color=COLOURS[5], linewidth=2.0, marker="o", markersize=4, label="KL(p, q)"
        )
        left.axvline(self.p, color=GREY, linewidth=0.8, linestyle=":")
        left.annotate(f"q = p = {self.p:g}", (self.p, own), (4, -12), textcoords="offset points", fontsize=8, color=INK)
        left.set(xlabel="q, what the model says", ylabel="nats", xlim=(0.0, 1.0))
        left.set_ylim(0.0, float(min(self.cross.max(), 3.0 * max(own, at, 0.4))))
        below(left, columns=3)
        say(left, self.title)
        self.labels_: dict[str, Any] = {}
        self.slopes_: dict[str, Any] = {}
        q = np.stack([expit(-self.z), expit(self.z)], axis=-1)
        for k, (t, y, sign) in enumerate(((1, "+1", "−"), (0, "−1", "+"))):
            colour = COLOURS[(0, 5)[k]]
            told = f"t = {t} or y = {y}: ln(1 + e^({sign}z))"
            (self.labels_[told],) = right.plot(self.z, cross_entropy(np.eye(2)[t], q), color=colour, label=told)
            (self.slopes_[told],) = right.plot(
                self.z, q[:, 1] - t, color=colour, linestyle=":", label=f"its slope, q − {t}" if t else "its slope, q"
            )
        right.axhline(0.0, color=INK, linewidth=0.5, zorder=0.5)
        right.axvline(0.0, color=INK, linewidth=0.5, zorder=0.5)
        right.set(xlabel="score z, q = 1/(1 + e^(−z))", ylabel="cross-entropy of the label")
        below(right, columns=2)
        say(right, "a label, 0/1 or ±1, has one loss and one gradient")
