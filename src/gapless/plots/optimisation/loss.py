"""LossDisplay: the losses of `gapless.losses`, their slopes and conjugates."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gapless import losses
from gapless._runtime.written import written
from gapless.plots.style import COLOURS, DASHES, GREY, INK, Display, below, say

__all__ = ["LossDisplay"]


@dataclass(eq=False, repr=False)
class LossDisplay(Display):
    """Four panels: the losses of a margin against yz, beside the 0-1 loss; their slopes; their conjugates where these are finite;
    and the losses of a residual. Softmax of two scores is the logistic loss of their difference.

    Attributes
    ----------
    margin : losses of the margin yz, drawn at y = +1, in the order of the legend
    residual : losses of the residual, drawn at y = 0
    z : margins or residuals of the curves
    v : arguments of the conjugates
    values_, slopes_, conjugates_, residuals_ : dictionaries name -> line; error_ : the 0-1 loss
    """

    margin: tuple[Any, ...] = (
        losses.Perceptron(), losses.Hinge(), losses.SquaredHinge(), losses.Logistic(), losses.Exponential(), losses.Squared(),
    )  # fmt: skip
    residual: tuple[Any, ...] = (losses.Squared(), losses.EpsilonInsensitive(0.5))
    z: np.ndarray = field(default_factory=lambda: np.linspace(-2.5, 2.5, 1001))
    v: np.ndarray = field(default_factory=lambda: np.linspace(-2.5, 1.5, 1601))
    _widths = (4.3, 3.4, 3.4, 3.4)
    _height = 4.4

    @classmethod
    def from_losses(cls, margin: Any = None, residual: Any = None, *, reach: float = 2.5) -> LossDisplay:
        """Of all losses, or of those given.

        Parameters
        ----------
        margin : losses of labels -1 and +1, drawn at y = +1; None: all of them, and the squared loss beside them
        residual : losses of a number y, drawn at y = 0; None: the squared and the epsilon-insensitive one
        reach : how far the scores go to either side
        """
        if not 0.0 < reach < np.inf:
            raise ValueError(f"reach must be a float in the range (0.0, inf); got {written(reach)}")
        chosen = tuple(cls.margin if margin is None else margin)
        others = tuple(cls.residual if residual is None else residual)
        for loss in (*chosen, *others):
            if not getattr(loss, "one_score", True) or not callable(getattr(loss, "conjugate", None)):
                raise ValueError(f"a loss of one score is drawn, of gapless.losses; got {written(loss)}")
        return cls(chosen, others, np.linspace(-reach, reach, 1001), np.linspace(-2.5, 1.5, 1601))

    @property
    def title(self) -> str:
        """What the picture says, in one sentence."""
        return "what a score costs at y = +1; the step is the 0-1 loss"

    def _draw(self) -> None:
        first, second, third, fourth = self.axes_
        self.values_, self.slopes_, self.conjugates_, self.residuals_ = {}, {}, {}, {}
        self.error_ = first.plot(self.z, np.where(self.z <= 0.0, 1.0, 0.0), color=GREY, linewidth=3.0, alpha=0.5)[0]
        for k, loss in enumerate(self.margin):
            name, look = _name(loss), _look(k)
            (self.values_[name],) = first.plot(self.z, loss.value(self.z, 1.0), label=name, **look)
            (self.slopes_[name],) = second.plot(self.z, _broken(loss.slope(self.z, 1.0)), **look)
            conjugate = loss.conjugate(self.v, 1.0)
            (self.conjugates_[name],) = third.plot(self.v, np.where(np.isfinite(conjugate), conjugate, np.nan), **look)
        for k, loss in enumerate(self.residual):
            line = next((j for j, other in enumerate(self.margin) if other == loss), None)
            look = (
                {"color": INK, "linestyle": DASHES[k % len(DASHES)], "linewidth": 1.6} if line is None else _look(line)
            )
            (self.residuals_[_name(loss)],) = fourth.plot(self.z, loss.value(self.z, 0.0), label=_name(loss), **look)
        first.set(xlabel="score z (margin yz)", ylabel="loss", ylim=(-0.1, 4.0))
        second.set(xlabel="score z (margin yz)", ylabel="slope in z", ylim=(-4.0, 1.6))
        third.set(xlabel="v", ylabel="conjugate, sup over z of vz − loss", ylim=(-1.3, 2.0))
        fourth.set(xlabel="residual z − y", ylabel="loss", ylim=(-0.1, 3.2))
        for ax in self.axes_:
            ax.axhline(0.0, color=INK, linewidth=0.5, zorder=0.5)
            ax.axvline(0.0, color=INK, linewidth=0.5, zorder=0.5)
        below(first, columns=2)
        below(fourth, columns=1)
        say(first, self.title)
        say(second, "slopes: a jump is a kink, which has no curvature")
        say(third, "conjugates: where no line is, it is infinite")
        say(fourth, "losses of a residual")


def _name(loss: Any) -> str:
    epsilon = getattr(loss, "epsilon", None)
    return type(loss).__name__ if epsilon is None else f"{type(loss).__name__}({epsilon:g})"


def _look(k: int) -> dict[str, Any]:
    return {"color": COLOURS[k % len(COLOURS)], "linestyle": DASHES[k % len(DASHES)], "linewidth": 1.6}


def _broken(slope: np.ndarray) -> np.ndarray:
    """The line is not drawn across a jump."""
    out = slope.copy()
    out[1:][np.abs(np.diff(slope)) > 0.5] = np.nan
    return out
