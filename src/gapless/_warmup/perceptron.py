"""The perceptron: plain, pocket, voted, and with a penalty."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from gapless._runtime.config import config_context
from gapless._warmup.samples import Samples
from gapless._warmup.step import Step
from gapless.estimators.perceptron import Perceptron
from gapless.rows import as_rows
from gapless.rows.copies.choose import best_copy
from gapless.solvers.perceptron import Penalty, Run


def steps(samples: Samples) -> Iterator[Step]:
    """Visit each variant of rows, and rows that have a faster copy."""
    for name, X in samples.variants():
        yield Step(f"perceptron, {name}", ("Perceptron",), partial(_visit, samples, X))
    yield Step("perceptron, dense thin rows", ("Perceptron",), partial(_visit, samples, samples.thin))
    ones = sparse.csr_matrix(samples.ones)
    yield Step("perceptron, CSR rows of ones", ("Perceptron",), partial(_visit, samples, ones))


def _visit(samples: Samples, X: Any) -> None:
    y, rows, start = samples.y, as_rows(X, 1.0), np.zeros(X.shape[1] + 1)
    for fast in {id(kind): kind for kind in (rows, best_copy(rows, "random", least_values=0))}.values():
        for variant in ("plain", "pocket", "voted"):
            made = Run(rows, y, np.arange(y.size), start.copy(), shuffle=True, variant=variant, fast=fast)
            made.advance(lambda: None)
            made.weights()
    Run(rows, y, np.arange(y.size), start, penalty=Penalty(1e-4, 0.5)).advance(lambda: None)
    with config_context(convergence="ignore"):
        Perceptron(max_iter=3).fit(X, y)
