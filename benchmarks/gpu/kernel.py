"""Kernel machines on the card: parity with the CPU, the large sets of the table, growth, prediction."""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np

from benchmarks.gpu.sets import a9a, covtype, mnist
from benchmarks.gpu.table import Table, fits
from gapless import SVC


def covtype_rbf(table: Table, repeats: int = 5) -> None:
    X, y, X_new, y_new = covtype()
    for C, gamma, tols in ((3.0, 1.0, (1e-3, 1e-6, 1e-9)), (100.0, 1.0, (1e-3,)), (10.0, 4.0, (1e-3,))):
        for tol in tols:
            model, seconds = fits(
                lambda C=C, gamma=gamma, tol=tol: SVC(C=C, gamma=gamma, tol=tol, device="cuda", time_limit=60),
                X,
                y,
                repeats if C == 3.0 else 1,
            )
            proof = model.certificate_
            table.add(
                f"covtype 522,911, C {C:g}, gamma {gamma:g}, to {tol:g}",
                seconds,
                gap=proof.relative_gap,
                P=proof.primal,
                D=proof.dual,
                support=model.support_.size,
                steps=int(np.max(model.n_iter_)),
                status=proof.status,
            )
            if C == 3.0 and tol == 1e-6:
                started = time.perf_counter()
                error = float(np.mean(model.predict(X_new) != y_new))
                table.add("  its predictions of 58,101 rows", time.perf_counter() - started, error=error)


def profile(table: Table) -> None:
    """Where the time of a fit goes, on the host and on the card."""
    import cProfile
    import pstats

    import torch

    X, y, *_ = covtype()
    small = SVC(C=24.0, gamma=1.0, tol=1e-6, device="cuda", time_limit=60)
    small.fit(X[:60_000], y[:60_000])
    model = SVC(C=3.0, gamma=1.0, tol=1e-6, device="cuda", time_limit=60)
    model.fit(X, y)
    kept = cProfile.Profile()
    started = time.perf_counter()
    kept.enable()
    model.fit(X, y)
    kept.disable()
    table.add(
        "covtype to 1e-6, with cProfile",
        time.perf_counter() - started,
        history=str([(e[0], round(e[1], 3), e[4] / abs(e[2])) for e in model.history_]),
    )
    pstats.Stats(kept).sort_stats("tottime").print_stats(22)
    pstats.Stats(kept).sort_stats("cumtime").print_stats(30)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as seen:
        model.fit(X, y)
    print(seen.key_averages().table(sort_by="cuda_time_total", row_limit=14, max_name_column_width=60))


def profiles(table: Table) -> None:
    """The same for the smaller sets."""
    import cProfile
    import pstats

    X, y = a9a()
    rows, digits, *_ = mnist()
    pixels = (rows / 255).astype(np.float32)
    for name, model, values, labels in (
        ("a9a", SVC(C=1.0, gamma=1 / 123, tol=1e-4, device="cuda"), X, y),
        ("mnist even/odd", SVC(C=1.0, gamma=0.02, tol=1e-4, device="cuda"), pixels, digits % 2),
        ("mnist ten classes", SVC(C=1.0, gamma=0.02, tol=1e-4, device="cuda"), pixels, digits),
    ):
        model.fit(values, labels)
        kept = cProfile.Profile()
        kept.enable()
        model.fit(values, labels)
        kept.disable()
        print(name)
        pstats.Stats(kept).sort_stats("tottime").print_stats(14)


def growth(table: Table) -> None:
    X, y, *_ = covtype()
    for n in (50_000, 100_000, 200_000, 400_000):
        model, seconds = fits(lambda: SVC(C=3.0, gamma=1.0, tol=1e-3, device="cuda", time_limit=60), X[:n], y[:n], 1)
        table.add(
            f"covtype {n:,}, C 3, to 1e-3",
            seconds,
            gap=model.certificate_.relative_gap,
            status=model.certificate_.status,
        )


def four_times(table: Table) -> None:
    X, y, *_ = covtype()
    rng = np.random.default_rng(0)
    X = np.concatenate([X + 0.01 * rng.standard_normal(X.shape, dtype=np.float32) for _ in range(4)]).astype(np.float32)
    model, seconds = fits(lambda: SVC(C=3.0, gamma=1.0, tol=1e-3, device="cuda", time_limit=60), X, np.tile(y, 4), 1)
    table.add(
        "covtype four times, 2,091,644, to 1e-3",
        seconds,
        gap=model.certificate_.relative_gap,
        support=model.support_.size,
        status=model.certificate_.status,
    )


def a9a_rbf(table: Table, repeats: int = 5) -> None:
    X, y = a9a()
    for rows, name in ((X.astype(np.uint8), "uint8"), (X, "float32")):
        for tol in (1e-4, 1e-6):
            model, seconds = fits(
                lambda tol=tol: SVC(C=1.0, gamma=1 / 123, tol=tol, device="cuda", time_limit=30), rows, y, repeats
            )
            table.add(
                f"a9a {name}, to {tol:g}",
                seconds,
                gap=model.certificate_.relative_gap,
                status=model.certificate_.status,
                steps=int(np.max(model.n_iter_)),
            )


def same_bits(table: Table) -> None:
    X, y = a9a()
    started = time.perf_counter()
    first, second = (SVC(C=1.0, gamma=1 / 123, tol=1e-6, device="cuda").fit(X, y).certificate_ for _ in range(2))
    equal = bool(np.array_equal(first.arrays["dual"], second.arrays["dual"]) and first.gap == second.gap)
    table.add("a9a twice", time.perf_counter() - started, same_bits=equal)


def mnist_rbf(table: Table, repeats: int = 3) -> None:
    X, y, *_ = mnist()
    even = y % 2 == 0
    for rows, gamma, name in (
        (X.astype(np.uint8), 0.02 / 255**2, "uint8"),
        ((X / 255).astype(np.float32), 0.02, "float32"),
    ):
        for labels, what in ((even, "even/odd"), (y, "ten classes")):
            model, seconds = fits(
                lambda gamma=gamma: SVC(C=1.0, gamma=gamma, tol=1e-4, device="cuda", time_limit=60),
                rows,
                labels,
                repeats,
            )
            worst = max(sub.relative_gap for sub in model.certificate_.subproblems)
            table.add(
                f"mnist {what} {name}, to 1e-4",
                seconds,
                gap=worst,
                status=model.certificate_.status,
                steps=int(np.max(model.n_iter_)),
            )


def prediction(table: Table) -> None:
    import torch

    from gapless.backends.gpu.tiles import lay_out
    from gapless.kernels.rbf import RBF

    X, *_ = mnist()
    work = 2 * 60_000 * 20_000 * 784
    for rows, gamma, name in (
        (X, 0.02 / 255**2, "whole steps"),
        (X / 255 + np.random.default_rng(0).random(X.shape) / 512, 0.02, "float32 rows"),
    ):
        tiles, _ = lay_out(RBF(gamma), torch.from_numpy(rows).cuda().double())
        columns, v = (
            torch.randperm(60_000, device="cuda")[:20_000],
            torch.randn(20_000, device="cuda", dtype=torch.float64),
        )
        rough = tiles.add(columns, v, exact=False)
        torch.cuda.synchronize()
        started = time.perf_counter()
        for _ in range(5):
            rough = tiles.add(columns, v, exact=False)
        torch.cuda.synchronize()
        seconds = (time.perf_counter() - started) / 5
        at = torch.arange(2_000, device="cuda")
        exact = tiles.add(columns, v, at)
        table.add(
            f"scores 60,000 x 20,000 x 784, {name}",
            seconds,
            tflops=work / seconds / 1e12,
            off=float((rough[at] - exact).abs().max()),
            whole_steps=tiles.pieces.lo is None,
        )


def parity(table: Table, kept: Any) -> None:
    """Fits that the CPU made and kept in a file: P and gap of each."""
    from benchmarks.gpu.parity import cases

    for name, make, X, y in cases():
        if name not in kept:
            continue
        primal, gap = kept[name]
        started = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            proof = make(device="cuda").fit(X, y).certificate_
        table.add(
            f"parity {name}",
            time.perf_counter() - started,
            ok=bool(abs(proof.primal - primal) <= proof.gap + gap + 1e-12 * abs(primal)),
            apart=abs(proof.primal - primal),
            gaps=proof.gap + gap,
            status=proof.status,
            by=proof.backend,
        )
