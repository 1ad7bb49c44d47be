"""Rows in blocks: memory, rates and bytes of fits that do not hold X.

    python -m benchmarks.scaling stream --file big.npy --rows 5000000
    python -m benchmarks.scaling dask --blocks 24

The first makes a file and fits it under RLIMIT_DATA = 1 GB: rates of each pass, memory, the verdict. The second has blocks of
100 MB made in tasks: peak memory of two workers, and the bytes that they send.
"""

from __future__ import annotations

import argparse
import os
import resource
import time
from typing import Any

import numpy as np

COLUMNS = 100
BLOCK_ROWS = 250_000


def make(k: int) -> np.ndarray:
    """A block of 100 MB."""
    return np.random.default_rng(k).random((BLOCK_ROWS, COLUMNS), np.float32)


def label(X: np.ndarray) -> np.ndarray:
    w = np.random.default_rng(1).normal(size=X.shape[1])
    noise = np.random.default_rng(int(1e6 * X[0, 0])).logistic(size=len(X))
    return ((X - 0.5) @ w + noise > 0).astype(np.int8)


def status() -> dict[str, float]:
    """Peak of all memory, and anonymous memory now, in GB."""
    with open("/proc/self/status", encoding="ascii") as stream:
        lines = dict(line.split(":", 1) for line in stream)
    return {name: int(lines[name].split()[0]) / 1e6 for name in ("VmHWM", "RssAnon")}


def stream(file: str, rows: int) -> None:
    """Make the file, read it cold, fit, and verify."""
    X, y = np.lib.format.open_memmap(file, "w+", np.float32, (rows, COLUMNS)), np.empty(rows, np.int8)
    for k, start in enumerate(range(0, rows, BLOCK_ROWS)):
        block = make(k)[: rows - start]
        X[start : start + len(block)], y[start : start + len(block)] = block, label(block)
    X.flush()
    del X
    resource.setrlimit(resource.RLIMIT_DATA, (10**9, 10**9))
    size, opened, buffer = rows * COLUMNS * 4, os.open(file, os.O_RDONLY), bytearray(1 << 25)
    os.fsync(opened)

    def cold() -> None:
        os.posix_fadvise(opened, 0, 0, os.POSIX_FADV_DONTNEED)

    cold()
    begun = time.perf_counter()
    with open(file, "rb", buffering=0) as whole:
        while whole.readinto(buffer):
            pass
    print(
        f"X {size / 1e9:.2f} GB; cold sequential read {size / 1e9 / (time.perf_counter() - begun):.2f} GB/s", flush=True
    )
    from gapless import LogisticRegression, read_blocks, verify
    from gapless.backends.stream.walk import StreamWalk

    each = StreamWalk.each

    def timed(self: Any, job: Any, *args: Any) -> Any:
        if job.rows:
            cold()
        start = time.perf_counter()
        found = each(self, job, *args)
        if job.rows:
            print(f"  {job.work.__name__:15} {size / 1e9 / (time.perf_counter() - start):.2f} GB/s", flush=True)
        return found

    StreamWalk.each = timed  # type: ignore[method-assign]
    blocks, begun = read_blocks(file, target=y), time.perf_counter()
    model = LogisticRegression().fit(blocks)
    print(f"{time.perf_counter() - begun:.0f} s: {model.certificate_}\n{status()}", flush=True)
    print(f"verified: {bool(verify(model, blocks))}, {status()}")


def workers(blocks: int) -> None:
    """Two workers of 1.5 GB, whatever the number of blocks."""
    import dask
    import dask.array as da
    from distributed import Client, LocalCluster

    from gapless import LogisticRegression

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, memory_limit="1.5GB", dashboard_address=None) as made,
        Client(made) as client,
    ):
        parts = [dask.delayed(make)(k) for k in range(blocks)]
        X = da.concatenate([da.from_delayed(part, (BLOCK_ROWS, COLUMNS), np.float32) for part in parts])
        y = da.concatenate([da.from_delayed(dask.delayed(label)(part), (BLOCK_ROWS,), np.int8) for part in parts])

        def sent() -> int:
            return sum(client.run(lambda dask_worker: dask_worker.transfer_outgoing_bytes_total).values())

        processes, before, begun = client.run(os.getpid), sent(), time.perf_counter()
        model = LogisticRegression().fit(X, y)
        size = 4 * COLUMNS * BLOCK_ROWS * blocks
        print(f"X {size / 1e9:.2f} GB, {time.perf_counter() - begun:.0f} s: {model.certificate_}")
        print(f"workers: {client.run(status)}; restarted: {processes != client.run(os.getpid)}")
        print(f"sent: {(sent() - before) / 1e6:.1f} MB, {(sent() - before) / size:.4f} of X")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scaling", description=__doc__)
    parser.add_argument("what", choices=("stream", "dask"))
    parser.add_argument("--file", default="big.npy", help="where the rows go; it stays there")
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--blocks", type=int, default=24)
    asked = parser.parse_args()
    if asked.what == "stream":
        stream(asked.file, asked.rows)
    else:
        workers(asked.blocks)


if __name__ == "__main__":
    main()
