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
from typing import Any, NamedTuple

import numpy as np

from ..arithmetic.compare import between, capped, equal, worst
from ..arithmetic.rounding import UNIT, gamma
from ..case import Case, Rigour
from ..classes import label_index, sorted_unique
from ..errors import CertificateError
from ..form.entries import is_number, number
from ..rows import DenseBlock, as_rows, place
from ..same_data import same_rows, same_targets


class Moments(NamedTuple):
    mass: float
    rows: int
    mean: np.ndarray
    covariance: np.ndarray
    largest: np.ndarray  # max |x_j|
    spread: np.ndarray  # what covariance may be off by
    auto: float  # the shrinkage of Ledoit and Wolf
    target: np.ndarray  # its diagonal


class View(NamedTuple):
    """A covariance with its features scaled to unit variance: the scale, eigenvalues falling, eigenvectors."""

    scale: np.ndarray
    values: np.ndarray
    vectors: np.ndarray

    @classmethod
    def of(cls, S: np.ndarray, least: Any = 0.0) -> View:
        deviation = np.sqrt(np.maximum(np.diag(S), 0.0))
        flat = deviation <= least
        scale = np.where(flat, 1.0, deviation)
        values, vectors = np.linalg.eigh(np.where(np.logical_or.outer(flat, flat), 0.0, S / np.outer(scale, scale)))
        vectors[flat] = 0.0  # not by rounding, which is much beside small features
        return cls(scale, values[::-1], vectors[:, ::-1])


class GaussianCase(Case):
    """Moments and rule in float64; index is -1 of rows without weight."""

    #: No room excuses more than this share of a difference of scores (in units of the spread within classes, plus 1), of a
    #: unit covariance, or of its logarithm: where rounding is larger, the rule is not what it is claimed to be.
    share = 0.01
    in_blocks = True
    #: An eigenvalue within this share of its threshold may count or not.
    near = 1e-3

    def read_data(self, X: Any, y: Any, sample_weight: Any) -> None:
        self.name, self.rows = self.document["estimator"], as_rows(X)
        n = self.rows.shape[0]
        self.weights = same_rows(self.document, self.rows, sample_weight)
        # A row of weight 0 is no row, and its label counts for nothing.
        labels, there = np.asarray(y), self.weights > 0
        if labels.shape != (n,):
            raise CertificateError(f"other labels: y has shape {labels.shape}, X has {n} rows")
        self.index = np.full(n, -1, dtype=np.int64)
        self.index[there] = label_index(labels[there], self.document["classes"], int(there.sum()))
        same_targets(self.document, self.index, "<i8")
        self.unit = 2.0**-24 if self.document["dtype"] == "float32" else UNIT
        self.arrays = {name: a.astype(np.float64) for name, a in self.arrays.items()}

    def judge(self, rigorous: Rigour) -> None:
        if self._statement_claims():
            self._moment_claims()
            self._rule_claims()
        if self.problem["rule"] == "spherical":
            self.unchecked.append("parameter shrinkage: a sphere is not shrunk")
        if self.name == "LinearDiscriminantAnalysis" and self.parameters.get("solver") != "svd":
            self.unchecked.append("parameter tol: the solver svd alone has one")

    def _statement_claims(self) -> bool:
        p, rule, pooled, status = self.parameters, self.problem["rule"], self.problem["pooled_by"], self.block["status"]
        if self.name == "GaussianDiscriminant":
            self.same_claim("covariance", rule, p.get("covariance"))
        by = "priors" if self.name == "LinearDiscriminantAnalysis" and p.get("solver") != "svd" else "shares"
        self.same_claim("pooled by", pooled, by)
        none = p.get("covariance_estimator") is None
        self.claim("covariance estimator", None, None, none, "" if none else "cannot be recomputed")
        once = sorted_unique(self.document["classes"]["values"])
        self.claim("classes", f"{self.K} classes", None, once, "sorted, each once")
        present = all(bool((self.index == k).any()) for k in range(self.K))
        self.claim("classes of y", self.K, None, present, "each has a row with weight")
        finite = self.finite_claim("moments and rule", *(a for name, a in self.arrays.items() if name != "intercept"))
        self.same_claim("status", status, "converged", "a closed form")
        return self.claim("row weights", "finite", None, np.isfinite(self.weights.sum())) and present and finite

    def _class(self, k: int) -> Moments:
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
        return Moments(mass, count, mean, S, largest, 8.0 * spread, auto, share * unit**2)

    def _parts(self, k: int) -> Any:
        for block in self.rows.blocks():
            keep = self.index[place(block)] == k
            if keep.any():
                taken = block.take(keep)
                assert isinstance(taken, DenseBlock)
                yield taken.values, self.weights[place(block)][keep]

    def _moment_claims(self) -> None:
        d, K, p = self.d, self.K, self.parameters
        found = [self._class(k) for k in range(K)]
        self.found = found
        room = np.array([(32.0 * UNIT + 2.0 * self.unit + gamma(1024 + m.rows / 256)) * m.largest for m in found])
        self._within("means", self.arrays["means"], np.array([m.mean for m in found]), room)
        mass = np.array([m.mass for m in found])
        share = mass / mass.sum()
        wanted = share
        if p.get("priors") is not None:
            wanted = np.array([number(v) for v in p["priors"]])
            wanted = wanted / wanted.sum()
        room = (2.0 * self.unit + gamma(sum(m.rows for m in found) + K)) * wanted
        self._within("priors", self.arrays["priors"], wanted, room)
        s = np.array([number(v) for v in self.problem["shrinkage"]])
        asked = p.get("shrinkage")
        spherical = self.problem["rule"] == "spherical"
        if asked == "auto" and not spherical:
            auto = np.array([m.auto for m in found])
            self._within("shrinkage", s, auto, 1e-6, f"auto: {auto.tolist()}")
        else:
            value = 0.0 if asked is None or spherical else asked
            good = is_number(value) and bool((s == number(value)).all())
            self.claim("shrinkage", s.tolist(), value, good)
        regular = number(p.get("reg_param") or 0.0)
        each, spread = [], []
        for k, m in enumerate(found):
            target = m.target if asked == "auto" else np.full(d, np.trace(m.covariance) / d)
            S = (1.0 - s[k]) * m.covariance + s[k] * np.diag(target)
            if self.name == "QuadraticDiscriminantAnalysis":
                S = (1.0 - regular) * S + regular * np.eye(d)
            each.append(S)
            spread.append(m.spread + 64.0 * d * UNIT * np.outer(np.sqrt(np.diag(S)), np.sqrt(np.diag(S))))
        claimed = self.arrays["covariance"]
        if self.problem["rule"] in ("shared", "spherical"):
            by = wanted if self.problem["pooled_by"] == "priors" else share
            S, room = np.tensordot(by, each, 1), np.tensordot(by, spread, 1)
            deviation = np.sqrt(np.diag(S))  # of all classes: a column may vary in one, another in others
            room = self._capped_covariance(room + 64.0 * d * UNIT * np.outer(deviation, deviation), S)
            if spherical:
                S, room = np.array([[np.trace(S) / d]]), np.array([[np.trace(room) / d]])
            self._within("covariance", claimed[0], S, room)
        else:
            spread = [self._capped_covariance(room, S) for room, S in zip(spread, each, strict=True)]
            self._within("covariances", claimed, np.array(each), np.array(spread))

    def _rule_claims(self) -> None:
        claimed, ranks, d = self.arrays["covariance"], self.block["rank"], self.d
        largest = np.max([m.largest for m in self.found], axis=0)
        # With one covariance for all classes columns that are constant but for rounding count for nothing.
        shared = self.problem["rule"] == "shared"
        views = [View.of(S, 8.0 * self.unit * largest * shared) for S in claimed]
        tol = number(self.parameters.get("tol") or 0.0) if self.name == "LinearDiscriminantAnalysis" else 0.0
        tol = tol if self.parameters.get("solver") == "svd" else 0.0
        full = self.problem["rule"] != "shared"  # another rule exists for a covariance of full rank alone
        # What a fit takes for the rounding of the data, and for what nobody can see in a covariance.
        visible = d * 2.0**-41
        far = np.divide(largest, views[0].scale, out=np.zeros(d), where=views[0].scale > 8.0 * self.unit * largest)
        noise = max(min(2.0 * self.unit * (d + float(far.max())), 1e-5) ** 2, visible)
        for k, (view, rank) in enumerate(zip(views, ranks, strict=True)):
            top = max(1.0, float(view.values[0]))
            sure = d if full else int((view.values > max(4.0 * noise * top, (1.0 + self.near) * tol * tol)).sum())
            most = d if full else int((view.values > max(0.25 * visible * top, (1.0 - self.near) * tol * tol)).sum())
            which = f"[{k}] " if len(ranks) > 1 else ""
            good = between(rank, max(1, sure), most)
            self.claim(which + "rank", rank, None, good, f"between {sure} and {most}")
        if not self.all_hold():  # the rule of other moments is not asked for
            return
        if "coef" in self.arrays:
            self._linear_claims(views[0])
        else:
            self._quadratic_claims(views)

    def _linear_claims(self, view: View) -> None:
        """Differences of scores: what all scores have in common is no part of the rule, nor of any room."""
        d, K, means, priors = self.d, self.K, self.arrays["means"], self.arrays["priors"]
        if self.document["dtype"] == "float32":  # the rule was made of means that float32 does not hold
            means = np.array([m.mean for m in self.found])
        coef, intercept = self.arrays["coef"], self.arrays["intercept"]
        if self.problem["rule"] == "spherical":
            view = View(np.full(d, math.sqrt(self.arrays["covariance"][0, 0, 0])), np.ones(d), np.eye(d))
        rank = self.block["rank"][0]
        V, values = view.vectors[:, :rank], view.values[:rank]
        first = 0 if K == 2 else int(np.argmax(priors))
        others = np.delete(np.arange(K), first)
        apart = (means[others] - means[first]) / view.scale
        plain = self.parameters.get("solver") == "lsqr" and rank < d  # by least squares, in the user's units
        if plain:
            # Large features first, so that a small one keeps its digits beside them.
            order = np.argsort(-view.scale, kind="stable")
            Q, R = np.linalg.qr((V * view.scale[:, None])[order])
            apart = np.linalg.solve(R, Q.T @ (apart * view.scale)[:, order].T).T @ V.T
        lines = coef if K == 2 else coef[others] - coef[first]
        steps = intercept if K == 2 else intercept[others] - intercept[first]
        # The rule as the judge has it, in units of the spread within classes, and the rounding of the ways to it: those of
        # "lsqr" and "eigen" go by the means themselves, the others by their distances.
        white = apart @ V / np.sqrt(values)
        size = np.sqrt((white * white).sum(axis=1))
        common = self.name == "LinearDiscriminantAnalysis" and self.parameters.get("solver") != "svd" and K > 2
        own = (means - priors @ means) / view.scale @ V / values @ V.T
        seen = means / view.scale @ V / values @ V.T if common else own
        largest = float(np.abs(seen).max(initial=0.0))
        noise = d * 256.0 * UNIT * max(1.0, float(values[0] / values[-1])) + 8.0 * d * self.unit
        placed = 4.0 * math.sqrt(d) * self.unit * float(np.abs(means / view.scale).max())  # the means as stored
        room = (noise * (np.abs(apart).max(axis=1) + largest * float(values[0])) + placed)[:, None] / np.sqrt(values)
        scaled = lines * view.scale
        room = room + 2.0 * self.unit * (np.abs(scaled) @ np.abs(V)) * np.sqrt(values)  # the coefficients as stored
        room = capped(room, 1.0 + size[:, None], self.share)
        turned, choices = scaled @ V * np.sqrt(values), self._between(white, first)
        white = next((each for each in choices if equal(turned, each, room)), choices[-1])
        self._within("coefficients", turned, white, room)
        if rank < d:
            t = lines / view.scale if plain else scaled
            inside = float(np.abs(t @ V).max(initial=0.0))
            most = max(noise, 1e-6) * inside + float(capped(1e-9 * largest, 1.0 + inside, self.share))
            self._within("no coefficients outside the range", t, t @ V @ V.T, most)
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.log(priors[others]) - np.log(priors[first])
        known = np.isfinite(logs)  # a class without a prior has a score of minus infinity
        wanted = logs - (lines * (0.5 * (means[others] + means[first]))).sum(axis=1)
        far = np.abs(means / view.scale).max(axis=0)
        reach = noise * (d * largest * (float(far.max()) + 1.0) + np.abs(logs) + 1.0)
        reach = reach + 8.0 * d * self.unit * float((np.abs(seen).max(axis=0) * far).sum())
        # What it takes to store the lines, and the means, from the middle of the classes is no share of anything.
        stored = (8.0 * self.unit + 2.0 * d * UNIT) * float((np.abs(own).max(axis=0) * far).sum())
        reach = capped(reach, 1.0 + size * size + np.abs(logs), self.share) + stored
        others_too = bool((steps[~known] == logs[~known]).all())
        self._within("intercept", steps[known], wanted[known], reach[known], also=others_too)

    def _between(self, white: np.ndarray, first: int) -> list[np.ndarray]:
        """The rule with the directions that the "svd" solver keeps: those whose part of the variation between classes is
        above tol; where one is next to tol, with and without it."""
        if self.name != "LinearDiscriminantAnalysis" or self.parameters.get("solver") != "svd":
            return [white]
        priors, points = self.arrays["priors"], np.insert(white, first, 0.0, axis=0)
        points = np.sqrt(np.maximum(priors, 0.0))[:, None] * (points - priors @ points)
        _, S, Vt = np.linalg.svd(points, full_matrices=False)
        least = number(self.parameters.get("tol") or 0.0) * S[0]
        sure, most = (int((S > edge * least).sum()) for edge in (1.0 + self.near, 1.0 - self.near))
        return [white @ Vt[:kept].T @ Vt[:kept] for kept in range(sure, most + 1)]

    def _quadratic_claims(self, views: list[View]) -> None:
        d = self.d
        for k, view in enumerate(views):
            if self.problem["rule"] == "per_class":
                W, log_det = self.arrays["whitening"][k], float(self.arrays["log_det"][k])
            else:
                variances = self.arrays["scalings"][k]
                W, log_det = self.arrays["rotations"][k] / np.sqrt(variances), float(np.log(variances).sum())
            scaled = W * view.scale[:, None]
            R = (view.vectors * view.values) @ view.vectors.T
            condition = float(view.values[0] / view.values[-1]) if view.values[-1] > 0 else math.inf
            # Axes of features in very different units mix scales: what counts is the condition in those units.
            S = self.arrays["covariance"][k]
            plain = np.linalg.eigvalsh(S) if self.problem["rule"] == "axes" else view.values[::-1]
            condition = max(condition, float(plain[-1] / plain[0]) if plain[0] > 0 else math.inf)
            noise = d * (256.0 * UNIT * condition + 16.0 * self.unit * math.sqrt(condition))
            noise = float(capped(noise, 1.0, self.share))
            which = f"[{k}] "
            self._within(which + "whitening", scaled.T @ R @ scaled, np.eye(d), noise, "W'SW = I")
            wanted = float(np.log(view.values).sum() + 2.0 * np.log(view.scale).sum())
            reach = float(capped(d * noise, 1.0, self.share)) + 64.0 * d * self.unit * (abs(wanted) + 1.0)
            self.claim(which + "log determinant", log_det, wanted, equal(log_det, wanted, reach))

    def _within(self, name: str, claimed: Any, found: Any, room: Any, note: str = "", also: bool = True) -> bool:
        """Entry by entry; shown is the largest distance in units of what rounding allows."""
        shown = note or "the largest difference over what rounding allows"
        holds = also and equal(claimed, found, room)
        return self.claim(name, "as recomputed", worst(claimed, found, room), holds, shown)

    def _capped_covariance(self, room: np.ndarray, S: np.ndarray) -> np.ndarray:
        """A room for a covariance, at most a share of the deviations, and what the means may be off by themselves."""
        deviation, off = np.sqrt(np.diag(S)), 8.0 * UNIT * np.max([m.largest for m in self.found], axis=0)
        return np.asarray(capped(room, np.outer(deviation, deviation) + np.outer(off, off) / self.share, self.share))
