"""The one judge.

    P(w) = 1/2 |w|^2 + C * sum_i l(y_i <w, x_i>)         no offset, y_i = +1 or -1

P is computed here, in float64, from nothing but the weights that a solver returned. The optimum P* is bounded from
below by the dual value of a tight gapless fit, which the judge of gapless has recomputed from the certificate, so

    distance(w) = (P(w) - lower) / lower  >=  (P(w) - P*) / P*

and nobody's distance is flattered. The bounds are kept in a file, by the bytes of the data, the loss and C.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

KEPT = Path(__file__).resolve().parents[1] / ".kept"
TIGHT = 1e-9
LOOSE = 1e-7  # a reference that is not better than this cannot judge a target of 1e-6


def primal(coef: Any, X: Any, y: np.ndarray, C: float, loss: str) -> float:
    """P(w) in float64."""
    w = np.asarray(coef, dtype=np.float64).ravel()
    if not np.isfinite(w).all():
        return float("inf")
    margin = y * (X @ w)
    if loss == "logistic":
        losses = np.logaddexp(0.0, -margin)
    else:
        losses = np.maximum(0.0, 1.0 - margin) ** (2 if loss == "squared_hinge" else 1)
    return float(0.5 * (w @ w) + C * losses.sum())


def fingerprint(X: Any, y: np.ndarray) -> str:
    digest = hashlib.sha256()
    for part in (X.data, X.indices, X.indptr, y) if sparse.issparse(X) else (X, y):
        digest.update(np.ascontiguousarray(part))
    return digest.hexdigest()[:16]


def reference(X: Any, y: np.ndarray, C: float, loss: str, name: str) -> dict[str, Any]:
    """{"lower", "upper", ...}: lower <= P* <= upper, from the file or from a tight fit that is then kept."""
    key = f"{fingerprint(X, y)} {loss} C={C:g}"
    if key not in read("references.json"):
        keep("references.json", key, _bounds(X, y, C, loss) | {"data": name})
    return read("references.json")[key]


def _bounds(X: Any, y: np.ndarray, C: float, loss: str) -> dict[str, Any]:
    import gapless

    start = time.perf_counter()
    if loss == "logistic":
        model = gapless.LogisticRegression(C=C, fit_intercept=False, tol=TIGHT, max_iter=None, time_limit=900.0)
    else:
        model = gapless.LinearSVC(loss=loss, C=C, fit_intercept=False, tol=TIGHT, max_iter=None, time_limit=900.0)
    model.fit(X, y)
    verdict = gapless.verify(model, X, y, rigorous=True)
    if not verdict:
        raise SystemExit(f"the judge rejects the reference:\n{verdict}")
    lower = sum(low for _, low, _ in verdict.bounds)
    upper = primal(model.coef_, X, y, C, loss)
    if upper - lower > LOOSE * lower:
        raise SystemExit(f"the reference is too loose: {(upper - lower) / lower:.1e} relative, {loss}, C = {C:g}")
    return {
        "lower": lower,
        "upper": upper,
        "solver": model.certificate_.solver,
        "seconds": round(time.perf_counter() - start, 1),
        "gapless": gapless.__version__,
        "numpy": np.__version__,
    }


def read(name: str) -> dict[str, Any]:
    path = KEPT / name
    return json.loads(path.read_text()) if path.exists() else {}


def write(name: str, content: Any) -> None:
    """Whole or not at all: whoever stops the run keeps the former file."""
    KEPT.mkdir(exist_ok=True)
    path = KEPT / name
    scratch = path.with_suffix(".part")
    scratch.write_text(json.dumps(content, indent=1))
    os.replace(scratch, path)


def keep(name: str, key: str, value: Any) -> None:
    """One more entry, on the disk before the next fit begins."""
    write(name, read(name) | {key: value})
