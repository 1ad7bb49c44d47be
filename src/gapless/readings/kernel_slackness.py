"""Complementary slackness of a kernel machine, and the classes that its gap proves.

NuSVC is read as the SVC that it is: alpha, c and yf divided by rho, C = 1 / rho.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from gapless._runtime.results import result
from gapless.judge.kernel.labels import safe_sides
from gapless.readings.slackness import DUAL, Slackness, slackness

__all__ = ["KernelSlackness", "certified_sides", "kernel_slackness"]


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
    return safe_sides(scores - reach, scores + reach, np.arange(sign.size), sign, tau, c, totals)
