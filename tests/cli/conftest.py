import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import gapless

SOURCE = str(Path(gapless.__file__).resolve().parent.parent)


@pytest.fixture
def csv(tmp_path):
    """A small two-class CSV with names and string labels."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(120, 3))
    y = np.where(X @ [1.0, -2.0, 0.5] + 0.5 * rng.normal(size=120) > 0, "yes", "no")
    path = tmp_path / "data.csv"
    rows = [",".join([*(repr(float(v)) for v in row), label]) for row, label in zip(X, y)]
    path.write_text("a,b,c,label\n" + "\n".join(rows) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def environment():
    known = os.environ.get("PYTHONPATH")
    path = SOURCE if not known else SOURCE + os.pathsep + known
    return {**os.environ, "PYTHONPATH": path, "PYTHONIOENCODING": "utf-8", "PYTHONUNBUFFERED": "1"}


@pytest.fixture
def gapless_process(tmp_path, environment):
    """`python -m gapless ...` in its own process and folder."""

    def run(*arguments, **options):
        return subprocess.run(
            [sys.executable, "-m", "gapless", *map(str, arguments)],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=300,
            check=False,
            **options,
        )

    return run
