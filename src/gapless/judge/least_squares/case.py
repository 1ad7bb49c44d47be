"""A least squares document with the data it speaks of: that these are the data of the fit, and what was asked of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ..classes import class_weights_agree, floats_of, label_index
from ..document import is_number, number, read_arrays
from ..errors import CertificateError
from ..rows import Block, Rows, as_rows
from ..statement import classes_claim, same_rows, same_targets
from ..verdict import Claim
from .document import array_forms

#: Columns up to which the smallest singular value is proved.
MOST_COLUMNS = 500


class Case:
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
        self.weights = same_rows(document, self.rows, sample_weight)
        n = self.rows.shape[0]
        read = read_arrays(dict(document), arrays, array_forms(dict(document)))
        self.W, self.b = read["coef"].astype(np.float64), read["intercept"].astype(np.float64)
        self.U = read.get("dual")
        self.index: np.ndarray | None = None
        if document["classes"] is not None:
            self.index = label_index(y, document["classes"], n)
            K = len(document["classes"]["values"])
            positives = [1] if K == 2 else list(range(K))
            self.Y = np.where(self.index[None, :] == np.array(positives)[:, None], 1.0, -1.0)
            same_targets(document, self.index, "<i8", "targets")
        else:
            self.Y = _targets(y, n)
            same_targets(document, self.Y.T, "<f8", "targets")
        if len(self.Y) != self.S:
            raise CertificateError(f"the certificate cannot be read: {self.S} targets, y has {len(self.Y)}")
        self.alpha = np.array([number(a) for a in self.problem["alpha"]])
        self.s = self.weights
        if self.index is not None:
            self.s = self.weights * np.array([number(w) for w in self.problem["class_weight"]])[self.index]
        self.free = self.problem["offset"] == "free"

    def which(self, k: int) -> str:
        """How a claim about target k begins."""
        return f"[{k}] " if self.S > 1 else ""

    def blocks(self) -> Iterator[tuple[Block, np.ndarray, np.ndarray]]:
        """(rows, their weights, their targets) of the rows with weight."""
        for block in self.rows.blocks():
            part = slice(block.start, block.start + block.n)
            s, y = self.s[part], self.Y[:, part]
            keep = s > 0
            if not keep.all():
                block, s, y = block.take(keep), s[keep], y[:, keep]
            if block.n:
                yield block, s, y

    def statement_claims(self, claims: list[Claim]) -> bool:
        """Parameters and problem agree; False where what they state cannot be evaluated."""
        p = self.parameters
        given = p.get("alpha", 0.0)
        listed = given if isinstance(given, list) else [given]
        listed = listed * self.S if len(listed) == 1 else listed
        good = len(listed) == self.S and all(map(is_number, listed))
        good = good and [number(a) for a in listed] == self.alpha.tolist()
        claims.append(Claim("alpha", self.alpha.tolist(), given, good))
        kind = "gap" if bool((self.alpha > 0).all()) else "orthogonality"
        claims.append(Claim("kind", self.kind, kind, self.kind == kind, "a gap where every alpha > 0"))
        fit = p.get("fit_intercept")
        claims.append(Claim("offset", self.problem["offset"], fit, isinstance(fit, bool) and fit == self.free))
        if not self.free:
            claims.append(Claim("no offset", 0.0, None, not self.b.any(), "the intercept is 0"))
        tol = number(self.block["tol"])
        claims.append(Claim("tol", tol, p.get("tol"), is_number(p.get("tol")) and number(p["tol"]) == tol))
        if p.get("positive", False) is not False:
            claims.append(Claim("positive", p["positive"], False, False, "is another problem than the one certified"))
        if self.index is not None:
            values = self.document["classes"]["values"]
            resolved = [number(w) for w in self.problem["class_weight"]]
            agree, expected = class_weights_agree(p.get("class_weight", ""), values, resolved, self.index, self.weights)
            claims.append(Claim("class weights", resolved, expected, agree))
            claims.append(classes_claim(values, self.index))
        arrays = (self.W, self.b, self.Y) if self.U is None else (self.W, self.b, self.Y, self.U)
        finite = all(bool(np.isfinite(a).all()) for a in arrays)
        claims.append(Claim("finite", "model and targets", None, finite))
        weighty = bool(np.isfinite(self.s).all() and (self.s >= 0).all() and (self.s > 0).any())
        claims.append(Claim("row weights", "finite, not all 0", None, weighty))
        return all(claim.holds for claim in claims)


def _targets(y: Any, n: int) -> np.ndarray:
    """Targets (S, n) in float64."""
    values = floats_of(y) + 0.0
    if values.ndim not in (1, 2) or values.shape[0] != n:
        raise CertificateError(f"other targets: y has shape {values.shape}, X has {n} rows")
    return np.ascontiguousarray((values if values.ndim == 2 else values[:, None]).T)
