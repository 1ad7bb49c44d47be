"""GaussianDisplay: the ellipses of Gaussian classes and the boundary of Bayes' rule between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gapless._runtime.written import counted
from gapless.plots.plane import _pair, dense, grid, names_of, segment, window
from gapless.plots.style import COLOURS, DASHES, INK, MARKERS, Display, beside, plain, say, short

__all__ = ["GaussianDisplay"]


@dataclass(eq=False, repr=False)
class GaussianDisplay(Display):
    """Two features: the ellipses at 1 and 2 standard deviations, and where the most probable class changes.

    With one covariance the boundary is a line, with one for each class a conic. Of more than two features the two named ones
    are drawn: the marginals are Gaussian too, with the corner of the covariance, and the boundary is that of the marginals.

    Attributes
    ----------
    spherical : one variance for all directions and classes
    X : (n, 2)
    index : class number of each row
    means : (K, 2)
    covariances : (K, 2, 2)
    priors : prior of each class
    shared : whether all classes have one covariance
    low : lower left corner of the picture
    high : upper right corner of the picture
    xs : grid along the first axis
    ys : grid along the second axis
    scores : (K, ys, xs): ln density + ln prior
    wrong : rows that the rule gets wrong
    logistic : w and b of the logistic model beside it, None where none is drawn
    labels : names of the classes
    names : names of the two axes
    name : its name
    marginal : whether the rule has more than these two features
    ellipses_ : dictionary class number -> lines; means_, rows_ : lists; boundary_ : contours, one for each pair that meets;
    logistic_ : line or None
    """

    X: np.ndarray
    index: np.ndarray
    means: np.ndarray
    covariances: np.ndarray
    priors: np.ndarray
    shared: bool
    low: np.ndarray
    high: np.ndarray
    xs: np.ndarray
    ys: np.ndarray
    scores: np.ndarray
    wrong: int
    logistic: tuple[np.ndarray, float] | None
    labels: tuple[str, ...]
    names: tuple[str, str]
    name: str
    marginal: bool
    spherical: bool = False
    _radii = (1.0, 2.0)  # of the ellipses, in standard deviations
    _widths = (6.2,)
    _height = 4.1

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, features: Any = None, logistic: Any = None, resolution: int = 201
    ) -> GaussianDisplay:
        """Of a fitted GaussianDiscriminant, or a discriminant analysis that stores its covariances.

        ``estimator`` is fitted; ``resolution``: points of the grid along each axis.

        Parameters
        ----------
        features : two features by name or number, where there are more
        logistic : a fitted LogisticRegression of two classes on the same two features, whose line is drawn beside
        """
        names, rows = names_of(X, estimator), dense(X)
        name = type(estimator).__name__
        d = rows.shape[1]
        if d != 2 and features is None:
            raise ValueError(f"this picture is of two features; X has {d}: say which, features=(a, b)")
        pair = list((0, 1) if features is None else _pair(features, names))
        classes = np.asarray(estimator.classes_)
        covariance = getattr(estimator, "covariance_", None)
        if covariance is None:
            raise ValueError(f"{name} has no covariance_: fit it with store_covariance=True")
        matrices, shared = _matrices(covariance, len(classes), d)
        spherical = np.ndim(covariance) == 0
        priors = np.asarray(estimator.priors_ if hasattr(estimator, "priors_") else estimator.priors, dtype=np.float64)
        means = np.asarray(estimator.means_, dtype=np.float64)[:, pair]
        covariances = matrices[:, pair][:, :, pair]
        index = np.searchsorted(classes, np.asarray(y).ravel())
        points = rows[:, pair]
        reach = cls._radii[-1] * np.sqrt(np.diagonal(covariances, axis1=1, axis2=2))
        low, high = window(np.vstack([points, means - reach, means + reach]), 0.04)
        xs, ys, cells = grid(low, high, int(resolution))
        scores = _scores(cells, means, covariances, priors)
        wrong = int((_scores(points, means, covariances, priors).argmax(axis=0) != index).sum())
        line = None
        if logistic is not None:
            if np.size(logistic.coef_) != 2:
                raise ValueError("logistic= is a model of two classes and the two features that are drawn")
            line = np.ravel(logistic.coef_).astype(np.float64), float(np.ravel(logistic.intercept_)[0])
        shown = (plain(names[pair[0]]), plain(names[pair[1]]))
        return cls(
            points, index, means, covariances, priors, shared, low, high, xs, ys, scores.reshape(len(classes), len(ys), len(xs)),
            wrong, line, tuple(short(c) for c in classes.tolist()), shown, name, d > 2, spherical,
        )  # fmt: skip

    @property
    def title(self) -> str:
        """What the picture says, in one sentence."""
        kind = "a covariance for each class, boundaries are conics"
        if self.shared:
            kind = "one covariance for all classes, boundaries are lines"
        if self.spherical:
            kind = f"one variance σ² = {self.covariances[0, 0, 0]:.3g} for all classes and directions, boundaries are lines"
        said = f"{self.name}: {kind}; {self.wrong:,} of {len(self.X):,} rows on another class's side"
        return said + (" (marginals of two features)" if self.marginal else "")

    def _draw(self) -> None:
        ax, K = self.ax_, len(self.means)
        self.rows_, self.means_, self.ellipses_, self.boundary_ = [], [], {}, []
        turn = np.linspace(0.0, 2.0 * np.pi, 181)
        circle = np.column_stack([np.cos(turn), np.sin(turn)])
        for k in range(K):
            colour, marker = COLOURS[k % len(COLOURS)], MARKERS[k % len(MARKERS)]
            here = self.X[self.index == k]
            label = f"{self.labels[k]}: {counted(len(here), 'row')}, prior {self.priors[k]:.3g}"
            self.rows_.append(
                ax.scatter(
                    *here.T, s=14, marker=marker, facecolors="none", edgecolors=colour, linewidths=0.8, label=label
                )
            )
            root = np.linalg.cholesky(self.covariances[k])
            self.ellipses_[k] = [
                ax.plot(*(self.means[k] + r * circle @ root.T).T, color=colour, linestyle=DASHES[j], linewidth=1.4)[0]
                for j, r in enumerate(self._radii)
            ]
            self.means_.append(
                ax.plot(
                    *self.means[k], marker=marker, color=colour, markeredgecolor=INK, markersize=9, linestyle="none"
                )[0]
            )
        top = self.scores.max(axis=0)
        for a in range(K):
            for b in range(a + 1, K):
                pair = np.maximum(self.scores[a], self.scores[b])
                odds = (
                    np.where(pair >= top, self.scores[b] - self.scores[a], np.nan)
                    if K > 2
                    else self.scores[b] - self.scores[a]
                )
                if np.nanmin(odds, initial=1.0) < 0.0 < np.nanmax(odds, initial=-1.0):
                    self.boundary_.append(
                        ax.contour(self.xs, self.ys, odds, levels=[0.0], colors=[INK], linewidths=1.8)
                    )
        from matplotlib.lines import Line2D

        handles = [*self.rows_, Line2D([], [], color=INK, linewidth=1.8, label="equally probable")]
        handles += [
            Line2D(
                [], [], color="#767676", linestyle=DASHES[j], label=f"{r:g} standard deviation{'s' if r > 1 else ''}"
            )
            for j, r in enumerate(self._radii)
        ]
        self.logistic_ = None
        if self.logistic is not None:
            ends = segment(*self.logistic, self.low, self.high)
            (self.logistic_,) = ax.plot(*ends.T, color=COLOURS[5], linestyle=DASHES[3], label="logistic regression")
            handles.append(self.logistic_)
        ax.set(
            xlim=(self.low[0], self.high[0]),
            ylim=(self.low[1], self.high[1]),
            xlabel=self.names[0],
            ylabel=self.names[1],
        )
        beside(ax, handles)
        say(ax, self.title)


def _matrices(covariance: Any, K: int, d: int) -> tuple[np.ndarray, bool]:
    """(K, d, d), and whether they are one."""
    if np.ndim(covariance) == 0:
        return np.broadcast_to(float(covariance) * np.eye(d), (K, d, d)), True
    found = np.asarray(covariance, dtype=np.float64)
    return (np.broadcast_to(found, (K, d, d)), True) if found.ndim == 2 else (found, False)


def _scores(points: np.ndarray, means: np.ndarray, covariances: np.ndarray, priors: np.ndarray) -> np.ndarray:
    """(K, n): ln density + ln prior, but for what is the same in all classes."""
    found = np.empty((len(means), len(points)))
    with np.errstate(divide="ignore"):
        logs = np.log(priors)
    for k, (mean, covariance) in enumerate(zip(means, covariances)):
        root = np.linalg.cholesky(covariance)
        white = np.linalg.solve(root, (points - mean).T)
        found[k] = logs[k] - 0.5 * (white**2).sum(axis=0) - np.log(np.diag(root)).sum()
    return found
