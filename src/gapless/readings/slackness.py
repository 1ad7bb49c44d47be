"""Complementary slackness: the class of each training example, read from the dual and read from the primal.

    alpha = 0        =>  y f >= 1, no slack: the example does not enter w
    0 < alpha < c    =>  y f  = 1: it lies on its margin boundary
    alpha = c        =>  y f <= 1, with slack xi = 1 - y f: it enters w with all it has, on the right side or
    not

The three products that vanish at the optimum of the hinge loss are alpha (1 - y f - xi), beta xi and alpha +
beta - c, where beta = c - alpha >= 0 is the multiplier of xi >= 0. The squared hinge has no upper bound on
alpha (alpha = 2 c xi), the logistic and the squared loss tie alpha to f by an equation; for these
``stationarity`` is the residual of that.

For a kernel machine the gap may prove alpha = 0 or alpha = c at every optimum (`certified_sides`).  NuSVC is read as the
SVC that it is: alpha, c and yf divided by rho, C = 1 / rho.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from gapless._runtime.results import result
from gapless._runtime.written import written
from gapless.solvers.kernel.proved_sides import prove_sides

DUAL = ("alpha = 0", "0 < alpha < c", "alpha = c")
PRIMAL = ("y f > 1", "y f = 1", "y f < 1")
LEFT_OUT = -1  #: rows with c = 0


@result
@dataclass(frozen=True, eq=False)
class Slackness:
    """Arrays of the shape of alpha: (n,), or (S, n) for S subproblems.

    Attributes
    ----------
    loss : name of the loss
    alpha : multiplier of each row
    c : upper end of alpha: C times the row's weights
    yf : y times the score
    xi : max(0, 1 - y f); 1 - y f for the squared loss
    beta : multiplier of xi >= 0 (hinge: c - alpha, else 0)
    from_dual : index into DUAL; -1 where c = 0
    from_primal : index into PRIMAL; -1 where c = 0
    consistent : the two readings fit together
    residuals : name -> residual of each row: "alpha (1 - yf - xi)", "beta xi", "alpha + beta - c" (smooth losses:
        "stationarity"), "outside the box"
    tol : distance up to which yf counts as 1
    """

    loss: str
    alpha: np.ndarray
    c: np.ndarray
    yf: np.ndarray
    xi: np.ndarray
    beta: np.ndarray
    from_dual: np.ndarray
    from_primal: np.ndarray
    consistent: np.ndarray
    residuals: dict[str, np.ndarray]
    tol: float

    @property
    def counts(self) -> np.ndarray:
        """3 × 3: how many examples have which pair of readings (rows: dual, columns: primal)."""
        table = np.zeros((3, 3), dtype=np.int64)
        used = self.from_dual >= 0
        np.add.at(table, (self.from_dual[used], self.from_primal[used]), 1)
        return table

    @property
    def largest(self) -> dict[str, float]:
        """The largest absolute value of each residual."""
        return {name: float(np.abs(values).max(initial=0.0)) for name, values in self.residuals.items()}

    @property
    def support(self) -> np.ndarray:
        """The examples that enter w: alpha > 0 (squared loss: alpha != 0)."""
        return (self.from_dual != 0) & (self.from_dual != LEFT_OUT)

    def __str__(self) -> str:
        head = ["", *PRIMAL, "sum"]
        lines = [head]
        for name, row in zip(DUAL, self.counts):
            lines.append([name, *(str(v) for v in row), str(row.sum())])
        totals = self.counts.sum(axis=0)
        lines.append(["sum", *(str(v) for v in totals), str(totals.sum())])
        widths = [max(len(line[k]) for line in lines) for k in range(len(head))]
        text = [f"complementary slackness, {self.loss.replace('_', ' ')} (read with tolerance {self.tol:g})"]
        text += ["  ".join(cell.rjust(width) for cell, width in zip(line, widths)) for line in lines]
        out = int((self.from_dual == LEFT_OUT).sum())
        if out:
            text.append(f"left out (c = 0): {out}")
        text.append(f"readings that do not fit together: {int((~self.consistent).sum())}")
        text += [f"largest |{name}|: {value:.2e}" for name, value in self.largest.items()]
        return "\n".join(text)

    def __repr__(self) -> str:
        return f"<Slackness of {self.alpha.shape[-1]} rows, {self.loss}>"


def slackness(
    alpha: Any, c: Any, yf: Any, loss: str = "hinge", *, tol: float = 1e-3, tol_alpha: float = 1e-9
) -> Slackness:
    """Read the class of each training example twice.

    Parameters
    ----------
    alpha : dual values, alpha = u y. (n,) or (S, n).
    c : the cost of each row, C * sample_weight * class_weight. (n,), or of the shape of alpha.
    yf : y (<w, x> + b), of the shape of alpha.
    loss : "hinge", "squared_hinge", "logistic" or "squared".
    tol : |y f - 1| <= tol reads as y f = 1.
    tol_alpha : alpha <= tol_alpha * c reads as 0, alpha >= (1 - tol_alpha) c as c.
    """
    losses = ("hinge", "squared_hinge", "logistic", "squared")
    if loss not in losses:
        raise ValueError(f"unknown loss {written(loss)}; it is one of {list(losses)}")
    alpha = np.asarray(alpha, dtype=np.float64)
    yf = np.asarray(yf, dtype=np.float64)
    if alpha.shape != yf.shape:
        raise ValueError(f"alpha has shape {alpha.shape}, yf has shape {yf.shape}")
    c = np.broadcast_to(np.asarray(c, dtype=np.float64), alpha.shape)
    if (c < 0).any():
        raise ValueError("c must not be negative")
    used = c > 0.0
    xi = 1.0 - yf if loss == "squared" else np.maximum(0.0, 1.0 - yf)
    xi = np.where(used, xi, 0.0)
    hard = np.isinf(c)
    with np.errstate(invalid="ignore"):
        beta = np.where(used, c - alpha, 0.0) if loss == "hinge" else np.zeros_like(alpha)
        # inf * 0 is the hard margin: no slack, and a multiplier without bound
        beta_xi = np.where(xi == 0.0, 0.0, beta * xi)
        link = _link(loss, alpha, c, yf, xi, beta)
        link = np.where(hard & (loss == "hinge"), 0.0, link)
    # (1 - y f) - xi is exactly 0 with slack and 1 - y f without; the subtraction adds no rounding of its own.
    product = alpha * np.where(used, (1.0 - yf) - xi, 0.0)

    with np.errstate(invalid="ignore"):
        # Without a bound on alpha, small is what is small beside the largest one.
        scale = np.where(hard, alpha.max(axis=-1, keepdims=True, initial=0.0), c)
        zero = np.abs(alpha) <= tol_alpha * scale if loss == "squared" else alpha <= tol_alpha * scale
        full = (alpha >= c * (1.0 - tol_alpha)) & (loss in ("hinge", "logistic")) & ~hard
    from_dual = np.where(zero, 0, np.where(full, 2, 1)).astype(np.int8)
    from_primal = np.where(yf > 1.0 + tol, 0, np.where(yf < 1.0 - tol, 2, 1)).astype(np.int8)
    smooth = loss in ("logistic", "squared")
    consistent = np.abs(link) <= tol * scale if smooth else _fit_together(loss, from_dual, from_primal)
    from_dual[~used] = LEFT_OUT
    from_primal[~used] = LEFT_OUT
    residuals = {
        "alpha (1 - yf - xi)": product,
        "beta xi": beta_xi,
        "alpha + beta - c" if loss == "hinge" else "stationarity": np.where(used, link, 0.0),
        "outside the box": np.where(used, _outside(loss, alpha, c), 0.0),
    }
    if smooth:  # no slack variable, so no products with it
        del residuals["alpha (1 - yf - xi)"], residuals["beta xi"]
    return Slackness(
        loss=loss,
        alpha=alpha,
        c=c,
        yf=yf,
        xi=xi,
        beta=beta,
        from_dual=from_dual,
        from_primal=from_primal,
        consistent=consistent | ~used,
        residuals=residuals,
        tol=float(tol),
    )


def _fit_together(loss: str, from_dual: np.ndarray, from_primal: np.ndarray) -> np.ndarray:
    """Whether complementary slackness allows the pair of readings."""
    full_with_slack = loss == "hinge"  # alpha = c and only then slack; the squared hinge bounds no alpha
    allowed = np.array([[1, 1, 0], [0, 1, not full_with_slack], [0, 1, 1]], dtype=bool)
    return np.asarray(allowed[from_dual, from_primal])


def _outside(loss: str, alpha: np.ndarray, c: np.ndarray) -> np.ndarray:
    """How far alpha misses [0, c], or [0, inf) for the squared hinge: such a point has no dual value at
    all.
    """
    if loss == "squared":
        return np.zeros_like(alpha)
    above = np.maximum(alpha - c, 0.0) if loss in ("hinge", "logistic") else 0.0
    return np.maximum(np.maximum(-alpha, 0.0), above)


def _link(loss: str, alpha: np.ndarray, c: np.ndarray, yf: np.ndarray, xi: np.ndarray, beta: np.ndarray) -> np.ndarray:
    """What vanishes when the derivative with respect to xi (or f) is zero."""
    if loss == "hinge":
        return alpha + beta - c
    if loss == "squared_hinge":
        return alpha - 2.0 * c * xi
    if loss == "squared":
        return alpha - c * (1.0 - yf)
    # 1 / (1 + e^yf) without overflow
    e = np.exp(-np.abs(yf))
    return alpha - c * np.where(yf > 0, e / (1.0 + e), 1.0 / (1.0 + e))


@result
@dataclass(frozen=True, eq=False)
class KernelSlackness(Slackness):
    """``certified``: the index into DUAL that every optimum has, 0 or 2; -1 where the gap proves neither.

    Attributes
    ----------
    certified : index into DUAL that every optimum has, 0 or 2; -1 where the gap proves neither
    """

    certified: np.ndarray | None = None

    def __str__(self) -> str:
        text = super().__str__()
        if self.certified is None:
            return text + "\nnothing is certified: there is no gap, or no bound on alpha"
        shown = ", ".join(f"{int((self.certified == k).sum())} {DUAL[k]}" for k in (0, 2))
        return f"{text}\ncertified at every optimum: {shown}; open: {int((self.certified < 0).sum())}"


def kernel_slackness(model: Any) -> KernelSlackness:
    """Of a fitted SVC or NuSVC that still knows its training scores."""
    certificate = model._certificate("slackness_")
    u, scalars = certificate.arrays["dual"], certificate.arrays["scalars"]
    scores = model._training_scores()
    y, inside = model._signs(), model._rows_of
    level = np.ones(len(u)) if model._kind == "c_svc" else -scalars[:, 1]
    level = np.where(level > 0.0, level, 1.0)[:, None]
    c = np.where(inside, model._c, 0.0) / level
    yf = np.where(inside, y * scores, 0.0) / level
    one = len(u) == 1
    alpha, c, yf = (a[0] if one else a for a in (np.abs(u) / level, c, yf))
    found = slackness(alpha, c, yf)
    certified = None
    off = model._scores_off
    if certificate.kind == "gap" and np.isfinite(model._c).all():
        certified = np.full(u.shape, -1, np.int8)
        for k, sub in enumerate(certificate.subproblems):
            rows = np.flatnonzero(inside[k])
            totals = (0.0,) if model._kind == "c_svc" else (0.0, model.nu * float(model._c[rows].sum()))
            tau = np.full(rows.size, 1.0 if model._kind == "c_svc" else 0.0)
            sides = certified_sides(
                model._scores[k, rows], model._norms(rows), y[k, rows], tau, model._c[rows], totals, sub.gap, sub.rounding,
                float(np.abs(u[k]).max(initial=0.0)), 0.0 if off is None else off[k, rows],
            )  # fmt: skip
            certified[k, rows[sides > 0]], certified[k, rows[sides < 0]] = 2, 0
        certified = certified[0] if one else certified
    return KernelSlackness(**found.__dict__, certified=certified)


def certified_sides(
    scores: np.ndarray,
    norms: np.ndarray,
    sign: np.ndarray,
    tau: np.ndarray,
    c: np.ndarray,
    totals: tuple[float, ...],
    gap: float,
    rounding: float,
    largest: float,
    scores_off: np.ndarray | float = 0.0,
) -> np.ndarray:
    """+1 where beta = c at every optimum, -1 where beta = 0, 0 where the gap proves neither; variables are the rows.

    The gap is taken with its rounding, and a score is not trusted beyond the rounding of the gap over the largest bound,
    which is more than it can be off by in float64; ``scores_off`` is what it is off by beyond that.
    """
    radius = math.sqrt(max(0.0, gap) + rounding) * (1.0 + 1e-12)
    off = rounding / max(float(c.max(initial=0.0)), largest, 1e-300)
    reach = norms * radius * (1.0 + 1e-12) + off + scores_off
    return prove_sides(scores - reach, scores + reach, sign, tau, c, totals)
