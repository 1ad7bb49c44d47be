"""Small problems with reference fits, documents and files, made without the library's solvers.

Figures are computed here by plain numpy, so that the judge is compared with somebody else's arithmetic.
"""

from __future__ import annotations

import copy
import hashlib
import io
import json
import zipfile
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import clarabel
import judge_softmax
import mpmath
import numpy as np
import scipy.sparse as sp

from gapless.judge import fingerprint

LOSSES = ("hinge", "squared_hinge", "logistic", "squared")
OFFSETS = ("none", "penalised", "free")
UNIT = 2.0**-53

# ---------------------------------------------------------------- problems


@dataclass
class Problem:
    """One problem of +-1 labels (real targets for the squared loss)."""

    X: np.ndarray
    y: np.ndarray
    c: np.ndarray
    loss: str
    offset: str
    scale: float = 1.0


def random_problem(rng: np.random.Generator, loss: str, offset: str, n: int = 12, d: int = 3) -> Problem:
    """A small problem: separable or not, weighted or not, float32 data, bad scales, rows of c = 0."""
    n, d = int(rng.integers(4, n + 1)), int(rng.integers(1, d + 1))
    y = np.where(rng.random(n) < rng.choice([0.5, 0.2]), 1.0, -1.0)
    y[:2] = 1.0, -1.0
    X = rng.normal(size=(n, d)) + rng.choice([0.0, 0.5, 2.0]) * y[:, None]
    style = rng.integers(5)
    if style == 0:
        X = X.astype(np.float32).astype(np.float64)
    elif style == 1:
        X = X * 10.0 ** rng.integers(-6, 7, size=d)
    elif style == 2:
        X[rng.random(X.shape) < 0.5] = 0.0
    c = np.full(n, 10.0 ** rng.integers(-3, 4))
    if rng.random() < 0.5:
        c = c * rng.random(n) * 10.0 ** rng.integers(-2, 3, size=n)
    if rng.random() < 0.3:
        c[rng.integers(2, n)] = 0.0
    if loss == "squared" and rng.random() < 0.5:
        y = rng.normal(size=n) * 3
    scale = 1.0 if offset != "penalised" else float(rng.choice([1.0, 0.3, 7.0]))
    return Problem(X, y, c, loss, offset, scale)


def random_point(rng: np.random.Generator, p: Problem) -> tuple[np.ndarray, float, np.ndarray]:
    """Some (w, b) and some feasible u, far from or close to the best ones."""
    if rng.random() < 0.5:
        w, b, u = reference_fit(p)
        if rng.random() < 0.5:
            t = 10.0 ** rng.integers(-8, 0)
            w, b, u = w * (1 + t * rng.normal(size=w.shape)), b * (1 + t), u * (1 - t)
    else:
        w, b = rng.normal(size=p.X.shape[1]), float(rng.normal())
        a = rng.random(p.y.size) * rng.choice([0.0, 1.0, 1.0], size=p.y.size)
        u = p.c * (a * p.y if p.loss != "squared" else rng.normal(size=a.size))
    return w, b if p.offset != "none" else 0.0, u


def constant(p: Problem) -> float:
    return {"none": 0.0, "penalised": p.scale, "free": 1.0}[p.offset]


def reference_fit(p: Problem, repair: bool = True) -> tuple[np.ndarray, float, np.ndarray]:
    """A good (w, b) and a feasible u, sum u = 0 to rounding: interior point for the hinge, else Newton."""
    keep = p.c > 0
    X, y, c = p.X[keep], p.y[keep], p.c[keep]
    n, d = X.shape
    s = constant(p)
    A = np.hstack([X, np.full((n, 1), s)]) if s else X
    penalty = np.ones(A.shape[1])
    if p.offset == "free":
        penalty[-1] = 0.0
    if p.loss == "hinge":
        theta, alpha = _interior_point(A, y, c, penalty)
        u = np.clip(alpha, 0.0, c) * y
    elif p.loss == "squared":
        theta = np.linalg.lstsq(A.T @ (c[:, None] * A) + np.diag(penalty), A.T @ (c * y), rcond=None)[0]
        u = c * (y - A @ theta)
    else:
        theta = _newton(A, y, c, penalty, p.loss)
        slope = _slopes(y * (A @ theta), p.loss)[0]
        u = y * (c * slope if p.loss == "squared_hinge" else np.clip(c * slope, 0.0, c))
    if p.offset == "free" and repair:
        u = _balanced(u, y, c, p.loss)
    full = np.zeros(p.y.size)
    full[keep] = u
    return theta[:d], float(s * theta[-1]) if s else 0.0, full


def _interior_point(A: np.ndarray, y: np.ndarray, c: np.ndarray, penalty: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    n, k = A.shape
    H = sp.diags(np.concatenate([penalty, np.zeros(n)])).tocsc()
    q = np.concatenate([np.zeros(k), c])
    G = sp.vstack([sp.hstack([-y[:, None] * A, -sp.eye(n)]), sp.hstack([sp.csc_matrix((n, k)), -sp.eye(n)])]).tocsc()
    h = np.concatenate([-np.ones(n), np.zeros(n)])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
    solution = clarabel.DefaultSolver(H, q, G, h, [clarabel.NonnegativeConeT(2 * n)], settings).solve()
    return np.array(solution.x)[:k], np.array(solution.z)[:n]


def _slopes(m: np.ndarray, loss: str) -> tuple[np.ndarray, np.ndarray]:
    """-l' and l'' in the margin m."""
    if loss == "squared_hinge":
        return 2.0 * np.maximum(0.0, 1.0 - m), np.where(m < 1.0, 2.0, 0.0)
    q = 1.0 / (1.0 + np.exp(np.clip(m, -700, 700)))
    return q, q * (1 - q)


def _newton(A: np.ndarray, y: np.ndarray, c: np.ndarray, penalty: np.ndarray, loss: str) -> np.ndarray:
    def value(theta: np.ndarray) -> float:
        m = y * (A @ theta)
        losses = np.maximum(0.0, 1.0 - m) ** 2 if loss == "squared_hinge" else np.logaddexp(0.0, -m)
        return float(0.5 * penalty @ theta**2 + c @ losses)

    theta = np.zeros(A.shape[1])
    for _ in range(100):
        slope, bend = _slopes(y * (A @ theta), loss)
        g = penalty * theta - A.T @ (c * y * slope)
        H = A.T @ ((c * bend)[:, None] * A) + np.diag(penalty + 1e-14)
        step = np.linalg.lstsq(H, g, rcond=None)[0]
        t, now = 1.0, value(theta)
        while t > 1e-12 and not value(theta - t * step) < now:
            t *= 0.5
        if t <= 1e-12:
            break
        theta = theta - t * step
    return theta


def _balanced(u: np.ndarray, y: np.ndarray, c: np.ndarray, loss: str) -> np.ndarray:
    if loss == "squared":
        return u - u.sum() / u.size
    for _ in range(4):
        r = u.sum()
        if r == 0.0:
            break
        high = y > 0 if r > 0 else y < 0  # these have alpha to give
        size = np.where(high, np.abs(u), 0.0)
        if size.sum() <= abs(r):
            return np.zeros_like(u)
        a = np.abs(u) - size * abs(r) / size.sum()
        u = y * np.clip(a, 0.0, c if loss != "squared_hinge" else np.inf)
    return u


# --------------------------------------------------------- plain and exact figures


def plain_primal(p: Problem, w: np.ndarray, b: float) -> float:
    z = p.X @ w + b
    m = p.y * z
    slack = np.maximum(0.0, 1.0 - m)
    terms = {
        "hinge": lambda: slack,
        "squared_hinge": lambda: slack**2,
        "logistic": lambda: np.logaddexp(0.0, -m),
        "squared": lambda: 0.5 * (p.y - z) ** 2,
    }[p.loss]()
    penalty = 0.5 * (b / p.scale) ** 2 if p.offset == "penalised" else 0.0
    return float(0.5 * w @ w + penalty + p.c @ terms)


def plain_dual(p: Problem, u: np.ndarray, primal: float) -> float:
    keep = p.c > 0
    X, y, c, u = p.X[keep], p.y[keep], p.c[keep], u[keep]
    a = u * y
    if p.loss == "hinge":
        terms = a
    elif p.loss == "squared_hinge":
        terms = a - a * a / (4 * c)
    elif p.loss == "squared":
        terms = u * y - u * u / (2 * c)
    else:
        q = np.clip(a / c, 0.0, 1.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            terms = -c * (np.where(q > 0, q * np.log(q), 0.0) + np.where(q < 1, (1 - q) * np.log1p(-q), 0.0))
    V = X.T @ u
    value = terms.sum() - 0.5 * V @ V
    r = float(u.sum())
    if p.offset == "penalised":
        value -= 0.5 * (p.scale * r) ** 2
    if p.offset == "free":
        value -= plain_offset_bound(p, primal) * abs(r)
    return float(value)


def plain_offset_bound(p: Problem, primal: float) -> float:
    keep = p.c > 0
    reach = float(np.sqrt((p.X[keep] ** 2).sum(axis=1).max() * 2.0 * max(primal, 0.0)))
    if p.loss == "squared":
        return float(np.abs(p.y[keep]).max()) + reach
    if p.loss != "logistic":
        return 1.0 + reach
    plus, minus = p.c[p.y > 0].sum(), p.c[p.y < 0].sum()
    return abs(float(np.log(plus / minus))) + reach


def plain_rounding(p: Problem, w: np.ndarray, b: float, u: np.ndarray, primal: float) -> float:
    """The textbook bound for the two functions above; long sums go in blocks, as numpy's do."""
    n, d = p.X.shape
    s = constant(p)
    norms = np.sqrt((p.X**2).sum(axis=1) + s * s)
    theta = float(np.sqrt(w @ w + (b / s) ** 2)) if s else float(np.linalg.norm(w))
    slope = np.ones(n)
    if p.loss == "squared":
        slope = np.abs(p.y - (p.X @ w + b)) + 1e-9
    elif p.loss == "squared_hinge":
        slope = 2.0 * np.maximum(0.0, 1.0 - p.y * (p.X @ w + b)) + 1e-9
    error = (d + 8) * UNIT * float((p.c * slope * norms).sum()) * theta
    V = p.X.T @ u
    length = float(np.sqrt(V @ V + (s * u.sum()) ** 2))
    n = min(n, 1024) + n // 512
    missed = (n + 8) * UNIT * float(np.abs(u) @ norms)
    terms = float(np.abs(u).sum() * (1 + np.abs(p.y).max()))
    if p.loss.startswith("squared"):
        terms += float((u[p.c > 0] ** 2 / p.c[p.c > 0]).sum())
    error += (n + d + 24) * UNIT * (abs(primal) + terms + length**2) + missed * (length + missed)
    if p.loss == "logistic":
        error += 64 * UNIT * float(p.c.sum())
    if p.offset == "free":
        error += plain_offset_bound(p, primal) * (n + 8) * UNIT * float(np.abs(u).sum())
    return error


def exact_primal(p: Problem, w: np.ndarray, b: float) -> Any:
    """P at floats: a Fraction; for the logistic loss an mpf of 60 digits."""
    F = Fraction
    total = sum((F(v) ** 2 for v in w.tolist()), F(0)) / 2
    if p.offset == "penalised":
        total += (F(b) / F(p.scale)) ** 2 / 2
    smooth = mpmath.mpf(0)
    for x, y, c in zip(p.X.tolist(), p.y.tolist(), p.c.tolist(), strict=True):
        if c == 0:
            continue
        z = sum((F(a) * F(v) for a, v in zip(x, w.tolist(), strict=True)), F(0)) + F(b)
        slack = max(F(0), 1 - F(y) * z)
        if p.loss == "hinge":
            total += F(c) * slack
        elif p.loss == "squared_hinge":
            total += F(c) * slack**2
        elif p.loss == "squared":
            total += F(c) * (F(y) - z) ** 2 / 2
        else:
            with mpmath.workdps(60):
                m = to_mpf(F(y) * z)
                tail = mpmath.log1p(mpmath.exp(-abs(m)))
                smooth += to_mpf(F(c)) * (max(-m, mpmath.mpf(0)) + tail)
    if p.loss != "logistic":
        return total
    with mpmath.workdps(60):
        return to_mpf(total) + smooth


def exact_dual(p: Problem, u: np.ndarray) -> tuple[Any, Fraction]:
    """D(u) without the term B|r|, and r = sum u; Fraction or mpf."""
    F = Fraction
    V = [F(0)] * p.X.shape[1]
    r, total, smooth = F(0), F(0), mpmath.mpf(0)
    for x, y, c, v in zip(p.X.tolist(), p.y.tolist(), p.c.tolist(), u.tolist(), strict=True):
        if c == 0:
            continue
        r += F(v)
        for j, a in enumerate(x):
            V[j] += F(v) * F(a)
        alpha = F(v) * F(y)
        if p.loss == "hinge":
            total += alpha
        elif p.loss == "squared_hinge":
            total += alpha - alpha**2 / (4 * F(c))
        elif p.loss == "squared":
            total += alpha - F(v) ** 2 / (2 * F(c))
        else:
            with mpmath.workdps(60):
                q = alpha / F(c)
                for share in (q, 1 - q):
                    if share > 0:
                        smooth -= to_mpf(F(c)) * to_mpf(share) * mpmath.log(to_mpf(share))
    total -= sum((v * v for v in V), F(0)) / 2
    if p.offset == "penalised":
        total -= (F(p.scale) * r) ** 2 / 2
    if p.loss != "logistic":
        return total, r
    with mpmath.workdps(60):
        return to_mpf(total) + smooth, r


def to_mpf(x: Fraction) -> mpmath.mpf:
    return mpmath.mpf(x.numerator) / mpmath.mpf(x.denominator)


# --------------------------------------------------------- documents and files


@dataclass
class Case:
    """A model document with its arrays and the data it speaks of."""

    document: dict[str, Any]
    arrays: dict[str, np.ndarray]
    X: Any
    y: Any
    sample_weight: np.ndarray | None = None

    def copy(self) -> Case:
        return replace(
            self,
            document=copy.deepcopy(self.document),
            arrays={name: array.copy() for name, array in self.arrays.items()},
            X=self.X.copy(),
            y=self.y.copy(),
            sample_weight=None if self.sample_weight is None else self.sample_weight.copy(),
        )


def make_case(
    seed: int,
    loss: str = "hinge",
    offset: str = "free",
    n_classes: int = 2,
    weighted: bool = False,
    class_weight: Any = None,
    kind: str = "int",
    dtype: str = "float64",
    sparse: bool = False,
    C: float = 1.0,
    scale: float = 1.0,
    tol: float = 1e-4,
    n: int = 40,
    d: int = 3,
    spoil: float = 0.0,
) -> Case:
    """A valid document: every claim in it is true. ``spoil`` moves the model off its optimum."""
    rng = np.random.default_rng(seed)
    index = np.concatenate([np.arange(n_classes), rng.integers(n_classes, size=n - n_classes)])
    X = rng.normal(size=(n, d)) + rng.normal(size=(n_classes, d))[index]
    if sparse:
        X[rng.random(X.shape) < 0.5] = 0.0
    X = X.astype(dtype).astype(np.float64)  # rows that are said to be float32 are
    values = {
        "int": list(range(n_classes)),
        "float": [float(k) - 1 for k in range(n_classes)],
        "bool": [False, True],
        "str": [f"class {chr(97 + k)}" for k in range(n_classes)],
    }[kind]
    y = np.array(values, dtype=object if kind == "str" else None)[index]
    sw = rng.integers(0, 4, size=n) * 0.5 + (rng.random(n) < 0.8) * rng.random(n) if weighted else None
    weights = np.ones(n) if sw is None else sw
    if class_weight == "balanced":
        resolved = weights.sum() / (n_classes * np.bincount(index, weights=weights))
    elif class_weight is None:
        resolved = np.ones(n_classes)
    else:
        resolved = np.array([class_weight.get(value, 1.0) for value in values])
    c = (C * weights) * resolved[index]
    positives = [1] if n_classes == 2 else list(range(n_classes))
    subs, coef, intercept, dual = [], [], [], []
    if loss == "logistic" and n_classes > 2:
        multi = judge_softmax.Multi(X, index, c, n_classes, offset, scale)
        W, b, U = judge_softmax.fit(multi)
        if spoil:
            W, b, U = W * (1 + spoil), b * (1 + spoil), judge_softmax.closed(U * (1 - spoil), index)
        coef, intercept, dual = W.astype(dtype), b.astype(dtype), U
        figures = judge_softmax.figures(multi, coef.astype(float), intercept.astype(float), U)
        subs, positives, loss = [_entries(*figures, tol, None)], [], "softmax"
    for k in positives:
        p = Problem(X, np.where(index == k, 1.0, -1.0), c, loss, offset, scale)
        w, b, u = reference_fit(p)
        if spoil:
            w, b, u = w * (1 + spoil), b * (1 + spoil), u * (1 - spoil)
        w, b = w.astype(dtype), np.array(b).astype(dtype)
        subs.append(subproblem(p, w.astype(float), float(b), u, tol, k))
        coef.append(w)
        intercept.append(b)
        dual.append(u)
    estimator = "LogisticRegression" if loss in ("logistic", "softmax") else "LinearSVC"
    pairs = [[key, value] for key, value in class_weight.items()] if isinstance(class_weight, dict) else class_weight
    parameters = {
        "C": C,
        "tol": tol,
        "fit_intercept": offset != "none",
        "penalize_intercept": offset == "penalised",
        "intercept_scaling": scale,
        "class_weight": pairs,
        "max_iter": 1000,
        "time_limit": None,
    }
    parameters |= {"loss": loss, "penalty": "l2"} if estimator == "LinearSVC" else {"penalty": "deprecated"}
    document = {
        "format": "gapless model",
        "schema": 1,
        "version": "0.1.0",
        "estimator": estimator,
        "parameters": parameters,
        "classes": {"type": kind, "values": values},
        "n_features": d,
        "feature_names": None,
        "target": None,
        "dtype": dtype,
        "problem": {
            "loss": loss,
            "offset": offset,
            "offset_scale": scale,
            "C": C,
            "class_weight": resolved.tolist(),
        },
        "certificate": {
            "kind": "gap",
            "tol": tol,
            "fingerprint": fingerprint(X, index, sw),
            "subproblems": subs,
        },
    }
    totals(document)
    arrays = {
        "coef": np.array(coef, dtype=dtype),
        "intercept": np.array(intercept, dtype=dtype),
        "dual": np.array(dual),
    }
    return Case(document, arrays, sp.csr_matrix(X) if sparse else X, y, sw)


def subproblem(p: Problem, w: np.ndarray, b: float, u: np.ndarray, tol: float, positive: int) -> dict[str, Any]:
    primal = plain_primal(p, w, b)
    return _entries(primal, plain_dual(p, u, primal), plain_rounding(p, w, b, u, primal), tol, positive)


def _entries(primal: float, dual: float, rounding: float, tol: float, positive: int | None) -> dict[str, Any]:
    gap = primal - dual
    size = max(abs(primal), abs(dual))
    relative = gap / size if size else 0.0
    return {
        "positive": positive,
        "status": "converged" if relative <= tol else "max_iter",
        "primal": primal,
        "dual": dual,
        "gap": gap,
        "relative_gap": relative,
        "rounding": rounding,
        "n_iter": 7,
        "seconds": 0.01,
        "solver": "reference",
    }


def totals(document: dict[str, Any]) -> None:
    """Fill in the sums of a certificate from its subproblems."""
    block = document["certificate"]
    subs = block["subproblems"]
    for name in ("primal", "dual", "gap", "rounding"):
        block[name] = sum(sub[name] for sub in subs)
    size = max(abs(block["primal"]), abs(block["dual"]))
    block["relative_gap"] = block["gap"] / size if size else 0.0
    bad = [sub["status"] for sub in subs if sub["status"] != "converged"]
    block["status"] = bad[0] if bad else "converged"
    block.update(n_iter=7, seconds=0.02, backend="cpu", solver="reference")


def file_bytes(
    document: dict[str, Any],
    arrays: dict[str, np.ndarray],
    extra: dict[str, bytes] | None = None,
    seal: bool = True,
) -> bytes:
    """A model file as the contract has it; ``extra`` replaces or adds members (None: leaves one out)."""
    real = {"float64": "<f8", "float32": "<f4"}[document["dtype"]]
    stored = {
        name: np.ascontiguousarray(array, dtype="<f8" if name == "dual" else real) for name, array in arrays.items()
    }
    described = {name: {"dtype": array.dtype.str, "shape": list(array.shape)} for name, array in stored.items()}
    members: dict[str, bytes | None] = {
        "model.json": json.dumps({**document, "arrays": described}).encode(),
        **{f"{name}.bin": array.tobytes() for name, array in stored.items()},
    }
    members.update(extra or {})
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.comment = b"0" * 64
        for name, content in members.items():
            if content is not None:
                archive.writestr(name, content)
    return sealed(stream.getvalue()) if seal else stream.getvalue()


def sealed(content: bytes) -> bytes:
    """The bytes of a file with its checksum made right."""
    body = content[:-64]
    return body + hashlib.sha256(body).hexdigest().encode()
