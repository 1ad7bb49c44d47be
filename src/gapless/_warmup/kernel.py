"""Kernel machines: each kind of tile and each precision, and the searches that share a Gram matrix."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from gapless._runtime.config import config_context
from gapless._warmup.samples import Samples
from gapless._warmup.step import Step
from gapless.estimators.logistic import LogisticRegression
from gapless.estimators.svc import SVC
from gapless.estimators.svr import SVR, NuSVR
from gapless.gram.bits import BitTiles
from gapless.gram.blocks import build_gram
from gapless.gram.bytes import ByteTiles
from gapless.gram.dense import gather_square
from gapless.gram.tiles import RowTiles
from gapless.kernels.polynomial import Polynomial
from gapless.kernels.rbf import RBF
from gapless.problems.kernel import KernelDual
from gapless.registry import with_kernels
from gapless.solvers.kernel.cholesky import solve_by_cholesky
from gapless.solvers.loop import Loop, Stop
from gapless.tuning.search.tune import tune


def steps(samples: Samples) -> Iterator[Step]:
    """Machines on floats, bits and bytes; their products; searches."""
    machines = with_kernels("kernel_machines")
    dense = samples.dense
    for what, X in (("float64", dense), ("float32", dense.astype(np.float32)), ("bits", samples.ones)):
        yield Step(f"kernel machine, dense {what}", machines, partial(_fit_machines, samples, X))
    yield Step("kernel machine, dense images", machines, partial(_fit_images, samples))
    yield Step("products of kernel machines, dense", machines, partial(_multiply_tiles, samples))
    yield Step("kernel machines of many rows, dense", machines, partial(_fit_many_rows, samples))
    yield Step("search, dense", ("tune",), partial(_search, samples))
    for name, X in samples.variants():
        yield Step(f"linear kernel machine, {name}", ("SVC",), partial(_fit_linear, samples, X))


def _fit_machines(samples: Samples, X: Any) -> None:
    dense = samples.dense
    with config_context(convergence="ignore"):
        for kernel in ("rbf", "poly"):
            SVC(kernel=kernel, C=100.0).fit(X, samples.y).predict(X)
            SVC(kernel=kernel, C=100.0, tol=1e-15).fit(X, samples.y)
        SVR().fit(X, dense[:, 0]).predict(X)
        SVC().fit(X, np.arange(len(dense)) % 3)
        NuSVR().fit(X, dense[:, 0] + dense[:, 1] ** 2).predict(X)


def _fit_linear(samples: Samples, X: Any) -> None:
    with config_context(convergence="ignore"):
        SVC(kernel="linear").fit(X, samples.y)
        SVC(kernel="linear", tol=1e-9).fit(X, samples.y)  # beyond what few pairs reach


def _fit_many_rows(samples: Samples) -> None:
    rows = samples.random.normal(size=(3100, 4))
    SVC(gamma=0.2).fit(rows, np.arange(3100) % 3)
    SVC(gamma=0.2, tol=1e-2).fit(rows, np.arange(3100) % 2)
    for dtype in (np.float32, np.float64):
        gather_square(np.zeros((2, 2)), np.arange(2), np.zeros((2, 2), dtype=dtype))
    y = np.resize([1.0, -1.0], 60)
    solve_by_cholesky(KernelDual.c_svc(build_gram(RBF(0.2), rows[:60]), y, np.ones(60)), Loop(Stop()))


def _fit_images(samples: Samples) -> None:
    """Fit rows of whole numbers from 0 to 255, whose tiles are of bytes."""
    rows = samples.random.integers(0, 256, size=(3100, 200)).astype(float)
    SVC(gamma=1e-6, tol=1e-2).fit(rows, np.arange(3100) % 2).predict(rows)


def _multiply_tiles(samples: Samples) -> None:
    """Every product that a kernel machine may ask for: of floats, bits and bytes, in both precisions."""
    every, bits = np.arange(520), (samples.random.random((520, 40)) < 0.3).astype(float)
    whole_steps = samples.random.integers(0, 256, size=(520, 200)).astype(float)
    for dtype in (np.float64, np.float32):
        for tiles in (
            RowTiles.from_rows(RBF(0.1), bits, dtype),
            RowTiles.from_rows(Polynomial(2, 0.1, 1.0), bits, dtype),
            BitTiles.from_binary_rows(RBF(0.1), bits, dtype),
            ByteTiles.from_whole_steps(RBF(1e-6), whole_steps, dtype),
        ):
            if tiles is None:  # this processor has no instruction for bytes
                continue
            tiles.square(every)
            tiles.add_among(np.zeros(520), every, np.ones(520))
            tiles.fill_columns(every[:70], np.empty((70, 576), dtype))
            tiles.add(np.zeros(520), every, np.ones(520))
            if dtype == np.float32 and tiles.kernel.__class__ is RBF:
                tiles.add(np.zeros(520), every, np.ones(520), off=np.zeros((520, 2)))


def _search(samples: Samples) -> None:
    with config_context(convergence="ignore"):
        for X in (samples.dense, samples.ones[:, :4]):
            tune(SVC(), X, samples.y, {"C": [1.0, 1e3], "gamma": [0.1]}, cv=2)
        tune(LogisticRegression(), samples.dense, np.arange(60) % 3, {"C": [1.0, 10.0]}, cv=2)
