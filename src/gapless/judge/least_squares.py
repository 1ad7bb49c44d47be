"""Least squares certificates: residuals, their orthogonality to the columns, and the gap where there is a penalty.

    F(w, b) = sum_i s_i (y_i - <w, x_i> - b)^2 + alpha |w|^2,      A = S^(1/2) [X, 1],   r the residuals, g = A'S^(1/2)r - alpha w

At the optimum g = 0.  F is quadratic, so F - F* = g'(A'A + alpha I)^-1 g <= |D^-1 g|^2 / sigma^2, with D the lengths of the
columns and sigma any lower bound on the smallest singular value of A D^-1.  The rigorous check encloses g by Higham's
bounds and proves sigma by a Cholesky factorisation that goes through (Rump): if it does for the computed matrix
less c I, then sigma^2 >= c - (what the factorisation and the products can be off by).  Where that proves nothing, F* >= 0 is
all that is claimed.  A shift of the columns by constants changes neither F* nor r, as long as there is an offset.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal

import numpy as np

from .classes import class_weights_agree, label_index, sorted_unique, weights_of_rows
from .document import FORMAT, SCHEMA, STATUSES, is_count, is_number, newer_schema, number
from .errors import CertificateError
from .fingerprint import digest, row_hashes
from .recompute import Combination, Task, evaluate, score_bounds
from .rounding import UNIT, Interval, Sums, down, exactly, gamma, up
from .rows import Block, DenseBlock, Rows, SparseBlock, SparseRows, as_rows, first_non_finite
from .verdict import Claim, Verdict

ESTIMATORS = ("LinearRegression", "Ridge", "LeastSquaresClassifier")
#: A certificate may admit at most this many times the judge's own bound for its rounding.
ROUNDING_FACTOR = 4.0
#: Columns up to which the smallest singular value is proved.
MOST_COLUMNS = 500
#: A column that varies by less than this part of its length is constant up to rounding.
CONSTANT = 2.0**-44

_GAP = ("primal", "dual", "gap", "relative_gap")
_CHECKED = ("alpha", "tol", "fit_intercept", "positive", "class_weight")


def speaks_of(document: Any) -> bool:
    """Whether a document is one of these."""
    return isinstance(document, Mapping) and document.get("estimator") in ESTIMATORS


def check(
    document: Mapping[str, Any],
    arrays: Mapping[str, Any],
    X: Any,
    y: Any,
    sample_weight: Any = None,
    rigorous: bool | Literal["exact"] = False,
) -> Verdict:
    """Judge a least squares certificate; the verdict and the errors are those of ``judge.check``."""
    if rigorous == "exact":
        raise ValueError("rigorous='exact' is not offered for least squares; rigorous=True proves bounds")
    newer = newer_schema(document)
    found = f"was {newer}" if newer else flaw(document)
    if found:
        raise CertificateError(f"the certificate {found}" if newer else f"the certificate cannot be read: {found}")
    case = _Case(document, arrays, X, y, sample_weight)
    claims = [Claim("data", "fingerprint", "fingerprint", True, "rows, targets and weights are those of the fit")]
    sound = case.statement_claims(claims)
    bounds: list[tuple[float, float, float]] = []
    if sound:
        with np.errstate(all="ignore"):
            case.figures(claims)
            if rigorous:
                bounds = case.gap_bounds if case.kind == "gap" else case.prove()
    case.total_claims(claims)
    claims = [claim._replace(holds=bool(claim.holds)) for claim in claims]
    return Verdict(claims, case.unchecked(), bounds, "proved bounds, float64" if rigorous else "float64")


# -- the form of the document ------------------------------------------------------------------------------------------


def _is_status(value: Any) -> bool:
    return isinstance(value, str) and value in STATUSES


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_dict(value: Any) -> bool:
    return isinstance(value, dict)


def _is_numbers(value: Any) -> bool:
    return isinstance(value, list) and len(value) > 0 and all(map(is_number, value))


Test = Callable[[Any], bool]
_TOP: dict[str, Test] = {
    "format": lambda v: v == FORMAT,
    "schema": lambda v: v == SCHEMA,
    "version": _is_text,
    "estimator": lambda v: v in ESTIMATORS,
    "parameters": _is_dict,
    "classes": lambda v: v is None or isinstance(v, dict),
    "n_features": is_count,
    "feature_names": lambda v: v is None or (isinstance(v, list) and all(map(_is_text, v))),
    "target": lambda v: v is None or isinstance(v, str),
    "dtype": lambda v: v in ("float64", "float32"),
    "problem": _is_dict,
    "certificate": _is_dict,
}
_PROBLEM: dict[str, Test] = {
    "loss": lambda v: v == "squared",
    "offset": lambda v: v in ("free", "none"),
    "alpha": _is_numbers,
    "class_weight": lambda v: v is None or _is_numbers(v),
}
_CERTIFICATE: dict[str, Test] = {
    "kind": lambda v: v in ("gap", "orthogonality"),
    "tol": is_number,
    "status": _is_status,
    "rank": lambda v: v is None or is_count(v),
    "condition": is_number,
    "n_iter": is_count,
    "seconds": is_number,
    "backend": _is_text,
    "solver": _is_text,
    "fingerprint": _is_dict,
    "targets": lambda v: isinstance(v, list) and len(v) > 0 and all(map(_is_dict, v)),
}
_FINGERPRINT: dict[str, Test] = {
    "n_rows": is_count,
    "n_features": is_count,
    "rows": _is_text,
    "labels": _is_text,
    "weights": _is_text,
}
_TARGET: dict[str, Test] = {"status": _is_status, "rss": is_number, "r2": is_number, "rounding": is_number}


def flaw(document: Any) -> str | None:
    """The first thing wrong with the form of a document, in words; None where there is nothing."""
    found = _missing(document, _TOP, "", ("arrays",)) or _missing(document["problem"], _PROBLEM, "problem.")
    found = found or _missing(document["certificate"], _CERTIFICATE, "certificate.")
    if found:
        return found
    certificate = document["certificate"]
    found = _missing(certificate["fingerprint"], _FINGERPRINT, "certificate.fingerprint.")
    wanted = {**_TARGET, **dict.fromkeys(_GAP if certificate["kind"] == "gap" else ("orthogonality",), is_number)}
    for k, target in enumerate(certificate["targets"]):
        found = found or _missing(target, wanted, f"certificate.targets[{k}].")
    if found:
        return found
    if len(document["problem"]["alpha"]) != len(certificate["targets"]):
        return "problem.alpha has not one number for each target"
    classes, weights = document["classes"], document["problem"]["class_weight"]
    if (document["estimator"] == "LeastSquaresClassifier") != (classes is not None):
        return "classes do not go with the estimator"
    if classes is not None:
        kind: Any = {"int": int, "float": (int, float), "bool": bool, "str": str}.get(str(classes.get("type")))
        values = classes.get("values")
        if kind is None or not isinstance(values, list) or len(values) < 2:
            return "classes is not a type and a list of values"
        if not all(isinstance(v, kind) for v in values) or weights is None or len(weights) != len(values):
            return "classes, their type and their weights do not agree"
    elif weights is not None:
        return "there are class weights without classes"
    return None


def _missing(block: Any, tests: dict[str, Test], where: str, optional: tuple[str, ...] = ()) -> str | None:
    for key, test in tests.items():
        if key not in block:
            return f"the entry {where}{key} is missing"
        if not test(block[key]):
            return f"the entry {where}{key} is {repr(block[key])[:60]}"
    beyond = [key for key in block if key not in tests and key not in optional]
    return f"the entry {where}{beyond[0]} is unknown"[:100] if beyond else None


# -- the check -----------------------------------------------------------------------------------------------------------


class _Case:
    """One document with the data it speaks of: S targets, weights s, the model in float64."""

    def __init__(
        self, document: Mapping[str, Any], arrays: Mapping[str, Any], X: Any, y: Any, sample_weight: Any
    ) -> None:
        self.document = document
        self.parameters, self.problem = document["parameters"], document["problem"]
        self.block = document["certificate"]
        self.targets, self.kind = self.block["targets"], self.block["kind"]
        self.S, self.d = len(self.targets), document["n_features"]
        self.rows: Rows = as_rows(X)
        self._same_rows()
        n = self.n = self.rows.shape[0]
        self.W, self.b = self._array(arrays, "coef", (self.S, self.d)), self._array(arrays, "intercept", (self.S,))
        self.U = self._array(arrays, "dual", (self.S, n), "float64") if self.kind == "gap" else None
        self.weights = weights_of_rows(sample_weight, n)
        mark = self.block["fingerprint"]
        advice = "give the judge exactly what fit was given"
        if digest(row_hashes(self.rows), "<u8") != mark["rows"]:
            raise CertificateError(f"other data: the rows of X are not those of the fit ({advice})")
        self.index: np.ndarray | None = None
        if document["classes"] is not None:
            self.index = label_index(y, document["classes"], n)
            K = len(document["classes"]["values"])
            positives = [1] if K == 2 else list(range(K))
            self.Y = np.where(self.index[None, :] == np.array(positives)[:, None], 1.0, -1.0)
            seen = digest(self.index, "<i8")
        else:
            self.Y, seen = _targets(y, n)
        if seen != mark["labels"]:
            raise CertificateError(f"other targets: y is not that of the fit ({advice})")
        if digest(self.weights, "<f8") != mark["weights"]:
            missing = "no sample_weight was given" if sample_weight is None else "sample_weight is not that of the fit"
            raise CertificateError(f"other weights: {missing} ({advice})")
        if len(self.Y) != self.S:
            raise CertificateError(f"the certificate cannot be read: {self.S} targets, y has {len(self.Y)}")
        self.alpha = np.array([number(a) for a in self.problem["alpha"]])
        self.s = self.weights
        if self.index is not None:
            self.s = self.weights * np.array([number(w) for w in self.problem["class_weight"]])[self.index]
        self.free = self.problem["offset"] == "free"
        self.gap_bounds: list[tuple[float, float, float]] = []

    def _same_rows(self) -> None:
        claimed = self.block["fingerprint"]
        n, d = self.rows.shape
        if (n, d) != (claimed["n_rows"], claimed["n_features"]) or d != self.d:
            fit = f"{claimed['n_rows']} rows and {claimed['n_features']} features"
            raise CertificateError(f"other data: X has {n} rows and {d} features, the certificate speaks of {fit}")
        bad = first_non_finite(self.rows)
        if bad is not None:
            raise CertificateError(f"other data: row {bad} of X has a value that is not finite; no fit was made on it")

    def _array(
        self, arrays: Mapping[str, Any], name: str, shape: tuple[int, ...], dtype: str | None = None
    ) -> np.ndarray:
        try:
            array = np.asarray(arrays[name])
        except (KeyError, TypeError, ValueError):
            raise CertificateError(f"the certificate cannot be read: there is no array {name}") from None
        wanted = dtype or self.document["dtype"]
        if array.shape != shape or array.dtype != np.dtype(wanted):
            raise CertificateError(
                f"the certificate cannot be read: {name} is {array.dtype} {array.shape}, it should be {wanted} {shape}"
            )
        return array.astype(np.float64)

    def statement_claims(self, claims: list[Claim]) -> bool:
        """Parameters and problem agree; False where what they state cannot be evaluated."""
        p = self.parameters
        given = p.get("alpha", 0.0)
        listed = given if isinstance(given, list) else [given]
        listed = listed * self.S if len(listed) == 1 else listed
        good = len(listed) == self.S and all(map(is_number, listed))
        good = good and [number(a) for a in listed] == self.alpha.tolist()
        claims.append(Claim("alpha", self.alpha.tolist(), given, good))
        usable = bool((np.isfinite(self.alpha) & (self.alpha >= 0)).all())
        claims.append(Claim("alpha >= 0", usable, True, usable))
        kind = "gap" if usable and bool((self.alpha > 0).all()) else "orthogonality"
        claims.append(Claim("kind", self.kind, kind, self.kind == kind, "a gap where every alpha > 0"))
        fit = p.get("fit_intercept")
        claims.append(Claim("offset", self.problem["offset"], fit, isinstance(fit, bool) and fit == self.free))
        if not self.free:
            claims.append(Claim("no offset", 0.0, None, not self.b.any(), "the intercept is 0"))
        tol = number(self.block["tol"])
        good_tol = is_number(p.get("tol")) and number(p["tol"]) == tol and math.isfinite(tol) and tol >= 0
        claims.append(Claim("tol", tol, p.get("tol"), good_tol))
        if p.get("positive", False) is not False:
            claims.append(Claim("positive", p["positive"], False, False, "is another problem than the one certified"))
        if self.index is not None:
            values = self.document["classes"]["values"]
            resolved = [number(w) for w in self.problem["class_weight"]]
            agree, expected = class_weights_agree(p.get("class_weight", ""), values, resolved, self.index, self.weights)
            claims.append(Claim("class weights", resolved, expected, agree))
            claims.append(Claim("classes", f"{len(values)} classes", None, sorted_unique(values), "sorted, each once"))
        arrays = (self.W, self.b, self.Y) if self.U is None else (self.W, self.b, self.Y, self.U)
        finite = all(bool(np.isfinite(a).all()) for a in arrays)
        claims.append(Claim("finite", "model and targets", None, finite))
        weighty = bool(np.isfinite(self.s).all() and (self.s >= 0).all() and (self.s > 0).any())
        claims.append(Claim("row weights", "finite, not all 0", None, weighty))
        return usable and finite and weighty and self.kind == kind

    # -- float64 -----------------------------------------------------------------------------------------------------

    def _blocks(self) -> Iterator[tuple[Block, np.ndarray, np.ndarray]]:
        """(rows, their weights, their targets) of the rows with weight."""
        for block in self.rows.blocks():
            part = slice(block.start, block.start + block.n)
            s, y = self.s[part], self.Y[:, part]
            keep = s > 0
            if not keep.all():
                block, s, y = block.take(keep), s[keep], y[:, keep]
            if block.n:
                yield block, s, y

    def figures(self, claims: list[Claim]) -> None:
        mass, raw2, mean, sum_y, count = 0.0, np.zeros(self.d), np.zeros(self.d), np.zeros(self.S), 0
        first: np.ndarray | None = None
        for block, s, y in self._blocks():
            if first is None:
                first = block.values[0].copy() if isinstance(block, DenseBlock) else np.zeros(self.d)
            moved = DenseBlock(0, block.values - first) if isinstance(block, DenseBlock) else block
            mean += _times(moved, s[None, :])[0]
            raw2 += _times(_squared(block), s[None, :])[0]
            mass, sum_y, count = mass + float(s.sum()), sum_y + y @ s, count + block.n
        assert first is not None
        mean, mean_y = (first + mean / mass) * self.free, sum_y / mass
        centred2, rss, tss, size2 = np.zeros(self.d), np.zeros(self.S), np.zeros(self.S), np.zeros(self.S)
        gradient, slope = np.zeros((self.S, self.d)), np.zeros(self.S)
        for block, s, y in self._blocks():
            r = y - block.scores(self.W).T - self.b[:, None]
            rss, tss, size2 = rss + (r * r) @ s, tss + ((y - mean_y[:, None]) ** 2) @ s, size2 + (y * y) @ s
            weighted = r * s
            slope += weighted.sum(axis=1)
            if isinstance(block, DenseBlock):
                moved = DenseBlock(0, block.values - mean)
                gradient += _times(moved, weighted)
                centred2 += _times(_squared(moved), s[None, :])[0]
            else:
                gradient += _times(block, weighted) - np.outer(weighted.sum(axis=1), mean)
        if isinstance(self.rows, SparseRows):
            centred2 = np.maximum(raw2 - mass * mean * mean, 0.0)
        gradient -= self.alpha[:, None] * self.W
        raw = np.sqrt(raw2)
        scale = np.maximum(np.sqrt(centred2), CONSTANT * raw) if self.free else raw
        length = np.sqrt(rss)
        below = scale * length[:, None]
        cosines = np.divide(np.abs(gradient), below, out=np.zeros_like(gradient), where=below > 0).max(
            axis=1, initial=0.0
        )
        if self.free:
            edge = math.sqrt(mass) * length
            cosines = np.maximum(cosines, np.divide(np.abs(slope), edge, out=np.zeros(self.S), where=edge > 0))
        terms = np.abs(self.W) @ raw + np.abs(self.b) * math.sqrt(mass)
        error = gamma(self.d + 4) * terms + 2.0 * gamma(2) * np.sqrt(size2)
        unit = 2.0**-24 if self.document["dtype"] == "float32" else 0.0
        sums = gamma(2048 + count / 256)
        part = np.divide(error + unit * terms, length, out=np.zeros(self.S), where=length > 0)
        room = np.minimum(2.0 * part + 4.0 * sums, 2.0)
        noise = np.divide(error, length, out=np.zeros(self.S), where=length > 0) * 2.0 + 4.0 * sums
        rss_room = 2.0 * error * length + error**2 + 4.0 * sums * rss
        self.rss, self.mass, self.square = rss.tolist(), mass, float(raw2.sum())
        if self.kind == "gap":
            self._gap_claims(claims)
        for k, target in enumerate(self.targets):
            which = f"[{k}] " if self.S > 1 else ""
            claimed = number(target["rss"])
            holds = math.isfinite(claimed) and abs(claimed - rss[k]) <= 4.0 * rss_room[k]
            claims.append(Claim(which + "residual sum of squares", claimed, float(rss[k]), holds))
            self._r2_claim(claims, which, number(target["r2"]), float(rss[k]), float(tss[k]), float(rss_room[k]), mass)
            if self.kind == "gap":
                continue
            limit = number(target["rounding"])
            honest = 0.0 <= limit <= ROUNDING_FACTOR * float(room[k])
            claims.append(Claim(which + "rounding", limit, float(room[k]), honest, "is at most what rounding can need"))
            cosine = number(target["orthogonality"])
            holds = math.isfinite(cosine) and abs(cosine - cosines[k]) <= 4.0 * float(noise[k]) + 1e-9 * abs(cosine)
            claims.append(Claim(which + "orthogonality", cosine, float(cosines[k]), holds))
        self._rank_claim(claims, count)

    def _r2_claim(
        self, claims: list[Claim], which: str, claimed: float, rss: float, tss: float, room: float, mass: float
    ) -> None:
        k = 0 if not which else int(which.strip("[] "))
        size = float(np.abs(self.Y[k][self.s > 0]).max(initial=0.0)) * 2.0**-50
        edge = mass * size * size
        if math.isnan(claimed):
            claims.append(Claim(which + "R2", claimed, None, tss <= 4.0 * edge, "of a constant target: not defined"))
            return
        found = 1.0 - rss / tss if tss > 0 else math.nan
        # The mean of y is known to some ulps, which count where y hardly varies.
        loose = 1e-9 + (8.0 * math.sqrt(edge / tss) if tss > 0 else 0.0)
        near = tss > 0 and abs(claimed - found) <= 8.0 * room / tss + loose * (1.0 + abs(found))
        holds = tss >= 0.25 * edge and near
        claims.append(Claim(which + "R2", claimed, found, holds))

    def _rank_claim(self, claims: list[Claim], count: int) -> None:
        rank = self.block["rank"]
        if rank is None:
            return
        most = min(count - self.free, self.d) if count else 0
        sure = 0
        if self.d <= MOST_COLUMNS:
            G, lengths, _ = self._products(self.free)
            G = G[: self.d, : self.d]
            values = np.linalg.eigvalsh(G - np.outer(self._mean_part, self._mean_part) if self.free else G)
            noise = 1e-10 + 100.0 * gamma(self.depth) * (self.d + 1)
            sure = int((values > noise * max(1.0, float(values[-1]))).sum()) if lengths.size else 0
        claims.append(Claim("rank", rank, None, sure <= rank <= max(most, 0), f"between {sure} and {max(most, 0)}"))

    def _gap_claims(self, claims: list[Claim]) -> None:
        assert self.U is not None
        tol = number(self.block["tol"])
        for k, target in enumerate(self.targets):
            which = f"[{k}] " if self.S > 1 else ""
            c = self.s / self.alpha[k]
            one = slice(k, k + 1)
            task = Task(self.rows, self.Y[one], c, "squared", "free" if self.free else "none")
            found = evaluate(task, self.W[one], self.b[one], self.U[one])[0]
            values = {name: number(target[name]) for name in (*_GAP, "rounding")}
            most = ROUNDING_FACTOR * (found.textbook + self._rough(k, found.gap.up))
            honest = found.finite and 0.0 <= values["rounding"] <= most
            claims.append(
                Claim(which + "rounding", values["rounding"], most, honest, "is at most what float64 can need")
            )
            size = abs(values["primal"]) + abs(values["dual"])
            room = (values["rounding"] if honest else 0.0) + 2.0 * UNIT * size
            for name, interval in (("primal", found.primal), ("dual", found.dual), ("gap", found.gap)):
                holds = found.finite and interval.low - room <= values[name] <= interval.up + room
                claims.append(Claim(which + name, values[name], 0.5 * interval.low + 0.5 * interval.up, holds))
            scale = max(abs(values["primal"]), abs(values["dual"]))
            relative = values["gap"] / scale if scale > 0 else 0.0
            holds = abs(values["relative_gap"] - relative) <= 8.0 * UNIT * abs(relative)
            claims.append(Claim(which + "relative gap", values["relative_gap"], relative, holds))
            self.gap_bounds.append((found.primal.up, found.dual.low, found.gap.up))
            if honest:
                reached = values["relative_gap"] <= tol or values["gap"] <= values["rounding"]
                self._status_claim(claims, which, target["status"], reached)

    def _rough(self, k: int, gap: float) -> float:
        """What P - D may be off by where lengths stand for the products of rows and model: a cap, no proof."""
        assert self.U is not None
        keep = self.s > 0
        c, u = self.s[keep] / self.alpha[k], self.U[k][keep]
        rows = math.sqrt((self.square + self.mass) / self.alpha[k])
        theta = math.sqrt(float(self.W[k] @ self.W[k]) + float(self.b[k]) ** 2)
        score = gamma(self.d + 8) * theta * rows
        n = u.size
        off = gamma(min(n, 1024) + n / 256 + 64) * math.sqrt(float((u * u / c).sum())) * rows
        combined = math.sqrt(float(self.W[k] @ self.W[k])) + math.sqrt(
            2.0 * max(0.0, gap) if math.isfinite(gap) else 0.0
        )
        return score * (math.sqrt(self.rss[k] / self.alpha[k]) + score) + off * (combined + off)

    def _status_claim(self, claims: list[Claim], which: str, status: str, reached: bool) -> None:
        wanted = "converged" if reached else "not converged"
        claims.append(Claim(which + "status", status, wanted, (status == "converged") == reached))

    def total_claims(self, claims: list[Claim]) -> None:
        """The status of each target follows from its figures, and that of the whole from theirs."""
        tol = number(self.block["tol"])
        if self.kind == "orthogonality":
            for k, target in enumerate(self.targets):
                which = f"[{k}] " if self.S > 1 else ""
                reached = number(target["orthogonality"]) <= tol + number(target["rounding"])
                self._status_claim(claims, which, target["status"], reached)
        statuses = {target["status"] for target in self.targets}
        fitting = {"converged"} if statuses == {"converged"} else statuses - {"converged"}
        status = self.block["status"]
        claims.append(Claim("status", status, " or ".join(sorted(fitting)), status in fitting))

    def unchecked(self) -> list[str]:
        others = [str(name)[:40] for name in self.parameters if name not in _CHECKED]
        listed = ["seconds", "backend", "n_iter", "solver", "condition", "which ending, if not converged", "version"]
        if others:
            listed.append("parameters that do not change the optimum: " + ", ".join(others[:40]))
        return listed

    # -- proofs --------------------------------------------------------------------------------------------------------

    def _products(self, free: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The matrix A'A of the shifted columns (and 1), scaled to a diagonal of 1; the lengths D; the shift.

        Columns that are 0 stay 0 with length 0.  Entries are off by at most gamma_m with m = the largest block + the
        number of blocks + 16 (shift, weights, scaling), relative to the product of the lengths.
        """
        width = self.d + 1
        G = np.zeros((width, width))
        shift: np.ndarray | None = None
        self.depth = blocks = 0
        for block, s, _ in self._blocks():
            values = _filled(block)
            if shift is None:
                shift = values[0].copy() if free else np.zeros(self.d)
            t = np.hstack([values - shift, np.full((block.n, 1), 1.0 if free else 0.0)])
            G += t.T @ (t * s[:, None])
            blocks += 1
            self.depth = max(self.depth, block.n)
        assert shift is not None
        self.depth += blocks + 16
        lengths = np.sqrt(np.maximum(np.diag(G), 0.0))
        inverse = np.divide(1.0, lengths, out=np.zeros(width), where=lengths > 0)
        G = 0.5 * (G + G.T) * inverse * inverse[:, None]
        self._mean_part = G[: self.d, -1].copy()
        return G, lengths, shift

    def _smallest(self, G: np.ndarray) -> float:
        """A proved lower bound on the smallest eigenvalue of the exact matrix; 0 where nothing is proved."""
        m = len(G)
        if m == 0:
            return 0.0
        off = up(up(gamma(self.depth) * 4.0 * m) + gamma(m + 4) * 4.0 * (float(np.trace(G)) + 1.0))
        guess = float(np.linalg.eigvalsh(G)[0])
        c = guess - off
        for _ in range(3):
            if not c > off:
                return 0.0
            try:
                np.linalg.cholesky(G - c * np.eye(m))
            except np.linalg.LinAlgError:
                c *= 0.5
                continue
            return float(down(c - off))
        return 0.0

    def prove(self) -> list[tuple[float, float, float]]:
        """(F from above, F* from below, F - F* from above) of each target, in exact arithmetic."""
        combined, slopes = Combination((self.S, self.d)), Sums(self.S)
        low_sum, high_sum = Sums(self.S), Sums(self.S)
        for block, s, y in self._blocks():
            magnitude = block.absolute()
            z_low, z_high = score_bounds(block, magnitude, self.W, self.b)
            low, high = down(y - z_high), up(y - z_low)
            near, far = np.maximum(0.0, np.maximum(low, -high)), np.maximum(np.abs(low), np.abs(high))
            low_sum.add(np.maximum(0.0, down(s * down(near * near))))
            high_sum.add(up(s * up(far * far)))
            low, high = down(s * low), up(s * high)
            middle = 0.5 * low + 0.5 * high
            spread = up(np.maximum(high - middle, middle - low))
            combined.add(block, magnitude, middle, spread)
            slopes.add(middle)
            slopes.radius = up(slopes.radius + up(spread.sum(axis=1) * (1.0 + 1e-9)))
        v, reach = combined.result()
        lows, highs, sums = low_sum.intervals(), high_sum.intervals(), slopes.intervals()
        least, lengths, shift = 0.0, np.zeros(0), np.zeros(self.d)
        if self.d <= MOST_COLUMNS:
            G, lengths, shift = self._products(self.free)
            kept = lengths > 0
            if not lengths[kept].min(initial=1.0) < 1e-140:  # squares that underflow prove nothing
                least = self._smallest(G[np.ix_(kept, kept)])
        bounds = []
        for k in range(self.S):
            square = sum((exactly(x).square() for x in self.W[k].tolist()), Interval(0.0, 0.0))
            penalty = exactly(float(self.alpha[k])) * square
            total = Interval(lows[k].low, highs[k].up).positive() + penalty
            excess = total.up
            if least > 0.0:
                step = Interval(0.0, 0.0)
                for j in np.flatnonzero(lengths > 0).tolist():
                    if j == self.d:
                        g = sums[k]
                    else:
                        g = Interval.outward(v[k, j] - reach[k, j], v[k, j] + reach[k, j])
                        g = g - exactly(float(shift[j])) * sums[k]
                        g = g - exactly(float(self.alpha[k])) * exactly(float(self.W[k, j]))
                    step = step + (abs(g) / exactly(float(lengths[j]))).square()
                excess = min(excess, (step / exactly(least)).up)
            bounds.append((total.up, max(0.0, (exactly(total.low) - exactly(excess)).low), excess))
        return bounds


def _targets(y: Any, n: int) -> tuple[np.ndarray, str]:
    """Targets (S, n) in float64 and the digest of their rows."""
    if hasattr(y, "to_numpy") and not isinstance(y, np.ndarray):
        y = y.to_numpy()
    try:
        values = np.asarray(y, dtype=np.float64) + 0.0
    except (TypeError, ValueError) as error:
        raise CertificateError(f"other targets: y does not hold numbers ({error})") from None
    if values.ndim not in (1, 2) or values.shape[0] != n:
        raise CertificateError(f"other targets: y has shape {values.shape}, X has {n} rows")
    values = values.reshape(n, -1)
    return np.ascontiguousarray(values.T), digest(values, "<f8")


def _times(block: Block, U: np.ndarray) -> np.ndarray:
    """U X"""
    return np.sum(list(block.combine(U)), axis=0)


def _squared(block: Block) -> Block:
    if isinstance(block, DenseBlock):
        return DenseBlock(block.start, block.values * block.values)
    return SparseBlock(block.start, block.data * block.data, block.indices, block.indptr, block.n_features)


def _filled(block: Block) -> np.ndarray:
    if isinstance(block, DenseBlock):
        return block.values
    out = np.zeros((block.n, block.n_features))
    out[np.repeat(np.arange(block.n), np.diff(block.indptr)), block.indices] = block.data
    return out
