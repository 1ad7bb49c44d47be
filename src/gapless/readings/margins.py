"""Where each example stands: its signed distance to the hyperplane, and what can change its prediction.

The margin boundaries f = ±1 lie 1/|w| to each side of the hyperplane f = 0. Two questions that are easily
taken for one:

- is the example *in the strip*, |f| < 1, between the two boundaries?
- does it *violate the margin*, y f < 1, and so cost hinge loss? Far on the wrong side it violates most, and
is not in the
  strip.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from gapless._runtime.results import result
from gapless.certificates.verify import last_step
from gapless.encode.labels import encode_labels
from gapless.encode.weights import check_sample_weight
from gapless.errors import short
from gapless.numbers import UNIT
from gapless.readings.linear_model import LinearModel, read_linear, score_error


@result
@dataclass(frozen=True, eq=False)
class Margins:
    """Arrays over the examples: (n,) for two classes; for more, those marked † are (n, K), a column for each
    class
    against the rest, and the names that end in ``_true`` give the column of the example's own class.

    Attributes
    ----------
    linear : the linear model that is read
    index : class index of each example
    predicted : class index that the model predicts
    width : 1/|w|, the distance of the margin boundary; one a class for more than two
    score : † f = <w, x> + b
    gamma : † signed distance y f / |w|, positive on the right side
    angle : † degrees between w and x
    in_strip : † |f| < 1
    violates : † y f < 1
    correct : the prediction is the label
    radius : no move of x that is shorter than this changes the prediction
    sample_weight : (n,): weights as given, 1 otherwise
    """

    linear: LinearModel
    index: np.ndarray
    predicted: np.ndarray
    width: Any
    score: np.ndarray
    gamma: np.ndarray
    angle: np.ndarray
    in_strip: np.ndarray
    violates: np.ndarray
    correct: np.ndarray
    radius: np.ndarray
    sample_weight: np.ndarray

    @property
    def classes(self) -> np.ndarray:
        """Classes of the model."""
        return np.asarray(self.linear.classes)

    @property
    def two_classes(self) -> bool:
        """Whether there are two classes."""
        return self.score.ndim == 1

    @property
    def n_rows(self) -> int:
        """Number of examples."""
        return int(self.index.size)

    def _own(self, values: np.ndarray) -> np.ndarray:
        return values if self.two_classes else values[np.arange(self.n_rows), self.index]

    @property
    def score_true(self) -> np.ndarray:
        """(n,): the score of the example's own class."""
        return self._own(self.score)

    @property
    def gamma_true(self) -> np.ndarray:
        """(n,): the signed distance of the example's own class."""
        return self._own(self.gamma)

    @property
    def in_strip_true(self) -> np.ndarray:
        """(n,): the same of ``in_strip``."""
        return self._own(self.in_strip)

    @property
    def violates_true(self) -> np.ndarray:
        """(n,): the same of ``violates``."""
        return self._own(self.violates)

    def foot(self, X: Any, positive: Any = None) -> np.ndarray:
        """The point of the hyperplane that is nearest to each row of X: x - f w / |w|².

        ``positive`` names the class whose hyperplane is meant, where there is more than one.
        """
        k = 0
        if not self.two_classes:
            if positive is None:
                raise ValueError(
                    f"there are {self.classes.size} hyperplanes: say which, positive=one of {self.classes.tolist()}"
                )
            k = int(encode_labels([positive], self.classes).index[0])
        w = self.linear.coef[k]
        size = float(np.linalg.norm(w))
        if size == 0.0:
            raise ValueError("w is zero: there is no hyperplane, so no foot point")
        X = self.linear.read(X)
        direction = w / size
        distance = (np.asarray(X @ w) + self.linear.intercept[k]) / size
        dense = X.toarray() if sparse.issparse(X) else X
        return dense - np.outer(distance, direction)

    def summary(self) -> dict[str, float]:
        """Sums of sample weights (counts, where there are none) and the figures of the whole set."""
        w = self.sample_weight
        right = float(w[self.correct].sum())
        total = float(w.sum())
        gamma = self.gamma_true[w > 0]
        gamma = gamma[~np.isnan(gamma)]
        counted = self.radius[(w > 0) & self.correct]
        return {
            "weight": total,
            "correct": right,
            "wrong": total - right,
            "in_strip": float(w[self.in_strip_true].sum()),
            "violates": float(w[self.violates_true].sum()),
            "smallest_gamma": float(gamma.min()) if gamma.size else float("nan"),
            "median_gamma": float(np.median(gamma)) if gamma.size else float("nan"),
            "smallest_radius_of_correct": float(counted.min()) if counted.size else float("nan"),
        }

    def columns(self) -> dict[str, np.ndarray]:
        """One array a column, a row an example; ready for a DataFrame. More than two classes: of the own
        class.
        """
        return {
            "label": self.classes[self.index],
            "predicted": self.classes[self.predicted],
            "score": self.score_true,
            "gamma": self.gamma_true,
            "angle": self._own(self.angle),
            "in_strip": self.in_strip_true,
            "violates": self.violates_true,
            "correct": self.correct,
            "radius": self.radius,
        }

    def table(self, rows: int = 10) -> str:
        """The examples of smallest signed distance, as text. ``rows``: how many."""
        columns = self.columns()
        order = np.argsort(np.nan_to_num(columns["gamma"]), kind="stable")[:rows]
        cells = [["row", *columns]]
        for i in order:
            cells.append([str(i), *(_cell(column[i]) for column in columns.values())])
        widths = [max(len(line[k]) for line in cells) for k in range(len(cells[0]))]
        return "\n".join("  ".join(text.rjust(width) for text, width in zip(line, widths)) for line in cells)

    def _table(self) -> tuple[list[str], list[list[Any]]]:
        """What a notebook shows: the examples of smallest signed distance."""
        columns = self.columns()
        order = np.argsort(np.nan_to_num(columns["gamma"]), kind="stable")[:10]
        return ["row", *columns], [[i, *(column[i] for column in columns.values())] for i in order]

    def __str__(self) -> str:
        s = self.summary()
        weighted = "" if np.all(self.sample_weight == 1.0) else f" (total weight {s['weight']:g})"
        lines = [f"{self.linear.name}: {self.n_rows} rows{weighted}, {self.classes.size} classes"]
        width = np.atleast_1d(self.width)
        if np.isinf(width).all():
            lines.append(
                "w is zero: every row gets the same score, distances are not defined, no move changes a prediction"
            )
        elif self.two_classes:
            lines.append(f"margin 1/|w| = {short(float(width[0]), 4)}")
        else:
            lines.append(f"margins 1/|w| from {short(float(width.min()), 4)} to {short(float(width.max()), 4)}")
        lines += [
            f"right {s['correct']:g}, wrong {s['wrong']:g}",
            f"in the strip, |f| < 1: {s['in_strip']:g}; violate the margin, y f < 1: {s['violates']:g}",
            f"signed distance: smallest {s['smallest_gamma']:.4g}, median {s['median_gamma']:.4g}",
            f"no right prediction changes within {s['smallest_radius_of_correct']:.4g}",
        ]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<Margins of {self.n_rows} rows, {self.linear.name}>"


def margins(model: Any, X: Any, y: Any, sample_weight: Any = None) -> Margins:
    """Signed distances, statuses and safe radii of examples under a linear classifier.

    Parameters
    ----------
    model : a fitted linear classifier (coef_, intercept_, classes_), or a pipeline that ends in one; the
        distances are
        then those in the space that the last step sees.
    X, y : examples and their labels; not necessarily the training data.
    sample_weight : weights for the counts of the summary; distances do not depend on them.
    """
    model, X = last_step(model, X)
    linear = read_linear(model)
    if linear.classes is None:
        raise TypeError(f"{linear.name} has no classes_: margins are those of a classifier")
    X = linear.read(X)
    n = X.shape[0]
    labels = encode_labels(y, linear.classes)
    if labels.index.size != n:
        raise ValueError(f"Found input variables with inconsistent numbers of samples: [{n}, {labels.index.size}]")
    weight = check_sample_weight(sample_weight, n)

    f = linear.scores(X)
    norms_w = linear.norms
    norms_x = (
        np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel()) if sparse.issparse(X) else np.linalg.norm(X, axis=1)
    )
    error = score_error(linear, norms_x)
    two = linear.classes.size == 2
    signs = labels.signs(1)[:, None] if two else np.where(labels.index[:, None] == np.arange(f.shape[1]), 1.0, -1.0)
    predicted = (f[:, 0] > 0).astype(np.int64) if two else np.argmax(f, axis=1)
    radius = _radius_two(linear, f[:, 0], error[:, 0]) if two else _radius_many(linear, f, error, predicted)
    with np.errstate(divide="ignore", invalid="ignore"):
        width = 1.0 / norms_w
        gamma = np.where(norms_w > 0.0, signs * f / norms_w, np.nan)
        cosine = (f - linear.intercept) / np.outer(norms_x, norms_w)
        angle = np.degrees(np.arccos(np.clip(cosine, -1.0, 1.0)))

    def shape(values: np.ndarray) -> np.ndarray:
        return values[:, 0] if two else values

    return Margins(
        linear=linear,
        index=labels.index,
        predicted=predicted,
        width=float(width[0]) if two else width,
        score=shape(f),
        gamma=shape(gamma),
        angle=shape(angle),
        in_strip=shape(np.abs(f) < 1.0),
        violates=shape(signs * f < 1.0),
        correct=predicted == labels.index,
        radius=radius,
        sample_weight=weight,
    )


def _radius_two(linear: LinearModel, f: np.ndarray, error: np.ndarray) -> np.ndarray:
    """|f| / |w|, less what rounding can have added to it."""
    size = float(linear.norms[0])
    if size == 0.0:
        return np.full(f.size, np.inf)
    return np.maximum(np.abs(f) - error, 0.0) / size * (1.0 - (linear.n_features + 10) * UNIT)


def _radius_many(linear: LinearModel, f: np.ndarray, error: np.ndarray, top: np.ndarray) -> np.ndarray:
    """min over k of (f_top - f_k) / |w_top - w_k|: the nearest point at which another class is as high."""
    rows = np.arange(f.shape[0])
    radius = np.full(f.shape[0], np.inf)
    apart = np.stack([np.linalg.norm(linear.coef - w, axis=1) for w in linear.coef])
    for k in range(f.shape[1]):
        ahead = f[rows, top] - f[:, k]
        ahead = np.maximum(ahead * (1.0 - 2.0 * UNIT) - error[rows, top] - error[:, k], 0.0)
        distance = apart[top, k]
        with np.errstate(divide="ignore", invalid="ignore"):
            # Equal weights: the two scores keep their difference wherever x goes.
            here = np.where(distance > 0.0, ahead / distance, np.inf)
        here[top == k] = np.inf
        radius = np.minimum(radius, here)
    return radius * (1.0 - (linear.n_features + 10) * UNIT)


def _cell(value: Any) -> str:
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    if isinstance(value, (float, np.floating)):
        return f"{value:.4g}"
    return str(value)
