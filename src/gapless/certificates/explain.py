"""Reading w: which features push which way, and how much each one contributes to the score of an example."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from gapless.certificates.linear_model import LinearModel, last_step, read_linear
from gapless.encode.labels import encode_labels

__all__ = ["Explanation", "explain"]


@dataclass(frozen=True, eq=False)
class Explanation:
    """w by feature, for each score of the model; with X also each example's share of it."""

    linear: LinearModel
    feature_names: list[str]
    direction: np.ndarray  #: (S, d): w / |w|, zeros where w is zero
    order: np.ndarray  #: (S, d): features by falling |w|, ties in the order of the columns
    X: Any = None  #: float64, dense or CSR
    top: int = 10

    @property
    def weights(self) -> np.ndarray:
        """(S, d): w."""
        return self.linear.coef

    @property
    def intercept(self) -> np.ndarray:
        return self.linear.intercept

    @property
    def norm(self) -> np.ndarray:
        """|w| of each score."""
        return self.linear.norms

    @property
    def n_scores(self) -> int:
        return int(self.weights.shape[0])

    def _score(self, of: Any) -> int:
        """The number of a score: by class label where there is one a class."""
        if self.n_scores == 1:
            return 0
        if of is None:
            raise ValueError(f"the model has {self.n_scores} scores: say which, of=one of {self._names()}")
        if self.linear.classes is None:
            return range(self.n_scores)[of]
        return int(encode_labels([of], self.linear.classes).index[0])

    def _names(self) -> list[Any]:
        return list(range(self.n_scores)) if self.linear.classes is None else self.linear.classes.tolist()

    def ranking(self, of: Any = None) -> list[tuple[str, float, float]]:
        """(feature, share w_j / |w|, weight w_j), the strongest first."""
        k = self._score(of)
        return [(self.feature_names[j], float(self.direction[k, j]), float(self.weights[k, j])) for j in self.order[k]]

    def contributions(self, of: Any = None) -> Any:
        """w_j x_ij, as dense or sparse as X; a row's sum and the intercept give its score."""
        X = self._rows()
        w = self.weights[self._score(of)]
        if sparse.issparse(X):
            scaled = X.copy()
            scaled.data = X.data * w[X.indices]
            return scaled
        return X * w

    def scores(self) -> np.ndarray:
        """(n,) for one score, else (n, S)."""
        f = self.linear.scores(self._rows())
        return f[:, 0] if self.n_scores == 1 else f

    def row(self, i: int, of: Any = None) -> list[tuple[str, float, float]]:
        """(feature, its value, its contribution) of one example, the strongest first.

        More than one score: that of the predicted class unless ``of`` names another.
        """
        X = self._rows()
        i = range(X.shape[0])[i]
        k = self._of_row(i) if of is None else self._score(of)
        x = np.asarray(X[[i]].toarray() if sparse.issparse(X) else X[[i]])[0]
        parts = self.weights[k] * x
        order = np.argsort(-np.abs(parts), kind="stable")
        return [(self.feature_names[j], float(x[j]), float(parts[j])) for j in order]

    def _of_row(self, i: int) -> int:
        if self.n_scores == 1:
            return 0
        if self.linear.classes is None:
            raise ValueError(f"the model has {self.n_scores} scores: say which, of=one of {self._names()}")
        return int(np.argmax(self.linear.scores(self._rows()[[i]])[0]))

    def _rows(self) -> Any:
        if self.X is None:
            raise ValueError("there are no examples here: call explain(model, X)")
        return self.X

    def describe(self, i: int, of: Any = None, top: int | None = None) -> str:
        """How the score of one example comes about, as text."""
        k = self._of_row(range(self._rows().shape[0])[i]) if of is None else self._score(of)
        name = self._names()[k]
        parts = self.row(i, None if self.n_scores == 1 else name)
        top = self.top if top is None else top
        score = float(self.linear.scores(self._rows()[[range(self._rows().shape[0])[i]]])[0, k])
        lines = [f"row {i}: score{self._towards(k)} {score:.6g}", f"  {self.intercept[k]:+.6g}  offset"]
        lines += [f"  {share:+.6g}  {feature} = {value:.6g}" for feature, value, share in parts[:top]]
        if len(parts) > top:
            lines.append(f"  {sum(share for _, _, share in parts[top:]):+.6g}  {len(parts) - top} other features")
        return "\n".join(lines)

    def _towards(self, k: int) -> str:
        classes = self.linear.classes
        if classes is None:
            return "" if self.n_scores == 1 else f" {k}"
        values = classes.tolist()
        if self.n_scores == 1:
            return f" of {values[1]!r} (+) against {values[0]!r} (-)"
        return f" of {values[k]!r} against the rest"

    def __str__(self) -> str:
        lines = [f"{self.linear.name}: {self.weights.shape[1]} features"]
        for k in range(min(self.n_scores, 10)):
            size = float(self.norm[k])
            lines.append(f"score{self._towards(k)}: |w| = {size:.4g}, offset {self.intercept[k]:.4g}")
            if size == 0.0:
                lines.append("  w is zero: no feature pushes either way")
                continue
            for j in self.order[k][: self.top]:
                lines.append(f"  {self.direction[k, j]:+.4f}  {self.feature_names[j]}  (w = {self.weights[k, j]:.4g})")
            if self.weights.shape[1] > self.top:
                rest = float(np.linalg.norm(self.direction[k, self.order[k][self.top :]]))
                lines.append(f"  {rest:7.4f}  length of the other {self.weights.shape[1] - self.top} together")
        if self.n_scores > 10:
            lines.append(f"… {self.n_scores - 10} more scores")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<Explanation of {self.linear.name}, {self.weights.shape[1]} features>"


def explain(model: Any, X: Any = None, *, feature_names: Sequence[str] | None = None, top: int = 10) -> Explanation:
    """Which features push which way.

    Parameters
    ----------
    model : a fitted linear model, or a pipeline that ends in one; the features are then those that the last
        step sees.
    X : examples whose scores are to be split into contributions w_j x_j.
    feature_names : names, where the model has none (it has those of the DataFrame it was trained on).
    top : how many features the printed text shows.

    The shares w_j / |w| compare features only where these have comparable units: scale them first.
    """
    step, Z = last_step(model, X)
    linear = read_linear(step)
    names = linear.feature_names
    if feature_names is not None:
        names = [str(name) for name in feature_names]
        if len(names) != linear.n_features:
            raise ValueError(f"{len(names)} feature names for {linear.n_features} features")
    elif step is not model and not hasattr(step, "feature_names_in_"):
        names = _names_before(model, names)
    size = linear.norms[:, None]
    direction = np.divide(linear.coef, size, out=np.zeros_like(linear.coef), where=size > 0.0)
    order = np.argsort(-np.abs(linear.coef), axis=1, kind="stable")
    return Explanation(linear, names, direction, order, None if Z is None else linear.read(Z), top)


def _names_before(pipeline: Any, names: list[str]) -> list[str]:
    """The names that the steps before the last one give, where they give any."""
    try:
        given = [str(name) for name in pipeline[:-1].get_feature_names_out()]
    except Exception:  # a step without names is no reason to explain nothing
        return names
    return given if len(given) == len(names) else names
