"""Output that cannot be written: one line, and an exit code that means nothing else."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

MODEL = Path(__file__).parents[1] / "judge" / "files_0_1_0" / "LogisticRegression.gapless"
DATA = MODEL.with_suffix(".npz")
COMMANDS = {
    "judge": ["gapless.judge", str(MODEL), str(DATA)],
    "judge, JSON": ["gapless.judge", str(MODEL), str(DATA), "--json"],
    "verify": ["gapless", "verify", str(MODEL), str(DATA)],
    "verify, JSON": ["gapless", "verify", str(MODEL), str(DATA), "--json"],
    "predict": ["gapless", "predict", str(MODEL), str(DATA)],
    "version": ["gapless", "--version"],
    "help": ["gapless", "train", "--help"],
}
pytestmark = pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")


def run(name: str, **streams) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", *COMMANDS[name]], text=True, **streams)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_full_device_has_an_exit_code_of_its_own(name):
    with open("/dev/full", "w") as full:
        done = run(name, stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 4
    assert done.stderr.count("\n") == 1
    assert "cannot be written (No space left on device)" in done.stderr


@pytest.mark.parametrize("name", ["judge", "verify"])
def test_errors_that_cannot_be_told_keep_their_exit_code(name, monkeypatch):
    monkeypatch.setitem(COMMANDS, name, [word.replace(str(MODEL), "nowhere") for word in COMMANDS[name]])
    with open("/dev/full", "w") as full:
        assert run(name, stdout=subprocess.PIPE, stderr=full).returncode == 2


def test_a_verdict_in_a_narrow_encoding(monkeypatch):
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    done = run("judge", capture_output=True)
    assert done.returncode == 0
    assert done.stdout.startswith("TRUE")


CLOSED = (">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-")
#: Commands that load scikit-learn: two of the four ways by default, the others are told apart before anything is loaded.
LONG, FEW = ("verify, JSON", "predict"), ("2>&-", "<&- >&- 2>&-")


@pytest.mark.parametrize(
    ("name", "closed"),
    [
        pytest.param(name, closed, marks=[pytest.mark.slow] if name in LONG and closed not in FEW else [])
        for name in COMMANDS
        for closed in CLOSED
    ],
)
def test_a_closed_stream_is_as_dev_null(name, closed):
    """What Python has None for: nothing fails over it, and a verdict is still in the exit code."""
    command = ["sh", "-c", f'exec "$@" {closed}', "sh", sys.executable, "-m", *COMMANDS[name]]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0
    assert "error:" not in done.stderr
    assert "Traceback" not in done.stderr
    assert (done.stdout == "") is (closed != "2>&-")


def test_a_closed_stderr_does_not_end_a_fit(tmp_path):
    table = tmp_path / "t.csv"
    table.write_text("a,y\n" + "".join(f"{i * 0.5},{i // 20}\n" for i in range(40)))
    train = ["-m", "gapless", "train", str(table), "--model", "svm", "--no-report", "-o", str(tmp_path / "m")]
    command = ["sh", "-c", 'exec "$@" 2>&-', "sh", sys.executable, *train]
    assert subprocess.run(command, stdout=subprocess.DEVNULL).returncode == 0


@pytest.mark.parametrize("words", ["gapless --version", "gapless predict --help", "gapless", "gapless.judge -h"])
def test_who_read_the_help_has_gone(words):
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run([sys.executable, "-m", *words.split()], stdout=write, stderr=subprocess.PIPE, text=True)
    os.close(write)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_judge_s_help_on_a_full_device():
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "gapless.judge", "-h"], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert done.returncode == 4
    assert "the help cannot be written" in done.stderr


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="no /dev/zero here")
def test_the_judge_reads_no_device_without_an_end():
    command = [sys.executable, "-m", "gapless.judge", str(MODEL), "/dev/zero"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert "is a device" in done.stderr


def test_ctrl_c_while_the_judge_loads_is_no_verdict():
    """numpy makes an ImportError of it, and 1 would say that a claim is false."""
    for wait in (0.03, 0.06, 0.09, 0.12, 0.15, 0.2, 0.25, 0.3):
        command = [sys.executable, "-m", *COMMANDS["judge"]]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        time.sleep(wait)
        process.send_signal(signal.SIGINT)
        told = process.communicate()[1]
        if "Fatal Python error" in told or "Could not import runpy" in told:
            continue  # Python itself was starting: nobody can help
        assert process.returncode in (0, 130, -signal.SIGINT)
        assert "ImportError" not in told


def test_a_demo_that_is_interrupted_ends(tmp_path, monkeypatch):
    """The command in it says so and returns; the demo went on to files that there were not."""
    from gapless.cli import app

    monkeypatch.setattr(sys.modules["gapless.cli.commands.demo"], "run_line", lambda command, arguments: 130)
    assert CliRunner().invoke(app, ["demo", "--out", str(tmp_path / "demo")]).exit_code == 130
