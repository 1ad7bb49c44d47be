"""ReliabilityDisplay: whether what is called p per cent happens p per cent of the time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from gapless._runtime.results import result
from gapless._runtime.written import written
from gapless.plots.plane import ask
from gapless.plots.style import COLOURS, DASHES, GREY, MARKERS, Display, plain, say
from gapless.theory.samples.hoeffding import clopper_pearson

__all__ = ["Bins", "ReliabilityDisplay"]


@result
@dataclass(frozen=True, eq=False)
class Bins:
    """Rows grouped by their probability: how many, its mean, how many are positive, and the exact interval of their share.

    Attributes
    ----------
    edges : ends of the groups
    n : rows of each group
    mean : mean probability of each group
    positive : positive rows of each group
    low : lower end of the exact interval of each share
    high : upper end of the exact interval of each share
    histogram : rows in twentieths of the range from 0 to 1, where these are known
    """

    edges: np.ndarray
    n: np.ndarray
    mean: np.ndarray
    positive: np.ndarray
    low: np.ndarray
    high: np.ndarray
    histogram: np.ndarray | None = None

    @property
    def share(self) -> np.ndarray:
        """Share of positive rows of each group."""
        return self.positive / self.n

    @property
    def error(self) -> float:
        """The mean distance of share and mean probability, over rows."""
        return float(self.n @ np.abs(self.share - self.mean) / self.n.sum())

    @property
    def outside(self) -> int:
        """Groups whose interval does not have the mean probability in it."""
        return int(((self.mean < self.low) | (self.mean > self.high)).sum())

    def __str__(self) -> str:
        return f"{int(self.n.sum()):,} rows in {self.n.size} groups: probability and share differ by {self.error:.4g} on average"


@dataclass(eq=False, repr=False)
class ReliabilityDisplay(Display):
    """The share of positive rows against the probability given, group by group, with exact intervals (each at 1 - delta);
    below the diagonal a model promises too much. The second panel counts the rows.

    Attributes
    ----------
    groups : name -> `Bins`
    delta : probability with which the statement may fail
    what : whose probability is drawn
    together : delta is that of all intervals of a curve together
    curves_ : dictionary name -> error bars; diagonal_ ; counts_ : dictionary name -> steps
    """

    groups: dict[str, Bins]
    delta: float
    what: str
    together: bool = False
    _widths = (5.0, 3.4)
    _height = 4.2

    @classmethod
    def from_predictions(
        cls, y: Any, p: Any, *, positive: Any = None, bins: int = 10, strategy: str = "quantile", delta: float = 0.05
    ) -> ReliabilityDisplay:
        """Of labels and the probabilities of the positive class: an array, or a dictionary of them by name.

        ``bins`` groups of equally many rows; each interval fails with probability ``delta``.

        Parameters
        ----------
        positive : the class whose probability p is; None: the second of y in order
        strategy : "quantile", as many rows in each group, or "uniform", groups of the same width
        """
        truth = np.asarray(y).ravel()
        classes = np.unique(truth)
        if positive is None:
            if classes.size > 2:
                raise ValueError(f"y has {classes.size} classes: say whose probability p is, positive=")
            positive = classes[-1]
        named = p if isinstance(p, Mapping) else {"probabilities": p}
        hit = truth == positive
        found = {
            plain(name): _bins(hit, np.asarray(one, dtype=np.float64).ravel(), bins, strategy, delta)
            for name, one in named.items()
        }
        return cls(found, float(delta), plain(positive))

    @classmethod
    def from_reliability(cls, found: Any, *, what: str = "the class") -> ReliabilityDisplay:
        """Of what ``reliability`` of a calibrated model returned, or of a dictionary of them by name.

        ``found`` is a `Reliability`.
        """
        named = found if isinstance(found, Mapping) else {"probabilities": found}
        groups, delta = {}, 0.05
        for name, one in named.items():
            seen = one.observed
            low, high = np.array([i.low for i in seen]), np.array([i.high for i in seen])
            positive = np.array([i.errors for i in seen])
            groups[plain(name)] = Bins(
                np.asarray(one.edges), np.asarray(one.counts), np.asarray(one.predicted), positive, low, high
            )
            delta = float(one.delta)
        return cls(groups, delta, plain(what), together=True)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, positive: Any = None, **options: Any
    ) -> ReliabilityDisplay:
        """Of a fitted classifier with ``predict_proba``, or of a dictionary of them by name, on rows that it did not see.

        ``estimator`` is fitted; ``positive`` is the class whose probability is drawn; ``options`` are those of
        ``from_predictions``.
        """
        named = estimator if isinstance(estimator, Mapping) else {type(estimator).__name__: estimator}
        given, chosen = {}, positive
        for name, model in named.items():
            if not hasattr(model, "predict_proba"):
                raise TypeError(f"{type(model).__name__} has no probabilities; calibrate it first")
            classes = np.asarray(model.classes_).tolist()
            if chosen is None:
                if len(classes) > 2:
                    raise ValueError(f"there are {len(classes)} classes: say which, positive=one of {classes}")
                chosen = classes[1]
            given[name] = ask(model, "predict_proba", X)[:, classes.index(chosen)]
        return cls.from_predictions(y, given, positive=chosen, **options)

    @property
    def title(self) -> str:
        """What the picture says, in one sentence."""
        said = [
            f"{name}: off by {bins.error:.3g} in the mean, {bins.outside} of {bins.n.size} groups outside their interval"
            for name, bins in self.groups.items()
        ]
        return "\n".join(said)

    def _draw(self) -> None:
        ax, right = self.axes_
        (self.diagonal_,) = ax.plot([0.0, 1.0], [0.0, 1.0], color=GREY, linewidth=1.0, label="as promised")
        self.curves_, self.counts_ = {}, {}
        for k, (name, bins) in enumerate(self.groups.items()):
            share = bins.share
            self.curves_[name] = ax.errorbar(
                bins.mean, share, yerr=[share - bins.low, bins.high - share], marker=MARKERS[k % 6], linestyle=DASHES[k % 6],
                color=COLOURS[k % 6], capsize=2.5, elinewidth=0.9, linewidth=1.2, markersize=5, label=name,
            )  # fmt: skip
            rows = (
                (bins.n, bins.edges)
                if bins.histogram is None
                else (bins.histogram, np.linspace(0.0, 1.0, len(bins.histogram) + 1))
            )
            self.counts_[name] = right.stairs(*rows, color=COLOURS[k % 6], linestyle=DASHES[k % 6], linewidth=1.4)
        ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), xlabel=f"probability of {self.what}, mean of the group")
        ax.set_ylabel(f"share of {self.what}")
        ax.legend(loc="upper left")
        say(ax, self.title)
        right.set(xlabel="probability", ylabel="rows in a twentieth", xlim=(0.0, 1.0), ylim=(0.0, None))
        n = int(next(iter(self.groups.values())).n.sum())
        say(right, f"{n:,} rows; exact intervals at {1 - self.delta:g} {'together' if self.together else 'each'}")


def _bins(hit: np.ndarray, p: np.ndarray, bins: int, strategy: str, delta: float) -> Bins:
    if p.shape != hit.shape or p.size == 0:
        raise ValueError(f"there are {hit.size} labels and {p.size} probabilities")
    if not ((p >= 0.0) & (p <= 1.0)).all():
        raise ValueError("probabilities lie between 0 and 1")
    if int(bins) < 1:
        raise ValueError(f"bins must be at least 1; got {written(bins)}")
    if strategy == "quantile":
        edges = np.unique(np.concatenate([[0.0], np.quantile(p, np.linspace(0.0, 1.0, int(bins) + 1))[1:-1], [1.0]]))
    elif strategy == "uniform":
        edges = np.linspace(0.0, 1.0, int(bins) + 1)
    else:
        raise ValueError(f'strategy is "quantile" or "uniform"; got {written(strategy)}')
    at = np.clip(np.searchsorted(edges, p, side="right") - 1, 0, edges.size - 2)
    n = np.bincount(at, minlength=edges.size - 1)
    kept = n > 0
    if not kept.all():  # an empty group joins the one before it, the first ones the first that is not
        edges = np.append(edges[:-1][kept], 1.0)
        edges[0] = 0.0
    return _grouped(hit, p, edges, delta)


def _grouped(hit: np.ndarray, p: np.ndarray, edges: np.ndarray, delta: float) -> Bins:
    at = np.clip(np.searchsorted(edges, p, side="right") - 1, 0, edges.size - 2)
    n = np.bincount(at, minlength=edges.size - 1)
    positive = np.bincount(at, weights=hit, minlength=edges.size - 1).astype(np.int64)
    mean = np.bincount(at, weights=p, minlength=edges.size - 1) / n
    found = [clopper_pearson(int(k), int(m), delta) for k, m in zip(positive, n)]
    histogram, _ = np.histogram(p, bins=20, range=(0.0, 1.0))
    low, high = np.array([i.low for i in found]), np.array([i.high for i in found])
    return Bins(edges, n, mean, positive, low, high, histogram)
