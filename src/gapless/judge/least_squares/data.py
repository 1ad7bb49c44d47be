"""A least squares document with the data it speaks of: that these are the data of the fit, and what was asked of it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..arithmetic.compare import at_most
from ..case import GapCase
from ..classes import label_index, targets_of
from ..errors import CertificateError
from ..form.entries import is_number, number
from ..rows import Block, as_rows, counted
from ..same_data import same_rows, same_targets


class SquaresData(GapCase):
    """S targets Y with weights s of the rows, and the model in float64."""

    answers = "targets"
    in_blocks = True
    #: Columns up to which the smallest singular value is proved.
    most_columns = 500

    def read_data(self, X: Any, y: Any, sample_weight: Any) -> None:
        self.S, self.kind = len(self.parts), self.block["kind"]
        self.rows = as_rows(X)
        self.weights = same_rows(self.document, self.rows, sample_weight)
        n = self.rows.shape[0]
        self.W, self.b = (self.arrays[name].astype(np.float64) for name in ("coef", "intercept"))
        self.U = self.arrays.get("dual")
        self.index = label_index(y, self.document["classes"], n) if self.K else None
        if self.K:
            positives = [1] if self.K == 2 else list(range(self.K))
            self.Y = np.where(self.index[None, :] == np.array(positives)[:, None], 1.0, -1.0)
            same_targets(self.document, self.index, "<i8", "targets")
        else:
            self.Y = np.ascontiguousarray(targets_of(y, n, several=True).T)
            same_targets(self.document, self.Y.T, "<f8", "targets")
        if len(self.Y) != self.S:
            raise CertificateError(f"the certificate cannot be read: {self.S} targets, y has {len(self.Y)}")
        self.alpha = np.array([number(a) for a in self.problem["alpha"]])
        self.s = self.weights
        if self.K:
            self.s = self.weights * np.array([number(w) for w in self.problem["class_weight"]])[self.index]
        self.grain = math.ldexp(1.0, -math.frexp(float(self.s.max(initial=0.0)))[1])
        self.free = self.problem["offset"] == "free"
        self.largest = np.abs(self.Y[:, self.s > 0]).max(axis=1, initial=0.0)
        # The model depends on no value that targets have in common; within a factor of 2 what is left is exact (Sterbenz).
        self.common, stated = np.zeros(self.S), self.problem.get("common_part")
        for k, y in enumerate(self.Y[:, self.s > 0]):
            first = float(y[0]) if y.size and self.free and stated else 0.0
            near = at_most(np.abs(y - first), 2.0**-10 * abs(first)) and at_most(
                abs(self.b[k] - first), 0.5 * abs(first)
            )
            self.common[k] = first if near else 0.0
        self.Y, self.b = self.Y - self.common[:, None], self.b - self.common

    def blocks(self, grain: float = 1.0) -> Iterator[tuple[Block, np.ndarray, np.ndarray]]:
        """(rows, their weights times ``grain``, their targets) of the rows with weight."""
        return counted(self.rows, self.s * grain, self.Y)

    def statement_claims(self) -> bool:
        """Parameters and problem agree; False where what they state cannot be evaluated."""
        p = self.parameters
        given = p.get("alpha", 0.0)
        listed = given if isinstance(given, list) else [given]
        listed = listed * self.S if len(listed) == 1 else listed
        good = len(listed) == self.S and all(map(is_number, listed))
        good = good and [number(a) for a in listed] == self.alpha.tolist()
        self.claim("alpha", self.alpha.tolist(), given, good)
        kind = "gap" if bool((self.alpha > 0).all()) else "orthogonality"
        self.same_claim("kind", self.kind, kind, "a gap where every alpha > 0")
        fit = p.get("fit_intercept")
        self.claim("offset", self.problem["offset"], fit, isinstance(fit, bool) and fit == self.free)
        if not self.free:
            self.no_offset_claim(self.b)
        self.number_claim("tol", self.block["tol"])
        if p.get("positive", False) is not False:
            self.claim("positive", p["positive"], False, False, "is another problem than the one certified")
        if self.K:
            self.class_claims(self.problem["class_weight"])
        stated = self.problem.get("common_part")
        same = stated is None or [number(v) for v in stated] == self.common.tolist()
        self.claim("common part", stated, self.common.tolist(), same, "the first target, where all are near it")
        self.finite_claim("model and targets", self.W, self.b, self.Y, *([] if self.U is None else [self.U]))
        self.weights_claim(self.s)
        return self.all_hold()
