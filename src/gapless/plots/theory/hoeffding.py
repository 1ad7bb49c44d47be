"""HoeffdingDisplay: how often a frequency is far from its probability, against n: drawn, exact, and at most."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gapless.plots.style import COLOURS, DASHES, GREY, INK, Display, say
from gapless.theory.samples.urn import Urn, urn

__all__ = ["HoeffdingDisplay"]


@dataclass(eq=False, repr=False)
class HoeffdingDisplay(Display):
    """P(|nu - mu| > epsilon) against the marbles of a draw: Hoeffding's bound, the binomial, and the simulation.

    Attributes
    ----------
    urns : an `Urn` for each n, rising
    bound_, exact_, seen_ : artists
    """

    urns: tuple[Urn, ...]
    _widths = (5.2,)

    @classmethod
    def from_simulation(
        cls,
        mu: float = 0.5,
        epsilon: float = 0.1,
        sizes: Sequence[int] | None = None,
        draws: int = 20_000,
        seed: int = 0,
    ) -> HoeffdingDisplay:
        """Draw from the urn at each size.

        Parameters
        ----------
        mu : share of red marbles
        epsilon : distance of nu and mu that is asked about
        sizes : marbles of a draw; None: sizes up to that at which the bound is 0.001
        draws : draws at each size
        seed : number that all random draws follow from
        """
        if sizes is None:
            last = np.log(2000.0) / (2.0 * float(epsilon) ** 2)
            sizes = np.unique(np.linspace(max(2.0, last / 24.0), max(last, 24.0), 24).round().astype(int)).tolist()
        if not len(sizes):
            raise ValueError("sizes must hold at least one number of marbles")
        return cls(tuple(urn(mu, n, epsilon, draws, seed + k) for k, n in enumerate(sorted(sizes))))

    @property
    def n(self) -> np.ndarray:
        """Marbles of a draw."""
        return np.array([each.n for each in self.urns])

    @property
    def title(self) -> str:
        """What the picture says, in one sentence."""
        last = self.urns[-1]
        return (
            f"|ν − {last.mu:g}| > {last.epsilon:g}: at n = {last.n:,} Hoeffding allows {last.hoeffding:.2g}, the binomial has "
            f"{last.exact:.2g}"
        )

    def _draw(self) -> None:
        ax, n = self.ax_, self.n
        bound = np.minimum([each.hoeffding for each in self.urns], 1.0)
        seen = np.array([each.seen for each in self.urns])
        exact = np.array([each.exact for each in self.urns])
        (self.bound_,) = ax.plot(n, bound, color=COLOURS[0], label="Hoeffding: 2 exp(−2ε²n), at most 1")
        (self.exact_,) = ax.plot(n, exact, color=GREY, linestyle=DASHES[1], label="exact binomial")
        drawn = np.where(seen > 0.0, seen, np.nan)  # a logarithmic axis has no 0
        half = 2.0 * np.array([each.error for each in self.urns])
        low = np.minimum(half, 0.999 * seen)
        self.seen_ = ax.errorbar(
            n, drawn, [low, half], fmt="o", color=COLOURS[1], ecolor=INK, elinewidth=0.8, capsize=2, markersize=4,
            label=f"{self.urns[0].draws:,} draws, ± 2 standard errors",
        )  # fmt: skip
        lowest = min([*exact[exact > 0.0], *seen[seen > 0.0], *bound])
        ax.set(yscale="log", xlabel="marbles of a draw n", ylabel="P(|ν − μ| > ε)", ylim=(lowest / 4.0, 2.0))
        ax.legend(loc="lower left")
        say(ax, self.title)
