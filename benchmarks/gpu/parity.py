"""Fits that the card and the CPU both make: all kinds, kernels and C, two and twenty classes, weights.

python -m benchmarks.gpu.parity FILE      fit on the CPU, and keep P and gap of each
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from gapless import SVC, SVR, LinearSVC, LogisticRegression, NuSVC, NuSVR, OneClassSVM


def cases() -> Iterator[tuple[str, Any, np.ndarray, np.ndarray]]:
    """Name, what makes the model for a device, rows, labels or targets."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 10))
    hidden = X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=3000)
    y, t = np.where(hidden > 0.3, 1, 0), hidden
    many = np.clip(np.floor(4 * hidden + 10), 0, 19).astype(int)
    for C in (1e-3, 1.0, 100.0, 1e5):
        for kernel in ("rbf", "poly", "linear"):
            if C > 1e3 and kernel != "rbf":
                continue
            yield f"SVC {kernel} C={C:g}", partial(SVC, C=C, kernel=kernel, coef0=1.0, tol=1e-6, time_limit=60), X, y
        yield f"SVR C={C:g}", partial(SVR, C=C, tol=1e-6, time_limit=60), X, t
        yield f"NuSVR C={C:g}", partial(NuSVR, C=C, nu=0.4, tol=1e-6, time_limit=60), X, t
    yield "SVC balanced", partial(SVC, class_weight="balanced", tol=1e-6), X, y
    yield "SVC 20 classes", partial(SVC, C=10.0, tol=1e-6), X, many
    yield "NuSVC", partial(NuSVC, nu=0.3, tol=1e-6), X, y
    yield "OneClassSVM", partial(OneClassSVM, nu=0.2, tol=1e-6), X, y
    for C in (1e-3, 1.0, 1e4):
        yield f"LinearSVC hinge C={C:g}", partial(LinearSVC, loss="hinge", C=C, tol=1e-6), X, y
        yield f"LinearSVC squared hinge C={C:g}", partial(LinearSVC, C=C, tol=1e-6), X, y
        yield f"LogisticRegression C={C:g}", partial(LogisticRegression, C=C, tol=1e-8), X, y
    yield "LogisticRegression 20 classes", partial(LogisticRegression, tol=1e-6), X, many


if __name__ == "__main__":
    found = {}
    for name, make, X, y in cases():
        proof = make(device="cpu").fit(X, y).certificate_
        found[name] = (float(proof.primal), float(proof.gap))
        print(name, found[name], proof.status, flush=True)
    Path(sys.argv[1]).write_text(json.dumps(found))
