"""TradeoffDisplay: E_in falls, Omega grows, and their sum has a lowest point."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gapless.plots.style import COLOURS, DASHES, INK, PALE, Display, say
from gapless.theory.generalisation.vc import Tradeoff

__all__ = ["TradeoffDisplay"]


@dataclass(eq=False, repr=False)
class TradeoffDisplay(Display):
    """E_in, Omega and E_in + Omega against the VC dimension, with the dimension of the lowest sum.

    Attributes
    ----------
    tradeoff : what `theory.vc.tradeoff` returned
    e_in_, penalty_, total_, best_ : artists
    """

    tradeoff: Tradeoff
    _widths = (5.2,)

    @classmethod
    def from_tradeoff(cls, tradeoff: Tradeoff) -> TradeoffDisplay:
        """Of what ``theory.vc.tradeoff`` returned. ``tradeoff`` is a `Tradeoff`."""
        return cls(tradeoff)

    @property
    def title(self) -> str:
        """What the picture says, in one sentence."""
        t = self.tradeoff
        lowest = float(t.total.min())
        said = f"E_in + Ω is lowest at d_VC = {t.best}: {lowest:.3g}, with {t.n:,} rows and δ = {t.delta:g}"
        return said + (" (vacuous: 1 or more)" if lowest >= 1.0 else "")

    def _draw(self) -> None:
        ax, t = self.ax_, self.tradeoff
        order = np.argsort(t.dimensions, kind="stable")
        d = t.dimensions[order]
        look: tuple[tuple[str, Any, str, str, Any, str], ...] = (
            ("total", t.total, "$E_{in} + \\Omega$", COLOURS[0], DASHES[0], "o"),
            ("penalty", t.penalty, "$\\Omega$ (the price of the class)", COLOURS[5], DASHES[2], "^"),
            ("e_in", t.e_in, "$E_{in}$", COLOURS[1], DASHES[1], "s"),
        )
        for name, values, label, colour, dash, marker in look:
            (line,) = ax.plot(d, values[order], color=colour, linestyle=dash, marker=marker, markersize=4, label=label)
            setattr(self, f"{name}_", line)
        self.best_ = ax.axvline(t.best, color=INK, linewidth=0.8, linestyle=":")
        if t.total.max() >= 1.0:
            ax.axhline(1.0, color=PALE, linewidth=1.2, label="1: nothing is said")
        ax.set(xlabel="VC dimension", ylabel="error", ylim=(0.0, None))
        ax.legend(loc="best")
        say(ax, self.title)
