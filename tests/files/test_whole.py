"""Files that are written whole: what a killed writer leaves behind goes with the next one, and nobody else's."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from gapless.files.atomic_write import ABANDONED_SECONDS, beside, write_whole

WRITER = """
import sys, time
from gapless.files.atomic_write import beside
with beside(sys.argv[1]) as (stream, temporary):
    stream.write(b"half of it")
    stream.flush()
    print("writing", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def writer(tmp_path):
    """A process that is in the middle of writing tmp_path/model."""
    process = subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path / "model")], stdout=subprocess.PIPE)
    assert process.stdout.readline().strip() == b"writing"
    yield process
    process.kill()
    process.wait()


def parts(folder):
    return [name for name in os.listdir(folder) if name.endswith(".part")]


def test_a_killed_writer_leaves_nothing_for_ever(tmp_path, writer):
    assert len(parts(tmp_path)) == 1
    write_whole(tmp_path / "other", b"whole")
    assert len(parts(tmp_path)) == 1  # it lives, and goes on writing
    writer.send_signal(signal.SIGKILL)
    writer.wait()
    assert len(parts(tmp_path)) == 1
    write_whole(tmp_path / "model", b"whole")
    assert sorted(os.listdir(tmp_path)) == ["model", "other"]


def test_two_writers_in_one_process(tmp_path):
    with beside(str(tmp_path / "a")) as (_, first):
        write_whole(tmp_path / "b", b"whole")
        assert os.path.exists(first)
    assert os.listdir(tmp_path) == ["b"]


def test_files_of_others_stay(tmp_path):
    old = time.time() - 2 * ABANDONED_SECONDS
    for name in ("report.part", ".model.part", ".model.12-zz.part", "model.0123456789ab.part"):
        (tmp_path / name).write_bytes(b"theirs")
        os.utime(tmp_path / name, (old, old))
    (tmp_path / ".model.0123456789ab.part").write_bytes(b"ours, of a version that did not name its process, new")
    (tmp_path / ".model.ba9876543210.part").write_bytes(b"the same, old")
    os.utime(tmp_path / ".model.ba9876543210.part", (old, old))
    write_whole(tmp_path / "model", b"whole")
    assert ".model.ba9876543210.part" not in os.listdir(tmp_path)
    assert len(os.listdir(tmp_path)) == 6
