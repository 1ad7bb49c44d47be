"""`separability`: complete, quasi or overlap, with a proof in exact arithmetic that anybody can check.

    complete   w, b with every row strictly on its side; ``margin`` is at most its smallest distance to the boundary
    overlap    positive ``multipliers`` on ``rows`` of full rank with sum_i alpha_i y_i (x_i, 1) = 0
    quasi      such multipliers (of some rows), and w, b with no row on the wrong side and not all on the boundary

The floats w and b of a complete separation are the proof, as they stand.  Those of a quasi-separation are rounded from
``direction``, which is exact: no rounded number would leave rows exactly on the boundary.  With K > 2 classes w and b have a line
a class, and each multiplier sets a row's own class against a rival.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_array

import gapless
from gapless._threads import one_blas_thread
from gapless.certificates.fingerprint import fingerprint
from gapless.certificates.statement import encode_classes
from gapless.encode.frames import refuse_lazy
from gapless.encode.labels import Labels, encode_labels, one_class_error
from gapless.encode.weights import check_sample_weight
from gapless.errors import short
from gapless.problems.separation import Separation
from gapless.solvers.exact_signs import Direction
from gapless.solvers.separation import Verdict as Found
from gapless.solvers.separation import separate

__all__ = ["Separability", "separability"]

FORMAT, SCHEMA = "gapless separation", 1


@dataclass(frozen=True, eq=False, repr=False)
class Separability:
    """What `separability` found. ``verify(result, X, y)`` checks the proof.

    Attributes
    ----------
    status : "complete", "quasi" or "overlap"
    margin : the smallest distance of a row to the boundary of (w, b), rounded down; None unless complete
    w, b : two classes: a vector and a number; more: a line and a number for each class; None for overlap
    rows, multipliers : row numbers and positive Fractions, none where the separation is complete
    rivals : the class that each multiplier sets against the row's own
    columns : the columns that w uses
    on_plane : the rows that (w, b) has exactly on the boundary
    direction : w and b as exact Fractions, a line a class but the first, the offset last
    classes : of y; the second one is on the positive side
    """

    status: str
    margin: float | None
    w: np.ndarray | None
    b: Any
    rows: np.ndarray
    multipliers: list[Fraction]
    columns: np.ndarray
    classes: np.ndarray
    rivals: np.ndarray
    all_classes: np.ndarray  #: also those whose rows have no weight
    on_plane: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    direction: np.ndarray | None = None
    kernel: tuple[np.ndarray, ...] = ()
    narrow: np.ndarray | None = None
    feature_names: list[str] | None = None
    offset: bool = True
    fingerprint: dict[str, Any] = field(default_factory=dict)

    @property
    def n_rows(self) -> int:
        return int(self.fingerprint["n_rows"])

    def document(self) -> dict[str, Any]:
        """The proof as JSON values: numbers are floats where these are exact, else "numerator/denominator"."""
        certificate = {
            "kind": "separation",
            "status": self.status,
            "offset": self.offset,
            "margin": self.margin,
            "direction": None if self.direction is None else _lines_of_text(self.direction),
            "rows": self.rows.tolist(),
            "rivals": _positions(self.all_classes, self.rivals),
            "multipliers": [_exact(v) for v in self.multipliers],
            "kernel": [_lines_of_text(vector) for vector in self.kernel],
            "columns": self.columns.tolist(),
            "narrow": None if self.narrow is None else _lines_of_text(self.narrow),
            "on_plane": int(self.on_plane.size),
            "fingerprint": dict(self.fingerprint),
        }
        return {
            "format": FORMAT,
            "schema": SCHEMA,
            "version": gapless.__version__,
            "classes": encode_classes(self.all_classes),
            "n_features": int(self.fingerprint["n_features"]),
            "feature_names": self.feature_names,
            "certificate": certificate,
        }

    def to_json(self, indent: int | None = None) -> str:
        """The proof as text."""
        return json.dumps(self.document(), indent=indent, allow_nan=False, ensure_ascii=False)

    def __str__(self) -> str:
        how = {
            "complete": f"completely separated, with a margin of at least {short(self.margin or 0.0, 3)}",
            "quasi": f"quasi-separated: {self.on_plane.size} of {self.n_rows} rows lie on the separating hyperplane, "
            "none on the wrong side",
            "overlap": "not separated: they overlap, and the maximum-likelihood estimate exists",
        }[self.status]
        proof = "w and b are the proof"
        if self.status != "complete":
            proof = f"multipliers of {self.rows.size} rows prove that no hyperplane " + (
                "separates them strictly" if self.status == "quasi" else "separates any of them"
            )
        where = ""
        if self.status != "overlap":
            shown = ", ".join(str(j) for j in self.columns[:6].tolist())
            more = f" and {self.columns.size - 6} more" if self.columns.size > 6 else ""
            where = f" Columns involved: {shown}{more}."
        return f"the classes are {how}; {proof}.{where}"

    def __repr__(self) -> str:
        margin = "" if self.margin is None else f", margin={self.margin:.6g}"
        return f"Separability({self.status!r}{margin}, rows={self.rows.tolist()!r}, columns={self.columns.tolist()!r})"


def _exact(value: Any) -> Any:
    value = Fraction(value)
    try:
        rounded = float(value)
    except OverflowError:
        rounded = math.inf
    if math.isfinite(rounded) and Fraction(rounded) == value:
        return rounded
    return f"{_digits(value.numerator)}/{_digits(value.denominator)}"


def _digits(value: int) -> str:
    """str(value), in pieces: Python refuses to write long numbers at once."""
    if abs(value) < 10**4000:
        return str(value)
    places = int(abs(value).bit_length() * 0.15)
    high, low = divmod(abs(value), 10**places)
    return ("-" if value < 0 else "") + _digits(high) + _digits(low).zfill(places)


def _lines_of_text(lines: np.ndarray) -> list[list[Any]]:
    return [[_exact(v) for v in line] for line in lines]


def _positions(classes: np.ndarray, labels: np.ndarray) -> list[int]:
    place = {value: k for k, value in enumerate(classes.tolist())}
    return [place[value] for value in labels.tolist()]


def separability(X: Any, y: Any, fit_intercept: bool = True, sample_weight: Any = None) -> Separability:
    """Whether a hyperplane tells the classes apart, with a proof.

    Parameters
    ----------
    X : numbers, dense, a frame or CSR; integers and floats are taken as the float64 that they are
    y : labels of two classes, or of more: then K scores, as in multinomial logistic regression
    fit_intercept : whether the hyperplane may have an offset
    sample_weight : rows of weight 0 are left out; other weights change nothing

    Returns
    -------
    Separability : status "complete", "quasi" or "overlap", margin, w, b, rows, multipliers, columns
    """
    refuse_lazy(X)
    X = check_array(X, accept_sparse="csr", dtype=None, ensure_min_features=0, estimator="separability")
    X = _numbers(X)
    labels = encode_labels(y)
    if labels.index.size != X.shape[0]:
        raise ValueError(f"X has {X.shape[0]} rows, y {labels.index.size}")
    weights = check_sample_weight(sample_weight, X.shape[0])
    keep = None if sample_weight is None or (weights > 0).all() else np.flatnonzero(weights > 0)
    stand, index = _present(labels, keep)
    rows = X if keep is None else X[keep]
    problem = Separation(rows, index, stand.size, bool(fit_intercept))
    with one_blas_thread():
        found = separate(problem)
    given = None if sample_weight is None else weights
    return _told(problem, found, stand, labels.classes, keep, fingerprint(X, labels.index, given))


def _numbers(X: Any) -> Any:
    """A real type that float64 holds, without a copy where it is one."""
    data = X.data if sparse.issparse(X) else X
    if data.dtype.kind in "iub" or data.dtype in (np.float64, np.float32, np.float16):
        if sparse.issparse(X) and not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        return X
    return X.astype(np.float64)


def _present(labels: Labels, keep: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Classes that have rows of weight, and the index of each row that counts among them."""
    if keep is None:
        return labels.classes, labels.index
    found, index = np.unique(labels.index[keep], return_inverse=True)
    if found.size < 2:
        raise one_class_error(labels.classes[found], " after the rows of weight zero are taken out")
    return labels.classes[found], index


def _told(
    problem: Separation,
    found: Found,
    classes: np.ndarray,
    everything: np.ndarray,
    keep: np.ndarray | None,
    named: dict[str, Any],
) -> Separability:
    """The finding in the user's rows, columns and classes."""
    row, rival = problem.split(found.pairs)
    all_rows = np.arange(problem.n) if keep is None else keep
    w = b = margin = direction = None
    columns = on_plane = np.zeros(0, dtype=np.int64)
    if found.theta is not None and found.signs is not None:
        lines = Direction(found.theta)
        direction = _fractions(found.theta if found.status == "complete" else lines.whole)
        floats = np.asarray(found.theta, dtype=float) if found.status == "complete" else lines.floats
        w, b = _lines(floats, problem)
        columns = np.flatnonzero((lines.whole[:, : problem.d] != 0).any(axis=0))
        on_plane = all_rows[np.flatnonzero((found.signs == 0).any(axis=1))]
        if found.status == "complete":
            margin = _margin(problem, floats)
    return Separability(
        found.status, margin, w, b, all_rows[row], found.multipliers, columns, classes,
        classes[rival], everything,
        on_plane=on_plane, direction=direction, kernel=tuple(found.kernel), offset=problem.offset, fingerprint=named,
    )  # fmt: skip


def _fractions(entries: np.ndarray) -> np.ndarray:
    flat = [Fraction(v) for v in np.asarray(entries, dtype=object).ravel().tolist()]
    out = np.empty(len(flat), dtype=object)
    out[:] = flat
    return out.reshape(np.shape(entries))


def _lines(theta: np.ndarray, problem: Separation) -> tuple[np.ndarray, Any]:
    d = problem.d
    w, b = theta[:, :d], theta[:, d] if problem.offset else np.zeros(len(theta))
    if problem.K == 2:
        return w[0].copy(), float(b[0])
    return np.vstack([np.zeros(d), w]), np.append(0.0, b)


def _margin(problem: Separation, theta: np.ndarray) -> float:
    """A lower bound on the distance of every row to the boundary between its class and any other."""
    value, room = problem.enclosed(theta)
    low = value - room
    W = np.vstack([np.zeros((1, problem.d)), theta[:, : problem.d]])
    least = math.inf
    for own in range(problem.K):
        rows = problem.index == own
        if not rows.any():
            continue
        rivals = [k for k in range(problem.K) if k != own]
        for j, k in enumerate(rivals):
            length = math.hypot(*(W[own] - W[k]).tolist()) * (1.0 + 2.0**-40)
            if length > 0.0:
                least = min(least, float(low[rows, j].min()) / length)
    return max(0.0, least * (1.0 - 2.0**-40))
