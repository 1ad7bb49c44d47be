"""Judges a certificate of kind "gradient"."""

from __future__ import annotations

import math

import numpy as np

from ..arithmetic.compare import above, at_most, between, capped, equal
from ..arithmetic.rounding import UNIT
from ..case import Case, Rigour
from ..errors import CertificateError
from ..form.entries import number
from ..linear.recompute import row_weights
from ..linear.statement import statement_claims, unused_parameters
from .figures import Columns, Found, Model, columns_of, figures
from .proof import prove


class LikelihoodCase(Case):
    """Coefficients and intercepts in float64, a line each."""

    tiers = {False: "float64", True: "proved bounds, float64"}

    def judge(self, rigorous: Rigour) -> None:
        if rigorous == "exact":
            told = "rigorous='exact' is not offered where there is no penalty; rigorous=True proves bounds"
            raise CertificateError(told)
        coef, intercept = (self.arrays[name].astype(np.float64) for name in ("coef", "intercept"))
        sound, offset = statement_claims(self, penalty=False), self.problem["offset"] == "free"
        sound &= self.finite_claim("coef, intercept", coef, intercept, note="not finite")
        if not offset:
            self.no_offset_claim(intercept)
        c = row_weights(1.0, self.weights, np.array([number(w) for w in self.problem["class_weight"]]), self.index)
        sound &= self.weights_claim(c)
        if sound:
            if self.K > 2:
                # A common part of all scores changes nothing, and is left out of every figure and every room.
                coef, intercept = coef - coef[0], intercept - intercept[0]
            model = Model(self.rows, self.index, c, coef, intercept, self.K, offset)
            try:
                columns = columns_of(model, self.block["rank"], self.document["dtype"])
                figure = figures(model, columns)
                self._figure_claims(columns, figure, float(c.sum()) * math.log(self.K))
                if rigorous:
                    self.bounds.append(prove(model, columns, figure))
            except np.linalg.LinAlgError:
                self.claim("figures", "recomputed", None, False, "they overflow")
        else:
            self.claim("figures", "recomputed", None, False, "from the data")
        self._status_claims()
        self.unchecked += unused_parameters(self.document)

    def _figure_claims(self, columns: Columns, found: Found, null: float) -> None:
        # No enclosure of the loss, and no room for it, is wider than this share of the loss of a model that answers nothing.
        # ... of its square root: a decrement beyond proves nothing.
        decrement_share = 1e-3
        share = 1e-6
        loss, lam, reach, excess = (number(self.block[name]) for name in ("loss", "decrement", "reach", "excess"))
        narrow = at_most(found.loss.up, found.loss.low, share * null)
        holds = narrow and between(loss, found.loss.low, found.loss.up, capped(4.0 * found.room, null, share))
        self.claim("loss", loss, 0.5 * found.loss.low + 0.5 * found.loss.up, holds)
        rank = self.block["rank"]
        if rank is not None:
            note = f"between {columns.sure} and {columns.most}"
            self.claim("rank", rank, None, between(rank, columns.sure, columns.most), note)
        if self.block["status"] == "infeasible":
            self.claim("separates", "all rows", found.margin, above(found.margin, 0.0), "the smallest margin")
        # Two honest computations of a decrement may differ by 8 times the judge's bound on its rounding and, for inverses of
        # matrices, by this part of it: a millionth, and no more than a tenth, however they are conditioned.
        wide = 8.0 * found.delta
        part, room = 1e-6 + capped(8.0 * found.loose, 1.0, 0.1), wide
        if not above(1.0, reach):
            # Nothing is claimed but what holds of every model; a decrement, where there is one, is the model's.
            unknown = math.isnan(lam) or not math.isfinite(found.lam)
            known = not math.isfinite(lam) if unknown else equal(lam, found.lam, room + part * found.lam)
            self.claim("decrement", lam, found.lam, known, "nan: not known")
            wanted = found.rho * found.lam
            known = reach == math.inf if unknown else equal(reach, wanted, 3.0 * (part * wanted + found.rho * room))
            self.claim("reach", reach, wanted, known and reach >= 1.0, "1 or more proves nothing")
            self.same_claim("excess", excess, loss, "the loss itself")
            return
        # No decrement is larger than the square root of what it bounds: rooms beyond that prove nothing.
        room = float(capped(room, math.sqrt(null), decrement_share))
        self.claim("decrement", lam, found.lam, equal(lam, found.lam, room + part * found.lam))
        # Reach and excess are bounds, and a fit adds its rounding to them: upwards there is room for all of it.
        wide = wide if math.isfinite(wide) else room
        least, most = max(0.0, found.lam - room) * (1.0 - part), (found.lam + wide) * (1.0 + part)
        low, high = found.rho * least * (1.0 - part), found.rho * most * (1.0 + part)
        self.claim("reach", reach, found.rho * found.lam, between(reach, low, high))
        low, high = bound(least, min(low, 1.0), loss), bound(most, high, loss)
        self.claim("excess", excess, bound(found.lam, found.rho * found.lam, loss), between(excess, low, high))

    def _status_claims(self) -> None:
        """Relative excess and status follow from the certificate's own figures."""
        names = ("loss", "excess", "relative_excess", "rounding", "reach")
        loss, excess, relative, rounding, reach = (number(self.block[name]) for name in names)
        expected = excess / loss if loss != 0.0 else 0.0
        self.claim("relative excess", relative, expected, equal(relative, expected, 8.0 * UNIT * abs(expected)))
        self.claim("rounding", rounding, excess, between(rounding, 0.0, excess), "is part of the excess")
        reached = above(1.0, reach) and at_most(relative, number(self.block["tol"]))
        wanted = "converged" if reached else "not converged"
        self.claim("status", self.block["status"], wanted, (self.block["status"] == "converged") == reached)


def bound(lam: float, reach: float, loss: float) -> float:
    """min(F, lam^2 psi(reach)), F alone where reach >= 1 proves nothing."""
    if not reach < 1.0:
        return loss
    return min(loss, lam * lam * min(1.0, 0.5 + reach / (6.0 * (1.0 - reach))))
