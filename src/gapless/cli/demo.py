"""gapless demo: train, prove, save, load and check models on data that scikit-learn ships."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import typer

from gapless.cli import options
from gapless.cli.guard import FALSE, guarded
from gapless.cli.output import LABEL, line, title

NEXT = (
    ("gapless train DATA.csv --holdout 0.25 -o my.gapless", "your own CSV, svmlight or npz"),
    ("gapless verify my.gapless DATA.csv --holdout 0.25", "anybody with the data can check it"),
    ("gapless doctor", "what this installation has"),
    ("from gapless import LinearSVC, LogisticRegression", "scikit-learn's names and parameters"),
    ("model.certificate_, gapless.verify(model, X, y)", "the same proof in Python"),
)
# What the demo shows of the judge's table; the judge itself prints every claim.
SHOWN = ("data", "dual feasible", "primal", "dual", "gap", "relative gap", "status")


class Case(NamedTuple):
    """A model to train, and the rows it trains on and is tested on."""

    heading: str
    model: Any
    X: Any
    y: Any
    X_test: Any
    y_test: Any


@guarded
def demo(debug: options.Debug = False) -> None:
    """Train, prove, save, load and check models on data that scikit-learn ships."""
    import gapless

    title(f"gapless {gapless.__version__}: each model says how far it can be from the best one, and proves it")
    line("", "Rows are split once, 3 to 1, by a fixed draw. Test errors come with their exact 95 % interval.")
    good = True
    first: tuple[Any, Case] | None = None
    for number, case in enumerate(_cases(), 1):
        title(f"{number}. {case.heading}")
        fitted = case.model.fit(case.X, case.y)
        good &= _tell(fitted, case)
        first = first or (fitted, case)
    if first is not None:
        good &= _travel(*first)
        good &= _stopped_early(*first)
    title("What next")
    for what, why in NEXT:
        print(f"{what:<56}{why}")
    if not good:
        raise typer.Exit(FALSE)


def _cases() -> Iterator[Case]:
    from sklearn.datasets import load_breast_cancer, load_digits
    from sklearn.preprocessing import StandardScaler

    from gapless import LinearSVC, LogisticRegression

    cancer = load_breast_cancer()
    names = cancer.target_names[cancer.target]
    X, y, X_test, y_test = _split(cancer.data, names)
    scaler = StandardScaler().fit(X)
    yield Case(
        "Breast cancer, columns standardised: LinearSVC, hinge loss, free offset",
        LinearSVC(loss="hinge", C=1.0),
        scaler.transform(X),
        y,
        scaler.transform(X_test),
        y_test,
    )
    yield Case(
        "Breast cancer, raw columns (sizes from 0.001 to 4000): LogisticRegression",
        LogisticRegression(C=1.0),
        X,
        y,
        X_test,
        y_test,
    )
    digits = load_digits()
    X, y, X_test, y_test = _split(digits.data / 16.0, digits.target)
    yield Case(
        "Handwritten digits, ten classes one against the rest: LinearSVC, squared hinge loss",
        LinearSVC(loss="squared_hinge", C=0.1),
        X,
        y,
        X_test,
        y_test,
    )


def _split(X: Any, y: Any) -> tuple[Any, Any, Any, Any]:
    kept, held = options.split(len(y), 0.25, 0)
    return X[kept], y[kept], X[held], y[held]


def _tell(model: Any, case: Case) -> bool:
    """Everything that can be said of one model; True if the judge agrees with it."""
    from gapless import verify
    from gapless.cli.interval import Errors
    from gapless.errors import STATUSES

    proof = model.certificate_
    n, d = case.X.shape
    line("data", f"{n} rows to train, {len(case.y_test)} to test, {d} features, {len(model.classes_)} classes")
    line("objective", model.objective_)
    line("primal", f"{proof.primal:.12g}")
    line("dual", f"{proof.dual:.12g}")
    line("gap", f"relative {proof.relative_gap:.2e}, asked for tol {proof.tol:.0e}")
    how = STATUSES[proof.status]
    line("status", f"{proof.status}: {how}; {proof.n_iter} passes, {proof.seconds:.3f} s, {proof.solver}")
    line("training", f"error {Errors.of(model, case.X, case.y)}")
    line("test", f"error {Errors.of(model, case.X_test, case.y_test).with_interval()}")
    verdict = verify(model, case.X, case.y)
    line("judge", _judged(verdict))
    return bool(verdict)


def _judged(verdict: Any) -> str:
    if not verdict:
        failed = ", ".join(claim.name for claim in verdict.claims if not claim.holds)
        return f"FALSE: {failed}"
    return f"true: {len(verdict.claims)} claims recomputed from the data, all hold"


def _travel(model: Any, case: Case) -> bool:
    """Save, load, predict the same bits; then a stranger checks the file, in a process without the solver."""
    import numpy as np

    import gapless

    title("The first model travels")
    with tempfile.TemporaryDirectory(prefix="gapless-demo-") as folder:
        path = Path(folder) / "cancer.gapless"
        gapless.save(model, path)
        line("saved", f"{path.name}, {path.stat().st_size} bytes: a zip of JSON and numbers, no pickle")
        again = gapless.load(path)
        same = all(
            np.array_equal(getattr(model, name)(case.X_test), getattr(again, name)(case.X_test))
            for name in ("decision_function", "predict")
        )
        line("loaded", "scores and predictions are the same bits" if same else "PREDICTIONS DIFFER")
        np.savez(Path(folder) / "cancer.npz", X=case.X, y=case.y)
        line("stranger", "python -m gapless.judge cancer.gapless cancer.npz")
        ran = subprocess.run(
            [sys.executable, "-m", "gapless.judge", "cancer.gapless", "cancer.npz"],
            cwd=folder,
            env=_with_this_gapless(),
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
        )
        _show_table(ran.stdout or ran.stderr)
        line("", f"exit code {ran.returncode}: {'every claim holds' if ran.returncode == 0 else 'REFUSED'}")
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 1
        path.write_bytes(content)
        try:
            gapless.load(path)
            refused = False
        except gapless.ModelFileError as error:
            refused = True
            line(
                "tampered",
                f"one bit changed, and the file is refused: {str(error).replace(folder + os.sep, '')}",
            )
    return same and ran.returncode == 0 and refused


def _show_table(text: str) -> None:
    """The judge's first line and the claims of SHOWN, as wide as the page."""
    rows = text.rstrip().splitlines()
    line("", rows[0] if rows else "no answer")
    claims = [re.split(r"\s{2,}", row) for row in rows if row[:2] in ("ok", "NO")]
    shown = [next((cells for cells in claims if cells[1] == name), None) for name in SHOWN]
    for cells in shown:
        if cells is not None and len(cells) >= 4:
            print(f"{'':<{LABEL}}{cells[0]}  {cells[1]:<14}  claimed {cells[2]:<20}  recomputed {cells[3]}")
    line("", f"... and {len(claims) - len([cells for cells in shown if cells is not None])} more")


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


def _stopped_early(best: Any, case: Case) -> bool:
    """A fit that may not finish, and says so. The first model knows the optimum, so it can be tested."""
    from gapless import LinearSVC, verify
    from gapless.errors import short

    title("The first model once more, stopped on purpose after one pass (max_iter=1)")
    model = LinearSVC(loss="hinge", C=best.C, max_iter=1, solver="coordinate_descent")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(case.X, case.y)
    proof, optimum = model.certificate_, best.certificate_.primal
    line("status", proof.status)
    line("primal", f"{proof.primal:.12g}")
    line("dual", f"{proof.dual:.12g}")
    line("certificate", proof)
    for warning in caught:
        line("warning", warning.message)
    above = 100.0 * (proof.primal - optimum) / optimum
    line("truth", f"{short(above, 3)} % above {optimum:.12g}, the first model's objective: within what it says")
    verdict = verify(model, case.X, case.y)
    line("judge", _judged(verdict))
    honest = proof.dual <= optimum and proof.status != "converged"
    return bool(verdict) and honest
