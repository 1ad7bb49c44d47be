"""gapless demo: from a CSV to a chosen, proved, saved and checked model, on data that scikit-learn ships."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

import typer

from gapless.cli import options
from gapless.cli.guard import FALSE, guarded
from gapless.cli.output import LABEL, line, title

NEXT = (
    ("gapless train DATA.csv --target COLUMN -o my.gapless", "your own CSV, Parquet, svmlight or npz"),
    ("gapless verify my.gapless DATA.csv", "anybody with the data can check it"),
    ("gapless predict my.gapless NEW.csv", "raw columns in, predictions out"),
    ("gapless doctor", "what this installation has"),
    ("from gapless import LinearSVC, LogisticRegression", "scikit-learn's names and parameters"),
    ("model.certificate_, gapless.verify(model, X, y)", "the same proof in Python"),
)
# What the demo shows of the judge's table; the judge itself prints every claim.
SHOWN = ("data", "dual feasible", "primal", "dual", "gap", "relative gap", "status")
SECONDS = 8.0  # for all models
GONE = 0.01  # share of the cells that are blanked


@guarded
def demo(debug: options.Debug = False) -> None:
    """Make a CSV of data that scikit-learn ships; choose, prove, save, load and check a model of it."""
    import gapless

    title(f"gapless {gapless.__version__}: each model says how far it can be from the best one, and proves it")
    good = True
    with tempfile.TemporaryDirectory(prefix="gapless-demo-") as folder:
        home = Path(folder)
        table = _table(home / "cancer.csv")
        title("1. One command: gapless train cancer.csv --target diagnosis")
        good &= _train(home, table)
        title("2. A stranger checks the file: python -m gapless.judge cancer.gapless cancer.csv")
        good &= _judged_by_a_stranger(home)
        title("3. It travels: the file alone predicts from raw columns")
        good &= _travels(home, table)
        title("4. A linear SVM on the same rows, and once more, stopped on purpose after one pass")
        good &= _stopped_early(home)
    title("What next")
    for what, why in NEXT:
        print(f"{what:<56}{why}")
    if not good:
        raise typer.Exit(FALSE)


def _table(path: Path) -> Path:
    """Breast cancer as a CSV with names, text labels, and a few cells missing."""
    import numpy as np
    from sklearn.datasets import load_breast_cancer

    cancer = load_breast_cancer()
    gone = np.random.RandomState(0).rand(*cancer.data.shape) < GONE
    names = [*(str(name) for name in cancer.feature_names), "diagnosis"]
    rows = [
        ",".join("" if empty else repr(float(value)) for value, empty in zip(values, blank)) + f",{label}"
        for values, blank, label in zip(cancer.data, gone, cancer.target_names[cancer.target])
    ]
    path.write_text("\n".join([",".join(names), *rows]) + "\n", encoding="utf-8")
    return path


def _train(home: Path, table: Path) -> bool:
    """The command itself, with its table of models."""
    from gapless.cli.app import main

    here = Path.cwd()
    os.chdir(home)  # so that the paths it prints are short
    try:
        options = ["--target", "diagnosis", "--out", "cancer.gapless", "--time-limit", f"{SECONDS:g}"]
        return main(["train", table.name, *options, "--no-report", "--quiet"]) == 0
    finally:
        os.chdir(here)


def _judged_by_a_stranger(home: Path) -> bool:
    """In a process without the solver: numpy and the standard library."""
    ran = subprocess.run(
        [sys.executable, "-m", "gapless.judge", "cancer.gapless", "cancer.csv"],
        cwd=home,
        env=_with_this_gapless(),
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    rows = (ran.stdout or ran.stderr).rstrip().splitlines()
    line("judge", rows[0] if rows else "no answer")
    claims = [re.split(r"\s{2,}", row) for row in rows if row[:2] in ("ok", "NO")]
    shown = [cells for cells in claims if len(cells) >= 4 and cells[1] in SHOWN]
    for cells in shown:
        print(f"{'':<{LABEL}}{cells[0]}  {cells[1]:<14}  claimed {cells[2]:<20}  recomputed {cells[3]}"[:100])
    line("", f"... and {len(claims) - len(shown)} more")
    line("", f"exit code {ran.returncode}: {'every claim holds' if ran.returncode == 0 else 'REFUSED'}")
    return ran.returncode == 0


def _travels(home: Path, table: Path) -> bool:
    """Load it, predict from the raw table; change a bit, and it is refused."""
    import numpy as np

    import gapless
    from gapless.files import Expected, read_data

    path = home / "cancer.gapless"
    line("saved", f"{path.name}, {path.stat().st_size} bytes: a zip of JSON and numbers, no pickle")
    first, again = gapless.load(path), gapless.load(path)
    raw = read_data(table, expected=Expected.of(first))
    X, y = first.encoding_.transform(raw), np.asarray(raw.y)
    same = bool(np.array_equal(first.predict(X), again.predict(X)))
    wrong = int((again.predict(X) != y).sum())
    line("loaded", "predictions are the same bits" if same else "PREDICTIONS DIFFER")
    line("", f"{wrong} of {len(y)} rows wrong, training rows among them")
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    try:
        gapless.load(path)
        refused = False
    except gapless.ModelFileError as error:
        refused = True
        told = str(error).replace(os.fspath(home) + os.sep, "")
        line("tampered", f"one bit changed, and the file is refused: {told}")
    return same and refused


def _stopped_early(home: Path) -> bool:
    """A fit that may not finish, and says so; the full one knows the optimum, so it can be tested."""
    from gapless import LinearSVC, verify
    from gapless.errors import STATUSES, short
    from gapless.files import Encoding, read_csv

    table = read_csv(home / "cancer.csv", target="diagnosis", typed=True)
    X, y = Encoding.fit(table).transform(table), table.y
    best = LinearSVC(loss="hinge").fit(X, y)
    proof = best.certificate_
    line("objective", best.objective_)
    line("primal", f"{proof.primal:.12g}")
    line("dual", f"{proof.dual:.12g}")
    line("gap", f"relative {proof.relative_gap:.2e}, asked for tol {proof.tol:.0e}")
    line("status", f"{proof.status}: {STATUSES[proof.status]}; {proof.seconds:.3f} s, {proof.solver}")
    agreed = verify(best, X, y)
    line("judge", _judged(agreed))
    model = LinearSVC(loss="hinge", max_iter=1, solver="coordinate_descent")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y)
    early, optimum = model.certificate_, proof.primal
    line("stopped", early)
    for warning in caught:
        line("warning", warning.message)
    above = 100.0 * (early.primal - optimum) / optimum
    line("truth", f"{short(above, 3)} % above {optimum:.12g}, the full fit's objective: within what it says")
    verdict = verify(model, X, y)
    line("judge", _judged(verdict))
    return bool(agreed) and bool(verdict) and early.dual <= optimum and early.status != "converged"


def _judged(verdict: Any) -> str:
    if not verdict:
        failed = ", ".join(claim.name for claim in verdict.claims if not claim.holds)
        return f"FALSE: {failed}"
    return f"true: {len(verdict.claims)} claims recomputed from the data, all hold"


def _with_this_gapless() -> dict[str, str]:
    """The environment in which a child finds the same gapless, installed or not."""
    import gapless

    here = str(Path(gapless.__file__).resolve().parent.parent)
    known = os.environ.get("PYTHONPATH")
    return {
        **os.environ,
        "PYTHONPATH": here if not known else here + os.pathsep + known,
        "PYTHONIOENCODING": "utf-8",
    }
