"""What the system refuses: folders, files without permission, a disk that is full. One line that names the file, exit 2, and
nothing half-written."""

import contextlib
import io
import os
import stat
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest

import gapless
from gapless.cli import main
from gapless.errors import DataError
from gapless.files import read_data

resource = pytest.importorskip("resource")
NOBODY = 65534


def run(*arguments):
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
        code = main([str(a) for a in arguments])
    return SimpleNamespace(exit_code=code, stdout=out.getvalue(), stderr=err.getvalue())


def refused(*arguments, code=2):
    """The one line that a command ends with."""
    result = run(*arguments)
    assert result.exit_code == code, result.stderr
    (line,) = [each for each in result.stderr.splitlines() if "as the model says" not in each]
    assert line.startswith("gapless: ")
    assert "Errno" not in line
    return line


@pytest.fixture
def model(csv, tmp_path):
    out = tmp_path / "m.gapless"
    assert run("train", csv, "--model", "svm", "--holdout", "0.25", "-o", out).exit_code == 0
    return out


# ------------------------------------------------------------------ reading
def test_a_directory_and_no_file(tmp_path):
    for path, says in (
        (tmp_path, "is a directory; give the name of a data file in it"),
        (tmp_path / "x.csv", "no such file"),
    ):
        with pytest.raises(DataError, match=says):
            read_data(path)
        assert refused("train", path, "-o", tmp_path / "m") == f"gapless: {path}: {says}"
    (tmp_path / "a.csv").write_text("a,y\n1,0\n")
    with pytest.raises(DataError, match="no such file"):
        read_data(tmp_path / "a.csv" / "b.csv")


@contextlib.contextmanager
def nobody():
    """As a user who owns nothing; where we are one already, as ourselves."""
    if os.geteuid():
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.mark.parametrize("closed", ["file", "folder"])
def test_no_permission(closed):
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "data"
        place.mkdir()
        path = place / "rows.csv"
        path.write_text("a,y\n1,0\n2,1\n")
        model = Path(folder) / "m.gapless"
        gapless.save(gapless.LinearSVC().fit([[0.0], [1.0]], [0, 1]), model)
        assert run("verify", model, path).exit_code == 2  # other data; all that is needed is imported
        os.chmod(folder, 0o755)
        os.chmod(place, 0o777 if closed == "file" else 0)
        os.chmod(path, 0)
        try:
            with nobody():
                with pytest.raises(DataError, match="cannot be read .Permission denied"):
                    read_data(path)
                line = refused("verify", model, path)
        finally:
            os.chmod(place, 0o755)
        assert line == f"gapless: {path}: cannot be read (Permission denied)"


def test_a_folder_that_may_not_be_written_to_is_said_before_the_fit(csv):
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o555)
        os.chmod(csv, 0o644)
        assert run("train", csv, "-o", Path(folder) / "no" / "m").exit_code == 2
        with nobody():
            line = refused("train", csv, "-o", Path(folder) / "m.gapless")
        assert "cannot be written to" in line


# ------------------------------------------------------------------ writing
@contextlib.contextmanager
def full(size):
    """A disk with room for so many bytes in a file: beyond, the system refuses, as where it is full. Python keeps no bytecode
    meanwhile: it would keep the first bytes of it, and no module that was cut short can be imported again."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "dont_write_bytecode", True)
        patch.setenv("PYTHONDONTWRITEBYTECODE", "1")
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


WRITES = [
    ("train {csv} --model svm -o {out}", 600),
    ("tune {csv} --model svm --grid C=1 --folds 2 -o {out}", 600),
    ("tune {csv} --model svm --grid C=1 --folds 2 --file {out}", 600),
    ("tune {csv} --model svm --grid C=1 --folds 2 --file {out}", 0),
    ("predict {model} {csv} -o {out}", 100),
    ("report {model} {csv} --no-pictures -o {out}", 5000),
]


@pytest.mark.parametrize(("command", "size"), WRITES)
@pytest.mark.parametrize("there", [False, True])
def test_a_full_disk_leaves_what_was_there(csv, model, tmp_path, command, size, there):
    pytest.importorskip("jinja2")
    out = tmp_path / "out"
    arguments = command.format(csv=csv, model=model, out=out).split()
    assert run(*arguments).exit_code == 0
    before = out.read_bytes()
    there = there and "--file" not in command  # a search that is complete writes no more
    if not there:
        out.unlink()
    with full(size):
        line = refused(*arguments)
    assert f"{out}: could not be written (File too large)" in line
    assert sorted(each.name for each in tmp_path.iterdir()) == ["data.csv", "m.gapless", *(["out"] if there else [])]
    if there:
        assert out.read_bytes() == before


def test_the_model_and_what_was_found_are_kept_where_the_page_does_not_fit(csv, tmp_path):
    pytest.importorskip("jinja2")
    out, page = tmp_path / "m.gapless", tmp_path / "p.html"
    with full(12_000):
        result = run("train", csv, "--model", "logistic", "-o", out, "--report", page)
    assert result.exit_code == 2
    assert f"no report: {page}: could not be written (File too large)" in result.stderr
    assert "certificate" in result.stdout
    assert run("verify", out, csv).exit_code == 0
    assert not page.exists()


def test_a_device_stays_a_device(csv, tmp_path, model):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert "is a device or a pipe" in refused("train", csv, "--model", "svm", "-o", pipe)
    for command in (("predict", model, csv), ("report", model, csv, "--no-pictures")):
        assert "it is a device or a pipe, not a file" in refused(*command, "-o", pipe)
    with pytest.raises(OSError, match="it is a device or a pipe"):
        gapless.save(gapless.load(model), pipe)
    assert stat.S_ISFIFO(os.stat(pipe).st_mode)
