"""The table of one GPU: medians of warm fits, host arrays in, transfers and certificate included.

GAPLESS_DATA=FOLDER python -m benchmarks.gpu [PART ...] --out FOLDER [--kept FILE]
"""

from __future__ import annotations

import argparse
import json
import platform
from functools import partial
from pathlib import Path

import torch

from benchmarks.gpu import kernel, linear
from benchmarks.gpu.table import Table


def main() -> None:
    reader = argparse.ArgumentParser()
    reader.add_argument("parts", nargs="*")
    reader.add_argument("--out", type=Path, default=Path("build/gpu-table"))
    reader.add_argument("--kept", type=Path)
    asked = reader.parse_args()
    table = Table(asked.out)
    print(torch.cuda.get_device_name(0), torch.__version__, torch.version.cuda, platform.python_version(), flush=True)
    kept = json.loads(asked.kept.read_text()) if asked.kept else {}
    parts = {
        "parity": partial(kernel.parity, table, kept),
        "profile": partial(kernel.profile, table),
        "covtype": partial(kernel.covtype_rbf, table),
        "a9a": partial(kernel.a9a_rbf, table),
        "same_bits": partial(kernel.same_bits, table),
        "mnist": partial(kernel.mnist_rbf, table),
        "prediction": partial(kernel.prediction, table),
        "linear": partial(linear.on_card, table),
        "linear_profile": partial(linear.profile, table),
        "linear_sets": partial(linear.real_sets, table),
        "profiles": partial(kernel.profiles, table),
        "growth": partial(kernel.growth, table),
        "four_times": partial(kernel.four_times, table),
    }
    for name in asked.parts or parts:
        table.run(name, parts[name])


if __name__ == "__main__":
    main()
