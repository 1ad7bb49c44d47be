"""Real processes: round trips, Ctrl-C, light imports, pipes."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import gapless

posix = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")


def test_round_trip(gapless_process, csv, environment):
    trained = gapless_process("train", csv, "--holdout", "0.2", "--out", "m.gapless")
    assert trained.returncode == 0, trained.stderr
    assert "certificate" in trained.stdout
    checked = gapless_process("verify", "m.gapless", csv, "--holdout", "0.2", "--json")
    assert checked.returncode == 0, checked.stderr
    assert json.loads(checked.stdout)["holds"] is True
    predicted = gapless_process("predict", "m.gapless", csv)
    assert predicted.returncode == 0
    assert len(predicted.stdout.splitlines()) == 121
    # and the judge alone, on a model of the whole file
    assert gapless_process("train", csv, "--out", "w.gapless").returncode == 0
    judge = subprocess.run(
        [sys.executable, "-m", "gapless.judge", csv.parent / "w.gapless", csv, "--target", "label"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert judge.returncode == 0, judge.stderr + judge.stdout


def test_a_bad_file_is_one_line(gapless_process, csv):
    csv.write_text("a,b\n1,2\n3\n")
    result = gapless_process("train", csv)
    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    assert "line 3: expected 2 columns, found 1" in result.stderr
    assert "Traceback" in gapless_process("train", csv, "--debug").stderr


def test_importing_the_commands_is_light(environment):
    heavy = ("numpy", "scipy", "sklearn", "numba", "pandas", "rich")
    code = f"import sys, gapless.cli; print([m for m in {heavy!r} if m in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


@pytest.fixture
def hard(tmp_path):
    """A fit that cannot end: no relative gap is as small as its tol."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 60)) * 10.0 ** rng.uniform(-3, 3, size=60)
    y = rng.integers(0, 2, size=20_000)
    np.savez(tmp_path / "hard.npz", X=X, y=y)
    return tmp_path / "hard.npz"


@posix
@pytest.mark.parametrize("json_too", [False, True])
def test_ctrl_c_keeps_the_model(hard, tmp_path, environment, json_too):
    command = [
        "train",
        hard.name,
        *("--loss", "hinge", "--solver", "coordinate_descent"),
        *("-C", "1e6", "--tol", "1e-300", "--max-iter", "1000000000"),
    ]
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "gapless",
            *command,
            "--out",
            "kept.gapless",
            *(["--json"] if json_too else []),
        ],
        cwd=tmp_path,
        env={**environment, "GAPLESS_PROGRESS": "lines"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        seen = []
        for line in process.stderr:  # the progress line says that the fit is under way
            seen.append(line)
            if "relative gap" in line:
                break
        else:
            pytest.fail(f"the fit ended by itself: {''.join(seen)}")
        process.send_signal(signal.SIGINT)
        start = time.perf_counter()
        out, err = process.communicate(timeout=60)
        assert time.perf_counter() - start < 20
    finally:
        process.kill()
    assert process.returncode == 130, err
    assert "Traceback" not in err
    model = gapless.load(tmp_path / "kept.gapless")
    assert model.status_ == "interrupted"
    with np.load(hard) as data:
        assert gapless.verify(model, data["X"], data["y"])
    if json_too:
        told = json.loads(out)
        assert told["certificate"]["status"] == "interrupted"
        assert told["exit"] == 130
    else:
        assert "interrupted" in out


@posix
def test_ctrl_c_before_there_is_a_model(tmp_path, environment):
    os.mkfifo(tmp_path / "fifo.csv")
    process = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import time, gapless.cli.options as o, gapless.cli as c\n"
            "o.read = lambda *a, **k: (print('reading', flush=True), time.sleep(60))\n"
            "raise SystemExit(c.main(['train', 'x.csv']))",
        ],
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "reading\n"
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err.strip() == "gapless: interrupted"


@posix
def test_a_closed_pipe_is_no_error(csv, tmp_path, environment, gapless_process):
    gapless_process("train", csv, "--out", "m.gapless")
    wide = tmp_path / "many.csv"
    wide.write_text("a,b,c\n" + "1,2,3\n" * 200_000)
    shell = f"{sys.executable} -m gapless predict m.gapless many.csv | head -n 1"
    result = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {shell}"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.stdout == "prediction\n"
    assert result.stderr == ""
    assert result.returncode == 0


def test_demo(gapless_process):
    result = gapless_process("demo")
    assert result.returncode == 0, result.stdout + result.stderr
    text = result.stdout
    assert text.count("judge        true") == 2
    for word in (
        "linear SVM",
        "AdaBoost",
        "every claim holds",
        "objective",
        "primal",
        "dual",
        "relative",
        "converged",
        "95 % interval",
        "same bits",
        "refused",
    ):
        assert word in text
    assert "\x1b" not in text  # no colour in a pipe
    # Commands are to be copied: they stand on one line, however long the path of this Python is.
    assert max(len(line) for line in text.splitlines() if " gapless-demo" not in line) <= 100
    assert result.stderr.replace("gapless: compiling kernels", "").count("Traceback") == 0


@pytest.mark.slow
def test_warmup(gapless_process):
    result = gapless_process("warmup")
    assert result.returncode == 0, result.stderr
    assert "all kernels are compiled" in result.stderr
