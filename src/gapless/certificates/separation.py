"""`separability`: complete, quasi or overlap, with a proof in exact arithmetic that anybody can check.

    complete   w, b with every row strictly on its side; ``margin`` is at most its smallest distance to the boundary.  Multipliers
               of sum 1, with sum_i alpha_i y_i = 0 where there is an offset, prove that none is above |sum_i alpha_i y_i x_i|
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
from gapless._runtime.results import result
from gapless._runtime.threads import one_blas_thread
from gapless.certificates.fingerprint import fingerprint
from gapless.certificates.model_document import encode_classes
from gapless.encode.labels import Labels, encode_labels, one_class_error
from gapless.encode.lazy_frames import refuse_lazy
from gapless.encode.weights import check_sample_weight
from gapless.errors import listed, short
from gapless.problems.separation import Separation
from gapless.solvers.exact.signs import Direction, bounds_hold, exact_values
from gapless.solvers.loop import audible
from gapless.solvers.separation.decide import separate
from gapless.solvers.separation.frame import Undecided, integers_of
from gapless.solvers.separation.proofs import Proof


@result
@dataclass(frozen=True, eq=False, repr=False)
class Separability:
    """What `separability` found. ``verify(result, X, y)`` checks the proof.

    Attributes
    ----------
    all_classes : also those whose rows have no weight
    kernel : quasi: exact vectors that show which directions separate nothing
    narrow : exact direction that uses ``columns`` alone
    feature_names : names of the columns of X, None where it has none
    offset : whether hyperplanes have an offset, or go through 0
    fingerprint : what identifies the data: numbers of rows and features, and hashes of rows, labels and weights
    n_counted : rows of positive weight
    status : "complete", "quasi" or "overlap"
    margin : the smallest distance of a row to the boundary of (w, b), rounded down; None unless complete
    margin_upper : no hyperplane has a larger margin, as ``multipliers`` prove; None where that is not known
    w, b : two classes: a vector and a number, of the largest margin where the separation is complete; more classes: a line and a
        number for each; None for overlap
    rows, multipliers : row numbers and positive Fractions
    rivals : the class that each multiplier sets against the row's own
    columns : columns that alone separate the classes as said (``narrow`` does it), as few as were found
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
    all_classes: np.ndarray
    margin_upper: float | None = None
    on_plane: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    direction: np.ndarray | None = None
    kernel: tuple[np.ndarray, ...] = ()
    narrow: np.ndarray | None = None
    feature_names: list[str] | None = None
    offset: bool = True
    fingerprint: dict[str, Any] = field(default_factory=dict)

    n_counted: int = 0

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.fingerprint["n_rows"])

    @property
    def named_columns(self) -> list[str] | list[int]:
        """``columns`` by name where X has names."""
        columns = self.columns.tolist()
        return columns if self.feature_names is None else [self.feature_names[j] for j in columns]

    def document(self) -> dict[str, Any]:
        """The proof as JSON values: numbers are floats where these are exact, else "numerator/denominator"."""
        certificate = {
            "kind": "separation",
            "status": self.status,
            "offset": self.offset,
            "margin": self.margin,
            "margin_upper": self.margin_upper,
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
            "format": "gapless separation",
            "schema": 1,
            "version": gapless.__version__,
            "classes": encode_classes(self.all_classes),
            "n_features": int(self.fingerprint["n_features"]),
            "feature_names": self.feature_names,
            "certificate": certificate,
        }

    def to_json(self, indent: int | None = None) -> str:
        """The proof as text. ``indent`` as in json.dumps."""
        return json.dumps(self.document(), indent=indent, allow_nan=False, ensure_ascii=False)

    def __str__(self) -> str:
        how = {
            "complete": f"completely separated, with a margin of {self._margins()}",
            "quasi": f"quasi-separated: {self.on_plane.size} of {self.n_counted} rows lie on the separating hyperplane, "
            "none on the wrong side",
            "overlap": "not separated: they overlap, and the maximum-likelihood estimate exists",
        }[self.status]
        proof = "w and b prove it"
        if self.status != "complete":
            proof = f"multipliers of {self.rows.size} rows prove that no hyperplane " + (
                "separates them strictly" if self.status == "quasi" else "separates any of them"
            )
        where = ""
        if self.status != "overlap":
            where = f" Columns involved: {listed(self.named_columns)}."
        return f"the classes are {how}; {proof}.{where}"

    def _margins(self) -> str:
        least = short(self.margin or 0.0, 6)
        if self.margin_upper is None or self.margin is None:
            return f"at least {least}"
        if self.margin_upper <= self.margin * (1.0 + 1e-6):
            return f"{least}, and none is larger"
        return f"at least {least} and at most {short(self.margin_upper, 6, up=True)}"

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


@audible()
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
    names = getattr(X, "columns", None)
    X = check_array(X, accept_sparse="csr", dtype=None, ensure_min_features=0, estimator="separability")
    X = _numbers(X)
    labels = encode_labels(y)
    if labels.index.size != X.shape[0]:
        raise ValueError(f"X has {X.shape[0]} rows, y {labels.index.size}")
    weights = check_sample_weight(sample_weight, X.shape[0])
    keep = None if sample_weight is None or (weights > 0).all() else np.flatnonzero(weights > 0)
    named = fingerprint(X, labels.index, None if sample_weight is None else weights)
    with one_blas_thread():
        return decide(X if keep is None else X[keep], labels, keep, bool(fit_intercept), named, names)


def decide(
    rows: Any, labels: Labels, keep: np.ndarray | None, offset: bool, named: dict[str, Any], names: Any = None
) -> Separability:
    """The same for rows that have been read: those that count, ``keep`` being their numbers, with the fingerprint of all."""
    stand, index = _present(labels, keep)
    problem = Separation(rows, index, stand.size, offset)
    try:
        found = separate(problem)
    except Undecided as error:
        raise Undecided(
            f"{error}. Whether a hyperplane separates these classes hangs on digits that float64 does not resolve. Scale the "
            "columns of X (StandardScaler, MaxAbsScaler) or drop columns that nearly repeat others, and ask again"
        ) from None
    names = None if names is None else [str(name) for name in names]
    return _told(problem, found, stand, labels.classes, keep, named, names)


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
    found: Proof,
    classes: np.ndarray,
    everything: np.ndarray,
    keep: np.ndarray | None,
    named: dict[str, Any],
    names: list[str] | None,
) -> Separability:
    """The finding in the user's rows, columns and classes."""
    row, rival = problem.split(found.pairs)
    all_rows = np.arange(problem.n) if keep is None else keep
    w = b = margin = upper = direction = narrow = None
    columns = on_plane = np.zeros(0, dtype=np.int64)
    multipliers = found.multipliers
    if found.theta is not None and found.signs is not None:
        lines = Direction(found.theta)
        direction = _fractions(found.theta if found.status == "complete" else lines.whole)
        # Floats are the proof as they stand; Fractions are shown by the floats next to some multiple of them.
        floats = found.theta if found.theta.dtype == np.float64 else lines.floats
        w, b = _lines(floats, problem)
        narrow = None if found.narrow is None else _fractions(found.narrow)
        used = found.theta if narrow is None else narrow
        columns = np.flatnonzero((used[:, : problem.d] != 0).any(axis=0))
        on_plane = all_rows[np.flatnonzero((found.signs == 0).any(axis=1))]
        if found.status == "complete":
            margin = _margin(problem, lines)
            upper = _bound(problem, found.pairs, multipliers)
            if upper is None:
                row, rival, multipliers = row[:0], rival[:0], []
    return Separability(
        found.status, margin, w, b, all_rows[row], multipliers, columns, classes,
        classes[rival], everything, margin_upper=upper, narrow=narrow,
        on_plane=on_plane, direction=direction, kernel=tuple(found.kernel), offset=problem.offset, fingerprint=named,
        feature_names=names, n_counted=problem.n,
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


def _margin(problem: Separation, theta: Direction) -> float:
    """The smallest distance of a row to a boundary of its class, rounded down: rows that may be it, in fractions."""
    floats = theta.floats
    value, room = problem.enclosed(floats)
    with np.errstate(all="ignore"):
        lengths = np.array([[_norm(u - v) for v in _all_lines(floats, problem)] for u in _all_lines(floats, problem)])
        own, others = problem.index[:, None], np.arange(problem.K - 1)[None, :]
        length = lengths[own, others + (others >= own)]
        low, high = (value - room) / length * (1.0 - 2.0**-40), (value + room) / length * (1.0 + 2.0**-40)
    safe = bounds_hold(problem, theta)
    candidates = np.flatnonzero((~(low > np.nanmin(high))).any(axis=1)) if safe else np.arange(problem.n)
    if candidates.size > 2_000:  # fractions of more rows take seconds
        if not safe:
            return 0.0
        least = float(np.nanmin(np.where(length > 0, low, np.inf)))
        return least if 0.0 < least < math.inf else 0.0
    whole = [[0] * problem.d, *theta.whole[:, : problem.d].tolist()]
    least_square = None
    for row, line in zip(candidates.tolist(), exact_values(problem, theta, candidates)):
        k = int(problem.index[row])
        for j, v in enumerate(line):
            square = sum((p - q) ** 2 for p, q in zip(whole[k], whole[j + (j >= k)]))
            if square and (least_square is None or v * v / square < least_square):
                least_square = v * v / square
    return 0.0 if least_square is None else _root_below(least_square)


def _all_lines(theta: np.ndarray, problem: Separation) -> np.ndarray:
    return np.vstack([np.zeros((1, problem.d)), theta[:, : problem.d]])


def _norm(v: np.ndarray) -> float:
    return math.hypot(*v.tolist())


def _root_below(square: Fraction) -> float:
    """The square root, rounded down."""
    shift = 128 + max(0, square.denominator.bit_length() - square.numerator.bit_length())
    shift += shift % 2
    exact = Fraction(math.isqrt((square.numerator << shift) // square.denominator), 1 << (shift // 2))
    rounded = float(exact)
    return rounded if Fraction(rounded) <= exact else math.nextafter(rounded, 0.0)


def _bound(problem: Separation, pairs: np.ndarray, multipliers: list[Fraction]) -> float | None:
    """|sum alpha y x|, rounded up."""
    if not pairs.size or pairs.size * problem.size > 2_000_000:  # numbers whose exact sum would take seconds
        return None
    whole = integers_of(problem, pairs)
    common = math.lcm(*(v.denominator for v in multipliers))
    weights = np.array([v.numerator * (common // v.denominator) for v in multipliers], dtype=object)
    total = weights @ whole.values.astype(object)
    lowest = int(whole.exponents.min(initial=0))
    square = sum(((int(v) << (int(e) - lowest)) ** 2 for v, e in zip(total[: problem.d], whole.exponents)), 0)
    # sqrt(square) 2^lowest / common, with 60 bits to spare
    root = math.isqrt(square << 120) + 1
    exact = Fraction(root, common << 60) * Fraction(2) ** lowest
    rounded = float(exact)
    return rounded if Fraction(rounded) >= exact else math.nextafter(rounded, math.inf)
