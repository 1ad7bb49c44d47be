"""Certificates of Gaussian classes: these are the moments of the data, and this is the rule of Bayes for them.

    mean_k = sum w x / mass,   S_k = sum w (x - mean_k)(x - mean_k)' / mass,   prior_k = the share of the mass, or as asked for
    S_k is shrunk to (1 - s_k) S_k + s_k T_k (T_k = tr(S_k)/d I; "auto": Ledoit and Wolf, on features of unit variance), then
    (reg_param) mixed with I; shared: S = sum_k share_k S_k;  spherical: tr(S)/d

    score_k(x) = ln prior_k - 1/2 (x - mean_k)' S^-1 (x - mean_k) - 1/2 ln det S

Nothing is optimised and nothing is near-optimal: each number is what the data say it is, but for rounding.  With one S the
differences of two scores are linear, and c = coef_k - coef_0 solves S c = mean_k - mean_0 on the range of S.  The residual
of that, features scaled to unit variance, may be what rounding makes of it, in proportion to the condition of S; so may the
distance of W'SW from I for a rule that is given by a whitening W.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ..classes import label_index, sorted_unique, weights_of_rows
from ..document import TIMES, is_number, number, refuse_unreadable
from ..errors import CertificateError
from ..fingerprint import digest, row_hashes
from ..rounding import UNIT, gamma
from ..rows import DenseBlock, as_rows, first_non_finite
from ..verdict import Claim, Verdict
from .document import ESTIMATORS, LINEAR, QUADRATIC, array_forms, flaw

_CHECKED = ("covariance", "shrinkage", "priors", "reg_param", "solver", "covariance_estimator", "tol")


def speaks_of(document: Any) -> bool:
    """Whether a document is one of these."""
    return isinstance(document, Mapping) and document.get("estimator") in ESTIMATORS


def check(document: Mapping[str, Any], arrays: Mapping[str, Any], X: Any, y: Any, sample_weight: Any = None) -> Verdict:
    """Judge the moments and the rule of a document; the verdict and the errors are those of ``judge.check``."""
    refuse_unreadable(document, flaw)
    case = _Case(dict(document), arrays, X, y, sample_weight)
    claims = [Claim("data", "fingerprint", "fingerprint", True, "rows, labels and weights are those of the fit")]
    with np.errstate(all="ignore"):
        if case.statement_claims(claims):
            case.moment_claims(claims)
            case.rule_claims(claims)
    claims = [claim._replace(holds=bool(claim.holds)) for claim in claims]
    others = [str(name)[:40] for name in document["parameters"] if name not in _CHECKED]
    unchecked = [*TIMES, "backend", "condition", "version", "names of features", "what all scores have in common"]
    unchecked += ["the axes of transform"] if document["problem"]["components"] else []
    return Verdict(claims, [*unchecked, *(f"parameter {name}" for name in others[:40])], [], "float64")


class _Moments(NamedTuple):
    mass: float
    rows: int
    mean: np.ndarray
    covariance: np.ndarray
    largest: np.ndarray  # max |x_j|
    spread: np.ndarray  # what covariance may be off by
    auto: float  # the shrinkage of Ledoit and Wolf
    target: np.ndarray  # its diagonal


class _Case:
    def __init__(self, document: dict[str, Any], arrays: Mapping[str, Any], X: Any, y: Any, sample_weight: Any) -> None:
        self.document, self.block = document, document["certificate"]
        self.parameters, self.problem = document["parameters"], document["problem"]
        self.K, self.d = len(document["classes"]["values"]), document["n_features"]
        mark, rows = self.block["fingerprint"], as_rows(X)
        n, d = rows.shape
        if (n, d) != (mark["n_rows"], mark["n_features"]) or d != self.d:
            fit = f"{mark['n_rows']} rows and {mark['n_features']} features"
            raise CertificateError(f"other data: X has {n} rows and {d} features, the certificate speaks of {fit}")
        bad = first_non_finite(rows)
        if bad is not None:
            raise CertificateError(f"other data: row {bad} of X has a value that is not finite; no fit was made on it")
        advice = "give the judge exactly what fit was given"
        if digest(row_hashes(rows), "<u8") != mark["rows"]:
            raise CertificateError(f"other data: the rows of X are not those of the fit ({advice})")
        self.weights = weights_of_rows(sample_weight, n)
        if digest(self.weights, "<f8") != mark["weights"]:
            missing = "no sample_weight was given" if sample_weight is None else "sample_weight is not that of the fit"
            raise CertificateError(f"other weights: {missing} ({advice})")
        # A row of weight 0 is no row, and its label counts for nothing.
        labels, there = np.asarray(y), self.weights > 0
        if labels.shape != (n,):
            raise CertificateError(f"other labels: y has shape {labels.shape}, X has {n} rows")
        self.index = np.full(n, -1, dtype=np.int64)
        self.index[there] = label_index(labels[there], document["classes"], int(there.sum()))
        if digest(self.index, "<i8") != mark["labels"]:
            raise CertificateError(f"other labels: y is not that of the fit ({advice})")
        self.rows = rows
        self.unit = 2.0**-24 if document["dtype"] == "float32" else UNIT
        self.arrays: dict[str, np.ndarray] = {}
        for name, (dtype, shape) in array_forms(document).items():
            array = np.asarray(arrays.get(name))
            wanted = np.dtype(dtype).newbyteorder("=")
            if array.dtype != wanted or array.shape != tuple(shape):
                given = f"{name} is {array.dtype} {array.shape}, it should be {wanted} {tuple(shape)}"
                raise CertificateError(f"the certificate cannot be read: {given}")
            self.arrays[name] = array.astype(np.float64)

    # -- what was asked for

    def statement_claims(self, claims: list[Claim]) -> bool:
        p, values = self.parameters, self.document["classes"]["values"]
        rule = self.problem["rule"]
        if self.document["estimator"] == "GaussianDiscriminant":
            claims.append(Claim("covariance", rule, p.get("covariance"), rule == p.get("covariance")))
        by = "priors" if self.document["estimator"] == LINEAR and p.get("solver") != "svd" else "shares"
        pooled = self.problem["pooled_by"]
        claims.append(Claim("pooled by", pooled, by, pooled == by))
        none = p.get("covariance_estimator") is None
        claims.append(Claim("covariance estimator", None, None, none, "" if none else "cannot be recomputed"))
        claims.append(Claim("classes", f"{self.K} classes", None, sorted_unique(values), "sorted, each once"))
        present = all(bool((self.index == k).any()) for k in range(self.K))
        claims.append(Claim("classes of y", self.K, None, present, "each has a row with weight"))
        finite = all(bool(np.isfinite(a).all()) for name, a in self.arrays.items() if name != "intercept")
        finite = finite and not np.isnan(self.arrays.get("intercept", np.zeros(1))).any()  # ln of a prior of 0
        claims.append(Claim("finite", "moments and rule", None, finite))
        status = self.block["status"]
        claims.append(Claim("status", status, "converged", status == "converged", "a closed form"))
        return present and finite

    # -- moments

    def _class(self, k: int) -> _Moments:
        """Mean and covariance of class k in two passes, and bounds on what rounding did to them."""
        d, mass, count = self.d, 0.0, 0
        total, largest = np.zeros(d), np.zeros(d)
        first: np.ndarray | None = None
        for values, w in self._parts(k):
            first = values[0].copy() if first is None else first
            mass, count = mass + float(w.sum()), count + len(w)
            total += w @ (values - first)
            np.maximum(largest, np.abs(values).max(axis=0), out=largest)
        assert first is not None
        mean = first + total / mass
        S = np.zeros((d, d))
        for values, w in self._parts(k):
            moved = values - mean
            S += moved.T @ (moved * w[:, None])
        S /= mass
        S = 0.5 * (S + S.T)
        scale = np.sqrt(np.diag(S))
        off = gamma(4096 + count / 64 + 64 * d)
        shift = 16.0 * UNIT * largest
        spread = off * np.outer(scale, scale) + np.outer(shift, scale) + np.outer(scale, shift) + np.outer(shift, shift)
        # Ledoit and Wolf on features of unit variance; constant ones have none.
        flat = scale <= 10.0 * np.finfo(float).eps * largest
        unit = np.where(flat, 1.0, scale)
        share = float(np.count_nonzero(~flat)) / d
        fourth = 0.0
        for values, w in self._parts(k):
            z = np.where(flat, 0.0, (values - mean) / unit)
            fourth += float(w @ (z * z).sum(axis=1) ** 2)
        square = float((np.where(np.outer(~flat, ~flat), S / np.outer(unit, unit), 0.0) ** 2).sum())
        beta, delta = (fourth / mass - square) / (d * mass), (square - d * share**2) / d
        beta = max(min(beta, delta), 0.0)
        auto = beta / delta if beta > 0 and d > 1 and count > 1 else 0.0
        return _Moments(mass, count, mean, S, largest, 8.0 * spread, auto, share * unit**2)

    def _parts(self, k: int) -> Any:
        for block in self.rows.blocks():
            part = slice(block.start, block.start + block.n)
            keep = self.index[part] == k
            if keep.any():
                taken = block.take(keep)
                assert isinstance(taken, DenseBlock)
                yield taken.values, self.weights[part][keep]

    def moment_claims(self, claims: list[Claim]) -> None:
        d, K, p = self.d, self.K, self.parameters
        found = [self._class(k) for k in range(K)]
        self.found = found
        off = np.array([np.abs(self.arrays["means"][k] - m.mean) for k, m in enumerate(found)])
        room = np.array([(32.0 * UNIT + 2.0 * self.unit + gamma(1024 + m.rows / 256)) * m.largest for m in found])
        claims.append(_within("means", off, room))
        mass = np.array([m.mass for m in found])
        share = mass / mass.sum()
        wanted = share
        given = p.get("priors")
        if given is not None:
            good = isinstance(given, list) and len(given) == K and all(map(is_number, given))
            wanted = np.array([number(v) for v in given]) if good else np.full(K, math.nan)
            wanted = wanted / wanted.sum()
        off = np.abs(self.arrays["priors"] - wanted)
        claims.append(_within("priors", off, (2.0 * self.unit + gamma(sum(m.rows for m in found) + K)) * wanted))
        s = np.array([number(v) for v in self.problem["shrinkage"]])
        asked = p.get("shrinkage")
        spherical = self.problem["rule"] == "spherical"
        if asked == "auto" and not spherical:
            auto = np.array([m.auto for m in found])
            claims.append(_within("shrinkage", np.abs(s - auto), np.full(K, 1e-6), f"auto: {auto.tolist()}"))
        else:
            value = 0.0 if asked is None or spherical else asked
            good = is_number(value) and bool((s == number(value)).all()) and 0.0 <= number(value) <= 1.0
            claims.append(Claim("shrinkage", s.tolist(), value, good))
        regular = number(p.get("reg_param", 0.0)) if is_number(p.get("reg_param", 0.0)) else math.nan
        each, spread = [], []
        for k, m in enumerate(found):
            target = m.target if asked == "auto" else np.full(d, np.trace(m.covariance) / d)
            S = (1.0 - s[k]) * m.covariance + s[k] * np.diag(target)
            if self.document["estimator"] == QUADRATIC:
                S = (1.0 - regular) * S + regular * np.eye(d)
            each.append(S)
            spread.append(m.spread + 64.0 * d * UNIT * np.sqrt(np.outer(np.diag(S), np.diag(S))))
        claimed = self.arrays["covariance"]
        if self.problem["rule"] in ("shared", "spherical"):
            by = wanted if self.problem["pooled_by"] == "priors" else share
            S, room = np.tensordot(by, each, 1), np.tensordot(by, spread, 1)
            if spherical:
                S, room = np.array([[np.trace(S) / d]]), np.array([[np.trace(room) / d]])
            claims.append(_within("covariance", np.abs(claimed[0] - S), room))
        else:
            off = np.abs(claimed - np.array(each))
            claims.append(_within("covariances", off, np.array(spread)))

    # -- the rule

    def rule_claims(self, claims: list[Claim]) -> None:
        claimed, ranks = self.arrays["covariance"], self.block["rank"]
        views = [_View.of(S) for S in claimed]
        tol = number(self.parameters.get("tol", 0.0)) if is_number(self.parameters.get("tol", 0.0)) else 0.0
        for k, (view, rank) in enumerate(zip(views, ranks, strict=True)):
            sure = int((view.values > 4.0 * max(1e-9, tol * tol) * max(1.0, float(view.values[0]))).sum())
            sure, most = (self.d, self.d) if self.problem["rule"] == "spherical" else (sure, self.d)
            # An absolute threshold (QuadraticDiscriminantAnalysis) only ever refuses a fit: the rank is full.
            sure = self.d if self.problem["rule"] in ("per_class", "axes") else sure
            which = f"[{k}] " if len(ranks) > 1 else ""
            claims.append(Claim(which + "rank", rank, None, sure <= rank <= most, f"between {sure} and {most}"))
        if "coef" in self.arrays:
            self._linear_claims(claims, views[0])
        else:
            self._quadratic_claims(claims, views)

    def _linear_claims(self, claims: list[Claim], view: _View) -> None:
        d, K, means, priors = self.d, self.K, self.arrays["means"], self.arrays["priors"]
        coef, intercept = self.arrays["coef"], self.arrays["intercept"]
        if self.problem["rule"] == "spherical":
            view = _View(np.full(d, math.sqrt(self.arrays["covariance"][0, 0, 0])), np.ones(d), np.eye(d))
        rank = min(max(self.block["rank"][0], 1), d)
        V, values = view.vectors[:, :rank], view.values[:rank]
        noise = d * (256.0 * UNIT * max(1.0, float(values[0] / values[-1])) + 8.0 * self.unit)
        size = (np.abs(coef) * view.scale).max()
        apart = (means[1:] - means[0]) / view.scale
        lines = coef if K == 2 else coef[1:] - coef[0]
        steps = intercept if K == 2 else intercept[1:] - intercept[0]
        # In the scaled units R c = apart on the range of R; what "svd" leaves out between the classes is allowed for.
        scaled = lines * view.scale
        left = (scaled @ V * values - apart @ V) / np.sqrt(values)
        top = float(values[0])
        placed = (
            4.0 * math.sqrt(d) * self.unit * float(np.abs(means / view.scale).max())
        )  # the means as they are stored
        room = (noise * (np.abs(apart).max(axis=1) + size * top) + placed)[:, None] / np.sqrt(values)
        dropped = self._dropped(apart @ V / np.sqrt(values)) if self.document["estimator"] == LINEAR else 0.0
        claims.append(_within("coefficients", np.abs(left), room + dropped))
        if rank < d:
            plain = self.parameters.get("solver") == "lsqr"  # the smallest in the user's units
            t = lines / view.scale if plain else scaled
            off = np.abs(t - t @ V @ V.T)
            room = np.full_like(off, max(noise, 1e-6) * float(np.abs(t).max(initial=0.0)))
            claims.append(_within("no coefficients outside the range", off, room))
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.log(priors[1:]) - np.log(priors[0])
        middle = 0.5 * (means[1:] + means[0])
        wanted = logs - (lines * middle).sum(axis=1)
        top_mean = np.abs(means / view.scale).max()
        reach = noise * (d * size * (top_mean + 1.0) + np.abs(np.where(np.isfinite(logs), logs, 0.0)) + 1.0)
        reach = reach + 2.0 * dropped * (np.abs(apart @ V / np.sqrt(values)).sum(axis=1) + 1.0)
        off = np.where(np.isfinite(wanted), np.abs(steps - wanted), np.where(steps == wanted, 0.0, np.inf))
        claims.append(_within("intercept", off, reach))

    def _dropped(self, whitened: np.ndarray) -> float:
        """What the "svd" solver may leave out: directions whose part of the variation between classes is below tol."""
        if self.parameters.get("solver") != "svd":
            return 0.0
        priors, n = self.arrays["priors"], sum(m.rows for m in self.found)
        points = np.vstack([np.zeros(whitened.shape[1]), whitened])
        points = points - priors @ points
        weight = np.sqrt(n * np.maximum(priors, 0.0) / (self.K - 1))[:, None]
        S = np.linalg.svd(weight * points, compute_uv=False)
        small = S[2.0 * number(self.parameters["tol"]) * S[0] >= S]
        least = float(weight.min())
        return 4.0 * float(np.linalg.norm(small)) / least if small.size and least > 0 else 0.0

    def _quadratic_claims(self, claims: list[Claim], views: list[_View]) -> None:
        d = self.d
        for k, view in enumerate(views):
            if self.problem["rule"] == "per_class":
                W, log_det = self.arrays["whitening"][k], float(self.arrays["log_det"][k])
            else:
                variances = self.arrays["scalings"][k]
                W, log_det = self.arrays["rotations"][k] / np.sqrt(variances), float(np.log(variances).sum())
            scaled = W * view.scale[:, None]
            R = (view.vectors * view.values) @ view.vectors.T
            off = np.abs(scaled.T @ R @ scaled - np.eye(d))
            condition = float(view.values[0] / view.values[-1]) if view.values[-1] > 0 else math.inf
            # Axes of features in very different units mix scales: what counts is the condition in those units.
            S = self.arrays["covariance"][k]
            plain = np.linalg.eigvalsh(S) if self.problem["rule"] == "axes" else view.values[::-1]
            condition = max(condition, float(plain[-1] / plain[0]) if plain[0] > 0 else math.inf)
            noise = d * (256.0 * UNIT * condition + 16.0 * self.unit * math.sqrt(condition))
            which = f"[{k}] "
            claims.append(_within(which + "whitening", off, np.full((d, d), noise), "W'SW = I"))
            wanted = float(np.log(view.values).sum() + 2.0 * np.log(view.scale).sum())
            reach = d * noise + 64.0 * d * self.unit * (abs(wanted) + 1.0)
            claims.append(Claim(which + "log determinant", log_det, wanted, abs(log_det - wanted) <= reach))


class _View(NamedTuple):
    """A covariance with its features scaled to unit variance: the scale, eigenvalues falling, eigenvectors."""

    scale: np.ndarray
    values: np.ndarray
    vectors: np.ndarray

    @classmethod
    def of(cls, S: np.ndarray) -> _View:
        deviation = np.sqrt(np.maximum(np.diag(S), 0.0))
        scale = np.where(deviation > 0, deviation, 1.0)
        values, vectors = np.linalg.eigh(S / np.outer(scale, scale))
        return cls(scale, values[::-1], vectors[:, ::-1])


def _within(name: str, off: np.ndarray, room: np.ndarray, note: str = "") -> Claim:
    """The largest distance in units of what rounding allows."""
    worst = float(np.max(np.where(off > 0, off / np.where(room > 0, room, 1e-300), 0.0), initial=0.0))
    shown = note or "the largest difference over what rounding allows"
    return Claim(name, "as recomputed", worst, bool(worst <= 1.0), shown)
