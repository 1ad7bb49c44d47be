"""BoostingDisplay: the training error under its bound, the edge of every round, and the margins of the vote."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gapless.plots.style import COLOURS, DASHES, GREY, INK, Display, say

__all__ = ["BoostingDisplay"]


@dataclass(eq=False, repr=False)
class BoostingDisplay(Display):
    """Round by round: the error of the vote is at most Z_1 ... Z_t; an edge is what a round's learner is better than guessing.

    The third panel, where rows are given, is the share of them with a margin up to each value: after a few rounds, half of
    them, and all. A margin is y times the weighted vote over the sum of the weights, negative for a mistake.

    Attributes
    ----------
    training : error of the vote after each round
    bounds : prod Z
    edges : 1 - 1/K less the weighted error of the round
    test : error on test rows after each round, None without test rows
    stages : rounds after which margins are shown
    margins : (stages, n), sorted
    best_margin : no combination of these stumps has a larger smallest margin
    name : its name
    training_, bound_, test_ (or None), edges_, smallest_, margins_ (a list), guarantee_ : artists
    """

    training: np.ndarray
    bounds: np.ndarray
    edges: np.ndarray
    test: np.ndarray | None
    stages: tuple[int, ...]
    margins: np.ndarray | None
    best_margin: float | None
    name: str
    _height = 3.5

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any = None, y: Any = None, *, X_test: Any = None, y_test: Any = None, stages: Any = None
    ) -> BoostingDisplay:
        """Of a fitted AdaBoostClassifier.

        Parameters
        ----------
        estimator : fitted AdaBoostClassifier
        X, y : the training rows, for their margins (two classes)
        X_test, y_test : other rows, for the error of the vote on them after each round
        stages : rounds after which margins are shown; None: a few, half of them, all
        """
        # Late: it loads scikit-learn and numba, 1.1 s, which the process that draws the pictures of a page does not need.
        from gapless.certificates.verify import last_step

        model, _ = last_step(estimator, None)
        certificate = getattr(model, "certificate_", None)
        if certificate is None or not hasattr(certificate, "factors"):
            raise ValueError(
                f"{type(model).__name__} has no certificate of boosting: this is for a fitted AdaBoostClassifier"
            )
        T, K = certificate.errors.size, len(model.classes_)
        edges = 1.0 - 1.0 / K - certificate.errors
        test = margins = None
        if X_test is not None:
            truth = np.asarray(y_test).ravel()
            _, rows = last_step(estimator, X_test)
            test = np.array([float(np.mean(found != truth)) for found in model.staged_predict(rows)])
        shown = tuple(sorted({min(5, T), max(1, T // 2), T} if stages is None else {int(t) for t in stages}))
        if shown[0] < 1 or shown[-1] > T:
            raise ValueError(f"stages lie between 1 and {T}; got {shown}")
        if X is not None:
            if K != 2:
                raise ValueError(f"margins of the vote are those of two classes; there are {K}: leave X and y out")
            sign = np.where(np.asarray(y).ravel() == model.classes_[1], 1.0, -1.0)
            _, rows = last_step(estimator, X)
            wanted = set(shown)
            margins = np.array(
                [np.sort(sign * f / 2.0) for t, f in enumerate(model.staged_decision_function(rows), 1) if t in wanted]
            )
        best = None if certificate.bracket is None else certificate.bracket[1]
        return cls(certificate.training, certificate.bounds, edges, test, shown, margins, best, type(model).__name__)

    @property
    def title(self) -> str:
        """What the picture says, in one sentence."""
        T, last, bound = self.training.size, float(self.training[-1]), float(self.bounds[-1])
        said = f"{self.name}: after {T:,} rounds {100 * last:.3g} % of the training rows are wrong, at most {100 * bound:.3g} %"
        clean = np.flatnonzero(self.training == 0.0)
        if last == 0.0:
            said = f"{self.name}: no training row is wrong from round {int(clean[0]) + 1:,} on; the bound ends at {bound:.2g}"
        return said + ("" if self.test is None else f"; {100 * float(self.test[-1]):.3g} % of the test rows")

    @property
    def _widths(self) -> tuple[float, ...]:
        return (4.2, 3.6) if self.margins is None else (4.2, 3.6, 3.9)

    def _draw(self) -> None:
        rounds = np.arange(1, self.training.size + 1)
        ax = self.axes_[0]
        (self.bound_,) = ax.step(
            rounds, self.bounds, where="post", color=GREY, linestyle=DASHES[1], label="bound $Z_1 ⋯ Z_t$"
        )
        (self.training_,) = ax.step(rounds, self.training, where="post", color=COLOURS[0], label="training error")
        self.test_ = None
        if self.test is not None:
            (self.test_,) = ax.step(
                rounds, self.test, where="post", color=COLOURS[1], linestyle=DASHES[3], label="test error"
            )
        ax.set(xlabel="round", ylabel="share of rows that are wrong", ylim=(0.0, None), xlim=(1, max(2, rounds[-1])))
        ax.legend(loc="upper right")
        say(ax, self.title)
        ax = self.axes_[1]
        (self.edges_,) = ax.plot(rounds, self.edges, ".", color=COLOURS[0], markersize=4)
        smallest = float(self.edges.min())
        self.smallest_ = ax.axhline(
            smallest, color=INK, linestyle="--", linewidth=1.0, label=f"smallest: {smallest:.3g}"
        )
        ax.set(
            xlabel="round",
            ylabel="edge over guessing",
            ylim=(min(0.0, 1.1 * smallest), None),
            xlim=(0, max(2, rounds[-1] + 1)),
        )
        ax.legend(loc="upper right")
        say(ax, f"edges from {float(self.edges[0]):.3g} in round 1 to {float(self.edges[-1]):.3g} in the last")
        self.margins_: list[Any] = []
        self.guarantee_ = None
        if self.margins is not None:
            self._draw_margins(self.axes_[2])

    def _draw_margins(self, ax: Any) -> None:
        assert self.margins is not None
        n = self.margins.shape[1]
        shares = np.arange(1, n + 1) / n
        for k, (t, line) in enumerate(zip(self.stages, self.margins)):
            dash = DASHES[len(self.stages) - 1 - k] if len(self.stages) <= len(DASHES) else "-"
            colour = (GREY, COLOURS[1], COLOURS[0])[max(0, 3 - len(self.stages) + k) % 3]
            self.margins_ += ax.step(line, shares, where="post", linestyle=dash, color=colour, label=f"after {t:,}")
        low = float(self.margins[-1, 0])
        if self.best_margin is not None:
            self.guarantee_ = ax.axvline(
                self.best_margin, color=INK, linewidth=0.9, linestyle=":", label=f"smallest ≤ {self.best_margin:.3g}"
            )
        ax.axvline(0.0, color=GREY, linewidth=0.8)
        ax.set(
            xlabel="margin of the vote", ylabel="share of rows with at most this", ylim=(0.0, 1.02), xlim=(-1.0, 1.0)
        )
        ax.legend(loc="upper left")
        say(ax, f"the smallest margin ends at {low:.3g}, the median at {float(np.median(self.margins[-1])):.3g}")
