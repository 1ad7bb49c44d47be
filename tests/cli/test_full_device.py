"""Output that cannot be written: one line, and an exit code that means nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

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
