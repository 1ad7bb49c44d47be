"""Reading w: which features push which way, and how much each one contributes to the score of an example."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from gapless._runtime.results import result
from gapless._runtime.written import written
from gapless.certificates.verify import last_step
from gapless.encode.labels import encode_labels
from gapless.judge.files.inputs import width_of
from gapless.readings.linear_model import LinearModel, read_linear


@result
@dataclass(frozen=True, eq=False)
class Explanation:
    """w by feature, for each score of the model; with X also each example's share of it.

    Attributes
    ----------
    linear : the linear model that is read
    feature_names : name of each feature
    direction : (S, d): w / |w|, zeros where w is zero
    order : (S, d): features by falling |w|, ties in the order of the columns
    X : float64, dense or CSR
    top : features that a printed ranking shows
    shift : (d,): a feature is (column - shift) / scale; None: it is the column itself
    scale : (d,)
    """

    linear: LinearModel
    feature_names: list[str]
    direction: np.ndarray
    order: np.ndarray
    X: Any = None
    top: int = 10
    shift: np.ndarray | None = None
    scale: np.ndarray | None = None

    @property
    def weights(self) -> np.ndarray:
        """(S, d): w."""
        return self.linear.coef

    @property
    def intercept(self) -> np.ndarray:
        """(S,): the offset of each score."""
        return self.linear.intercept

    @property
    def weights_per_unit(self) -> np.ndarray:
        """(S, d): how far a score moves when a column moves by one of its own units."""
        return self.weights if self.scale is None else self.weights / self.scale

    @property
    def intercept_in_units(self) -> np.ndarray:
        """(S,): the offset that goes with `weights_per_unit`: the score of a row of zeros, in the columns' own units."""
        if self.shift is None or self.scale is None:
            return self.intercept
        return np.asarray(self.intercept - (self.weights / self.scale) @ self.shift)

    @property
    def deviations(self) -> np.ndarray | None:
        """(d,): the standard deviation of each column in its own units, over X; without X, that by which scaling divided it.

        NaN where neither tells.
        """
        if self.X is not None:
            return _deviations(self.X) * (1.0 if self.scale is None else self.scale)
        if self.scale is None or self.shift is None:
            return None
        return np.where((self.scale != 1.0) | (self.shift != 0.0), self.scale, np.nan)

    @property
    def weights_per_deviation(self) -> np.ndarray | None:
        """(S, d): how far a score moves when a column moves by its standard deviation; comparable between columns."""
        deviations = self.deviations
        return None if deviations is None else self.weights_per_unit * deviations

    @property
    def norm(self) -> np.ndarray:
        """|w| of each score."""
        return self.linear.norms

    @property
    def n_scores(self) -> int:
        """S: one score for two classes and for regression, else one a class."""
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
        """(feature, share w_j / |w|, weight w_j), the strongest first.

        ``of``: the class whose score is meant (targets: its number).
        """
        k = self._score(of)
        return [(self.feature_names[j], float(self.direction[k, j]), float(self.weights[k, j])) for j in self.order[k]]

    def contributions(self, of: Any = None) -> Any:
        """w_j x_ij, as dense or sparse as X; a row's sum and the intercept give its score.

        ``of``: the class whose score is meant (targets: its number).
        """
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

        ``i`` is its row in X.
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
        """How the score of one example comes about, as text.

        ``i`` is its row in X, ``of`` the class whose score is meant, ``top`` the number of features shown.
        """
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
            return f" of {written(values[1])} (+) against {written(values[0])} (-)"
        return f" of {written(values[k])} against the rest"

    def _table(self) -> tuple[tuple[str, ...], list[list[Any]]]:
        """What a notebook shows: the features that weigh most, for each of the first scores."""
        rows = [
            [k, self.feature_names[j], self.direction[k, j], self.weights[k, j]]
            for k in range(min(self.n_scores, 10))
            for j in self.order[k][: self.top]
        ]
        return ("score", "feature", "w / |w|", "w"), rows

    def __str__(self) -> str:
        lines = [f"{self.linear.name}: {self.weights.shape[1]} features"]
        for k in range(min(self.n_scores, 10)):
            size = float(self.norm[k])
            lines.append(f"score{self._towards(k)}: |w| = {size:.4g}, offset {self.intercept[k]:.4g}")
            if size == 0.0:
                lines.append("  w is zero: no feature pushes either way")
                continue
            for j in self.order[k][: self.top]:
                lines.append(f"  {self.direction[k, j]:+.4f}  {self.feature_names[j]}  ({self._weight(k, j)})")
            if self.weights.shape[1] > self.top:
                rest = float(np.linalg.norm(self.direction[k, self.order[k][self.top :]]))
                lines.append(f"  {rest:7.4f}  length of the other {self.weights.shape[1] - self.top} together")
        if self.n_scores > 10:
            lines.append(f"… {self.n_scores - 10} more scores")
        return "\n".join(lines)

    def _weight(self, k: int, j: int) -> str:
        """A weight in words; of a column that was scaled in its units and per standard deviation."""
        if self.scale is None or self.shift is None or (self.scale[j] == 1.0 and self.shift[j] == 0.0):
            return f"w = {self.weights[k, j]:.4g}"
        each = f"{self.weights[k, j]:.4g} per standard deviation of {self.scale[j]:.4g}"
        return f"w = {self.weights_per_unit[k, j]:.4g} per unit of the column, {each}"

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

    The shares w_j / |w| compare features only where these have comparable units: scale them first. Where a ``StandardScaler``
    in the pipeline did, or the table's encoding (``model.encoding_``), ``weights_per_unit`` and ``intercept_in_units`` are in
    the units of the columns, ``weights_per_deviation`` per standard deviation.
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
    shift, scale = _units(model, step, linear.n_features)
    return Explanation(linear, names, direction, order, None if Z is None else linear.read(Z), top, shift, scale)


def coefficients(model: Any, X: Any, feature_names: Sequence[str] | None = None) -> list[dict[str, Any]] | None:
    """w of each score of a linear model, in the columns' units and per standard deviation over X; None of other models."""
    try:
        found = explain(model, X, feature_names=feature_names)
    except (TypeError, ValueError):
        return None
    per_unit, per_deviation, deviations = found.weights_per_unit, found.weights_per_deviation, found.deviations
    assert per_deviation is not None
    assert deviations is not None
    classes = found.linear.classes
    told = []
    for k in range(found.n_scores):
        towards = None if classes is None else classes.tolist()[1 if found.n_scores == 1 else k]
        features = [
            {
                "feature": name,
                "per_unit": float(per_unit[k, j]),
                "per_standard_deviation": float(per_deviation[k, j]),
                "standard_deviation": float(deviations[j]),
            }
            for j, name in enumerate(found.feature_names)
        ]
        told.append({"towards": towards, "intercept": float(found.intercept_in_units[k]), "features": features})
    return told


def _units(model: Any, step: Any, d: int) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Mean and standard deviation by which each feature was made of a column: a table's encoding, or a pipeline's scalers."""
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import StandardScaler

    encoding = getattr(step, "encoding_", None)
    if encoding is not None:
        moments: list[tuple[float, float]] = []
        for column in encoding.columns:
            scaled = column.get("parts") or ([column] if "scale" in column else [])  # a date has parts
            moments += [(float(each["mean"]), float(each["scale"])) for each in scaled]
            moments += [(0.0, 1.0)] * (width_of(column) - len(scaled))
        return tuple(np.array(moments).T) if len(moments) == d else (None, None)  # type: ignore[return-value]
    before = (
        [each for _, each in model.steps[:-1] if each not in (None, "passthrough")]
        if isinstance(model, Pipeline)
        else []
    )
    if not before or not all(isinstance(each, StandardScaler) and each.n_features_in_ == d for each in before):
        return None, None
    shift, scale = np.zeros(d), np.ones(d)
    for scaler in before:
        shift = shift + (scale * scaler.mean_ if scaler.with_mean else 0.0)
        scale = scale * (1.0 if scaler.scale_ is None else scaler.scale_)
    return shift, scale


def _deviations(Z: Any) -> np.ndarray:
    """The standard deviation of each column."""
    if sparse.issparse(Z):
        mean = np.asarray(Z.mean(axis=0)).ravel()
        square = np.asarray(Z.multiply(Z).mean(axis=0)).ravel()
        return np.asarray(np.sqrt(np.maximum(square - mean**2, 0.0)))
    return np.asarray(np.std(Z, axis=0))


def _names_before(pipeline: Any, names: list[str]) -> list[str]:
    """The names that the steps before the last one give, where they give any."""
    try:
        given = [str(name) for name in pipeline[:-1].get_feature_names_out()]
    except Exception:  # a step without names is no reason to explain nothing
        return names
    return given if len(given) == len(names) else names
