"""Every cut of every node once more: none is better than the tree's own, and every leaf has a reason to be one."""

from __future__ import annotations

import heapq
from fractions import Fraction
from typing import Any

import numpy as np

from ..arithmetic.compare import at_most, capped
from ..arithmetic.rounding import gamma
from ..errors import CertificateError
from ..form.entries import number
from .criteria import admits, best_absolute
from .data import TreeData

#: Scores that agree to this share are equal for the tree: it then takes the lowest feature and threshold.
TIE = 2.0**-43


def best_claims(case: TreeData, exact: bool) -> None:
    """Adds what holds of the splits and of the leaves."""
    inner = np.flatnonzero(~case.ends)
    wanted = case.block["best"]
    gains = {t: _gain(case, case.held[t], case.goes_left(t, case.held[t])) for t in inner.tolist()}
    worst = min((gain / case.weight[t] for t, (gain, _) in gains.items()), default=0.0)
    falls = all(at_most(-gain, 0.0, room) for gain, room in gains.values())
    case.claim("impurity falls", "at every split", worst, falls, "the least decrease")
    fewest, outputs = number(case.parameters.get("min_impurity_decrease") or 0.0), _outputs(case)
    enough = all(at_most(fewest * outputs * case.weight[0], gain, room) for gain, room in gains.values())
    case.claim("min_impurity_decrease", fewest, worst / outputs, enough, "at every split")
    price, least = number(case.parameters.get("ccp_alpha") or 0.0), _cheapest(case)
    note = "no branch is worth less than its price"
    case.claim("ccp_alpha", price, least, price == 0.0 or at_most(price, least, 1e-9 * price), note)
    if case.problem["criterion"] == "poisson":
        kept = all((case.Y[case.held[t]] > 0).any(axis=0).all() for t in np.flatnonzero(case.ends).tolist())
        case.claim(
            "means above 0", "in every leaf", None, kept or not inner.size, "what Poisson's deviance can be asked of"
        )
    small = min((case.held[t].size for t in inner.tolist()), default=case.problem["min_split"])
    case.claim("rows of a split", case.problem["min_split"], small, at_most(case.problem["min_split"], small))
    if not wanted:
        if reasons_known(case):
            _reason_claim(case, None)
        return
    behind, bad = 0.0, -1
    for t in inner.tolist():
        gain, room = gains[t]
        found = _best(case, t)
        if found is not None and not at_most(found, gain, room + TIE * abs(found)):
            bad = t if bad < 0 else bad
        if found is not None:
            behind = max(behind, (found - gain) / max(abs(found), 1e-300) if found > room else 0.0)
    note = f"node {bad} has a better one" if bad >= 0 else "no cut of any feature does better, but for rounding"
    case.claim("every split is the best", f"{inner.size} splits", behind, bad < 0, note)
    if exact:
        _exact_claims(case, inner)
    _reason_claim(case, gains)


def reasons_known(case: TreeData) -> bool:
    """A split that was drawn may fail limits or an order, be pruned with what limits left of its branch, or leave nothing but
    missing values on a side; else there is one wherever there is a cut, and a branch that was pruned took off all there was."""
    p, pruned = case.parameters, 0.0
    if p.get("max_depth") is not None or p.get("max_leaf_nodes") is not None or case.problem["min_split"] != 2:
        pruned = number(p.get("ccp_alpha") or 0.0)
    fewest = number(p.get("min_impurity_decrease") or 0.0)
    limits = (case.problem["min_leaf"] - 1, number(case.problem["min_weight"]), fewest, pruned)
    free = not case.signs.any() and case.problem["criterion"] != "poisson"
    free = free and not (case.problem["missing"] and case.parameters.get("splitter") == "random")
    return bool(case.problem["exact"]) and free and not any(limits)


def _cheapest(case: TreeData) -> float:
    """The least that a branch takes off the impurity for each leaf more, as a share of the whole weight."""
    risk, leaves, least = case.weight * case.impurity / case.weight[0], np.zeros(case.left.size), 1e308
    own = risk.copy()
    for t in range(case.left.size - 1, -1, -1):  # children stand behind their parents
        leaves[t] = 1.0
        if not case.ends[t]:
            leaves[t] = leaves[case.left[t]] + leaves[case.right[t]]
            own[t] = own[case.left[t]] + own[case.right[t]]
            least = min(least, float(risk[t] - own[t]) / float(leaves[t] - 1.0))
    return float(least)


def _outputs(case: TreeData) -> int:
    return int(case.starts.size) - 1


def _reason_claim(case: TreeData, gains: dict[int, tuple[float, float]] | None) -> None:
    """Where growth ended at max_leaf_nodes, it went best first; ``gains`` are None where splits were drawn."""
    widest = case.parameters.get("max_leaf_nodes")
    if widest is not None and int(case.ends.sum()) == widest:
        grown = gains is None or _best_first(case, gains)
        note = "no leaf has a better cut than a later split"
        case.claim("best first", f"{widest} leaves", None, grown, note)
    else:
        lazy = [t for t in np.flatnonzero(case.ends).tolist() if not _has_reason(case, t)]
        note = f"node {lazy[0]} could have been split" if lazy else "pure, at a limit, or nothing to cut"
        case.claim("every leaf has a reason", int(case.ends.sum()), None, not lazy, note)


def _best_first(case: TreeData, gains: dict[int, tuple[float, float]]) -> bool:
    """Whether each split, in the order of their gains, takes off no less than any leaf that was there could have."""
    waiting, behind, room, since = [(-gains[0][0], 0)] if gains else [], -np.inf, 0.0, np.inf
    while waiting:
        gain, t = heapq.heappop(waiting)
        wide = room + gains[t][1] + TIE * abs(gain)
        if np.isfinite(behind) and not at_most(since, -gain, wide) and not at_most(behind, -gain, wide):
            return False  # splits as good as that of the leaf's parent may have come before it
        for child in (int(case.left[t]), int(case.right[t])):
            if not case.ends[child]:
                heapq.heappush(waiting, (-gains[child][0], child))
            elif not _has_reason(case, child):
                best = _best(case, child)
                if best is not None and best > behind:
                    behind, room, since = best, _room(case, case.held[child]), -gain
    return True


def _spread(case: TreeData, w: np.ndarray, Y: np.ndarray) -> float:
    """W times impurity times the outputs."""
    return float(w.sum()) * case.impurity_of(w, Y) * _outputs(case)


def _gain(case: TreeData, rows: np.ndarray, left: np.ndarray) -> tuple[float, float]:
    """What a split takes off W * impurity, and a bound on the rounding in it."""
    w, Y = case.weights[rows], case.Y[rows]
    whole = _spread(case, w, Y)
    return whole - _spread(case, w[left], Y[left]) - _spread(case, w[~left], Y[~left]), _room(case, rows)


def _room(case: TreeData, rows: np.ndarray) -> float:
    """What rounding can do to a gain: sums of weights and of targets, in float64, in any order.

    Where one row outweighs all others by far, the digits of the others are lost in W: so it is in proportion to W."""
    # What rounding may do to a gain is at most this share of the weight times the spread of the targets of the node.
    share = 1e-6
    w, Y = case.weights[rows], case.Y[rows]
    widest = case.starts.size - 1.0 if case.index is not None else float(((Y - Y[0]) ** 2).sum(axis=1).max())
    widest += (gamma(8) * float(np.abs(Y).max())) ** 2
    logs = 64.0 if case.problem["criterion"] in ("entropy", "poisson") else 1.0
    if case.problem["criterion"] in ("absolute_error", "poisson"):
        widest = float(np.abs(Y - (Y[0] if logs == 1.0 else 0.0)).sum(axis=1).max() + gamma(8) * np.abs(Y).max())
    return float(capped(64.0 * logs * gamma(4 * rows.size + 64), 1.0, share)) * float(w.sum()) * widest


def _best(case: TreeData, node: int) -> float | None:
    """The largest gain of all cuts of a node that respect the limits; None where there is none."""
    # Numbers that are summed up at a time.
    values = 1 << 21
    rows = case.held[node]
    w, Y = case.weights[rows], case.Y[rows]
    centre = np.zeros(Y.shape[1])
    if case.problem["criterion"] in ("squared_error", "absolute_error"):
        centre = case.value_of(w, Y)[0]
        Y = Y - centre
    X, fence = case.X[rows], _fence(case, node, float(centre[-1]), float(np.abs(Y).max()))
    numbers = [j for j, known in enumerate(case.levels) if known is None]
    varies = [j for j in numbers if np.isnan(X[:, j]).any() or (X[:, j] != X[0, j]).any()]
    missing = [j for j in varies if np.isnan(X[:, j]).any()]
    plain = [j for j in varies if j not in missing]
    if case.problem["criterion"] == "absolute_error":
        found = [best_absolute(case, X[:, j], w, Y, fence(j)) for j in varies]
        return max((each for each in found if each is not None), default=None)
    step = 1 if case.signs.any() else max(1, values // (rows.size * (Y.shape[1] + 1)))
    found = [_cuts(case, X[:, plain[s : s + step]], w, Y, None, fence(plain[s])) for s in range(0, len(plain), step)]
    for j in missing:
        found += _cuts_with_missing(case, X[:, j], w, Y, fence(j))
    for j, known in enumerate(case.levels):
        if known is not None:
            found.append(_sets(case, X[:, j], w, Y))
    return max((each for each in found if each is not None), default=None)


def _fence(case: TreeData, node: int, centre: float, size: float) -> Any:
    """What a cut of feature j may not break: its sign, the bounds of the node less its centre, and the size of its values."""
    if not case.signs.any():
        return lambda j: None
    lower, upper = float(case.below[node, 1]) - centre, float(case.above[node, 0]) - centre
    return lambda j: (float(case.signs[j]), lower, upper, size + abs(centre))


def _score(case: TreeData, W: Any, S: np.ndarray) -> Any:
    """- W * impurity of a side, up to what does not depend on the cut: sums S (..., P) and weights W."""
    if case.problem["criterion"] == "poisson":
        W = np.asarray(W)[..., None]
        return np.where(S > 0, S * np.log(np.where(S > 0, S, W) / W), 0.0).sum(axis=-1)
    if case.problem["criterion"] != "entropy":
        return (S * (S / np.asarray(W)[..., None])).sum(axis=-1)  # S^2 overflows first
    outputs = case.starts.size - 1
    logs = np.where(S > 0, S * np.log2(np.where(S > 0, S, 1.0)), 0.0).sum(axis=-1)
    return logs - outputs * W * np.log2(W)


def _cuts(case: TreeData, X: np.ndarray, w: np.ndarray, Y: np.ndarray, first: Any, fence: Any) -> float | None:
    """The best gain over all cuts of some columns. ``first``: weight, sums and rows that lie left of every cut."""
    m = Y.shape[0]
    order = np.argsort(X, axis=0, kind="stable")
    values = np.take_along_axis(X, order, axis=0)
    W = np.cumsum(w[order], axis=0)[:-1]
    S = np.cumsum((w[:, None] * Y)[order], axis=0)[:-1]
    nl = np.arange(1, m)[:, None] * np.ones((1, X.shape[1]), dtype=np.int64)
    total_W, total_S, n = w.sum(), w @ Y, m
    if first is not None:
        W, S, nl = W + first[0], S + first[1], nl + first[2]
        total_W, total_S, n = total_W + first[0], total_S + first[1], n + first[2]
    return _most(case, values[:-1] < values[1:], W, S, nl, total_W, total_S, n, fence)


def _most(
    case: TreeData, cut: Any, W: Any, S: Any, nl: Any, total_W: float, total_S: np.ndarray, n: int, fence: Any = None
) -> float | None:
    least, light = case.problem["min_leaf"], number(case.problem["min_weight"])
    # A side whose weight is at the limit but for rounding may or may not count.
    light = light * (1.0 + 1e-9) if light > 0 else 0.0
    good = cut & (nl >= least) & (n - nl >= least) & (W >= light) & (total_W - W >= light) & (W > 0) & (total_W > W)
    if case.problem["criterion"] == "poisson":  # a side of targets 0 alone has no mean to be predicted
        good &= ((S > 1e-11 * total_S) & (total_S - S > 1e-11 * total_S)).all(axis=-1)
    if fence is not None and fence[0] != 0:
        with np.errstate(divide="ignore", invalid="ignore"):
            good &= admits(fence, S[..., -1] / W, (total_S[-1] - S[..., -1]) / (total_W - W))
    if not good.any():
        return None
    score = _score(case, W, S) + _score(case, total_W - W, total_S - S) - _score(case, total_W, total_S)
    return float(np.where(good, score, -np.inf).max())


def _cuts_with_missing(
    case: TreeData, x: np.ndarray, w: np.ndarray, Y: np.ndarray, fence: Any
) -> list[float | None]:  # fmt: skip
    none = np.isnan(x)
    if none.all():
        return []
    here, away = (w[~none], Y[~none]), (w[none], Y[none])
    left = (away[0].sum(), away[0] @ away[1], int(none.sum()))
    found: list[float | None] = []
    if (~none).sum() > 1:
        found.append(_cuts(case, x[~none, None], *here, left, fence))  # missing values go left
    # Missing values go right; the last cut has nothing but them on its right.
    order = np.argsort(x[~none], kind="stable")
    W = np.cumsum(here[0][order])[:, None]
    S = np.cumsum((here[0][:, None] * here[1])[order], axis=0)[:, None, :]
    values = np.append(x[~none][order], np.inf)
    nl = np.arange(1, order.size + 1)[:, None]
    found.append(_most(case, (values[:-1] < values[1:])[:, None], W, S, nl, w.sum(), w @ Y, x.size, fence))
    return found


def _sets(case: TreeData, x: np.ndarray, w: np.ndarray, Y: np.ndarray) -> float | None:
    """The best prefix of the categories in order of their means, of each target in turn; NaN is a category."""
    _, rank = np.unique(x, return_inverse=True)
    rank = rank.reshape(-1)
    W = np.bincount(rank, weights=w)
    if W.size < 2:
        return None
    S = np.column_stack([np.bincount(rank, weights=w * Y[:, k]) for k in range(Y.shape[1])])
    counts = np.bincount(rank)
    found = []
    for k in range(Y.shape[1]):
        order = np.argsort(S[:, k] / W, kind="stable")
        parts = [np.cumsum(each[order], axis=0)[:-1] for each in (W, S, counts)]
        cut = np.ones(W.size - 1, dtype=bool)[:, None]
        left = parts[0][:, None], parts[1][:, None, :], parts[2][:, None]
        found.append(_most(case, cut, *left, w.sum(), w @ Y, x.size))
    return max((each for each in found if each is not None), default=None)


def _has_reason(case: TreeData, node: int) -> bool:
    rows, deepest = case.held[node], case.parameters.get("max_depth")
    least = case.problem["min_leaf"]
    if (case.Y[rows] == case.Y[rows[0]]).all() or (deepest is not None and case.depth[node] >= deepest):
        return True
    if rows.size < case.problem["min_split"] or rows.size < 2 * least:
        return True
    if case.weight[node] <= 2.0 * number(case.problem["min_weight"]) * (1.0 + 1e-9):
        return True
    # A weight that vanishes in the sum of the others cannot be told from none.
    if case.weights[rows].min() <= gamma(4 * rows.size + 64) * case.weight[node]:
        return True
    best = _best(case, node)
    if best is None:
        return True
    # W times the decrease of the impurity, as a share of the weight of the whole tree.
    whole, room = _outputs(case) * float(case.weight[0]), _room(case, rows)
    fewest = number(case.parameters.get("min_impurity_decrease") or 0.0)
    if fewest > 0.0 and at_most(best, fewest * whole, room):
        return True
    # Pruning takes a branch of L leaves where it is worth no more than ccp_alpha (L - 1).
    price = number(case.parameters.get("ccp_alpha") or 0.0) * (rows.size // max(1, least) - 1)
    return price > 0.0 and at_most(best, price * whole, room)


# -- in fractions


def _exact_claims(case: TreeData, inner: np.ndarray) -> None:
    # Rows x features over all nodes, up to which fractions are used.
    most_exact = 2_000_000
    work = sum(case.held[t].size for t in inner.tolist()) * case.d
    if work > most_exact:
        told = f"{work} rows x features over all nodes, at most {most_exact}; leave rigorous out"
        raise CertificateError(f"too large for fractions: {told}")
    bad, ties = -1, 0
    for t in inner.tolist():
        rows = case.held[t]
        w = [Fraction(float(v)) for v in case.weights[rows]]
        Y = [[Fraction(float(v)) for v in line] for line in case.Y[rows]]
        left = case.goes_left(t, rows)
        total_W, total_S = sum(w, Fraction(0)), _sums(w, Y, range(rows.size))
        inside = [i for i in range(rows.size) if left[i]]
        own = _value(sum((w[i] for i in inside), Fraction(0)), _sums(w, Y, inside), total_W, total_S)
        best = _exact_best(case, rows, w, Y, total_W, total_S)
        if best is None:
            continue
        ties += best == own
        if best - own > Fraction(_room(case, rows)):
            bad = t if bad < 0 else bad
    note = f"node {bad} has a better one" if bad >= 0 else f"{ties} of {inner.size} the best to the last digit"
    case.claim("every split is the best, in fractions", f"{inner.size} splits", None, bad < 0, note)


def _sums(w: list[Fraction], Y: list[list[Fraction]], which: Any) -> list[Fraction]:
    out = [Fraction(0)] * len(Y[0])
    for i in which:
        for k, v in enumerate(Y[i]):
            out[k] += w[i] * v
    return out


def _value(W: Fraction, S: list[Fraction], total_W: Fraction, total_S: list[Fraction]) -> Fraction:
    right = [t - s for t, s in zip(total_S, S, strict=True)]
    square = sum((s * s for s in S), Fraction(0)) / W
    return square + sum((s * s for s in right), Fraction(0)) / (total_W - W)


def _exact_best(
    case: TreeData, rows: Any, w: Any, Y: Any, total_W: Fraction, total_S: list[Fraction]
) -> Fraction | None:
    least, light = case.problem["min_leaf"], Fraction(number(case.problem["min_weight"]))
    light = light * (1 + Fraction(1, 10**9))
    best: Fraction | None = None
    for j in range(case.d):
        if case.levels[j] is not None:
            continue
        x = case.X[rows, j]
        none = [i for i in range(rows.size) if np.isnan(x[i])]
        order = sorted((i for i in range(rows.size) if not np.isnan(x[i])), key=lambda i: x[i])
        for start in ([], none) if none else ([],):
            W, S, n = sum((w[i] for i in start), Fraction(0)), _sums(w, Y, start), len(start)
            for at, i in enumerate(order):
                W, n = W + w[i], n + 1
                S = [s + w[i] * v for s, v in zip(S, Y[i], strict=True)]
                last = at + 1 == len(order)
                if (last and (start or not none)) or (not last and x[order[at + 1]] == x[i]):
                    continue
                if n < least or rows.size - n < least or light > W or light > total_W - W:
                    continue
                value = _value(W, S, total_W, total_S)
                best = value if best is None or value > best else best
    return best
