"""CrudeBoundDisplay: N^d e^(-N), the shape of the VC bound without its constants."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gapless.plots.style import COLOURS, DASHES, GREY, INK, Display, beside, say
from gapless.theory.generalisation.vc import crude, crude_sample_size

__all__ = ["CrudeBoundDisplay"]


@dataclass(eq=False, repr=False)
class CrudeBoundDisplay(Display):
    """Left, N^d e^(-N) for several d: a power that rises until N = d, and an exponential that wins. Right, the N at which it has
    fallen to a value, against d: nearly a line, beside the rule of thumb 10 d.

    Attributes
    ----------
    dimensions : d of each curve
    value : what N^d e^(-N) is to fall to
    sizes : the N > d at which each curve has fallen to it
    curves_ : dictionary d -> line; level_, sizes_, thumb_ : artists
    """

    dimensions: tuple[int, ...]
    value: float
    sizes: np.ndarray
    _widths = (5.6, 4.2)

    @classmethod
    def from_dimensions(
        cls, dimensions: Sequence[int] = (2, 4, 5, 10, 15, 20, 25, 30), value: float = 0.05
    ) -> CrudeBoundDisplay:
        """Solve N^d e^(-N) = ``value`` for each of the ``dimensions``."""
        if not len(dimensions):
            raise ValueError("dimensions must hold at least one VC dimension")
        d = tuple(sorted({int(k) for k in dimensions}))
        return cls(d, float(value), np.array([crude_sample_size(value, k) for k in d]))

    @property
    def title(self) -> str:
        """What the picture says, in one sentence."""
        first, last = self.dimensions[0], self.dimensions[-1]
        return (
            f"$N^d e^{{-N}}$ = {self.value:g} at N = {self.sizes[0]:.3g} for d = {first}, and at N = {self.sizes[-1]:.3g} for "
            f"d = {last}"
        )

    def _draw(self) -> None:
        left, right = self.axes_
        N = np.geomspace(1.0, 1.3 * float(self.sizes.max()) + 10.0, 400)
        tens = np.log(10.0)
        self.curves_ = {}
        for k, d in enumerate(self.dimensions):
            height = np.array([crude(n, d) for n in N]) / tens
            (self.curves_[d],) = left.plot(
                N, height, color=COLOURS[k % 6], linestyle=DASHES[(k + k // 6) % 6], linewidth=1.4, label=f"d = {d}"
            )
        self.level_ = left.axhline(np.log(self.value) / tens, color=INK, linewidth=0.9, label=f"{self.value:g}")
        top = max(float(line.get_ydata().max()) for line in self.curves_.values())
        left.set(
            xlabel="N",
            ylabel="$\\log_{10}(N^d e^{-N})$",
            ylim=(min(-5.0, np.log(self.value) / tens - 5.0), 1.05 * top + 1.0),
        )
        beside(left)
        say(left, self.title)
        (self.sizes_,) = right.plot(
            self.dimensions, self.sizes, "o-", color=COLOURS[0], label=f"N with $N^d e^{{-N}}$ = {self.value:g}"
        )
        (self.thumb_,) = right.plot(
            self.dimensions,
            10.0 * np.array(self.dimensions),
            color=GREY,
            linestyle=DASHES[1],
            label="10 d, the rule of thumb",
        )
        right.set(xlabel="d", ylabel="N", xlim=(0.0, None), ylim=(0.0, None))
        right.legend(loc="upper left")
        say(right, "N grows nearly in proportion to d")
