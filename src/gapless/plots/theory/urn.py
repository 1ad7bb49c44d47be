"""UrnDisplay: the distribution of a frequency over many draws from one urn."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gapless.plots.style import COLOURS, DASHES, GREY, INK, Display, say
from gapless.theory.samples.urn import Urn

__all__ = ["UrnDisplay"]


@dataclass(eq=False, repr=False)
class UrnDisplay(Display):
    """The red share nu of many draws from one urn: how often each value came, the binomial, the normal curve of the central
    limit, and the draws that are further than epsilon from mu.

    Attributes
    ----------
    urn : what `theory.hoeffding.urn` returned
    bars_, far_, binomial_, normal_, ends_ : artists
    """

    urn: Urn
    _widths = (5.6,)

    @classmethod
    def from_urn(cls, urn: Urn) -> UrnDisplay:
        """Of what ``theory.hoeffding.urn`` returned. ``urn`` is an `Urn`."""
        return cls(urn)

    @property
    def title(self) -> str:
        """What the picture says, in one sentence."""
        u = self.urn
        return (
            f"{100 * u.seen:.3g} % of {u.draws:,} draws are further than {u.epsilon:g} from μ = {u.mu:g}; "
            f"binomial {100 * u.exact:.3g} %, Hoeffding at most {100 * min(1.0, u.hoeffding):.3g} %"
        )

    def _draw(self) -> None:
        from scipy.special import gammaln, xlog1py, xlogy

        ax, u = self.ax_, self.urn
        red = np.rint(u.nu * u.n).astype(np.int64)
        spread = np.sqrt(u.mu * (1.0 - u.mu) / u.n)
        reach = max(4.5 * spread, 1.3 * u.epsilon)
        first, last = max(0, int(np.floor(u.n * (u.mu - reach)))), min(u.n, int(np.ceil(u.n * (u.mu + reach))))
        step = max(1, (last - first) // 120)  # marbles of one bar
        edges = np.arange(first, last + step + 1, step)
        counts = np.histogram(red, edges - 0.5)[0]
        middles = (edges[:-1] + 0.5 * (step - 1)) / u.n
        far = np.abs(middles - u.mu) > u.epsilon * (1.0 + 1e-12)
        look = {"width": 0.9 * step / u.n, "linewidth": 0.6}
        shares = counts / u.draws
        self.bars_ = ax.bar(middles[~far], shares[~far], color=COLOURS[4], edgecolor=COLOURS[0], label="drawn", **look)
        self.far_ = ax.bar(
            middles[far], shares[far], color="white", edgecolor=COLOURS[5], hatch="////", label="drawn, too far", **look
        )
        k = np.arange(first, last + 1)
        log_p = gammaln(u.n + 1) - gammaln(k + 1) - gammaln(u.n - k + 1) + xlogy(k, u.mu) + xlog1py(u.n - k, -u.mu)
        (self.binomial_,) = ax.plot(k / u.n, step * np.exp(log_p), ".", color=INK, markersize=3.5, label="binomial")
        self.normal_ = None
        if spread > 0.0:
            grid = np.linspace(k[0] / u.n, k[-1] / u.n, 300)
            curve = step / u.n * np.exp(-0.5 * ((grid - u.mu) / spread) ** 2) / (spread * np.sqrt(2.0 * np.pi))
            (self.normal_,) = ax.plot(grid, curve, color=GREY, linestyle=DASHES[1], label="normal")
        self.ends_ = [
            ax.axvline(u.mu + s * u.epsilon, color=INK, linestyle=DASHES[2], linewidth=1.0) for s in (-1.0, 1.0)
        ]
        self.ends_[0].set_label("μ ± ε")
        ax.set(xlabel=f"red share ν of {u.n:,} marbles", ylabel="share of the draws")
        ax.legend(loc="upper left" if u.mu >= 0.5 else "upper right")
        say(ax, self.title)
