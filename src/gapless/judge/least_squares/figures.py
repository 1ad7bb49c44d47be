"""The figures of a least squares certificate, recomputed in float64: residuals, their orthogonality, rank, gap."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..arithmetic.compare import at_most, between, capped, equal
from ..arithmetic.rounding import TINY, UNIT, gamma
from ..case import GAP_SHARE, ROUNDING_FACTOR, size_of
from ..form.entries import number
from ..linear.recompute import Task, evaluate
from ..linear.rigorous import exact_figures
from ..rows import Block, DenseBlock
from .data import SquaresData
from .exact import ExactTarget
from .proof import most_rank, sure_rank, visible


class Figures(NamedTuple):
    """What the data say of a model; arrays have one number a target. The last four bound rounding."""

    mass: float
    rows: int  # with weight
    square: float  # sum_i s_i |x_i|^2
    rss: np.ndarray
    tss: np.ndarray
    cosine: np.ndarray
    size2: np.ndarray  # sum_i s_i y_i^2
    rss_room: np.ndarray
    room: np.ndarray  # what the cosine of an optimal model may be
    noise: np.ndarray  # what the cosine of this model may be off by
    varies: np.ndarray  # how far each column varies, in units of what fits take for rounding


def recompute(case: SquaresData) -> Figures:
    """The figures, measured with weights of at most 1, whose products with squares stay floats."""
    found = _measure(case)
    names = ("mass", "square", "rss", "tss", "size2", "rss_room")
    return found._replace(**{name: getattr(found, name) / case.grain for name in names})


def _measure(case: SquaresData) -> Figures:
    """One pass for the means, one for the residuals about them; weights are ``grain`` times as large."""
    # No room is wider than this share: of the squares of targets and residuals, of 1 for cosines (any, of mere rounding) and R2.
    squares_share, cosine_share = 1e-6, 0.01
    S, d = case.S, case.d
    mass, raw2, mean, sum_y, count = 0.0, np.zeros(d), np.zeros(d), np.zeros(S), 0
    first: np.ndarray | None = None
    for block, s, y in case.blocks(case.grain):
        if first is None:
            first = block.values[0].copy() if isinstance(block, DenseBlock) else np.zeros(d)
        moved = DenseBlock(0, block.values - first) if isinstance(block, DenseBlock) else block
        mean += _times(moved, s[None, :])[0]
        raw2 += _times(_squared(block), s[None, :])[0]
        mass, sum_y, count = mass + float(s.sum()), sum_y + y @ s, count + block.n
    assert first is not None
    mean, mean_y = (first + mean / mass) * case.free, sum_y / mass
    centred2, rss, tss, size2 = np.zeros(d), np.zeros(S), np.zeros(S), np.zeros(S)
    gradient, slope, drift = np.zeros((S, d)), np.zeros(S), np.zeros(d)
    for block, s, y in case.blocks(case.grain):
        r = y - block.scores(case.W).T - case.b[:, None]
        rss, tss, size2 = rss + (r * r) @ s, tss + ((y - mean_y[:, None]) ** 2) @ s, size2 + (y * y) @ s
        weighted = r * s
        if isinstance(block, DenseBlock):
            moved = DenseBlock(0, block.values - mean)
        else:  # as if dense: entries about the mean, and the zeros that are not stored, of which a full column has none
            moved = replace(block, data=block.data - mean[block.indices])
            stored = replace(block, data=np.ones(block.data.size))
            full = np.bincount(block.indices, minlength=d) == block.n
            gradient -= np.where(full, 0.0, weighted.sum(axis=1)[:, None] - _times(stored, weighted)) * mean
            absent = np.where(full, 0.0, np.maximum(s.sum() - _times(stored, s[None, :])[0], 0.0)) * mean
            centred2, drift = centred2 + absent * mean, drift - absent
        gradient, slope = gradient + _times(moved, weighted), slope + weighted.sum(axis=1)
        centred2, drift = centred2 + _times(_squared(moved), s[None, :])[0], drift + _times(moved, s[None, :])[0]
    centred2 = np.maximum(centred2 - case.free * drift**2 / mass, 0.0)  # the mean is rounded
    gradient -= case.grain * case.alpha[:, None] * case.W
    raw, constant = np.sqrt(raw2), 2.0**-44  # a column that varies by less than this part of its length is constant
    scale = np.maximum(np.sqrt(centred2), constant * raw) if case.free else raw
    length = np.sqrt(rss)
    # A constant column is the offset once more, and what is left of it about its mean is rounding.
    told = (scale > constant * raw) | (case.alpha[:, None] > 0.0)
    below = np.where(told, scale * length[:, None], 0.0)
    ratios = np.divide(np.abs(gradient), below, out=np.zeros_like(gradient), where=below > 0)
    cosine = ratios.max(axis=1, initial=0.0)
    if case.free:
        edge = math.sqrt(mass) * length
        cosine = np.maximum(cosine, np.divide(np.abs(slope), edge, out=np.zeros(S), where=edge > 0))
    terms = np.abs(case.W) @ raw + np.abs(case.b) * math.sqrt(mass)
    # No room grows with coefficients that the data cannot see.
    seen = np.minimum(terms, 2.0 * _seen(case, raw, scale, mean, mass, np.sqrt(size2)))
    error = gamma(d + 4) * seen + 2.0 * gamma(2) * np.sqrt(size2)
    unit = 2.0**-24 if case.document["dtype"] == "float32" else 0.0
    sums = gamma(2048 + count / 256)
    rounded = unit * (seen + np.abs(case.common) * math.sqrt(mass))  # of the model, whose offset has the common part
    own = gamma(d + 4) * seen + rounded + 2.0 * gamma(2) * np.sqrt(size2)
    part = np.divide(own, length, out=np.full(S, np.inf), where=length > 0)
    room = np.minimum(2.0 * part + 4.0 * sums, 2.0)
    noise = np.divide(error, length, out=np.full(S, np.inf), where=length > 0) * 2.0 + 4.0 * sums
    noise = np.fmin(noise, np.maximum(cosine_share, 4.0 * room))
    rss_room = capped(2.0 * error * length + error**2 + 4.0 * sums * rss, size2 + rss, squares_share)
    varies = np.sqrt(centred2) / np.maximum(constant * raw, TINY)
    return Figures(mass, count, raw2.sum(), rss, tss, cosine, size2, rss_room, room, noise, varies)


def _seen(
    case: SquaresData, raw: np.ndarray, scale: np.ndarray, mean: np.ndarray, mass: float, sizes: np.ndarray
) -> np.ndarray:
    """sum_j |w_j| |x_j| + |b| |1| of the part of each model that changes a score, and of its best offset; of the shortest such
    model with columns of length 1, or in the units of the data, where that is more."""
    root, found, W = math.sqrt(mass), np.zeros(case.S), case.W
    for unit in (scale, np.ones(case.d)):
        if case.d <= case.most_columns:
            V = visible(case, unit, mean, raw)
            scaled = (case.W * unit) @ V @ V.T
            W = np.divide(scaled, unit, out=np.zeros_like(scaled), where=unit > 0)
        found = np.maximum(found, np.abs(W) @ raw + (sizes + np.abs(W) @ np.abs(mean) * root if case.free else 0.0))
    return found


def target_claims(case: SquaresData, found: Figures, exact: list[ExactTarget] | None) -> None:
    """Residual sums of squares, R2 and orthogonality; ``exact`` figures take the place of those in float64."""
    for k, target in enumerate(case.parts):
        which = case.which(k)
        rss, tss, cosine = (float(a[k]) for a in (found.rss, found.tss, found.cosine))
        if exact is not None:
            rss, tss, cosine = exact[k].rss, exact[k].tss, exact[k].cosine
        claimed = number(target["rss"])
        near = equal(claimed, rss, 4.0 * found.rss_room[k])
        case.claim(which + "residual sum of squares", claimed, rss, near)
        _r2_claim(case, k, rss, tss, float(found.rss_room[k]), found.mass)
        if case.kind == "gap":
            continue
        limit, room = number(target["rounding"]), float(found.room[k])
        honest = between(limit, 0.0, ROUNDING_FACTOR * room)
        case.claim(which + "rounding", limit, room, honest, "is at most what rounding can need")
        claimed = number(target["orthogonality"])
        near = equal(claimed, cosine, 4.0 * float(found.noise[k]) + 1e-9 * cosine)
        case.claim(which + "orthogonality", claimed, cosine, near)


def _r2_claim(case: SquaresData, k: int, rss: float, tss: float, room: float, mass: float) -> bool:
    name, claimed = case.which(k) + "R2", number(case.parts[k]["r2"])
    size = float(case.largest[k])
    edge, predicted = mass * (size * 2.0**-50) ** 2, mass * (size * 2.0**-20) ** 2
    if math.isnan(claimed) and at_most(tss, 4.0 * edge):
        return case.claim(name, claimed, None, True, "of a constant target: files of 0.1.0 say that it is not defined")
    if claimed in (0.0, 1.0) and at_most(tss, 4.0 * edge):
        holds = at_most(rss, 4.0 * predicted) if claimed else at_most(0.25 * predicted, rss)
        return case.claim(name, claimed, None, holds, "of a constant target: 1 where it is predicted, else 0")
    if not at_most(0.25 * edge, tss) or tss == 0.0:
        return case.claim(name, claimed, None, False, "of a constant target: neither 1 nor 0")
    found = 1.0 - rss / tss
    # The mean of y, less its common part, is known to some ulps, which count where y hardly varies.
    left = float(np.abs(case.Y[k][case.s > 0]).max()) * 2.0**-50
    loose = capped(1e-9 + 8.0 * left * math.sqrt(mass) / math.sqrt(tss), 1.0, 1.0)
    return case.claim(name, claimed, found, equal(claimed, found, 8.0 * room / tss + loose * (1.0 + rss / tss)))


def rank_claim(case: SquaresData, count: int, varies: np.ndarray) -> None:
    rank = case.block["rank"]
    if rank is None:
        return
    most = max(min(count - case.free, case.d), 0) if count else 0
    sure, most = sure_rank(case, varies), min(most, most_rank(case, varies))
    case.claim("rank", rank, None, between(rank, sure, most), f"between {sure} and {most}")


def gap_claims(case: SquaresData, figures: Figures, in_fractions: bool) -> None:
    """P, D and the gap of each target, as of the squared loss with c = s / alpha: these floats define the problem."""
    assert case.U is not None
    tol = number(case.block["tol"])
    for k, target in enumerate(case.parts):
        which, one = case.which(k), slice(k, k + 1)
        task = Task(case.rows, case.Y[one], case.s / case.alpha[k], "squared", "free" if case.free else "none")
        found = evaluate(task, case.W[one], case.b[one], case.U[one])[0]
        primal, dual, gap = found.primal, found.dual, found.gap
        if in_fractions:
            exact = exact_figures(task, case.W[one], case.b[one], case.U[one])[0]
            primal, dual, gap = exact.floats() or (primal, dual, gap)
        values = {name: number(target[name]) for name in ("primal", "dual", "gap", "relative_gap", "rounding")}
        size, null = size_of(primal, dual), (figures.tss if case.free else figures.size2)[k] / case.alpha[k]
        rough, own = _rough(case, k, figures, found.gap.up)
        most = ROUNDING_FACTOR * (found.textbook + rough)
        if math.isfinite(values["gap"]):  # else nothing is claimed
            most = capped(most, size + null, GAP_SHARE)
        stated = case.rounding_claim(which, values["rounding"], most, found.finite)
        room = stated + 4.0 * UNIT * size
        near = min(room, ROUNDING_FACTOR * (found.own + own) + 4.0 * UNIT * (size_of(primal, primal) + null))
        for name, interval in (("primal", primal), ("dual", dual), ("gap", gap)):
            reach = near if name == "primal" else room
            case.figure_claim(which + name, values[name], interval, reach, size + null, found.finite)
        scale = max(abs(values["primal"]), abs(values["dual"]))
        case.relative_claim(which, values["relative_gap"], values["gap"], scale)
        case.bounds.append((primal.up, dual.low, gap.up))
        # A gap below its rounding is none, unless that is large against the targets: mass |y|^2 / alpha >= 2 P(0).
        y = case.Y[k][case.s > 0]
        largest = float(np.abs(y - y[0] if case.free else y).max())
        limit = tol * figures.mass * largest**2 / case.alpha[k]
        within = at_most(values["gap"], values["rounding"])
        reached = at_most(values["relative_gap"], tol) or (within and at_most(values["rounding"], limit))
        if within and equal(values["rounding"], limit, 1e-9 * limit):  # the limit itself is rounded
            reached = target["status"] == "converged"
        case.ending_claim(which, target["status"], reached)


def _rough(case: SquaresData, k: int, figures: Figures, gap: float) -> tuple[float, float]:
    """What P - D, and P by itself, may be off by where lengths stand for the products of rows and model: a cap, no proof."""
    assert case.U is not None
    keep = case.s > 0
    c, u = case.s[keep] / case.alpha[k], case.U[k][keep]
    rows = math.sqrt((figures.square + figures.mass) / case.alpha[k])
    w = math.sqrt(float(case.W[k] @ case.W[k]))
    score = gamma(case.d + 8) * math.hypot(w, float(case.b[k])) * rows
    n = u.size
    off = gamma(min(n, 1024) + n / 256 + 64) * math.sqrt(float((u * u / c).sum())) * rows
    combined = w + math.sqrt(2.0 * max(0.0, gap) if math.isfinite(gap) else 0.0)
    own = score * (math.sqrt(float(figures.rss[k]) / case.alpha[k]) + score)
    return own + off * (combined + off), own


def ending_claims(case: SquaresData) -> None:
    """The status of each target follows from its figures, and that of the whole from theirs."""
    tol = number(case.block["tol"])
    if case.kind == "orthogonality":
        for k, target in enumerate(case.parts):
            reached = at_most(number(target["orthogonality"]), tol, number(target["rounding"]))
            case.ending_claim(case.which(k), target["status"], reached)
    case.status_claim()


def _times(block: Block, U: np.ndarray) -> np.ndarray:
    """U X"""
    return np.sum(list(block.combine(U)), axis=0)


def _squared(block: Block) -> Block:
    if isinstance(block, DenseBlock):
        return DenseBlock(block.start, block.values * block.values)
    return replace(block, data=block.data * block.data)
