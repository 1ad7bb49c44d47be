"""gapless demo: from a CSV to a chosen, proved, saved and checked model, on data that scikit-learn ships."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import warnings
import zipfile
from pathlib import Path
from typing import Annotated, Any

import typer

import gapless
from gapless._runtime.clock import Stopwatch
from gapless.cli import options
from gapless.cli.guard import Code, guarded, run_line, say
from gapless.cli.output import LABEL, WIDTH, print_line, print_title


class Names:
    """The demo's files."""

    table, model, page, stopped = "cancer.csv", "cancer.gapless", "cancer.html", "stopped.gapless"


@guarded
def demo(
    context: typer.Context,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the table, the model and the report.")] = Path(
        "gapless-demo"
    ),
    debug: options.Debug = False,
) -> None:
    """Make a CSV of data that scikit-learn ships; choose, prove, save, load, check and forge a model of it."""
    print_title(f"gapless {gapless.__version__}: each model says how far it can be from the best one, and proves it")
    watch = Stopwatch()
    home = _folder(out)
    table = _write_table(home / Names.table)
    print_title(f"1. One command: gapless train {Names.table} --target diagnosis")
    good = _train(home, context)
    print_title(f"2. A stranger checks the file with numpy alone: python -m gapless.judge {Names.model} {Names.table}")
    good &= _judge_as_stranger(home)
    print_title("3. The file travels: it predicts from raw columns, and one changed bit is refused")
    good &= _load_and_damage(home, table)
    print_title("4. A linear SVM stopped on purpose after one pass says how far it got")
    good &= _stop_early(home)
    print_title("5. A forger rewrites that file, checksum and all: converged, no gap")
    good &= _forge(home)
    compiling = f"; {watch.compile_seconds:.1f} s of compiling, once" if watch.compile_seconds else ""
    print_title(f"Done in {watch.seconds:.1f} s of work{compiling}")
    _tell_next(home)
    if not good:
        say("the demo did not go as it should: this is a bug, please report it")
        raise typer.Exit(Code.false)


def _folder(wanted: Path) -> Path:
    """The folder that keeps the demo's files; a temporary one where that cannot be written."""
    try:
        wanted.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=wanted):
            return wanted
    except OSError as error:
        made = Path(tempfile.mkdtemp(prefix="gapless-demo-"))
        say(f"{wanted} cannot be written ({error.strerror or error}); the demo's files go to {made}")
        return made


def _write_table(path: Path) -> Path:
    """Breast cancer as a CSV with names, text labels, and one cell in a hundred missing."""
    missing_share = 0.01  # of the cells are blanked, as tables have it
    import numpy as np
    from sklearn.datasets import load_breast_cancer

    cancer = load_breast_cancer()
    missing = np.random.RandomState(0).rand(*cancer.data.shape) < missing_share
    names = [*(str(name) for name in cancer.feature_names), "diagnosis"]
    rows = [
        ",".join("" if empty else repr(float(value)) for value, empty in zip(values, blank)) + f",{label}"
        for values, blank, label in zip(cancer.data, missing, cancer.target_names[cancer.target])
    ]
    path.write_text("\n".join([",".join(names), *rows]) + "\n", encoding="utf-8")
    return path


def _train(home: Path, context: typer.Context) -> bool:
    """Run the command itself in the demo's folder, so that the paths it prints are short."""
    train_seconds = 20.0  # of work for all five kinds of models; they need about one
    here = Path.cwd()
    os.chdir(home)
    try:
        names = ["--target", "diagnosis", "--out", Names.model, "--report", Names.page]
        code = run_line(
            context.find_root().command, ["train", Names.table, *names, "--time-limit", f"{train_seconds:g}"]
        )
        if code == Code.interrupted:  # it has said so
            raise typer.Exit(code)
        return code == 0
    finally:
        os.chdir(here)


def _judge(home: Path, model: str) -> tuple[int, list[str]]:
    """Exit code and lines of the judge, run as a process that never loads the solvers."""
    ran = subprocess.run(
        [sys.executable, "-m", "gapless.judge", model, Names.table],
        cwd=home,
        env=_with_this_gapless(),
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    return ran.returncode, (ran.stdout or ran.stderr).rstrip().splitlines() or ["no answer"]


def _show_claims(rows: list[str], mark: str) -> None:
    """Print the claims of the judge's table that begin with the mark, each once, and count the rest."""
    names = ("data", "dual feasible", "primal", "dual", "gap", "relative gap", "status")
    claims = [re.split(r"\s{2,}", row) for row in rows if row[:2] == mark]
    shown = {tuple(cells[:4]): None for cells in claims if len(cells) >= 4 and cells[1] in names}
    for sign, name, claimed, recomputed in shown:
        print(f"{'':<{LABEL}}{sign}  {name:<14}  claimed {claimed:<20}  recomputed {recomputed}"[:WIDTH])
    rest = len(claims) - len(shown)
    if rest:
        print_line("", f"... and {rest} more")


def _judge_as_stranger(home: Path) -> bool:
    code, rows = _judge(home, Names.model)
    print_line("judge", rows[0])
    _show_claims(rows, "ok")
    print_line("", f"exit code {code}: {'every claim holds' if code == 0 else 'REFUSED'}")
    return code == 0


def _load_and_damage(home: Path, table: Path) -> bool:
    """Load the file, predict from the raw table; change one bit of a copy, which is then refused."""
    import numpy as np

    path = home / Names.model
    print_line("saved", f"{path.name}, {path.stat().st_size} bytes: a zip of JSON and numbers, no pickle")
    first, again = gapless.load(path), gapless.load(path)
    raw = gapless.read_data(table, expected=gapless.files.Expected.from_model(first))
    X, y = first.encoding_.transform(raw), np.asarray(raw.y)
    same = bool(np.array_equal(first.predict(X), again.predict(X)))
    wrong = int((again.predict(X) != y).sum())
    print_line("loaded", "predictions are the same bits" if same else "PREDICTIONS DIFFER")
    print_line("", f"{wrong} of {len(y)} rows wrong, training rows among them")
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    with tempfile.TemporaryDirectory(prefix="gapless-demo-") as folder:
        damaged = Path(folder) / Names.model
        damaged.write_bytes(content)
        try:
            gapless.load(damaged)
        except gapless.ModelFileError as error:
            told = str(error).replace(folder + os.sep, "")
            print_line("tampered", f"one bit changed, and the file is refused: {told}")
            return same
    print_line("tampered", "one bit changed, and the file is ACCEPTED")
    return False


def _stop_early(home: Path) -> bool:
    """Fit to the end, so that the optimum is known; then stop after one pass, and compare what is said with the truth."""
    from gapless.errors import short  # with scikit-learn, which the help does without

    table = gapless.files.read_csv(home / Names.table, target="diagnosis", typed=True)
    encoding = gapless.Encoding.fit(table)
    X, y = encoding.transform(table), table.y
    best = gapless.LinearSVC(loss="hinge").fit(X, y)
    proof = best.certificate_
    print_line("objective", best.objective_)
    print_line("full fit", f"primal {proof.primal:.12g}, dual {proof.dual:.12g}, relative gap {proof.relative_gap:.1e}")
    agreed = gapless.verify(best, X, y)
    print_line("judge", _verdict(agreed))
    model = gapless.LinearSVC(loss="hinge", max_iter=1, solver="coordinate_descent")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y)
    early, optimum = model.certificate_, proof.primal
    for warning in caught:
        print_line("warning", warning.message)
    above = 100.0 * (early.primal - optimum) / optimum
    within = early.dual <= optimum <= early.primal
    held = "within what it says" if within else "MORE than it says"
    print_line("truth", f"{short(above, 3)} % above {optimum:.12g}, the full fit's objective: {held}")
    verdict = gapless.verify(model, X, y)
    print_line("judge", _verdict(verdict))
    gapless.save(model, home / Names.stopped, target="diagnosis", encoding=encoding)
    return bool(agreed) and bool(verdict) and within and early.status != "converged"


def _forge(home: Path) -> bool:
    """Claim a gap of zero in the file of the stopped model, with a checksum that is right; the judge must say false."""
    path = home / Names.stopped
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    document = json.loads(members["model.json"])
    for claims in (document["certificate"], *document["certificate"].get("subproblems", [])):
        claims |= {"dual": claims["primal"], "gap": 0.0, "relative_gap": 0.0, "status": "converged"}
    members["model.json"] = json.dumps(document).encode()
    with zipfile.ZipFile(path, "w") as archive:
        archive.comment = b"0" * 64
        for name, content in members.items():
            archive.writestr(name, content)
    sealed = path.read_bytes()[:-64]
    path.write_bytes(sealed + hashlib.sha256(sealed).hexdigest().encode())
    code, rows = _judge(home, Names.stopped)
    print_line("judge", rows[0])
    _show_claims(rows, "NO")
    print_line("", f"exit code {code}: {'the forgery is found' if code == Code.false else 'THE FORGERY PASSED'}")
    path.unlink()
    return code == Code.false


def _verdict(verdict: Any) -> str:
    if not verdict:
        failed = ", ".join(claim.name for claim in verdict.claims if not claim.holds)
        return f"FALSE: {failed}"
    return f"true: {len(verdict.claims)} claims recomputed from the data, all hold"


def _tell_next(home: Path) -> None:
    """Three commands that work as they stand, and where the report lies."""
    command, table, model, page = _command(), home / Names.table, home / Names.model, home / Names.page
    print_title("Try next")
    print(f"{command} predict {model} {table}")
    print(f"{command} verify {model} {table} --rigorous")
    print(f"{command} train YOUR.csv --target COLUMN")
    print()
    if page.is_file():
        print_line("report", f"{page}: open it in a browser")
    else:
        print_line("report", "not written: pip install 'gapless[report]', then run the demo again")


def _command() -> str:
    """What a shell in this folder calls this installation's `gapless`."""
    beside = Path(sys.executable).with_name("gapless")
    found = shutil.which("gapless")
    if found is not None and beside.exists() and os.path.samefile(found, beside):
        return "gapless"
    place = beside if beside.exists() else Path(sys.executable)
    here = Path.cwd()
    short = os.path.relpath(place, here) if place.is_relative_to(here) else os.fspath(place)
    return short if beside.exists() else f"{short} -m gapless"


def _with_this_gapless() -> dict[str, str]:
    """The environment in which a child finds the same gapless, installed or not."""
    here = str(Path(gapless.__file__).resolve().parent.parent)
    known = os.environ.get("PYTHONPATH")
    return {**os.environ, "PYTHONPATH": here if not known else here + os.pathsep + known, "PYTHONIOENCODING": "utf-8"}
