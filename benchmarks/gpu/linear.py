"""Linear classifiers on the card: rows that lie there already, and host arrays beside the CPU."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from benchmarks.gpu.sets import covtype, mnist
from benchmarks.gpu.table import Table, fits
from gapless import LinearSVC, LogisticRegression


def made(n: int, d: int, scales: bool) -> tuple[Any, Any]:
    """Rows and labels on the card, as the draft of the GPU backend made them."""
    import torch

    g = torch.Generator(device="cuda")
    g.manual_seed(0)
    X = torch.randn((n, d), device="cuda", generator=g)
    w = torch.randn(d, device="cuda", generator=g) / 4
    z = X @ w - 0.3
    y = torch.where(torch.rand(n, device="cuda", generator=g) < torch.sigmoid(z), 1, -1).to(torch.int8)
    if scales:
        X *= torch.logspace(-3, 3, d, device="cuda")
    return X, y


def on_card(table: Table, repeats: int = 5) -> None:
    import torch

    for scales in (False, True):
        X, y = made(5_000_000, 100, scales)
        labels = y.cpu().numpy()
        name = "columns over 1e-3 ... 1e3" if scales else "normal"
        for make, what in (
            (lambda: LogisticRegression(tol=1e-6, device="cuda", time_limit=30), "logistic to 1e-6"),
            (lambda: LinearSVC(loss="hinge", tol=1e-3, device="cuda", time_limit=30), "hinge to 1e-3"),
            (lambda: LinearSVC(loss="hinge", tol=1e-6, device="cuda", time_limit=30), "hinge to 1e-6"),
        ):
            model, seconds = fits(make, X, labels, repeats if not scales else 1)
            proof = model.certificate_
            table.add(
                f"5,000,000 x 100 {name}, {what}", seconds, gap=proof.relative_gap, status=proof.status, steps=int(proof.n_iter),
                solve=sum(sub.seconds for sub in proof.subproblems), a_pass_at_4_2_TB=X.numel() * 4 / 4.2e12,
            )  # fmt: skip
        del X
        torch.cuda.empty_cache()


def profile(table: Table) -> None:
    import cProfile
    import pstats

    X, y = made(5_000_000, 100, False)
    labels = y.cpu().numpy()
    model = LogisticRegression(tol=1e-6, device="cuda").fit(X, labels)
    kept = cProfile.Profile()
    kept.enable()
    model.fit(X, labels)
    kept.disable()
    pstats.Stats(kept).sort_stats("tottime").print_stats(16)
    model = LinearSVC(loss="hinge", tol=1e-6, device="cuda").fit(X, labels)
    kept = cProfile.Profile()
    kept.enable()
    model.fit(X, labels)
    kept.disable()
    pstats.Stats(kept).sort_stats("tottime").print_stats(16)


def real_sets(table: Table) -> None:
    """Host arrays in: covtype and mnist, by the card; the CPU's seconds need numba there."""
    X, y, *_ = covtype()
    rows, digits, *_ = mnist()
    rows = (rows / 255).astype(np.float32)
    for name, values, labels in (("covtype", X, y), ("mnist even/odd", rows, digits % 2)):
        for make, what in (
            (lambda: LogisticRegression(tol=1e-6, device="cuda", time_limit=30), "logistic to 1e-6"),
            (lambda: LinearSVC(loss="hinge", tol=1e-3, device="cuda", time_limit=30), "hinge to 1e-3"),
        ):
            model, seconds = fits(make, values, labels, 2)
            table.add(f"{name}, {what}", seconds, gap=model.certificate_.relative_gap, status=model.certificate_.status)
            started = time.perf_counter()
            model.predict(values)
            table.add("  its predictions on the host", time.perf_counter() - started)
